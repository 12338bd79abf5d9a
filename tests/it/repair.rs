//! Makes checksums fit again after bytes of a file were changed, so that tests and fuzzers get past them.

use std::ops::Range;

use stepwell::Limits;
use stepwell::container::Header;
use stepwell::container::header::FIXED_BYTES;
use stepwell::container::index::{Chunk, DirectoryEntry, ENTRY_BYTES, TileGrid};

/// Directory entries of a level that are looked at: broken heads can speak of any number.
const MOST_ENTRIES: u64 = 4096;

/// Makes every checksum fit that can be found: of the head, the root samples, metadata, pages and chunks.
pub fn all(file: &mut [u8]) {
    head(file);
    let Some(header) = read_head(file) else { return };
    let root_start = header.root_start();
    if let Some(range) = slice(file, root_start..root_start + header.root_bytes() - 4) {
        put_crc(file, range);
    }
    metadata(file, &header);
    for level in 0..header.levels {
        for group in 0..header.groups.len() {
            directory(file, &header, level, group);
        }
    }
    head(file);
}

/// Makes the head's own checksum fit.
pub fn head(file: &mut [u8]) {
    let length = file.get(12..16).map_or(0, |b| u32::from_le_bytes([b[0], b[1], b[2], b[3]]));
    if length as usize >= FIXED_BYTES + 4
        && let Some(range) = slice(file, 0..u64::from(length) - 4)
    {
        put_crc(file, range);
    }
}

/// The head, if it can be read.
pub fn read_head(file: &[u8]) -> Option<Header> {
    let length = Header::head_length(file).ok()?;
    Header::read(file.get(..length as usize)?, &Limits::NONE).ok()
}

fn slice(file: &[u8], range: Range<u64>) -> Option<Range<usize>> {
    let range = usize::try_from(range.start).ok()?..usize::try_from(range.end).ok()?;
    file.get(range.clone()).map(|_| range)
}

/// Writes the CRC-32 of a range behind it.
fn put_crc(file: &mut [u8], range: Range<usize>) {
    let crc = crc32fast::hash(&file[range.clone()]).to_le_bytes();
    if let Some(place) = file.get_mut(range.end..range.end + 4) {
        place.copy_from_slice(&crc);
    }
}

fn metadata(file: &mut [u8], header: &Header) {
    // Behind plane table and LoQ table stand the items of the head: their number, then tag, length and bytes of each.
    let planes: usize = header.planes.iter().map(|p| 6 + p.name.len()).sum();
    let mut at = FIXED_BYTES + planes + header.entries.len() * 16 - 8;
    let items = file[at];
    at += 1;
    for _ in 0..items {
        at += 2 + usize::from(file[at + 1]);
    }
    // Then those behind the root: their number, then tag, length and checksum of each.
    at += 1;
    let mut start = header.root_start() + header.root_bytes();
    for item in &header.back {
        let end = start + u64::from(item.length);
        if let Some(range) = slice(file, start..end) {
            let crc = crc32fast::hash(&file[range]).to_le_bytes();
            file[at + 5..at + 9].copy_from_slice(&crc);
        }
        (at, start) = (at + 9, end);
    }
}

fn directory(file: &mut [u8], header: &Header, level: u8, group: usize) {
    let grid = TileGrid::new(header, level, group);
    let start = header.index_start(level);
    let index = start..start + header.entries[usize::from(level)].index_bytes;
    let earlier = (0..group).map(|g| TileGrid::new(header, level, g).directory_bytes()).sum::<u64>();
    for number in 0..grid.blocks.area().min(MOST_ENTRIES) {
        let at = start + earlier + number * ENTRY_BYTES;
        let Some(place) = slice(file, at..at + ENTRY_BYTES) else { return };
        let Ok(entry) = DirectoryEntry::read(&file[place.clone()], at, &grid, &index) else { continue };
        let page = start + entry.page_start;
        if entry.page_bytes == 0 {
            continue;
        }
        let Some(page) = slice(file, page..page + u64::from(entry.page_bytes)) else { continue };
        chunks(file, page.clone(), header.payload(level).start.saturating_add(entry.payload_start));
        let crc = entry.checksum(&file[page]).to_le_bytes();
        file[place.end - 4..place.end].copy_from_slice(&crc);
    }
}

/// The checksums of a page's chunks, the first of which starts at `start`.
fn chunks(file: &mut [u8], page: Range<usize>, mut start: u64) {
    let mut at = page.start;
    while at < page.end {
        let (mut words, mut shift) = (0u64, 0);
        loop {
            let byte = file[at];
            words |= u64::from(byte & 127) << shift;
            (at, shift) = (at + 1, shift + 7);
            if byte < 128 || at == page.end || shift > 28 {
                break;
            }
        }
        if words == 0 {
            continue;
        }
        let end = start.saturating_add(2 * words);
        if at + 2 > page.end {
            return;
        }
        if let Some(chunk) = slice(file, start..end) {
            let crc = Chunk::checksum(&file[chunk]).to_le_bytes();
            file[at..at + 2].copy_from_slice(&crc);
        }
        (at, start) = (at + 2, end);
    }
}
