//! The strips and tiles of a TIFF file.

use std::io::Cursor;

use tiff::decoder::Decoder;

use super::super::{Fault, Planes};
use super::layout::Layout;
use super::{contradiction, fault};

/// Bytes that a tile may take in any picture, however small.
const TILE_BYTES: u64 = 64 << 20;

/// Reads all pixels.
pub fn read(
    decoder: &mut Decoder<Cursor<Vec<u8>>>,
    layout: &Layout,
    planes: &mut Planes,
) -> Result<(), Fault> {
    let (width, height) = (layout.size.width, layout.size.height);
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    let across = width.div_ceil(chunk_width);
    let a_plane = u64::from(across) * u64::from(height.div_ceil(chunk_height));
    let (stored_planes, per_pixel) = if layout.planar { (layout.samples, 1) } else { (1, layout.samples) };
    let chunks =
        u32::try_from(a_plane * stored_planes as u64).map_err(|_| Fault::broken("too many parts"))?;
    let (mut bytes, mut samples) = (Vec::new(), Vec::new());
    for chunk in 0..chunks {
        let (plane, place) = ((u64::from(chunk) / a_plane) as usize, (u64::from(chunk) % a_plane) as u32);
        let (x, y) = (place % across * chunk_width, place / across * chunk_height);
        if layout.absent.contains(&chunk) {
            continue;
        }
        let shape = decoder.image_chunk_buffer_layout(chunk).map_err(fault)?;
        // Tiles may reach beyond the picture, but a hostile file names them any size.
        let picture = layout.size.area().saturating_mul(4 * layout.samples as u64);
        if shape.len as u64 > picture.saturating_add(TILE_BYTES) {
            return Err(Fault::broken(format_args!("tiles of {} bytes", shape.len)));
        }
        bytes.clear();
        bytes.resize(shape.len, 0);
        decoder.read_chunk_bytes(chunk, &mut bytes).map_err(fault)?;
        // The decoder pads the tiles of all planes but the first.
        let (columns, rows) = (chunk_width.min(width - x), chunk_height.min(height - y));
        let stride = shape.row_stride.map_or(1, usize::from);
        if stride < (columns as usize * per_pixel * usize::from(layout.bits)).div_ceil(8) {
            return Err(contradiction());
        }
        for (row, bytes) in bytes.chunks(stride).take(rows as usize).enumerate() {
            samples_from_bytes(bytes, layout, columns as usize * per_pixel, &mut samples)?;
            layout.convert(&mut samples)?;
            if layout.planar {
                planes.put_plane_row(plane, x as usize, y as usize + row, &samples);
            } else {
                planes.put_row(x as usize, y as usize + row, &samples);
            }
        }
    }
    Ok(())
}

fn samples_from_bytes(
    bytes: &[u8],
    layout: &Layout,
    count: usize,
    samples: &mut Vec<i32>,
) -> Result<(), Fault> {
    samples.clear();
    let bits = usize::from(layout.bits);
    let unused = 32 - u32::from(layout.bits);
    let signed = |v: u32| if layout.signed { (v << unused) as i32 >> unused } else { v as i32 };
    match bits {
        16 => {
            let pairs = bytes.chunks_exact(2).take(count);
            samples.extend(pairs.map(|b| signed(u16::from_ne_bytes([b[0], b[1]]).into())));
        }
        32 => {
            let words = bytes.chunks_exact(4).take(count);
            samples.extend(words.map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
            if !layout.signed
                && let Some(&v) = samples.iter().find(|v| **v < 0)
            {
                let what = format!("sample {}, which exceeds 31 bits", v as u32);
                return Err(Fault::unsupported(what, "scale the picture down to 31 bits first"));
            }
        }
        8 => samples.extend(bytes.iter().take(count).map(|&b| signed(b.into()))),
        _ => samples.extend((0..count).map(|i| {
            let at = i * bits;
            let pair = u16::from(bytes[at / 8]) << 8 | bytes.get(at / 8 + 1).map_or(0, |&b| b.into());
            signed(u32::from(pair >> (16 - bits - at % 8)) & ((1 << bits) - 1))
        })),
    }
    Ok(())
}
