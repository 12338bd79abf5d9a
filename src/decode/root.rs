//! The root level, which is stored as it is (SPEC section 9).

use super::tile::Part;
use crate::container::Header;
use crate::error::{Error, Result};
use crate::grid::Grid;

/// The planes of the root level, whole.
pub fn root_samples(header: &Header, bytes: &[u8]) -> Result<Vec<Part>> {
    let (samples, crc) = bytes.split_at(bytes.len() - 4);
    if crc32fast::hash(samples).to_le_bytes() != crc {
        return Err(Error::format(header.root_start(), "9", "checksum of the root samples does not fit"));
    }
    let mut rest = samples;
    let mut parts = Vec::new();
    for plane in 0..header.planes.len() {
        let size = header.plane_size(plane, header.levels);
        let width = header.root_sample_bytes(plane);
        let (own, after) = rest.split_at(size.area() as usize * width);
        let sample = |b: &[u8]| match *b {
            [a, b] => i16::from_le_bytes([a, b]).into(),
            [a, b, c, d] => i32::from_le_bytes([a, b, c, d]),
            _ => 0,
        };
        let data = own.chunks_exact(width).map(sample).collect();
        parts.push(Part {
            rect: size.rect(),
            grid: Grid::from_vec(size.width as usize, size.height as usize, data),
        });
        rest = after;
    }
    Ok(parts)
}
