//! Fits the tile coder's tables to what will be coded, where that saves more than it costs.

use crate::container::params::map_bytes;
use crate::entropy::BANDS;
use crate::entropy::distribution::COSTS;
use crate::entropy::encode::Cell;
use crate::entropy::model::{SIGN_GROUPS, SKEWED_MAGNITUDES, SignSkews, TileModel};
use crate::entropy::tables::DISTRIBUTIONS;
use crate::entropy::token::{
    NARROW_LIMIT, ROWS, TOKENS, row_of_bucket, shift_of_bucket, token_from_magnitude,
};

/// A row keeps its default distribution unless another saves so many bits: a byte in the file and a little more.
const LEAST_ROW_GAIN: f32 = 8.0;
/// A band keeps even signs unless skews save so many bits: six bytes in the file and a little more.
const LEAST_SIGN_GAIN: f64 = 56.0;

/// How often each token and sign comes in each context.
#[derive(Clone)]
pub struct Histogram {
    tokens: Box<[[[u32; TOKENS]; ROWS]; BANDS]>,
    /// `[band][group][magnitude - 1][negative]`
    signs: [[[[u32; 2]; SKEWED_MAGNITUDES]; SIGN_GROUPS]; BANDS],
    /// All magnitudes, joined by or.
    magnitudes: u32,
}

impl Default for Histogram {
    fn default() -> Self {
        Histogram { tokens: Box::new([[[0; TOKENS]; ROWS]; BANDS]), signs: Default::default(), magnitudes: 0 }
    }
}

impl Histogram {
    /// Counts a symbol.
    pub fn add(&mut self, cell: Cell) {
        let magnitude = cell.value.unsigned_abs();
        let shift = shift_of_bucket(cell.bucket);
        let token = token_from_magnitude(magnitude >> shift);
        self.magnitudes |= magnitude;
        self.tokens[cell.band][row_of_bucket(cell.bucket)][token.symbol as usize] += 1;
        if shift == 0 && (1..=SKEWED_MAGNITUDES as u32).contains(&magnitude) {
            let counts = &mut self.signs[cell.band][cell.bucket as usize / 4][magnitude as usize - 1];
            counts[usize::from(cell.value < 0)] += 1;
        }
    }

    /// Adds what another has counted.
    pub fn merge(mut self, other: &Self) -> Self {
        let both = self
            .tokens
            .as_flattened_mut()
            .as_flattened_mut()
            .iter_mut()
            .zip(other.tokens.as_flattened().as_flattened());
        both.for_each(|(a, b)| *a += b);
        let both = self.signs.as_flattened_mut().as_flattened_mut().as_flattened_mut().iter_mut();
        both.zip(other.signs.as_flattened().as_flattened().as_flattened()).for_each(|(a, b)| *a += b);
        self.magnitudes |= other.magnitudes;
        self
    }

    /// The cheapest model for what has been counted. `skewed` says of each band whether signs may be skewed.
    pub fn fit(&self, set: usize, deep: bool, skewed: bool) -> TileModel {
        let mut model = TileModel::default_for(set, deep);
        model.wide = self.magnitudes > NARROW_LIMIT;
        for band in 0..BANDS {
            let default = model.maps[band];
            let (map, gain) = fit_map(&self.tokens[band], &default);
            if gain > 8.0 * map_bytes(&map, &default) as f32 {
                model.maps[band] = map;
            }
            if skewed {
                model.signs[band] = fit_signs(&self.signs[band]);
            }
        }
        model
    }
}

fn fit_map(tokens: &[[u32; TOKENS]; ROWS], default: &[u8; ROWS]) -> ([u8; ROWS], f32) {
    let (mut map, mut gain) = (*default, 0.0);
    for (row, counts) in tokens.iter().enumerate().filter(|(_, counts)| counts.iter().any(|&n| n > 0)) {
        let cost = |d: usize| -> f32 { counts.iter().zip(&COSTS[d]).map(|(&n, bits)| n as f32 * bits).sum() };
        let costs = (0..DISTRIBUTIONS).map(|d| (d, cost(d)));
        let Some((best, bits)) = costs.min_by(|a, b| a.1.total_cmp(&b.1)) else { continue };
        let saved = cost(map[row].into()) - bits;
        if saved > LEAST_ROW_GAIN {
            map[row] = best as u8;
            gain += saved;
        }
    }
    (map, gain)
}

fn fit_signs(counts: &[[[u32; 2]; SKEWED_MAGNITUDES]; SIGN_GROUPS]) -> SignSkews {
    let (mut skews, mut gain) = (SignSkews::default(), 0.0);
    for (skews, counts) in skews.as_flattened_mut().iter_mut().zip(counts.as_flattened()) {
        let [plus, minus] = counts.map(f64::from);
        let total = plus + minus;
        if total == 0.0 {
            continue;
        }
        let skew = ((plus / total - 0.5) * 32.0).round().clamp(0.0, 15.0);
        let p = 0.5 + skew / 32.0;
        gain += total + plus * p.log2() + minus * (1.0 - p).log2();
        *skews = skew as u8;
    }
    if gain > LEAST_SIGN_GAIN { skews } else { SignSkews::default() }
}
