//! The reference of upsampling: one sample after the other, every window gathered anew. `fast.rs` is for speed.

use super::{
    Coefficients, INNER, NEIGHBOURS, Predictor, Scale, child_rect, class_of, flips_sign, has_band,
    mean_quads, mean_rect, prediction_from_sum, row_means, row_samples,
};
use crate::container::{Header, LevelParams};
use crate::entropy::BANDS;
use crate::geom::{Rect, Size};
use crate::grid::Grid;
use crate::residual::{CrossPlane, MAX_CROSS, Quantiser};

/// A grid that holds the part `rect` of a plane of size `size`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Part {
    /// Which part.
    pub rect: Rect,
    /// Size of the whole.
    pub size: Size,
    /// Its values.
    pub grid: Grid<i32>,
}

impl Part {
    /// All zero.
    pub fn new(rect: Rect, size: Size) -> Self {
        Part { rect, size, grid: Grid::new(rect.width as usize, rect.height as usize) }
    }

    /// The value at (`x`, `y`) of the whole; outside of the whole its edges repeat.
    ///
    /// # Panics
    /// If that place is not in the part.
    pub fn at(&self, x: i64, y: i64) -> i32 {
        let x = x.clamp(0, i64::from(self.size.width) - 1) - i64::from(self.rect.x);
        let y = y.clamp(0, i64::from(self.size.height) - 1) - i64::from(self.rect.y);
        self.grid.at(x as usize, y as usize)
    }

    /// Sets the value at (`x`, `y`) of the whole.
    pub fn set(&mut self, x: u32, y: u32, value: i32) {
        self.grid.set((x - self.rect.x) as usize, (y - self.rect.y) as usize, value);
    }
}

/// How one level of one plane is rebuilt.
#[derive(Clone, Copy, Debug)]
pub struct Parameters {
    /// The predictor.
    pub predictor: Predictor,
    /// Its coefficient set.
    pub set: usize,
    /// Shifts for the plane's depth.
    pub scale: Scale,
    /// Quantiser steps.
    pub quantiser: Quantiser,
    /// What comes from the planes before.
    pub cross: CrossPlane,
}

impl Parameters {
    /// Those of a level of a plane of a file.
    pub fn new(header: &Header, params: &LevelParams, plane: usize) -> Self {
        Parameters {
            predictor: params.predictor,
            set: params.coefficient_set,
            scale: Scale::for_bits(header.coded_bits(plane)),
            quantiser: params.quantiser,
            cross: params.cross,
        }
    }
}

/// One level of one plane, rebuilt.
pub struct Rebuilt {
    /// The samples.
    pub samples: Part,
    /// The residuals of the bands, for the planes that follow.
    pub residuals: [Part; BANDS],
}

/// Rebuilds the samples of `quads` in a level of size `level` from the level above it and its symbols, which must
/// cover [`mean_quads`] of them. `before` are the residuals of the planes before, nearest first.
pub fn rebuild(
    level: Size,
    quads: Rect,
    lower: &Part,
    symbols: &[Part; BANDS],
    before: &[&[Part; BANDS]],
    parameters: &Parameters,
) -> Rebuilt {
    let all = level.at_level(1);
    let mean_quads = mean_quads(quads, all);
    let mut residuals = symbols.clone();
    let mut value = |band: usize, x: u32, y: u32, window: &Window, h0: i32| {
        let sum = window.sum(parameters, band, h0);
        let residual = actual_residual(symbols[band].at(x.into(), y.into()), band, sum, parameters);
        residuals[band].set(x, y, residual);
        let mut others = [0; MAX_CROSS];
        others.iter_mut().zip(before).for_each(|(o, b)| *o = b[band].at(x.into(), y.into()));
        let shift = parameters.scale.sample_shift;
        prediction_from_sum(sum, parameters.scale)
            .wrapping_add(parameters.cross.predict(band, others, shift))
            .wrapping_add(residual)
    };

    let mut means = Part::new(mean_rect(mean_quads, level), Size { width: all.width, height: level.height });
    for y in mean_quads.y..mean_quads.bottom() {
        for x in mean_quads.x..mean_quads.right() {
            let mean = lower.at(x.into(), y.into());
            if has_band(0, (x, y), level) {
                let v = value(0, x, y, &Window::at(lower, x, y), 0);
                let (upper, below) = row_means(mean, v);
                means.set(x, 2 * y, upper);
                means.set(x, 2 * y + 1, below);
            } else {
                means.set(x, 2 * y, mean);
            }
        }
    }

    let mut samples = Part::new(child_rect(quads, level), level);
    for y in quads.y..quads.bottom() {
        for x in quads.x..quads.right() {
            let mut h0 = 0;
            for half in 0..if has_band(0, (x, y), level) { 2 } else { 1 } {
                let row = 2 * y + half;
                let mean = means.at(x.into(), row.into());
                if !has_band(1, (x, y), level) {
                    samples.set(2 * x, row, mean);
                    continue;
                }
                let h = value(1 + half as usize, x, y, &Window::at(&means, x, row), h0);
                h0 = h;
                let (left, right) = row_samples(mean, h);
                samples.set(2 * x, row, left);
                samples.set(2 * x + 1, row, right);
            }
        }
    }
    Rebuilt { samples, residuals }
}

/// Undoes quantisation and the sign rule, which only lossless bands with a predictor have.
fn actual_residual(symbol: i32, band: usize, sum: i32, p: &Parameters) -> i32 {
    let residual = p.quantiser.dequantise(band, symbol);
    let flipped = p.predictor != Predictor::None && p.quantiser.is_lossless(band) && flips_sign(sum);
    if flipped { residual.wrapping_neg() } else { residual }
}

/// Differences of a 5 × 5 window to its centre.
struct Window {
    differences: [i32; NEIGHBOURS],
}

impl Window {
    fn at(part: &Part, x: u32, y: u32) -> Self {
        let centre = part.at(x.into(), y.into());
        let mut differences = [0; NEIGHBOURS];
        let places =
            (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy))).filter(|&place| place != (0, 0));
        for (difference, (dx, dy)) in differences.iter_mut().zip(places) {
            *difference = part.at(i64::from(x) + dx, i64::from(y) + dy).wrapping_sub(centre);
        }
        Window { differences }
    }

    fn sum(&self, p: &Parameters, band: usize, h0: i32) -> i32 {
        let class = match p.predictor {
            Predictor::Classed => class_of(INNER.map(|i| self.differences[i]), p.scale) as usize,
            _ => 0,
        };
        let coefficients: &Coefficients = p.predictor.coefficients(p.set, band, class);
        let mut sum = 0i32;
        for (&c, &d) in coefficients.iter().zip(&self.differences) {
            sum = sum.wrapping_add(i32::from(c).wrapping_mul(d >> p.scale.sample_shift));
        }
        sum.wrapping_add(i32::from(coefficients[NEIGHBOURS]).wrapping_mul(h0 >> p.scale.sample_shift))
    }
}
