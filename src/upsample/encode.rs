//! The inverse of upsampling: a level taken apart into the level above it and residuals.

use super::rows::{PaddedRows, Rule, row_sums};
use super::{Predictor, flips_sign, prediction_from_sum, quad_mean, row_mean, row_means, row_samples};
use crate::entropy::BANDS;
use crate::geom::Size;
use crate::grid::Grid;
use crate::residual::MAX_CROSS;
use crate::residual::encode::quantise_row;
use crate::upsample::cpu::{Parameters, Part};
use rayon::prelude::*;

/// The level above.
pub fn lower_level(level: &Grid<i32>) -> Grid<i32> {
    let (width, height) = (level.width(), level.height());
    let mut out = Grid::new(width.div_ceil(2), height.div_ceil(2));
    let columns = out.width();
    out.data_mut().par_chunks_mut(columns).enumerate().for_each(|(y, out)| {
        let upper = level.row(2 * y);
        let lower = if 2 * y + 1 < height { level.row(2 * y + 1) } else { upper };
        for (x, out) in out.iter_mut().enumerate() {
            let mean = |row: &[i32]| {
                if 2 * x + 1 < width { row_mean(row[2 * x], row[2 * x + 1]) } else { row[2 * x] }
            };
            *out = if 2 * y + 1 < height { quad_mean(mean(upper), mean(lower)) } else { mean(upper) };
        }
    });
    out
}

/// A band of a level, as wide and high as the level's quads.
pub type Bands = [Grid<i32>; BANDS];

/// What V, H0 and H1 are in the original; zero where a quad has no such band.
pub fn targets(level: &Grid<i32>) -> Bands {
    let (width, height) = (level.width(), level.height());
    let (columns, rows) = (width.div_ceil(2), height.div_ceil(2));
    let [mut v, mut h0, mut h1] = std::array::from_fn(|_| Grid::new(columns, rows));
    let rows = v.data_mut().par_chunks_mut(columns).zip(h0.data_mut().par_chunks_mut(columns));
    rows.zip(h1.data_mut().par_chunks_mut(columns)).enumerate().for_each(|(y, ((v, h0), h1))| {
        let (upper, lower) = (level.row(2 * y), (2 * y + 1 < height).then(|| level.row(2 * y + 1)));
        for x in 0..columns {
            let pair = |row: &[i32]| (row[2 * x], row.get(2 * x + 1).copied().unwrap_or(row[2 * x]));
            let (a, b) = pair(upper);
            h0[x] = a.wrapping_sub(b);
            if let Some(lower) = lower {
                let (c, d) = pair(lower);
                h1[x] = c.wrapping_sub(d);
                v[x] = row_mean(a, b).wrapping_sub(row_mean(c, d));
            }
        }
    });
    [v, h0, h1]
}

/// A level of a plane, analysed.
pub struct Analysed {
    /// What is coded.
    pub symbols: Bands,
    /// What decoders will make of the level.
    pub samples: Grid<i32>,
    /// The residuals as decoders will have them.
    pub residuals: Bands,
}

/// Predicts, quantises and rebuilds a level from what decoders have of the level above.
pub fn analyse(
    targets: &Bands,
    size: Size,
    lower: &Grid<i32>,
    before: &[&Bands],
    parameters: &Parameters,
) -> Analysed {
    let (columns, rows) = (lower.width(), lower.height());
    let (width, height) = (size.width as usize, size.height as usize);
    let coder = BandCoder { parameters, before };
    let lower_rows = padded(lower);

    // V first: all it takes is the level above.
    let mut symbols: Bands = std::array::from_fn(|_| Grid::new(columns, rows));
    let mut residuals = symbols.clone();
    let mut means = Grid::new(columns, height);
    let [symbols_v, symbols_h0, symbols_h1] = &mut symbols;
    let [residuals_v, residuals_h0, residuals_h1] = &mut residuals;
    means
        .data_mut()
        .par_chunks_mut(2 * columns)
        .zip(symbols_v.data_mut().par_chunks_mut(columns))
        .zip(residuals_v.data_mut().par_chunks_mut(columns))
        .enumerate()
        .for_each(|(y, ((means, symbols), residuals))| {
            let (upper, below) = means.split_at_mut(columns);
            upper.copy_from_slice(lower.row(y));
            if below.is_empty() {
                return;
            }
            let mut line = Line { target: targets[0].row(y), symbols, residuals, values: vec![0; columns] };
            coder.code(0, y, &lower_rows, y as u32, None, &mut line);
            for ((upper, below), &v) in upper.iter_mut().zip(below).zip(&line.values) {
                (*upper, *below) = row_means(*upper, v);
            }
        });

    let means = padded(&means);
    let pairs = width / 2;
    let mut samples = Grid::new(width, height);
    samples
        .data_mut()
        .par_chunks_mut(2 * width)
        .zip(symbols_h0.data_mut().par_chunks_mut(columns).zip(symbols_h1.data_mut().par_chunks_mut(columns)))
        .zip(
            residuals_h0
                .data_mut()
                .par_chunks_mut(columns)
                .zip(residuals_h1.data_mut().par_chunks_mut(columns)),
        )
        .enumerate()
        .for_each(|(y, ((samples, (symbols0, symbols1)), (residuals0, residuals1)))| {
            let mut h0 = Vec::new();
            let bands = [(symbols0, residuals0), (symbols1, residuals1)];
            for (half, (out, (symbols, residuals))) in samples.chunks_mut(width).zip(bands).enumerate() {
                let row = (2 * y + half) as u32;
                let mut line = Line {
                    target: &targets[1 + half].row(y)[..pairs],
                    symbols: &mut symbols[..pairs],
                    residuals: &mut residuals[..pairs],
                    values: vec![0; pairs],
                };
                coder.code(1 + half, y, &means, row, (half == 1).then_some(&h0), &mut line);
                for ((out, &mean), &h) in out.chunks_exact_mut(2).zip(means.row(row)).zip(&line.values) {
                    (out[0], out[1]) = row_samples(mean, h);
                }
                if width % 2 == 1 {
                    out[width - 1] = means.row(row)[columns - 1];
                }
                h0 = line.values;
            }
        });
    Analysed { symbols, samples, residuals }
}

fn padded(grid: &Grid<i32>) -> PaddedRows {
    let size = Size::new(grid.width() as u32, grid.height() as u32);
    let part = Part { rect: size.rect(), size, grid: grid.clone() };
    let mut rows = PaddedRows::default();
    rows.fill_from(&part, 0, 0..size.height, grid.width());
    rows
}

/// One row of one band.
struct Line<'a> {
    target: &'a [i32],
    symbols: &'a mut [i32],
    residuals: &'a mut [i32],
    /// The band's values as decoders will have them.
    values: Vec<i32>,
}

struct BandCoder<'a> {
    parameters: &'a Parameters,
    before: &'a [&'a Bands],
}

impl BandCoder<'_> {
    fn code(
        &self,
        band: usize,
        y: usize,
        rows: &PaddedRows,
        row: u32,
        h0: Option<&Vec<i32>>,
        line: &mut Line,
    ) {
        let p = self.parameters;
        let rule = Rule { predictor: p.predictor, set: p.set, band, scale: p.scale };
        let sums = &mut line.values;
        row_sums(&rule, &rows.window(row), 0, h0.map(Vec::as_slice), sums);
        let before: [&[i32]; MAX_CROSS] =
            std::array::from_fn(|i| self.before.get(i).map_or(&[][..], |b| b[band].row(y)));
        let prediction = |x: usize, sum: i32| {
            let others = before.map(|row| row.get(x).copied().unwrap_or(0));
            prediction_from_sum(sum, p.scale).wrapping_add(p.cross.predict(
                band,
                others,
                p.scale.sample_shift,
            ))
        };
        for (x, (&target, &sum)) in line.target.iter().zip(sums.iter()).enumerate() {
            line.residuals[x] = target.wrapping_sub(prediction(x, sum));
        }
        if p.quantiser.is_lossless(band) {
            let flips = p.predictor != Predictor::None;
            for ((symbol, &r), &sum) in line.symbols.iter_mut().zip(line.residuals.iter()).zip(sums.iter()) {
                *symbol = if flips && flips_sign(sum) { r.wrapping_neg() } else { r };
            }
            sums.copy_from_slice(line.target);
            return;
        }
        quantise_row(&p.quantiser, band, line.residuals, line.symbols);
        for (x, sum) in sums.iter_mut().enumerate() {
            line.residuals[x] = p.quantiser.dequantise(band, line.symbols[x]);
            *sum = prediction(x, *sum).wrapping_add(line.residuals[x]);
        }
    }
}
