//! The inverse of upsampling: a level taken apart into the level above it and residuals.

use rayon::prelude::*;

use super::cpu::Parameters;
use super::fast::put_row;
use super::rows::{PaddedRows, Rule, row_sums};
use super::{Predictor, flips_sign, prediction_from_sum, quad_mean, row_mean, row_means};
use crate::entropy::{Symbols, TileShape};
use crate::grid::Grid;
use crate::residual::MAX_CROSS;
use crate::residual::encode::quantise_row;

/// The level above.
pub fn lower_level(level: &Grid<i32>) -> Grid<i32> {
    let (width, height) = (level.width(), level.height());
    let mut out = Grid::new(width.div_ceil(2), height.div_ceil(2));
    let columns = out.width();
    out.data_mut().par_chunks_mut(columns).enumerate().for_each(|(y, out)| {
        let upper = level.row(2 * y);
        let lower = (2 * y + 1 < height).then(|| level.row(2 * y + 1));
        for (x, out) in out.iter_mut().enumerate() {
            let above = pair_mean(upper, x);
            *out = lower.map_or(above, |lower| quad_mean(above, pair_mean(lower, x)));
        }
    });
    out
}

/// The mean of the pair of samples in column `x` of quads; of the one sample where there is no other.
pub fn pair_mean(row: &[i32], x: usize) -> i32 {
    row.get(2 * x + 1).map_or(row[2 * x], |&right| row_mean(row[2 * x], right))
}

/// What V, H0 and H1 are in rows of the original; `lower` is missing in the last row of an odd height.
pub fn row_targets(upper: &[i32], lower: Option<&[i32]>) -> [Vec<i32>; 3] {
    let columns = upper.len().div_ceil(2);
    let differences = |row: &[i32]| row.chunks_exact(2).map(|p| p[0].wrapping_sub(p[1])).collect();
    let Some(lower) = lower else { return [vec![], differences(upper), vec![]] };
    let v = (0..columns).map(|x| pair_mean(upper, x).wrapping_sub(pair_mean(lower, x))).collect();
    [v, differences(upper), differences(lower)]
}

/// A tile of a plane, analysed.
pub struct Analysed {
    /// What is coded.
    pub symbols: Symbols,
    /// What decoders will make of the tile.
    pub samples: Grid<i32>,
    /// The residuals as decoders will have them.
    pub residuals: Symbols,
}

/// Predicts, quantises and rebuilds a tile of the original from what decoders have of the level above.
pub fn analyse(
    original: &Grid<i32>,
    shape: &TileShape,
    lower: &Grid<i32>,
    before: &[&Symbols],
    parameters: &Parameters,
) -> Analysed {
    let mut coder =
        Coder { parameters, before, symbols: Symbols::new(shape), residuals: Symbols::new(shape) };
    let targets: Vec<[Vec<i32>; 3]> = (0..shape.rows)
        .map(|row| {
            row_targets(original.row(2 * row), (row < shape.v_rows).then(|| original.row(2 * row + 1)))
        })
        .collect();
    let mut lower_rows = PaddedRows::default();
    lower_rows.fill_from(lower);
    let mut means = Grid::new(shape.columns, shape.height());
    for (row, targets) in targets.iter().enumerate() {
        means.row_mut(2 * row).copy_from_slice(lower.row(row));
        if row < shape.v_rows {
            let v = coder.code(0, row, &lower_rows, row, None, &targets[0]);
            for (x, &v) in v.iter().enumerate() {
                let (upper, below) = row_means(lower.at(x, row), v);
                means.set(x, 2 * row, upper);
                means.set(x, 2 * row + 1, below);
            }
        }
    }
    let mut mean_rows = PaddedRows::default();
    mean_rows.fill_from(&means);
    let mut samples = Grid::new(shape.width(), shape.height());
    for (row, targets) in targets.iter().enumerate() {
        let h0 = coder.code(1, row, &mean_rows, 2 * row, None, &targets[1]);
        put_row(means.row(2 * row), &h0, samples.row_mut(2 * row));
        if row < shape.v_rows {
            let h1 = coder.code(2, row, &mean_rows, 2 * row + 1, Some(&h0), &targets[2]);
            put_row(means.row(2 * row + 1), &h1, samples.row_mut(2 * row + 1));
        }
    }
    Analysed { symbols: coder.symbols, samples, residuals: coder.residuals }
}

struct Coder<'a> {
    parameters: &'a Parameters,
    before: &'a [&'a Symbols],
    symbols: Symbols,
    residuals: Symbols,
}

impl Coder<'_> {
    /// Codes a row of a band; gives its values as decoders will have them.
    fn code(
        &mut self,
        band: usize,
        row: usize,
        rows: &PaddedRows,
        centre: usize,
        h0: Option<&[i32]>,
        targets: &[i32],
    ) -> Vec<i32> {
        let p = self.parameters;
        let rule = Rule { predictor: p.predictor, set: p.set, band, scale: p.scale };
        let mut sums = vec![0; targets.len()];
        row_sums(&rule, &rows.window(centre), h0, &mut sums);
        let others: [&[i32]; MAX_CROSS] =
            std::array::from_fn(|i| self.before.get(i).map_or(&[][..], |plane| plane.row(band, row)));
        let prediction = |x: usize, sum: i32| {
            let others = others.map(|row| row.get(x).copied().unwrap_or(0));
            prediction_from_sum(sum, p.scale).wrapping_add(p.cross.predict(band, others, p.scale))
        };
        let residuals = &mut self.residuals.row_mut(band, row)[..targets.len()];
        for (x, (residual, &target)) in residuals.iter_mut().zip(targets).enumerate() {
            *residual = target.wrapping_sub(prediction(x, sums[x]));
        }
        let symbols = &mut self.symbols.row_mut(band, row)[..targets.len()];
        if p.quantiser.is_lossless(band) {
            let flips = p.predictor != Predictor::None;
            for ((symbol, &residual), &sum) in symbols.iter_mut().zip(residuals.iter()).zip(&sums) {
                *symbol = if flips && flips_sign(sum) { residual.wrapping_neg() } else { residual };
            }
            return targets.to_vec();
        }
        quantise_row(&p.quantiser, band, residuals, symbols);
        for (x, (residual, &symbol)) in residuals.iter_mut().zip(symbols.iter()).enumerate() {
            *residual = p.quantiser.dequantise(band, symbol);
            sums[x] = prediction(x, sums[x]).wrapping_add(*residual);
        }
        sums
    }
}
