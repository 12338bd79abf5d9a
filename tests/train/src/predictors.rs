//! Coefficients of the predictors: iteratively reweighted least squares over all levels of all pictures.

use rayon::prelude::*;
use stepwell::entropy::BANDS;
use stepwell::upsample::{
    CLASSES, COEFFICIENT_BITS, Coefficients, INNER, NEIGHBOURS, SETS, Scale, class_of, prediction_from_sum,
};

use crate::fit::{FEATURES, Normal};
use crate::pictures::{Mirror, Picture, PlaneLevel};

/// Depth of the training pictures.
const BITS: u32 = 8;
/// Rows of quads that one task takes.
const TASK_ROWS: usize = 32;
/// Every so many-th quad of level 0 is looked at: it has three quarters of them all.
const LEVEL_0_STEP: usize = 3;

/// Coefficients `[set][band][class]`.
#[derive(Clone)]
pub struct Table {
    pub classes: usize,
    pub coefficients: Vec<Coefficients>,
}

impl Table {
    pub fn zero(classes: usize) -> Self {
        Table { classes, coefficients: vec![[0; FEATURES]; SETS * BANDS * classes] }
    }
    pub fn at(&self, set: usize, band: usize, class: usize) -> &Coefficients {
        &self.coefficients[self.place(set, band, class)]
    }
    fn place(&self, set: usize, band: usize, class: usize) -> usize {
        (set * BANDS + band) * self.classes + class.min(self.classes - 1)
    }
}

pub struct Sample {
    pub features: [i32; FEATURES],
    pub target: i32,
    pub class: usize,
}

pub fn samples(level: &PlaneLevel, band: usize, y: usize, step: (usize, usize), mut visit: impl FnMut(usize, &Sample)) {
    let (columns, _) = level.band_size(band);
    let window = level.window(band, y);
    let targets = level.targets[band].row(y);
    let scale = Scale::for_bits(BITS);
    for x in (step.0..columns).step_by(step.1) {
        let mut features = [0; FEATURES];
        let centre = window[2][x + 2];
        let values = window.iter().flat_map(|row| &row[x..x + 5]).enumerate().filter(|&(i, _)| i != NEIGHBOURS / 2);
        features.iter_mut().zip(values).for_each(|(f, (_, &v))| *f = v - centre);
        let class = class_of(INNER.map(|i| features[i]), scale) as usize;
        if band == 2 {
            features[NEIGHBOURS] = level.targets[1].row(y)[x];
        }
        visit(x, &Sample { features, target: targets[x], class });
    }
}

pub fn sum(coefficients: &Coefficients, features: &[i32; FEATURES]) -> i32 {
    coefficients.iter().zip(features).map(|(&c, &f)| i32::from(c) * f).sum()
}

/// One pass.
pub fn pass(pictures: &[Picture], mirrors: &[Mirror], before: Option<&Table>, classes: usize, prior: Option<&Table>, ridge: f64) -> Table {
    let blank = Table::zero(classes);
    let mut normals = vec![Normal::default(); blank.coefficients.len()];
    for picture in pictures {
        for &mirror in mirrors {
            let levels = picture.levels(mirror);
            let tasks: Vec<(&PlaneLevel, usize)> = levels.iter().flat_map(|l| (0..l.quads().height as usize).step_by(TASK_ROWS).map(move |y| (l, y))).collect();
            // Summed up in order, whatever the number of threads.
            for tasks in tasks.chunks(64) {
                let done: Vec<_> = tasks.par_iter().map(|(level, y)| task(level, *y, before, classes)).collect();
                for ((level, _), done) in tasks.iter().zip(done) {
                    let first = blank.place(level.set, 0, 0);
                    normals[first..].iter_mut().zip(&done).for_each(|(a, b)| a.merge(b));
                }
            }
        }
    }
    let mut table = blank;
    for set in 0..SETS { for band in 0..BANDS { for class in 0..classes {
        let place = table.place(set, band, class);
        let prior = prior.map_or([0.0; FEATURES], |p| p.at(set, band, 0).map(|c| f64::from(c) / f64::from(1 << COEFFICIENT_BITS)));
        let x = normals[place].solve(ridge, &prior);
        table.coefficients[place] = x.map(|x| (x * f64::from(1 << COEFFICIENT_BITS)).round().clamp(-4095.0, 4095.0) as i16);
    }}}
    table
}

fn task(level: &PlaneLevel, first: usize, before: Option<&Table>, classes: usize) -> Vec<Normal> {
    let mut normals = vec![Normal::default(); BANDS * classes];
    let step = if level.level == 0 { LEVEL_0_STEP } else { 1 };
    for band in 0..BANDS {
        let (_, rows) = level.band_size(band);
        for y in first..(first + TASK_ROWS).min(rows) {
            samples(level, band, y, (y % step, step), |_, s| {
                let class = s.class.min(classes - 1);
                let n = NEIGHBOURS + usize::from(band == 2);
                let activity = s.features[..NEIGHBOURS].iter().map(|f| f64::from(f.unsigned_abs())).sum::<f64>() / n as f64;
                let weight = match before {
                    None => 1.0 / (activity + 1.5),
                    Some(t) => {
                        let p = prediction_from_sum(sum(t.at(level.set, band, class), &s.features), Scale::for_bits(BITS));
                        1.0 / (f64::from((s.target - p).unsigned_abs()) + 0.5 + 0.15 * activity)
                    }
                };
                normals[band * classes + class].add(&s.features, s.target, weight);
            });
        }
    }
    normals
}
pub const ALL: usize = CLASSES;
