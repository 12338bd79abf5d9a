//! Default maps.
use stepwell::entropy::BANDS;
use stepwell::entropy::token::{ROWS, TOKENS, row_of_bucket, shift_of_bucket, token_from_magnitude};
use crate::family::Distribution;

/// Which distribution a row of buckets uses: `[set][band][row]`.
pub type Maps = [[[u8; ROWS]; BANDS]; 2];

/// How often each token comes in each row.
#[derive(Clone)]
pub struct Histogram { pub tokens: Vec<[[[f64; TOKENS]; ROWS]; BANDS]>, pub extra: f64 }
impl Default for Histogram { fn default() -> Self { Histogram { tokens: vec![[[[0.0; TOKENS]; ROWS]; BANDS]; 2], extra: 0.0 } } }
impl Histogram {
    pub fn add(&mut self, set: usize, band: usize, bucket: u32, magnitude: u32) {
        let shift = shift_of_bucket(bucket);
        let token = token_from_magnitude(magnitude >> shift);
        self.tokens[set][band][row_of_bucket(bucket)][token.symbol as usize] += 1.0;
        self.extra += f64::from(shift) + if magnitude != 0 { 1.0 } else { 0.0 };
    }
    pub fn merge(&mut self, other: &Self, weight: f64) {
        let both = self.tokens.as_flattened_mut().as_flattened_mut().as_flattened_mut().iter_mut().zip(other.tokens.as_flattened().as_flattened().as_flattened());
        both.for_each(|(a, b)| *a += b * weight);
        self.extra += other.extra * weight;
    }
    pub fn best(&self, family: &[Distribution]) -> Maps {
        std::array::from_fn(|s| std::array::from_fn(|b| {
            let mut last = 0;
            std::array::from_fn(|r| {
                let h = &self.tokens[s][b][r];
                if h.iter().sum::<f64>() >= 50.0 {
                    last = (0..family.len()).min_by(|&a, &b| row_cost(h, &family[a]).total_cmp(&row_cost(h, &family[b]))).unwrap();
                }
                last as u8
            })
        }))
    }
    pub fn bits(&self, maps: &Maps, family: &[Distribution]) -> f64 {
        let mut sum = self.extra;
        for s in 0..2 { for b in 0..BANDS { for r in 0..ROWS { sum += row_cost(&self.tokens[s][b][r], &family[usize::from(maps[s][b][r])]); } } }
        sum
    }
}
fn row_cost(h: &[f64; TOKENS], d: &Distribution) -> f64 { h.iter().zip(&d.costs).map(|(n, c)| n * c).sum() }
