//! Chooses predictor, colour transform and cross-plane factors from a sample of the picture's rows.

use rayon::prelude::*;

use crate::entropy::BANDS;
use crate::grid::Grid;
use crate::residual::encode::quantise_row;
use crate::residual::{CrossPlane, MAX_CROSS, Quantiser};
use crate::upsample::cpu::Parameters;
use crate::upsample::encode::{pair_mean, row_targets};
use crate::upsample::rows::{PaddedRows, Rule, row_sums};
use crate::upsample::{Predictor, prediction_from_sum};

/// About so many rows of quads are looked at.
const SAMPLE_ROWS: usize = 96;
/// Levels with fewer values take no factors: they cost more than they save.
const LEAST_CROSS_VALUES: usize = 768;
/// Steps of iteratively reweighted least squares.
const FIT_STEPS: usize = 3;

/// One level of one plane as the encoder sees it before it is coded.
pub struct Level<'a> {
    /// The original.
    pub samples: &'a Grid<i32>,
    /// The level above, as decoders have it.
    pub lower: &'a Grid<i32>,
}

/// Rows of residuals, a vector for each band.
type RowResiduals = [Vec<i32>; BANDS];

/// Residuals of the sampled rows of quads.
pub struct Sampled {
    rows: Vec<RowResiduals>,
}

/// The predictor whose residuals are cheapest, and its sampled residuals.
pub fn predictor(level: &Level, candidates: &[Predictor], parameters: &Parameters) -> (Predictor, Sampled) {
    let try_one = |&predictor: &Predictor| {
        let sampled = sample_residuals(level, &Parameters { predictor, ..*parameters });
        (predictor, sampled.cost(&parameters.quantiser), sampled)
    };
    let tried = candidates.iter().map(try_one);
    let best = tried.reduce(|best, next| if next.1 < best.1 { next } else { best });
    match best {
        Some((predictor, _, sampled)) => (predictor, sampled),
        None => (
            Predictor::None,
            sample_residuals(level, &Parameters { predictor: Predictor::None, ..*parameters }),
        ),
    }
}

/// Residuals predicted from the original's row means: close to those of a closed loop, without its dependencies.
fn sample_residuals(level: &Level, parameters: &Parameters) -> Sampled {
    let (height, rows) = (level.samples.height(), level.lower.height());
    let step = (rows / SAMPLE_ROWS).max(1);
    let rule =
        |band| Rule { predictor: parameters.predictor, set: parameters.set, band, scale: parameters.scale };
    let rows: Vec<usize> = (step / 2..rows).step_by(step).collect();
    let residuals = |&y: &usize| {
        let below = (2 * y + 1 < height).then(|| level.samples.row(2 * y + 1));
        let targets = row_targets(level.samples.row(2 * y), below);
        let (lower, centre) = rows_around(level.lower, y, |row| row.to_vec());
        let (means, mean_centre) = rows_around(level.samples, 2 * y, |row| {
            (0..row.len().div_ceil(2)).map(|x| pair_mean(row, x)).collect()
        });
        let targets_h0 = targets[1].clone();
        let mut out = RowResiduals::default();
        for (band, targets) in targets.iter().enumerate().filter(|(_, targets)| !targets.is_empty()) {
            let (rows, centre) = if band == 0 { (&lower, centre) } else { (&means, mean_centre + band - 1) };
            let mut sums = vec![0; targets.len()];
            row_sums(&rule(band), &rows.window(centre), (band == 2).then_some(&targets_h0[..]), &mut sums);
            out[band] = difference(targets, &sums, parameters);
        }
        out
    };
    Sampled { rows: rows.par_iter().map(residuals).collect() }
}

/// Rows `y - 2` to `y + 3` of a grid, as far as it has them, each changed; and where among them row `y` is.
fn rows_around(grid: &Grid<i32>, y: usize, change: impl Fn(&[i32]) -> Vec<i32>) -> (PaddedRows, usize) {
    let (first, last) = (y.saturating_sub(2), (y + 4).min(grid.height()));
    let mut rows = PaddedRows::default();
    for row in first..last {
        let changed = change(grid.row(row));
        if row == first {
            rows.reset(changed.len(), last - first);
        }
        rows.row_mut(row - first).copy_from_slice(&changed);
        rows.pad(row - first);
    }
    (rows, y - first)
}

fn difference(targets: &[i32], sums: &[i32], parameters: &Parameters) -> Vec<i32> {
    let one = |(&t, &sum): (&i32, &i32)| t.wrapping_sub(prediction_from_sum(sum, parameters.scale));
    targets.iter().zip(sums).map(one).collect()
}

impl Sampled {
    /// Bits that the residuals cost, roughly: the logarithm of their magnitudes in steps.
    fn cost(&self, quantiser: &Quantiser) -> f64 {
        let band_cost = |(band, residuals): (usize, &Vec<i32>)| -> f64 {
            let scale = 16.0 / quantiser.steps[band] as f32;
            residuals.iter().map(|r| f64::from((1.0 + r.unsigned_abs() as f32 * scale).log2())).sum()
        };
        self.rows.iter().flat_map(|bands| bands.iter().enumerate()).map(band_cost).sum()
    }

    /// The residuals as decoders will have them.
    pub fn quantised(&self, quantiser: &Quantiser) -> Sampled {
        let one = |(band, residuals): (usize, &Vec<i32>)| {
            let mut symbols = vec![0; residuals.len()];
            quantise_row(quantiser, band, residuals, &mut symbols);
            symbols.iter().map(|&s| quantiser.dequantise(band, s)).collect()
        };
        let row = |bands: &RowResiduals| std::array::from_fn(|band| one((band, &bands[band])));
        Sampled { rows: self.rows.iter().map(row).collect() }
    }

    /// Factors by which these residuals follow those of the planes before (nearest first), by weighted least squares.
    pub fn cross_factors(&self, before: &[&Sampled], quantiser: &Quantiser) -> CrossPlane {
        let mut cross = CrossPlane { count: before.len().min(MAX_CROSS), ..CrossPlane::default() };
        let values: usize = self.rows.iter().flatten().map(Vec::len).sum();
        if values < LEAST_CROSS_VALUES {
            return CrossPlane::default();
        }
        for band in 0..BANDS {
            let fitted = self.fit(band, before, f64::from(quantiser.steps[band]) / 16.0);
            cross.factors[band] = fitted.map(|f| (f * 64.0).round().clamp(-127.0, 127.0) as i8);
        }
        if cross.factors == [[0; MAX_CROSS]; BANDS] { CrossPlane::default() } else { cross }
    }

    fn fit(&self, band: usize, before: &[&Sampled], step: f64) -> [f64; MAX_CROSS] {
        let mut factors = [0.0; MAX_CROSS];
        for _ in 0..FIT_STEPS {
            // Normal equations of r = f0 x0 + f1 x1; the small diagonal keeps them solvable.
            let (mut xx, mut xr) = ([1e-3, 0.0, 1e-3], [0.0; 2]);
            for (y, residuals) in self.rows.iter().enumerate() {
                for (x, &r) in residuals[band].iter().enumerate() {
                    let value = |i: usize| before.get(i).map_or(0.0, |b| f64::from(b.rows[y][band][x]));
                    let (r, x0, x1) = (f64::from(r), value(0), value(1));
                    let error = (r - factors[0] * x0 - factors[1] * x1).abs();
                    let weight = 1.0 / (error + 1.0 + 0.5 * step);
                    for (sum, term) in xx.iter_mut().zip([x0 * x0, x0 * x1, x1 * x1]) {
                        *sum += weight * term;
                    }
                    for (sum, x) in xr.iter_mut().zip([x0, x1]) {
                        *sum += weight * x * r;
                    }
                }
            }
            let determinant = xx[0] * xx[2] - xx[1] * xx[1];
            factors = if before.len() < 2 || determinant.abs() < 1e-9 {
                [xr[0] / xx[0], 0.0]
            } else {
                [(xr[0] * xx[2] - xr[1] * xx[1]) / determinant, (xr[1] * xx[0] - xr[0] * xx[1]) / determinant]
            };
        }
        factors
    }
}

/// Whether decorrelating three planes makes them cheaper, judged by the differences of neighbours in some rows.
pub fn colour_transform_pays(planes: [&Grid<i32>; 3]) -> bool {
    let (width, height) = (planes[0].width(), planes[0].height());
    let step = (height / (2 * SAMPLE_ROWS)).max(1);
    let (mut plain, mut transformed) = (0.0, 0.0);
    let bits = |d: i32| f64::from((1.0 + d.unsigned_abs() as f32).log2());
    for y in (0..height).step_by(step) {
        let rows = planes.map(|p| p.row(y));
        let at = |x: usize| rows.map(|row| row[x]);
        for x in 1..width {
            let (here, west) = (at(x), at(x - 1));
            let (a, b) = (crate::colour::ycocg_from_rgb(here), crate::colour::ycocg_from_rgb(west));
            for i in 0..3 {
                plain += bits(here[i].wrapping_sub(west[i]));
                transformed += bits(a[i].wrapping_sub(b[i]));
            }
        }
    }
    transformed < plain
}
