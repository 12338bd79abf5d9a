//! Where each tile's chunks lie: directories of blocks, and pages of chunk sizes (SPEC section 8).

use std::ops::Range;

use super::bytes::{Reader, put_varint};
use super::header::Header;
use crate::error::Result;
use crate::geom::{Level, Rect, Size};

/// Tiles a side that share a page.
pub const BLOCK_TILES: u32 = 1 << BLOCK_LOG2;
const BLOCK_LOG2: u32 = 4;
/// Bytes of a directory entry.
pub const ENTRY_BYTES: u64 = 24;

/// The tiles of one level of one group of planes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileGrid {
    /// Quads of the level.
    pub quads: Size,
    /// Columns and rows of tiles.
    pub tiles: Size,
    /// Columns and rows of blocks.
    pub blocks: Size,
    tile_log2: u32,
    planes: usize,
}

impl TileGrid {
    /// The grid of `group` at `level` (below the root).
    pub fn new(header: &Header, level: Level, group: usize) -> Self {
        let planes = &header.groups[group];
        let quads = header.plane_size(planes.start, level + 1);
        let cells = |size: Size, side: u32| size.rect().cells(side, side).size();
        let tile_log2 = header.tile_log2(level);
        let tiles = cells(quads, 1 << tile_log2);
        let blocks = cells(tiles, BLOCK_TILES);
        TileGrid { quads, tiles, blocks, tile_log2, planes: planes.len() }
    }

    /// Bytes of the directory.
    pub fn directory_bytes(&self) -> u64 {
        self.blocks.area() * ENTRY_BYTES
    }

    /// The quads of some tiles.
    pub fn quads_of_tiles(&self, tiles: Rect) -> Rect {
        let side = 1u32 << self.tile_log2;
        let (x, y) = (tiles.x * side, tiles.y * side);
        let right = tiles.right().saturating_mul(side).min(self.quads.width);
        let bottom = tiles.bottom().saturating_mul(side).min(self.quads.height);
        Rect { x, y, width: right - x, height: bottom - y }
    }

    /// The tiles that hold some quads.
    pub fn tiles_of_quads(&self, quads: Rect) -> Rect {
        quads.cells(1 << self.tile_log2, 1 << self.tile_log2)
    }

    /// The tiles of a block, in the order of their chunks.
    pub fn block_tiles(&self, block: (u32, u32)) -> Vec<(u32, u32)> {
        let side = BLOCK_TILES;
        let rect = Rect { x: block.0 * side, y: block.1 * side, width: side, height: side };
        let rect = rect.intersect(self.tiles.rect());
        let mut tiles: Vec<(u32, u32)> =
            (rect.y..rect.bottom()).flat_map(|y| (rect.x..rect.right()).map(move |x| (x, y))).collect();
        let order = curve_order(self.tiles);
        tiles.sort_by_cached_key(|&(x, y)| hilbert(order, x, y));
        tiles
    }

    /// All blocks in the order of their chunks.
    pub fn block_order(&self) -> Vec<(u32, u32)> {
        let Size { width, height } = self.blocks;
        let mut blocks: Vec<(u32, u32)> = (0..height).flat_map(|y| (0..width).map(move |x| (x, y))).collect();
        // Blocks are aligned squares of tiles: the curve over tiles enters each once.
        let order = curve_order(self.tiles);
        blocks.sort_by_cached_key(|&(x, y)| {
            hilbert(order, x * BLOCK_TILES, y * BLOCK_TILES) >> (2 * BLOCK_LOG2)
        });
        blocks
    }

    /// Place of a block in the directory.
    pub fn block_index(&self, (x, y): (u32, u32)) -> u64 {
        u64::from(y) * u64::from(self.blocks.width) + u64::from(x)
    }

    /// More bytes than any page of this grid can have.
    fn page_limit(&self) -> u32 {
        BLOCK_TILES * BLOCK_TILES * self.planes as u32 * 7
    }
}

/// log2 of the side of the smallest square of tiles that the curve must fill, at least a block.
fn curve_order(tiles: Size) -> u32 {
    tiles.width.max(tiles.height).next_power_of_two().ilog2().max(BLOCK_LOG2)
}

/// Position of a cell on the Hilbert curve over 2^order × 2^order cells that starts at (0, 0) and ends at
/// (2^order - 1, 0). Rectangles touch few runs of it.
pub fn hilbert(order: u32, x: u32, y: u32) -> u64 {
    let (mut x, mut y, mut index) = (x, y, 0u64);
    for bit in (0..order).rev() {
        let (right, lower) = (x >> bit & 1, y >> bit & 1);
        index = index << 2 | u64::from((3 * right) ^ lower);
        // Turn the quadrant so that the curve inside it has the standard direction.
        let mask = (1 << bit) - 1;
        (x, y) = (x & mask, y & mask);
        if lower == 0 {
            if right == 1 {
                (x, y) = (mask - x, mask - y);
            }
            (x, y) = (y, x);
        }
    }
    index
}

/// Where a block's page and chunks lie.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DirectoryEntry {
    /// Start of the page, from the start of the level's index.
    pub page_start: u64,
    /// Start of the block's chunks, from the start of the level's payload.
    pub payload_start: u64,
    /// Bytes of the page; 0 for a block without chunks.
    pub page_bytes: u32,
    /// CRC-32 of this entry's first 20 bytes and the page.
    pub crc: u32,
}

impl DirectoryEntry {
    /// Reads an entry that stands at file offset `base`.
    pub fn read(bytes: &[u8], base: u64, grid: &TileGrid, index: &Range<u64>) -> Result<Self> {
        let mut r = Reader::new(bytes, base, "8");
        let entry = DirectoryEntry {
            page_start: r.u64()?,
            payload_start: r.u64()?,
            page_bytes: r.u32()?,
            crc: r.u32()?,
        };
        if entry.page_bytes == 0 && entry != DirectoryEntry::default() {
            return r.fail("an entry without a page that is not all zero");
        }
        let end = entry.page_start.checked_add(entry.page_bytes.into());
        if entry.page_bytes > grid.page_limit() || end.is_none_or(|end| end > index.end - index.start) {
            return r.fail("a page that lies outside of its index");
        }
        Ok(entry)
    }

    fn head(&self) -> [u8; 20] {
        let mut head = [0; 20];
        head[..8].copy_from_slice(&self.page_start.to_le_bytes());
        head[8..16].copy_from_slice(&self.payload_start.to_le_bytes());
        head[16..].copy_from_slice(&self.page_bytes.to_le_bytes());
        head
    }

    /// The checksum that entry and page together should have.
    pub fn checksum(&self, page: &[u8]) -> u32 {
        let mut hasher = crc32fast::Hasher::new();
        hasher.update(&self.head());
        hasher.update(page);
        hasher.finalize()
    }

    /// Writes the entry.
    pub fn write(&self, out: &mut Vec<u8>) {
        out.extend(self.head());
        out.extend(self.crc.to_le_bytes());
    }
}

/// The bytes of one tile of one plane.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Chunk {
    /// Offset in the file.
    pub start: u64,
    /// Bytes; 0 for a tile of zeros.
    pub bytes: u32,
    /// The low half of the CRC-32 of the bytes.
    pub crc: u16,
}

impl Chunk {
    /// Where it lies in the file.
    pub fn range(&self) -> Range<u64> {
        self.start..self.start + u64::from(self.bytes)
    }

    /// The checksum of a chunk with these bytes.
    pub fn checksum(bytes: &[u8]) -> u16 {
        crc32fast::hash(bytes) as u16
    }
}

/// The chunks of one block, by tile in the block and plane in the group.
#[derive(Debug, PartialEq, Eq)]
pub struct Page {
    /// Tiles that the block covers.
    tiles: Rect,
    planes: usize,
    chunks: Vec<Chunk>,
}

impl Page {
    /// Reads the page of a block; `bytes` are empty for a block without chunks.
    pub fn read(
        bytes: &[u8],
        base: u64,
        entry: &DirectoryEntry,
        grid: &TileGrid,
        block: (u32, u32),
        payload: &Range<u64>,
    ) -> Result<Self> {
        let mut r = Reader::new(bytes, base, "8");
        let (order, planes) = (grid.block_tiles(block), grid.planes);
        let tiles = Rect::new(block.0, block.1, 1, 1);
        let tiles = Rect {
            x: tiles.x * BLOCK_TILES,
            y: tiles.y * BLOCK_TILES,
            width: BLOCK_TILES,
            height: BLOCK_TILES,
        };
        let tiles = tiles.intersect(grid.tiles.rect());
        let mut page =
            Page { tiles, planes, chunks: vec![Chunk::default(); tiles.size().area() as usize * planes] };
        if entry.page_bytes == 0 {
            return Ok(page);
        }
        if entry.checksum(bytes) != entry.crc {
            return r.fail("checksum of an index page does not fit");
        }
        let mut start = payload.start.saturating_add(entry.payload_start);
        for (x, y) in order {
            for plane in 0..planes {
                let words = r.varint()?;
                if words == 0 {
                    continue;
                }
                let crc = r.u16()?;
                let bytes = words
                    .checked_mul(2)
                    .filter(|&b| payload.end.checked_sub(start).is_some_and(|rest| u64::from(b) <= rest));
                let Some(bytes) = bytes else {
                    return r.fail("a chunk that lies outside of its level");
                };
                let at = page.place(x, y, plane);
                page.chunks[at] = Chunk { start, bytes, crc };
                start += u64::from(bytes);
            }
        }
        if !r.is_empty() {
            return r.fail("bytes behind the last chunk of an index page");
        }
        Ok(page)
    }

    fn place(&self, x: u32, y: u32, plane: usize) -> usize {
        let tile = (y - self.tiles.y) as usize * self.tiles.width as usize + (x - self.tiles.x) as usize;
        tile * self.planes + plane
    }

    /// The chunk of a tile of the block; `plane` counts within the group.
    pub fn chunk(&self, x: u32, y: u32, plane: usize) -> Chunk {
        self.chunks[self.place(x, y, plane)]
    }
}

/// Appends a chunk's size and checksum to a page.
pub fn put_chunk(page: &mut Vec<u8>, bytes: u32, crc: u16) {
    put_varint(page, bytes / 2);
    if bytes > 0 {
        page.extend(crc.to_le_bytes());
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_curve_visits_every_cell_and_steps_to_neighbours() {
        for order in [1, 2, 5] {
            let side = 1u32 << order;
            let mut cells: Vec<_> = (0..side).flat_map(|y| (0..side).map(move |x| (x, y))).collect();
            cells.sort_by_key(|&(x, y)| hilbert(order, x, y));
            assert_eq!(cells[0], (0, 0));
            assert_eq!(cells[cells.len() - 1], (side - 1, 0));
            for (i, pair) in cells.windows(2).enumerate() {
                let ((ax, ay), (bx, by)) = (pair[0], pair[1]);
                assert_eq!(ax.abs_diff(bx) + ay.abs_diff(by), 1, "step {i} of order {order}");
                assert_eq!(hilbert(order, ax, ay), i as u64);
            }
        }
    }

    #[test]
    fn rectangles_touch_fewer_runs_than_in_row_or_morton_order() {
        let runs = |key: &dyn Fn(u32, u32) -> u64| {
            let mut total = 0;
            for (x0, y0) in (0..40).flat_map(|x| (0..50).map(move |y| (x, y))) {
                let mut keys: Vec<u64> = (y0..y0 + 9)
                    .flat_map(|y| (x0..x0 + 16).map(move |x| (x, y)))
                    .map(|(x, y)| key(x, y))
                    .collect();
                keys.sort_unstable();
                total += 1 + keys.windows(2).filter(|w| w[1] != w[0] + 1).count();
            }
            total
        };
        let spread = |v: u32| (0..6).fold(0, |sum, bit| sum | u64::from(v >> bit & 1) << (2 * bit));
        let (rows, morton) = (runs(&|x, y| u64::from(y * 64 + x)), runs(&|x, y| spread(x) | spread(y) << 1));
        let curve = runs(&|x, y| hilbert(6, x, y));
        assert!(
            curve * 10 < morton * 9 && curve < rows * 3 / 2,
            "{curve} runs; Morton {morton}, rows {rows}"
        );
    }

    #[test]
    fn entries_read_back() {
        let entry = DirectoryEntry { page_start: 24, payload_start: 1 << 40, page_bytes: 9, crc: 7 };
        let mut bytes = Vec::new();
        entry.write(&mut bytes);
        assert_eq!(bytes.len() as u64, ENTRY_BYTES);
        let size = Size::new(64, 64);
        let grid = TileGrid {
            quads: size,
            tiles: Size::new(1, 1),
            blocks: Size::new(1, 1),
            tile_log2: 6,
            planes: 3,
        };
        assert_eq!(DirectoryEntry::read(&bytes, 0, &grid, &(100..133)).unwrap(), entry);
        assert!(DirectoryEntry::read(&bytes, 0, &grid, &(100..132)).is_err());
    }
}
