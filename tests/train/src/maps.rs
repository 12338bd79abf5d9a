//! Default maps: which distribution the symbols of a context have.

use stepwell::entropy::BANDS;
use stepwell::entropy::token::{ROWS, TOKENS, row_of_bucket, shift_of_bucket, token_from_magnitude};

use crate::contexts::Cell;
use crate::family::{Distribution, PER_OCTAVE, SCALES};

/// Which distribution a row of buckets uses: `[set][band][row]`.
pub type Maps = [[[u8; ROWS]; BANDS]; 2];

/// Rows with fewer symbols say nothing.
const LEAST_SYMBOLS: f64 = 200.0;
/// Rows an octave of the context sum.
const ROWS_PER_OCTAVE: usize = 2;

/// How often each token comes in each row.
#[derive(Clone)]
pub struct Histogram {
    tokens: Vec<[[[f64; TOKENS]; ROWS]; BANDS]>,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { tokens: vec![[[[0.0; TOKENS]; ROWS]; BANDS]; 2] }
    }
}

impl Histogram {
    /// Counts a symbol.
    pub fn add(&mut self, set: usize, cell: &Cell, bucket: u32) {
        let shift = shift_of_bucket(bucket);
        let token = token_from_magnitude(cell.magnitude >> shift);
        self.tokens[set][cell.place.band][row_of_bucket(bucket)][token.symbol as usize] += 1.0;
    }

    /// Adds what another has counted.
    pub fn merge(&mut self, other: &Self) {
        let both = self.tokens.as_flattened_mut().as_flattened_mut().as_flattened_mut().iter_mut();
        both.zip(other.tokens.as_flattened().as_flattened().as_flattened()).for_each(|(a, b)| *a += b);
    }

    /// The cheapest maps.
    pub fn best(&self, family: &[Distribution]) -> Maps {
        std::array::from_fn(|set| std::array::from_fn(|band| best_map(&self.tokens[set][band], family)))
    }
}

fn row_bits(row: &[f64; TOKENS], distribution: &Distribution) -> f64 {
    row.iter().zip(&distribution.costs).map(|(n, bits)| n * bits).sum()
}

fn best_map(rows: &[[f64; TOKENS]; ROWS], family: &[Distribution]) -> [u8; ROWS] {
    let full: Vec<usize> = (0..ROWS).filter(|&r| rows[r].iter().sum::<f64>() >= LEAST_SYMBOLS).collect();
    std::array::from_fn(|row| {
        // A row that few symbols are in takes the next one's, at its own scale.
        let Some(&near) = full.iter().min_by_key(|near| near.abs_diff(row)) else { return 0 };
        let costs = family.iter().map(|distribution| row_bits(&rows[near], distribution));
        let best = costs.enumerate().min_by(|a, b| a.1.total_cmp(&b.1)).map_or(0, |(d, _)| d);
        let (shape, scale) = (best / SCALES, best % SCALES);
        let moved = (scale * ROWS_PER_OCTAVE + row * PER_OCTAVE).saturating_sub(near * PER_OCTAVE);
        (shape * SCALES + (moved / ROWS_PER_OCTAVE).min(SCALES - 1)) as u8
    })
}
