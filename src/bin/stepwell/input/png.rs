//! PNG: samples of their true depth, palettes and transparent colours expanded, metadata kept.

use std::io::Cursor;

use png::{ColorType, Info, Transformations, Unit};
use stepwell::{Cicp, Image, Limits, Metadata, PlaneKind, Size};

use super::{Fault, Notes, Planes, exif};

/// Keyword under which PNG files carry XMP.
pub const XMP_KEYWORD: &str = "XML:com.adobe.xmp";

/// What PNG has a chunk of its own for.
pub const SRGB: Cicp = Cicp { primaries: 1, transfer: 13, matrix: 0, full_range: true };

/// Bytes that metadata may take: one compressed chunk can ask for far more than the file is long.
const METADATA_BYTES: usize = 64 << 20;

/// Reads a PNG file (of an animation: its first or default picture).
pub fn read(bytes: &[u8], limits: &Limits, notes: &mut Notes) -> Result<Image, Fault> {
    let mut decoder =
        png::Decoder::new_with_limits(Cursor::new(bytes), png::Limits { bytes: METADATA_BYTES });
    decoder.set_transformations(Transformations::IDENTITY);
    let header = decoder.read_header_info().map_err(fault)?;
    let size = Size::new(header.width, header.height);
    // The header alone decides: rows are allocated for it before anything else is read.
    if size.area() > limits.samples {
        let asked = size.area();
        return Err(
            stepwell::Error::Limit { what: "number of pixels", asked, allowed: limits.samples }.into()
        );
    }
    let mut reader = decoder.read_info().map_err(fault)?;
    let layout = Layout::new(reader.info())?;
    let mut planes = Planes::unsigned(size, layout.kinds, layout.depth, limits)?;
    if reader.info().is_animated() {
        notes.push("an animation, of which only the first picture is used".into());
    }
    let mut samples = Vec::new();
    if reader.info().interlaced {
        let line = reader.output_line_size(size.width).ok_or_else(|| Fault::memory(size.area()))?;
        let mut all = vec![0; reader.output_buffer_size().ok_or_else(|| Fault::memory(size.area()))?];
        reader.next_frame(&mut all).map_err(fault)?;
        for (y, row) in all.chunks_exact(line).enumerate() {
            layout.expand(row, size.width as usize, &mut samples)?;
            planes.put_row(0, y, &samples);
        }
    } else {
        for y in 0..size.height as usize {
            let row = reader.next_row().map_err(fault)?.ok_or_else(|| Fault::broken("rows are missing"))?;
            layout.expand(row.data(), size.width as usize, &mut samples)?;
            planes.put_row(0, y, &samples);
        }
    }
    // Text and Exif may follow the pixels. What is broken there costs only the metadata.
    if let Err(e) = reader.finish() {
        notes.push(format!("metadata behind the pixels is lost: {e}"));
    }
    planes.finish(metadata(reader.info()))
}

fn fault(error: png::DecodingError) -> Fault {
    match error {
        png::DecodingError::LimitsExceeded => Fault::broken("its metadata exceeds 64 MiB"),
        png::DecodingError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Fault::broken("it ends too early")
        }
        e => Fault::broken(e),
    }
}

/// How stored samples become planes.
struct Layout {
    kinds: &'static [PlaneKind],
    depth: u8,
    /// Bits and number of the stored samples of a pixel.
    stored: (u8, usize),
    /// Red, green, blue and opacity of each palette index.
    palette: Option<Vec<[i32; 4]>>,
    /// The one colour that is transparent.
    key: Option<Vec<i32>>,
}

impl Layout {
    fn new(info: &Info) -> Result<Self, Fault> {
        use PlaneKind::{Alpha, Blue, Gray, Green, Red};
        let bits = info.bit_depth as u8;
        let transparent = info.trns.is_some();
        let kinds: &[PlaneKind] = match (info.color_type, transparent) {
            (ColorType::Grayscale, false) => &[Gray],
            (ColorType::Grayscale, true) | (ColorType::GrayscaleAlpha, _) => &[Gray, Alpha],
            (ColorType::Rgb | ColorType::Indexed, false) => &[Red, Green, Blue],
            (ColorType::Rgb | ColorType::Indexed, true) | (ColorType::Rgba, _) => &[Red, Green, Blue, Alpha],
        };
        let mut layout = Layout {
            kinds,
            depth: bits,
            stored: (bits, info.color_type.samples()),
            palette: None,
            key: None,
        };
        let transparency = info.trns.as_deref().unwrap_or_default();
        match info.color_type {
            ColorType::Indexed => {
                let colours = info.palette.as_deref().ok_or_else(|| Fault::broken("it has no palette"))?;
                layout.depth = 8;
                layout.palette = Some(palette(colours, transparency));
            }
            ColorType::Grayscale | ColorType::Rgb if transparent => {
                // The decoder keeps one byte a sample of the colour where pixels have at most 8 bits.
                layout.key = Some(match bits {
                    16 => transparency
                        .chunks_exact(2)
                        .map(|b| u16::from_be_bytes([b[0], b[1]]).into())
                        .collect(),
                    _ => transparency.iter().map(|&b| b.into()).collect(),
                });
            }
            _ => {}
        }
        Ok(layout)
    }

    /// Stored bytes of a row to interleaved samples.
    fn expand(&self, row: &[u8], width: usize, samples: &mut Vec<i32>) -> Result<(), Fault> {
        let (bits, per_pixel) = self.stored;
        samples.clear();
        match bits {
            16 => samples.extend(row.chunks_exact(2).map(|b| i32::from(u16::from_be_bytes([b[0], b[1]])))),
            8 => samples.extend(row.iter().map(|&b| i32::from(b))),
            _ => samples.extend((0..width * per_pixel).map(|i| {
                let bit = i * usize::from(bits);
                i32::from(row[bit / 8] >> (8 - usize::from(bits) - bit % 8)) & ((1 << bits) - 1)
            })),
        }
        if let Some(palette) = &self.palette {
            return self.look_up(palette, samples);
        }
        if let Some(key) = &self.key {
            let opaque = (1 << self.depth) - 1;
            let with_alpha = |pixel: &[i32]| {
                let alpha = if pixel == key { 0 } else { opaque };
                pixel.iter().copied().chain([alpha]).collect::<Vec<_>>()
            };
            *samples = samples.chunks_exact(per_pixel).flat_map(with_alpha).collect();
        }
        Ok(())
    }

    fn look_up(&self, palette: &[[i32; 4]], samples: &mut Vec<i32>) -> Result<(), Fault> {
        let mut pixels = Vec::with_capacity(samples.len() * self.kinds.len());
        for &index in samples.iter() {
            let colour = palette.get(index as usize);
            let colour = colour.ok_or_else(|| Fault::broken(format_args!("no palette entry {index}")))?;
            pixels.extend_from_slice(&colour[..self.kinds.len()]);
        }
        *samples = pixels;
        Ok(())
    }
}

fn palette(colours: &[u8], opacities: &[u8]) -> Vec<[i32; 4]> {
    let opacity = |i: usize| opacities.get(i).copied().unwrap_or(255);
    let entry = |(i, c): (usize, &[u8])| [c[0], c[1], c[2], opacity(i)].map(i32::from);
    colours.chunks_exact(3).enumerate().map(entry).collect()
}

fn metadata(info: &Info) -> Metadata {
    let cicp = info.coding_independent_code_points.map(|c| Cicp {
        primaries: c.color_primaries,
        transfer: c.transfer_function,
        matrix: c.matrix_coefficients,
        full_range: c.is_video_full_range_image,
    });
    let pixel_size = info.pixel_dims.filter(|d| d.unit == Unit::Meter && d.xppu > 0 && d.yppu > 0);
    let xmp = info.utf8_text.iter().find(|t| t.keyword == XMP_KEYWORD);
    let exif = info.exif_metadata.as_ref().map(|e| e.to_vec());
    Metadata {
        orientation: exif.as_deref().map_or(0, exif::orientation),
        cicp: cicp.or(info.srgb.map(|_| SRGB)),
        pixel_size: pixel_size.map(|d| (1.0 / f64::from(d.xppu), 1.0 / f64::from(d.yppu))),
        icc: info.icc_profile.as_ref().map(|p| p.to_vec()),
        exif,
        xmp: xmp.and_then(|t| t.get_text().ok()).map(String::into_bytes),
    }
}
