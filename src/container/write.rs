//! Puts a file together from its parts, in the one order the SPEC allows.

use std::io::{self, Write};

use bytes::Bytes;

use super::head;
use super::header::{BackItem, BackKind, Header, LevelEntry};
use super::index::{Chunk, DirectoryEntry, TileGrid, put_chunk};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::image::Metadata;

/// Indices of levels, from the root on, stand in front while together they take no more than this: the first read of a
/// reader then brings them too.
const FRONT_INDEX_BYTES: u64 = 8 << 10;

/// The chunks of one level of one group: by tile, row by row, then by plane of the group.
pub type GroupChunks = Vec<Bytes>;

/// Everything a file is made of.
pub struct Parts {
    /// The head; lengths, layout, back items and identity are filled in by [`Parts::finish`].
    pub header: Header,
    /// Root samples, plane by plane.
    pub root: Vec<Grid<i32>>,
    /// `[level][group]`, level 0 first.
    pub chunks: Vec<Vec<GroupChunks>>,
    /// ICC, Exif and XMP are taken from here.
    pub metadata: Metadata,
}

/// A file ready to be written.
pub struct File {
    pieces: Vec<Bytes>,
}

impl File {
    /// Bytes of the file.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|piece| piece.len() as u64).sum()
    }

    /// Writes the file.
    pub fn write_to(&self, out: &mut impl Write) -> io::Result<()> {
        self.pieces.iter().try_for_each(|piece| out.write_all(piece))
    }

    /// The file as one vector.
    pub fn into_vec(self) -> Vec<u8> {
        let mut out = Vec::with_capacity(self.bytes() as usize);
        self.pieces.iter().for_each(|piece| out.extend_from_slice(piece));
        out
    }
}

impl Parts {
    /// Lays the file out.
    pub fn finish(mut self) -> Result<File> {
        let levels = self.header.levels;
        let (indices, payloads): (Vec<_>, Vec<_>) =
            (0..levels).map(|k| level_pieces(&self.header, k, &self.chunks[usize::from(k)])).unzip();
        let root = self.root_bytes();
        let back = self.back_items()?;

        let header = &mut self.header;
        header.front_levels = 0;
        let mut front_bytes = 0;
        for index in indices.iter().rev() {
            front_bytes += index.len() as u64;
            if front_bytes > FRONT_INDEX_BYTES {
                break;
            }
            header.front_levels += 1;
        }
        header.entries = vec![LevelEntry::default(); usize::from(levels) + 1];
        // The head's length does not depend on the numbers in it.
        header.head_bytes = head::write(header).len() as u32;
        for (entry, index) in header.entries.iter_mut().zip(&indices) {
            entry.index_bytes = index.len() as u64;
        }
        let back_bytes: u64 = back.iter().map(|item| item.len() as u64).sum();
        let mut end = header.root_start() + root.len() as u64 + back_bytes;
        header.entries[usize::from(levels)].prefix = end;
        for level in (0..levels).rev() {
            let k = usize::from(level);
            if !header.in_front(level) {
                end += indices[k].len() as u64;
            }
            end += payloads[k].iter().map(|piece| piece.len() as u64).sum::<u64>();
            header.entries[k].prefix = end;
        }
        header.file_length = end;

        let mut pieces = vec![Bytes::new()];
        let in_front = |k: usize| header.in_front(k as u8);
        let front = (0..indices.len()).rev().filter(|&k| in_front(k));
        pieces.extend(front.map(|k| indices[k].clone()));
        let root_piece = pieces.len();
        pieces.push(root);
        pieces.extend(back);
        for (k, payload) in payloads.into_iter().enumerate().rev() {
            if !in_front(k) {
                pieces.push(indices[k].clone());
            }
            pieces.extend(payload);
        }
        header.content_id = content_id(header, &pieces, root_piece);
        pieces[0] = head::write(header).into();
        Ok(File { pieces })
    }

    fn root_bytes(&self) -> Bytes {
        let mut out = Vec::new();
        for (plane, grid) in self.root.iter().enumerate() {
            let bytes = self.header.root_sample_bytes(plane);
            grid.data().iter().for_each(|v| out.extend(&v.to_le_bytes()[..bytes]));
        }
        let crc = crc32fast::hash(&out);
        out.extend(crc.to_le_bytes());
        out.into()
    }

    fn back_items(&mut self) -> Result<Vec<Bytes>> {
        self.header.back.clear();
        let mut out = Vec::new();
        for kind in BackKind::KNOWN {
            let item = match kind {
                BackKind::Icc => self.metadata.icc.take(),
                BackKind::Exif => self.metadata.exif.take(),
                BackKind::Xmp => self.metadata.xmp.take(),
                BackKind::Other(_) => None,
            };
            let Some(item) = item else { continue };
            let Ok(length) = u32::try_from(item.len()) else {
                return Err(Error::Request(format!("{kind:?} metadata of {} bytes", item.len())));
            };
            self.header.back.push(BackItem { kind, length, crc: crc32fast::hash(&item) });
            out.push(item.into());
        }
        Ok(out)
    }
}

/// The index of a level, and its chunks in file order.
fn level_pieces(header: &Header, level: u8, groups: &[GroupChunks]) -> (Bytes, Vec<Bytes>) {
    let grids: Vec<TileGrid> = (0..groups.len()).map(|g| TileGrid::new(header, level, g)).collect();
    let directories: u64 = grids.iter().map(TileGrid::directory_bytes).sum();
    let (mut pages, mut payload, mut payload_bytes) = (Vec::new(), Vec::new(), 0);
    let mut directory = Vec::new();
    for ((grid, chunks), planes) in grids.iter().zip(groups).zip(&header.groups) {
        let mut entries = vec![DirectoryEntry::default(); grid.blocks.area() as usize];
        for block in grid.block_order() {
            let (mut page, payload_start) = (Vec::new(), payload_bytes);
            for (x, y) in grid.block_tiles(block) {
                let tile = y as usize * grid.tiles.width as usize + x as usize;
                for chunk in &chunks[tile * planes.len()..][..planes.len()] {
                    put_chunk(&mut page, chunk.len() as u32, Chunk::checksum(chunk));
                    payload_bytes += chunk.len() as u64;
                    if !chunk.is_empty() {
                        payload.push(chunk.clone());
                    }
                }
            }
            if payload_bytes == payload_start {
                continue;
            }
            let page_start = directories + pages.len() as u64;
            let mut entry =
                DirectoryEntry { page_start, payload_start, page_bytes: page.len() as u32, crc: 0 };
            entry.crc = entry.checksum(&page);
            entries[grid.block_index(block) as usize] = entry;
            pages.append(&mut page);
        }
        entries.iter().for_each(|entry| entry.write(&mut directory));
    }
    directory.append(&mut pages);
    (directory.into(), payload)
}

/// CRC-32 of the head (with identity 0) and of everything behind it, both without the checksums at their ends: the CRC
/// of bytes with their own CRC is always the same.
fn content_id(header: &mut Header, pieces: &[Bytes], root: usize) -> u64 {
    header.content_id = 0;
    let bare = |bytes: &[u8]| crc32fast::hash(&bytes[..bytes.len() - 4]);
    let mut body = crc32fast::Hasher::new();
    for (i, piece) in pieces.iter().enumerate() {
        body.update(if i == root { &piece[..piece.len() - 4] } else { piece });
    }
    u64::from(bare(&head::write(header))) << 32 | u64::from(body.finalize())
}

#[cfg(test)]
mod tests {
    use crate::stream::MemorySource;
    use crate::{Decoder, EncodeOptions, Encoder, Image, Limits, PlaneKind, Size};
    use std::collections::HashSet;

    #[test]
    fn pictures_that_differ_have_different_identities() {
        let id = |size: Size, value: u8| {
            let pixels = vec![value; size.area() as usize];
            let image = Image::from_interleaved(size, &[PlaneKind::Gray], 8, &pixels).unwrap();
            let file = Encoder::new(EncodeOptions::lossless()).encode(&image).unwrap();
            Decoder::open(MemorySource::new(file), Limits::default()).unwrap().header().content_id
        };
        let sizes = [(1, 1), (8, 8), (9, 5), (300, 200)].map(|(w, h)| Size::new(w, h));
        let ids: Vec<u64> = sizes.iter().flat_map(|&s| [0, 30, 77, 255].map(|v| id(s, v))).collect();
        assert_eq!(ids.iter().map(|id| id >> 32).collect::<HashSet<_>>().len(), sizes.len());
        assert_eq!(ids.iter().collect::<HashSet<_>>().len(), ids.len(), "{ids:x?}");
    }
}
