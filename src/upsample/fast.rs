//! Rebuilds tiles a row of one band at a time: the same result as `cpu.rs`.

use super::cpu::Parameters;
use super::rows::{PaddedRows, Rule, row_sums};
use super::{Predictor, flips_sign, prediction_from_sum, row_means, row_samples};
use crate::entropy::{Symbols, TileShape};
use crate::grid::Grid;
use crate::residual::MAX_CROSS;
use crate::simd::vectorised;

/// Rebuilds the samples of a tile from the samples of the level above that it covers and its symbols, which become its
/// residuals. `before` are the residuals of the planes before, nearest first.
pub fn rebuild(
    shape: &TileShape,
    lower: &Grid<i32>,
    symbols: &mut Symbols,
    before: &[&Symbols],
    parameters: &Parameters,
) -> Grid<i32> {
    let mut lower_rows = PaddedRows::default();
    lower_rows.fill_from(lower);
    let mut means = PaddedRows::default();
    means.reset(shape.columns, shape.height());
    let mut plane = Plane { parameters, before, symbols };
    let mut v = vec![0; shape.columns];
    for row in 0..shape.rows {
        let mean = lower.row(row);
        if row >= shape.v_rows {
            means.row_mut(2 * row).copy_from_slice(mean);
            means.pad(2 * row);
            continue;
        }
        plane.values(0, row, &lower_rows, row, None, &mut v);
        for (upper, (&mean, &v)) in means.row_mut(2 * row).iter_mut().zip(mean.iter().zip(&v)) {
            *upper = row_means(mean, v).0;
        }
        for (below, (&mean, &v)) in means.row_mut(2 * row + 1).iter_mut().zip(mean.iter().zip(&v)) {
            *below = row_means(mean, v).1;
        }
        means.pad(2 * row);
        means.pad(2 * row + 1);
    }
    plane.samples(shape, &means)
}

struct Plane<'a> {
    parameters: &'a Parameters,
    before: &'a [&'a Symbols],
    symbols: &'a mut Symbols,
}

impl Plane<'_> {
    /// The samples, from the row means and H0, H1.
    fn samples(&mut self, shape: &TileShape, means: &PaddedRows) -> Grid<i32> {
        let mut samples = Grid::new(shape.width(), shape.height());
        let (mut h0, mut h1) = (vec![0; shape.h_columns], vec![0; shape.h_columns]);
        for row in 0..shape.rows {
            self.values(1, row, means, 2 * row, None, &mut h0);
            put_row(means.row(2 * row), &h0, samples.row_mut(2 * row));
            if row < shape.v_rows {
                self.values(2, row, means, 2 * row + 1, Some(&h0), &mut h1);
                put_row(means.row(2 * row + 1), &h1, samples.row_mut(2 * row + 1));
            }
        }
        samples
    }

    /// The values of quad row `row` of a band, predicted from the window around row `centre` of `rows`.
    fn values(
        &mut self,
        band: usize,
        row: usize,
        rows: &PaddedRows,
        centre: usize,
        h0: Option<&[i32]>,
        values: &mut [i32],
    ) {
        let p = self.parameters;
        let rule = Rule { predictor: p.predictor, set: p.set, band, scale: p.scale };
        row_sums(&rule, &rows.window(centre), h0, values);
        let before: [&[i32]; MAX_CROSS] =
            std::array::from_fn(|i| self.before.get(i).map_or(&[][..], |plane| plane.row(band, row)));
        finish_row(p, band, &before, self.symbols.row_mut(band, row), values);
    }
}

/// Samples of a row from its means and H.
pub(super) fn put_row(means: &[i32], h: &[i32], out: &mut [i32]) {
    for ((out, &mean), &h) in out.chunks_exact_mut(2).zip(means).zip(h) {
        (out[0], out[1]) = row_samples(mean, h);
    }
    // The last quad of an odd level has no right half, and no H.
    if out.len() % 2 == 1 {
        out[out.len() - 1] = means[means.len() - 1];
    }
}

vectorised! {
/// Symbols → residuals, and sums → values.
fn finish_row(p: &Parameters, band: usize, before: &[&[i32]; MAX_CROSS], symbols: &mut [i32], sums: &mut [i32]) {
    let symbols = &mut symbols[..sums.len()];
    if !p.quantiser.is_lossless(band) {
        symbols.iter_mut().for_each(|r| *r = p.quantiser.dequantise(band, *r));
    } else if p.predictor != Predictor::None {
        for (r, &sum) in symbols.iter_mut().zip(sums.iter()) {
            let flip = i32::from(flips_sign(sum)).wrapping_neg();
            *r = (*r ^ flip).wrapping_sub(flip);
        }
    }
    for (value, &r) in sums.iter_mut().zip(symbols.iter()) {
        *value = prediction_from_sum(*value, p.scale).wrapping_add(r);
    }
    if p.cross.count == 1 {
        for (value, &near) in sums.iter_mut().zip(before[0]) {
            *value = value.wrapping_add(p.cross.predict(band, [near, 0], p.scale));
        }
    } else if p.cross.count == 2 {
        for ((value, &near), &far) in sums.iter_mut().zip(before[0]).zip(before[1]) {
            *value = value.wrapping_add(p.cross.predict(band, [near, far], p.scale));
        }
    }
}
}
