//! Coefficients of the predictors: iteratively reweighted least squares over all levels of all pictures.

use std::ops::Range;

use rayon::prelude::*;
use stepwell::Grid;
use stepwell::entropy::BANDS;
use stepwell::entropy::token::row_of_bucket;
use stepwell::entropy::token::ROWS;
use stepwell::upsample::{COEFFICIENT_BITS, Coefficients, INNER, NEIGHBOURS, SETS, Scale, class_of};

use crate::family::Distribution;
use crate::fit::{FEATURES, Normal};
use crate::maps::Maps;
use crate::pictures::{Mirror, Picture, PlaneLevel};
use crate::symbols::{TILE_ROWS, Weights, cells, magnitude, residuals, tile_rows};

/// Depth of the training pictures.
const BITS: u32 = 8;

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
        for (i, row) in window.iter().enumerate() {
            let row: &[i32; 5] = row[x..].first_chunk().unwrap();
            for (j, &v) in row.iter().enumerate() {
                let at = 5 * i + j;
                if at != NEIGHBOURS / 2 { features[at - usize::from(at > NEIGHBOURS / 2)] = v - centre; }
            }
        }
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

pub struct Lengths { pub weights: Weights, lut: Vec<Vec<f32>> }
impl Lengths {
    pub fn new(weights: &Weights, maps: &Maps, family: &[Distribution], delta: f64) -> Self {
        let mut lut = vec![];
        for s in 0..2 { for b in 0..BANDS { for r in 0..ROWS {
            let d = &family[usize::from(maps[s][b][r])];
            let scale = d.shape / libm::pow(d.width, d.shape);
            lut.push((0..4096).map(|i| { let e = f64::from(i) / 8.0; (scale * libm::pow(e * e + delta * delta, 0.5 * d.shape - 1.0)) as f32 }).collect());
        } } }
        Lengths { weights: *weights, lut }
    }
}

pub enum Weighting<'a> { Activity, Residual(&'a Table), Lengths(&'a Table, &'a Lengths) }

pub struct Pass<'a> { pub mirrors: &'a [Mirror], pub classes: usize, pub pseudo: f64, pub ridge: f64, pub step: usize, pub picture_power: f64 }

impl Pass<'_> {
pub fn run(&self, pictures: &[Picture], weighting: &Weighting) -> Table {
    let blank = Table::zero(self.classes);
    let mut normals = vec![Normal::default(); blank.coefficients.len()];
    for picture in pictures {
        let factor = libm::pow(1e6 / picture.pixels() as f64, self.picture_power);
        for (turn, &mirror) in self.mirrors.iter().enumerate() {
            let levels = picture.levels(mirror);
            let tasks: Vec<(&PlaneLevel, Range<usize>)> = levels.iter().flat_map(|l| tile_rows(l).map(move |y| (l, y))).collect();
            // Summed up in order, whatever the number of threads.
            for tasks in tasks.chunks(64) {
                let done: Vec<_> = tasks.par_iter().map(|(level, y)| self.task(level, y, weighting, turn)).collect();
                for ((level, _), done) in tasks.iter().zip(done) {
                    let first = blank.place(level.set, 0, 0);
                    normals[first..].iter_mut().zip(&done).for_each(|(a, b)| a.merge(b, factor));
                }
            }
        }
    }
    let mut table = blank;
    for set in 0..SETS { for band in 0..BANDS {
        let places = table.place(set, band, 0)..table.place(set, band, 0) + self.classes;
        let mut pool = Normal::default();
        normals[places.clone()].iter().for_each(|n| pool.merge(n, 1.0));
        for place in places {
            let mut normal = normals[place].clone();
            if self.classes > 1 { normal.merge(&pool, self.pseudo / pool.count); }
            let x = normal.solve(self.ridge, &[0.0; FEATURES]);
            table.coefficients[place] = x.map(|x| (x * f64::from(1 << COEFFICIENT_BITS)).round().clamp(-4095.0, 4095.0) as i16);
        }
    }}
    table
}

fn task(&self, level: &PlaneLevel, rows: &Range<usize>, weighting: &Weighting, turn: usize) -> Vec<Normal> {
    let classes = self.classes;
    let mut normals = vec![Normal::default(); BANDS * classes];
    let step = if level.level == 0 { self.step } else { 1 };
    let left = match weighting { Weighting::Activity => None, Weighting::Residual(t) | Weighting::Lengths(t, _) => Some(residuals(level, rows, t)) };
    let buckets = match (weighting, &left) { (Weighting::Lengths(_, l), Some(left)) => {
        let magnitudes: [Grid<u32>; BANDS] = std::array::from_fn(|b| Grid::from_vec(left[b].width(), left[b].height(), left[b].data().iter().map(|&e| magnitude(e)).collect()));
        let mut rows_of: [Grid<u8>; BANDS] = std::array::from_fn(|b| Grid::new(left[b].width(), left[b].height()));
        let set = level.context_set();
        cells(level, rows, &magnitudes, |c| rows_of[c.place.band].set(c.place.column, c.place.row, row_of_bucket(c.bucket(set, &l.weights)) as u8));
        Some(rows_of) }, _ => None };
    for band in 0..BANDS {
        let end = level.band_size(band).1.min(rows.end);
        for y in rows.start..end {
            let row = y - rows.start;
            samples(level, band, y, ((y + turn) % step, step), |x, s| {
                let class = s.class.min(classes - 1);
                let n = NEIGHBOURS + usize::from(band == 2);
                let activity = || s.features[..NEIGHBOURS].iter().map(|f| f.unsigned_abs()).sum::<u32>() as f64 / n as f64;
                let weight = match (weighting, &left, &buckets) {
                    (Weighting::Residual(_), Some(left), _) => 1.0 / (f64::from(magnitude(left[band].at(x, row))) + 0.5 + 0.15 * activity()),
                    (Weighting::Lengths(_, l), Some(left), Some(b)) => {
                        let e = (left[band].at(x, row).unsigned_abs() >> (COEFFICIENT_BITS - 3)).min(4095);
                        l.lut[(level.context_set() * BANDS + band) * ROWS + usize::from(b[band].at(x, row))][e as usize].into()
                    }
                    _ => 1.0 / (activity() + 1.5),
                };
                normals[band * classes + class].add(&s.features, s.target, weight);
            });
        }
    }
    normals
}
}
const _: usize = TILE_ROWS;
