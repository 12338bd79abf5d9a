//! The tile encoder: the decoder's steps collected forwards, then coded backwards as rANS wants it.

use super::Symbols;
use super::context::{BANDS, Contexts, Place, walk};
use super::distribution::{FREQUENCY_BITS, slot_from_offset};
use super::lanes::{DEFERRED_SIGNS, STATE_MIN, TileShape, pack_states};
use super::model::TileModel;
use super::rows::{HALF, RowContexts, half_buckets};
use super::tables::FREQUENCIES;
use super::token::{
    ESCAPE, MAGNITUDE_CAP, context_magnitude, escape_bits, shift_of_bucket, token_from_magnitude,
};

/// A symbol with what its place in the tile decides.
#[derive(Clone, Copy, Debug)]
pub struct Cell {
    /// The value to code.
    pub value: i32,
    /// Which lane codes it.
    pub lane: usize,
    /// Its band.
    pub band: usize,
    /// Its context bucket.
    pub bucket: u32,
}

/// Calls `visit` for each symbol of a tile, in coding order.
pub fn cells(symbols: &Symbols, shape: &TileShape, set: usize, deep: bool, mut visit: impl FnMut(Cell)) {
    let live = live_lanes(symbols, shape);
    if !deep {
        return row_cells(symbols, shape, set, &live, visit);
    }
    let mut contexts = Contexts::new(*shape, deep);
    walk(shape, |place: Place, lane| {
        if !live[lane] {
            return;
        }
        let bucket = contexts.bucket(set, place);
        let value = symbols.at(place);
        contexts.set(place, seen_by_contexts(value, bucket));
        visit(Cell { value, lane, band: place.band, bucket });
    });
}

/// The same with the contexts of whole rows.
fn row_cells(symbols: &Symbols, shape: &TileShape, set: usize, live: &[bool], mut visit: impl FnMut(Cell)) {
    let mut contexts = RowContexts::new(shape, set);
    let mut buckets = [0; HALF];
    let per_lane = shape.columns_per_lane();
    for row in 0..shape.rows {
        for band in 0..BANDS {
            contexts.start_row(band, row);
            for &phase in shape.phases() {
                let half = phase % 2;
                if phase < 2 {
                    let count = &mut 0;
                    half_buckets(&mut contexts, band, row, half, &mut buckets, count);
                }
                let columns = (phase..shape.band_columns(band, row)).step_by(per_lane);
                let (values, magnitudes) = (symbols.row(band, row), contexts.half_mut(band, row, half));
                for (lane, column) in columns.enumerate().filter(|&(lane, _)| live[lane]) {
                    let (value, bucket) = (values[column], buckets[column / 2]);
                    magnitudes[column / 2] = seen_by_contexts(value, bucket).min(MAGNITUDE_CAP);
                    visit(Cell { value, lane, band, bucket });
                }
            }
            contexts.finish_row(band, row);
        }
    }
}

/// The context magnitude of a value.
fn seen_by_contexts(value: i32, bucket: u32) -> u32 {
    let shift = shift_of_bucket(bucket);
    context_magnitude(token_from_magnitude(value.unsigned_abs() >> shift).symbol, shift)
}

fn live_lanes(symbols: &Symbols, shape: &TileShape) -> Vec<bool> {
    let mut live = vec![false; shape.lanes()];
    walk(shape, |place, lane| live[lane] |= symbols.at(place) != 0);
    live
}

/// Encodes a tile. All zeros give an empty chunk.
pub fn encode_tile(symbols: &Symbols, shape: &TileShape, model: &TileModel) -> Vec<u8> {
    if symbols.is_zero() {
        return Vec::new();
    }
    let mut lanes = vec![Lane::default(); shape.lanes()];
    let mut steps = Vec::with_capacity(shape.quads() * 4);
    cells(symbols, shape, model.set, model.deep, |cell| {
        lanes[cell.lane].live = true;
        lanes[cell.lane].plan(cell, model, &mut steps);
    });
    let mut states: Vec<u32> =
        lanes.iter().map(|lane| if lane.live { STATE_MIN | lane.signs } else { 0 }).collect();
    let mut words = Vec::new();
    for (lane, step) in steps.into_iter().rev() {
        step.push(&mut states[lane as usize], &mut words);
    }
    words.reverse();
    let head = pack_states(&states);
    head.into_iter().chain(words).flat_map(u16::to_le_bytes).collect()
}

#[derive(Clone, Copy)]
enum Step {
    /// A token (or the half of it that has the right sign): slot, frequency.
    Token {
        distribution: u8,
        symbol: u8,
        start: u16,
        frequency: u16,
    },
    Raw {
        bits: u8,
        value: u16,
    },
}

impl Step {
    fn push(self, state: &mut u32, words: &mut Vec<u16>) {
        match self {
            Step::Token { distribution, symbol, start, frequency } => {
                let frequency = u32::from(frequency);
                if u64::from(*state) >= u64::from(frequency) << (32 - FREQUENCY_BITS) {
                    words.push(*state as u16);
                    *state >>= 16;
                }
                let offset = u32::from(start) + *state % frequency;
                let slot = slot_from_offset(distribution.into(), symbol.into(), offset);
                *state = ((*state / frequency) << FREQUENCY_BITS) + slot;
            }
            Step::Raw { bits, value } => {
                if u64::from(*state) >= 1 << (32 - bits) {
                    words.push(*state as u16);
                    *state >>= 16;
                }
                *state = *state << bits | u32::from(value);
            }
        }
    }
}

#[derive(Clone, Default)]
struct Lane {
    live: bool,
    nonzero: u32,
    /// Signs of the first non-zero values, the first in the lowest bit.
    signs: u32,
}

impl Lane {
    fn plan(&mut self, cell: Cell, model: &TileModel, steps: &mut Vec<(u16, Step)>) {
        let Cell { value, lane, band, bucket } = cell;
        let (magnitude, negative) = (value.unsigned_abs(), value < 0);
        let shift = shift_of_bucket(bucket);
        let mut token = token_from_magnitude(magnitude >> shift);
        if token.symbol == ESCAPE {
            token.bits = escape_bits(model.wide, shift);
        }
        let distribution = model.distribution(band, bucket);
        let mut frequency = u32::from(FREQUENCIES[distribution][token.symbol as usize]);
        let (mut start, mut sign_raw) = (0, false);
        if self.nonzero < DEFERRED_SIGNS {
            if magnitude != 0 {
                self.signs |= u32::from(negative) << self.nonzero;
                self.nonzero += 1;
            }
        } else if shift == 0 && (token.symbol == 1 || token.symbol == 2) {
            let positive = model.positive_slots(band, bucket, token.symbol, frequency);
            (start, frequency) = if negative { (positive, frequency - positive) } else { (0, positive) };
        } else {
            sign_raw = token.symbol != 0 || shift > 0;
        }
        let lane = lane as u16;
        steps.push((
            lane,
            Step::Token {
                distribution: distribution as u8,
                symbol: token.symbol as u8,
                start: start as u16,
                frequency: frequency as u16,
            },
        ));
        let low = u64::from(magnitude) & ((1u64 << shift) - 1);
        let mut raw = u64::from(token.mantissa) | low << token.bits;
        let mut bits = token.bits + shift + u32::from(sign_raw);
        if sign_raw && negative {
            raw |= 1 << (bits - 1);
        }
        while bits > 0 {
            let n = bits.min(16);
            steps.push((lane, Step::Raw { bits: n as u8, value: (raw & ((1 << n) - 1)) as u16 }));
            raw >>= n;
            bits -= n;
        }
    }
}
