//! The triangle filter along one axis, as whole numbers. Host and GPU compute with the same table.

/// The sum of the weights of a pixel.
pub const ONE: u32 = 1 << 16;
/// Half of it, for rounding.
pub const HALF: u32 = ONE / 2;
/// Samples that a pixel may stand for, so that no kernel runs for long and no file makes tables grow without bounds.
pub const MOST_SCALE: f64 = 256.0;

/// Which samples each pixel is made of.
#[derive(Clone, Debug, PartialEq)]
pub struct Axis {
    /// Samples of a pixel: the most that one takes; others have weights of 0.
    pub taps: u32,
    /// By pixel: its first sample, then its weights. `first + taps` is at most the number of samples.
    pub table: Vec<u32>,
}

impl Axis {
    /// For pixels that share a span of a row or column of samples, given in samples from the first one's edge; its middle
    /// pixels lie inside the row. `None` where a pixel takes more than [`MOST_SCALE`] samples.
    pub fn new((start, length): (f64, f64), samples: u32, pixels: u32) -> Option<Axis> {
        let scale = length / f64::from(pixels);
        if scale > MOST_SCALE {
            return None;
        }
        let support = scale.max(1.0);
        let centre = |pixel: u32| start + (f64::from(pixel) + 0.5) * scale;
        let first = |pixel| (centre(pixel) - support + 0.5).max(0.0) as u32;
        let end = |pixel| ((centre(pixel) + support + 0.5) as u32).min(samples);
        let taps = (0..pixels).map(|pixel| end(pixel) - first(pixel)).max().unwrap_or(0);
        let mut table = Vec::with_capacity(pixels as usize * (taps as usize + 1));
        for pixel in 0..pixels {
            let start = first(pixel).min(samples - taps);
            let weight = |i: u32| (1.0 - ((f64::from(i) + 0.5 - centre(pixel)) / support).abs()).max(0.0);
            let weights = || (start..start + taps).map(weight);
            let all: f64 = weights().sum();
            table.push(start);
            // Running sums are rounded rather than weights: so the weights' sum is ONE, however many there are.
            let (mut sum, mut before) = (0.0, 0);
            for weight in weights() {
                sum += weight;
                let upto = (sum / all * f64::from(ONE)).round() as u32;
                table.push(upto - before);
                before = upto;
            }
        }
        Some(Axis { taps, table })
    }

    /// The first sample of a pixel, and the weights from there on.
    pub fn pixel(&self, pixel: u32) -> (usize, &[u32]) {
        let entry = &self.table[pixel as usize * (self.taps as usize + 1)..][..self.taps as usize + 1];
        (entry[0] as usize, &entry[1..])
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn weights_stay_inside_and_sum_up() {
        for samples in [1, 2, 3, 7, 100, 1000] {
            for pixels in [1, 2, 3, 64, 333] {
                for (from, part) in [(0.0, 1.0), (0.3, 0.5), (0.99, 0.01)] {
                    let (start, length) = (from * f64::from(samples), part * f64::from(samples));
                    let Some(axis) = Axis::new((start, length), samples, pixels) else {
                        assert!(length / f64::from(pixels) > MOST_SCALE);
                        continue;
                    };
                    for pixel in 0..pixels {
                        let (first, weights) = axis.pixel(pixel);
                        assert!(first + weights.len() <= samples as usize);
                        assert_eq!(weights.iter().sum::<u32>(), ONE);
                    }
                }
            }
        }
    }

    #[test]
    fn samples_that_are_pixels_stay() {
        let axis = Axis::new((0.0, 5.0), 5, 5).unwrap();
        for pixel in 0..5 {
            let (first, weights) = axis.pixel(pixel);
            let own = pixel as usize - first;
            assert!((0..weights.len()).all(|i| weights[i] == if i == own { ONE } else { 0 }));
        }
    }
}
