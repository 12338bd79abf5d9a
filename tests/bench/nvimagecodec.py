#!/usr/bin/env python3
"""Measures NVIDIA nvImageCodec on photographs, on an NVIDIA card, to be set beside `stepwell bench --gpu`.

    python3 -m pip install nvidia-nvimgcodec-cu13 nvidia-nvjpeg2k-cu13 nvidia-nvjpeg     # CUDA 12: -cu12 of each
    python3 tests/bench/nvimagecodec.py [--out PREFIX] [--stepwell PROGRAM] PICTURE.ppm|FILE.swl ...

Every picture (RGB of 8 bits; a .swl file is decoded with the program stepwell first) is encoded by nvImageCodec
itself, untimed, and every decoded pixel is compared: lossless rows must be exact, lossy ones get PSNR and SSIM.

What is timed, by the clock, with the whole card idle before and after: compressed bytes in host memory, wrapped
and parsed anew, → RGB interleaved in device memory, in one call for a batch. The decoder and the output buffers are
kept. Batches hold the pictures by turns and several batches rotate; of each batch the median of the repeats counts.
The settings (CPU threads of the decoder, pinned or pageable host memory, for JPEG also the card's JPEG engine) are
tried and the best counts. Decoders on the CPU are shut out.

Prints JSON lines, then a table. A row that fails is shown as FAIL with its reason, and the exit code is 1.
"""

import argparse
import ctypes
import gc
import importlib.metadata
import json
import math
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path

INSTALL = ("python3 -m pip install nvidia-nvimgcodec-cu13 nvidia-nvjpeg2k-cu13 nvidia-nvjpeg numpy scikit-image "
           "(CUDA 12: nvidia-nvimgcodec-cu12 nvidia-nvjpeg2k-cu12 nvidia-nvjpeg-cu12)")
WARM_UP, WARM_UP_SECONDS = 3, 0.3
GROUPS = 3                  # batches that rotate, at least
TARGET_BPP, TOLERANCE = 3.0, 0.01

# name -> (what it is, largest batch)
ROWS = {
    "htj2k": ("HTJ2K lossless, 5/3, RCT, 5 levels, blocks 64x64", None),
    "htj2k-tiles": ("HTJ2K lossless in tiles of 512, decoded at once", 16),
    "htj2k-3bpp": ("HTJ2K 9/7, ICT, 3 bpp", None),
    "jpeg": ("JPEG quality 90, 4:4:4", None),
    "j2k": ("JPEG 2000 lossless, 5/3, RCT, 5 levels, blocks 64x64", 16),
}
LOSSLESS = {"htj2k", "htj2k-tiles", "j2k"}


def log(*words):
    print(*words, file=sys.stderr, flush=True)


def stop(text: str):
    sys.exit("nvimagecodec.py: " + text)


def libraries():
    """Imported late, so that --help works everywhere and a missing one is explained."""
    global np, measure, nv
    try:
        import numpy as np
        import measure
    except ImportError as error:
        stop(f"{error}; needed: {INSTALL}")
    try:
        from nvidia import nvimgcodec as nv
    except ImportError as error:
        stop(f"nvImageCodec cannot be imported ({error}); needed: {INSTALL}\n"
             f"python {platform.python_version()}, PYTHONPATH={os.environ.get('PYTHONPATH', '')}")


# ---- the card -----------------------------------------------------------------------------------

class Card:
    """The driver's own interface, which every machine with a card has."""
    mct = 1         # RCT with the reversible wavelet, ICT with the other

    def __init__(self):
        try:
            self.cuda = ctypes.CDLL("libcuda.so.1")
        except OSError as error:
            stop(f"no NVIDIA driver here: {error}")
        self.call("cuInit", 0)
        device, context = ctypes.c_int(), ctypes.c_void_p()
        self.call("cuDeviceGet", ctypes.byref(device), 0)
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(context), device)
        self.call("cuCtxSetCurrent", context)
        name, version = ctypes.create_string_buffer(100), ctypes.c_int()
        self.call("cuDeviceGetName", name, 100, device)
        self.call("cuDriverGetVersion", ctypes.byref(version))
        self.name = name.value.decode()
        self.driver = f"CUDA {version.value // 1000}.{version.value % 1000 // 10}"
        try:
            query = ["nvidia-smi", "--query-gpu=driver_version,clocks.max.sm,clocks.max.mem", "--format=csv,noheader"]
            shown = subprocess.run(query, capture_output=True, text=True, check=True).stdout
            self.driver += ", " + shown.split("\n")[0]
        except (OSError, subprocess.CalledProcessError):
            pass

    def call(self, name, *words):
        code = getattr(self.cuda, name)(*words)
        if code != 0:
            raise RuntimeError(f"{name} gave CUDA error {code}")

    def wait(self):
        self.call("cuCtxSynchronize")

    def pinned(self, data: bytes):
        """A copy in page-locked memory; never freed."""
        place = ctypes.c_void_p()
        self.call("cuMemHostAlloc", ctypes.byref(place), ctypes.c_size_t(len(data)), 0)
        array = np.ctypeslib.as_array((ctypes.c_uint8 * len(data)).from_address(place.value))
        array[:] = np.frombuffer(data, np.uint8)
        return array

    def backends(self, engine="default"):
        """No CPU_ONLY; all the others, as by default, or with another share for the JPEG engine."""
        kinds = nv.BackendKind
        found = [nv.Backend(kinds.GPU_ONLY), nv.Backend(kinds.HYBRID_CPU_GPU)]
        if engine == "shared":
            found.append(nv.Backend(kinds.HW_GPU_ONLY, 0.7, nv.LoadHintPolicy.ADAPTIVE_MINIMIZE_IDLE_TIME))
        elif engine == "default":
            found.append(nv.Backend(kinds.HW_GPU_ONLY))
        return found

    def decoder(self, threads: int, engine: str):
        return nv.Decoder(max_num_cpu_threads=threads, backends=self.backends(engine))

    def encoder(self):
        return nv.Encoder(backends=self.backends())

    def image(self, pixels):
        return nv.as_image(pixels).cuda()


class NoCard:
    """For --dry-run: nvImageCodec's CPU codecs, so that this script can be tried anywhere."""
    name, driver = "no card (dry run on the CPU: times mean nothing)", "no driver"
    mct = 0         # OpenCV's encoder has none

    def wait(self):
        pass

    def pinned(self, data):
        return np.frombuffer(data, np.uint8).copy()

    def options(self, threads=0):
        return dict(device_id=nv.NVIMGCODEC_DEVICE_CPU_ONLY, max_num_cpu_threads=threads,
                    backends=[nv.Backend(nv.BackendKind.CPU_ONLY)])

    def decoder(self, threads: int, engine: str):
        return nv.Decoder(**self.options(threads))

    def encoder(self):
        return nv.Encoder(**self.options())

    def image(self, pixels):
        return nv.as_image(pixels)


# ---- pictures -----------------------------------------------------------------------------------

def read_pictures(paths, stepwell):
    photos = []
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            if path.suffix == ".swl":
                if not stepwell:
                    stop(f"{path}: say --stepwell PROGRAM, which decodes it")
                ppm = Path(folder) / (path.stem + ".ppm")
                done = subprocess.run([str(stepwell), "decode", str(path), "-o", str(ppm), "--quiet"],
                                      capture_output=True, text=True)
                if done.returncode != 0:
                    stop(f"stepwell decode {path}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
                path = ppm
            try:
                photo = measure.Photo(path)
            except (OSError, ValueError) as error:
                stop(str(error))
            if photo.bits != 8 or photo.pixels.shape[2] != 3:
                stop(f"{path}: not RGB of 8 bits")
            photo.pixels = np.array(photo.pixels)       # writable and its own
            photos.append(photo)
    return photos


# ---- encoding, not timed ------------------------------------------------------------------------

def settings(row: str, mct: int, step=None):
    """The codec's name and its parameters."""
    if row == "jpeg":
        return "jpeg", nv.EncodeParams(quality_type=nv.QualityType.QUALITY, quality_value=90,
                                       chroma_subsampling=nv.ChromaSubsampling.CSS_444)
    words = dict(jpeg2k_encode_params=nv.Jpeg2kEncodeParams(code_block_size=(64, 64), num_resolutions=6,
                                                            mct_mode=mct, ht=row != "j2k"))
    if row == "htj2k-tiles":
        words |= dict(tile_width=512, tile_height=512)
    if step is None:
        return "jpeg2k", nv.EncodeParams(quality_type=nv.QualityType.LOSSLESS, **words)
    return "jpeg2k", nv.EncodeParams(quality_type=nv.QualityType.QUANTIZATION_STEP, quality_value=step, **words)


def encode(encoder, image, row, mct, step=None):
    codec, parameters = settings(row, mct, step)
    stream = encoder.encode(image, codec, params=parameters)
    return None if stream is None else bytes(memoryview(stream))


def encode_at(encode, photo, target):
    """The file nearest to the target among those that bisecting the quantisation step meets."""
    best = None

    def bpp(step):
        nonlocal best
        data = encode(step)
        if data is None:
            return None
        if best is None or abs(photo.bpp(len(data)) - target) < abs(photo.bpp(len(best)) - target):
            best = data
        return photo.bpp(len(data))

    for step in (1.0, 1 / 16, 16.0, 1 / 256):
        rate = bpp(step)
        if rate is not None:
            break
    else:
        raise RuntimeError("nvImageCodec did not encode with any quantisation step (its messages are above)")
    factor = 4.0 if rate > target else 1 / 4
    for _ in range(10):                                 # until the target lies between two steps
        other = step * factor
        other_rate = bpp(other)
        if other_rate is None:                          # it has no such steps: the nearest file stays
            return best
        if (other_rate > target) != (rate > target):
            break
        step, rate = other, other_rate
    else:
        return best
    low, high = sorted((step, other))
    for _ in range(16):
        if abs(photo.bpp(len(best)) / target - 1) <= TOLERANCE:
            break
        middle = math.sqrt(low * high)
        rate = bpp(middle)
        if rate is None:
            break
        low, high = (middle, high) if rate > target else (low, middle)
    return best


def encode_all(card, encoder, decoder, photos, row):
    """The files, their decoded pixels, and what is to be said of them."""
    files, decoded, scores = [], [], []
    for photo in photos:
        image = card.image(photo.pixels)
        if row == "htj2k-3bpp":
            data = encode_at(lambda step: encode(encoder, image, row, card.mct, step), photo, TARGET_BPP)
        else:
            data = encode(encoder, image, row, card.mct)
        if data is None:
            raise RuntimeError(f"{photo.name}: nvImageCodec did not encode it (its messages are above)")
        output = decoder.decode(nv.CodeStream(data))
        if output is None:
            raise RuntimeError(f"{photo.name}: nvImageCodec did not decode its own file (its messages are above)")
        card.wait()
        pixels = np.asarray(output.cpu()).copy()
        if pixels.shape != photo.pixels.shape:
            raise RuntimeError(f"{photo.name}: decoded as {pixels.shape}, not {photo.pixels.shape}")
        if row in LOSSLESS and not np.array_equal(pixels, photo.pixels):
            wrong = np.count_nonzero((pixels != photo.pixels).any(axis=2))
            raise RuntimeError(f"{photo.name}: {wrong} of {photo.count} decoded pixels are not the original's")
        if row not in LOSSLESS:
            scores.append((measure.psnr(photo, pixels), measure.ssim(photo, pixels)))
        files.append(data)
        decoded.append(pixels)
    rates = [photo.bpp(len(data)) for photo, data in zip(photos, files)]
    about = {"row": row, "text": ROWS[row][0], "bytes_mean": round(statistics.mean(map(len, files))),
             "bytes": [len(data) for data in files], "bpp_mean": round(statistics.mean(rates), 3),
             "bpp_of_all": round(8 * sum(map(len, files)) / sum(p.count for p in photos), 3),
             "bpp_range": [round(min(rates), 3), round(max(rates), 3)], "exact": row in LOSSLESS}
    if scores:
        about |= {"psnr_mean": round(statistics.mean(s[0] for s in scores), 2),
                  "ssim_mean": round(statistics.mean(s[1] for s in scores), 5)}
    return files, decoded, about


# ---- timing -------------------------------------------------------------------------------------

class Batch:
    """Some of the pictures by turns, with output buffers of their own that stay."""

    def __init__(self, card, decoder, arrays, members):
        self.card, self.decoder, self.arrays, self.members = card, decoder, arrays, members
        self.outputs, self.reuse = None, True

    def parse(self):
        return [nv.CodeStream(self.arrays[i]) for i in self.members]

    def decode(self, streams):
        if self.outputs is not None and self.reuse:
            outputs = self.decoder.decode(streams, images=self.outputs)
        else:
            outputs = self.decoder.decode(streams)
        if len(outputs) != len(streams) or any(output is None for output in outputs):
            raise RuntimeError("nvImageCodec left out pictures of a batch (its messages are above)")
        return outputs

    def run(self, made_before: bool) -> float:
        """Seconds."""
        streams = self.parse() if made_before else None
        self.card.wait()
        start = time.perf_counter()
        if streams is None:
            streams = self.parse()
        outputs = self.decode(streams)
        self.card.wait()
        seconds = time.perf_counter() - start
        self.outputs = outputs
        return seconds

    def first_runs(self):
        for i in range(WARM_UP):
            try:
                self.run(False)
            except (TypeError, ValueError) as error:
                if self.outputs is None or not self.reuse:
                    raise
                log(f"output buffers cannot be kept: {error}")
                self.reuse = False
                self.run(False)


def check(batch: Batch, decoded, exact: bool):
    """The pictures that a timed call left, each once."""
    seen = set()
    for i, output in zip(batch.members, batch.outputs):
        if i in seen:
            continue
        seen.add(i)
        pixels = np.asarray(output.cpu())
        if exact:
            right = np.array_equal(pixels, decoded[i])
        else:       # a JPEG engine may round another way
            right = pixels.shape == decoded[i].shape and \
                np.abs(pixels.astype(np.int16) - decoded[i]).mean() <= 1
        if not right:
            raise RuntimeError(f"picture {i} of a timed batch of {len(batch.members)} is wrong")


def time_batches(card, decoder, arrays, photos, size, repeats, decoded, exact, made_before):
    count = len(photos)
    different = count // math.gcd(count, size)
    starts = range(min(different, max(GROUPS, math.ceil(count / size))))
    batches = [Batch(card, decoder, arrays, [(g * size + i) % count for i in range(size)]) for g in starts]
    start = time.perf_counter()
    for batch in batches:
        batch.first_runs()
    while time.perf_counter() - start < WARM_UP_SECONDS:        # clocks rise slowly
        for batch in batches:
            batch.run(made_before)
    times = [[] for _ in batches]
    gc.collect()
    gc.disable()
    try:
        for _ in range(repeats):
            for batch, list_ in zip(batches, times):
                list_.append(batch.run(made_before))
    finally:
        gc.enable()
    check(batches[0], decoded, exact)
    pictures = size * len(batches)
    rgb = sum(photos[i].pixels.nbytes for batch in batches for i in batch.members)
    rgb_first = sum(photos[i].pixels.nbytes for i in batches[0].members)
    total = sum(statistics.median(list_) for list_ in times)
    first = statistics.median(times[0])
    result = {"ms": 1e3 * total / pictures, "ms_low": 1e3 * sum(map(min, times)) / pictures,
              "ms_high": 1e3 * sum(map(max, times)) / pictures, "gb_s": rgb / total / 1e9,
              "first_ms": 1e3 * first / size, "first_gb_s": rgb_first / first / 1e9}
    return {key: round(value, 4) for key, value in result.items()} | {
        "groups": len(batches), "repeats": repeats, "outputs_kept": all(batch.reuse for batch in batches)}


# ---- the whole ----------------------------------------------------------------------------------

def versions() -> dict:
    found = {"nvimgcodec": nv.__version__, "nvimgcodec_cuda": str(getattr(nv, "__cuda_version__", "?")),
             "python": platform.python_version(), "numpy": np.__version__}
    for name in ("nvidia-nvimgcodec", "nvidia-nvjpeg2k", "nvidia-nvjpeg"):
        for ending in ("", "-cu13", "-cu12"):
            try:
                found[name + ending] = importlib.metadata.version(name + ending)
            except importlib.metadata.PackageNotFoundError:
                pass
    return found


class Decoders:
    """One for each setting; they stay."""

    def __init__(self, card):
        self.card, self.made = card, {}

    def __call__(self, threads: int, engine: str):
        if (threads, engine) not in self.made:
            self.made[threads, engine] = self.card.decoder(threads, engine)
        return self.made[threads, engine]


def tried(row: str, arguments) -> list[dict]:
    """The settings to try."""
    found = [dict(threads=threads, memory=memory, engine="default")
             for threads in arguments.threads for memory in arguments.memory]
    if row == "jpeg":
        found += [found[0] | dict(engine=engine) for engine in ("shared", "none")]
    return found


class Report:
    def __init__(self):
        self.lines, self.failures = [], 0

    def add(self, line: dict):
        self.lines.append(line)
        print(json.dumps(line), flush=True)

    def fail(self, where: dict, error: Exception):
        if error.__traceback__:
            log("".join(traceback.format_exception(error)[-3:]).strip())
        self.failures += 1
        self.add(where | {"error": f"{type(error).__name__}: {error}"})

    def table(self) -> str:
        about = {line["row"]: line for line in self.lines if "bytes_mean" in line}
        failed = [line for line in self.lines if "error" in line]
        best = {}
        for line in self.lines:
            if "ms" in line and not line["made_before"]:
                key = line["row"], line["batch"]
                if key not in best or line["ms"] < best[key]["ms"]:
                    best[key] = line
        parsed = {(line["row"], line["batch"]): line["ms"] for line in self.lines
                  if "ms" in line and line["made_before"]}
        out = ["| codec | bytes | bpp | batch | ms a picture | least – most | GB/s of RGB8 | first batch alone, ms "
               "| streams made before, ms | threads, memory, JPEG engine |", "|---|---|---|---|---|---|---|---|---|---|"]
        for (row, batch), line in best.items():
            said = about[row]
            before = f"{parsed[row, batch]:.3f}" if (row, batch) in parsed else "–"
            out.append(f"| {said['text']} | {said['bytes_mean']} | {said['bpp_of_all']} | {batch} | {line['ms']:.3f} "
                       f"| {line['ms_low']:.3f} – {line['ms_high']:.3f} | {line['gb_s']:.1f} | {line['first_ms']:.3f} "
                       f"| {before} | {line['threads'] or 'default'}, {line['memory']}, "
                       f"{line['engine']} |")
        for line in failed:
            keys = ("row", "batch", "threads", "memory", "engine")
            where = ", ".join(f"{key} {line[key]}" for key in keys if key in line)
            out.append(f"\nFAIL {where}: {line['error']}")
        for line in about.values():
            if "psnr_mean" in line:
                out.append(f"\n{line['text']}: PSNR {line['psnr_mean']} dB, SSIM {line['ssim_mean']}, "
                           f"{line['bpp_range'][0]} to {line['bpp_range'][1]} bpp")
        return "\n".join(out)


def numbers(text: str) -> list[int]:
    return [int(part) for part in text.split(",")]


def names(known):
    def parse(text: str) -> list[str]:
        parts = text.split(",")
        for part in parts:
            if part not in known:
                raise argparse.ArgumentTypeError(f"{part}: not one of {', '.join(known)}")
        return parts
    return parse


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pictures", nargs="+", type=Path, metavar="PICTURE", help="PPM of 8 bits RGB, or .swl")
    parser.add_argument("--stepwell", type=Path, metavar="PROGRAM", help="decodes .swl files")
    parser.add_argument("--only", type=names(ROWS), default=list(ROWS), metavar="ROWS",
                        help=f"of {','.join(ROWS)} (all)")
    parser.add_argument("--batches", type=numbers, default=[1, 16, 64, 256], metavar="LIST", help="(1,16,64,256)")
    parser.add_argument("--repeat", type=int, default=11, metavar="N", help="timed runs of each batch (11)")
    parser.add_argument("--threads", type=numbers, default=[0, 8], metavar="LIST",
                        help="CPU threads of the decoder to try, 0: its own default (0,8)")
    parser.add_argument("--memory", type=names(["pinned", "pageable"]), default=["pinned", "pageable"],
                        metavar="LIST", help="host memory of the compressed bytes to try (pinned,pageable)")
    parser.add_argument("--limit", type=float, default=300, metavar="SECONDS",
                        help="start no further measurement after so long (300)")
    parser.add_argument("--out", type=Path, metavar="PREFIX", help="also write PREFIX.md and PREFIX.json")
    parser.add_argument("--dry-run", action="store_true",
                        help="on the CPU, to try this script: times mean nothing")
    arguments = parser.parse_args()
    if arguments.repeat < 9 and not arguments.dry_run:
        parser.error("--repeat: at least 9")

    begin = time.monotonic()
    libraries()
    report = Report()
    card = NoCard() if arguments.dry_run else Card()
    photos = read_pictures(arguments.pictures, arguments.stepwell)
    report.add({"peer": "nvImageCodec", "card": card.name, "driver": card.driver, "cpus": os.cpu_count(),
                "versions": versions(), "pictures": [p.name for p in photos],
                "rgb_bytes_mean": round(statistics.mean(p.pixels.nbytes for p in photos))})
    try:
        encoder = card.encoder()
        decoders = Decoders(card)
        decoders(arguments.threads[0], "default")
    except RuntimeError as error:
        stop(f"nvImageCodec cannot use {card.name} ({card.driver}): {error}")

    for row in arguments.only:
        if time.monotonic() - begin > arguments.limit:
            report.fail({"row": row}, TimeoutError("the limit of time is reached"))
            continue
        log(f"{row}: encoding, {time.monotonic() - begin:.0f} s")
        try:
            files, decoded, about = encode_all(card, encoder, decoders(arguments.threads[0], "default"), photos, row)
            report.add(about)
            kept = {"pinned": card.pinned, "pageable": lambda data: np.frombuffer(data, np.uint8)}
            arrays = {memory: [kept[memory](data) for data in files] for memory in arguments.memory}
        except Exception as error:      # a failure is a result and is shown as one
            report.fail({"row": row}, error)
            continue
        for size in arguments.batches:
            if ROWS[row][1] and size > ROWS[row][1]:
                continue
            best = None
            # In the end once more with the best, the CodeStream objects made before.
            for setting in [*tried(row, arguments), None]:
                if setting is None and best is None:
                    break
                if time.monotonic() - begin > arguments.limit:
                    report.fail({"row": row, "batch": size}, TimeoutError("the limit of time is reached"))
                    break
                where = {"row": row, "batch": size} | (setting or best[1]) | {"made_before": setting is None}
                try:
                    result = time_batches(card, decoders(where["threads"], where["engine"]), arrays[where["memory"]],
                                          photos, size, arguments.repeat, decoded, row in LOSSLESS,
                                          where["made_before"])
                except Exception as error:
                    report.fail(where, error)
                    continue
                report.add(where | result)
                if setting and (best is None or result["ms"] < best[0]):
                    best = result["ms"], setting

    table = (f"nvImageCodec {nv.__version__} on {card.name} ({card.driver}), {os.cpu_count()} CPUs, "
             f"{len(photos)} pictures\n\n" + report.table() + "\n")
    print("\n" + table)
    if arguments.out:
        arguments.out.parent.mkdir(parents=True, exist_ok=True)
        Path(f"{arguments.out}.md").write_text(table)
        Path(f"{arguments.out}.json").write_text(json.dumps(report.lines, indent=1) + "\n")
    sys.exit(1 if report.failures else 0)


if __name__ == "__main__":
    main()
