//! The colour stage on the GPU: what its kernel needs to know. Kernel: `shaders/colour.wgsl`.

use super::ColourTransform;
use super::cpu::Output;
use crate::gpu::abi::{self, NOTHING, OUTPUT_ALPHA, OUTPUT_GRAY, OUTPUT_YCOCG};

/// [`abi::Block::output`] for planes that can come out as RGBA pixels at once: one to four planes of 8 unsigned bits,
/// `kept` being all of them in order.
pub fn pixel_word(output: &Output, kept: &[usize]) -> Option<u32> {
    let planes = output.ranges.len();
    let in_order = kept.iter().copied().eq(0..planes);
    let eight_bits = output.ranges.iter().all(|&range| range == (0, 255));
    let coloured = output.transform == ColourTransform::YCoCg;
    if !in_order || !eight_bits || !output.wraps || coloured && output.first != 0 {
        return None;
    }
    let flags = match planes {
        1 => OUTPUT_GRAY,
        3 => 0,
        4 => OUTPUT_ALPHA,
        _ => return None,
    };
    Some(flags | if coloured { OUTPUT_YCOCG } else { 0 } | output.fraction_bits << 8)
}

/// The planes that are kept, and the first plane of the colour transform.
pub fn kept_records(output: &Output, kept: &[usize]) -> (Vec<abi::Kept>, u32) {
    let record = |&plane: &usize| {
        let (low, high) = output.ranges[plane];
        abi::Kept { plane: plane as u32, low, high, pad: 0 }
    };
    let first = if output.transform == ColourTransform::None { NOTHING } else { output.first as u32 };
    (kept.iter().map(record).collect(), first)
}
