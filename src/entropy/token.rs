//! Magnitudes as tokens: small ones directly, larger ones two tokens an octave plus mantissa bits.

/// Tokens a distribution has.
pub const TOKENS: usize = 32;
/// The token for everything from [`ESCAPE_BASE`] on: [`escape_bits`] raw bits follow.
pub const ESCAPE: u32 = 31;
/// The largest magnitude of planes that are not wide.
pub const NARROW_LIMIT: u32 = 0x7fff;
/// The smallest magnitude that needs the escape token.
pub const ESCAPE_BASE: u32 = 3072;
/// Context magnitudes saturate here, so that weighted sums stay inside 32 bits.
pub const MAGNITUDE_CAP: u32 = (1 << 20) - 1;
/// Buckets that have a row of their own; higher ones reuse the last two rows at a larger shift.
pub const ROWS: usize = 22;

/// A magnitude taken apart: token, and the value and number of its raw mantissa bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Token {
    /// The token, below [`TOKENS`].
    pub symbol: u32,
    /// How many mantissa bits follow.
    pub bits: u32,
    /// The mantissa.
    pub mantissa: u32,
}

/// Magnitude → token.
pub fn token_from_magnitude(magnitude: u32) -> Token {
    if magnitude < 16 {
        return Token { symbol: magnitude, bits: 0, mantissa: 0 };
    }
    if magnitude >= ESCAPE_BASE {
        return Token { symbol: ESCAPE, bits: 32, mantissa: magnitude - ESCAPE_BASE };
    }
    let exponent = 31 - magnitude.leading_zeros();
    let symbol = 16 + 2 * (exponent - 4) + ((magnitude >> (exponent - 1)) & 1);
    let bits = exponent - 1;
    Token { symbol, bits, mantissa: magnitude & ((1 << bits) - 1) }
}

/// Raw bits of an escaped value in a bucket of this shift. Without wide values a symbol never takes more than 16 raw
/// bits, sign included, and so at most two words: what parallel decoders count on.
pub const fn escape_bits(wide: bool, shift: u32) -> u32 {
    if wide { 32 } else { 15u32.saturating_sub(shift) }
}

/// Token → smallest magnitude it stands for, and the number of mantissa bits to add to it, where values may be wide.
pub const fn base_and_bits(symbol: u32) -> (u32, u32) {
    if symbol < 16 {
        (symbol, 0)
    } else if symbol == ESCAPE {
        (ESCAPE_BASE, 32)
    } else {
        let bits = 3 + (symbol - 16) / 2;
        ((2 + (symbol & 1)) << bits, bits)
    }
}

/// Weighted context sum (unit 1/256 of a magnitude) → bucket: two an octave.
pub fn bucket_from_sum(sum: u32) -> u32 {
    bucket_of_half_octaves(half_octaves(sum.max(2)))
}

/// Half octaves of a context sum → bucket.
pub fn bucket_of_half_octaves(half_octaves: u32) -> u32 {
    half_octaves.saturating_sub(6)
}

/// As [`bucket_from_sum`], for a sum over magnitudes that were shifted right by 12.
pub fn bucket_from_high_sum(sum: u32) -> u32 {
    half_octaves(sum.max(2)) + 24 - 6
}

fn half_octaves(v: u32) -> u32 {
    let exponent = 31 - v.leading_zeros();
    2 * exponent + ((v >> (exponent - 1)) & 1)
}

/// How many low bits of a magnitude are sent raw in a bucket.
pub fn shift_of_bucket(bucket: u32) -> u32 {
    if bucket < ROWS as u32 { 0 } else { (bucket - ROWS as u32) / 2 + 1 }
}

/// Which row of the distribution map a bucket uses. From bucket 22 on each octave adds one to the shift, so that
/// what is left of the magnitude is distributed as in the last octave below.
pub fn row_of_bucket(bucket: u32) -> usize {
    if bucket < ROWS as u32 { bucket as usize } else { ROWS - 2 + (bucket & 1) as usize }
}

/// The magnitude that contexts see: the middle of what the token stands for. It is known before the mantissa bits
/// have arrived, so that a parallel decoder needs only one barrier a step.
pub fn context_magnitude(symbol: u32, shift: u32) -> u32 {
    // An escaped value counts as if it were the next half octave.
    let bits = if symbol == ESCAPE { 10 } else { base_and_bits(symbol).1 };
    let middle = (u64::from(base_and_bits(symbol).0) << shift) + ((1u64 << (shift + bits)) >> 1);
    middle.min(i32::MAX as u64) as u32
}
