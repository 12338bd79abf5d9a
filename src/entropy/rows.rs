//! Contexts for whole rows: [`super::context`] for speed.
//!
//! Even and odd columns are kept apart: all even columns come before the odd ones, whatever the columns of a lane, and
//! see nothing of each other, so that the sums of a half become vector code.

use super::context::{BANDS, TERMS};
use super::lanes::TileShape;
use super::tables::WEIGHTS;
use crate::simd::vectorised;

/// Even (and odd) columns of the largest tile, and so the most lanes a tile has.
pub const HALF: usize = 32;
/// A half with a border on both sides, in whole vectors.
const STRIDE: usize = HALF + 16;
/// Where its first column stands.
const FIRST: usize = 8;
/// Context magnitudes of a row, its even and its odd columns.
#[derive(Clone, Copy)]
struct Magnitudes {
    even: [u32; STRIDE],
    odd: [u32; STRIDE],
}

const NO_MAGNITUDES: Magnitudes = Magnitudes { even: [0; STRIDE], odd: [0; STRIDE] };

impl Magnitudes {
    /// Repeats the edge columns outwards.
    fn pad(&mut self, columns: usize) {
        self.odd[FIRST - 1] = self.even[FIRST];
        let half = columns / 2;
        if columns.is_multiple_of(2) {
            self.even[FIRST + half] = self.odd[FIRST + half - 1];
        } else {
            self.odd[FIRST + half] = self.even[FIRST + half];
        }
    }

    /// A half's own columns, and those left and right of them.
    #[inline(always)]
    fn half(&self, odd: bool) -> [&[u32; HALF]; 3] {
        if odd {
            [window(&self.odd, FIRST), window(&self.even, FIRST), window(&self.even, FIRST + 1)]
        } else {
            [window(&self.even, FIRST), window(&self.odd, FIRST - 1), window(&self.odd, FIRST)]
        }
    }
}

#[inline(always)]
fn window(columns: &[u32; STRIDE], start: usize) -> &[u32; HALF] {
    columns[start..].first_chunk().unwrap_or(&[0; HALF])
}

/// The context magnitudes that the next row needs: of each band the current row and the two above it, by turns.
pub struct RowContexts {
    set: usize,
    columns: usize,
    /// By band: columns of a row that has the band, and rows that have it.
    extent: [(usize, usize); BANDS],
    magnitudes: [[Magnitudes; 3]; BANDS],
}

impl RowContexts {
    /// For a tile with nothing decoded yet.
    #[inline(always)]
    pub fn new(shape: &TileShape, set: usize) -> Self {
        let extent =
            [(shape.columns, shape.v_rows), (shape.h_columns, shape.rows), (shape.h_columns, shape.v_rows)];
        RowContexts { set, columns: shape.columns, extent, magnitudes: [[NO_MAGNITUDES; 3]; BANDS] }
    }

    /// To be called before a band's row.
    #[inline(always)]
    pub fn start_row(&mut self, band: usize, row: usize) {
        self.magnitudes[band][row % 3] = NO_MAGNITUDES;
    }

    /// The buckets of the symbols of a half (0 even columns, 1 odd ones), and how many there are.
    #[inline(always)]
    pub fn buckets(&mut self, band: usize, row: usize, half: usize, buckets: &mut [u32; HALF]) -> usize {
        let (columns, rows) = self.extent[band];
        let count = if row < rows { (columns + 1 - half) / 2 } else { 0 };
        if half == 1 && self.columns.is_multiple_of(2) {
            // The last column has no right neighbour, and so counts its left one twice.
            let here = &mut self.magnitudes[band][row % 3];
            let last = FIRST + self.columns / 2;
            here.even[last] = here.even[last - 1];
        }
        bucket_row(self.set, band, row, half, count, &self.magnitudes, buckets);
        count
    }

    /// Where the context magnitudes of a half go.
    #[inline(always)]
    pub fn half_mut(&mut self, band: usize, row: usize, half: usize) -> &mut [u32] {
        let row = &mut self.magnitudes[band][row % 3];
        let columns = if half == 0 { &mut row.even } else { &mut row.odd };
        &mut columns[FIRST..]
    }

    /// To be called after a band's row.
    #[inline(always)]
    pub fn finish_row(&mut self, band: usize, row: usize) {
        self.magnitudes[band][row % 3].pad(self.columns);
    }
}

vectorised! {
/// [`RowContexts::buckets`] for callers that are not compiled for wide vectors themselves.
pub fn half_buckets(
    contexts: &mut RowContexts,
    band: usize,
    row: usize,
    half: usize,
    buckets: &mut [u32; HALF],
    count: &mut usize,
) {
    *count = contexts.buckets(band, row, half, buckets);
}
}

/// The buckets of a half: [`super::context::Contexts::bucket`], a row at a time.
#[inline(always)]
fn bucket_row(
    set: usize,
    band: usize,
    row: usize,
    half: usize,
    count: usize,
    magnitudes: &[[Magnitudes; 3]; BANDS],
    buckets: &mut [u32; HALF],
) {
    let weights: &[u32; TERMS] = &WEIGHTS[set][band][half][usize::from(row == 0)];
    let odd = half == 1;
    let mut sums = [weights[0]; HALF];
    // Whole vectors: what is computed beyond the last column is not used.
    let count = count.next_multiple_of(8).min(HALF);
    let mut add = |weight: u32, terms: &[u32; HALF]| {
        for (sum, &term) in sums[..count].iter_mut().zip(terms) {
            *sum += weight * term;
        }
    };
    let current = |band: usize| magnitudes[band][row % 3].half(odd);
    if row > 0 {
        let above = |band: usize| magnitudes[band][(row + 2) % 3].half(odd);
        let [north, west, east] = above(band);
        add(weights[1], north);
        add(weights[2], west);
        add(weights[2], east);
        let north2 = if row > 1 { magnitudes[band][(row + 1) % 3].half(odd)[0] } else { north };
        add(weights[3], north2);
        add(weights[8], above((band + 1) % BANDS)[0]);
        add(weights[8], above((band + 2) % BANDS)[0]);
    }
    if odd {
        let [_, west, east] = current(band);
        add(weights[4], west);
        add(weights[4], east);
    }
    for sibling in 0..band {
        let [here, west, east] = current(sibling);
        add(weights[5 + sibling], here);
        add(weights[7], west);
        add(weights[7], east);
    }
    for (bucket, &sum) in buckets[..count].iter_mut().zip(&sums) {
        *bucket = bucket_by_float(sum);
    }
}

/// [`super::token::bucket_from_sum`] for sums below 2^31 through the exponent of a float, which has vector code.
/// Clearing the bits that lie eight or more below set ones keeps the conversion from rounding up to the next bucket.
#[inline(always)]
fn bucket_by_float(sum: u32) -> u32 {
    let v = sum.max(2);
    let float = ((v & !(v >> 8)) as i32 as f32).to_bits();
    // Exponent bias 127 in half octaves, and the offset of the buckets.
    (float >> 22).saturating_sub(2 * 127 + 6)
}

#[cfg(test)]
mod tests {
    use super::super::token::bucket_from_sum;
    use super::bucket_by_float;

    #[test]
    fn float_buckets_are_exact() {
        let around = (1..31).flat_map(|e| (-2i64..3).map(move |d| (1i64 << e) + d));
        let halves = (2..30).flat_map(|e| (-2i64..3).map(move |d| (3i64 << e) + d));
        for v in (0..1 << 20).chain(around).chain(halves) {
            let v = v.clamp(0, i32::MAX.into()) as u32;
            assert_eq!(bucket_by_float(v), bucket_from_sum(v), "{v}");
        }
    }
}
