//! What a symbol's distribution is chosen from: magnitudes already decoded in the same tile.
//!
//! Nothing outside the tile is looked at, so that all tiles of all levels can be decoded at once.

use super::lanes::TileShape;
use super::tables::WEIGHTS;
use super::token::{MAGNITUDE_CAP, bucket_from_high_sum, bucket_from_sum};
use crate::grid::Grid;

/// Bands of a level in coding order: V (difference of the row means), H0 and H1 (differences inside each row).
pub const BANDS: usize = 3;
/// Terms of the weighted sum, in the order of the weight tables.
pub const TERMS: usize = 9;

/// From here on, the sum over magnitudes shifted right by 12 is the more exact one.
const HIGH_SUM: u32 = 1 << 19;

/// The context magnitudes of a tile.
pub struct Contexts {
    shape: TileShape,
    /// Magnitudes of samples deeper than 16 bits do not fit the capped sum: they are summed once more, shifted.
    deep: bool,
    magnitudes: [Grid<u32>; BANDS],
}

/// Where in a tile a symbol stands.
#[derive(Clone, Copy, Debug)]
pub struct Place {
    /// 0 V, 1 H0, 2 H1.
    pub band: usize,
    /// Row of quads.
    pub row: usize,
    /// Column of quads.
    pub column: usize,
}

impl Contexts {
    /// For a tile with nothing decoded yet.
    pub fn new(shape: TileShape, deep: bool) -> Self {
        let magnitudes = std::array::from_fn(|_| Grid::new(shape.columns, shape.rows));
        Contexts { shape, deep, magnitudes }
    }

    /// The bucket of the symbol at `place`, for context set `set` (0 luma-like, 1 chroma-like).
    pub fn bucket(&self, set: usize, place: Place) -> u32 {
        let weights = &WEIGHTS[set][place.band][place.column & 1][usize::from(place.row == 0)];
        if self.deep {
            let high = self.sum(weights, place, |m| m >> 12);
            if high >= HIGH_SUM {
                return bucket_from_high_sum(high);
            }
        }
        bucket_from_sum(self.sum(weights, place, |m| m.min(MAGNITUDE_CAP)))
    }

    /// Notes the context magnitude of the symbol at `place`.
    pub fn set(&mut self, place: Place, magnitude: u32) {
        self.magnitudes[place.band].set(place.column, place.row, magnitude);
    }

    fn sum(&self, weights: &[u32; TERMS], place: Place, scale: impl Fn(u32) -> u32) -> u32 {
        let Place { band, row, column } = place;
        let at = |band: usize, row: usize, column: usize| scale(self.magnitudes[band].at(column, row));
        // Outside the tile its edge columns repeat.
        let (left, right) = (column.saturating_sub(1), (column + 1).min(self.shape.columns - 1));
        let sides = |band: usize, row: usize| at(band, row, left) + at(band, row, right);
        let mut terms = [1, 0, 0, 0, 0, 0, 0, 0, 0];
        if row > 0 {
            terms[1] = at(band, row - 1, column);
            terms[2] = sides(band, row - 1);
            terms[3] = at(band, row.saturating_sub(2), column);
            terms[8] = at((band + 1) % BANDS, row - 1, column) + at((band + 2) % BANDS, row - 1, column);
        }
        if column % 2 == 1 {
            // The last column has no right neighbour, and so counts its left one twice.
            terms[4] = at(band, row, left) + at(band, row, if column < right { right } else { left });
        }
        if band > 0 {
            terms[5] = at(0, row, column);
            terms[7] = sides(0, row);
        }
        if band > 1 {
            terms[6] = at(1, row, column);
            terms[7] += sides(1, row);
        }
        weights.iter().zip(terms).map(|(w, t)| w * t).sum()
    }
}

/// Calls `code` with place and lane of every symbol of a tile in coding order: row, band, phase, lane.
pub fn walk(shape: &TileShape, mut code: impl FnMut(Place, usize)) {
    let per_lane = shape.columns_per_lane();
    for row in 0..shape.rows {
        for band in 0..BANDS {
            let columns = shape.band_columns(band, row);
            for &phase in shape.phases() {
                for (lane, column) in (phase..columns).step_by(per_lane).enumerate() {
                    code(Place { band, row, column }, lane);
                }
            }
        }
    }
}
