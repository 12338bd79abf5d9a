//! The head of a file: fixed header, plane table, LoQ table, metadata, level parameters (SPEC sections 3 to 7).

use std::ops::Range;

use super::params::LevelParams;
use crate::colour::ColourTransform;
use crate::error::{Error, Result};
use crate::geom::{Level, Rect, Size};
use crate::image::{Cicp, PlaneInfo};

/// The first bytes of every file. A text-mode copy damages them.
pub const MAGIC: [u8; 8] = *b"\x89SWL\r\n\x1a\n";
/// The version this code writes, and the only one it reads. 0 is not frozen.
pub const VERSION: u16 = 0;
/// Bytes of the fixed header.
pub const FIXED_BYTES: usize = 64;
/// What a reader fetches first: the whole head of most files, their root level and often more.
pub const FIRST_READ: u64 = 16 << 10;
/// The root level has at most so many columns and rows.
pub const ROOT_SIDE: u32 = 8;
/// Fraction bits a lossy file may have.
pub const MAX_FRACTION_BITS: u32 = 8;

/// Metadata that stands behind the root level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BackKind {
    /// ICC profile.
    Icc,
    /// Exif block.
    Exif,
    /// XMP packet.
    Xmp,
    /// Something of a later version, to be passed over.
    Other(u8),
}

impl BackKind {
    /// Those that this version knows, in file order.
    pub(super) const KNOWN: [BackKind; 3] = [BackKind::Icc, BackKind::Exif, BackKind::Xmp];

    pub(super) fn tag(self) -> u8 {
        match self {
            BackKind::Icc => 16,
            BackKind::Exif => 17,
            BackKind::Xmp => 18,
            BackKind::Other(tag) => tag,
        }
    }
}

/// An item of metadata behind the root level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BackItem {
    /// What it is.
    pub kind: BackKind,
    /// Its bytes.
    pub length: u32,
    /// CRC-32 of its bytes.
    pub crc: u32,
}

/// What the LoQ table says of a level.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LevelEntry {
    /// Bytes from the start of the file that decode this LoQ.
    pub prefix: u64,
    /// Bytes of this level's index (0 for the root).
    pub index_bytes: u64,
}

/// Everything in front of the index.
#[derive(Clone, Debug, PartialEq)]
pub struct Header {
    /// Format version.
    pub version: u16,
    /// Bytes of this head.
    pub head_bytes: u32,
    /// Bytes of the whole file.
    pub file_length: u64,
    /// Identity of the contents, for caches.
    pub content_id: u64,
    /// Size of the coordinate system that tiles and levels refer to.
    pub canvas: Size,
    /// The part of the canvas that is the picture: all of it unless the file is an extract.
    pub window: Rect,
    /// The root is this LoQ.
    pub levels: Level,
    /// Tiles have 2^this quads a side: those of LoQ 0, and those of all other levels.
    pub tile_log2: [u32; 2],
    /// Colour transform.
    pub colour: ColourTransform,
    /// The first of the three planes it applies to.
    pub colour_first: usize,
    /// Fraction bits of coded samples.
    pub fraction_bits: u32,
    /// So many levels, counted from the root, have their index in front of the root samples.
    pub front_levels: Level,
    /// Exif orientation.
    pub orientation: u8,
    /// The planes.
    pub planes: Vec<PlaneInfo>,
    /// Runs of planes whose tiles stand next to each other.
    pub groups: Vec<Range<usize>>,
    /// By LoQ, 0 first.
    pub entries: Vec<LevelEntry>,
    /// Which colours the numbers stand for.
    pub cicp: Option<Cicp>,
    /// Metres a pixel covers.
    pub pixel_size: Option<(f64, f64)>,
    /// Metadata behind the root.
    pub back: Vec<BackItem>,
    /// `[level][plane]`, level 0 first.
    pub params: Vec<Vec<LevelParams>>,
}

/// Halvings until both sides are at most [`ROOT_SIDE`].
pub fn levels_for(canvas: Size) -> Level {
    (0..=32)
        .find(|&n| {
            let s = canvas.at_level(n);
            s.width.max(s.height) <= ROOT_SIDE
        })
        .unwrap_or(32)
}

impl Header {
    /// The group a plane belongs to.
    pub fn group_of(&self, plane: usize) -> usize {
        self.groups.iter().position(|g| g.contains(&plane)).unwrap_or(0)
    }

    /// Bits of a plane's coded samples, fraction bits included (the colour transform's extra bit is not).
    pub fn coded_bits(&self, plane: usize) -> u32 {
        u32::from(self.planes[plane].depth) + self.fraction_bits
    }

    /// log2 of the quads that tiles of a level have a side.
    pub fn tile_log2(&self, level: Level) -> u32 {
        self.tile_log2[usize::from(level > 0)]
    }

    /// Size of a plane at a LoQ.
    pub fn plane_size(&self, plane: usize, level: Level) -> Size {
        self.planes[plane].size(self.canvas).at_level(level)
    }

    /// Bytes that a root sample of a plane takes.
    pub fn root_sample_bytes(&self, plane: usize) -> usize {
        // One bit for the sign or the colour transform.
        if self.coded_bits(plane) < 16 { 2 } else { 4 }
    }

    /// Bytes of the root samples with their checksum.
    pub fn root_bytes(&self) -> u64 {
        let plane = |p| self.plane_size(p, self.levels).area() * self.root_sample_bytes(p) as u64;
        (0..self.planes.len()).map(plane).sum::<u64>() + 4
    }

    /// Where the index of a level (below the root) starts.
    pub fn index_start(&self, level: Level) -> u64 {
        if self.in_front(level) {
            let earlier = (level + 1..self.levels).map(|k| self.entry(k).index_bytes);
            u64::from(self.head_bytes) + earlier.sum::<u64>()
        } else {
            self.entry(level + 1).prefix
        }
    }

    /// Whether a level's index stands in front of the root samples.
    pub fn in_front(&self, level: Level) -> bool {
        self.levels - level <= self.front_levels
    }

    /// Where the chunks of a level (below the root) lie.
    pub fn payload(&self, level: Level) -> Range<u64> {
        let own_index = if self.in_front(level) { 0 } else { self.entry(level).index_bytes };
        self.entry(level + 1).prefix + own_index..self.entry(level).prefix
    }

    /// Where the root samples start.
    pub fn root_start(&self) -> u64 {
        let front = (0..self.levels).filter(|&k| self.in_front(k)).map(|k| self.entry(k).index_bytes);
        u64::from(self.head_bytes) + front.sum::<u64>()
    }

    fn entry(&self, level: Level) -> &LevelEntry {
        &self.entries[usize::from(level)]
    }

    /// The lengths in the LoQ table must add up: everything lies where the SPEC says, without gaps or overlaps.
    pub(super) fn check_layout(&self) -> Result<()> {
        let bad = |what: String| Err(Error::format(FIXED_BYTES as u64, "5", what));
        let index: Option<u64> =
            self.entries.iter().try_fold(0, |sum: u64, e| sum.checked_add(e.index_bytes));
        if index.is_none_or(|sum| sum > self.file_length) {
            return bad("the index is longer than the file".into());
        }
        let back: u64 = self.back.iter().map(|item| u64::from(item.length)).sum();
        let root_end = self.root_start() + self.root_bytes() + back;
        if self.entry(self.levels).prefix != root_end {
            return bad(format!("the root ends at {root_end}, not {}", self.entry(self.levels).prefix));
        }
        for level in (0..self.levels).rev() {
            let payload = self.payload(level);
            if payload.start > payload.end {
                return bad(format!("LoQ {level} ends before it begins"));
            }
            let groups = self.groups.len();
            let least: u64 =
                (0..groups).map(|g| super::index::TileGrid::new(self, level, g).directory_bytes()).sum();
            if self.entry(level).index_bytes < least {
                return bad(format!("the index of LoQ {level} is shorter than its directory"));
            }
        }
        if self.entry(0).prefix != self.file_length {
            return bad("LoQ 0 does not end with the file".into());
        }
        Ok(())
    }
}
