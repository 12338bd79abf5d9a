//! Upsample stage: level k + 1 and residuals ⇄ level k.
//!
//! A quad `a b / c d` of level k becomes the mean `A` kept in level k + 1, the difference `V` of its two row means and
//! the differences `H0 = a - b`, `H1 = c - d` inside its rows. V is predicted from a 5 × 5 window of level k + 1, H0
//! and H1 from one of the row means, which are known once V is.
//!
//! Windows end at the edge of the tile: a tile depends on the samples it covers in the level above and on nothing
//! beside it. So a region takes one tile a level where it lies within one, tiles can be rebuilt in any order, and a whole
//! branch of the pyramid without waiting for its neighbours. It costs 0.1 % of the bytes (docs/tiles.md).

pub mod cpu;
pub mod encode;
pub mod fast;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod rows;
mod tables;

/// Sets of coefficients: luma-like for level 0 and above, chroma-like for level 0 and above.
pub const SETS: usize = 4;
/// Classes of windows that the class-switched predictor tells apart.
pub const CLASSES: usize = 36;
/// Neighbours in a 5 × 5 window without its centre, in raster order.
pub const NEIGHBOURS: usize = 24;
/// Planes of at most so many bits (fraction bits included) need no more than 16 for any residual or sample that an encoder
/// makes. Decoders may keep these in 16 bits: files that exceed them decode the same everywhere all the same.
pub const WRAPPED_BITS: u32 = 14;
/// Fraction bits of coefficients.
pub const COEFFICIENT_BITS: u32 = 11;
/// Coefficients of the neighbours, and last that of H0 when H1 is predicted.
pub type Coefficients = [i16; NEIGHBOURS + 1];

/// How V, H0 and H1 are predicted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Predictor {
    /// Not at all: best for text and flat graphics.
    None,
    /// One set of 3 × 3 coefficients: what decodes fastest.
    Compact,
    /// One set of 5 × 5 coefficients.
    Linear,
    /// 5 × 5 coefficients by direction and activity of the window.
    Classed,
}

/// Shifts that bring samples of any depth to the range the predictors were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Scale {
    /// Differences are shifted right by this, and predictions left: keeps sums inside 32 bits.
    pub sample_shift: u32,
    /// Differences are shifted right by this to judge activity, as if samples had 8 bits.
    pub activity_shift: u32,
    /// Residuals of other planes, and samples that come out, are reduced to signed 16 bits.
    pub wraps: bool,
}

impl Scale {
    /// For samples of so many bits (fraction bits included).
    pub fn for_bits(bits: u32) -> Self {
        Scale {
            sample_shift: bits.saturating_sub(16),
            activity_shift: bits.saturating_sub(8),
            wraps: bits <= WRAPPED_BITS,
        }
    }
}

impl Predictor {
    /// The coefficients for a window of class `class`.
    pub fn coefficients(self, set: usize, band: usize, class: usize) -> &'static Coefficients {
        match self {
            Predictor::None => &[0; NEIGHBOURS + 1],
            Predictor::Compact => &tables::COMPACT[set][band],
            Predictor::Linear => &tables::LINEAR[set][band],
            Predictor::Classed => &tables::CLASSED[set][band][class],
        }
    }
}

/// The mean that one row of a quad contributes, rounded down, without overflow.
#[inline(always)]
pub fn row_mean(left: i32, right: i32) -> i32 {
    right.wrapping_add(left.wrapping_sub(right) >> 1)
}

/// The mean of two row means, rounded up: so that the roundings of both directions cancel over the levels.
#[inline(always)]
pub fn quad_mean(upper: i32, lower: i32) -> i32 {
    lower.wrapping_add(upper.wrapping_sub(lower).wrapping_add(1) >> 1)
}

/// `(upper, lower)` row means from the quad's mean and V: the inverse of [`quad_mean`].
#[inline(always)]
pub fn row_means(mean: i32, v: i32) -> (i32, i32) {
    let lower = mean.wrapping_sub(v.wrapping_add(1) >> 1);
    (lower.wrapping_add(v), lower)
}

/// `(left, right)` samples from a row mean and H: the inverse of [`row_mean`].
#[inline(always)]
pub fn row_samples(mean: i32, h: i32) -> (i32, i32) {
    let right = mean.wrapping_sub(h >> 1);
    (right.wrapping_add(h), right)
}

/// Prediction from a sum of coefficient × difference.
#[inline(always)]
pub fn prediction_from_sum(sum: i32, scale: Scale) -> i32 {
    (sum.wrapping_add(HALF) >> COEFFICIENT_BITS) << scale.sample_shift
}

/// Whether rounding the prediction dropped a negative fraction: the residual is then likelier to be negative, and its
/// sign is coded flipped.
#[inline(always)]
pub fn flips_sign(sum: i32) -> bool {
    sum.wrapping_add(HALF) & ((1 << COEFFICIENT_BITS) - 1) < HALF
}

const HALF: i32 = 1 << (COEFFICIENT_BITS - 1);

/// The class of a window from its differences to the centre in the inner 3 × 3, in raster order without the centre:
/// nine directions × four activities.
pub fn class_of(inner: [i32; 8], scale: Scale) -> u32 {
    let [nw, n, ne, w, e, sw, s, se] =
        inner.map(|d| (d.unsigned_abs() >> scale.activity_shift).min(ACTIVITY_CAP));
    class_from_sums(w + e, n + s, nw + se, ne + sw)
}

/// The class from differences across the window: horizontally, vertically, and along both diagonals. Without branches,
/// so that rows of it become vector code.
#[inline(always)]
fn class_from_sums(gh: u32, gv: u32, d1: u32, d2: u32) -> u32 {
    let (hx, hn, dx, dn) = (gh.max(gv), gh.min(gv), d1.max(d2), d1.min(d2));
    let straight = hx * dn > dx * hn;
    let (high, low) = if straight { (hx, hn) } else { (dx, dn) };
    let first = if straight { 1 + u32::from(gv >= gh) } else { 5 + u32::from(d2 >= d1) };
    let strong = 2 * high > 9 * low;
    let weak = high > 2 * low;
    let direction = u32::from(weak) * (first + 2) - u32::from(strong) * 2;
    let activity = gh + gv;
    9 * (u32::from(activity >= 6) + u32::from(activity >= 16) + u32::from(activity >= 44)) + direction
}

/// Keeps products of two sums of two differences inside 32 bits.
pub const ACTIVITY_CAP: u32 = 16_383;

/// Where the inner 3 × 3 lies among the neighbours of a 5 × 5 window.
pub const INNER: [usize; 8] = [6, 7, 8, 11, 12, 15, 16, 17];
