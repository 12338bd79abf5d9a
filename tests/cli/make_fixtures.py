"""Makes the pictures in tests/cli/data with other programs' writers: pip install numpy pillow tifffile imagecodecs pypng.

Samples follow formulas that src/bin/stepwell/input/tests.rs repeats: (7 x + 13 y + 50 c) mod 2^bits, and for
JPEG, which blurs edges, red 3 x + 2 y, green 100, blue 200 - 3 x.
"""
import io
import pathlib

import numpy as np
import png
import tifffile
from PIL import Image, ImageCms

OUT = pathlib.Path(__file__).parent / "data"
W, H = 37, 21


def samples(planes, bits, dtype):
    y, x, c = np.mgrid[0:H, 0:W, 0:planes]
    return ((7 * x + 13 * y + 50 * c) % 2**bits).astype(dtype)


def gradient():
    y, x = np.mgrid[0:H, 0:W]
    return np.stack([3 * x + 2 * y, 0 * x + 100, 200 - 3 * x], 2).astype(np.uint8)


def tiff(name, data, **options):
    tifffile.imwrite(OUT / name, data, metadata=None, software=None, **options)


rgb16, rgb8 = samples(3, 16, np.uint16), samples(3, 8, np.uint8)
tiff("tiled_lzw_be.tif", rgb16, photometric="rgb", tile=(16, 16), compression="lzw", predictor=True,
     byteorder=">", resolution=(300, 150), resolutionunit="inch",
     extratags=[(274, "H", 1, 6, True), (271, "s", 0, "Maker", True)])
bands = np.ascontiguousarray(samples(5, 16, np.int16).transpose(2, 0, 1)) - 300
tiff("planar_bands.tif", bands, photometric="minisblack", planarconfig="separate", tile=(16, 16), compression="zlib")
tiff("big.tif", samples(1, 16, np.uint16)[..., 0], photometric="minisblack", bigtiff=True, rowsperstrip=4)
tiff("rgb_and_more.tif", samples(6, 8, np.uint8), photometric="rgb", extrasamples=["unassalpha", 0, 0],
     compression="packbits", rowsperstrip=5)
tiff("gray_alpha.tif", samples(2, 8, np.uint8), photometric="minisblack", extrasamples=["unassalpha"])
tiff("white_is_zero.tif", 255 - samples(1, 8, np.uint8)[..., 0], photometric="miniswhite")
tiff("uint32.tif", samples(1, 16, np.uint32)[..., 0] * 32767, photometric="minisblack")
tiff("uint32_full.tif", samples(1, 16, np.uint32)[..., 0] + 2**31, photometric="minisblack")
tiff("float.tif", samples(1, 8, np.float32)[..., 0], photometric="minisblack")
tiff("jpeg_ycc.tif", gradient(), photometric="rgb", compression="jpeg", compressionargs={"level": 100})
with tifffile.TiffWriter(OUT / "pages.tif") as pages:
    for _ in range(2):
        pages.write(rgb8, photometric="rgb", metadata=None, software=None)
palette = Image.fromarray(samples(1, 4, np.uint8)[..., 0], "P")
palette.putpalette(bytes(v for i in range(16) for v in (i * 16, 255 - i * 16, i)))
palette.save(OUT / "palette.tif")
Image.fromarray(samples(1, 1, np.uint8)[..., 0] * 255).convert("1").save(OUT / "bilevel.tif")

for bits, name in (16, "interlaced16.png"), (8, "interlaced8.png"):
    with open(OUT / name, "wb") as f:
        png.Writer(W, H, greyscale=False, bitdepth=bits, interlace=True).write(f, samples(3, bits, np.uint16).reshape(H, -1).tolist())
with open(OUT / "interlaced2.png", "wb") as f:
    png.Writer(W, H, greyscale=True, bitdepth=2, interlace=True).write(f, samples(1, 2, np.uint8)[..., 0].tolist())

icc = bytearray(ImageCms.ImageCmsProfile(ImageCms.createProfile("sRGB")).tobytes())
icc[24:36] = bytes(12)  # the time of its making
icc = bytes(icc)
exif = Image.Exif()
exif[0x0112] = 6
exif[0x010F] = "Maker"
exif.get_ifd(0x8769)[0x8827] = 400
xmp = b"<x:xmpmeta xmlns:x='adobe:ns:meta/'/>"
smooth = Image.fromarray(gradient())
smooth.save(OUT / "colour.jpg", quality=100, subsampling=0, dpi=(300, 150), icc_profile=icc, exif=exif, xmp=xmp)
smooth.getchannel(0).save(OUT / "gray.jpg", quality=100, progressive=True)
smooth.convert("CMYK").save(OUT / "cmyk.jpg", quality=90)
rgba = Image.fromarray(samples(4, 8, np.uint8), "RGBA")
rgba.save(OUT / "lossless.webp", lossless=True, exact=True, icc_profile=icc, exif=exif.tobytes(), xmp=xmp)
rgb = Image.fromarray(rgb8, "RGB")
rgb.save(OUT / "animated.webp", save_all=True, append_images=[rgb.rotate(180)], lossless=True)
