//! The entropy stage on the GPU: which kernel takes a chunk, and what it needs to know.
//! Kernels: `shaders/entropy.wgsl` and `shaders/entropy_any.wgsl`.

use super::distribution::{ALIAS, AliasEntry, BUCKET_SLOTS, FREQUENCY_BITS};
use super::lanes::TileShape;
use super::model::TileModel;
use super::tables::{DISTRIBUTIONS, FREQUENCIES};
use super::token::{ESCAPE, ROWS, TOKENS, base_and_bits, bucket_of_half_octaves, row_of_bucket};
use super::{BANDS, Symbols};
use crate::gpu::abi::{self, CHUNK_WIDE, GROUP_QUADS, GROUP_SET, GROUP_WORDS, MODEL_ROWS, NOTHING};

/// What the kernels need of a model.
pub fn model_record(model: &TileModel) -> abi::Model {
    // Lanes that do not code.
    let still = [(DISTRIBUTIONS * TOKENS) as u32, 0];
    let mut record = abi::Model {
        rows: [still; 3 * MODEL_ROWS],
        context_set: model.set as u32,
        deep: model.deep.into(),
        wide: model.wide.into(),
        pad: 0,
    };
    for (band, rows) in record.rows.chunks_exact_mut(MODEL_ROWS).enumerate() {
        let row = |bucket: usize| {
            let distribution = model.distribution(band, bucket as u32);
            let positive = |symbol: u32| {
                let frequency = u32::from(FREQUENCIES[distribution][symbol as usize]);
                model.positive_slots(band, bucket as u32, symbol, frequency)
            };
            [(distribution * TOKENS) as u32, positive(1) | positive(2) << 15]
        };
        let by_bucket: [_; ROWS] = std::array::from_fn(row);
        for (half_octaves, row) in rows.iter_mut().enumerate().skip(1) {
            *row = by_bucket[row_of_bucket(bucket_of_half_octaves(half_octaves as u32))];
        }
    }
    record
}

/// Alias entries as the kernels read them: the bucket's own slots, the token that they belong to, the token that has
/// the others, and what is added to their offsets. Behind those of all distributions stand those of one that has nothing
/// but zeros.
pub fn alias_records() -> Vec<[u32; 4]> {
    let token = |symbol: u32, frequency: u32| {
        let (base, bits) = base_and_bits(symbol);
        // An escaped value is in the middle of what its base's bits would reach.
        frequency | (if symbol == ESCAPE { 10 } else { bits }) << 16 | base << 20
    };
    let record = |(i, entry): (usize, &AliasEntry)| {
        let [low, high] = [*entry as u32, (*entry >> 32) as u32];
        let offset = high as i32 >> 16;
        [low >> 20, token(i as u32, low & 0x7fff), token(low >> 15 & 31, high & 0xffff), offset as u32]
    };
    let mut out: Vec<_> = ALIAS.iter().flat_map(|entries| entries.iter().enumerate().map(record)).collect();
    let still = token(0, 1 << FREQUENCY_BITS);
    out.extend((0..TOKENS as u32).map(|i| [0, still, still, i * BUCKET_SLOTS]));
    out
}

/// What becomes of a chunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Path {
    /// `entropy.wgsl`, lanes of two columns.
    Pairs,
    /// `entropy.wgsl`, lanes of four columns.
    Quads,
    /// `entropy_any.wgsl`: symbols of 32 bits.
    Any,
}

impl Path {
    /// For a tile of a level of a plane.
    pub fn of(shape: &TileShape, model: &TileModel) -> Path {
        match shape.columns_per_lane() {
            _ if model.deep || model.wide => Path::Any,
            2 if shape.lanes() <= 32 => Path::Pairs,
            4 if shape.lanes() <= 8 => Path::Quads,
            _ => Path::Any,
        }
    }

    /// Flags of [`abi::Chunk::kind`], beside the columns of a lane.
    pub fn flags(self) -> u32 {
        if self == Path::Any { CHUNK_WIDE } else { 0 }
    }

    /// Words that a tile's symbols take.
    pub fn symbol_words(self, shape: &TileShape) -> u32 {
        let columns = if self == Path::Any { shape.columns } else { shape.columns.div_ceil(2) };
        (3 * shape.rows * columns) as u32
    }

    /// A tile's symbols as kernels store them: by row of quads and band; two to a word, the even column in its low half,
    /// but for [`Path::Any`].
    pub fn words_from_symbols(self, symbols: &Symbols, shape: &TileShape) -> Vec<u32> {
        let mut out = Vec::with_capacity(self.symbol_words(shape) as usize);
        for (row, band) in (0..shape.rows).flat_map(|row| (0..BANDS).map(move |band| (row, band))) {
            let values = symbols.row(band, row);
            let two = |pair: &[i32]| pair[0] as u32 & 0xffff | (pair.get(1).map_or(0, |&v| v as u32) << 16);
            match self {
                Path::Any => out.extend(values.iter().map(|&v| v as u32)),
                _ => out.extend(values.chunks(2).map(two)),
            }
        }
        out
    }

    /// The inverse of [`Self::words_from_symbols`].
    pub fn symbols_from_words(self, words: &[u32], shape: &TileShape) -> Symbols {
        let mut symbols = Symbols::new(shape);
        let stride = words.len() / (BANDS * shape.rows);
        for (i, words) in words.chunks_exact(stride).enumerate() {
            let out = symbols.row_mut(i % BANDS, i / BANDS);
            let half = |column: usize| (words[column / 2] >> (16 * (column % 2))) as i16;
            match self {
                Path::Any => out.iter_mut().zip(words).for_each(|(out, &word)| *out = word as i32),
                _ => out.iter_mut().enumerate().for_each(|(column, out)| *out = half(column).into()),
            }
        }
        symbols
    }
}

/// The lists that the entropy kernels work through.
#[derive(Debug, Default)]
pub struct Work {
    /// Groups of [`GROUP_WORDS`] for `entropy.wgsl`.
    pub groups: Vec<u32>,
    /// Chunks for `entropy_any.wgsl`.
    pub any: Vec<u32>,
    /// By path and context set: chunks that wait for a group, and their rows.
    waiting: [Vec<(u32, u32)>; 4],
}

impl Work {
    /// Forgets everything, and keeps the memory.
    pub fn clear(&mut self) {
        self.groups.clear();
        self.any.clear();
        self.waiting.iter_mut().for_each(Vec::clear);
    }

    /// Adds a chunk that is not empty.
    pub fn push(&mut self, chunk: u32, path: Path, set: usize, rows: usize) {
        match path {
            Path::Any => self.any.push(chunk),
            Path::Pairs => self.waiting[set].push((chunk, rows as u32)),
            Path::Quads => self.waiting[2 + set].push((chunk, rows as u32)),
        }
    }

    /// Makes groups of what waits: long tiles first, so that none of them is left alone at the end, but one kind after
    /// the other, since each runs instructions of its own.
    pub fn finish(&mut self) {
        for (kind, chunks) in self.waiting.iter_mut().enumerate() {
            let (quads, set) = (kind / 2 == 1, kind % 2 == 1);
            let common = (u32::from(set) * GROUP_SET) | (u32::from(quads) * GROUP_QUADS);
            chunks.sort_by_key(|&(_, rows)| std::cmp::Reverse(rows));
            for members in chunks.chunks(if quads { 8 } else { 2 }) {
                let start = self.groups.len();
                self.groups.resize(start + GROUP_WORDS, NOTHING);
                self.groups[start] = common | members[0].1 << 8;
                for (place, &(chunk, _)) in self.groups[start + 1..].iter_mut().zip(members) {
                    *place = chunk;
                }
            }
            chunks.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::entropy::tables::WEIGHTS;
    use crate::entropy::token::NARROW_LIMIT;

    /// The kernel takes half octaves from the exponent of the sum as a float, and 1 for a lane that does not code.
    #[test]
    fn sums_of_narrow_magnitudes_are_exact_as_floats_and_at_least_2() {
        // Contexts see the middle of what a token stands for: at most a quarter above its smallest magnitude.
        let most = NARROW_LIMIT + NARROW_LIMIT / 4;
        for terms in WEIGHTS.as_flattened().as_flattened().as_flattened() {
            let [constant, north, beside_north, north2, beside, v, h0, beside_before, others] = *terms;
            let all =
                north + 2 * beside_north + north2 + 2 * beside + v + h0 + 4 * beside_before + 2 * others;
            assert!(constant >= 2, "{terms:?}");
            assert!(constant + all * most < 1 << 24, "{terms:?}");
        }
    }
}
