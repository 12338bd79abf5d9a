//! What a caller can ask of the encoder.

use crate::error::{Error, Result};
use crate::geom::Level;
use crate::upsample::Predictor;

/// How large or how good a file shall be. Planes of more than 26 bits are always exact.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Target {
    /// Every sample comes back exactly.
    Lossless,
    /// A quality of 0 to 100. The quantiser step halves every 12 points; 90 is 0.7 grey levels of 8 bits at full
    /// resolution, where no difference is seen.
    Quality(f32),
    /// Bits a canvas pixel: the file has at most that many, and no more than 2 % fewer where the picture allows.
    BitsPerPixel(f64),
    /// Bytes: the file has at most that many, and no more than 2 % fewer where the picture allows.
    Bytes(u64),
}

/// What the file is made for, where both cannot be had.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Profile {
    /// Decodes fast, above all on a GPU: lossless files have predictors of few operations, and no plane predicted from
    /// another; lossy ones keep what quality takes, but the costly predictor stays above full resolution.
    #[default]
    Balanced,
    /// Decodes fastest: the predictor of fewest operations at all levels, and no plane predicted from another.
    Fast,
    /// Smaller by about 1 % where lossless: planes are predicted from others, and the costly predictor stands above full
    /// resolution. Lossy, it stands at all levels.
    Small,
}

impl Profile {
    /// Predictors that a level's may be chosen from.
    pub(super) fn predictors(self, level: Level, lossless: bool) -> &'static [Predictor] {
        match (self, lossless, level) {
            (Profile::Fast, ..) | (Profile::Balanced, true, 0) => &[Predictor::None, Predictor::Compact],
            (Profile::Balanced, true, _) | (Profile::Balanced, false, 0) | (Profile::Small, true, 0) => {
                &[Predictor::None, Predictor::Linear]
            }
            _ => &[Predictor::None, Predictor::Linear, Predictor::Classed],
        }
    }

    /// Whether planes are predicted from planes before.
    pub(super) fn crosses(self, lossless: bool) -> bool {
        match self {
            Profile::Balanced => !lossless,
            Profile::Fast => false,
            Profile::Small => true,
        }
    }
}

/// Options of [`Encoder`](super::Encoder).
#[derive(Clone, Debug, PartialEq)]
pub struct EncodeOptions {
    /// Size or quality.
    pub target: Target,
    /// Fast to decode, or small.
    pub profile: Profile,
    /// log2 of the quads a tile has a side, at LoQ 0 and at all other levels: 5 or 6. Smaller tiles let small regions
    /// be read with fewer bytes, larger ones compress better.
    pub tile_log2: [u32; 2],
    /// Lossy only: quantiser step of a level relative to the one below it. Smaller values spend more bytes on the
    /// small sizes.
    pub level_ratio: f64,
}

impl Default for EncodeOptions {
    fn default() -> Self {
        Self::lossless()
    }
}

impl EncodeOptions {
    /// Every sample comes back exactly.
    pub fn lossless() -> Self {
        EncodeOptions {
            target: Target::Lossless,
            profile: Profile::Balanced,
            tile_log2: [6, 5],
            level_ratio: 0.5,
        }
    }

    /// Differences that cannot be seen (quality 90).
    pub fn visually_lossless() -> Self {
        EncodeOptions { target: Target::Quality(90.0), ..Self::lossless() }
    }

    /// For pages that shall load fast (quality 60).
    pub fn web() -> Self {
        EncodeOptions { target: Target::Quality(60.0), ..Self::lossless() }
    }

    /// As [`Self::web`], with a smaller share of the bytes in the small sizes, so that a first view comes sooner.
    pub fn thumbnail_first() -> Self {
        EncodeOptions { level_ratio: 0.65, ..Self::web() }
    }

    /// Whether the options make sense.
    ///
    /// # Errors
    /// [`Error::Request`] naming the first that does not.
    pub fn check(&self) -> Result<()> {
        let bad = |what: String| Err(Error::Request(what));
        match self.target {
            Target::Quality(q) if !(0.0..=100.0).contains(&q) => {
                return bad(format!("quality {q}, 0 to 100 are possible"));
            }
            Target::BitsPerPixel(b) if !(b > 0.0 && b.is_finite()) => {
                return bad(format!("{b} bits a pixel"));
            }
            Target::Bytes(0) => return bad("a file of 0 bytes".into()),
            _ => {}
        }
        if let Some(log2) = self.tile_log2.iter().find(|log2| !(5..=6).contains(*log2)) {
            return bad(format!("tiles of 2^{log2} quads, 2^5 and 2^6 are possible"));
        }
        if !(0.25..=1.0).contains(&self.level_ratio) {
            return bad(format!("a level ratio of {}, 0.25 to 1 are possible", self.level_ratio));
        }
        Ok(())
    }
}

/// Quantiser step, in grey levels of 8 bits, that a quality stands for.
pub(super) fn step_from_quality(quality: f32) -> f64 {
    0.7 * ((90.0 - f64::from(quality)) / 12.0).exp2()
}
