//! Rebuilds strips of a level, a row of one band at a time: the same result as `cpu.rs`.

use super::cpu::{Parameters, Part};
use super::rows::{PaddedRows, Rule, row_sums};
use super::{
    Predictor, child_rect, flips_sign, lower_rect, mean_quads, prediction_from_sum, row_means, row_samples,
};
use crate::entropy::BANDS;
use crate::geom::{Rect, Size};
use crate::residual::MAX_CROSS;

/// Gives rows of symbols.
pub trait SymbolRows: Sync {
    /// Copies the symbols of quad row `y`, columns `x..x + out.len()`.
    fn copy(&self, plane: usize, band: usize, x: u32, y: u32, out: &mut [i32]);
}

/// Some rows of samples of all planes of a group.
pub struct Strip {
    /// Which part of the level.
    pub rect: Rect,
    /// Its samples, a plane each.
    pub planes: Vec<Vec<i32>>,
}

/// Residuals of one plane, row by row: V for all quads whose means are needed, H0 and H1 for those rebuilt.
struct Residuals {
    rows: [Vec<i32>; BANDS],
}

/// Rebuilds the samples of `quads`.
pub fn rebuild_strip(
    level: Size,
    quads: Rect,
    lower: &[Part],
    symbols: &dyn SymbolRows,
    parameters: &[Parameters],
) -> Strip {
    let all = level.at_level(1);
    let mut strip = Strip { rect: child_rect(quads, level), planes: Vec::with_capacity(lower.len()) };
    let mut done: Vec<Residuals> = Vec::with_capacity(lower.len());
    let work = Work { level, all, quads, mean_quads: mean_quads(quads, all), symbols };
    for (plane, (lower, parameters)) in lower.iter().zip(parameters).enumerate() {
        let count = parameters.cross.count;
        let mut band_work = Plane {
            work: &work,
            plane,
            parameters,
            before: done[plane - count..].iter().rev().collect(),
            residuals: work.no_residuals(),
        };
        let means = band_work.means(lower);
        strip.planes.push(band_work.samples(&means, strip.rect));
        let residuals = band_work.residuals;
        done.push(residuals);
    }
    strip
}

struct Work<'a> {
    level: Size,
    all: Size,
    quads: Rect,
    mean_quads: Rect,
    symbols: &'a dyn SymbolRows,
}

impl Work<'_> {
    fn no_residuals(&self) -> Residuals {
        let size = |rect: Rect| vec![0; rect.width as usize * rect.height as usize];
        Residuals { rows: [size(self.mean_quads), size(self.quads), size(self.quads)] }
    }

    /// The quads that a band's residuals are kept for.
    fn band_quads(&self, band: usize) -> Rect {
        if band == 0 { self.mean_quads } else { self.quads }
    }
}

struct Plane<'a> {
    work: &'a Work<'a>,
    plane: usize,
    parameters: &'a Parameters,
    before: Vec<&'a Residuals>,
    residuals: Residuals,
}

impl Plane<'_> {
    /// The row means of the quads, from the level above and V.
    fn means(&mut self, lower: &Part) -> PaddedRows {
        let work = self.work;
        let around = lower_rect(work.quads, work.all);
        let columns = around.width as usize;
        let mut lower_rows = PaddedRows::default();
        lower_rows.fill_from(lower, around.x, around.y..around.bottom(), columns);
        let quads = work.mean_quads;
        let rect = super::mean_rect(quads, work.level);
        let mut means = PaddedRows::default();
        means.reset(rect.width as usize, rect.y, rect.height, work.level.height);
        let offset = (quads.x - around.x) as usize;
        let mut v = vec![0; quads.width as usize];
        for y in quads.y..quads.bottom() {
            let mean = &lower_rows.row(y)[offset..][..quads.width as usize];
            means.row_mut(2 * y).copy_from_slice(mean);
            if 2 * y + 1 < work.level.height {
                self.values(0, y, &lower_rows, y, offset, None, &mut v);
                for (upper, &v) in means.row_mut(2 * y).iter_mut().zip(&v) {
                    *upper = row_means(*upper, v).0;
                }
                for ((below, &mean), &v) in means.row_mut(2 * y + 1).iter_mut().zip(mean).zip(&v) {
                    *below = row_means(mean, v).1;
                }
                means.pad(2 * y + 1);
            }
            means.pad(2 * y);
        }
        means
    }

    /// The samples, from the row means and H0, H1.
    fn samples(&mut self, means: &PaddedRows, rect: Rect) -> Vec<i32> {
        let work = self.work;
        let quads = work.quads;
        let offset = (quads.x - work.mean_quads.x) as usize;
        let width = rect.width as usize;
        // The last quad of an odd level has no right half, and no H.
        let mut h = [vec![0; width / 2], vec![0; width / 2]];
        let mut samples = vec![0; width * rect.height as usize];
        for (row, out) in (rect.y..).zip(samples.chunks_exact_mut(width)) {
            let (first, second) = h.split_at_mut(1);
            let (h, h0) =
                if row % 2 == 0 { (&mut first[0], None) } else { (&mut second[0], Some(&first[0][..])) };
            self.values(1 + (row % 2) as usize, row / 2, means, row, offset, h0, h);
            let mean = &means.row(row)[offset..][..quads.width as usize];
            for ((out, &mean), &h) in out.chunks_exact_mut(2).zip(mean).zip(h.iter()) {
                (out[0], out[1]) = row_samples(mean, h);
            }
            if width % 2 == 1 {
                out[width - 1] = mean[width / 2];
            }
        }
        samples
    }

    /// The values of quad row `y` of a band, predicted from the window around row `row` of `rows`.
    #[expect(clippy::too_many_arguments, reason = "a row of a band is just that many things")]
    fn values(
        &mut self,
        band: usize,
        y: u32,
        rows: &PaddedRows,
        row: u32,
        offset: usize,
        h0: Option<&[i32]>,
        values: &mut [i32],
    ) {
        let p = self.parameters;
        let quads = self.work.band_quads(band);
        let rule = Rule { predictor: p.predictor, set: p.set, band, scale: p.scale };
        row_sums(&rule, &rows.window(row), offset, h0, values);
        let start = (y - quads.y) as usize * quads.width as usize;
        let residuals = &mut self.residuals.rows[band][start..][..values.len()];
        self.work.symbols.copy(self.plane, band, quads.x, y, residuals);
        if !p.quantiser.is_lossless(band) {
            residuals.iter_mut().for_each(|r| *r = p.quantiser.dequantise(band, *r));
        } else if p.predictor != Predictor::None {
            for (r, &sum) in residuals.iter_mut().zip(values.iter()) {
                let flip = i32::from(flips_sign(sum)).wrapping_neg();
                *r = (*r ^ flip).wrapping_sub(flip);
            }
        }
        for (value, &r) in values.iter_mut().zip(residuals.iter()) {
            *value = prediction_from_sum(*value, p.scale).wrapping_add(r);
        }
        if p.cross.count > 0 {
            let before: [&[i32]; MAX_CROSS] = std::array::from_fn(|i| {
                // A factor of 0 goes with a plane that is not there.
                let plane = self.before.get(i).unwrap_or(&self.before[0]);
                &plane.rows[band][start..][..values.len()]
            });
            for ((value, &near), &far) in values.iter_mut().zip(before[0]).zip(before[1]) {
                *value = value.wrapping_add(p.cross.predict(band, [near, far], p.scale.sample_shift));
            }
        }
    }
}
