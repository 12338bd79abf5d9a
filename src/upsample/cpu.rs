//! The reference of upsampling: one sample after the other, every window gathered anew. `fast.rs` is for speed.

use super::{
    Coefficients, INNER, NEIGHBOURS, Predictor, Scale, class_of, flips_sign, prediction_from_sum, row_means,
    row_samples,
};
use crate::container::{Header, LevelParams};
use crate::entropy::{Place, Symbols, TileShape};
use crate::grid::Grid;
use crate::residual::{CrossPlane, MAX_CROSS, Quantiser};

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

/// Rebuilds the samples of a tile from the samples of the level above that it covers and its symbols. `before` are the
/// residuals of the planes before, nearest first. Gives the samples, and the residuals for the planes that follow.
pub fn rebuild(
    shape: &TileShape,
    lower: &Grid<i32>,
    symbols: &Symbols,
    before: &[&Symbols],
    parameters: &Parameters,
) -> (Grid<i32>, Symbols) {
    let mut residuals = Symbols::new(shape);
    let mut value = |place: Place, window: &Window, h0: i32| {
        let sum = window.sum(parameters, place.band, h0);
        let residual = actual_residual(symbols.at(place), place.band, sum, parameters);
        residuals.set(place, residual);
        let mut others = [0; MAX_CROSS];
        others.iter_mut().zip(before).for_each(|(other, plane)| *other = plane.at(place));
        prediction_from_sum(sum, parameters.scale)
            .wrapping_add(parameters.cross.predict(place.band, others, parameters.scale))
            .wrapping_add(residual)
    };

    // The row means, two to a quad where it has a lower half.
    let mut means = Grid::new(shape.columns, shape.height());
    for row in 0..shape.rows {
        for column in 0..shape.columns {
            let mean = lower.at(column, row);
            if row >= shape.v_rows {
                means.set(column, 2 * row, mean);
                continue;
            }
            let v = value(Place { band: 0, row, column }, &Window::at(lower, column, row), 0);
            let (upper, below) = row_means(mean, v);
            means.set(column, 2 * row, upper);
            means.set(column, 2 * row + 1, below);
        }
    }

    let mut samples = Grid::new(shape.width(), shape.height());
    for row in 0..shape.rows {
        for column in 0..shape.columns {
            let mut h0 = 0;
            for half in 0..if row < shape.v_rows { 2 } else { 1 } {
                let y = 2 * row + half;
                let mean = means.at(column, y);
                if column >= shape.h_columns {
                    samples.set(2 * column, y, mean);
                    continue;
                }
                let h = value(Place { band: 1 + half, row, column }, &Window::at(&means, column, y), h0);
                let (left, right) = row_samples(mean, h);
                samples.set(2 * column, y, left);
                samples.set(2 * column + 1, y, right);
                h0 = h;
            }
        }
    }
    (samples, residuals)
}

/// Undoes quantisation and the sign rule, which only lossless bands with a predictor have.
fn actual_residual(symbol: i32, band: usize, sum: i32, p: &Parameters) -> i32 {
    let residual = p.quantiser.dequantise(band, symbol);
    let flipped = p.predictor != Predictor::None && p.quantiser.is_lossless(band) && flips_sign(sum);
    if flipped { residual.wrapping_neg() } else { residual }
}

/// Differences of a 5 × 5 window to its centre. Outside of the tile its edges repeat.
struct Window {
    differences: [i32; NEIGHBOURS],
}

impl Window {
    fn at(tile: &Grid<i32>, x: usize, y: usize) -> Self {
        let centre = tile.at(x, y);
        let mut differences = [0; NEIGHBOURS];
        let places =
            (-2..=2).flat_map(|dy| (-2..=2).map(move |dx| (dx, dy))).filter(|&place| place != (0, 0));
        for (difference, (dx, dy)) in differences.iter_mut().zip(places) {
            *difference = tile.clamped(x as isize + dx, y as isize + dy).wrapping_sub(centre);
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
