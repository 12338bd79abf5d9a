//! The reference tile decoder: plain loops that say what the format means. `fast.rs` is the one for speed.

use super::context::{Contexts, Place, walk};
use super::distribution::{ALIAS, FREQUENCY_BITS, resolve};
use super::lanes::{DEFERRED_SIGNS, STATE_MIN, TileShape, unpack_states};
use super::model::TileModel;
use super::token::{ESCAPE, base_and_bits, context_magnitude, escape_bits, shift_of_bucket};
use super::{Symbols, TileFault};

/// Decodes the symbols of one tile from its chunk. An empty chunk is a tile of zeros.
pub fn decode_tile(chunk: &[u8], shape: &TileShape, model: &TileModel) -> Result<Symbols, TileFault> {
    let mut symbols = Symbols::new(shape);
    if chunk.is_empty() {
        return Ok(symbols);
    }
    let words = words_from_bytes(chunk)?;
    let (states, used) = unpack_states(&words, shape.lanes()).ok_or(TileFault::States)?;
    let mut lanes: Vec<Lane> = states.into_iter().map(Lane::new).collect();
    let mut input = Words { rest: &words[used..], missing: false };
    let mut contexts = Contexts::new(*shape, model.deep);
    let mut deferred: Vec<(usize, Place)> = Vec::new();
    walk(shape, |place, index| {
        let lane = &mut lanes[index];
        if lane.state == 0 {
            return;
        }
        let bucket = contexts.bucket(model.set, place);
        let symbol = lane.decode(place.band, bucket, model, &mut input);
        contexts.set(place, symbol.context_magnitude);
        symbols.set(place, symbol.value);
        if symbol.sign_deferred {
            deferred.push((index, place));
        }
    });
    if !model.wide && !symbols.is_narrow() {
        return Err(TileFault::Range);
    }
    if input.missing || !input.rest.is_empty() {
        return Err(TileFault::Length);
    }
    if lanes.iter().any(|lane| lane.state != 0 && lane.state >> 16 != STATE_MIN >> 16) {
        return Err(TileFault::FinalState);
    }
    // What is left in each state are the signs of the lane's first non-zero values, the first in the lowest bit.
    for (index, place) in deferred {
        let signs = &mut lanes[index].state;
        if *signs & 1 == 1 {
            symbols.set(place, symbols.at(place).wrapping_neg());
        }
        *signs >>= 1;
    }
    Ok(symbols)
}

/// A chunk's 16-bit words.
pub(super) fn words_from_bytes(chunk: &[u8]) -> Result<Vec<u16>, TileFault> {
    if !chunk.len().is_multiple_of(2) {
        return Err(TileFault::Length);
    }
    Ok(chunk.chunks_exact(2).map(|b| u16::from_le_bytes([b[0], b[1]])).collect())
}

struct Words<'a> {
    rest: &'a [u16],
    missing: bool,
}

impl Words<'_> {
    fn next(&mut self) -> u32 {
        match self.rest.split_first() {
            Some((&word, rest)) => {
                self.rest = rest;
                word.into()
            }
            None => {
                self.missing = true;
                1
            }
        }
    }
}

struct Lane {
    /// rANS state, at least [`STATE_MIN`] between symbols; 0 for a lane whose values are all zero.
    state: u32,
    /// Non-zero values decoded, as far as it matters.
    nonzero: u32,
}

struct Decoded {
    value: i32,
    context_magnitude: u32,
    sign_deferred: bool,
}

impl Lane {
    fn new(state: u32) -> Self {
        Lane { state, nonzero: 0 }
    }

    fn decode(&mut self, band: usize, bucket: u32, model: &TileModel, input: &mut Words) -> Decoded {
        let shift = shift_of_bucket(bucket);
        let slot_mask = (1 << FREQUENCY_BITS) - 1;
        let slot = resolve(&ALIAS[model.distribution(band, bucket)], self.state & slot_mask);
        let (symbol, mut frequency, mut offset) = (slot.symbol, slot.frequency, slot.offset);
        let sign_deferred = self.nonzero < DEFERRED_SIGNS;
        let sign_split = !sign_deferred && shift == 0 && (symbol == 1 || symbol == 2);
        let mut negative = false;
        if sign_split {
            let positive = model.positive_slots(band, bucket, symbol, frequency);
            negative = offset >= positive;
            (frequency, offset) =
                if negative { (frequency - positive, offset - positive) } else { (positive, offset) };
        }
        self.state = frequency * (self.state >> FREQUENCY_BITS) + offset;
        self.refill(input);

        // With a shift the sign bit is there even if the value turns out to be zero: how many words a lane needs must
        // not depend on bits that are still to come.
        let sign_raw = !sign_deferred && !sign_split && (symbol != 0 || shift > 0);
        let (base, mut mantissa_bits) = base_and_bits(symbol);
        if symbol == ESCAPE {
            mantissa_bits = escape_bits(model.wide, shift);
        }
        let raw_bits = mantissa_bits + shift + u32::from(sign_raw);
        let raw = self.raw(raw_bits, input);
        let mantissa = (raw & ((1 << mantissa_bits) - 1)) as u32;
        let low = ((raw >> mantissa_bits) & ((1 << shift) - 1)) as u32;
        let magnitude = base.wrapping_add(mantissa).wrapping_shl(shift) | low;
        negative |= sign_raw && raw >> (raw_bits - 1) == 1;
        let sign_deferred = sign_deferred && magnitude != 0;
        self.nonzero += u32::from(sign_deferred);
        Decoded {
            value: if negative { (magnitude as i32).wrapping_neg() } else { magnitude as i32 },
            context_magnitude: context_magnitude(symbol, shift),
            sign_deferred,
        }
    }

    fn refill(&mut self, input: &mut Words) {
        if self.state < STATE_MIN {
            self.state = self.state << 16 | input.next();
        }
    }

    /// Takes raw bits out of the state, at most 16 between refills, the lowest first.
    fn raw(&mut self, bits: u32, input: &mut Words) -> u64 {
        let (mut value, mut got) = (0, 0);
        while got < bits {
            let n = (bits - got).min(16);
            value |= u64::from(self.state & ((1 << n) - 1)) << got;
            self.state >>= n;
            self.refill(input);
            got += n;
        }
        value
    }
}
