//! The family of token distributions: generalised Gaussians over the integers, by shape and mean magnitude.

use rayon::prelude::*;
use stepwell::entropy::distribution::FREQUENCY_BITS;
use stepwell::entropy::token::{ESCAPE, TOKENS, base_and_bits};

/// Shapes: how fast the tails fall off, 1 as a Laplacian's.
const SHAPES: [f64; 4] = [0.45, 0.7, 1.0, 1.5];
/// Scales an octave of the mean magnitude.
pub const PER_OCTAVE: usize = 3;
/// The octave of the smallest mean magnitude.
const LEAST_OCTAVE: f64 = -6.0;
/// Scales of each shape: twelve octaves.
pub const SCALES: usize = 12 * PER_OCTAVE + 1;
/// Magnitudes that the mean is taken over. The widest tails reach further: that is part of the family as it is.
const MEAN_MAGNITUDES: u32 = 4000;
/// Least probability of a token, so that sums stay clear of rounding.
const LEAST: f64 = 1e-12;

/// A member of the family.
pub struct Distribution {
    /// How fast the tails fall off.
    pub shape: f64,
    /// `exp(-(x / width)^shape)` is its density, but for a factor.
    pub width: f64,
    /// Token frequencies.
    pub frequencies: [u16; TOKENS],
    /// Bits of each token with its mantissa bits.
    pub costs: [f64; TOKENS],
}

/// All members, shape by shape, in the order of their means.
pub fn family() -> Vec<Distribution> {
    let mean = |scale: usize| libm::exp2(LEAST_OCTAVE + scale as f64 / PER_OCTAVE as f64);
    let members: Vec<(f64, f64)> =
        SHAPES.iter().flat_map(|&shape| (0..SCALES).map(move |scale| (shape, mean(scale)))).collect();
    members.into_par_iter().map(|(shape, mean)| Distribution::with_mean(shape, mean)).collect()
}

impl Distribution {
    fn with_mean(shape: f64, mean: f64) -> Self {
        let (mut low, mut high) = (libm::log(1e-7), libm::log(1e4));
        for _ in 0..60 {
            let middle = 0.5 * (low + high);
            if mean_magnitude(shape, libm::exp(middle)) < mean { low = middle } else { high = middle }
        }
        let width = libm::exp(0.5 * (low + high));
        let frequencies = frequencies(&std::array::from_fn(|token| probability(token as u32, shape, width)));
        let total = f64::from(1u32 << FREQUENCY_BITS);
        let costs = std::array::from_fn(|token| {
            libm::log2(total / f64::from(frequencies[token])) + f64::from(base_and_bits(token as u32).1)
        });
        Distribution { shape, width, frequencies, costs }
    }
}

/// The probability that a magnitude is above `x`.
fn above(x: f64, shape: f64, width: f64) -> f64 {
    upper_gamma(1.0 / shape, libm::pow(x / width, shape))
}

fn mean_magnitude(shape: f64, width: f64) -> f64 {
    let tails = (0..MEAN_MAGNITUDES).map(|k| above(f64::from(k) + 0.5, shape, width));
    let mut sum = 0.0;
    for tail in tails {
        sum += tail;
        if tail < 1e-9 {
            break;
        }
    }
    sum
}

fn probability(token: u32, shape: f64, width: f64) -> f64 {
    let (base, bits) = base_and_bits(token);
    let from = if base == 0 { 1.0 } else { above(f64::from(base) - 0.5, shape, width) };
    let to = if token == ESCAPE { 0.0 } else { above(f64::from(base + (1 << bits)) - 0.5, shape, width) };
    (from - to).max(LEAST)
}

/// Frequencies of at least 1, and 2 where a sign may split them; the likeliest token takes what rounding leaves.
fn frequencies(probabilities: &[f64; TOKENS]) -> [u16; TOKENS] {
    let least = |token: usize| if token == 1 || token == 2 { 2 } else { 1 };
    let total = 1u32 << FREQUENCY_BITS;
    let free = f64::from(total - (0..TOKENS).map(least).sum::<u32>());
    let sum: f64 = probabilities.iter().sum();
    let mut frequencies: [u32; TOKENS] =
        std::array::from_fn(|token| (probabilities[token] / sum * free).floor() as u32 + least(token));
    let used: u32 = frequencies.iter().sum();
    let likeliest = (0..TOKENS).max_by(|&a, &b| probabilities[a].total_cmp(&probabilities[b]));
    frequencies[likeliest.unwrap_or(0)] += total - used;
    frequencies.map(|f| f as u16)
}

/// Γ(a, x) / Γ(a): by its power series for small x (DLMF 8.7.1), else by its continued fraction (DLMF 8.9.2).
fn upper_gamma(a: f64, x: f64) -> f64 {
    if x <= 0.0 {
        return 1.0;
    }
    let factor = libm::exp(a * libm::log(x) - x - libm::lgamma(a));
    if x < a + 1.0 { 1.0 - factor * lower_series(a, x) } else { factor * upper_fraction(a, x) }
}

/// `sum over n of x^n / (a (a + 1) … (a + n))`.
fn lower_series(a: f64, x: f64) -> f64 {
    let (mut term, mut sum, mut n) = (1.0 / a, 0.0, a);
    while term > sum * 1e-16 {
        sum += term;
        n += 1.0;
        term *= x / n;
    }
    sum
}

/// `1 / (x + 1 - a - 1 (1 - a) / (x + 3 - a - 2 (2 - a) / (x + 5 - a - …)))`, from the inside out.
fn upper_fraction(a: f64, x: f64) -> f64 {
    // The closer x is to a + 1, the more terms it takes.
    let terms = 30 + (300.0 / x.sqrt()) as u32;
    let mut tail = 0.0;
    for n in (1..=terms).rev().map(f64::from) {
        tail = n * (n - a) / (x + 2.0 * n + 1.0 - a - tail);
    }
    1.0 / (x + 1.0 - a - tail)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn incomplete_gamma_has_its_known_values() {
        // Γ(1, x) = e^-x, and Γ(1/2, x) / Γ(1/2) = erfc(√x).
        for x in [0.01, 0.5, 1.4, 1.6, 2.1, 5.0, 30.0] {
            assert!((upper_gamma(1.0, x) - libm::exp(-x)).abs() < 1e-13, "{x}");
            assert!((upper_gamma(0.5, x) - libm::erfc(x.sqrt())).abs() < 1e-13, "{x}");
        }
    }

    #[test]
    fn frequencies_are_those_of_the_format() {
        let family = family();
        let stored = &stepwell::entropy::tables::FREQUENCIES;
        let different: Vec<usize> =
            (0..stored.len()).filter(|&d| family[d].frequencies != stored[d]).collect();
        assert_eq!(different, []);
    }
}
