//! Weighted least squares.

use crate::tiles::FEATURES;

/// A row of the normal equations with the target, rounded up to whole vectors.
const WIDE: usize = 28;

/// Normal equations of a weighted fit.
#[derive(Clone)]
pub struct Normal {
    sums: Box<[[f64; WIDE]; FEATURES]>,
    count: f64,
}

impl Default for Normal {
    fn default() -> Self {
        Normal { sums: Box::new([[0.0; WIDE]; FEATURES]), count: 0.0 }
    }
}

impl Normal {
    /// Adds a sample.
    pub fn add(&mut self, features: &[i32; FEATURES], target: i32, weight: f64) {
        let mut row = [0.0; WIDE];
        row.iter_mut().zip(features).for_each(|(v, &f)| *v = f.into());
        row[FEATURES] = target.into();
        for (sums, &feature) in self.sums.iter_mut().zip(features) {
            let factor = weight * f64::from(feature);
            sums.iter_mut().zip(row).for_each(|(sum, v)| *sum += factor * v);
        }
        self.count += 1.0;
    }

    /// Adds what another has summed up, `factor` times.
    pub fn merge(&mut self, other: &Self, factor: f64) {
        if other.count > 0.0 {
            let both = self.sums.as_flattened_mut().iter_mut().zip(other.sums.as_flattened());
            both.for_each(|(a, b)| *a += factor * b);
            self.count += factor * other.count;
        }
    }

    /// Adds `pool`, scaled as if it had `samples` samples: what a class with few samples is drawn to.
    pub fn with_pool(mut self, pool: &Self, samples: f64) -> Self {
        self.merge(pool, samples / pool.count.max(1.0));
        self
    }

    /// The coefficients of the best fit. Features that never were anything but zero get 0.
    pub fn solve(&self) -> [f64; FEATURES] {
        let trace: f64 = (0..FEATURES).map(|i| self.sums[i][i]).sum();
        // Keeps the matrix positive definite.
        let ridge = 1e-6 * trace / FEATURES as f64 + 1e-6;
        // Cholesky's factor L of the matrix L Lᵀ.
        let mut lower = [[0.0; FEATURES]; FEATURES];
        for i in 0..FEATURES {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let rest = self.sums[i][j] - dot;
                lower[i][j] = if i == j { (rest + ridge).sqrt() } else { rest / lower[j][j] };
            }
        }
        let mut x = [0.0; FEATURES];
        for i in 0..FEATURES {
            let dot: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
            x[i] = (self.sums[i][FEATURES] - dot) / lower[i][i];
        }
        for i in (0..FEATURES).rev() {
            let dot: f64 = (i + 1..FEATURES).map(|k| lower[k][i] * x[k]).sum();
            x[i] = (x[i] - dot) / lower[i][i];
        }
        x
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_linear_rule_is_found() {
        let mut random = 1u32;
        let mut next = || {
            random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (random >> 24) as i32 - 128
        };
        let mut normal = Normal::default();
        for _ in 0..1000 {
            let features: [i32; FEATURES] = std::array::from_fn(|i| if i == 7 { 0 } else { next() });
            normal.add(&features, 3 * features[0] - 2 * features[24], 1.0);
        }
        let x = normal.solve();
        for (i, x) in x.into_iter().enumerate() {
            let expected = [3.0, -2.0, 0.0][[0, 24].iter().position(|&j| i == j).unwrap_or(2)];
            assert!((x - expected).abs() < 1e-4, "{i}: {x}");
        }
    }
}
