//! Readers against files of other programs (tests/cli/make_fixtures.py) and hand-made ones.

mod hostile;
mod others;
mod png;
mod tiff;

use std::path::Path;

use stepwell::{Image, Limits, PlaneKind, Size};

use super::exif::{Exif, orientation, with_orientation};
use super::ifd::{Entry, Tiff, serialise};
use super::raw::Shape;
use crate::failure::{Failure, Kind};

use PlaneKind::{Alpha, Blue, Gray, Green, Other, Red};

const WIDTH: usize = 37;
const HEIGHT: usize = 21;

fn fixture(name: &str) -> Vec<u8> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/cli/data").join(name);
    std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()))
}

fn read_bytes(bytes: &[u8]) -> Result<(Image, Vec<String>), Failure> {
    super::read(Path::new("it"), bytes.to_vec(), &Limits::default())
}

fn read(name: &str) -> (Image, Vec<String>) {
    read_bytes(&fixture(name)).unwrap_or_else(|e| panic!("{name}: {e}"))
}

fn refuse(bytes: &[u8]) -> Failure {
    read_bytes(bytes).expect_err("it should not be read")
}

/// The formula of make_fixtures.py.
fn sample(x: usize, y: usize, plane: usize, bits: u32) -> i32 {
    ((7 * x + 13 * y + 50 * plane) % (1 << bits)) as i32
}

fn assert_samples(name: &str, image: &Image, expected: impl Fn(usize, usize, usize) -> i32) {
    assert_eq!(image.size, Size::new(WIDTH as u32, HEIGHT as u32), "{name}");
    for (i, plane) in image.planes.iter().enumerate() {
        for y in 0..HEIGHT {
            for x in 0..WIDTH {
                assert_eq!(plane.samples.at(x, y), expected(x, y, i), "{name}: plane {i} at ({x}, {y})");
            }
        }
    }
}

fn kinds(image: &Image) -> Vec<PlaneKind> {
    image.planes.iter().map(|p| p.info.kind).collect()
}

fn depths(image: &Image) -> Vec<(u8, bool)> {
    image.planes.iter().map(|p| (p.info.depth, p.info.signed)).collect()
}
