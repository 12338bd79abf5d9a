//! Chooses predictor, colour transform and cross-plane factors from a sample of the picture's rows.

use rayon::prelude::*;

use crate::entropy::BANDS;
use crate::geom::Size;
use crate::grid::Grid;
use crate::residual::{CrossPlane, MAX_CROSS, Quantiser};
use crate::upsample::cpu::{Parameters, Part};
use crate::upsample::encode::Bands;
use crate::upsample::rows::{PaddedRows, Rule, row_sums};
use crate::upsample::{Predictor, prediction_from_sum, row_mean};

/// About so many rows of quads are looked at.
const SAMPLE_ROWS: usize = 96;
/// Levels with fewer quads take no factors: they cost more than they save.
const LEAST_CROSS_QUADS: usize = 256;
/// Steps of iteratively reweighted least squares.
const FIT_STEPS: usize = 3;

/// One level of one plane as the encoder sees it before it is coded.
pub struct Level<'a> {
    /// The original.
    pub samples: &'a Grid<i32>,
    /// What V, H0 and H1 are in it.
    pub targets: &'a Bands,
    /// The level above, as decoders have it.
    pub lower: &'a Grid<i32>,
}

/// Residuals of the sampled rows, by band, with their rows of quads.
pub struct Sampled {
    rows: Vec<(usize, [Vec<i32>; BANDS])>,
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
    let (width, height) = (level.samples.width(), level.samples.height());
    let (columns, rows) = (level.lower.width(), level.lower.height());
    let step = (rows / SAMPLE_ROWS).max(1);
    let size = Size::new(columns as u32, rows as u32);
    let lower = Part { rect: size.rect(), size, grid: level.lower.clone() };
    let rule =
        |band| Rule { predictor: parameters.predictor, set: parameters.set, band, scale: parameters.scale };
    let rows: Vec<usize> = (step / 2..rows).step_by(step).collect();
    let residuals = |&y: &usize| {
        let mut out: [Vec<i32>; BANDS] = Default::default();
        let mut sums = vec![0; columns];
        if 2 * y + 1 < height {
            let mut window = PaddedRows::default();
            let last = (y as u32 + 3).min(size.height);
            window.fill_from(&lower, 0, (y as u32).saturating_sub(2)..last, columns);
            row_sums(&rule(0), &window.window(y as u32), 0, None, &mut sums);
            out[0] = difference(level.targets[0].row(y), &sums, parameters);
        }
        let means = original_means(level.samples, y);
        for half in 0..2.min(height - 2 * y) {
            let sums = &mut sums[..width / 2];
            let h0 = (half == 1).then(|| &level.targets[1].row(y)[..width / 2]);
            row_sums(&rule(1 + half), &means.window((2 * y + half) as u32), 0, h0, sums);
            out[1 + half] = difference(level.targets[1 + half].row(y), sums, parameters);
        }
        (y, out)
    };
    Sampled { rows: rows.par_iter().map(residuals).collect() }
}

fn difference(targets: &[i32], sums: &[i32], parameters: &Parameters) -> Vec<i32> {
    let one = |(&t, &sum): (&i32, &i32)| t.wrapping_sub(prediction_from_sum(sum, parameters.scale));
    targets.iter().zip(sums).map(one).collect()
}

/// Row means of the original around quad row `y`.
fn original_means(level: &Grid<i32>, y: usize) -> PaddedRows {
    let (width, height) = (level.width(), level.height());
    let (first, last) = ((2 * y).saturating_sub(2), (2 * y + 4).min(height));
    let mut rows = PaddedRows::default();
    rows.reset(width.div_ceil(2), first as u32, (last - first) as u32, height as u32);
    for y in first..last {
        let row = level.row(y);
        for (x, mean) in rows.row_mut(y as u32).iter_mut().enumerate() {
            *mean = row.get(2 * x + 1).map_or(row[2 * x], |&right| row_mean(row[2 * x], right));
        }
        rows.pad(y as u32);
    }
    rows
}

impl Sampled {
    /// Bits that the residuals cost, roughly: the logarithm of their magnitudes in steps.
    fn cost(&self, quantiser: &Quantiser) -> f64 {
        let band_cost = |(band, residuals): (usize, &Vec<i32>)| -> f64 {
            let scale = 16.0 / quantiser.steps[band] as f32;
            residuals.iter().map(|r| f64::from((1.0 + r.unsigned_abs() as f32 * scale).log2())).sum()
        };
        self.rows.iter().flat_map(|(_, bands)| bands.iter().enumerate()).map(band_cost).sum()
    }

    /// Factors by which these residuals follow those of the planes before (nearest first), by weighted least squares.
    pub fn cross_factors(&self, before: &[&Bands], quantiser: &Quantiser) -> CrossPlane {
        let quads = before.first().map_or(0, |b| b[0].data().len());
        let mut cross = CrossPlane { count: before.len().min(MAX_CROSS), ..CrossPlane::default() };
        if quads < LEAST_CROSS_QUADS {
            return CrossPlane::default();
        }
        for band in 0..BANDS {
            let fitted = self.fit(band, before, f64::from(quantiser.steps[band]) / 16.0);
            cross.factors[band] = fitted.map(|f| (f * 64.0).round().clamp(-127.0, 127.0) as i8);
        }
        if cross.factors == [[0; MAX_CROSS]; BANDS] { CrossPlane::default() } else { cross }
    }

    fn fit(&self, band: usize, before: &[&Bands], step: f64) -> [f64; MAX_CROSS] {
        let mut factors = [0.0; MAX_CROSS];
        for _ in 0..FIT_STEPS {
            // Normal equations of r = f0 x0 + f1 x1; the small diagonal keeps them solvable.
            let (mut xx, mut xr) = ([1e-3, 0.0, 1e-3], [0.0; 2]);
            for (y, residuals) in &self.rows {
                for (x, &r) in residuals[band].iter().enumerate() {
                    let value = |i: usize| before.get(i).map_or(0.0, |b| f64::from(b[band].row(*y)[x]));
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
