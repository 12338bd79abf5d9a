#!/usr/bin/env python3
"""Draws docs/ladder.jpg: the sizes that one file holds, and the bytes each needs.

    python3 docs/ladder.py target/release/stepwell

Needs Pillow. Pictures and byte counts come from the program, run on
tests/data/photo.jpg with its default settings (lossless).
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from PIL import Image, ImageDraw, ImageFont

ROOT = Path(__file__).resolve().parent.parent
LOQS = 4
SCALE = 2  # all sizes are drawn at half their size
GAP = 28
MARGIN = 24
FONT = ImageFont.load_default(size=25)
LINE = 34
INK, PAPER = (30, 30, 30), (255, 255, 255)


def stepwell(*words) -> str:
    return subprocess.run([sys.argv[1], *map(str, words)], check=True, capture_output=True, text=True).stdout


def panels():
    """Picture and caption of each LoQ."""
    with tempfile.TemporaryDirectory() as folder:
        file, png = Path(folder, "photo.swl"), Path(folder, "loq.png")
        stepwell("encode", ROOT / "tests/data/photo.jpg", "-o", file)
        for loq in json.loads(stepwell("info", file, "--json"))["loqs"][:LOQS]:
            stepwell("decode", file, "-o", png, "--loq", loq["loq"])
            picture = Image.open(png).convert("RGB")
            caption = [
                f"LoQ {loq['loq']}",
                f"{loq['width']} x {loq['height']}",
                f"{loq['prefix_bytes']:,} bytes".replace(",", " "),
            ]
            small = tuple(max(1, side // SCALE) for side in picture.size)
            yield picture.resize(small, Image.Resampling.LANCZOS), caption


def main():
    columns = [(p, c, max(p.width, *(round(FONT.getlength(line)) for line in c))) for p, c in panels()]
    width = 2 * MARGIN + sum(w for *_, w in columns) + GAP * (len(columns) - 1)
    floor = MARGIN + max(p.height for p, *_ in columns)
    canvas = Image.new("RGB", (width, floor + 12 + LINE * 3 + MARGIN), PAPER)
    draw = ImageDraw.Draw(canvas)
    x = MARGIN
    for picture, caption, column in columns:
        canvas.paste(picture, (x, floor - picture.height))
        for i, line in enumerate(caption):
            draw.text((x, floor + 12 + LINE * i), line, INK, FONT)
        x += column + GAP
    out = ROOT / "docs/ladder.jpg"
    canvas.save(out, quality=86, optimize=True)
    print(f"{out.name}: {canvas.size[0]} x {canvas.size[1]}, {out.stat().st_size} bytes")


main()
