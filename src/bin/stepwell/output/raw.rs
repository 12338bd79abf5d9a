//! Samples without a header.

use std::io::{self, Write};

use super::{Endian, Frame};
use crate::input::raw::sample_bytes;

/// Writes interleaved samples of 1, 2 or 4 bytes, little-endian.
pub fn write(frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let width = sample_bytes(frame.depth());
    let mut row = Vec::new();
    for y in 0..frame.size.height as usize {
        row.clear();
        frame.push_row(y, width, Endian::Little, &mut row);
        out.write_all(&row)?;
    }
    Ok(())
}
