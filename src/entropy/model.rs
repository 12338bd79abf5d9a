//! What a level of a plane tells the tile coder: its context set, distribution maps and sign skews.

use super::context::BANDS;
use super::tables::{DEFAULT_MAPS, DISTRIBUTIONS};
use super::token::{ROWS, row_of_bucket};

/// Groups of four buckets that share the skew of their signs.
pub const SIGN_GROUPS: usize = 6;
/// Magnitudes whose signs can be skewed: 1 and 2.
pub const SKEWED_MAGNITUDES: usize = 2;
/// Sign skews of a band: `[bucket / 4][magnitude - 1]`, 0 (even) to 15, in 1/32 above one half for "+".
pub type SignSkews = [[u8; SKEWED_MAGNITUDES]; SIGN_GROUPS];

/// Whether samples of so many bits need the second, coarser context sum.
pub const fn is_deep(bits: u32) -> bool {
    bits > 16
}

/// Parameters of the tile coder for one level of one plane.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TileModel {
    /// Context set: 0 luma-like, 1 chroma-like.
    pub set: usize,
    /// Whether magnitudes may exceed 16 bits (a second, coarser context sum is taken then).
    pub deep: bool,
    /// Whether magnitudes may exceed [`NARROW_LIMIT`](super::token::NARROW_LIMIT).
    pub wide: bool,
    /// Distribution of each row of buckets, a band each.
    pub maps: [[u8; ROWS]; BANDS],
    /// Skew of the signs, a band each.
    pub signs: [SignSkews; BANDS],
}

impl TileModel {
    /// The model that a file need not describe.
    pub fn default_for(set: usize, deep: bool) -> Self {
        TileModel {
            set,
            deep,
            wide: false,
            maps: DEFAULT_MAPS[set],
            signs: [[[0; SKEWED_MAGNITUDES]; SIGN_GROUPS]; BANDS],
        }
    }

    /// The distribution for a bucket of a band.
    pub fn distribution(&self, band: usize, bucket: u32) -> usize {
        self.maps[band][row_of_bucket(bucket)].into()
    }

    /// Whether every map entry names a distribution that exists.
    pub fn is_valid(&self) -> bool {
        self.set < DEFAULT_MAPS.len() && self.maps.iter().flatten().all(|&d| usize::from(d) < DISTRIBUTIONS)
    }

    /// How many of the `frequency` slots of token `symbol` (1 or 2) mean "+".
    pub fn positive_slots(&self, band: usize, bucket: u32, symbol: u32, frequency: u32) -> u32 {
        let skew = self.signs[band][bucket as usize / 4][symbol as usize - 1];
        ((frequency * (16 + u32::from(skew))) >> 5).clamp(1, frequency - 1)
    }
}
