//! TIFF, laid out so that it needs no seeking: header, directory, pixels.

use std::io::{self, Write};

use stepwell::{PlaneInfo, PlaneKind};

use super::{Endian, Frame, describe, pack};
use crate::failure::{Failure, Result};
use crate::input::exif::{Exif, ORIENTATION};
use crate::input::gdal;
use crate::input::ifd::{ASCII, BYTE, Entry, UNDEFINED};
use crate::input::raw::sample_bytes;
use crate::input::tiff::{INKS, tag};

/// Bytes of pixels that a strip has at least, where the picture has as many.
const STRIP_BYTES: u64 = 1 << 18;

/// Whether TIFF holds these planes exactly.
pub fn check(planes: &[PlaneInfo]) -> Result<()> {
    if planes.iter().any(|p| p.signed != planes[0].signed) {
        let what = format!("TIFF holds signed or unsigned samples, not both: {}", describe(planes));
        return Err(Failure::usage(what).help("write them one by one with --planes"));
    }
    Ok(())
}

/// Bits in which a sample is stored: what readers of TIFF expect, not any depth.
fn container(planes: &[PlaneInfo]) -> u8 {
    match planes {
        [PlaneInfo { depth: depth @ (1 | 2 | 4), signed: false, .. }] => *depth,
        _ => 8 * sample_bytes(super::depth(planes)) as u8,
    }
}

/// Where the parts of the file lie.
struct Layout {
    bits: u8,
    row_bytes: u64,
    rows_per_strip: u32,
    strips: u64,
    big: bool,
}

impl Layout {
    fn new(frame: &Frame) -> Self {
        let bits = container(&frame.planes);
        let count = u64::from(frame.size.width) * frame.planes.len() as u64;
        let row_bytes = (count * u64::from(bits)).div_ceil(8);
        let rows_per_strip = STRIP_BYTES.div_ceil(row_bytes).min(frame.size.height.into()) as u32;
        let strips = u64::from(frame.size.height).div_ceil(rows_per_strip.into());
        // Room for the directory and everything it holds.
        let metadata = &frame.metadata;
        let blocks = [&metadata.icc, &metadata.exif, &metadata.xmp];
        let rest: usize = blocks.into_iter().flatten().map(Vec::len).sum();
        let length = row_bytes * u64::from(frame.size.height) + 2 * rest as u64 + 16 * strips + (1 << 20);
        Layout { bits, row_bytes, rows_per_strip, strips, big: length > u32::MAX.into() }
    }

    fn strip_bytes(&self, strip: u64, height: u32) -> u64 {
        let first = strip * u64::from(self.rows_per_strip);
        self.row_bytes * u64::from(self.rows_per_strip).min(u64::from(height) - first)
    }
}

/// Writes the picture, as BigTIFF where TIFF's 4 GB do not suffice.
pub fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let layout = Layout::new(frame);
    let header: &[u8] = if layout.big { b"II+\0\x08\0\0\0\x10\0\0\0\0\0\0\0" } else { b"II*\0\x08\0\0\0" };
    let at = header.len() as u64;
    let mut directories = frame.metadata.exif.as_deref().and_then(Exif::parse).unwrap_or_default().portable();
    directories.main.extend(picture_entries(frame, &layout));
    directories.main.extend(metadata_entries(frame));
    // The directory's length does not depend on the offsets in it.
    directories.main.push(strip_offsets(frame, &layout, 0));
    let pixels_at = at + directories.serialise(at, layout.big).len() as u64;
    directories.main.pop();
    directories.main.push(strip_offsets(frame, &layout, pixels_at));
    out.write_all(header)?;
    out.write_all(&directories.serialise(at, layout.big))?;
    let mut row = Vec::new();
    for y in 0..frame.size.height as usize {
        row.clear();
        frame.push_row(y, usize::from(layout.bits).div_ceil(8), Endian::Little, &mut row);
        match layout.bits {
            ..8 => out.write_all(&pack(&row, layout.bits))?,
            _ => out.write_all(&row)?,
        }
    }
    Ok(())
}

const STRIP_OFFSETS: u16 = 273;
const ROWS_PER_STRIP: u16 = 278;
const STRIP_BYTE_COUNTS: u16 = 279;

fn strip_offsets(frame: &Frame, layout: &Layout, first: u64) -> Entry {
    let full = layout.strip_bytes(0, frame.size.height);
    let offsets: Vec<_> = (0..layout.strips).map(|i| first + i * full).collect();
    Entry::offsets(STRIP_OFFSETS, &offsets, layout.big)
}

fn picture_entries(frame: &Frame, layout: &Layout) -> Vec<Entry> {
    let planes = &frame.planes;
    let (photometric, colours) = photometric(planes);
    let each = |value: u16| vec![value; planes.len()];
    let counts: Vec<_> = (0..layout.strips).map(|i| layout.strip_bytes(i, frame.size.height)).collect();
    let mut entries = vec![
        Entry::long(tag::IMAGE_WIDTH, frame.size.width),
        Entry::long(tag::IMAGE_LENGTH, frame.size.height),
        Entry::shorts(tag::BITS_PER_SAMPLE, &each(layout.bits.into())),
        Entry::shorts(tag::COMPRESSION, &[1]),
        Entry::shorts(tag::PHOTOMETRIC, &[photometric]),
        Entry::shorts(tag::SAMPLES_PER_PIXEL, &[planes.len() as u16]),
        Entry::long(ROWS_PER_STRIP, layout.rows_per_strip),
        Entry::offsets(STRIP_BYTE_COUNTS, &counts, layout.big),
        Entry::shorts(tag::PLANAR_CONFIGURATION, &[1]),
        Entry::shorts(tag::SAMPLE_FORMAT, &each(if planes[0].signed { 2 } else { 1 })),
    ];
    let extra: Vec<_> = planes[colours..].iter().map(|p| extra_sample(p.kind)).collect();
    if !extra.is_empty() {
        entries.push(Entry::shorts(tag::EXTRA_SAMPLES, &extra));
    }
    // Print colours are known by TIFF's own word for them.
    let unknown =
        planes.iter().enumerate().map(|(i, p)| if photometric == 5 && i < 4 { "" } else { &p.name });
    if let Some(xml) = gdal::xml(unknown) {
        entries.push(Entry::bytes(gdal::METADATA, ASCII, (xml + "\0").as_bytes()));
    }
    // The container is wider than the samples: say how many values there are.
    if planes.iter().any(|p| p.depth != layout.bits) {
        let ranges: Vec<_> = planes.iter().map(PlaneInfo::range).collect();
        let (low, high): (Vec<_>, Vec<_>) = ranges.into_iter().unzip();
        entries.push(Entry::signed_longs(tag::S_MIN_SAMPLE_VALUE, &low));
        entries.push(Entry::signed_longs(tag::S_MAX_SAMPLE_VALUE, &high));
    }
    entries
}

/// TIFF's word for what the first planes are, and how many these are.
fn photometric(planes: &[PlaneInfo]) -> (u16, usize) {
    use PlaneKind::{Blue, Green, Red};
    let kinds: Vec<_> = planes.iter().map(|p| p.kind).collect();
    let names: Vec<_> = planes.iter().map(|p| p.name.as_str()).collect();
    match kinds.as_slice() {
        [Red, Green, Blue, ..] => (2, 3),
        _ if names.starts_with(&INKS) => (5, 4),
        _ => (1, 1),
    }
}

fn extra_sample(kind: PlaneKind) -> u16 {
    match kind {
        PlaneKind::PremultipliedAlpha => 1,
        PlaneKind::Alpha => 2,
        _ => 0,
    }
}

fn metadata_entries(frame: &Frame) -> Vec<Entry> {
    let metadata = &frame.metadata;
    let mut entries = Vec::new();
    if metadata.orientation != 0 {
        entries.push(Entry::shorts(ORIENTATION, &[metadata.orientation.into()]));
    }
    if let Some((x, y)) = metadata.pixel_size {
        // Pixels an inch.
        entries.push(Entry::rational(tag::X_RESOLUTION, fraction(0.0254 / x)));
        entries.push(Entry::rational(tag::Y_RESOLUTION, fraction(0.0254 / y)));
        entries.push(Entry::shorts(tag::RESOLUTION_UNIT, &[2]));
    }
    if let Some(icc) = frame.icc() {
        entries.push(Entry::bytes(tag::ICC, UNDEFINED, icc));
    }
    if let Some(xmp) = &metadata.xmp {
        entries.push(Entry::bytes(tag::XMP, BYTE, xmp));
    }
    entries
}

/// The fraction nearest to `value` with 32-bit terms: its continued fraction, until it is exact to 12 digits.
fn fraction(value: f64) -> (u32, u32) {
    let value = value.clamp(1e-9, f64::from(u32::MAX));
    let (mut before, mut now) = ((0u64, 1u64), (1u64, 0u64));
    let mut rest = value;
    loop {
        let whole = rest.floor();
        let next = (whole as u64 * now.0 + before.0, whole as u64 * now.1 + before.1);
        if next.0.max(next.1) > u32::MAX.into() {
            return (now.0 as u32, now.1.max(1) as u32);
        }
        (before, now) = (now, next);
        let error = (now.0 as f64 / now.1 as f64 - value).abs();
        if error <= value * 1e-12 || rest - whole < 1e-12 {
            return (now.0 as u32, now.1 as u32);
        }
        rest = 1.0 / (rest - whole);
    }
}
