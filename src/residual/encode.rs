//! Residuals → symbols: quantisation that weighs what a symbol costs against the error it saves.

use super::{Quantiser, UNIT_STEP};

/// Squared steps of error that a bit is worth. A uniform quantiser at high rate has 2 ln 2 / 12 = 0.116; a little more
/// pays at the rates that pictures are sent at (docs/rate-distortion.md).
const BIT_WORTH: f32 = 0.12;
/// Where a dequantised 1 lies, in steps.
const ONE: f32 = 1.0 - 3.0 / 64.0;
/// From 1 on, magnitudes are rounded up from 1 - this below the next one on.
const ROUNDING: f32 = 0.38;

/// Quantises a row of residuals of a band.
pub fn quantise_row(quantiser: &Quantiser, band: usize, residuals: &[i32], symbols: &mut [i32]) {
    let scale = UNIT_STEP as f32 / quantiser.steps[band] as f32;
    let steps: Vec<f32> = residuals.iter().map(|r| r.unsigned_abs() as f32 * scale).collect();
    for (x, (symbol, &residual)) in symbols.iter_mut().zip(residuals).enumerate() {
        let magnitude =
            if steps[x] < least_one(activity(&steps, x)) { 0 } else { ((steps[x] + ROUNDING) as i32).max(1) };
        *symbol = if residual < 0 { -magnitude } else { magnitude };
    }
}

/// Mean magnitude around a place of a row, in steps. Large neighbours count as 2: contexts see little difference.
fn activity(steps: &[f32], x: usize) -> f32 {
    let at = |x: usize| steps.get(x).map_or(0.0, |s| s.min(2.0));
    let (far, near) = (at(x.wrapping_sub(2)) + at(x + 2), at(x.wrapping_sub(1)) + at(x + 1));
    (far + 2.0 * near) * (1.0 / 6.0)
}

/// The smallest magnitude worth a 1: below, a 0 costs so many fewer bits that the larger error is the better deal.
fn least_one(activity: f32) -> f32 {
    // Bits by which 1 and its sign are dearer than 0 where magnitudes have that mean, roughly.
    let bits = 1.3 + (1.0 + 0.6 / activity.max(0.01)).log2();
    // 0 errs by u, 1 by u - ONE: equal cost at u² = (u - ONE)² + BIT_WORTH × bits.
    (ONE * ONE + BIT_WORTH * bits) / (2.0 * ONE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantised_residuals_come_back_within_a_step() {
        let residuals: Vec<i32> = (-40_000..40_000).step_by(7).collect();
        for step in [17, 40, 1000, 65_535] {
            let q = Quantiser { steps: [step; 3] };
            let mut symbols = vec![0; residuals.len()];
            quantise_row(&q, 0, &residuals, &mut symbols);
            for (&residual, &symbol) in residuals.iter().zip(&symbols) {
                let error = (q.dequantise(0, symbol) - residual).unsigned_abs();
                assert!(error * 16 <= step + 16, "{residual} came back {error} off at step {step} / 16");
            }
        }
    }

    #[test]
    fn quiet_places_need_more_to_count() {
        assert!(least_one(0.0) > least_one(0.2) && least_one(0.2) > least_one(2.0));
        assert!((0.5..0.75).contains(&least_one(2.0)) && least_one(0.0) < 1.2);
    }
}
