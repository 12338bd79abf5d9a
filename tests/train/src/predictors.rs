//! Coefficients of the predictors, by iteratively reweighted least squares.

use stepwell::Grid;
use stepwell::entropy::BANDS;
use stepwell::entropy::token::{ROWS, row_of_bucket};
use stepwell::upsample::{COEFFICIENT_BITS, Coefficients, INNER, NEIGHBOURS, SETS};

use crate::contexts::{Weights, cells};
use crate::family::Distribution;
use crate::fit::Normal;
use crate::maps::Maps;
use crate::pictures::{Picture, for_each_tile};
use crate::tiles::{Bands, FEATURES, Sample, Tile};

/// Every so many-th quad of level 0 is learned from: it has three quarters of them all.
const LEVEL_0_STEP: usize = 3;
/// As many samples of all classes are added to each class's own.
const POOLED_SAMPLES: f64 = 1000.0;
/// Largest coefficient: sums of 25 products with differences of 18 bits stay inside 32 bits by far.
const MOST: f64 = 4095.0;
/// Residuals below this many grey levels are as good as none: rounding alone makes that much.
const SMOOTH: f64 = 1.0;
/// Fraction bits that residuals keep where their weight is looked up.
const FINE_BITS: u32 = 3;
/// Residuals from here on, in grey levels, weigh alike.
const MOST_GREYS: usize = 512;

/// Coefficients of a predictor, `[set][band][class]`.
pub struct Table {
    pub classes: usize,
    pub coefficients: Vec<Coefficients>,
}

impl Table {
    /// The coefficients of a class. A table without classes has but one.
    pub fn at(&self, set: usize, band: usize, class: usize) -> &Coefficients {
        &self.coefficients[(set * BANDS + band) * self.classes + class.min(self.classes - 1)]
    }
}

/// How much it matters that a value is predicted well.
pub enum Weighting<'a> {
    /// Less where the window is lively.
    Activity,
    /// As much as a smaller residual would save bits, to what a table leaves over now.
    Bits(&'a Table, &'a Slopes),
}

/// What bits depend on residuals, in each context.
pub struct Slopes {
    weights: Weights,
    /// `[set][band][row]`, then by residual.
    by_row: Vec<Vec<f64>>,
}

impl Slopes {
    /// In contexts that `weights` and `maps` make.
    ///
    /// A residual r costs about (|r| / width)^shape nats. The parabola that touches this from above at the r there is now
    /// has the curvature shape · |r|^(shape - 2) / width^shape: with that as weight, least squares bring the cost down.
    pub fn new(weights: Weights, maps: &Maps, family: &[Distribution]) -> Self {
        let curve = |&d: &u8| {
            let Distribution { shape, width, .. } = family[usize::from(d)];
            let scale = shape / libm::pow(width, shape);
            let greys = (0..MOST_GREYS << FINE_BITS).map(|i| i as f64 / f64::from(1 << FINE_BITS));
            greys.map(|r| scale * libm::pow(r * r + SMOOTH * SMOOTH, 0.5 * shape - 1.0)).collect()
        };
        Slopes { weights, by_row: maps.as_flattened().as_flattened().iter().map(curve).collect() }
    }

    fn weight(&self, set: usize, band: usize, row: u8, residual: i32) -> f64 {
        let curve = &self.by_row[(set * BANDS + band) * ROWS + usize::from(row)];
        curve
            [(residual.unsigned_abs() >> (COEFFICIENT_BITS - FINE_BITS)).min(curve.len() as u32 - 1) as usize]
    }

    /// Which row of distributions each symbol of a tile is coded with.
    fn rows(&self, tile: &Tile, residuals: &Bands<i32>) -> Bands<u8> {
        let mut rows: Bands<u8> = tile.bands();
        cells(&tile.shape, &tile.lossless_magnitudes(residuals), |cell| {
            let bucket = cell.bucket(tile.context_set(), &self.weights);
            rows[cell.place.band].set(cell.place.column, cell.place.row, row_of_bucket(bucket) as u8);
        });
        rows
    }
}

/// What a predictor looks at.
#[derive(Clone, Copy, PartialEq)]
pub enum Reach {
    /// The inner 3 × 3 of the window.
    Inner,
    /// All 5 × 5.
    Whole,
}

/// The best coefficients, for so many classes.
pub fn fit(pictures: &[Picture], reach: Reach, classes: usize, weighting: &Weighting) -> Table {
    let mut normals = vec![Normal::default(); SETS * BANDS * classes];
    let work = |tile: &Tile| (tile.coefficient_set(), tile_normals(tile, reach, classes, weighting));
    for_each_tile(pictures, work, |_, (set, tile)| {
        let sums = normals[set * BANDS * classes..].iter_mut().zip(&tile);
        sums.for_each(|(sum, normal)| sum.merge(normal, 1.0));
    });
    let mut coefficients = Vec::new();
    for normals in normals.chunks(classes) {
        let mut pool = Normal::default();
        normals.iter().for_each(|normal| pool.merge(normal, 1.0));
        let solve = |normal: &Normal| quantised(normal.clone().with_pool(&pool, POOLED_SAMPLES).solve());
        coefficients.extend(normals.iter().map(solve));
    }
    Table { classes, coefficients }
}

fn quantised(x: [f64; FEATURES]) -> Coefficients {
    x.map(|x| (x * f64::from(1 << COEFFICIENT_BITS)).round().clamp(-MOST, MOST) as i16)
}

fn tile_normals(tile: &Tile, reach: Reach, classes: usize, weighting: &Weighting) -> Vec<Normal> {
    let mut normals = vec![Normal::default(); BANDS * classes];
    let step = if tile.level == 0 { LEVEL_0_STEP } else { 1 };
    let set = tile.context_set();
    let mut add = |sample: &Sample, weight: f64| {
        let normal = &mut normals[sample.place.band * classes + sample.class.min(classes - 1)];
        let mut features = sample.features;
        if reach == Reach::Inner {
            // What is always 0 gets no coefficient.
            let outer = (0..NEIGHBOURS).filter(|i| !INNER.contains(i));
            outer.for_each(|i| features[i] = 0);
        }
        normal.add(&features, sample.target, weight);
    };
    match weighting {
        Weighting::Activity => {
            for band in 0..BANDS {
                tile.samples(band, step, |sample| add(sample, 1.0 / (activity(sample) + 1.5)));
            }
        }
        Weighting::Bits(table, slopes) => {
            let residuals = tile.residuals(table);
            let rows = slopes.rows(tile, &residuals);
            for band in 0..BANDS {
                let at = |grid: &Grid<i32>, s: &Sample| grid.at(s.place.column, s.place.row);
                tile.samples(band, step, |sample| {
                    let row = rows[band].at(sample.place.column, sample.place.row);
                    add(sample, slopes.weight(set, band, row, at(&residuals[band], sample)));
                });
            }
        }
    }
    normals
}

/// Mean difference in a window.
fn activity(sample: &Sample) -> f64 {
    let neighbours = &sample.features[..NEIGHBOURS];
    f64::from(neighbours.iter().map(|d| d.unsigned_abs()).sum::<u32>()) / NEIGHBOURS as f64
}
