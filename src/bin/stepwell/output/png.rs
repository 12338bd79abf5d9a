//! PNG with ICC, Exif, XMP, physical size and colour space.

use std::borrow::Cow;
use std::io::{self, Write};

use png::text_metadata::ITXtChunk;
use png::{
    BitDepth, ColorType, Compression, Encoder, Info, PixelDimensions, SrgbRenderingIntent, Unit, chunk,
};
use stepwell::{Cicp, Metadata, PlaneInfo};

use super::{Endian, Frame, describe, is_usual, pack};
use crate::failure::{Failure, Result};
use crate::input::exif;
use crate::input::png::{SRGB, XMP_KEYWORD};

/// Whether PNG holds these planes exactly.
pub fn check(planes: &[PlaneInfo]) -> Result<()> {
    let refuse = |help: &str| {
        let what =
            format!("PNG holds gray or RGB of 8 or 16 bits (gray of 1, 2, 4), not {}", describe(planes));
        Err(Failure::usage(what).help(help))
    };
    if planes.len() > 4 || !is_usual(planes) {
        return refuse("write TIFF (.tif) or PAM (.pam), or choose planes with --planes");
    }
    let depth = planes[0].depth;
    let exact = if planes.len() == 1 { matches!(depth, 1 | 2 | 4 | 8 | 16) } else { matches!(depth, 8 | 16) };
    if planes.iter().any(|p| p.signed || p.depth > 16) {
        return refuse("write TIFF (.tif)");
    }
    if !exact || planes.iter().any(|p| p.depth != depth) {
        return refuse("write TIFF (.tif), or PAM (.pam) where all planes have the same depth");
    }
    Ok(())
}

/// Writes the picture row by row.
pub fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let depth = frame.depth();
    let mut info = Info::with_size(frame.size.width, frame.size.height);
    info.bit_depth = BitDepth::from_u8(depth).ok_or_else(|| io::Error::other("a depth PNG does not have"))?;
    info.color_type = match frame.planes.len() {
        1 => ColorType::Grayscale,
        2 => ColorType::GrayscaleAlpha,
        3 => ColorType::Rgb,
        _ => ColorType::Rgba,
    };
    info.icc_profile = frame.icc().map(Cow::Borrowed);
    describe_picture(&mut info, &frame.metadata);
    let mut encoder = Encoder::with_info(out, info)?;
    // As small as the default on photographs, several times as fast.
    encoder.set_compression(Compression::Fast);
    let mut writer = encoder.write_header()?;
    if let Some(cicp) = frame.metadata.cicp.filter(|c| *c != SRGB) {
        let Cicp { primaries, transfer, matrix, full_range } = cicp;
        writer.write_chunk(chunk::cICP, &[primaries, transfer, matrix, full_range.into()])?;
    }
    let mut pixels = writer.stream_writer()?;
    let mut row = Vec::new();
    for y in 0..frame.size.height as usize {
        row.clear();
        frame.push_row(y, if depth == 16 { 2 } else { 1 }, Endian::Big, &mut row);
        match depth {
            ..8 => pixels.write_all(&pack(&row, depth))?,
            _ => pixels.write_all(&row)?,
        }
    }
    pixels.finish()?;
    writer.finish()?;
    Ok(())
}

fn describe_picture(info: &mut Info, metadata: &Metadata) {
    // A profile says more than the chunk for sRGB, and both together are not allowed.
    if info.icc_profile.is_none() && metadata.cicp == Some(SRGB) {
        info.srgb = Some(SrgbRenderingIntent::Perceptual);
    }
    info.pixel_dims = metadata.pixel_size.and_then(|(x, y)| {
        let per_metre = |metres: f64| {
            let count = (1.0 / metres).round();
            (1.0..=f64::from(i32::MAX)).contains(&count).then_some(count as u32)
        };
        Some(PixelDimensions { xppu: per_metre(x)?, yppu: per_metre(y)?, unit: Unit::Meter })
    });
    info.exif_metadata =
        exif::with_orientation(metadata.exif.as_deref(), metadata.orientation).map(Cow::Owned);
    if let Some(xmp) = metadata.xmp.as_deref().and_then(|x| std::str::from_utf8(x).ok()) {
        info.utf8_text.push(ITXtChunk::new(XMP_KEYWORD, xmp));
    }
}
