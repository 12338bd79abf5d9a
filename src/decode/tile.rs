//! Tiles as decoders meet them: their shapes, and their bytes, checked.

use bytes::Bytes;
use std::ops::Range;

use crate::container::index::Chunk;
use crate::entropy::TileShape;
use crate::error::{Error, Result};
use crate::geom::{Rect, Size};
use crate::grid::Grid;
use crate::stream::{Source, as_promised, find_end};

/// The quads of a tile in a level of size `level`, and which bands they have.
pub fn tile_shape(tile_log2: u32, level: Size, (x, y): (u32, u32)) -> (Rect, TileShape) {
    let side = 1 << tile_log2;
    let quads =
        Rect { x: x * side, y: y * side, width: side, height: side }.intersect(level.at_level(1).rect());
    let whole = |start: u32, count: u32, all: u32| (all / 2).saturating_sub(start).min(count) as usize;
    let shape = TileShape {
        tile_log2,
        columns: quads.width as usize,
        rows: quads.height as usize,
        h_columns: whole(quads.x, quads.width, level.width),
        v_rows: whole(quads.y, quads.height, level.height),
    };
    (quads, shape)
}

/// Some samples of a level of a plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which.
    pub rect: Rect,
    /// Their values.
    pub grid: Grid<i32>,
}

impl Part {
    /// All zero.
    pub fn new(rect: Rect) -> Self {
        Part { rect, grid: Grid::new(rect.width as usize, rect.height as usize) }
    }

    /// A copy of some of them.
    pub fn crop(&self, rect: Rect) -> Grid<i32> {
        let Rect { x, y, width, height } = rect.relative_to(self.rect.x, self.rect.y);
        self.grid.crop(x as usize, y as usize, width as usize, height as usize)
    }

    /// Replaces some of them, which start at (`x`, `y`) of the level.
    pub fn paste(&mut self, x: u32, y: u32, samples: &Grid<i32>) {
        let (x, y) = ((x - self.rect.x) as usize, (y - self.rect.y) as usize);
        for row in 0..samples.height() {
            self.grid.row_mut(y + row)[x..x + samples.width()].copy_from_slice(samples.row(row));
        }
    }
}

impl Chunk {
    /// An error that says what is wrong with this chunk.
    pub fn fault(&self, what: impl Into<String>) -> Error {
        Error::format(self.start, "10", what)
    }
}

/// Gives the bytes of chunks.
pub trait Chunks: Sync {
    /// The bytes of each chunk, with the right length and checksum.
    ///
    /// # Errors
    /// Those of the source; [`Error::Truncated`], and [`Error::Format`] for a wrong checksum.
    fn fetch(&self, chunks: &[Chunk]) -> Result<Vec<Bytes>>;
}

/// Chunks from a source.
pub struct SourceChunks<'a, S: ?Sized> {
    /// Where they come from.
    pub source: &'a S,
    /// Which LoQ a file cut at some length still gives: for the error that says so.
    pub available: &'a (dyn Fn(u64) -> Option<u8> + Sync),
}

impl<S: Source + ?Sized> Chunks for SourceChunks<'_, S> {
    fn fetch(&self, chunks: &[Chunk]) -> Result<Vec<Bytes>> {
        let filled: Vec<Range<u64>> = chunks.iter().filter(|c| c.bytes > 0).map(Chunk::range).collect();
        let mut read = read_exactly(self.source, &filled, self.available)?.into_iter();
        let mut out = Vec::with_capacity(chunks.len());
        for chunk in chunks {
            if chunk.bytes == 0 {
                out.push(Bytes::new());
                continue;
            }
            let bytes = read.next().unwrap_or_default();
            if Chunk::checksum(&bytes) != chunk.crc {
                return Err(Error::format(chunk.start, "8", "checksum of a tile does not fit"));
            }
            out.push(bytes);
        }
        Ok(out)
    }
}

/// Reads ranges whole, or says where the file ends.
pub fn read_exactly<S: Source + ?Sized>(
    source: &S,
    ranges: &[Range<u64>],
    available: &dyn Fn(u64) -> Option<u8>,
) -> Result<Vec<Bytes>> {
    let read = source.read(ranges).and_then(|bytes| as_promised(ranges, bytes));
    let bytes = read.map_err(|cause| Error::Source { what: "tiles".into(), cause })?;
    for (range, bytes) in ranges.iter().zip(&bytes) {
        let end = range.start + bytes.len() as u64;
        if end < range.end {
            let end = if bytes.is_empty() { find_end(source, end) } else { end };
            return Err(Error::Truncated { end, needed: range.end, available: available(end) });
        }
    }
    Ok(bytes)
}
