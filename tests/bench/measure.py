"""Reading pictures, quality figures, and the use of memory by a child process."""

import hashlib
import json
import math
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
from skimage.metrics import structural_similarity


def read_ppm(path: Path) -> tuple[np.ndarray, int]:
    """A binary PPM or PGM as (height, width, channels) and its bit depth."""
    data = Path(path).read_bytes()
    head = re.match(rb"(P[56])\s+(\d+)\s+(\d+)\s+(\d+)\s", data)
    if not head:
        raise ValueError(f"{path}: no binary PPM")
    width, height, maxval = (int(v) for v in head.groups()[1:])
    channels = 3 if head[1] == b"P6" else 1
    pixels = np.frombuffer(data, np.uint8 if maxval < 256 else ">u2", offset=head.end())
    pixels = pixels.reshape(height, width, channels)
    if maxval >= 256:
        pixels = pixels.astype(np.uint16)
    return pixels, maxval.bit_length()


class Photo:
    def __init__(self, path: Path):
        self.path = Path(path)
        self.name = self.path.stem
        self.set = self.path.parent.name
        self.pixels, self.bits = read_ppm(path)
        self.height, self.width = self.pixels.shape[:2]
        self.count = self.width * self.height
        self.hash = hashlib.sha256(self.path.read_bytes()).hexdigest()[:20]

    def bpp(self, size: int) -> float:
        return size * 8 / self.count


def psnr(photo: Photo, decoded: np.ndarray) -> float:
    """10 log10(255^2 / MSE), MSE over all samples of R, G and B."""
    difference = photo.pixels.astype(np.float64) - decoded
    mse = (difference**2).mean()
    return math.inf if mse == 0 else 10 * math.log10((2**photo.bits - 1) ** 2 / mse)


def luma(pixels: np.ndarray) -> np.ndarray:
    return pixels.astype(np.float64) @ np.array([0.299, 0.587, 0.114])


SSIM_TEXT = ("SSIM of Y = 0.299 R + 0.587 G + 0.114 B (not rounded): Gaussian window, sigma 1.5, radius 5, "
             "K1 = 0.01, K2 = 0.03, L = 255, weighted (biased) covariance, mean over the picture without "
             "a border of 5 pixels; scikit-image structural_similarity(gaussian_weights=True, "
             "use_sample_covariance=False)")


def ssim(photo: Photo, decoded: np.ndarray) -> float:
    return float(structural_similarity(
        luma(photo.pixels), luma(decoded), data_range=2**photo.bits - 1,
        gaussian_weights=True, sigma=1.5, use_sample_covariance=False))


# A process of its own starts the program, because the peak that the kernel
# keeps for a child also covers the process that forked it.
LAUNCHER = r"""
import json, os, sys
pid = os.fork()
if pid == 0:
    os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
    os.execvp(sys.argv[1], sys.argv[1:])
os.waitid(os.P_PID, pid, os.WEXITED | os.WNOWAIT)
try:
    io = dict(line.split(': ') for line in open(f'/proc/{pid}/io').read().splitlines())
except OSError:
    io = {}
_, status, usage = os.wait4(pid, 0)
json.dump({'code': os.waitstatus_to_exitcode(status), 'peak_bytes': usage.ru_maxrss * 1024,
           'seconds': usage.ru_utime + usage.ru_stime,
           'read_bytes': int(io['rchar']) if 'rchar' in io else None}, sys.stderr)
"""


def run_measured(command: list) -> tuple[dict, str]:
    """Runs a command; its peak memory, its CPU time, the bytes it read, and its output."""
    done = subprocess.run([sys.executable, "-I", "-S", "-c", LAUNCHER, *map(str, command)],
                          capture_output=True, text=True)
    brace = done.stderr.rfind("{")
    usage = json.loads(done.stderr[brace:])
    if usage["code"] != 0:
        raise RuntimeError(done.stderr[:brace].strip()[-300:] or f"exit code {usage['code']}")
    return usage, done.stdout
