"""The peer codecs, each from a public Python wheel, one thread."""

import io
import math

import imagecodecs as ic
import numpy as np
import PIL
from PIL import Image, features

VERSIONS = f"imagecodecs {ic.__version__}, Pillow {PIL.__version__} (OpenJPEG {features.version('jpg_2000')})"


def library_versions() -> str:
    wanted = ("libpng", "libwebp", "openjpeg", "openjph", "charls", "libjxl", "qoi", "libjpeg_turbo")
    text = ic.version()
    parts = [p.strip() for p in (text.replace("\n", ",").split(",") if isinstance(text, str) else text)]
    return ", ".join(p for p in parts if p.rsplit("-", 1)[0].lower() in wanted)


# ---- lossless -----------------------------------------------------------------------------------

def png_encode(pixels, bits):
    """The smallest of libpng at level 9 with several strategies and filters."""
    ALL, NONE, PAETH = 248, 8, 128
    tries = [(0, ALL), (1, ALL), (0, NONE), (1, PAETH), (3, ALL)]
    files = [ic.png_encode(pixels, level=9, strategy=s, filter=f) for s, f in tries]
    if bits == 8:
        out = io.BytesIO()
        Image.fromarray(pixels).save(out, "PNG", optimize=True, compress_level=9)
        files.append(out.getvalue())
    return min(files, key=len)


def depth(bits):
    return {} if bits in (8, 16) else {"bitspersample": bits}


def ycocg_planes(pixels, bits):
    """YCoCg-R with all arithmetic modulo 2^bits, so that every plane keeps the depth."""
    size, half = 1 << bits, 1 << (bits - 1)
    r, g, b = (pixels[..., i].astype(np.int32) for i in range(3))
    wrap = lambda v: (v + half) % size - half
    co = wrap(r - b)
    t = (b + (co >> 1)) % size
    cg = wrap(g - t)
    y = (t + (cg >> 1)) % size
    return y, co + half, cg + half


def from_ycocg_planes(planes, bits):
    size, half = 1 << bits, 1 << (bits - 1)
    y, co, cg = (p.astype(np.int32) for p in planes)
    co, cg = co - half, cg - half
    t = (y - (cg >> 1)) % size
    g = (cg + t) % size
    b = (t - (co >> 1)) % size
    r = (b + co) % size
    return np.stack([r, g, b], axis=-1)


def jpegls_ycocg_encode(pixels, bits):
    return [ic.jpegls_encode(np.ascontiguousarray(p, pixels.dtype)) for p in ycocg_planes(pixels, bits)]


def jpegls_ycocg_decode(files, bits):
    return from_ycocg_planes([ic.jpegls_decode(f) for f in files], bits)


def simple(decode):
    return lambda data, bits: decode(data)


# name -> (encode(pixels, bits), decode(data, bits), the depths it has)
LOSSLESS = {
    "PNG": (png_encode, simple(ic.png_decode), "8 16"),
    "QOI": (lambda p, bits: ic.qoi_encode(p), simple(ic.qoi_decode), "8"),
    "WebP": (lambda p, bits: ic.webp_encode(p, level=100, lossless=True, method=6),
             lambda d, bits: ic.webp_decode(d)[..., :3], "8"),
    "JPEG-LS RGB": (lambda p, bits: ic.jpegls_encode(p), simple(ic.jpegls_decode), "8 10 12 16"),
    "JPEG-LS YCoCg": (jpegls_ycocg_encode, jpegls_ycocg_decode, "8 10 12 16"),
    "J2K": (lambda p, bits: ic.jpeg2k_encode(p, reversible=True, mct=True, resolutions=6, codecformat="j2k",
                                             numthreads=1, **depth(bits)),
            lambda d, bits: ic.jpeg2k_decode(d, numthreads=1), "8 10 12 16"),
    "HTJ2K": (lambda p, bits: ic.htj2k_encode(p, reversible=True), simple(ic.htj2k_decode), "8 10 12 16"),
    "JXL e1": (lambda p, bits: ic.jpegxl_encode(p, lossless=True, effort=1, numthreads=1, **depth(bits)),
               lambda d, bits: ic.jpegxl_decode(d, numthreads=1), "8 10 12 16"),
    "JXL e3": (lambda p, bits: ic.jpegxl_encode(p, lossless=True, effort=3, numthreads=1, **depth(bits)),
               lambda d, bits: ic.jpegxl_decode(d, numthreads=1), "8 10 12 16"),
    "JXL e7": (lambda p, bits: ic.jpegxl_encode(p, lossless=True, effort=7, numthreads=1, **depth(bits)),
               lambda d, bits: ic.jpegxl_decode(d, numthreads=1), "8 10 12 16"),
}

LOSSLESS_TEXT = """\
* PNG: the smallest of libpng level 9 with five strategy and filter settings and Pillow's optimize.
* WebP: lossless, method 6, quality 100. QOI: its only setting.
* JPEG-LS (CharLS): RGB interleaved as given, and three planes after YCoCg-R in arithmetic modulo 2^bits.
* J2K: OpenJPEG, 5/3 reversible, RCT, 5 levels, code blocks 64x64. HTJ2K: OpenJPH, the same, 5 levels.
* JXL: libjxl lossless at efforts 1, 3 and 7."""

SPEED = ["HTJ2K", "J2K", "WebP", "PNG", "QOI", "JPEG-LS RGB", "JXL e1", "JXL e3"]


def size(data) -> int:
    return sum(len(d) for d in data) if isinstance(data, list) else len(data)


# ---- lossy --------------------------------------------------------------------------------------

def j2k_lossy(pixels, ratio, irreversible=True):
    out = io.BytesIO()
    Image.fromarray(pixels).save(out, "JPEG2000", no_jp2=True, irreversible=irreversible, mct=1, num_resolutions=6,
                                 quality_mode="rates", quality_layers=[ratio])
    return out.getvalue()


class Lossy:
    """One parameter of an encoder; a larger one always gives a larger file."""

    def __init__(self, encode, decode, low, high, whole=False):
        self.encode, self.decode = encode, decode
        self.low, self.high, self.whole = low, high, whole

    def middle(self, a, b):
        return (a + b) // 2 if self.whole else (a + b) / 2

    def end(self, a, b):
        return b - a <= 1 if self.whole else b - a < 1e-4


# Parameters that are not whole run on a logarithmic scale.
LOSSY = {
    "J2K 9/7": Lossy(lambda p, v: j2k_lossy(p, 1 / math.exp(v)), lambda d: ic.jpeg2k_decode(d, numthreads=1),
                     math.log(1 / 400), math.log(1 / 1.5)),
    "J2K 5/3": Lossy(lambda p, v: j2k_lossy(p, 1 / math.exp(v), False), lambda d: ic.jpeg2k_decode(d, numthreads=1),
                     math.log(1 / 400), math.log(1 / 1.5)),
    "HTJ2K 9/7": Lossy(lambda p, v: ic.htj2k_encode(p, level=math.exp(-v), reversible=False),
                       lambda d: ic.jpeg2k_decode(d, numthreads=1), -math.log(0.5), -math.log(0.0005)),
    "JXL e7": Lossy(lambda p, v: ic.jpegxl_encode(p, distance=math.exp(-v), effort=7, numthreads=1),
                    lambda d: ic.jpegxl_decode(d, numthreads=1), -math.log(15), -math.log(0.02)),
    "WebP": Lossy(lambda p, v: ic.webp_encode(p, level=v, lossless=False, method=6),
                  lambda d: ic.webp_decode(d)[..., :3], 0, 100, whole=True),
    "JPEG 4:4:4": Lossy(lambda p, v: ic.jpeg8_encode(p, level=v, subsampling="444", optimize=True),
                        ic.jpeg8_decode, 1, 100, whole=True),
}

LOSSY_TEXT = """\
* J2K 9/7: OpenJPEG, irreversible, ICT, 5 levels, one quality layer, the rate given and then refined. On
  smooth pictures its files stop growing before the rate asked for (its finest quantisation step): out of range.
* J2K 5/3: the same with the reversible wavelet and RCT, cut at the rate.
* HTJ2K 9/7: OpenJPH by quantisation step; decoded with OpenJPEG, for the wheel's OpenJPH decoder returns wrong
  colours for irreversible files.
* JXL: libjxl by distance, effort 7. WebP: method 6, 4:2:0 as the format demands. JPEG: libjpeg-turbo, 4:4:4,
  optimised Huffman tables.
* Parameters are bisected until the size is within 0.5 % of the target; where that cannot be hit (whole quality
  numbers), PSNR and SSIM are interpolated linearly in log(bpp) between the two neighbouring files."""
