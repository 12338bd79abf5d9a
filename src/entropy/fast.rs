//! The tile decoder for speed: the same result as `cpu.rs`, with the contexts of a whole row at once and few branches.
//!
//! Only the rANS step itself goes lane by lane; lanes do not depend on each other but for the word they read.

use super::context::BANDS;
use super::cpu::words_from_bytes;
use super::distribution::{ALIAS, AliasEntry, FREQUENCY_BITS, resolve};
use super::lanes::{DEFERRED_SIGNS, STATE_MIN, TileShape, unpack_states};
use super::model::TileModel;
use super::rows::{HALF, RowContexts};
use super::token::{
    ESCAPE, MAGNITUDE_CAP, TOKENS, base_and_bits, context_magnitude, escape_bits, shift_of_bucket,
};
use super::{Symbols, TileFault, cpu};
use crate::simd::vectorised;

/// Buckets that magnitudes of at most 20 bits reach.
const BUCKETS: usize = 56;

/// What a bucket means, for one band.
#[derive(Clone, Copy)]
struct Row {
    alias: &'static [AliasEntry; TOKENS],
    shift: u32,
    /// Slots of tokens 0, 1, 2 and of all others that do not mean "-".
    positive: [u16; 4],
}

/// A model with its rows looked up.
pub struct Prepared<'a> {
    model: &'a TileModel,
    rows: [Vec<Row>; BANDS],
    tokens: [TokenInfo; TOKENS],
}

/// What a token stands for where there is no shift.
#[derive(Clone, Copy)]
struct TokenInfo {
    base: u32,
    mantissa_bits: u32,
    /// 1 where a raw sign follows the mantissa.
    sign_bits: u32,
    context: u32,
}

impl<'a> Prepared<'a> {
    /// For a valid model.
    pub fn new(model: &'a TileModel) -> Self {
        let row = |band: usize, bucket: u32| {
            let distribution = model.distribution(band, bucket);
            let frequency = |s: usize| u32::from(super::tables::FREQUENCIES[distribution][s]);
            let mut positive = [u16::MAX; 4];
            if shift_of_bucket(bucket) == 0 {
                for (s, positive) in positive.iter_mut().enumerate().skip(1).take(2) {
                    *positive = model.positive_slots(band, bucket, s as u32, frequency(s)) as u16;
                }
            }
            Row { alias: &ALIAS[distribution], shift: shift_of_bucket(bucket), positive }
        };
        let rows = std::array::from_fn(|band| (0..BUCKETS as u32).map(|b| row(band, b)).collect());
        let tokens = std::array::from_fn(|s| {
            let (base, mut bits) = base_and_bits(s as u32);
            if s as u32 == ESCAPE {
                bits = escape_bits(model.wide, 0);
            }
            let context = context_magnitude(s as u32, 0).min(MAGNITUDE_CAP);
            TokenInfo { base, mantissa_bits: bits, sign_bits: u32::from(s >= 3), context }
        });
        Prepared { model, rows, tokens }
    }
}

/// Decodes the symbols of one tile from its chunk. An empty chunk is a tile of zeros.
pub fn decode_tile(chunk: &[u8], shape: &TileShape, prepared: &Prepared) -> Result<Symbols, TileFault> {
    if chunk.is_empty() {
        return Ok(Symbols::new(shape));
    }
    if prepared.model.deep {
        return cpu::decode_tile(chunk, shape, prepared.model);
    }
    let words = words_from_bytes(chunk)?;
    let (states, used) = unpack_states(&words, shape.lanes()).ok_or(TileFault::States)?;
    let mut tile = Tile {
        shape,
        prepared,
        words: Words { words: &words, at: used },
        states: [0; HALF],
        nonzero: [0; HALF],
        all_signs_seen: false,
        deferred: Vec::with_capacity(shape.lanes() * DEFERRED_SIGNS as usize),
        symbols: Symbols::new(shape),
    };
    tile.states[..states.len()].copy_from_slice(&states);
    decode_rows(&mut tile);
    if !prepared.model.wide && !tile.symbols.is_narrow() {
        return Err(TileFault::Range);
    }
    if tile.words.at != words.len() {
        return Err(TileFault::Length);
    }
    if tile.states.iter().any(|&x| x != 0 && x >> 16 != STATE_MIN >> 16) {
        return Err(TileFault::FinalState);
    }
    for (lane, place) in tile.deferred {
        let signs = &mut tile.states[usize::from(lane)];
        let value = &mut tile.symbols.data[place as usize];
        *value = if *signs & 1 == 1 { value.wrapping_neg() } else { *value };
        *signs >>= 1;
    }
    Ok(tile.symbols)
}

struct Words<'a> {
    words: &'a [u16],
    at: usize,
}

impl Words<'_> {
    #[inline(always)]
    fn refill(&mut self, state: u32) -> u32 {
        let word = u32::from(self.words.get(self.at).copied().unwrap_or(1));
        let needed = state < STATE_MIN;
        self.at += usize::from(needed);
        if needed { state << 16 | word } else { state }
    }
}

struct Tile<'a> {
    shape: &'a TileShape,
    prepared: &'a Prepared<'a>,
    words: Words<'a>,
    states: [u32; HALF],
    nonzero: [u32; HALF],
    /// Whether every live lane has had its deferred signs.
    all_signs_seen: bool,
    /// Lane, and place among the symbols.
    deferred: Vec<(u8, u32)>,
    symbols: Symbols,
}

vectorised! {
fn decode_rows(tile: &mut Tile) {
    tile.decode();
}
}

impl Tile<'_> {
    #[inline(always)]
    fn decode(&mut self) {
        let mut contexts = RowContexts::new(self.shape, self.prepared.model.set);
        let mut buckets = [0u32; HALF];
        for row in 0..self.shape.rows {
            for band in 0..BANDS {
                contexts.start_row(band, row);
                for half in 0..2 {
                    let count = contexts.buckets(band, row, half, &mut buckets);
                    let start = (band * self.shape.rows + row) * self.shape.columns + half;
                    self.decode_half(
                        band,
                        half,
                        start,
                        &buckets[..count],
                        contexts.half_mut(band, row, half),
                    );
                }
                contexts.finish_row(band, row);
            }
            if !self.all_signs_seen {
                let live = self.states[..self.shape.lanes()].iter().zip(&self.nonzero);
                self.all_signs_seen = live.clone().all(|(&x, &n)| x == 0 || n >= DEFERRED_SIGNS);
            }
        }
    }

    /// Decodes the even (`half` 0) or odd columns of a row: every second symbol from `start` on.
    #[inline(always)]
    fn decode_half(&mut self, band: usize, half: usize, start: usize, buckets: &[u32], out: &mut [u32]) {
        let plain = self.all_signs_seen && buckets.iter().all(|&b| b < super::token::ROWS as u32);
        let per_lane = self.shape.columns_per_lane();
        let phases = self.shape.phases().iter().filter(|&&phase| phase % 2 == half);
        for first in phases.map(|phase| phase / 2) {
            if first >= buckets.len() {
                continue;
            }
            let (start, buckets, out) = (start + 2 * first, &buckets[first..], &mut out[first..]);
            match (plain, per_lane) {
                (true, 2) => self.decode_plain::<1>(band, start, buckets, out),
                (true, 4) => self.decode_plain::<2>(band, start, buckets, out),
                _ => self.decode_any(band, start, per_lane / 2, buckets, out),
            }
        }
    }

    #[inline(always)]
    fn decode_plain<const STEP: usize>(
        &mut self,
        band: usize,
        start: usize,
        buckets: &[u32],
        out: &mut [u32],
    ) {
        let (rows, tokens) = (&self.prepared.rows[band], &self.prepared.tokens);
        let symbols = &mut self.symbols.data[start..];
        decode_plain::<STEP>(rows, tokens, &mut self.words, &mut self.states, buckets, symbols, out);
    }

    #[inline(always)]
    fn decode_any(&mut self, band: usize, start: usize, step: usize, buckets: &[u32], out: &mut [u32]) {
        for (lane, at) in (0..buckets.len()).step_by(step).enumerate() {
            let state = self.states[lane];
            if state == 0 {
                continue;
            }
            let row = &self.prepared.rows[band][(buckets[at] as usize).min(BUCKETS - 1)];
            let slot = resolve(row.alias, state & ((1 << FREQUENCY_BITS) - 1));
            let deferring = self.nonzero[lane] < DEFERRED_SIGNS;
            let split = !deferring && row.shift == 0 && (slot.symbol == 1 || slot.symbol == 2);
            let (mut frequency, mut offset, mut sign) = (slot.frequency, slot.offset, false);
            if split {
                let positive = u32::from(row.positive[slot.symbol as usize]);
                sign = offset >= positive;
                (frequency, offset) =
                    if sign { (frequency - positive, offset - positive) } else { (positive, offset) };
            }
            let x = self.words.refill(frequency * (state >> FREQUENCY_BITS) + offset);
            let sign_raw = !deferring && !split && (slot.symbol != 0 || row.shift > 0);
            let TokenInfo { base, mut mantissa_bits, .. } = self.prepared.tokens[slot.symbol as usize];
            if slot.symbol == ESCAPE {
                mantissa_bits = escape_bits(self.prepared.model.wide, row.shift);
            }
            let bits = mantissa_bits + row.shift;
            let (x, raw) = take_raw(x, bits + u32::from(sign_raw), &mut self.words);
            sign |= sign_raw && raw >> bits == 1;
            let (mantissa, low) = (raw as u32 & low_mask(mantissa_bits), (raw >> mantissa_bits) as u32);
            let low = low & low_mask(row.shift);
            let magnitude = base.wrapping_add(mantissa).wrapping_shl(row.shift) | low;
            self.states[lane] = x;
            out[at] = context_magnitude(slot.symbol, row.shift).min(MAGNITUDE_CAP);
            let place = start + 2 * at;
            self.symbols.data[place] = signed(magnitude, sign.into());
            if deferring && magnitude != 0 {
                self.nonzero[lane] += 1;
                self.deferred.push((lane as u8, place as u32));
            }
        }
    }
}

/// A phase whose lanes all have no shift and no signs to defer: nearly every one. It has every `STEP`-th column of its
/// half.
#[inline(always)]
fn decode_plain<const STEP: usize>(
    rows: &[Row],
    tokens: &[TokenInfo; TOKENS],
    words: &mut Words,
    states: &mut [u32],
    buckets: &[u32],
    symbols: &mut [i32],
    out: &mut [u32],
) {
    let mut input = Words { words: words.words, at: words.at };
    let columns = buckets.iter().zip(out).step_by(STEP);
    for (lane, (state, (&bucket, out))) in states.iter_mut().zip(columns).enumerate() {
        if *state == 0 {
            continue;
        }
        let row = &rows[bucket as usize];
        let slot = resolve(row.alias, *state & ((1 << FREQUENCY_BITS) - 1));
        let token = &tokens[slot.symbol as usize];
        let positive = u32::from(row.positive[slot.symbol.min(3) as usize]);
        // Signs are as good as random: arithmetic instead of branches, which would be mispredicted.
        let negative = u32::from(slot.offset >= positive);
        let minus = negative.wrapping_neg();
        let plus_frequency = slot.frequency.min(positive);
        let minus_frequency = slot.frequency.wrapping_sub(positive);
        let frequency = (plus_frequency & !minus) | (minus_frequency & minus);
        let offset = slot.offset.wrapping_sub(positive & minus);
        let x = input.refill(frequency.wrapping_mul(*state >> FREQUENCY_BITS).wrapping_add(offset));
        // From token 3 on a sign bit follows the mantissa; below there is neither.
        let (x, raw) = take_raw(x, token.mantissa_bits + token.sign_bits, &mut input);
        let raw_sign = (raw >> token.mantissa_bits) as u32 & token.sign_bits;
        let magnitude = token.base.wrapping_add(raw as u32 & low_mask(token.mantissa_bits));
        *state = x;
        *out = token.context;
        symbols[2 * STEP * lane] = signed(magnitude, negative | raw_sign);
    }
    words.at = input.at;
}

/// Takes raw bits out of a state, at most 16 between refills.
#[inline(always)]
fn take_raw(state: u32, bits: u32, words: &mut Words) -> (u32, u64) {
    if bits <= 16 {
        return (words.refill(state >> bits), u64::from(state & low_mask(bits)));
    }
    take_many_raw(state, bits, words)
}

#[cold]
fn take_many_raw(mut state: u32, bits: u32, words: &mut Words) -> (u32, u64) {
    let (mut value, mut got) = (0, 0);
    while got < bits {
        let n = (bits - got).min(16);
        value |= u64::from(state & low_mask(n)) << got;
        state = words.refill(state >> n);
        got += n;
    }
    (state, value)
}

#[inline(always)]
fn low_mask(bits: u32) -> u32 {
    ((1u64 << bits) - 1) as u32
}

#[inline(always)]
fn signed(magnitude: u32, negative: u32) -> i32 {
    let mask = (negative as i32).wrapping_neg();
    (magnitude as i32 ^ mask).wrapping_sub(mask)
}
