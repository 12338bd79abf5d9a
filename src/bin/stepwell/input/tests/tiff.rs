//! TIFF and the directories inside TIFF and Exif.

use super::*;

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
fn tiles_that_are_left_out_are_zero() {
    let mut sparse = tiff_with(&[]);
    let place = |sparse: &[u8], tag: u16| {
        let at = (10..200).step_by(12).find(|&at| sparse[at..at + 2] == tag.to_le_bytes()).unwrap();
        u32::from_le_bytes(sparse[at + 8..at + 12].try_into().unwrap()) as usize
    };
    for tag in [324, 325] {
        let second = place(&sparse, tag) + 4;
        sparse[second..second + 4].fill(0);
    }
    let (image, _) = read_bytes(&sparse).unwrap();
    assert!(image.planes[0].samples.data().iter().any(|v| *v != 0));
    assert!(image.planes[1].samples.data().iter().all(|v| *v == 0));
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
    without.main.retain(|e| e.tag != super::super::exif::ORIENTATION);
    let added = with_orientation(Some(&without.to_block()), 8).unwrap();
    assert_eq!(orientation(&added), 8);
    assert_eq!(Exif::parse(&added).unwrap().exif, Exif::parse(&block).unwrap().exif);
    assert_eq!(with_orientation(None, 1), None);
    assert_eq!(orientation(&with_orientation(None, 5).unwrap()), 5);
}
