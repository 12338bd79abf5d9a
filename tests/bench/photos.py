#!/usr/bin/env python3
"""Makes the photographs of the bench from Debian packages.

    python3 tests/bench/photos.py [--out target/bench/photos] [--set NAME ...]

Needs apt-get and dpkg (the packages are downloaded and unpacked into a folder
of our own; nothing is installed) and the packages of requirements.txt.
Each set becomes a folder of binary PPM files:

  test      photographs for measuring
  train     photographs for training; no picture is in both sets
  uhd       three pictures about 4096 pixels wide (scaled by less than 2)
  deep      10, 12 and 16 bit photographs, 4x4 originals averaged to one pixel
  graphics  text, flat art, a dithered palette picture: not photographs
  large     one mosaic of more than 100 megapixels, originals not scaled

A photograph is scaled down from its original by 2 or more, so that the traces
of JPEG are gone, and to a long side of 2040 pixels or less. A file that exists
is left alone. The same package versions give the same bytes; photos.sha256
holds the sums (--check compares, --write-sums writes them); --write-list writes
PHOTOS.md from the tables below.
"""

import argparse
import hashlib
import math
import subprocess
import sys
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFont

Image.MAX_IMAGE_PIXELS = None

LONG_SIDE = 2040
UHD_LONG_SIDE = 4096
LANCZOS = Image.Resampling.LANCZOS

L16 = ("lomiri-wallpapers-16.04", "usr/share/backgrounds/")
L20 = ("lomiri-wallpapers-20.04", "usr/share/backgrounds/")
MATE = ("mate-backgrounds", "usr/share/backgrounds/mate/")
PLASMA = ("plasma-workspace-wallpapers", "usr/share/wallpapers/")
PALAPELI = ("palapeli-data", "usr/share/palapeli/collection/")
UKUI = ("ukui-wallpapers", "usr/share/backgrounds/")

K = "/contents/images/2560x1600.jpg"

# name -> (package, file, author, licence); authors and licences as the
# package's copyright file or the picture's metadata file gives them.
SOURCES = {
    "Bridge": (*L16, "Bridge_by_Sander_Klootwijk.jpg", "Sander Klootwijk", "CC-BY-SA-4.0"),
    "Dragonfly": (*L16, "Dragonfly_by_Bolly.jpg", "Bolly", "CC-BY-SA-4.0"),
    "Kleiber": (*L20, "Kleiber_by_Lukas_Baubkus.jpg", "Lukas Baubkus", "CC-BY-SA-3.0"),
    "Wine": (*L16, "Wine_by_Jakkub_Mede.jpg", "Jakub Mede", "CC-BY-4.0"),
    "aitzgorri": (*L16, "aitzgorri_by_Aitzol_Berasategi.jpg", "Aitzol Berasategi", "CC-BY-4.0"),
    "friends": (*L16, "friends_by_Aitzol_Berasategi.jpg", "Aitzol Berasategi", "CC-BY-4.0"),
    "greentock": (*L16, "greentock_by_Peter_Nerlich.jpg", "Peter Nerlich", "CC-BY-SA-4.0"),
    "life": (*L16, "life_by_Aitzol_Berasategi.jpg", "Aitzol Berasategi", "CC-BY-4.0"),
    "picosdeeuropa": (*L16, "picosdeeuropa_by_Aitzol_Berasategi.jpg", "Aitzol Berasategi", "CC-BY-4.0"),
    "seeding": (*L16, "seeding_by_Clements_Engelhardt.jpg", "Clemens Engelhardt", "CC0-1.0"),
    "sunset": (*L16, "sunset_by_Aitzol_Berasategi.jpg", "Aitzol Berasategi", "CC-BY-4.0"),
    "ColorfulCups": (*PLASMA, "ColorfulCups" + K, "Dmitri Popov", "LGPL-3"),
    "EveningGlow": (*PLASMA, "EveningGlow" + K, "Ian Hex", "LGPL-3"),
    "LadyBird": (*MATE, "nature/LadyBird.jpg", "Charles Barbin", "GPL-2+"),
    "Path": (*PLASMA, "Path" + K, "Risto Saukonpää", "LGPL-3"),

    "Picture_0B": (*L16, "Picture_0B_by_freespace.jpg", "Trevor \"Freespace\"", "CC-BY-4.0"),
    "free": (*L16, "free_by_Peter_Nerlich.jpg", "Peter Nerlich", "CC-BY-SA-4.0"),
    "Aqua": (*MATE, "nature/Aqua.jpg", "Charles Barbin", "GPL-2+"),
    "Blinds": (*MATE, "nature/Blinds.jpg", "Lennart Poettering, Andrea Cimitan", "GPL-2+"),
    "Garden": (*MATE, "nature/Garden.jpg", "Charles Barbin", "GPL-2+"),
    "RainDrops": (*MATE, "nature/RainDrops.jpg", "blackcombwhistler07", "GPL-2+"),
    "Storm": (*MATE, "nature/Storm.jpg", "Sergey Nazarov", "GPL-2+"),
    "TwoWings": (*MATE, "nature/TwoWings.jpg", "Charles Barbin, Hylke Bons", "GPL-2+"),
    "Wood": (*MATE, "nature/Wood.jpg", "Jean-François Fortin Tam", "GPL-2+"),
    "YellowFlower": (*MATE, "nature/YellowFlower.jpg", "Charles Barbin", "GPL-2+"),
    "BytheWater": (*PLASMA, "BytheWater" + K, "Maciej Wiklo", "LGPL-3"),
    "DarkestHour": (*PLASMA, "DarkestHour" + K, "Risto Saukonpää", "LGPL-3"),
    "FallenLeaf": (*PLASMA, "FallenLeaf" + K, "Martin Klapetek", "LGPL-3"),
    "Kite": (*PLASMA, "Kite" + K, "Risto Saukonpää", "LGPL-3"),
    "OneStandsOut": (*PLASMA, "OneStandsOut" + K, "Risto Saukonpää", "LGPL-3"),
    "summer_1am": (*PLASMA, "summer_1am" + K, "Risto Saukonpää", "LGPL-3"),
    "castle": (*PALAPELI, "castle-maintenon.jpg", "Eric Pouhier", "GFDL"),
    "cincinnati": (*PALAPELI, "cincinnati-bridge.jpg", "Derek Jensen", "public domain"),
    "citrus": (*PALAPELI, "citrus-fruits.jpg", "US Department of Agriculture", "public domain"),
    "honeybee": (*PALAPELI, "european-honey-bee.jpg", "John Severns", "public domain"),
    "chameleon": (*PALAPELI, "panther-chameleon-female.jpg", "B. Navez and others", "GFDL"),

    "Elephants": (*MATE, "abstract/Elephants_5640x3172.jpg", "Wyng Stancikaite", "GPL-2+"),
    "city": (*UKUI, "city.png", "Ubuntu Kylin contributors", "CC-BY-SA-3.0"),
    "milkyway": (*PLASMA, "MilkyWay/contents/images/5120x2880.png", "ruvkr", "CC-BY-SA-4.0"),
}

TEST = ["Bridge", "Dragonfly", "Kleiber", "Wine", "aitzgorri", "friends", "greentock",
        "life", "picosdeeuropa", "seeding", "sunset",
        "ColorfulCups", "EveningGlow", "LadyBird", "Path"]
TRAIN = ["Picture_0B", "free", "Aqua", "Blinds", "Garden", "RainDrops", "Storm", "TwoWings",
         "Wood", "YellowFlower", "BytheWater", "DarkestHour", "FallenLeaf", "Kite",
         "OneStandsOut", "summer_1am", "castle", "cincinnati", "citrus", "honeybee", "chameleon"]
UHD = ["Elephants", "Kleiber", "seeding"]      # Elephants: a painting, photographed
DEEP = ["Dragonfly", "Kleiber", "sunset"]
DEEP_BITS = [10, 12, 16]
# 1024-pixel cells are cut from these in turn until the mosaic is full.
MOSAIC = ["Kleiber", "Elephants", "seeding", "Dragonfly", "sunset", "Bridge", "picosdeeuropa",
          "life", "aitzgorri", "friends", "Wine", "greentock"]
MOSAIC_CELLS = 10        # 10 x 10 cells of 1024 x 1024 = 104.9 megapixels
CELL = 1024

assert not set(TEST) & set(TRAIN)


class Originals:
    """The pictures inside the Debian packages, fetched when first needed."""

    def __init__(self, folder: Path):
        self.folder = folder
        self.versions = {}

    def package(self, name: str) -> Path:
        root = self.folder / name
        if not root.is_dir():
            self.folder.mkdir(parents=True, exist_ok=True)
            if not list(self.folder.glob(f"{name}_*.deb")):
                self.download(name)
            deb = sorted(self.folder.glob(f"{name}_*.deb"))[-1]
            unpacked = self.folder / (name + ".part")
            subprocess.run(["dpkg", "-x", deb, unpacked], check=True)
            unpacked.rename(root)
        return root

    def download(self, name: str):
        get = ["apt-get", "-q", "-o", "APT::Sandbox::User=root", "download", name]
        if subprocess.run(get, cwd=self.folder, stderr=subprocess.DEVNULL).returncode != 0:
            subprocess.run(["apt-get", "-q", "update"], check=True)
            subprocess.run(get, cwd=self.folder, check=True)

    def open(self, name: str) -> Image.Image:
        package, prefix, file, _, _ = SOURCES[name]
        picture = Image.open(self.package(package) / (prefix + file))
        if picture.mode == "RGBA":
            ground = Image.new("RGBA", picture.size, "white")
            picture = Image.alpha_composite(ground, picture)
        return picture.convert("RGB")


def scaled(picture: Image.Image, long_side: int, least: float) -> Image.Image:
    """Down by at least the factor `least`, and to at most `long_side` pixels."""
    factor = max(least, max(picture.size) / long_side)
    size = tuple(max(1, math.floor(s / factor + 1e-9)) for s in picture.size)
    return picture.resize(size, LANCZOS)


def write_ppm(path: Path, pixels: np.ndarray, maxval: int = 255):
    height, width, _ = pixels.shape
    dtype = np.uint8 if maxval < 256 else np.dtype(">u2")
    part = path.with_suffix(".part")
    with open(part, "wb") as out:
        out.write(b"P6\n%d %d\n%d\n" % (width, height, maxval))
        out.write(np.ascontiguousarray(pixels, dtype).tobytes())
    part.rename(path)


def photograph(originals, name):
    return np.asarray(scaled(originals.open(name), LONG_SIDE, 2.0))


def uhd(originals, name):
    return np.asarray(scaled(originals.open(name), UHD_LONG_SIDE, 1.0))


def deep(originals, name, bits):
    """4x4 pixels averaged to one, plus Gaussian noise of 0.15 grey levels, then quantised."""
    pixels = np.asarray(originals.open(name))
    height, width = (s // 4 * 4 for s in pixels.shape[:2])
    blocks = pixels[:height, :width].reshape(height // 4, 4, width // 4, 4, 3)
    mean = blocks.mean(axis=(1, 3), dtype=np.float64)
    noise = np.random.Generator(np.random.PCG64(DEEP.index(name))).standard_normal(mean.shape)
    top = 2**bits - 1
    return np.clip(np.rint((mean + 0.15 * noise) * (top / 255)), 0, top)


def mosaic(originals):
    side = MOSAIC_CELLS * CELL
    canvas = np.zeros((side, side, 3), np.uint8)
    at = 0
    for name in MOSAIC:
        pixels = np.asarray(originals.open(name))
        for y in range(0, pixels.shape[0] - CELL + 1, CELL):
            for x in range(0, pixels.shape[1] - CELL + 1, CELL):
                if at == MOSAIC_CELLS**2:
                    return canvas
                row, column = (i * CELL for i in divmod(at, MOSAIC_CELLS))
                canvas[row:row + CELL, column:column + CELL] = pixels[y:y + CELL, x:x + CELL]
                at += 1
    raise ValueError(f"only {at} cells for the mosaic")


def text_screen(_):
    """A window of program text with a title bar and a side bar."""
    picture = Image.new("RGB", (1600, 1000), "#fdf6e3")
    draw = ImageDraw.Draw(picture)
    draw.rectangle((0, 0, 1600, 36), fill="#30343f")
    draw.rectangle((0, 36, 240, 1000), fill="#e8e2cf")
    title, small = ImageFont.load_default(18), ImageFont.load_default(14)
    draw.text((16, 8), "photos.py - editor", font=title, fill="#ffffff")
    words = ("def return for while if else import from class pixel level tile plane index "
             "bytes stream decode encode lossless quality range region width height").split()
    rng = np.random.Generator(np.random.PCG64(7))
    for row in range(52):
        y = 46 + 18 * row
        draw.text((24, y), f"{words[rng.integers(len(words))]}_{row:02}.rs", font=small, fill="#586e75")
        draw.text((250, y), f"{row + 1:3}", font=small, fill="#93a1a1")
        x = 290 + 24 * int(rng.integers(4))
        while x < 1450 and rng.random() < 0.92:
            word = words[rng.integers(len(words))]
            colour = ("#657b83", "#859900", "#268bd2", "#cb4b16")[int(rng.integers(4))]
            draw.text((x, y), word, font=small, fill=colour)
            x += int(draw.textlength(word + " ", font=small))
    return np.asarray(picture)


def flat_art(originals):
    return np.asarray(originals.open("city"))


def palette(originals):
    """A photograph in 64 colours, Floyd-Steinberg dithered."""
    picture = scaled(originals.open("aitzgorri"), 1280, 2.0)
    return np.asarray(picture.quantize(64, dither=Image.Dither.FLOYDSTEINBERG).convert("RGB"))


def gradient_art(originals):
    return np.asarray(scaled(originals.open("milkyway"), LONG_SIDE, 2.0))


def plan():
    """Every picture: (set, name, maker of the pixels, maxval)."""
    for set_name, names, make in (("train", TRAIN, photograph), ("test", TEST, photograph), ("uhd", UHD, uhd)):
        for name in names:
            yield set_name, name, lambda o, make=make, name=name: make(o, name), 255
    for name in DEEP:
        for bits in DEEP_BITS:
            yield "deep", f"{name}_{bits}", lambda o, name=name, bits=bits: deep(o, name, bits), 2**bits - 1
    for name, make in (("text", text_screen), ("city", flat_art), ("palette", palette), ("milkyway", gradient_art)):
        yield "graphics", name, make, 255
    yield "large", "mosaic", mosaic, 255


def origins() -> str:
    """The text of PHOTOS.md."""
    lines = ["# Where the pictures of the bench come from", "",
             "Made by `photos.py` from Debian 12 packages; written by `photos.py --write-list`. Authors and licences are",
             "those of each package's copyright file (`/usr/share/doc/PACKAGE/copyright`) or, for",
             "plasma-workspace-wallpapers and palapeli-data, of the metadata file beside the picture. No picture is",
             "part of this repository.", "",
             "| picture | sets | package | file | author | licence |", "|---|---|---|---|---|---|"]
    sets = {"test": TEST, "train": TRAIN, "uhd": UHD, "deep": DEEP, "large": MOSAIC, "graphics": ["city", "milkyway"]}
    for name, (package, _, file, author, licence) in SOURCES.items():
        member = ", ".join(s for s, names in sets.items() if name in names)
        lines.append(f"| {name} | {member} | {package} | {file} | {author} | {licence} |")
    lines += ["", "`graphics/text` is drawn by the script; `graphics/palette` is aitzgorri in 64 colours, dithered.",
              "`uhd/Elephants` is a painting, photographed and mirrored; all others outside `graphics` are photographs.", ""]
    return "\n".join(lines)


def main():
    here = Path(__file__).resolve().parent
    root = here.parents[1]
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=root / "target/bench/photos")
    parser.add_argument("--debs", type=Path, help="where the packages are kept (default: OUT/../debs)")
    parser.add_argument("--set", action="append", dest="sets", help="only this set (may be repeated)")
    parser.add_argument("--check", action="store_true", help="compare all files with photos.sha256")
    parser.add_argument("--write-sums", action="store_true", help="write photos.sha256")
    parser.add_argument("--write-list", action="store_true", help="write PHOTOS.md and stop")
    args = parser.parse_args()
    if args.write_list:
        (here / "PHOTOS.md").write_text(origins())
        return
    originals = Originals(args.debs or args.out.parent / "debs")

    sums = {}
    for set_name, name, make, maxval in plan():
        if args.sets and set_name not in args.sets:
            continue
        path = args.out / set_name / f"{name}.ppm"
        if not path.exists():
            path.parent.mkdir(parents=True, exist_ok=True)
            pixels = make(originals)
            write_ppm(path, pixels, maxval)
            print(f"{set_name}/{name}.ppm {pixels.shape[1]}x{pixels.shape[0]}", flush=True)
        if args.check or args.write_sums:
            with open(path, "rb") as file:
                sums[f"{set_name}/{name}.ppm"] = hashlib.file_digest(file, "sha256").hexdigest()

    sums_file = here / "photos.sha256"
    if args.write_sums:
        sums_file.write_text("".join(f"{s}  {n}\n" for n, s in sums.items()))
    if args.check:
        expected = {n: s for s, n in (line.split() for line in sums_file.read_text().splitlines())}
        wrong = [n for n, s in sums.items() if expected.get(n) != s]
        print(f"{len(sums) - len(wrong)} of {len(sums)} files as expected", *wrong, sep="\n")
        if wrong:
            sys.exit(1)


if __name__ == "__main__":
    main()
