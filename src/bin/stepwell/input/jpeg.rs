//! JPEG: gray and colour (as RGB) of 8 bits.

use stepwell::{Image, Limits, Metadata, PlaneKind, Size};
use zune_jpeg::JpegDecoder;
use zune_jpeg::zune_core::bytestream::ZCursor;
use zune_jpeg::zune_core::colorspace::ColorSpace;
use zune_jpeg::zune_core::options::DecoderOptions;

use super::{Fault, Planes, exif};

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
        _ => return Err(Fault::unsupported("CMYK JPEG", "convert it to RGB first, through its colour profile")),
    };
    let size = Size::new(info.width.into(), info.height.into());
    let mut planes = Planes::unsigned(size, kinds, 8, limits)?;
    // Strict from here on: otherwise what is missing or damaged is filled with gray without a word.
    decoder.set_options(options.jpeg_set_out_colorspace(colours).set_strict_mode(true));
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

/// Metres a pixel covers, from the JFIF segment.
///
/// Read here because the decoder mixes its density with that of other segments.
fn jfif_pixel_size(bytes: &[u8]) -> Option<(f64, f64)> {
    let mut at = 2;
    while let Some(&[0xFF, marker, high, low]) = bytes.get(at..at + 4) {
        let length = usize::from(u16::from_be_bytes([high, low]));
        if marker == 0xDA || length < 2 {
            return None;
        }
        let segment = bytes.get(at + 4..at + 2 + length)?;
        if marker == 0xE0 && segment.starts_with(b"JFIF\0") && segment.len() >= 12 {
            let metres = match segment[7] {
                1 => 0.0254,
                2 => 0.01,
                _ => return None,
            };
            let density = |i: usize| f64::from(u16::from_be_bytes([segment[i], segment[i + 1]]));
            let (x, y) = (density(8), density(10));
            return (x > 0.0 && y > 0.0).then(|| (metres / x, metres / y));
        }
        at += 2 + length;
    }
    None
}
