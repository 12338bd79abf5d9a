//! Named pictures. One line in [`fixtures`] makes tests of each: exact round trip, both decoders equal, region = crop,
//! and the checksums in `tests/data/expected.txt`.
//!
//! Format version 0 still changes, and so may what encoders choose: where a change is meant, make the file anew with
//!
//! ```text
//! STEPWELL_BLESS=1 cargo test --test it golden
//! ```
//!
//! and look at its diff: a change of the encoder alone leaves the lines of lossless pixels as they are.
//!
//! Pixels of lossless files are the same everywhere. Files, and so what lossy ones decode to, hang on the encoder's
//! choices, which it makes with floating-point logarithms: another system's mathematics library could tip one of them.

use std::fmt::Write as _;

use crate::pictures::{Texture, gray, image, rgb, rgba, yuv420};
use crate::region::{all_levels, encode, regions_are_crops};
use stepwell::{Cicp, Grid, Image, Metadata, PlaneInfo, PlaneKind, Size, Target};

const EXPECTED: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/expected.txt");
const TARGETS: [(&str, Target); 2] = [("lossless", Target::Lossless), ("quality-75", Target::Quality(75.0))];

fn picture(width: u32, height: u32, planes: Vec<PlaneInfo>, texture: Texture) -> Image {
    image(Size::new(width, height), planes, texture, 11)
}

fn signed(mut planes: Vec<PlaneInfo>) -> Vec<PlaneInfo> {
    planes.iter_mut().for_each(|plane| plane.signed = true);
    planes
}

/// Bands of all depths, some signed, some smaller than the picture.
fn twelve_planes() -> Vec<PlaneInfo> {
    let plane = |i: u8| PlaneInfo {
        name: format!("band {i}"),
        signed: i % 3 == 1,
        subsampling: [(1, 1), (2, 1), (1, 3), (5, 4)][usize::from(i) % 4],
        ..PlaneInfo::new(PlaneKind::Other, [8, 12, 16, 1, 10, 24][usize::from(i) % 6])
    };
    (0..12).map(plane).collect()
}

/// So many that not all of the index fits in front of the root samples.
pub fn many_planes() -> Vec<PlaneInfo> {
    (0..120).map(|i| PlaneInfo::new(PlaneKind::Other, 1 + i % 12)).collect()
}

pub fn with_metadata(mut picture: Image) -> Image {
    picture.metadata = Metadata {
        orientation: 6,
        cicp: Some(Cicp { primaries: 12, transfer: 13, matrix: 0, full_range: true }),
        pixel_size: Some((0.25, 1e-9)),
        icc: Some((0..=255).cycle().take(20_000).collect()),
        exif: Some(b"II*\0".to_vec()),
        xmp: Some(b"<x:xmpmeta/>".to_vec()),
    };
    picture
}

/// A name and a picture a line.
macro_rules! fixtures {
    ($($name:ident: $image:expr,)*) => {
        const FIXTURES: &[(&str, fn() -> Image)] = &[$((stringify!($name), || $image)),*];
        $(mod $name {
            use super::*;

            #[test]
            fn comes_back() {
                comes_back_from_both_decoders(&$image);
            }

            #[test]
            fn region_is_crop() {
                let image = $image;
                for (_, target) in TARGETS {
                    regions_are_crops(&encode(&image, target), image.size, 3, 1);
                }
            }

            #[cfg(feature = "gpu")]
            #[test]
            fn is_the_same_on_the_gpu() {
                crate::gpu::equals_the_cpu(&$image);
            }

            #[cfg(feature = "gpu")]
            #[test]
            fn stages_are_the_same_on_the_gpu() {
                crate::stages::equal_the_cpu(&$image);
            }

            #[test]
            fn is_as_expected() {
                compare(stringify!($name), &$image);
            }
        })*
    };
}

fixtures! {
    one_pixel: picture(1, 1, rgb(8), Texture::Noise),
    one_row: picture(333, 1, gray(8), Texture::Photo),
    one_column: picture(1, 333, rgb(8), Texture::Photo),
    two_by_two: picture(2, 2, gray(16), Texture::Noise),
    odd: picture(75, 41, rgb(8), Texture::Photo),
    gray_1: picture(120, 70, gray(1), Texture::Sparse),
    gray_1_noise: picture(67, 35, gray(1), Texture::Noise),
    gray_8: picture(160, 96, gray(8), Texture::Photo),
    gray_8_flat: picture(140, 90, gray(8), Texture::Flat),
    gray_8_noise: picture(131, 67, gray(8), Texture::Noise),
    gray_8_checkerboard: picture(131, 67, gray(8), Texture::Checkerboard),
    gray_8_signed: picture(64, 64, signed(gray(8)), Texture::Photo),
    gray_12: picture(97, 128, gray(12), Texture::Photo),
    gray_16_signed: picture(128, 50, signed(gray(16)), Texture::Photo),
    gray_31: picture(70, 33, gray(31), Texture::Photo),
    gray_31_noise: picture(70, 33, gray(31), Texture::Noise),
    gray_31_signed: picture(33, 70, signed(gray(31)), Texture::Checkerboard),
    rgb_8: picture(160, 120, rgb(8), Texture::Photo),
    rgb_8_sparse: picture(160, 120, rgb(8), Texture::Sparse),
    rgb_10: picture(99, 99, rgb(10), Texture::Photo),
    rgb_16: picture(99, 64, rgb(16), Texture::Photo),
    rgb_31: picture(40, 30, rgb(31), Texture::Photo),
    rgba_8: picture(100, 101, rgba(8), Texture::Photo),
    rgba_12: picture(64, 33, rgba(12), Texture::Noise),
    yuv420_8: picture(151, 99, yuv420(8), Texture::Photo),
    yuv420_10: picture(64, 48, yuv420(10), Texture::Photo),
    twelve_of_all_kinds: picture(90, 66, twelve_planes(), Texture::Photo),
    several_tiles: picture(300, 200, rgb(8), Texture::Photo),
    several_blocks: picture(5000, 40, gray(8), Texture::Photo),
    many_levels: picture(70_001, 1, gray(8), Texture::Photo),
    many_planes: picture(40, 30, many_planes(), Texture::Photo),
    much_metadata: with_metadata(picture(50, 40, rgb(8), Texture::Photo)),
}

fn comes_back_from_both_decoders(image: &Image) {
    for (name, target) in TARGETS {
        // Decodes with both decoders, and compares them.
        let levels = all_levels(&encode(image, target));
        for (loq, level) in (0..).zip(&levels) {
            assert_eq!(level.size, image.size.at_level(loq));
            for (plane, original) in level.planes.iter().zip(&image.planes) {
                assert_eq!(plane.info, original.info);
                let size = plane.info.size(image.size).at_level(loq);
                assert_eq!(
                    (plane.samples.width(), plane.samples.height()),
                    (size.width as usize, size.height as usize)
                );
            }
        }
        assert_eq!(levels[0].metadata, image.metadata);
        if target == Target::Lossless {
            assert!(levels[0] == *image, "{name}");
        }
        let root = &levels[levels.len() - 1];
        assert!(root.size.width.max(root.size.height) <= 8, "the root is {:?}", root.size);
    }
}

fn crc(samples: &Grid<i32>) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    samples.data().iter().for_each(|v| hasher.update(&v.to_le_bytes()));
    hasher.finalize()
}

/// The lines of a picture: of each file its length and checksum, then of each LoQ the checksum of each plane.
fn lines(name: &str, image: &Image) -> String {
    let mut out = String::new();
    for (kind, target) in TARGETS {
        let file = encode(image, target);
        writeln!(out, "{name} {kind} file {} {:08x}", file.len(), crc32fast::hash(&file)).unwrap();
        for (loq, level) in all_levels(&file).iter().enumerate() {
            write!(out, "{name} {kind} LoQ {loq}").unwrap();
            level.planes.iter().for_each(|plane| write!(out, " {:08x}", crc(&plane.samples)).unwrap());
            out.push('\n');
        }
    }
    out
}

fn blessing() -> bool {
    std::env::var_os("STEPWELL_BLESS").is_some()
}

fn compare(name: &str, image: &Image) {
    if blessing() {
        return;
    }
    let expected = std::fs::read_to_string(EXPECTED).unwrap();
    let of_this = |line: &&str| line.split(' ').next() == Some(name);
    let mut expected = expected.lines().filter(of_this);
    for line in lines(name, image).lines() {
        assert_eq!(Some(line), expected.next(), "if this is meant, see the top of tests/it/golden.rs");
    }
    assert_eq!(expected.next(), None);
}

#[test]
fn expected_txt_has_every_fixture_and_no_others() {
    if blessing() {
        let all = FIXTURES.iter().map(|(name, image)| lines(name, &image()));
        let head = "# Written by STEPWELL_BLESS=1 cargo test --test it golden (see tests/it/golden.rs)\n";
        std::fs::write(EXPECTED, [head.to_owned()].into_iter().chain(all).collect::<String>()).unwrap();
    }
    let expected = std::fs::read_to_string(EXPECTED).unwrap();
    let mut names: Vec<&str> =
        expected.lines().filter(|l| !l.starts_with('#')).map(|l| l.split(' ').next().unwrap()).collect();
    names.dedup();
    assert_eq!(names, FIXTURES.iter().map(|(name, _)| *name).collect::<Vec<_>>());
}

#[test]
fn threads_change_no_file() {
    let image = picture(300, 200, rgb(8), Texture::Photo);
    for (_, target) in TARGETS {
        let with = |threads| {
            let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            pool.install(|| encode(&image, target))
        };
        assert!(with(1) == with(3) && with(3) == encode(&image, target));
    }
}
