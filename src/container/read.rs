//! Reads head and index as far as they are needed. It does no input itself: it says which bytes it wants next.

use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;

use bytes::Bytes;

use super::header::{BackItem, BackKind, FIRST_READ, Header};
use super::index::{DirectoryEntry, ENTRY_BYTES, Page, TileGrid};
use crate::decode::plan::{LevelPlan, Plan, Request};
use crate::error::{Error, Limits, Result};
use crate::geom::{Level, Rect};
use crate::image::Metadata;
use crate::stream::{SparseBytes, coalesce};

/// Either a result, or the byte ranges that are needed before there is one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Step<T> {
    /// Done.
    Ready(T),
    /// Fetch these ranges, pass them to `supply`, and call again.
    Need(Vec<Range<u64>>),
}

/// Parts of a directory nearer than this are read in one go.
const DIRECTORY_GAP: u64 = 1 << 10;

/// An open file: its head, and the parts of its index seen so far.
#[derive(Debug)]
pub struct Index {
    header: Header,
    limits: Limits,
    store: SparseBytes,
    pages: HashMap<(Level, usize, u64), Arc<Page>>,
}

/// A file being opened.
#[derive(Debug)]
pub struct Opening {
    store: SparseBytes,
    limits: Limits,
}

impl Opening {
    /// Nothing read yet.
    pub fn new(limits: Limits) -> Self {
        Opening { store: SparseBytes::new(), limits }
    }

    /// Takes the bytes of a range that [`Step::Need`] named; fewer than asked for only where the file ends.
    pub fn supply(&mut self, range: &Range<u64>, bytes: Bytes) {
        self.store.insert(range, bytes);
    }

    /// One step further.
    ///
    /// # Errors
    /// Those of a head that is broken, unsupported or larger than the limits.
    pub fn step(&mut self) -> Result<Step<Index>> {
        let first = 0..FIRST_READ;
        let start = match (self.store.get(&first), self.store.end()) {
            (Some(bytes), _) => bytes,
            (None, Some(end)) => self.store.get(&(0..end.min(FIRST_READ))).unwrap_or_default(),
            (None, None) => return Ok(Step::Need(vec![first])),
        };
        let length = Header::head_length(&start)?;
        Limits::check("the length of the head", length.into(), self.limits.head)?;
        let head = 0..u64::from(length);
        let Some(bytes) = self.store.get(&head) else {
            let rest = start.len() as u64..head.end;
            return need(&self.store, [rest].to_vec(), None);
        };
        let header = Header::read(&bytes, &self.limits)?;
        let store = std::mem::take(&mut self.store);
        Ok(Step::Ready(Index { header, limits: self.limits, store, pages: HashMap::new() }))
    }
}

/// Asks for ranges, unless the file is known to end before them.
fn need<T>(store: &SparseBytes, ranges: Vec<Range<u64>>, header: Option<&Header>) -> Result<Step<T>> {
    let needed = ranges.iter().map(|r| r.end).max().unwrap_or(0);
    match store.end() {
        Some(end) if end < needed => {
            Err(Error::Truncated { end, needed, available: header.and_then(|h| h.available(end)) })
        }
        _ => Ok(Step::Need(ranges)),
    }
}

impl Header {
    /// The finest LoQ that a file cut at `end` still decodes to.
    pub fn available(&self, end: u64) -> Option<Level> {
        (0..=self.levels).find(|&k| self.entries[usize::from(k)].prefix <= end)
    }
}

impl Index {
    /// The first bytes of the file, as far as the first read brought them.
    pub fn first_bytes(&self) -> Bytes {
        let end = self.store.end().unwrap_or(FIRST_READ).min(FIRST_READ);
        self.store.get(&(0..end)).unwrap_or_default()
    }

    /// The head.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// What the caller allows.
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Takes the bytes of a range that [`Step::Need`] named; fewer than asked for only where the file ends.
    pub fn supply(&mut self, range: &Range<u64>, bytes: Bytes) {
        self.store.insert(range, bytes);
    }

    /// Plans a decode, or asks for the parts of the index that this takes.
    ///
    /// # Errors
    /// As [`Plan::geometry`], and those of a broken index.
    pub fn plan(&mut self, request: &Request) -> Result<Step<Plan>> {
        let mut plan = Plan::geometry(&self.header, request, &self.limits)?;
        let mut missing = Vec::new();
        for group in &plan.groups {
            for level in &group.levels {
                self.load_pages(level.level, group.group, level.tiles, &mut missing)?;
            }
        }
        if !missing.is_empty() {
            return need(&self.store, coalesce(missing, DIRECTORY_GAP), Some(&self.header));
        }
        for group in &mut plan.groups {
            let first = self.header.groups[group.group].start;
            for level in &mut group.levels {
                self.fill_chunks(level, group.group, &group.planes, first);
            }
        }
        Ok(Step::Ready(plan))
    }

    /// ICC, Exif and XMP, and what the head says, or a request for their bytes.
    ///
    /// # Errors
    /// [`Error::Format`] where a checksum does not fit.
    pub fn metadata(&self) -> Result<Step<Metadata>> {
        let header = &self.header;
        let mut metadata = Metadata {
            orientation: header.orientation,
            cicp: header.cicp,
            pixel_size: header.pixel_size,
            ..Metadata::default()
        };
        let start = header.root_start() + header.root_bytes();
        let all = start..start + header.back.iter().map(|i| u64::from(i.length)).sum::<u64>();
        Limits::check("the length of the metadata", all.end - all.start, self.limits.head)?;
        let Some(bytes) = self.store.get(&all) else {
            return need(&self.store, vec![all], Some(header));
        };
        let mut at = 0;
        for &BackItem { kind, length, crc } in &header.back {
            let item = bytes.slice(at..at + length as usize);
            if crc32fast::hash(&item) != crc {
                return Err(Error::format(
                    start + at as u64,
                    "6",
                    format!("checksum of {kind:?} does not fit"),
                ));
            }
            at += length as usize;
            match kind {
                BackKind::Icc => metadata.icc = Some(item.to_vec()),
                BackKind::Exif => metadata.exif = Some(item.to_vec()),
                BackKind::Xmp => metadata.xmp = Some(item.to_vec()),
                BackKind::Other(_) => {}
            }
        }
        Ok(Step::Ready(metadata))
    }

    /// Makes the pages of `tiles` ready as far as their bytes are here; adds what is missing to `missing`.
    fn load_pages(
        &mut self,
        level: Level,
        group: usize,
        tiles: Rect,
        missing: &mut Vec<Range<u64>>,
    ) -> Result<()> {
        let header = &self.header;
        let grid = TileGrid::new(header, level, group);
        let index_start = header.index_start(level);
        let index = index_start..index_start + header.entries[usize::from(level)].index_bytes;
        let earlier = (0..group).map(|g| TileGrid::new(header, level, g).directory_bytes());
        let directory = index_start + earlier.sum::<u64>();
        let payload = header.payload(level);
        let side = super::index::BLOCK_TILES;
        let blocks = tiles.cells(side, side);
        for block in (blocks.y..blocks.bottom()).flat_map(|y| (blocks.x..blocks.right()).map(move |x| (x, y)))
        {
            let number = grid.block_index(block);
            if self.pages.contains_key(&(level, group, number)) {
                continue;
            }
            let at = directory + number * ENTRY_BYTES;
            let entry = at..at + ENTRY_BYTES;
            let Some(bytes) = self.store.get(&entry) else {
                missing.push(entry);
                continue;
            };
            let entry = DirectoryEntry::read(&bytes, at, &grid, &index)?;
            let start = index_start + entry.page_start;
            let range = start..start + u64::from(entry.page_bytes);
            match self.store.get(&range) {
                Some(bytes) => {
                    let page = Page::read(&bytes, start, &entry, &grid, block, &payload)?;
                    self.pages.insert((level, group, number), Arc::new(page));
                }
                None => missing.push(range),
            }
        }
        Ok(())
    }

    fn fill_chunks(&self, level: &mut LevelPlan, group: usize, planes: &[usize], first: usize) {
        let grid = TileGrid::new(&self.header, level.level, group);
        let side = super::index::BLOCK_TILES;
        let tiles = level.tiles;
        for (x, y) in (tiles.y..tiles.bottom()).flat_map(|y| (tiles.x..tiles.right()).map(move |x| (x, y))) {
            let number = grid.block_index((x / side, y / side));
            let page = &self.pages[&(level.level, group, number)];
            level.chunks.extend(planes.iter().map(|p| page.chunk(x, y, p - first)));
        }
    }
}
