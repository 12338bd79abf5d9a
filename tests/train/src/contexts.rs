//! Weights of the context sum.

use rayon::prelude::*;
use stepwell::entropy::BANDS;
use stepwell::entropy::context::TERMS;
use stepwell::entropy::token::{bucket_from_sum, row_of_bucket, shift_of_bucket, token_from_magnitude};

use crate::family::Distribution;
use crate::maps::Maps;
use crate::symbols::Weights;

/// Terms and magnitude of a symbol.
pub type Sample = ([f32; TERMS], u32);
/// Samples for each of the weight tables: set, band, parity, first row
pub struct Samples(pub Vec<Vec<Sample>>);

pub fn index(set: usize, band: usize, parity: usize, first: usize) -> usize { ((set * BANDS + band) * 2 + parity) * 2 + first }

pub fn fit(samples: &Samples, power: f64) -> Weights {
    let all: Vec<[u32; TERMS]> = samples.0.par_iter().map(|s| multiplicative(s, power)).collect();
    from_list(&all)
}
fn from_list(all: &[[u32; TERMS]]) -> Weights {
    std::array::from_fn(|s| std::array::from_fn(|b| std::array::from_fn(|p| std::array::from_fn(|f| all[index(s, b, p, f)]))))
}

fn multiplicative(samples: &[Sample], power: f64) -> [u32; TERMS] {
    let mut w = [0.1f64; TERMS];
    if samples.is_empty() { return [26, 0, 0, 0, 0, 0, 0, 0, 0]; }
    for _ in 0..80 {
        let mut up = [0f64; TERMS]; let mut down = [1e-9f64; TERMS];
        for (terms, m) in samples {
            let mut e = 0.02f64;
            for i in 0..TERMS { e += w[i] * f64::from(terms[i]); }
            let r = f64::from(*m) / e;
            let u = (if power == 1.0 { r } else { libm::pow(r, power) * power }) / e;
            for i in 0..TERMS { let t = f64::from(terms[i]); up[i] += t * u; down[i] += t / e; }
        }
        for i in 0..TERMS { w[i] *= libm::pow(up[i] / down[i], 0.7).clamp(0.0, 4.0); }
    }
    let mut out = w.map(|w| (w * 256.0).round().min(4095.0) as u32);
    out[0] = out[0].max(2);
    out
}

pub fn cost(samples: &[Sample], w: &[u32; TERMS], costs: &[&Distribution]) -> f64 {
    let wf = w.map(|w| w as f32);
    samples.iter().map(|(t, m)| {
        let mut e = 0f32; for i in 0..TERMS { e += wf[i] * t[i]; }
        let bucket = bucket_from_sum(e as u32);
        let shift = shift_of_bucket(bucket);
        let d = costs[row_of_bucket(bucket)];
        d.costs[token_from_magnitude(m >> shift).symbol as usize] + f64::from(shift)
    }).sum()
}

pub fn descend(samples: &Samples, weights: &Weights, maps: &Maps, family: &[Distribution]) -> Weights {
    let list: Vec<[u32; TERMS]> = samples.0.par_iter().enumerate().map(|(i, s)| {
        let (set, band, parity, first) = (i / 12, i / 4 % 3, i / 2 % 2, i % 2);
        let costs: Vec<&Distribution> = maps[set][band].iter().map(|&d| &family[usize::from(d)]).collect();
        let used: Vec<usize> = (0..TERMS).filter(|&t| s.iter().any(|(f, _)| f[t] > 0.0)).collect();
        let mut w = weights[set][band][parity][first];
        let mut best = cost(s, &w, &costs);
        let start = best;
        for round in 0..4 {
            let before = best;
            for scale in [17.0 / 16.0, 15.0 / 16.0] {
                let mut n = w; for &t in &used { n[t] = (f64::from(n[t]) * scale).round() as u32; }
                n[0] = n[0].max(2);
                let c = cost(s, &n, &costs); if c < best { best = c; w = n; }
            }
            for &t in &used {
                for div in [3, 8, 20] {
                    let step = (w[t] / div).max(1);
                    for up in [true, false] {
                        let mut n = w; n[t] = if up { n[t] + step } else { n[t].saturating_sub(step) };
                        n[0] = n[0].max(2);
                        if n == w { continue; }
                        let c = cost(s, &n, &costs); if c < best { best = c; w = n; break; }
                    }
                }
            }
            if before - best < 1e-5 * before { break; }
            let _ = round;
        }
        if std::env::var("V").is_ok() { eprintln!("{i} {} {:.5} -> {:.5}", s.len(), start / s.len() as f64, best / s.len() as f64); }
        w
    }).collect();
    from_list(&list)
}
