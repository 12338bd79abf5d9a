//! What a model takes: sizes, layout, elements, normalisation.

use crate::error::{Error, Result};
use crate::geom::Size;

/// Most rows and columns of a tensor.
pub const MOST_SIDE: u32 = 1 << 14;
/// The largest fraction: a sample at the upper end of its range.
pub const WHITE: u32 = 65_535;

/// Which channels a tensor has, in order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channels {
    /// One: the plane of gray or luma, a file's only plane whatever it is, or a weighted sum of red, green and blue.
    Gray,
    /// Three; of a gray picture all are the same.
    Rgb,
    /// Four, the last being alpha; opaque where the file has none.
    Rgba,
}

impl Channels {
    /// Their number.
    pub const fn count(self) -> u32 {
        match self {
            Channels::Gray => 1,
            Channels::Rgb => 3,
            Channels::Rgba => 4,
        }
    }
}

/// How a picture of other proportions fills a tensor.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Fit {
    /// All of it in the middle, as large as fits, and the rest filled.
    Letterbox {
        /// Of each channel, 0.0 to 1.0 of its range; it is normalised as samples are.
        fill: [f32; 4],
    },
    /// The largest part of the right proportions in its middle. The same pixels come out as when the whole picture is
    /// resized and then cut, but only what they take is read.
    Crop,
    /// All of it, each axis scaled for itself.
    Stretch,
}

/// How elements follow each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Layout {
    /// Pictures, channels, rows, columns: NCHW.
    Planar,
    /// Pictures, rows, columns, channels: NHWC.
    Interleaved,
}

/// What an element is. All are little-endian.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Element {
    /// 255 times the normalised value, as a byte.
    U8,
    /// IEEE 754 binary16.
    F16,
    /// IEEE 754 binary32.
    F32,
}

impl Element {
    /// Bytes of an element.
    pub const fn bytes(self) -> u32 {
        match self {
            Element::U8 => 1,
            Element::F16 => 2,
            Element::F32 => 4,
        }
    }
}

/// What a model takes. The [module](super) says what is computed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TensorSpec {
    /// Columns and rows, 1 to 16384 each.
    pub size: Size,
    /// Channels.
    pub channels: Channels,
    /// How pictures of other proportions fill it.
    pub fit: Fit,
    /// How elements follow each other.
    pub layout: Layout,
    /// What an element is.
    pub element: Element,
    /// Of each channel, what is subtracted from values of 0.0 to 1.0.
    pub mean: [f32; 4],
    /// Of each channel, what the difference is divided by. Not 0, even where there are fewer channels.
    pub std: [f32; 4],
}

impl TensorSpec {
    /// RGB, cropped, planar, 32-bit floating point of 0.0 to 1.0.
    pub const fn new(size: Size) -> Self {
        TensorSpec {
            size,
            channels: Channels::Rgb,
            fit: Fit::Crop,
            layout: Layout::Planar,
            element: Element::F32,
            mean: [0.0; 4],
            std: [1.0; 4],
        }
    }

    /// Elements of one picture: at most 2^30, unless [`Self::check`] fails.
    pub const fn elements(&self) -> u64 {
        let pixels = self.size.width as u64 * self.size.height as u64;
        pixels.saturating_mul(self.channels.count() as u64)
    }

    /// Bytes that so many pictures take in a buffer, without gaps between them; rounded up to a multiple of 4.
    pub const fn bytes(&self, pictures: usize) -> u64 {
        let bytes = self.elements().saturating_mul(self.element.bytes() as u64);
        match bytes.saturating_mul(pictures as u64).checked_next_multiple_of(4) {
            Some(bytes) => bytes,
            None => u64::MAX,
        }
    }

    /// Whether there can be such a tensor.
    ///
    /// # Errors
    /// [`Error::Request`] for sides of 0 or more than 16384, a fill outside 0.0 to 1.0, a mean that is not finite, a
    /// standard deviation that is 0 or not finite, and normalised values that the elements cannot hold.
    pub fn check(&self) -> Result<()> {
        let bad = |what: String| Err(Error::Request(format!("tensor: {what}")));
        let Size { width, height } = self.size;
        let sides = 1..=MOST_SIDE;
        if !sides.contains(&width) || !sides.contains(&height) {
            return bad(format!("{width} × {height}, sides of 1 to {MOST_SIDE} are possible"));
        }
        for channel in 0..self.mean.len() {
            let (mean, std) = (self.mean[channel], self.std[channel]);
            if !mean.is_finite() || !std.is_finite() || std == 0.0 {
                return bad(format!(
                    "channel {channel} has a mean of {mean} and a standard deviation of {std}"
                ));
            }
            if let Fit::Letterbox { fill } = self.fit
                && !(0.0..=1.0).contains(&fill[channel])
            {
                return bad(format!("channel {channel} is filled with {}, not 0 to 1", fill[channel]));
            }
            // Both ends of the range: whatever lies between them is smaller than one of them.
            for value in [0, WHITE].map(|fraction| self.normalised(channel, fraction)) {
                let most = if self.element == Element::F16 { F16_END } else { F32_END };
                if self.element != Element::U8 && value.abs() >= most {
                    return bad(format!(
                        "channel {channel} reaches {value:e}, too much for {:?}",
                        self.element
                    ));
                }
            }
        }
        Ok(())
    }

    /// What a letterbox is filled with, as a fraction.
    pub(super) fn fill(&self, channel: usize) -> u32 {
        match self.fit {
            Fit::Letterbox { fill } => (f64::from(fill[channel]) * f64::from(WHITE)).round() as u32,
            Fit::Crop | Fit::Stretch => 0,
        }
    }

    /// The bits of the element that a fraction of 0 to [`WHITE`] becomes.
    pub(super) fn element_bits(&self, channel: usize, fraction: u32) -> u32 {
        let value = self.normalised(channel, fraction);
        match self.element {
            Element::U8 => (255.0 * value).round().clamp(0.0, 255.0) as u32,
            Element::F16 => f16_bits(value),
            Element::F32 => (value as f32).to_bits(),
        }
    }

    fn normalised(&self, channel: usize, fraction: u32) -> f64 {
        (f64::from(fraction) / f64::from(WHITE) - f64::from(self.mean[channel]))
            / f64::from(self.std[channel])
    }
}

/// From here on 16-bit numbers round to infinity.
const F16_END: f64 = 65_520.0;
/// From here on 32-bit numbers round to infinity.
const F32_END: f64 = 3.402_823_567_797_336_6e38;

/// The binary16 number nearest to one below [`F16_END`], ties to even.
fn f16_bits(value: f64) -> u32 {
    let sign = u32::from(value.is_sign_negative()) << 15;
    let size = value.abs();
    // Ten bits stand behind the point of the largest power of two in it; numbers below 2^-14 share that one's.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (size * 2f64.powi(10 - exponent)).round_ties_even() as u32;
    // Of a normal number `steps` has the bit that is not stored, which adds one to the exponent; so does a carry.
    sign | ((((exponent + 14) as u32) << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::f16_bits;

    /// Every number that binary16 has comes back, and what lies between two goes to the nearest, or the even one.
    #[test]
    fn every_f16() {
        let value = |bits: u32| {
            let (exponent, steps) = ((bits >> 10) as i32, f64::from(bits & 1023));
            if exponent == 0 { steps * 2f64.powi(-24) } else { (1024.0 + steps) * 2f64.powi(exponent - 25) }
        };
        for bits in 0..0x7c00 {
            let here = value(bits);
            assert_eq!(f16_bits(here), bits);
            assert_eq!(f16_bits(-here), bits | 0x8000);
            let middle = (here + value(bits + 1)) / 2.0;
            assert_eq!(f16_bits(middle.next_down()), bits, "below {middle}");
            assert_eq!(f16_bits(middle.next_up()) & 0x7fff, bits + 1, "above {middle}");
            assert_eq!(f16_bits(middle), (bits + 1) & !1, "{middle}");
        }
    }
}
