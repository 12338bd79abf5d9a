//! Every writer is read back: the same samples, planes and metadata, or a refusal before a byte is written.

use std::io::{self, Write};
use std::path::Path;

use stepwell::{Cicp, Grid, Image, Limits, Metadata, Plane, PlaneInfo, PlaneKind, Size};

use super::{Format, Frame, Samples, pack, write};
use crate::input::exif::{Exif, orientation};
use crate::input::ifd::{Entry, Tiff};
use crate::input::{read, read_raw};

use PlaneKind::{Alpha, Blue, Gray, Green, Other, PremultipliedAlpha, Red};

const SIZES: [(u32, u32); 4] = [(1, 1), (1, 9), (7, 1), (33, 18)];

/// Planes whose samples take all values of their range, smallest and largest first.
fn picture(infos: Vec<PlaneInfo>, (width, height): (u32, u32)) -> Image {
    let plane = |(i, info): (usize, PlaneInfo)| {
        let (low, high) = info.range();
        let steps = i64::from(high) - i64::from(low) + 1;
        let sample = |at: usize| match at {
            0 => high,
            1 => low,
            at => (i64::from(low) + (at as i64 * 2_654_435_761 + i as i64 * 977).rem_euclid(steps)) as i32,
        };
        let samples = (0..(width * height) as usize).map(sample).collect();
        Plane { info, samples: Grid::from_vec(width as usize, height as usize, samples) }
    };
    let planes = infos.into_iter().enumerate().map(plane).collect();
    Image { size: Size::new(width, height), planes, metadata: Metadata::default() }
}

fn unsigned(kinds: &[PlaneKind], depth: u8) -> Vec<PlaneInfo> {
    kinds.iter().map(|&kind| PlaneInfo::new(kind, depth)).collect()
}

fn frame(image: &Image) -> Frame {
    let planes: Vec<_> = image.planes.iter().map(|p| p.info.clone()).collect();
    let count = image.planes[0].samples.data().len();
    let all: Vec<i32> =
        (0..count).flat_map(|at| image.planes.iter().map(move |p| p.samples.data()[at])).collect();
    let samples = match super::depth(&planes) {
        ..=8 if planes.iter().all(|p| !p.signed) => Samples::U8(all.iter().map(|&v| v as u8).collect()),
        9..=16 if planes.iter().all(|p| !p.signed) => Samples::U16(all.iter().map(|&v| v as u16).collect()),
        _ => Samples::I32(all),
    };
    Frame { size: image.size, planes, samples, metadata: image.metadata.clone() }
}

fn written(format: Format, image: &Image) -> Vec<u8> {
    let frame = frame(image);
    format.check(&frame.planes).unwrap();
    let mut bytes = Vec::new();
    write(format, &frame, &mut bytes).unwrap();
    bytes
}

fn read_back(format: Format, image: &Image) -> Image {
    let bytes = written(format, image);
    read(Path::new("it"), bytes, &Limits::default()).unwrap_or_else(|e| panic!("{format:?}: {e}")).0
}

const USUAL: [&[PlaneKind]; 4] = [&[Gray], &[Gray, Alpha], &[Red, Green, Blue], &[Red, Green, Blue, Alpha]];

/// What each format can hold, by number of usual planes and depth.
fn holds(format: Format, planes: usize, depth: u8) -> bool {
    match format {
        Format::Png => matches!(depth, 8 | 16) || planes == 1 && matches!(depth, 1 | 2 | 4),
        Format::Pbm => planes == 1 && depth == 1,
        Format::Pgm => planes == 1 && depth <= 16,
        Format::Ppm => planes == 3 && depth <= 16,
        Format::Pnm => matches!(planes, 1 | 3) && depth <= 16,
        Format::Pam => depth <= 16,
        Format::Tiff | Format::Raw => true,
    }
}

#[test]
fn every_depth_comes_back_or_is_refused() {
    use Format::{Pam, Pbm, Pgm, Png, Pnm, Ppm, Tiff};
    for format in [Png, Pbm, Pgm, Ppm, Pnm, Pam, Tiff] {
        for (kinds, depth) in USUAL.iter().flat_map(|k| (1..=31).map(move |d| (k, d))) {
            if !holds(format, kinds.len(), depth) {
                let failure = format.check(&unsigned(kinds, depth)).expect_err("it should be refused");
                let help = miette::Diagnostic::help(&failure).unwrap().to_string();
                assert!(help.contains(".tif"), "{format:?}, {} planes of {depth} bits: {help}", kinds.len());
                continue;
            }
            for size in SIZES {
                let image = picture(unsigned(kinds, depth), size);
                assert_eq!(
                    read_back(format, &image),
                    image,
                    "{format:?}, {} planes of {depth} bits",
                    kinds.len()
                );
            }
        }
    }
}

#[test]
fn tiff_holds_signed_samples_of_every_depth() {
    for depth in 1..=31 {
        let infos = vec![PlaneInfo { signed: true, ..PlaneInfo::new(Gray, depth) }];
        let image = picture(infos, (33, 18));
        assert_eq!(read_back(Format::Tiff, &image), image, "{depth} bits");
    }
}

#[test]
fn tiff_holds_any_planes_of_any_depths() {
    let infos = vec![
        PlaneInfo::new(Red, 8),
        PlaneInfo::new(Green, 8),
        PlaneInfo::new(Blue, 10),
        PlaneInfo::new(PremultipliedAlpha, 1),
        PlaneInfo::new(Other, 17),
        PlaneInfo::new(Other, 31),
    ];
    let image = picture(infos, (33, 18));
    assert_eq!(read_back(Format::Tiff, &image), image);
    let mut bands = picture(unsigned(&[Other; 7], 12), (33, 300));
    bands.planes[2].info.name = "near infrared".into();
    assert_eq!(read_back(Format::Tiff, &bands), bands);
    let mut inks = picture(unsigned(&[Other; 4], 8), (5, 5));
    for (plane, name) in inks.planes.iter_mut().zip(["cyan", "magenta", "yellow", "black"]) {
        plane.info.name = name.into();
    }
    assert_eq!(read_back(Format::Tiff, &inks), inks);
}

#[test]
fn tiff_of_many_strips_comes_back() {
    let image = picture(unsigned(&[Red, Green, Blue], 16), (301, 500));
    assert_eq!(read_back(Format::Tiff, &image), image);
}

/// Keeps the start of what is written and counts the rest.
struct Head {
    bytes: Vec<u8>,
    length: u64,
}

impl Write for Head {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = (1 << 20) - self.bytes.len().min(1 << 20);
        self.bytes.extend_from_slice(&bytes[..room.min(bytes.len())]);
        self.length += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

#[test]
fn above_4_gigabytes_tiff_becomes_bigtiff() {
    let size = Size::new(1 << 20, 4100);
    // Zeroed pages that are never written to take no memory.
    let samples = Samples::U8(vec![0; size.area() as usize]);
    let planes = unsigned(&[Gray], 8);
    let frame = Frame { size, planes, samples, metadata: Metadata::default() };
    let mut head = Head { bytes: Vec::new(), length: 0 };
    write(Format::Tiff, &frame, &mut head).unwrap();
    let tiff = Tiff::new(&head.bytes).unwrap();
    let entries = tiff.directory(tiff.first).unwrap();
    let integers = |tag| entries.iter().find(|e| e.tag == tag).map(Entry::integers).unwrap();
    let (offsets, counts) = (integers(273), integers(279));
    assert_eq!(offsets.len(), 4100);
    assert_eq!(counts.iter().sum::<i64>() as u64, size.area());
    assert_eq!((offsets[4099] + counts[4099]) as u64, head.length);
    assert!(head.length > u32::MAX.into() && offsets.is_sorted());
}

#[test]
fn raw_comes_back() {
    for (depth, signed) in
        [(1, false), (8, false), (8, true), (10, false), (16, true), (17, false), (31, false), (31, true)]
    {
        let info = PlaneInfo { signed, ..PlaneInfo::new(Gray, depth) };
        let infos = vec![info.clone(), PlaneInfo { kind: Alpha, ..info }];
        let image = picture(infos, (33, 18));
        let shape = format!("33x18x2:{depth}{}", if signed { "s" } else { "" });
        let bytes = written(Format::Raw, &image);
        let back = read_raw(Path::new("it"), bytes, &shape.parse().unwrap(), &Limits::default());
        assert_eq!(back.unwrap(), image, "{shape}");
    }
}

#[test]
fn three_bands_make_a_picture() {
    let bands = unsigned(&[Other; 3], 8);
    for format in [Format::Png, Format::Ppm] {
        format.check(&bands).unwrap();
    }
    for odd in [
        &[Red, Green, Alpha][..],
        &[Alpha, Red, Green, Blue],
        &[Other; 5],
        &[PlaneKind::Luma; 3],
        &[Gray, PremultipliedAlpha],
    ] {
        assert!(Format::Png.check(&unsigned(odd, 8)).is_err(), "{odd:?}");
    }
}

#[test]
fn planes_of_different_sizes_are_refused_with_a_way_out() {
    let mut infos = unsigned(&[Red, Green, Blue], 8);
    infos[1].subsampling = (2, 2);
    for format in [Format::Png, Format::Tiff, Format::Raw] {
        let failure = format.check(&infos).unwrap_err();
        assert!(miette::Diagnostic::help(&failure).unwrap().to_string().contains("--planes"));
    }
}

#[test]
fn metadata_comes_back_from_png_and_tiff() {
    let maker = Entry::bytes(0x010F, 2, b"Maker\0");
    let iso = Entry::shorts(0x8827, &[400]);
    let latitude = Entry::rational(2, (50, 1));
    let exif = Exif { main: vec![maker], exif: vec![iso], gps: vec![latitude] };
    let metadata = Metadata {
        orientation: 6,
        pixel_size: Some((0.0254 / 300.0, 0.0254 / 72.5)),
        icc: Some((0..2000u32).map(|i| (i * i) as u8).collect()),
        exif: Some(exif.to_block()),
        xmp: Some("<x:xmpmeta>ä</x:xmpmeta>".into()),
        cicp: None,
    };
    let mut image = picture(unsigned(&[Red, Green, Blue], 8), (5, 4));
    image.metadata = metadata.clone();
    for format in [Format::Png, Format::Tiff] {
        let back = read_back(format, &image).metadata;
        assert_eq!((back.orientation, &back.icc, &back.xmp), (6, &metadata.icc, &metadata.xmp), "{format:?}");
        let parts = Exif::parse(back.exif.as_deref().unwrap()).unwrap();
        assert_eq!(parts.clone().portable(), exif, "{format:?}");
        let ((x, y), (back_x, back_y)) = (metadata.pixel_size.unwrap(), back.pixel_size.unwrap());
        // PNG counts whole pixels a metre.
        let tolerance = if format == Format::Png { 1e-3 } else { 1e-12 };
        assert!((back_x / x - 1.0).abs() < tolerance && (back_y / y - 1.0).abs() < tolerance, "{format:?}");
    }
    assert_eq!(orientation(&read_back(Format::Png, &image).metadata.exif.unwrap()), 6);
}

#[test]
fn a_colour_profile_stays_behind_where_its_colours_do() {
    let mut profile = vec![0; 128];
    profile[16..20].copy_from_slice(b"RGB ");
    for (kinds, kept) in
        [(&[Red, Green, Blue][..], true), (&[Red, Green, Blue, Alpha], true), (&[Green], false)]
    {
        let mut image = picture(unsigned(kinds, 8), (5, 4));
        image.metadata.icc = Some(profile.clone());
        for format in [Format::Png, Format::Tiff] {
            assert_eq!(read_back(format, &image).metadata.icc.is_some(), kept, "{format:?} of {kinds:?}");
        }
    }
}

#[test]
fn an_orientation_alone_comes_back() {
    let mut image = picture(unsigned(&[Gray], 8), (5, 4));
    image.metadata.orientation = 8;
    for format in [Format::Png, Format::Tiff] {
        assert_eq!(read_back(format, &image).metadata.orientation, 8, "{format:?}");
    }
}

#[test]
fn colour_spaces_come_back_from_png() {
    let mut image = picture(unsigned(&[Red, Green, Blue], 16), (5, 4));
    for (primaries, transfer) in [(1, 13), (9, 16), (12, 13)] {
        image.metadata.cicp = Some(Cicp { primaries, transfer, matrix: 0, full_range: true });
        assert_eq!(read_back(Format::Png, &image), image);
    }
}

#[test]
fn samples_are_packed_from_the_highest_bit_down() {
    assert_eq!(pack(&[1, 0, 1, 1, 0, 0, 0, 1, 1], 1), [0b1011_0001, 0b1000_0000]);
    assert_eq!(pack(&[3, 0, 1, 2, 3], 2), [0b1100_0110, 0b1100_0000]);
    assert_eq!(pack(&[15, 1, 2], 4), [0xF1, 0x20]);
}

#[test]
fn formats_are_known_by_their_endings() {
    for (name, format) in
        [("a.png", Format::Png), ("a.b.TIF", Format::Tiff), ("a.tiff", Format::Tiff), ("x.pam", Format::Pam)]
    {
        assert_eq!(Format::of(Path::new(name)).unwrap(), format);
    }
    assert!(Format::of(Path::new("a.jpg")).is_err());
    assert!(Format::of(Path::new("png")).is_err());
}
