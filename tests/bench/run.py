#!/usr/bin/env python3
"""Measures Stepwell against other codecs on the same pixels, one thread on the CPU.

    cargo build --release --features cli
    python3 tests/bench/photos.py
    python3 tests/bench/run.py [--only lossless,lossy,loq,speed,memory] [--out target/bench/results]

Writes OUT.md and OUT.json. Sizes and qualities of the peers are kept in
target/bench/cache under the hash of the photograph, so that a later run only
measures Stepwell; speeds are always measured anew. A failure is shown as FAIL
with its reason, and a column with a failure has no mean.
"""

import argparse
import json
import math
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from random import Random

import numpy as np

import peers
from measure import SSIM_TEXT, Photo, psnr, read_ppm, run_measured, ssim

ROOT = Path(__file__).resolve().parents[2]
SECTIONS = ["lossless", "lossy", "loq", "speed", "memory"]
RATES = [1.0, 2.0, 3.0]
RATE_TOLERANCE = 0.005
OURS = "Stepwell"


def log(*words):
    print(*words, file=sys.stderr, flush=True)


# ---- our side: the command line program ---------------------------------------------------------

class Stepwell:
    def __init__(self, program: Path, folder: Path):
        self.program, self.folder = program, folder

    def run(self, *words) -> str:
        if not self.program.exists():
            raise RuntimeError("the program stepwell is not built")
        done = subprocess.run([str(self.program), *map(str, words)], capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"stepwell {words[0]}: exit code {done.returncode}: {done.stderr.strip()[-300:]}")
        return done.stdout

    def encode(self, photo: Photo, *options, tag="lossless") -> Path:
        out = self.folder / f"{photo.set}_{photo.name}_{tag}.swl"
        if tag != "lossless" or not out.exists():
            self.run("encode", photo.path, "-o", out, *options)
        return out

    def decode(self, file: Path, *options) -> np.ndarray:
        out = self.folder / "decoded.ppm"
        out.unlink(missing_ok=True)
        self.run("decode", file, "-o", out, *options)
        return read_ppm(out)[0]

    def info(self, file: Path) -> dict:
        return json.loads(self.run("info", file, "--json"))

    def bench(self, files, threads: int, repeat: int) -> dict:
        return json.loads(self.run("bench", *files, "--threads", threads, "--repeat", repeat, "--json"))


# ---- cache of the peers' results ----------------------------------------------------------------

class Cache:
    def __init__(self, folder: Path, fresh: bool):
        self.folder, self.fresh = folder, fresh
        self.seen = {}

    def file(self, photo: Photo) -> Path:
        return self.folder / f"{photo.hash}.json"

    def load(self, photo: Photo) -> dict:
        if photo.hash not in self.seen:
            path = self.file(photo)
            known = json.loads(path.read_text()) if path.exists() and not self.fresh else {}
            self.seen[photo.hash] = known
        return self.seen[photo.hash]

    def get(self, photo: Photo, key: str, make):
        """The result under this key; made, and kept unless it is a failure."""
        key = f"{key} [{peers.VERSIONS}]"
        known = self.load(photo)
        if key not in known:
            result = attempt(make)
            if "error" in result:
                return result
            known[key] = result
            self.folder.mkdir(parents=True, exist_ok=True)
            part = self.file(photo).with_suffix(".part")
            part.write_text(json.dumps(known, indent=1))
            part.rename(self.file(photo))
        return known[key]

    def encoded(self, photo: Photo, name: str) -> list[bytes]:
        """The peer's lossless file, kept on disk."""
        stem = f"{photo.hash}.{name.replace(' ', '_')}"
        paths = sorted(self.folder.glob(f"{stem}.*.bin"))
        if not paths or self.fresh:
            data = peers.LOSSLESS[name][0](photo.pixels, photo.bits)
            parts = data if isinstance(data, list) else [data]
            self.folder.mkdir(parents=True, exist_ok=True)
            for i, part in enumerate(parts):
                path = self.folder / f"{stem}.{i}.bin"
                path.with_suffix(".part").write_bytes(part)
                path.with_suffix(".part").rename(path)
            return parts
        return [p.read_bytes() for p in paths]


def attempt(make) -> dict:
    try:
        return make()
    except Exception as error:    # a failure is a result and is shown as one
        log(traceback.format_exc(limit=-2).strip())
        return {"error": f"{type(error).__name__}: {error}"[:400]}


# ---- tables -------------------------------------------------------------------------------------

def table(head, rows) -> str:
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(c) for c in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def failures(results) -> list[str]:
    """One line for each error anywhere inside the results."""
    found = []

    def walk(value, trail):
        if isinstance(value, dict):
            if "error" in value:
                found.append(f"* FAIL {' / '.join(trail)}: {value['error']}".replace("\n", " "))
            for key, inner in value.items():
                walk(inner, trail + [str(key)])
        elif isinstance(value, list):
            for i, inner in enumerate(value):
                walk(inner, trail + [str(i)])

    walk(results, [])
    return found


def cell(result, show) -> str:
    if result is None:
        return "-"
    if "error" in result:
        return "FAIL"
    if "outside" in result:
        return "out of range"
    return show(result)


def mean(values):
    values = list(values)
    return statistics.fmean(values) if values and None not in values else None


def number(value, digits=3, plus=False) -> str:
    return "-" if value is None else f"{value:{'+' if plus else ''}.{digits}f}"


def percent(value, digits=1) -> str:
    return "-" if value is None else f"{100 * value:+.{digits}f} %"


# ---- lossless -----------------------------------------------------------------------------------

def peer_lossless(cache, photo, name):
    encode, decode, depths = peers.LOSSLESS[name]
    if str(photo.bits) not in depths.split():
        return None

    def make():
        start = time.perf_counter()
        data = encode(photo.pixels, photo.bits)
        seconds = time.perf_counter() - start
        if not np.array_equal(decode(data, photo.bits), photo.pixels):
            raise ValueError("not lossless")
        return {"bytes": peers.size(data), "bpp": photo.bpp(peers.size(data)), "encode_seconds": seconds}

    return cache.get(photo, f"lossless {name}", make)


def our_lossless(stepwell, photo):
    start = time.perf_counter()
    file = stepwell.encode(photo)
    seconds = time.perf_counter() - start
    if not np.array_equal(stepwell.decode(file), photo.pixels):
        raise ValueError("not lossless")
    size = file.stat().st_size
    return {"bytes": size, "bpp": photo.bpp(size), "encode_seconds": seconds}


def lossless(bench):
    results, text = {}, ["## Lossless, bits per pixel\n", peers.LOSSLESS_TEXT + "\n"]
    for set_name, photos in bench.sets.items():
        rows = {}
        for photo in photos:
            row = {name: peer_lossless(bench.cache, photo, name) for name in peers.LOSSLESS}
            row[OURS] = attempt(lambda: our_lossless(bench.stepwell, photo))
            rows[photo.name] = row
            log(f"lossless {set_name}/{photo.name}", *(f"{n} {cell(r, lambda v: number(v['bpp']))}" for n, r in row.items()))
        names = [n for n in [*peers.LOSSLESS, OURS] if any(row[n] for row in rows.values())]
        column = {n: [(row[n] or {}).get("bpp") for row in rows.values()] for n in names}
        means = {n: mean(column[n]) for n in names}
        compared = {}
        for n in names[:-1]:
            pairs = [(o, p) for o, p in zip(column[OURS], column[n]) if o is not None and p is not None]
            if pairs and None not in column[OURS]:
                compared[n] = {"ratio": mean(o for o, _ in pairs) / mean(p for _, p in pairs),
                               "wins": sum(o < p for o, p in pairs), "of": len(pairs)}
        results[set_name] = {"photos": rows, "means": means, "ours_against": compared}
        body = [[name, *(cell(row[n], lambda v: number(v["bpp"])) for n in names)] for name, row in rows.items()]
        body.append([f"**mean of {len(rows)}**", *(number(means[n]) for n in names)])
        body.append([f"{OURS} / peer (means)", *(number(compared[n]["ratio"], 4) if n in compared else "-" for n in names)])
        body.append([f"{OURS} smaller on", *(f"{compared[n]['wins']} of {compared[n]['of']}" if n in compared else "-" for n in names)])
        text += [f"### Set `{set_name}`\n", table(["picture", *names], body)]
    return results, text


# ---- lossy --------------------------------------------------------------------------------------

def interpolate(bpp, a, b):
    """Between two measured files, linear in log(bpp)."""
    t = (math.log(bpp) - math.log(a["bpp"])) / (math.log(b["bpp"]) - math.log(a["bpp"]))
    value = {k: a[k] + t * (b[k] - a[k]) for k in ("psnr", "ssim")}
    return {"bpp": bpp, **value, "between": [a["bpp"], b["bpp"]]}


def peer_lossy(cache, photo, name):
    """Results at all rates; encodes of one rate are reused for the others."""
    codec = peers.LOSSY[name]
    files = {}

    def at(value):
        if value not in files:
            files[value] = codec.encode(photo.pixels, value)
        return photo.bpp(len(files[value]))

    def quality(value):
        decoded = codec.decode(files[value])
        return {"bpp": at(value), "psnr": psnr(photo, decoded), "ssim": ssim(photo, decoded), "parameter": value}

    def make(rate):
        low, high = codec.low, codec.high
        for value in files:
            low = max(low, value) if at(value) <= rate else low
            high = min(high, value) if at(value) >= rate else high
        if at(high) < rate:
            return {"outside": f"at most {at(high):.3f} bpp"}
        if at(low) > rate:
            return {"outside": f"at least {at(low):.3f} bpp"}
        while not codec.end(low, high):
            value = codec.middle(low, high)
            if abs(at(value) / rate - 1) <= RATE_TOLERANCE:
                return quality(value)
            low, high = (value, high) if at(value) < rate else (low, value)
        return interpolate(rate, quality(low), quality(high))

    return {rate: cache.get(photo, f"lossy {name} {rate}", lambda: make(rate)) for rate in RATES}


def our_lossy(stepwell, photo, rate):
    """At the rate asked for; if the program misses it, between two files around it."""
    def measure(asked):
        file = stepwell.encode(photo, "--bpp", f"{asked:.5f}", tag=f"{rate}bpp")
        decoded = stepwell.decode(file)
        return {"bpp": photo.bpp(file.stat().st_size), "psnr": psnr(photo, decoded), "ssim": ssim(photo, decoded)}

    first = measure(rate)
    if abs(first["bpp"] / rate - 1) <= RATE_TOLERANCE:
        return first
    second = measure(rate * (1.03 if first["bpp"] < rate else 0.97) * rate / first["bpp"])
    low, high = sorted((first, second), key=lambda m: m["bpp"])
    if not low["bpp"] <= rate <= high["bpp"]:
        raise ValueError(f"asked for {rate} bpp, got {first['bpp']:.3f} and {second['bpp']:.3f}")
    return {**interpolate(rate, low, high), "missed": first["bpp"]}


def lossy(bench):
    photos = bench.sets["test"]
    names = [*peers.LOSSY, OURS]
    results = {str(rate): {} for rate in RATES}
    for photo in photos:
        columns = {name: peer_lossy(bench.cache, photo, name) for name in peers.LOSSY}
        columns[OURS] = {rate: attempt(lambda: our_lossy(bench.stepwell, photo, rate)) for rate in RATES}
        for rate in RATES:
            results[str(rate)][photo.name] = {name: columns[name][rate] for name in names}
        log(f"lossy {photo.name}", *(f"{n} {cell(columns[n][3.0], lambda v: number(v['psnr'], 2))}" for n in names))
    text = ["## Lossy, PSNR / SSIM at equal bits per pixel\n",
            "PSNR over all samples of R, G and B; means are means of the dB values. " + SSIM_TEXT + ".\n",
            peers.LOSSY_TEXT + "\n"]
    for rate in RATES:
        rows = results[str(rate)]
        means, against = {}, {}
        for n in names:
            means[n] = {k: mean(row[n].get(k) for row in rows.values()) for k in ("psnr", "ssim")}
        for n in peers.LOSSY:
            both = [(row[OURS], row[n]) for row in rows.values() if "psnr" in row[OURS] and "psnr" in row[n]]
            against[n] = {"psnr": mean(o["psnr"] - p["psnr"] for o, p in both),
                          "ssim": mean(o["ssim"] - p["ssim"] for o, p in both), "of": len(both)}
        body = [[name, *(cell(row[n], lambda v: f"{v['psnr']:.2f} / {v['ssim']:.4f}") for n in names)]
                for name, row in rows.items()]
        body.append([f"**mean of {len(rows)}**", *(f"{number(means[n]['psnr'], 2)} / {number(means[n]['ssim'], 4)}" for n in names)])
        body.append([f"{OURS} - peer, where both have it",
                     *(f"{number(a['psnr'], 2, True)} / {number(a['ssim'], 4, True)} ({a['of']})" for a in against.values()), ""])
        text += [f"### {rate:g} bpp\n", table(["picture", *names], body)]
        results[str(rate)] = {"photos": rows, "means": means, "ours_against": against}
    return results, text


# ---- bytes for each LoQ -------------------------------------------------------------------------

def loq(bench):
    rows = {}

    def make(photo):
        file = bench.stepwell.encode(photo, "--bpp", "3", tag="3bpp")
        info = bench.stepwell.info(file)
        size = file.stat().st_size
        if info["file_length"] != size:
            raise ValueError(f"info says {info['file_length']} bytes, the file has {size}")
        return {"bpp": photo.bpp(size), **{str(l["loq"]): l["prefix_bytes"] / size for l in info["loqs"]}}

    for photo in bench.sets["test"]:
        rows[photo.name] = attempt(lambda: make(photo))
    levels = ["1", "2", "3"]
    means = {n: mean(row.get(n) for row in rows.values()) for n in levels}
    share = lambda v: "-" if v is None else f"{100 * v:.1f} %"
    body = [[name, cell(row, lambda v: number(v["bpp"])), *(cell(row, lambda v: share(v.get(n))) for n in levels)]
            for name, row in rows.items()]
    body.append([f"**mean of {len(rows)}**", "", *(share(means[n]) for n in levels)])
    text = ["## Share of a 3 bpp file that a LoQ needs (prefix, all that comes before included)\n",
            table(["picture", "bpp", *(f"LoQ {n}" for n in levels)], body)]
    return {"photos": rows, "means": means}, text


# ---- speed --------------------------------------------------------------------------------------

def speed_summary(times, photos):
    """Megapixels a second over all photos, from each one's median and best time."""
    total = sum(p.count for p in photos) / 1e6
    rate = lambda pick: total / sum(pick(times[p.name]) for p in photos)
    return {"median": rate(statistics.median), "best": rate(min)}


def peer_speed(bench, photos, repeat):
    """All peers in turn on all photos, again and again."""
    files = {name: {p.name: bench.cache.encoded(p, name) for p in photos} for name in peers.SPEED}
    times = {name: {p.name: [] for p in photos} for name in peers.SPEED}
    broken = {}
    for turn in range(repeat + 1):
        for name in peers.SPEED:
            decode = peers.LOSSLESS[name][1]
            for photo in photos:
                parts = files[name][photo.name]
                data = parts[0] if len(parts) == 1 else parts
                start = time.perf_counter()
                decoded = decode(data, photo.bits)
                seconds = time.perf_counter() - start
                if turn == 0:                            # warm-up, and the check
                    if not np.array_equal(decoded, photo.pixels):
                        broken[name] = {"error": f"wrong pixels for {photo.name}"}
                else:
                    times[name][photo.name].append(seconds)
        log(f"speed, peers, turn {turn} of {repeat}")
    return {n: broken.get(n) or speed_summary(times[n], photos) for n in peers.SPEED}


def our_speed(bench, photos, threads, repeat):
    files = [bench.stepwell.encode(p) for p in photos]
    answer = bench.stepwell.bench(files, threads, repeat)
    by_file = {Path(f["file"]).name: f for f in answer["files"]}
    total = sum(p.count for p in photos) / 1e6
    rate = lambda key: total / sum(by_file[f.name][key] for f in files)
    return {"median": rate("seconds_median"), "best": rate("seconds_best")}


def speed(bench):
    photos, repeat = bench.sets["test"], bench.repeat
    ours = lambda threads: attempt(lambda: our_speed(bench, photos, threads, repeat))
    results = {f"{OURS}, before": ours(1)}
    results.update(attempt(lambda: peer_speed(bench, photos, repeat)))
    results[OURS] = ours(1)
    results[f"{OURS}, 2 threads"] = ours(2)
    first, second = results.pop(f"{OURS}, before"), results[OURS]
    if "error" not in first and "error" not in second:
        results["drift"] = second["median"] / first["median"] - 1
        results[OURS] = {k: (first[k] + second[k]) / 2 for k in first}
    ours_median = results[OURS].get("median")
    body = []
    for name, r in results.items():
        if isinstance(r, dict):
            ratio = ours_median / r["median"] if ours_median and "median" in r else None
            body.append([name, cell(r, lambda v: number(v["median"], 1)), cell(r, lambda v: number(v["best"], 1)), number(ratio, 2)])
    text = ["## Decoding lossless files, megapixels a second, one thread\n",
            f"From memory to memory, {len(photos)} photographs in turn, {repeat} times after a warm-up; total pixels by the "
            "sum of each photograph's median (best) time. Peers through their Python wheel. "
            "Only the ratios carry over to another machine."
            + (f" {OURS} was measured before and after the peers; the second was {100 * results['drift']:+.1f} %." if "drift" in results else "")
            + "\n",
            table(["codec", "median", "best", f"{OURS} (1 thread) / codec"], body)]
    return results, text


# ---- memory -------------------------------------------------------------------------------------

REGION = 512
# The region is put at one place in each of PLACES x PLACES parts of the large picture, which vary much in detail.
PLACES = 15
GRIDS = {"at multiples of 128": 128, "anywhere": 1}


def memory(bench):
    results = {}
    floor = attempt(lambda: run_measured(["true"])[0])
    out = bench.stepwell.folder / "decoded.ppm"

    def decode(file, *options):
        out.unlink(missing_ok=True)
        return run_measured([bench.stepwell.program, "decode", file, "-o", out, "--threads", "1", *options, "--json"])

    def full(photo):
        file = bench.stepwell.encode(photo)
        usage, _ = decode(file)
        if not np.array_equal(read_ppm(out)[0], photo.pixels):
            raise ValueError("not lossless")
        return {"output_bytes": photo.pixels.nbytes, "file_bytes": file.stat().st_size, "peak_bytes": usage["peak_bytes"],
                "peak_over_output": usage["peak_bytes"] / photo.pixels.nbytes, "cpu_seconds": usage["seconds"]}

    def region(photo, grid):
        """Means over places on multiples of `grid` pixels; the peak is the largest."""
        file = bench.stepwell.encode(photo)
        size = file.stat().st_size
        share = size * REGION**2 / photo.count
        random, runs = Random(1), []
        for part in np.ndindex(PLACES, PLACES):
            x, y = (int((i + random.random()) / PLACES * ((side - REGION) // grid + 1)) * grid
                    for i, side in zip(part, (photo.width, photo.height)))
            usage, stdout = decode(file, "--region", f"{x},{y},{REGION},{REGION}")
            if not np.array_equal(read_ppm(out)[0], photo.pixels[y:y + REGION, x:x + REGION]):
                raise ValueError(f"wrong pixels in the region at {x}, {y}")
            runs.append({"place": [x, y], "bytes_read": json.loads(stdout)["bytes_read"], **usage})
        average = lambda key: mean(run[key] for run in runs)
        return {"output_bytes": REGION**2 * photo.pixels.shape[2] * photo.pixels.itemsize, "file_bytes": size,
                "peak_bytes": max(run["peak_bytes"] for run in runs), "bytes_read": average("bytes_read"),
                "kernel_bytes_read": average("read_bytes"), "share_of_file": share,
                "read_over_share": average("bytes_read") / share, "cpu_seconds": average("seconds"), "places": runs}

    chosen = [p for p in bench.sets["test"] if p.name == "Dragonfly"] or bench.sets["test"][:1]
    large = bench.load_set("large")
    for photo in chosen + large:
        results[f"{photo.name}, all"] = attempt(lambda: full(photo))
    for photo in large:
        for name, grid in GRIDS.items():
            results[f"{photo.name}, {REGION}x{REGION} {name}"] = attempt(lambda: region(photo, grid))
    mb = lambda v: f"{v / 1e6:.2f}"
    body = [[name, *(cell(r, lambda v, k=k: mb(v[k]) if k in v else "-") for k in ("file_bytes", "output_bytes", "peak_bytes")),
             cell(r, lambda v: number(v.get("peak_over_output"), 2)),
             *(cell(r, lambda v, k=k: mb(v[k]) if v.get(k) is not None else "-") for k in ("bytes_read", "kernel_bytes_read", "share_of_file")),
             cell(r, lambda v: number(v.get("read_over_share"), 2))] for name, r in results.items()]
    text = ["## Memory and bytes read, lossless, one thread, MB (10^6 bytes)\n",
            f"Peak is the largest resident set of the whole process (a process that does nothing: {cell(floor, lambda v: mb(v['peak_bytes']))}; "
            "smaller peaks than that cannot be seen). Share: the region's part of the picture's area times the file size. "
            "\"Read, kernel\" counts all read calls of the process. "
            f"Regions: means over {PLACES**2} places, one chosen at random in each part of the picture and the "
            "same in each run, and the largest peak; 128 pixels are a tile of LoQ 0.\n",
            table(["decode", "file", "pixels", "peak", "peak / pixels", "read", "read, kernel", "share", "read / share"], body)]
    return {"floor": floor, **results}, text


# ---- the run ------------------------------------------------------------------------------------

class Bench:
    def __init__(self, args, folder):
        self.args = args
        self.stepwell = Stepwell(args.stepwell, folder)
        self.cache = Cache(args.cache, args.fresh)
        self.repeat = args.repeat
        self.sets = {name: self.load_set(name) for name in args.sets.split(",")}
        if "test" not in self.sets:
            self.sets["test"] = self.load_set("test")

    def load_set(self, name):
        paths = sorted((self.args.photos / name).glob("*.ppm"))
        if not paths:
            sys.exit(f"no pictures in {self.args.photos / name}; run photos.py first")
        photos = [Photo(p) for p in paths]
        only = self.args.names and self.args.names.split(",")
        return [p for p in photos if not only or p.name in only or name == "large"]


def machine() -> str:
    model = "unknown"
    try:
        model = next(l.split(":")[1].strip() for l in open("/proc/cpuinfo") if l.startswith("model name"))
    except (OSError, StopIteration):
        pass
    return f"{model}, {os.cpu_count()} CPUs, Python {platform.python_version()}"


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "target/bench/results", help="without suffix")
    parser.add_argument("--photos", type=Path, default=ROOT / "target/bench/photos")
    parser.add_argument("--cache", type=Path, default=ROOT / "target/bench/cache")
    parser.add_argument("--stepwell", type=Path, default=ROOT / "target/release/stepwell")
    parser.add_argument("--only", default=",".join(SECTIONS), help="sections, with commas")
    parser.add_argument("--sets", default="test,uhd,graphics,deep", help="sets of the lossless section")
    parser.add_argument("--names", help="only these pictures, with commas")
    parser.add_argument("--repeat", type=int, default=5, help="repetitions of the speed section")
    parser.add_argument("--fresh", action="store_true", help="do not use the peers' kept results")
    args = parser.parse_args()
    sections = args.only.split(",")
    if unknown := set(sections) - set(SECTIONS):
        sys.exit(f"unknown sections: {', '.join(sorted(unknown))}")

    results = {"machine": machine(), "peers": f"{peers.VERSIONS}; {peers.library_versions()}"}
    text = ["# Stepwell against other codecs\n", f"{results['machine']}. {results['peers']}.\n"]
    folder = Path(tempfile.mkdtemp(prefix="stepwell-bench-"))
    try:
        bench = Bench(args, folder)
        for name in sections:
            results[name], lines = globals()[name](bench)
            text += lines
    finally:
        shutil.rmtree(folder)
    broken = failures(results)
    text += ["## Failures\n", "\n".join(broken) if broken else "None.", ""]
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.with_suffix(".json").write_text(json.dumps(results, indent=1))
    args.out.with_suffix(".md").write_text("\n".join(text))
    print(f"{args.out.with_suffix('.md')}: {len(broken)} failures")


if __name__ == "__main__":
    main()
