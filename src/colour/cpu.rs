//! The reference of the colour stage: coded planes → samples.

use super::{ColourTransform, rgb_from_ycocg, sample_from_coded};

/// How coded samples of some planes become samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Output {
    /// The transform, and where among the planes given its three stand.
    pub transform: ColourTransform,
    /// Index of the first of the three.
    pub first: usize,
    /// Fraction bits to remove.
    pub fraction_bits: u32,
    /// Coded samples are reduced to signed 16 bits first: where all planes of the group have few bits.
    pub wraps: bool,
    /// Smallest and largest sample of each plane.
    pub ranges: Vec<(i32, i32)>,
}

impl Output {
    /// Changes planes of coded samples, all of one length, to samples.
    pub fn apply(&self, planes: &mut [&mut [i32]]) {
        if self.wraps {
            planes.iter_mut().flat_map(|plane| plane.iter_mut()).for_each(|v| *v = i32::from(*v as i16));
        }
        if self.transform == ColourTransform::YCoCg
            && let Some([y, co, cg]) = planes.get_mut(self.first..self.first + 3)
        {
            for ((a, b), c) in y.iter_mut().zip(co.iter_mut()).zip(cg.iter_mut()) {
                [*a, *b, *c] = rgb_from_ycocg([*a, *b, *c]);
            }
        }
        for (plane, &range) in planes.iter_mut().zip(&self.ranges) {
            for value in plane.iter_mut() {
                *value = sample_from_coded(*value, self.fraction_bits, range);
            }
        }
    }
}
