//! WebP: lossy and lossless, as RGB or RGBA of 8 bits.

use std::io::Cursor;

use image_webp::WebPDecoder;
use stepwell::{Image, Limits, Metadata, PlaneKind, Size};

use super::{Fault, Notes, Planes, exif};

/// Reads a WebP file (of an animation: its first picture).
pub fn read(bytes: &[u8], limits: &Limits, notes: &mut Notes) -> Result<Image, Fault> {
    let mut decoder = WebPDecoder::new(Cursor::new(bytes)).map_err(Fault::broken)?;
    // Metadata cannot be longer than the file, whatever a chunk claims.
    decoder.set_memory_limit(bytes.len());
    let (width, height) = decoder.dimensions();
    let all = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue, PlaneKind::Alpha];
    let kinds = if decoder.has_alpha() { &all[..] } else { &all[..3] };
    let mut planes = Planes::unsigned(Size::new(width, height), kinds, 8, limits)?;
    if decoder.is_animated() {
        notes.push("an animation, of which only the first picture is used".into());
    }
    // At most 16384 × 16384 pixels, which the format's 14-bit sizes and the limits allow.
    let mut pixels = vec![0; width as usize * height as usize * kinds.len()];
    decoder.read_image(&mut pixels).map_err(Fault::broken)?;
    for (y, row) in pixels.chunks_exact(width as usize * kinds.len()).enumerate() {
        planes.put_row(0, y, row);
    }
    let exif = decoder.exif_metadata().map_err(Fault::broken)?.map(exif::without_prefix);
    planes.finish(Metadata {
        orientation: exif.as_deref().map_or(0, exif::orientation),
        icc: decoder.icc_profile().map_err(Fault::broken)?,
        xmp: decoder.xmp_metadata().map_err(Fault::broken)?,
        exif,
        ..Metadata::default()
    })
}
