//! Heads of files that no encoder would write, put together byte by byte: lengths that add up, whatever they claim.

use stepwell::container::header::{MAGIC, VERSION, levels_for};
use stepwell::{Rect, Size};

/// What a head claims. Every plane is a group of its own, 8 bits deep.
#[derive(Clone, Debug)]
pub struct Claims {
    pub canvas: Size,
    pub window: Rect,
    pub planes: u8,
    pub subsampling: (u8, u8),
    /// At every level.
    pub tile_log2: u8,
    /// Bytes of each level's index beyond its directory.
    pub pages: u64,
    /// Bytes of each level's payload.
    pub payload: u64,
    /// Levels with their index in front.
    pub front_levels: u8,
    /// Metadata behind the root: tags and lengths.
    pub back: Vec<(u8, u32)>,
}

impl Claims {
    pub fn new(width: u32, height: u32) -> Self {
        let canvas = Size::new(width, height);
        Claims {
            canvas,
            window: canvas.rect(),
            planes: 1,
            subsampling: (1, 1),
            tile_log2: 6,
            pages: 0,
            payload: 0,
            front_levels: 0,
            back: Vec::new(),
        }
    }

    pub fn levels(&self) -> u8 {
        levels_for(self.canvas)
    }

    fn plane_size(&self, level: u8) -> Size {
        let side = |all: u32, factor: u8| all.div_ceil(factor.into());
        let full = Size::new(
            side(self.canvas.width, self.subsampling.0),
            side(self.canvas.height, self.subsampling.1),
        );
        full.at_level(level)
    }

    /// A directory entry stands for 16 × 16 tiles.
    fn index_bytes(&self, level: u8) -> u64 {
        let quads = self.plane_size(level + 1);
        let blocks = |quads: u32| u64::from(quads.div_ceil(16 << self.tile_log2));
        24 * u64::from(self.planes) * blocks(quads.width) * blocks(quads.height) + self.pages
    }

    /// The head, its checksum fitting.
    pub fn head(&self) -> Vec<u8> {
        let levels = self.levels();
        let plane_table = 6 * usize::from(self.planes);
        let loq_table = 8 + 16 * usize::from(levels);
        let metadata = 2 + 9 * self.back.len();
        let params = 6 * usize::from(self.planes) * usize::from(levels);
        let head_bytes = 64 + plane_table + loq_table + metadata + params + 4;

        let in_front = |level: u8| levels - level <= self.front_levels;
        let front: u64 = (0..levels).filter(|&k| in_front(k)).map(|k| self.index_bytes(k)).sum();
        let root = u64::from(self.planes) * self.plane_size(levels).area() * 2 + 4;
        let back: u64 = self.back.iter().map(|&(_, length)| u64::from(length)).sum();
        let mut prefixes = vec![head_bytes as u64 + front + root + back];
        for level in (0..levels).rev() {
            let index = if in_front(level) { 0 } else { self.index_bytes(level) };
            prefixes.push(prefixes[prefixes.len() - 1] + index + self.payload);
        }

        let mut out = MAGIC.to_vec();
        out.extend(VERSION.to_le_bytes());
        out.extend([0; 2]);
        out.extend((head_bytes as u32).to_le_bytes());
        out.extend(prefixes[prefixes.len() - 1].to_le_bytes());
        out.extend([0; 8]);
        let Rect { x, y, width, height } = self.window;
        for v in [self.canvas.width, self.canvas.height, x, y, width, height] {
            out.extend(v.to_le_bytes());
        }
        out.extend([self.planes, levels, self.tile_log2 * 0x11, 0, 0, 0, self.front_levels, 1]);
        (0..self.planes).for_each(|_| out.extend([1, 8, 0, self.subsampling.0, self.subsampling.1, 0]));
        out.extend(prefixes[0].to_le_bytes());
        for level in (0..levels).rev() {
            out.extend(prefixes[usize::from(levels - level)].to_le_bytes());
            out.extend(self.index_bytes(level).to_le_bytes());
        }
        out.extend([0, self.back.len() as u8]);
        for &(tag, length) in &self.back {
            out.push(tag);
            out.extend(length.to_le_bytes());
            out.extend([0; 4]);
        }
        // Two-step transform, no predictor, rANS tiles, sets 0, no flags.
        (0..u32::from(levels) * u32::from(self.planes)).for_each(|_| out.extend([1, 0, 1, 0, 0, 0]));
        let crc = crc32fast::hash(&out);
        out.extend(crc.to_le_bytes());
        assert_eq!(out.len(), head_bytes);
        out
    }

    /// The head, and zeros behind it: root samples, empty blocks. The root's checksum fits.
    pub fn file(&self, length: usize) -> Vec<u8> {
        let mut out = self.head();
        out.resize(out.len().max(length), 0);
        crate::repair::all(&mut out);
        out
    }
}
