//! JPEG: gray and colour (as RGB) of 8 bits.

use stepwell::{Image, Limits, Metadata, PlaneKind, Size};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Fault, Planes, exif};

/// Marker of the segment before pixels.
const SCAN: u8 = 0xDA;

/// Marker that ends the file.
const END: u8 = 0xD9;

/// Reads a JPEG file.
pub fn read(bytes: &[u8], limits: &Limits) -> Result<Image, Fault> {
    // JPEG's own bound, instead of the decoder's lower one.
    let options = DecoderOptions::default().set_max_width(65535).set_max_height(65535);
    let mut decoder = JpegDecoder::new_with_options(ZCursor::new(bytes), options);
    decoder.decode_headers().map_err(Fault::broken)?;
    let info = decoder.info().ok_or_else(|| Fault::broken("it has no header"))?;
    let (kinds, colours): (&[PlaneKind], _) = match decoder.input_colorspace() {
        Some(ColorSpace::Luma) => (&[PlaneKind::Gray], ColorSpace::Luma),
        Some(ColorSpace::YCbCr | ColorSpace::RGB) => {
            (&[PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue], ColorSpace::RGB)
        }
        // Without its colour profile a conversion to RGB gives wrong colours.
        _ => {
            return Err(Fault::unsupported(
                "CMYK JPEG",
                "convert it to RGB first, through its colour profile",
            ));
        }
    };
    let size = Size::new(info.width.into(), info.height.into());
    let mut planes = Planes::unsigned(size, kinds, 8, limits)?;
    // Strict from here on: otherwise what is missing or damaged is filled with gray without a word.
    decoder.set_options(options.jpeg_set_out_colorspace(colours).set_strict_mode(true));
    // The decoder fills up what is missing of the last rows even so.
    if !segments(bytes).any(|(marker, _)| marker == END) {
        return Err(Fault::broken("it ends too early"));
    }
    let pixels = decoder.decode().map_err(Fault::broken)?;
    for (y, row) in pixels.chunks_exact(size.width as usize * planes.count()).enumerate() {
        planes.put_row(0, y, row);
    }
    let exif = decoder.exif().cloned();
    planes.finish(Metadata {
        orientation: exif.as_deref().map_or(0, exif::orientation),
        cicp: None,
        pixel_size: jfif_pixel_size(bytes),
        icc: decoder.icc_profile(),
        exif,
        xmp: decoder.xmp().cloned(),
    })
}

/// The segments of the file: marker and contents. The pixels between two segments are skipped.
fn segments(bytes: &[u8]) -> impl Iterator<Item = (u8, &[u8])> {
    let mut rest = bytes.get(2..).unwrap_or_default();
    std::iter::from_fn(move || {
        loop {
            let at = rest.iter().position(|&b| b == 0xFF)?;
            rest = &rest[at..];
            let marker = *rest.get(1)?;
            match marker {
                // A byte 255 of pixels, restarts, fill bytes and the start.
                0x00 | 0x01 | 0xD0..=0xD8 => rest = &rest[2..],
                0xFF => rest = &rest[1..],
                END => return Some((marker, std::mem::take(&mut rest))),
                _ => {
                    let length = usize::from(u16::from_be_bytes([*rest.get(2)?, *rest.get(3)?]));
                    let contents = rest.get(4..2 + length)?;
                    rest = &rest[2 + length..];
                    return Some((marker, contents));
                }
            }
        }
    })
}

/// Metres a pixel covers, from the JFIF segment.
///
/// Read here because the decoder mixes its density with that of other segments.
fn jfif_pixel_size(bytes: &[u8]) -> Option<(f64, f64)> {
    let is_jfif =
        |(marker, data): &(u8, &[u8])| *marker == 0xE0 && data.starts_with(b"JFIF\0") && data.len() >= 12;
    let (_, segment) = segments(bytes).take_while(|(marker, _)| *marker != SCAN).find(is_jfif)?;
    let metres = match segment[7] {
        1 => 0.0254,
        2 => 0.01,
        _ => return None,
    };
    let density = |i: usize| f64::from(u16::from_be_bytes([segment[i], segment[i + 1]]));
    let (x, y) = (density(8), density(10));
    (x > 0.0 && y > 0.0).then(|| (metres / x, metres / y))
}
