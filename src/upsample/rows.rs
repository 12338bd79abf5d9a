//! Sums of coefficient × difference for whole rows: what decoders and encoders for speed are built from.

use std::sync::LazyLock;

use super::{
    ACTIVITY_CAP, CLASSES, Coefficients, INNER, NEIGHBOURS, Predictor, SETS, Scale, class_from_sums, class_of,
};
use crate::entropy::BANDS;
use crate::grid::Grid;
use crate::simd::vectorised;

/// Columns around a window's centre.
const PAD: usize = 2;
/// Columns that inner loops handle at a time.
const BLOCK: usize = 16;
/// Columns that a window of 5 is rounded up to, so that its rows are whole vectors.
const WIDE: usize = 8;

/// Rows of a tile with `PAD` more columns on both sides (edges repeat) and room for whole blocks.
#[derive(Clone, Debug, Default)]
pub struct PaddedRows {
    columns: usize,
    rows: usize,
    stride: usize,
    data: Vec<i32>,
}

impl PaddedRows {
    /// Room for so many rows.
    pub fn reset(&mut self, columns: usize, rows: usize) {
        self.columns = columns;
        self.rows = rows;
        self.stride = columns.next_multiple_of(BLOCK) + 2 * PAD + WIDE;
        self.data.clear();
        self.data.resize(self.stride * rows, 0);
    }

    /// The columns of a row, to fill; then call [`Self::pad`].
    pub fn row_mut(&mut self, y: usize) -> &mut [i32] {
        &mut self.data[y * self.stride + PAD..][..self.columns]
    }

    /// The columns of a row.
    pub fn row(&self, y: usize) -> &[i32] {
        &self.data[y * self.stride + PAD..][..self.columns]
    }

    /// Repeats a row's edges outwards.
    pub fn pad(&mut self, y: usize) {
        let columns = self.columns;
        let row = &mut self.data[y * self.stride..][..columns + 2 * PAD];
        let (left, right) = (row[PAD], row[PAD + columns - 1]);
        row[..PAD].fill(left);
        row[PAD + columns..].fill(right);
    }

    /// Copies a grid.
    pub fn fill_from(&mut self, grid: &Grid<i32>) {
        self.reset(grid.width(), grid.height());
        for y in 0..grid.height() {
            self.row_mut(y).copy_from_slice(grid.row(y));
            self.pad(y);
        }
    }

    /// The five rows around row `y`, from `PAD` columns left of the first column on. Outside the tile its edge rows
    /// repeat.
    pub fn window(&self, y: usize) -> Window<'_> {
        std::array::from_fn(|i| {
            let row = (y + i).saturating_sub(PAD).min(self.rows - 1);
            &self.data[row * self.stride..][..self.stride]
        })
    }
}

/// Five padded rows.
pub type Window<'a> = [&'a [i32]; 5];

/// Coefficients as a 5 × 5 window with that of the centre, which makes differences of samples, rows padded to a vector.
#[derive(Clone, Default)]
struct Taps {
    window: [[i32; WIDE]; 5],
    h0: i32,
}

impl Taps {
    fn new(coefficients: &Coefficients) -> Self {
        let mut taps = Taps { h0: coefficients[NEIGHBOURS].into(), ..Taps::default() };
        let neighbours = &coefficients[..NEIGHBOURS];
        for (i, &c) in neighbours.iter().enumerate() {
            // Raster order without the centre.
            let at = if i < NEIGHBOURS / 2 { i } else { i + 1 };
            taps.window[at / 5][at % 5] = c.into();
        }
        taps.window[2][2] = -neighbours.iter().map(|&c| i32::from(c)).sum::<i32>();
        taps
    }

    fn all(predictor: Predictor, classes: usize) -> Vec<Taps> {
        let bands = (0..SETS).flat_map(|set| (0..BANDS).map(move |band| (set, band)));
        let places = bands.flat_map(|(set, band)| (0..classes).map(move |class| (set, band, class)));
        places.map(|(set, band, class)| Taps::new(predictor.coefficients(set, band, class))).collect()
    }
}

static COMPACT: LazyLock<Vec<Taps>> = LazyLock::new(|| Taps::all(Predictor::Compact, 1));
static LINEAR: LazyLock<Vec<Taps>> = LazyLock::new(|| Taps::all(Predictor::Linear, 1));
static CLASSED: LazyLock<Vec<Taps>> = LazyLock::new(|| Taps::all(Predictor::Classed, CLASSES));

/// How the values of a band are predicted.
#[derive(Clone, Copy, Debug)]
pub struct Rule {
    /// The predictor.
    pub predictor: Predictor,
    /// Its coefficient set.
    pub set: usize,
    /// 0 V, 1 H0, 2 H1.
    pub band: usize,
    /// Shifts for the depth.
    pub scale: Scale,
}

/// Writes the sums for the first columns of a window's centre row. `h0` holds the H0 of those columns when H1 is
/// predicted.
pub fn row_sums(rule: &Rule, window: &Window, h0: Option<&[i32]>, sums: &mut [i32]) {
    if rule.predictor == Predictor::None {
        return sums.fill(0);
    }
    if rule.scale.sample_shift > 0 {
        return deep_sums(rule, window, h0, sums);
    }
    let place = rule.set * BANDS + rule.band;
    match rule.predictor {
        Predictor::Compact => compact_sums(&COMPACT[place], window, h0, sums),
        Predictor::Linear => linear_sums(&LINEAR[place], window, h0, sums),
        _ => classed_sums(&CLASSED[place * CLASSES..][..CLASSES], window, rule.scale, h0, sums),
    }
}

vectorised! {
fn linear_sums(taps: &Taps, window: &Window, h0: Option<&[i32]>, sums: &mut [i32]) {
    sums_within::<2>(taps, window, h0, sums);
}
}

vectorised! {
fn compact_sums(taps: &Taps, window: &Window, h0: Option<&[i32]>, sums: &mut [i32]) {
    sums_within::<1>(taps, window, h0, sums);
}
}

/// Sums over the part of the windows that reaches so far from the centre.
#[inline(always)]
fn sums_within<const REACH: usize>(taps: &Taps, window: &Window, h0: Option<&[i32]>, sums: &mut [i32]) {
    let reached = PAD - REACH..=PAD + REACH;
    for (block, out) in sums.chunks_mut(BLOCK).enumerate() {
        let mut acc = [0i32; BLOCK];
        for (row, taps) in window[reached.clone()].iter().zip(&taps.window[reached.clone()]) {
            let row = &row[block * BLOCK..][..BLOCK + 2 * PAD];
            for k in reached.clone() {
                for (acc, &v) in acc.iter_mut().zip(&row[k..k + BLOCK]) {
                    *acc = acc.wrapping_add(v.wrapping_mul(taps[k]));
                }
            }
        }
        out.copy_from_slice(&acc[..out.len()]);
    }
    for (sum, &h0) in sums.iter_mut().zip(h0.unwrap_or_default()) {
        *sum = sum.wrapping_add(taps.h0.wrapping_mul(h0));
    }
}

vectorised! {
fn classed_sums(taps: &[Taps], window: &Window, scale: Scale, h0: Option<&[i32]>, sums: &mut [i32]) {
    for (block, out) in sums.chunks_mut(BLOCK).enumerate() {
        let Some(rows) = block_rows(window, block * BLOCK) else { return };
        let classes = classes(&rows, scale);
        let mut factors = [0i32; BLOCK];
        let mut all = [0i32; BLOCK];
        for i in 0..BLOCK {
            let taps = &taps[classes[i] as usize];
            let mut acc = [0i32; WIDE];
            for (row, taps) in rows.iter().zip(&taps.window) {
                for j in 0..WIDE {
                    acc[j] = acc[j].wrapping_add(row[i + j].wrapping_mul(taps[j]));
                }
            }
            all[i] = acc.iter().fold(0, |sum, &v| sum.wrapping_add(v));
            factors[i] = taps.h0;
        }
        if let Some(h0) = h0 {
            for ((out, &h0), factor) in all.iter_mut().zip(&h0[block * BLOCK..]).zip(factors) {
                *out = out.wrapping_add(factor.wrapping_mul(h0));
            }
        }
        out.copy_from_slice(&all[..out.len()]);
    }
}
}

/// Columns that a block of windows touches, and room for whole vectors.
type BlockRow = [i32; BLOCK + WIDE];

#[inline(always)]
fn block_rows<'a>(window: &Window<'a>, start: usize) -> Option<[&'a BlockRow; 5]> {
    let [a, b, c, d, e] = window.map(|row| row[start..].first_chunk());
    Some([a?, b?, c?, d?, e?])
}

/// The classes of a block of columns: [`class_of`] step by step, each for all columns at once.
#[inline(always)]
fn classes(rows: &[&BlockRow; 5], scale: Scale) -> [u32; BLOCK] {
    let difference = |row: usize, column: usize| -> [u32; BLOCK] {
        let mut out = [0; BLOCK];
        for i in 0..BLOCK {
            let d = rows[row][i + column].wrapping_sub(rows[2][i + 2]);
            out[i] = (d.unsigned_abs() >> scale.activity_shift).min(ACTIVITY_CAP);
        }
        out
    };
    let sum = |a: [u32; BLOCK], b: [u32; BLOCK]| -> [u32; BLOCK] {
        let mut out = a;
        for i in 0..BLOCK {
            out[i] += b[i];
        }
        out
    };
    let gh = sum(difference(2, 1), difference(2, 3));
    let gv = sum(difference(1, 2), difference(3, 2));
    let d1 = sum(difference(1, 1), difference(3, 3));
    let d2 = sum(difference(1, 3), difference(3, 1));
    let mut classes = [0; BLOCK];
    for i in 0..BLOCK {
        classes[i] = class_from_sums(gh[i], gv[i], d1[i], d2[i]);
    }
    classes
}

/// Samples deeper than 16 bits: differences are shifted one by one.
fn deep_sums(rule: &Rule, window: &Window, h0: Option<&[i32]>, sums: &mut [i32]) {
    for (x, sum) in sums.iter_mut().enumerate() {
        let centre = window[2][x + PAD];
        let neighbour = |i: usize| {
            let at = if i < NEIGHBOURS / 2 { i } else { i + 1 };
            window[at / 5][x + at % 5].wrapping_sub(centre)
        };
        let class = match rule.predictor {
            Predictor::Classed => class_of(INNER.map(neighbour), rule.scale) as usize,
            _ => 0,
        };
        let coefficients = rule.predictor.coefficients(rule.set, rule.band, class);
        let shift = rule.scale.sample_shift;
        let mut total = h0.map_or(0, |h0| i32::from(coefficients[NEIGHBOURS]).wrapping_mul(h0[x] >> shift));
        for (i, &c) in coefficients[..NEIGHBOURS].iter().enumerate() {
            total = total.wrapping_add(i32::from(c).wrapping_mul(neighbour(i) >> shift));
        }
        *sum = total;
    }
}
