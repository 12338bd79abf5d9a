//! Finds the quantiser step that fills a number of bytes.

use crate::error::{Error, Result};

/// Files within this part below the target are good enough.
const CLOSE_ENOUGH: f64 = 0.992;
/// A picture that cannot be cut finely enough ends the search after so many tries.
const TRIES: usize = 14;
/// Steps that make sense, in grey levels of 8 bits.
const STEPS: (f64, f64) = (0.02, 4000.0);

/// What a trial gave.
struct Trial<T> {
    bytes: u64,
    file: T,
}

/// Calls `encode` with steps until the file's length is at most `target` and close to it.
///
/// Bits fall nearly linearly with the logarithm of the step, so that each next try is where the line through the last
/// two on either side meets the target.
pub fn search<T>(
    target: u64,
    pixels: u64,
    mut encode: impl FnMut(f64, usize) -> Result<(u64, T)>,
) -> Result<T> {
    let goal = target as f64 * (1.0 + CLOSE_ENOUGH) / 2.0;
    // (ln step, bytes) of the nearest tries that were too large and not too large.
    let mut large: Option<(f64, f64)> = None;
    let mut small: Option<(f64, f64)> = None;
    let mut best: Option<Trial<T>> = None;
    let bits_per_pixel = target as f64 * 8.0 / pixels as f64;
    // At 1 bit a pixel photographs have a step of about 7; each further bit divides it by about 2.3.
    let mut ln_step = (7.0f64.ln() - 0.83 * (bits_per_pixel - 1.0)).clamp(STEPS.0.ln(), STEPS.1.ln());
    let mut smallest = u64::MAX;
    for attempt in 0..TRIES {
        let (bytes, file) = encode(ln_step.exp(), attempt)?;
        smallest = smallest.min(bytes);
        if bytes <= target {
            if best.as_ref().is_none_or(|b| b.bytes < bytes) {
                best = Some(Trial { bytes, file });
            }
            if bytes as f64 >= target as f64 * CLOSE_ENOUGH || ln_step <= STEPS.0.ln() {
                break;
            }
            small = Some((ln_step, bytes as f64));
        } else {
            if ln_step >= STEPS.1.ln() {
                break;
            }
            large = Some((ln_step, bytes as f64));
        }
        let next = match (large, small) {
            (Some((x0, y0)), Some((x1, y1))) => {
                if x1 - x0 < 1e-4 {
                    break;
                }
                let at = x0 + (x1 - x0) * (y0 - goal) / (y0 - y1);
                // Stay off the ends: a line that fits badly would creep.
                at.clamp(x0 + 0.04 * (x1 - x0), x1 - 0.04 * (x1 - x0))
            }
            (Some((x, y)), None) | (None, Some((x, y))) => {
                let slope = -0.8;
                let guess = (goal / y).ln() / slope;
                // Bytes that no step saves flatten the line: the longer one side is missing, the larger the leaps.
                let leap = f64::from(1 << attempt.saturating_sub(1).min(10));
                x + (guess + guess.signum() * 0.02) * leap
            }
            (None, None) => break,
        };
        ln_step = next.clamp(STEPS.0.ln(), STEPS.1.ln());
    }
    match best {
        Some(trial) => Ok(trial.file),
        None => Err(Error::Request(format!(
            "this picture cannot be coded in {target} bytes; the smallest file found has {smallest}"
        ))),
    }
}
