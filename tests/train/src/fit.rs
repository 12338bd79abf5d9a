//! Weighted least squares.

use stepwell::upsample::NEIGHBOURS;

/// Features of a prediction: the differences of the window, and H0.
pub const FEATURES: usize = NEIGHBOURS + 1;
/// A row of the normal equations, with the target, rounded up to whole vectors.
const WIDE: usize = 28;

/// Normal equations of a weighted fit.
#[derive(Clone)]
pub struct Normal {
    sums: Box<[[f64; WIDE]; FEATURES]>,
    /// Samples added.
    pub count: f64,
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
            for (sum, v) in sums.iter_mut().zip(row) {
                *sum += factor * v;
            }
        }
        self.count += 1.0;
    }

    /// Adds what another has summed up.
    pub fn merge(&mut self, other: &Self, factor: f64) {
        let both = self.sums.as_flattened_mut().iter_mut().zip(other.sums.as_flattened());
        both.for_each(|(a, b)| *a += factor * b);
        self.count += factor * other.count;
    }

    /// The coefficients of the best fit, drawn towards `prior` by `ridge` times the mean square of the features.
    pub fn solve(&self, ridge: f64, prior: &[f64; FEATURES]) -> [f64; FEATURES] {
        let trace: f64 = (0..FEATURES).map(|i| self.sums[i][i]).sum();
        let pull = ridge * trace / FEATURES as f64 + 1e-6;
        // Cholesky's factor L of A = L Lᵀ; the diagonal that `pull` adds keeps A positive definite.
        let mut lower = [[0.0; FEATURES]; FEATURES];
        for i in 0..FEATURES {
            for j in 0..=i {
                let dot: f64 = (0..j).map(|k| lower[i][k] * lower[j][k]).sum();
                let a = self.sums[i][j] + if i == j { pull } else { 0.0 };
                lower[i][j] = if i == j { (a - dot).sqrt() } else { (a - dot) / lower[j][j] };
            }
        }
        let mut x = [0.0; FEATURES];
        for i in 0..FEATURES {
            let dot: f64 = (0..i).map(|k| lower[i][k] * x[k]).sum();
            x[i] = (self.sums[i][FEATURES] + pull * prior[i] - dot) / lower[i][i];
        }
        for i in (0..FEATURES).rev() {
            let dot: f64 = (i + 1..FEATURES).map(|k| lower[k][i] * x[k]).sum();
            x[i] = (x[i] - dot) / lower[i][i];
        }
        x
    }
}
