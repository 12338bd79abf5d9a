//! The work of a batch as tables: a pure function of what the packets say.

use super::packet::Packet;
use crate::colour::gpu::{kept_records, pixel_word};
use crate::decode::output::output_for;
use crate::decode::plan::{GroupPlan, LevelPlan};
use crate::decode::tile::tile_shape;
use crate::entropy::TileShape;
use crate::entropy::gpu::{Path, Work, model_record};
use crate::geom::{Rect, Size};
use crate::gpu::abi::{self, CHUNK_EMPTY, shape_word};
use crate::upsample::cpu::Parameters;
use crate::upsample::gpu::{Kind, plane_record, strips};

/// What comes out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// Planes of 32-bit samples, one behind the other.
    Planes,
    /// Pixels of 8-bit R, G, B, A, a word each; one plane is gray, no alpha is opaque. Only where the wanted planes are
    /// one, three or four of 8 bits and of one group.
    Pixels,
}

/// Where a picture's planes or pixels lie in the output, in words.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// By wanted plane (one entry for pixels): the first word, and the size.
    pub parts: Vec<(u32, Size)>,
}

/// Samples of a level of a group in the buffer of samples. Kernels take and store them by twos: so rows start at even
/// columns, and at even indices.
#[derive(Clone, Copy, Debug)]
pub struct Level {
    /// Index of the first plane's first.
    pub first: u64,
    /// Which samples.
    pub rect: Rect,
}

impl Level {
    /// The first column, even.
    fn left(&self) -> u32 {
        self.rect.x & !1
    }

    /// Samples from row to row.
    pub fn stride(&self) -> u32 {
        (self.rect.right() - self.left()).next_multiple_of(2)
    }

    /// Samples of a plane; the planes follow one another.
    pub fn plane(&self) -> u64 {
        u64::from(self.stride()) * u64::from(self.rect.height)
    }

    /// Index of a sample of the first plane.
    pub fn at(&self, x: u32, y: u32) -> u64 {
        self.first + u64::from(y - self.rect.y) * u64::from(self.stride()) + u64::from(x - self.left())
    }
}

/// All tables of a batch, and how much memory the rest takes.
#[derive(Debug, Default)]
pub struct Tables {
    pub chunks: Vec<abi::Chunk>,
    pub models: Vec<abi::Model>,
    pub work: Work,
    pub planes: Vec<abi::Plane>,
    /// By distance from the last level, so that all pictures end in the same step; then `[to pixels][kind]`.
    pub steps: Vec<[[Vec<abi::Block>; 3]; 2]>,
    pub conversions: Vec<abi::Conversion>,
    pub kept: Vec<abi::Kept>,
    /// Samples of the roots, which stand at the start of `samples`.
    pub roots: Vec<i32>,
    /// Where levels lie in `samples`, in the order of packets, groups and from the root down; but not those that come out
    /// as pixels.
    pub levels: Vec<Level>,
    /// Words that stay free at the start of `narrow`, `wide` and `samples`, for probes to guard.
    pub front: u64,
    /// Where each packet's payload starts, in bytes.
    pub payload: Vec<u64>,
    pub outputs: Vec<Output>,
    pub payload_bytes: u64,
    pub narrow_words: u64,
    pub wide_words: u64,
    /// Samples beyond the roots'.
    pub samples: u64,
    pub output_words: u64,
    /// The first picture's number, and how many there are so far.
    first: u32,
    images: u32,
}

impl Tables {
    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.chunks.clear();
        self.models.clear();
        self.work.clear();
        self.planes.clear();
        self.steps.iter_mut().flatten().flatten().for_each(Vec::clear);
        self.conversions.clear();
        self.kept.clear();
        self.roots.clear();
        self.levels.clear();
        self.payload.clear();
        self.outputs.clear();
        (self.payload_bytes, self.narrow_words, self.wide_words) = (0, self.front, self.front);
        (self.samples, self.output_words, self.images) = (0, 0, 0);
    }

    /// Fills the tables for a slice of a batch: its pictures count from `first`, and its output starts at
    /// `output_start`. Whether all fits 32-bit indices is for whoever makes the buffers to check.
    pub fn fill(&mut self, packets: &[&Packet], target: Target, first: usize, output_start: u64) {
        self.clear();
        (self.first, self.output_words) = (first as u32, output_start);
        self.roots.resize(self.front as usize, 0);
        for packet in packets {
            for plane in packet.roots.iter().flatten() {
                let level = Level { first: self.roots.len() as u64, rect: plane.rect };
                self.roots.resize((level.first + level.plane()) as usize, 0);
                let first = level.at(plane.rect.x, plane.rect.y) as usize;
                let rows = self.roots[first..].chunks_mut(level.stride() as usize);
                for (to, from) in rows.zip(plane.grid.data().chunks(plane.grid.width())) {
                    to[..from.len()].copy_from_slice(from);
                }
            }
        }
        self.samples = self.roots.len() as u64;
        let mut root = self.front;
        for packet in packets {
            self.payload.push(self.payload_bytes);
            self.outputs.push(Output { parts: vec![(0, Size::new(0, 0)); packet.plan.planes.len()] });
            let mut ordinal = 0;
            for (group, roots) in packet.plan.groups.iter().zip(&packet.roots) {
                let rect = roots[0].rect;
                let lower = Level { first: root, rect };
                root += lower.plane() * roots.len() as u64;
                self.group(packet, group, lower, target, &mut ordinal);
            }
            self.payload_bytes += packet.payload_bytes;
            self.images += 1;
        }
        self.work.finish();
    }

    fn group(&mut self, packet: &Packet, group: &GroupPlan, root: Level, target: Target, ordinal: &mut u32) {
        let output = output_for(&packet.header, group);
        let places: Vec<(usize, usize)> = (packet.plan.planes.iter().enumerate())
            .filter_map(|(i, p)| group.planes.iter().position(|q| p == q).map(|place| (i, place)))
            .collect();
        let kept: Vec<usize> = places.iter().map(|&(_, place)| place).collect();
        let to_pixels = match (target, pixel_word(&output, &kept)) {
            (Target::Pixels, Some(word)) if !group.levels.is_empty() && packet.plan.groups.len() == 1 => {
                Some(word)
            }
            _ => None,
        };
        let mut lower = root;
        for (step, level) in group.levels.iter().enumerate() {
            let last = step + 1 == group.levels.len();
            let word = to_pixels.filter(|_| last);
            let here = Level { first: self.samples, rect: level.samples() };
            if word.is_none() {
                self.samples += here.plane() * group.planes.len() as u64;
                self.levels.push(here);
            }
            self.level(packet, group, level, group.levels.len() - 1 - step, (lower, here), word, ordinal);
            lower = here;
        }
        let size = group.rect.size();
        if to_pixels.is_some() {
            let parts = &mut self.outputs[self.images as usize].parts;
            parts.clear();
            parts.push((self.output_words as u32, size));
            self.output_words += size.area();
            return;
        }
        let (records, colour_first) = kept_records(&output, &kept);
        self.conversions.push(abi::Conversion {
            from_first: lower.at(group.rect.x, group.rect.y) as u32,
            from_stride: lower.stride(),
            from_plane: lower.plane() as u32,
            width: size.width,
            height: size.height,
            to_first: self.output_words as u32,
            to_stride: size.width,
            to_plane: size.area() as u32,
            kept: self.kept.len() as u32,
            planes: records.len() as u32,
            fraction_bits: output.fraction_bits,
            colour_first,
            wraps: output.wraps.into(),
            ..abi::Conversion::default()
        });
        self.kept.extend(records);
        for (i, _) in places {
            self.outputs[self.images as usize].parts[i] = (self.output_words as u32, size);
            self.output_words += size.area();
        }
    }

    #[allow(clippy::too_many_arguments, reason = "all of a level's surroundings are needed at once")]
    fn level(
        &mut self,
        packet: &Packet,
        group: &GroupPlan,
        level: &LevelPlan,
        step: usize,
        (lower, here): (Level, Level),
        word: Option<u32>,
        ordinal: &mut u32,
    ) {
        let params = &packet.header.params[usize::from(level.level)];
        let (first_model, first_plane) = (self.models.len() as u32, self.planes.len() as u32);
        let mut kind = Kind::Exact;
        for &plane in &group.planes {
            let parameters = Parameters::new(&packet.header, &params[plane], plane);
            kind = kind.max(Kind::of(&parameters, &params[plane].model));
            self.models.push(model_record(&params[plane].model));
            self.planes.push(plane_record(&parameters));
        }
        if self.steps.len() <= step {
            self.steps.resize_with(step + 1, Default::default);
        }
        let (payload, image) = (self.payload[self.images as usize], self.first + self.images);
        let mut chunks = level.chunks.iter();
        for place in level.tile_places() {
            let (quads, shape) = tile_shape(level.tile_log2, level.size, place);
            let first_chunk = self.chunks.len() as u32;
            for ((i, &plane), chunk) in (0..).zip(&group.planes).zip(&mut chunks) {
                let path = Path::of(&shape, &params[plane].model);
                let mut record = abi::Chunk {
                    shape: shape_word(&shape),
                    model: first_model + i,
                    image,
                    ordinal: *ordinal,
                    kind: shape.columns_per_lane() as u32 | path.flags(),
                    ..abi::Chunk::default()
                };
                *ordinal += 1;
                if chunk.bytes == 0 {
                    record.kind |= CHUNK_EMPTY;
                } else {
                    record.first_word = ((payload + packet.chunk(chunk).1) / 2) as u32;
                    record.words = chunk.bytes / 2;
                    record.symbols = self.room_for(path, &shape);
                    let index = self.chunks.len() as u32;
                    self.work.push(index, path, params[plane].model.set, shape.rows);
                }
                self.chunks.push(record);
            }
            let (x, y) = (2 * quads.x, 2 * quads.y);
            let (width, height) = (shape.width() as u32, shape.height() as u32);
            let wanted = match word {
                Some(_) => Rect::new(x, y, width, height).intersect(group.rect).relative_to(x, y),
                None => Rect::new(0, 0, width, height),
            };
            if wanted.is_empty() {
                continue;
            }
            let mut block = abi::Block {
                lower: lower.at(quads.x, quads.y) as u32,
                lower_stride: lower.stride(),
                lower_plane: lower.plane() as u32,
                out: here.at(x, y) as u32,
                out_stride: here.stride(),
                out_plane: here.plane() as u32,
                shape: shape_word(&shape),
                chunks: first_chunk,
                params: first_plane,
                planes: group.planes.len() as u32,
                clip_x: wanted.x | wanted.right() << 16,
                clip_y: wanted.y | wanted.bottom() << 16,
                ..abi::Block::default()
            };
            if let Some(word) = word {
                // Where the tile's first pixel would be; what lies outside the wanted part wraps around and is clipped.
                let width = group.rect.width;
                let first = y
                    .wrapping_sub(group.rect.y)
                    .wrapping_mul(width)
                    .wrapping_add(x.wrapping_sub(group.rect.x));
                block.out = (self.output_words as u32).wrapping_add(first);
                block.out_stride = width;
                block.output = word;
            }
            let list = &mut self.steps[step][usize::from(word.is_some())][kind as usize];
            list.extend(strips(&shape).map(|strip| abi::Block { strip, ..block }));
        }
    }

    /// Blocks of each step, from the roots on: `[to pixels][kind]`.
    pub fn steps(&self) -> impl Iterator<Item = &[[Vec<abi::Block>; 3]; 2]> {
        self.steps.iter().rev()
    }

    /// As [`Self::fill`], with as many pictures as make at most `most` bytes of payload and no buffer beyond `limit`, but
    /// at least one. Gives their number.
    pub fn fill_within(
        &mut self,
        packets: &[&Packet],
        target: Target,
        (first, output_start): (usize, u64),
        (most, limit): (u64, u64),
    ) -> usize {
        let mut bytes = 0;
        let fits = |packet: &&&Packet| {
            bytes += packet.payload_bytes;
            bytes <= most
        };
        let mut count = packets.iter().take_while(fits).count().max(1);
        self.fill(&packets[..count], target, first, output_start);
        while count > 1 && self.largest() > limit {
            count /= 2;
            self.fill(&packets[..count], target, first, output_start);
        }
        count
    }

    /// The largest buffer that the batch takes, its output apart, in bytes.
    pub fn largest(&self) -> u64 {
        let words = self.narrow_words.max(self.wide_words).max(self.samples);
        let records = (self.chunks.len() * size_of::<abi::Chunk>()).max(
            self.steps.iter().flatten().flatten().map(Vec::len).sum::<usize>() * size_of::<abi::Block>(),
        );
        self.payload_bytes.max(4 * words).max(records as u64)
    }

    fn room_for(&mut self, path: Path, shape: &TileShape) -> u32 {
        let room = if path == Path::Any { &mut self.wide_words } else { &mut self.narrow_words };
        let start = *room;
        *room += u64::from(path.symbol_words(shape));
        start as u32
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::MemorySource;
    use crate::{Decoder, EncodeOptions, Encoder, Image, Limits, PlaneKind, Request};

    #[test]
    fn lossless_photographs_take_the_fastest_kernels() {
        let samples: Vec<u8> = (0..300 * 200 * 3).map(|i| ((i % 900 + i / 900) / 5) as u8).collect();
        let kinds = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue];
        let image = Image::from_interleaved(Size::new(300, 200), &kinds, 8, &samples).unwrap();
        let bytes = Encoder::new(EncodeOptions::lossless()).encode(&image).unwrap();
        let file = Decoder::open(MemorySource::new(bytes), Limits::default()).unwrap();
        let mut tables = Tables::default();
        tables.fill(&[&file.packet(&Request::default()).unwrap()], Target::Pixels, 0, 0);
        let slower = [Kind::Linear, Kind::Any].map(|kind| kind as usize);
        assert!(tables.steps().flatten().all(|lists| slower.iter().all(|&kind| lists[kind].is_empty())));
    }
}
