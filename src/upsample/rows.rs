//! Sums of coefficient × difference for whole rows: what decoders and encoders for speed are built from.

use std::sync::LazyLock;

use super::cpu::Part;
use super::{CLASSES, INNER, NEIGHBOURS, Predictor, SETS, Scale, class_of};
use crate::entropy::BANDS;

/// Columns around a window's centre.
const PAD: usize = 2;
/// Columns that inner loops handle at a time.
const BLOCK: usize = 16;
/// Columns that a window of 5 is rounded up to, so that its rows are whole vectors.
const WIDE: usize = 8;

/// Rows of a plane with [`PAD`] more columns on both sides (edges repeat) and room for whole blocks.
#[derive(Clone, Debug, Default)]
pub struct PaddedRows {
    columns: usize,
    stride: usize,
    /// Which row of the plane the first row here is.
    first: u32,
    /// Rows of the whole plane.
    plane_rows: u32,
    data: Vec<i32>,
}

impl PaddedRows {
    /// Room for rows `first..first + rows` of a plane of `plane_rows` rows. Reuses memory.
    pub fn reset(&mut self, columns: usize, first: u32, rows: u32, plane_rows: u32) {
        self.columns = columns;
        self.stride = columns.next_multiple_of(BLOCK) + 2 * PAD + WIDE;
        (self.first, self.plane_rows) = (first, plane_rows);
        self.data.clear();
        self.data.resize(self.stride * rows as usize, 0);
    }

    /// The columns of a row, to fill; then call [`Self::pad`].
    pub fn row_mut(&mut self, y: u32) -> &mut [i32] {
        let start = (y - self.first) as usize * self.stride + PAD;
        &mut self.data[start..start + self.columns]
    }

    /// The columns of a row.
    pub fn row(&self, y: u32) -> &[i32] {
        &self.data[(y - self.first) as usize * self.stride + PAD..][..self.columns]
    }

    /// Repeats a row's edges outwards.
    pub fn pad(&mut self, y: u32) {
        let columns = self.columns;
        let row = &mut self.data[(y - self.first) as usize * self.stride..][..columns + 2 * PAD];
        let (left, right) = (row[PAD], row[PAD + columns - 1]);
        row[..PAD].fill(left);
        row[PAD + columns..].fill(right);
    }

    /// Copies columns `x..x + columns` of the rows that `part` has of those wanted.
    pub fn fill_from(&mut self, part: &Part, x: u32, y: std::ops::Range<u32>, columns: usize) {
        self.reset(columns, y.start, y.end - y.start, part.size.height);
        let from = (x - part.rect.x) as usize;
        for row in y {
            let source = part.grid.row((row - part.rect.y) as usize);
            self.row_mut(row).copy_from_slice(&source[from..from + columns]);
            self.pad(row);
        }
    }

    /// The five rows around row `y`, from [`PAD`] columns left of the first column on. Outside the plane its edge rows
    /// repeat.
    pub fn window(&self, y: u32) -> Window<'_> {
        std::array::from_fn(|i| {
            let row = (i64::from(y) + i as i64 - PAD as i64).clamp(0, i64::from(self.plane_rows) - 1) as usize;
            &self.data[(row - self.first as usize) * self.stride..][..self.stride]
        })
    }
}

/// Five padded rows.
pub type Window<'a> = [&'a [i32]; 5];

/// Coefficients as a 5 × 5 window with that of the centre, which makes differences of samples, rows padded to a vector.
type Taps = [[i32; WIDE]; 5];

struct Table {
    taps: Vec<Taps>,
}

static LINEAR: LazyLock<Table> = LazyLock::new(|| Table::new(Predictor::Linear, 1));
static CLASSED: LazyLock<Table> = LazyLock::new(|| Table::new(Predictor::Classed, CLASSES));

impl Table {
    fn new(predictor: Predictor, classes: usize) -> Self {
        let mut taps = Vec::new();
        for (set, band) in (0..SETS).flat_map(|set| (0..BANDS).map(move |band| (set, band))) {
            taps.extend((0..classes).map(|class| taps_from(&predictor.coefficients(set, band, class)[..NEIGHBOURS])));
        }
        Table { taps }
    }
}

fn taps_from(coefficients: &[i16]) -> Taps {
    let mut taps = Taps::default();
    for (i, &c) in coefficients.iter().enumerate() {
        // Raster order without the centre.
        let at = if i < NEIGHBOURS / 2 { i } else { i + 1 };
        taps[at / 5][at % 5] = c.into();
    }
    taps[2][2] = -coefficients.iter().map(|&c| i32::from(c)).sum::<i32>();
    taps
}

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

/// Writes the sums for columns `start..start + sums.len()` of a window's centre row. `h0` holds the H0 of those
/// columns when H1 is predicted.
pub fn row_sums(rule: &Rule, window: &Window, start: usize, h0: Option<&[i32]>, sums: &mut [i32]) {
    if rule.predictor == Predictor::None {
        return sums.fill(0);
    }
    let window: Window = window.map(|row| &row[start..]);
    if rule.scale.sample_shift > 0 {
        return deep_sums(rule, &window, h0, sums);
    }
    let place = rule.set * BANDS + rule.band;
    match rule.predictor {
        Predictor::Linear => linear_sums(&LINEAR.taps[place], &window, sums),
        _ => {
            let taps = &CLASSED.taps[place * CLASSES..][..CLASSES];
            classed_sums(taps, &window, rule.scale, sums);
        }
    }
    if let Some(h0) = h0 {
        add_h0(rule, &window, h0, sums);
    }
}

fn linear_sums(taps: &Taps, window: &Window, sums: &mut [i32]) {
    let mut start = 0;
    for out in sums.chunks_mut(BLOCK) {
        let mut acc = [0i32; BLOCK];
        for (row, taps) in window.iter().zip(taps) {
            let row = &row[start..start + BLOCK + 2 * PAD];
            for (k, &tap) in taps[..5].iter().enumerate() {
                for (acc, &v) in acc.iter_mut().zip(&row[k..k + BLOCK]) {
                    *acc = acc.wrapping_add(v.wrapping_mul(tap));
                }
            }
        }
        out.copy_from_slice(&acc[..out.len()]);
        start += BLOCK;
    }
}

fn classed_sums(taps: &[Taps], window: &Window, scale: Scale, sums: &mut [i32]) {
    let mut start = 0;
    for out in sums.chunks_mut(BLOCK) {
        let classes = classes(&window.map(|row| &row[start..start + BLOCK + 2 * PAD]), scale);
        for (i, (out, class)) in out.iter_mut().zip(classes).enumerate() {
            let taps = &taps[class as usize];
            let mut acc = [0i32; WIDE];
            for (row, taps) in window.iter().zip(taps) {
                let row = &row[start + i..start + i + WIDE];
                for ((acc, &v), &tap) in acc.iter_mut().zip(row).zip(taps) {
                    *acc = acc.wrapping_add(v.wrapping_mul(tap));
                }
            }
            *out = acc.iter().fold(0, |sum, &v| sum.wrapping_add(v));
        }
        start += BLOCK;
    }
}

/// The classes of a block of columns: [`class_of`], without branches so that it becomes vector code.
fn classes(window: &Window, scale: Scale) -> [u32; BLOCK] {
    let mut classes = [0; BLOCK];
    for (i, class) in classes.iter_mut().enumerate() {
        let centre = window[2][i + 2];
        let d = |row: usize, column: usize| window[row][i + column].wrapping_sub(centre);
        let inner = [d(1, 1), d(1, 2), d(1, 3), d(2, 1), d(2, 3), d(3, 1), d(3, 2), d(3, 3)];
        *class = class_of(inner, scale) as u32;
    }
    classes
}

/// H1 follows H0 by a factor: the class decides which.
fn add_h0(rule: &Rule, window: &Window, h0: &[i32], sums: &mut [i32]) {
    if rule.predictor == Predictor::Linear {
        let factor = i32::from(rule.predictor.coefficients(rule.set, rule.band, 0)[NEIGHBOURS]);
        for (sum, &h0) in sums.iter_mut().zip(h0) {
            *sum = sum.wrapping_add(factor.wrapping_mul(h0));
        }
        return;
    }
    for (start, (sums, h0)) in sums.chunks_mut(BLOCK).zip(h0.chunks(BLOCK)).enumerate() {
        let start = start * BLOCK;
        let classes = classes(&window.map(|row| &row[start..start + BLOCK + 2 * PAD]), rule.scale);
        for ((sum, &h0), class) in sums.iter_mut().zip(h0).zip(classes) {
            let factor = i32::from(rule.predictor.coefficients(rule.set, rule.band, class as usize)[NEIGHBOURS]);
            *sum = sum.wrapping_add(factor.wrapping_mul(h0));
        }
    }
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
            Predictor::Classed => class_of(INNER.map(neighbour), rule.scale),
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

