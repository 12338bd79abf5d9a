//! Readers against files of other programs (tests/cli/make_fixtures.py) and hand-made ones.

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

#[test]
fn tiff_of_other_programs_is_read_exactly() {
    type Case = (&'static str, Vec<PlaneKind>, (u8, bool), fn(usize, usize, usize) -> i32);
    let cases: [Case; 8] = [
        ("tiled_lzw_be.tif", vec![Red, Green, Blue], (16, false), |x, y, c| sample(x, y, c, 16)),
        ("planar_bands.tif", vec![Other; 5], (16, true), |x, y, c| sample(x, y, c, 16) - 300),
        ("big.tif", vec![Gray], (16, false), |x, y, c| sample(x, y, c, 16)),
        ("rgb_and_more.tif", vec![Red, Green, Blue, Alpha, Other, Other], (8, false), |x, y, c| {
            sample(x, y, c, 8)
        }),
        ("gray_alpha.tif", vec![Gray, Alpha], (8, false), |x, y, c| sample(x, y, c, 8)),
        ("white_is_zero.tif", vec![Gray], (8, false), |x, y, c| sample(x, y, c, 8)),
        ("uint32.tif", vec![Gray], (31, false), |x, y, c| sample(x, y, c, 16) * 32767),
        ("bilevel.tif", vec![Gray], (1, false), |x, y, c| sample(x, y, c, 1)),
    ];
    for (name, expected_kinds, depth, expected) in cases {
        let (image, notes) = read(name);
        assert_eq!(kinds(&image), expected_kinds, "{name}");
        assert!(depths(&image).iter().all(|d| *d == depth), "{name}: {:?}", depths(&image));
        assert_samples(name, &image, expected);
        assert_eq!(notes, [""; 0], "{name}");
    }
}

#[test]
fn tiff_palettes_become_rgb() {
    let (image, _) = read("palette.tif");
    assert_eq!((kinds(&image), depths(&image)), (vec![Red, Green, Blue], vec![(8, false); 3]));
    assert_samples("palette.tif", &image, |x, y, c| {
        let index = sample(x, y, 0, 4);
        [index * 16, 255 - index * 16, index][c]
    });
}

#[test]
fn tiff_metadata_is_kept() {
    let (image, _) = read("tiled_lzw_be.tif");
    assert_eq!(image.metadata.orientation, 6);
    let (x, y) = image.metadata.pixel_size.unwrap();
    assert!((x - 0.0254 / 300.0).abs() < 1e-12 && (y - 0.0254 / 150.0).abs() < 1e-12);
    let exif = Exif::parse(image.metadata.exif.as_deref().unwrap()).unwrap();
    assert!(exif.main.contains(&Entry::bytes(0x010F, 2, b"Maker\0")), "{:?}", exif.main);
}

#[test]
fn only_the_first_page_is_read_and_that_is_said() {
    let (image, notes) = read("pages.tif");
    assert_samples("pages.tif", &image, |x, y, c| sample(x, y, c, 8));
    assert!(notes[0].contains("only the first picture"), "{notes:?}");
}

#[test]
fn what_tiff_cannot_be_read_is_said() {
    let float = refuse(&fixture("float.tif"));
    assert!(float.kind == Kind::BadInput && float.to_string().contains("no integers"), "{float}");
    let full = refuse(&fixture("uint32_full.tif"));
    assert!(
        full.to_string().contains("it: not supported: sample 2147483648, which exceeds 31 bits"),
        "{full}"
    );
}

/// A TIFF file of two planes of 16 × 16 samples, with some fields of its directory changed or added.
fn tiff_with(changes: &[Entry]) -> Vec<u8> {
    let mut entries = vec![
        Entry::shorts(256, &[16]),
        Entry::shorts(257, &[16]),
        Entry::shorts(258, &[8]),
        Entry::shorts(262, &[1]),
        Entry::shorts(277, &[2]),
        Entry::shorts(284, &[2]),
        Entry::shorts(322, &[16]),
        Entry::shorts(323, &[16]),
        Entry::offsets(324, &[8, 8], false),
        Entry::offsets(325, &[256, 256], false),
    ];
    entries.extend_from_slice(changes);
    let mut bytes = [&b"II*\0\x08\0\0\0"[..], &serialise(&entries, 8, false)].concat();
    bytes.resize(1024, 0);
    bytes
}

#[test]
fn a_directory_that_contradicts_itself_is_refused() {
    assert!(read_bytes(&tiff_with(&[])).is_ok());
    for field in [Entry::shorts(258, &[1]), Entry::shorts(258, &[2]), Entry::shorts(256, &[8])] {
        let twice = tiff_with(&[field]);
        assert!(refuse(&twice).to_string().contains("contradicts itself"));
    }
    // Whichever of the two is taken, nothing is read beyond a row.
    let _ = read_bytes(&tiff_with(&[Entry::shorts(284, &[1])]));
}

#[test]
fn tiles_far_larger_than_the_picture_are_refused_before_memory_is_taken() {
    let mut bytes = tiff_with(&[]);
    let place = Tiff::new(&bytes).unwrap().place_of_short(8, 323).unwrap();
    // The same field as a LONG of 2^31: its type stands 6 bytes before its value.
    bytes[place - 6..place + 4].copy_from_slice(&[4, 0, 1, 0, 0, 0, 0, 0, 0, 0x80]);
    assert!(refuse(&bytes).to_string().contains("tiles of"));
}

#[test]
fn interlaced_png_is_read_exactly() {
    for (name, bits, planes) in
        [("interlaced16.png", 16, 3), ("interlaced8.png", 8, 3), ("interlaced2.png", 2, 1)]
    {
        let (image, _) = read(name);
        assert_eq!(depths(&image), vec![(bits, false); planes], "{name}");
        assert_samples(name, &image, |x, y, c| sample(x, y, c, bits.into()));
    }
}

/// A PNG of the size of the formula, its stored samples given one a byte (two where they have 16 bits).
fn png(
    colour: png::ColorType,
    bits: u8,
    rows: &[Vec<u8>],
    palette: &[u8],
    transparency: Option<&[u8]>,
) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, WIDTH as u32, HEIGHT as u32);
    encoder.set_color(colour);
    encoder.set_depth(png::BitDepth::from_u8(bits).unwrap());
    if !palette.is_empty() {
        encoder.set_palette(palette.to_vec());
    }
    if let Some(transparency) = transparency {
        encoder.set_trns(transparency.to_vec());
    }
    encoder.write_header().unwrap().write_image_data(&rows.concat()).unwrap();
    bytes
}

/// Rows of `bits`-bit samples, packed by hand.
fn packed_rows(bits: usize) -> Vec<Vec<u8>> {
    let row = |y| {
        let mut row = vec![0u8; (WIDTH * bits).div_ceil(8)];
        (0..WIDTH * bits).for_each(|i| {
            let (x, bit) = (i / bits, bits - 1 - i % bits);
            row[i / 8] |= ((sample(x, y, 0, bits as u32) >> bit & 1) as u8) << (7 - i % 8);
        });
        row
    };
    (0..HEIGHT).map(row).collect()
}

#[test]
fn png_palettes_become_rgb_of_8_bits_with_opacity_where_there_is_some() {
    for bits in [1, 2, 4, 8] {
        let palette: Vec<u8> = (0..1usize << bits).flat_map(|i| [i as u8, 255 - i as u8, 77]).collect();
        let plain = png(png::ColorType::Indexed, bits, &packed_rows(bits.into()), &palette, None);
        let (image, _) = read_bytes(&plain).unwrap();
        assert_eq!((kinds(&image), depths(&image)), (vec![Red, Green, Blue], vec![(8, false); 3]));
        let colour = |x, y, c| {
            let index = sample(x, y, 0, bits.into());
            [index, 255 - index, 77, if index == 0 { 9 } else { 255 }][c]
        };
        assert_samples("palette", &image, colour);
        let clear = png(png::ColorType::Indexed, bits, &packed_rows(bits.into()), &palette, Some(&[9]));
        let (image, _) = read_bytes(&clear).unwrap();
        assert_eq!(kinds(&image), [Red, Green, Blue, Alpha]);
        assert_samples("palette with opacity", &image, colour);
    }
}

#[test]
fn transparent_colours_of_png_become_opacity() {
    for bits in [1, 2, 4, 8] {
        let gray = png(png::ColorType::Grayscale, bits, &packed_rows(bits.into()), &[], Some(&[0, 1]));
        let (image, _) = read_bytes(&gray).unwrap();
        assert_eq!((kinds(&image), depths(&image)), (vec![Gray, Alpha], vec![(bits, false); 2]));
        assert_samples("transparent gray", &image, |x, y, c| match (sample(x, y, 0, bits.into()), c) {
            (value, 0) => value,
            (1, _) => 0,
            _ => (1 << bits) - 1,
        });
    }
    // 16 bits: a colour that agrees in the high bytes only is not transparent.
    let row = |y| (0..WIDTH).flat_map(|x| [1, if x == y { 2 } else { 3 }, 1, 2, 1, 2]).collect();
    let rows: Vec<Vec<u8>> = (0..HEIGHT).map(row).collect();
    let (image, _) =
        read_bytes(&png(png::ColorType::Rgb, 16, &rows, &[], Some(&[1, 2, 1, 2, 1, 2]))).unwrap();
    assert_eq!(depths(&image), vec![(16, false); 4]);
    assert_samples("transparent colour", &image, |x, y, c| match c {
        0 => 256 + if x == y { 2 } else { 3 },
        3 => {
            if x == y {
                0
            } else {
                65535
            }
        }
        _ => 258,
    });
}

#[test]
fn a_palette_index_without_a_colour_is_refused() {
    let bytes = png(png::ColorType::Indexed, 4, &packed_rows(4), &[1, 2, 3], None);
    assert!(refuse(&bytes).to_string().contains("no palette entry"));
}

#[test]
fn jpeg_is_read_with_its_metadata() {
    let expected = |x: usize, y: usize, c: usize| [3 * x + 2 * y, 100, 200 - 3 * x][c] as i32;
    for (name, tolerance) in [("colour.jpg", 3), ("jpeg_ycc.tif", 6)] {
        let (image, _) = read(name);
        assert_eq!((kinds(&image), depths(&image)), (vec![Red, Green, Blue], vec![(8, false); 3]), "{name}");
        assert_near(&image, tolerance, expected);
    }
    let metadata = read("colour.jpg").0.metadata;
    assert_eq!(metadata.orientation, 6);
    let (x, y) = metadata.pixel_size.unwrap();
    assert!((x - 0.0254 / 300.0).abs() < 1e-12 && (y - 0.0254 / 150.0).abs() < 1e-12);
    assert!(metadata.icc.unwrap()[36..].starts_with(b"acsp"));
    assert!(metadata.xmp.unwrap().starts_with(b"<x:xmpmeta"));
    assert!(metadata.exif.unwrap().starts_with(b"MM\0*"));
    let (gray, _) = read("gray.jpg");
    assert_eq!(kinds(&gray), [Gray]);
    assert_near(&gray, 3, expected);
}

fn assert_near(image: &Image, tolerance: u32, expected: impl Fn(usize, usize, usize) -> i32) {
    for (i, plane) in image.planes.iter().enumerate() {
        for (at, v) in plane.samples.data().iter().enumerate() {
            let e = expected(at % WIDTH, at / WIDTH, i);
            assert!(v.abs_diff(e) <= tolerance, "plane {i}, sample {at}: {v}, not about {e}");
        }
    }
}

#[test]
fn cmyk_jpeg_is_refused_with_a_remedy() {
    let failure = refuse(&fixture("cmyk.jpg"));
    assert_eq!(failure.kind, Kind::BadInput);
    assert!(failure.to_string().contains("CMYK"));
    assert!(miette::Diagnostic::help(&failure).unwrap().to_string().contains("RGB"));
}

#[test]
fn webp_is_read_exactly_with_its_metadata() {
    let (image, notes) = read("lossless.webp");
    assert_eq!(kinds(&image), [Red, Green, Blue, Alpha]);
    assert_samples("lossless.webp", &image, |x, y, c| sample(x, y, c, 8));
    assert!(notes.is_empty());
    assert_eq!(image.metadata.orientation, 6);
    assert!(image.metadata.icc.is_some() && image.metadata.xmp.is_some());
    let (image, notes) = read("animated.webp");
    assert_samples("animated.webp", &image, |x, y, c| if c < 3 { sample(x, y, c, 8) } else { 255 });
    assert!(notes[0].contains("animation"));
}

#[test]
fn pnm_of_every_kind_is_read() {
    let gray = |bytes: &[u8]| {
        read_bytes(bytes).map(|(i, _)| (i.planes[0].info.depth, i.planes[0].samples.data().to_vec()))
    };
    assert_eq!(gray(b"P1\n# a comment\n3 2\n101\n0 1 0\n").unwrap(), (1, vec![0, 1, 0, 1, 0, 1]));
    assert_eq!(gray(b"P4 3 2\n\xA0\x40").unwrap(), (1, vec![0, 1, 0, 1, 0, 1]));
    assert_eq!(gray(b"P2 2 1 1000 # ten bits\n1000 7").unwrap(), (10, vec![1000, 7]));
    assert_eq!(gray(b"P5 2 1 1000\n\x03\xE8\x00\x07").unwrap(), (10, vec![1000, 7]));
    assert_eq!(gray(b"P5 2 1 5\n\x05\x00").unwrap(), (3, vec![5, 0]));
    let (image, _) = read_bytes(b"P3 1 1 255 1 2 3").unwrap();
    assert_eq!((kinds(&image), image.planes[2].samples.at(0, 0)), (vec![Red, Green, Blue], 3));
    let pam =
        b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 2\nMAXVAL 65535\nTUPLTYPE GRAYSCALE_ALPHA\nENDHDR\n\x12\x34\xFF\xFF";
    let (image, _) = read_bytes(pam).unwrap();
    assert_eq!((kinds(&image), depths(&image)), (vec![Gray, Alpha], vec![(16, false); 2]));
    assert_eq!(image.planes.iter().map(|p| p.samples.at(0, 0)).collect::<Vec<_>>(), [0x1234, 0xFFFF]);
    let (image, notes) = read_bytes(b"P5 1 1 255\n\x01P5 1 1 255\n\x02").unwrap();
    assert_eq!((image.planes[0].samples.at(0, 0), notes.len()), (1, 1));
}

#[test]
fn broken_pnm_is_refused() {
    for (bytes, word) in [
        (&b"P5 2 2 255\n\x01\x02\x03"[..], "ends before"),
        (b"P5 2 1 5\n\x06\x00", "exceeds the maxval 5"),
        (b"P5 2 1 0\n\x00\x00", "maxval 0"),
        (b"P5 2 1 65536\n\x00\x00", "maxval 65536"),
        (b"P5 0 1 255\n", "size is 0"),
        (b"P5 99999999999 1 255\n", "too large"),
        (b"P5 4294967295 4294967295 255\n", "limit"),
        (b"P2 1 1 255 x", "'x' stands where a number"),
        (b"P7\nWIDTH 1\nHEIGHT 1\nMAXVAL 1\nENDHDR\n\0", "no DEPTH"),
        (
            b"P7\nWIDTH 1\nHEIGHT 1\nDEPTH 4\nMAXVAL 1\nTUPLTYPE RGB\nENDHDR\n\0\0\0\0",
            "do not fit its tuple type",
        ),
        (b"P7\nWIDTH 1\n", "ends before"),
    ] {
        let failure = refuse(bytes);
        assert!(failure.to_string().contains(word), "{failure} lacks {word}");
    }
}

#[test]
fn raw_samples_of_every_layout_are_read() {
    let read = |bytes: &[u8], shape: &str| {
        let shape: Shape = shape.parse().unwrap();
        super::read_raw(Path::new("it"), bytes.to_vec(), &shape, &Limits::default())
    };
    let planes = |image: Image| image.planes.into_iter().map(|p| p.samples.into_vec()).collect::<Vec<_>>();
    assert_eq!(planes(read(&[1, 2, 3, 4, 5, 6], "2x1x3:8").unwrap()), [[1, 4], [2, 5], [3, 6]]);
    assert_eq!(planes(read(&[1, 2, 3, 4, 5, 6], "2x1x3:8,planar").unwrap()), [[1, 2], [3, 4], [5, 6]]);
    assert_eq!(planes(read(&[0xFE, 0xFF, 1, 0], "1x2x1:16s").unwrap()), [[-2, 1]]);
    assert_eq!(planes(read(&[0xFF, 0xFE, 0, 1], "1x2x1:12sbe").unwrap()), [[-2, 1]]);
    assert_eq!(planes(read(&[0xFF, 0xFF, 0xFF, 0x7F], "1x1x1:31le").unwrap()), [[i32::MAX]]);
    assert!(read(&[0; 5], "2x1x3:8").unwrap_err().to_string().contains("5 bytes where --raw asks for 6"));
    assert!(read(&[0, 4], "1x1x1:10").unwrap_err().to_string().contains("1024"));
    for wrong in
        ["", "1x1:8", "1x1x1", "1x1x1:0", "1x1x1:32", "0x1x1:8", "1x1x256:8", "1x1x1:8xe", "1x1x1:8,rows"]
    {
        assert!(wrong.parse::<Shape>().is_err(), "{wrong}");
    }
}

#[test]
fn files_cut_anywhere_are_refused_without_a_panic() {
    for name in [
        "tiled_lzw_be.tif",
        "big.tif",
        "colour.jpg",
        "gray.jpg",
        "lossless.webp",
        "interlaced8.png",
        "palette.tif",
    ] {
        let bytes = fixture(name);
        for end in 0..bytes.len() {
            match read_bytes(&bytes[..end]) {
                Err(failure) => assert_eq!(failure.kind, Kind::BadInput, "{name} cut at {end}: {failure}"),
                // Some tails hold no pixels (a TIFF file's padding, PNG's last chunk, WebP's metadata).
                Ok((cut, _)) => {
                    assert_eq!(cut.planes, read_bytes(&bytes).unwrap().0.planes, "{name} cut at {end}")
                }
            }
        }
    }
}

#[test]
fn damaged_files_do_not_panic() {
    for name in [
        "tiled_lzw_be.tif",
        "planar_bands.tif",
        "big.tif",
        "palette.tif",
        "colour.jpg",
        "lossless.webp",
        "interlaced2.png",
    ] {
        let bytes = fixture(name);
        // Headers and directories lie in the first and last bytes; they get every value that matters.
        for at in (0..bytes.len()).filter(|&at| at < 600 || at + 300 > bytes.len()) {
            for value in [0, 1, 0x7F, 0xFF, bytes[at] ^ 1] {
                let mut damaged = bytes.clone();
                damaged[at] = value;
                let limits = Limits { samples: 1 << 24, ..Limits::default() };
                let _ = super::read(Path::new(name), damaged, &limits);
            }
        }
    }
}

#[test]
fn a_header_that_asks_for_terabytes_is_refused_before_memory_is_taken() {
    let mut bytes = fixture("interlaced8.png");
    bytes[16..24].copy_from_slice(&[0x7F, 0xFF, 0xFF, 0xFF, 0x7F, 0xFF, 0xFF, 0xFF]);
    let crc = crc32fast::hash(&bytes[12..29]);
    bytes[29..33].copy_from_slice(&crc.to_be_bytes());
    let failure = refuse(&bytes);
    assert!(failure.to_string().contains("more than the limit"), "{failure}");
}

#[test]
fn other_formats_are_named() {
    assert!(refuse(b"GIF89a....").to_string().contains("GIF"));
    assert!(refuse(b"\0\0\0\x0CJXL \r\n\x87\n").to_string().contains("JPEG XL"));
    assert!(refuse(b"hello world").to_string().contains("not a picture"));
    assert!(refuse(b"").to_string().contains("empty"));
}

#[test]
fn directories_survive_writing_and_reading_in_both_sizes() {
    let entries = vec![
        Entry::shorts(300, &[1, 2, 3, 4, 5]),
        Entry::long(256, 70000),
        Entry::rational(282, (300, 7)),
        Entry::signed_longs(340, &[-1, i32::MIN]),
        Entry::bytes(700, 1, b"abc"),
    ];
    for (big, header) in [(false, &b"II*\0\x08\0\0\0"[..]), (true, b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0")] {
        let bytes = [header, &serialise(&entries, header.len() as u64, big)].concat();
        let tiff = Tiff::new(&bytes).unwrap();
        let mut expected = entries.clone();
        expected.sort_by_key(|e| e.tag);
        assert_eq!(tiff.directory(tiff.first).unwrap(), expected);
        assert_eq!(tiff.next(tiff.first), Some(0));
    }
}

#[test]
fn the_orientation_inside_exif_can_be_changed() {
    let block = read("colour.jpg").0.metadata.exif.unwrap();
    assert_eq!(orientation(&block), 6);
    let changed = with_orientation(Some(&block), 3).unwrap();
    assert_eq!((orientation(&changed), changed.len()), (3, block.len()));
    assert_eq!(with_orientation(Some(&block), 6).unwrap(), block);
    // A block without one gets one; everything else stays.
    let mut without = Exif::parse(&block).unwrap();
    without.main.retain(|e| e.tag != super::exif::ORIENTATION);
    let added = with_orientation(Some(&without.to_block()), 8).unwrap();
    assert_eq!(orientation(&added), 8);
    assert_eq!(Exif::parse(&added).unwrap().exif, Exif::parse(&block).unwrap().exif);
    assert_eq!(with_orientation(None, 1), None);
    assert_eq!(orientation(&with_orientation(None, 5).unwrap()), 5);
}
