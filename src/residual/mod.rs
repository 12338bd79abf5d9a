//! Residual stage: symbols ⇄ residuals. Dequantisation, sign rule and what chroma takes from luma.

pub mod encode;

use crate::entropy::BANDS;
use crate::upsample::Scale;

/// `Quantiser::steps` are in sixteenths; this is the step 1 of lossless bands.
pub const UNIT_STEP: u32 = 16;
/// Largest step a file may ask for.
pub const MAX_STEP: u32 = 1 << 24;
/// Only planes of at most so many bits, fraction bits included, are quantised: symbol × step stays inside 32 bits.
pub const MAX_QUANTISED_BITS: u32 = 26;

/// Quantiser steps of the three bands, in sixteenths of the coded samples' unit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Quantiser {
    /// V, H0, H1.
    pub steps: [u32; BANDS],
}

impl Quantiser {
    /// Keeps residuals as they are.
    pub const LOSSLESS: Quantiser = Quantiser { steps: [UNIT_STEP; BANDS] };

    /// Whether band `band` keeps residuals as they are.
    pub fn is_lossless(&self, band: usize) -> bool {
        self.steps[band] == UNIT_STEP
    }

    /// Symbol → residual. Values are drawn 3/64 of a step towards zero, where more residuals lie.
    /// Modulo 2^32: only broken files overflow.
    #[inline]
    pub fn dequantise(&self, band: usize, symbol: i32) -> i32 {
        if self.is_lossless(band) {
            return symbol;
        }
        dequantise(self.steps[band], symbol)
    }
}

#[inline]
fn dequantise(step: u32, symbol: i32) -> i32 {
    if symbol == 0 {
        return 0;
    }
    let scaled = symbol.unsigned_abs().wrapping_mul(step).wrapping_sub((3 * step) >> 6).wrapping_add(8) >> 4;
    if symbol < 0 { (scaled as i32).wrapping_neg() } else { scaled as i32 }
}

/// How many earlier planes a plane may be predicted from.
pub const MAX_CROSS: usize = 2;

/// What a plane's residuals take from those of the planes before it, in 1/64: `[band][0: one before, 1: two before]`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CrossPlane {
    /// Earlier planes used, 0 to 2.
    pub count: usize,
    /// Factors; those from `count` on are 0.
    pub factors: [[i8; MAX_CROSS]; BANDS],
}

impl CrossPlane {
    /// The part of a prediction that comes from the residuals `before` of the planes before (nearest first).
    #[inline]
    pub fn predict(&self, band: usize, before: [i32; MAX_CROSS], scale: Scale) -> i32 {
        let shift = scale.sample_shift;
        let before = if scale.wraps { before.map(|v| i32::from(v as i16)) } else { before };
        let [near, far] = self.factors[band].map(i32::from);
        let sum =
            (before[0] >> shift).wrapping_mul(near).wrapping_add((before[1] >> shift).wrapping_mul(far));
        (sum.wrapping_add(32) >> 6) << shift
    }
}
