//! What predictors leave over, and the contexts that it is coded in.

use std::ops::Range;

use stepwell::Grid;
use stepwell::decode::tile::tile_shape;
use stepwell::entropy::context::{TERMS, walk};
use stepwell::entropy::token::{bucket_from_sum, context_magnitude, token_from_magnitude};
use stepwell::entropy::{BANDS, Place, TileShape};
use stepwell::upsample::COEFFICIENT_BITS;

use crate::pictures::PlaneLevel;
use crate::predictors::{Table, samples, sum};

/// Tiles have 2^this quads a side.
const TILE_LOG2: u32 = 6;
/// Rows of quads that a row of tiles has.
pub const TILE_ROWS: usize = 1 << TILE_LOG2;

/// Weights of the context sum: `[set][band][column parity][first row][term]`.
pub type Weights = [[[[[u32; TERMS]; 2]; 2]; BANDS]; 2];

/// Residuals of a row of tiles with the fraction that rounding drops, in units of 2^-[`COEFFICIENT_BITS`].
pub type Residuals = [Grid<i32>; BANDS];

/// A symbol in its context.
pub struct Cell {
    /// Its place in the row of tiles.
    pub place: Place,
    /// Whether it stands in an odd column, and in the first row of its tile.
    pub kind: (usize, usize),
    /// Terms of the context sum.
    pub terms: [u32; TERMS],
    /// Its magnitude.
    pub magnitude: u32,
}

impl Cell {
    /// Its bucket.
    pub fn bucket(&self, set: usize, weights: &Weights) -> u32 {
        let weights = &weights[set][self.place.band][self.kind.0][self.kind.1];
        bucket_from_sum(weights.iter().zip(self.terms).map(|(w, t)| w * t).sum())
    }
}

/// The quad rows of each row of tiles of a level.
pub fn tile_rows(level: &PlaneLevel) -> impl Iterator<Item = Range<usize>> + use<> {
    let rows = level.quads().height as usize;
    (0..rows).step_by(TILE_ROWS).map(move |y| y..(y + TILE_ROWS).min(rows))
}

/// What the predictor `table` leaves over.
pub fn residuals(level: &PlaneLevel, rows: &Range<usize>, table: &Table) -> Residuals {
    let columns = level.quads().width as usize;
    std::array::from_fn(|band| {
        let mut out = Grid::new(columns, rows.len());
        for y in rows.start..rows.end.min(level.band_size(band).1) {
            let out = out.row_mut(y - rows.start);
            samples(level, band, y, (0, 1), |x, sample| {
                let sum = sum(table.at(level.set, band, sample.class), &sample.features);
                out[x] = (sample.target << COEFFICIENT_BITS) - sum;
            });
        }
        out
    })
}

/// The magnitude that is coded for a residual.
pub fn magnitude(residual: i32) -> u32 {
    (((1 << (COEFFICIENT_BITS - 1)) - residual) >> COEFFICIENT_BITS).unsigned_abs()
}

/// Visits the symbols of a row of tiles in coding order, but for lanes that are all zero.
pub fn cells(level: &PlaneLevel, rows: &Range<usize>, magnitudes: &[Grid<u32>; BANDS], mut visit: impl FnMut(&Cell)) {
    let tiles = level.quads().width.div_ceil(1 << TILE_LOG2);
    for tile in 0..tiles {
        let (quads, shape) = tile_shape(TILE_LOG2, level.size, (tile, (rows.start / TILE_ROWS) as u32));
        let first = quads.x as usize;
        let at = |place: Place| magnitudes[place.band].at(first + place.column, place.row);
        let mut live = vec![false; shape.lanes()];
        walk(&shape, |place, lane| live[lane] |= at(place) != 0);
        let mut around = Neighbours::new(shape);
        walk(&shape, |place, lane| {
            if !live[lane] {
                return;
            }
            let magnitude = at(place);
            let terms = around.terms(place);
            around.set(place, magnitude);
            let kind = (place.column % 2, usize::from(place.row == 0));
            visit(&Cell { place: Place { column: first + place.column, ..place }, kind, terms, magnitude });
        });
    }
}

/// Context magnitudes of a tile: the terms that [`stepwell::entropy::context`] sums up.
struct Neighbours {
    shape: TileShape,
    magnitudes: [Grid<u32>; BANDS],
}

impl Neighbours {
    fn new(shape: TileShape) -> Self {
        Neighbours { shape, magnitudes: std::array::from_fn(|_| Grid::new(shape.columns, shape.rows)) }
    }

    fn set(&mut self, place: Place, magnitude: u32) {
        let context = context_magnitude(token_from_magnitude(magnitude).symbol, 0);
        self.magnitudes[place.band].set(place.column, place.row, context);
    }

    fn terms(&self, place: Place) -> [u32; TERMS] {
        let Place { band, row, column } = place;
        let at = |band: usize, row: usize, column: usize| self.magnitudes[band].at(column, row);
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
        terms
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell::entropy::context::Contexts;
    use stepwell::entropy::tables::WEIGHTS;

    #[test]
    fn terms_are_those_of_the_codec() {
        for shape in [(64, 64), (5, 3), (2, 1), (1, 9)] {
            let shape = TileShape { columns: shape.0, rows: shape.1, h_columns: shape.0, v_rows: shape.1 };
            let (mut ours, mut theirs) = (Neighbours::new(shape), Contexts::new(shape, false));
            let mut random = 1u32;
            walk(&shape, |place, _| {
                let kind = (place.column % 2, usize::from(place.row == 0));
                let cell = Cell { place, kind, terms: ours.terms(place), magnitude: 0 };
                assert_eq!(cell.bucket(1, &WEIGHTS), theirs.bucket(1, place));
                random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                let magnitude = random >> 24;
                ours.set(place, magnitude);
                theirs.set(place, context_magnitude(token_from_magnitude(magnitude).symbol, 0));
            });
        }
    }
}
