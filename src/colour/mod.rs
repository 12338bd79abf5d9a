//! Colour stage: coded planes ⇄ samples. The reversible colour transform, fraction bits and clamping.

pub mod cpu;
#[cfg(feature = "gpu")]
pub mod gpu;

/// Planes of three colours are decorrelated before they are coded.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ColourTransform {
    /// Planes are coded as they are.
    None,
    /// YCoCg-R (Malvar and Sullivan, JVT-I014r3, 2003) over three planes from the first one given.
    YCoCg,
}

/// R, G, B → Y, Co, Cg. Reversible in wrapping arithmetic at any depth.
#[inline]
pub fn ycocg_from_rgb([r, g, b]: [i32; 3]) -> [i32; 3] {
    let co = r.wrapping_sub(b);
    let t = b.wrapping_add(co >> 1);
    let cg = g.wrapping_sub(t);
    [t.wrapping_add(cg >> 1), co, cg]
}

/// Y, Co, Cg → R, G, B.
#[inline]
pub fn rgb_from_ycocg([y, co, cg]: [i32; 3]) -> [i32; 3] {
    let t = y.wrapping_sub(cg >> 1);
    let b = t.wrapping_sub(co >> 1);
    [b.wrapping_add(co), cg.wrapping_add(t), b]
}

/// Removes fraction bits, rounding, and clamps to the range of the plane.
///
/// Without fraction bits a lossless file's samples are in range already.
#[inline]
pub fn sample_from_coded(coded: i32, fraction_bits: u32, (low, high): (i32, i32)) -> i32 {
    let value = if fraction_bits == 0 {
        coded
    } else {
        coded.wrapping_add(1 << (fraction_bits - 1)) >> fraction_bits
    };
    value.clamp(low, high)
}
