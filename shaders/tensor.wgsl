// Tensor stage: decoded pixels or planes → elements of a tensor. CPU twin: `tensor/cpu.rs`, from which it differs in that
// the sums along rows are computed anew for every pixel, rather than kept.
//
// Dispatch: one invocation a word of the output, which it alone writes, in rows of workgroups. Elements are counted over
// all pictures, and those behind the last are 0.
//
// Indices: pictures, channels, columns and rows follow from an element's number, which is below `elements`; the host
// checks that every table's samples lie in `decoded`, and the words in `output`.

@group(0) @binding(0) var<storage, read> pictures: array<TensorPicture>;
@group(0) @binding(1) var<storage, read> sources: array<TensorSource>;
@group(0) @binding(2) var<storage, read> weights: array<u32>;
@group(0) @binding(3) var<storage, read> elements: array<u32>;
@group(0) @binding(4) var<storage, read> decoded: array<u32>;
@group(0) @binding(5) var<storage, read_write> output: array<u32>;
@group(0) @binding(8) var<uniform> tensor: Tensor;

const HALF: u32 = TENSOR_ONE / 2u;
const INVOCATIONS: u32 = 256u;

fn fraction_of(source: TensorSource, word: u32) -> u32 {
    let sample = bitcast<i32>((word >> source.shift) & source.mask);
    let steps = u32(clamp(sample, source.low, source.high) - source.low) >> source.dropped;
    return (steps * source.factor + (1u << 14u)) >> 15u;
}

// Along rows, then along columns.
fn resampled(source: TensorSource, x: u32, y: u32) -> u32 {
    let column = source.columns + x * (source.column_taps + 1u);
    let row = source.rows + y * (source.row_taps + 1u);
    var at = source.first + weights[row] * source.stride + weights[column];
    var sum = HALF;
    for (var j = 1u; j <= source.row_taps; j++) {
        var part = HALF;
        for (var i = 1u; i <= source.column_taps; i++) {
            part += weights[column + i] * fraction_of(source, decoded[at + i - 1u]);
        }
        sum += weights[row + j] * (part >> 16u);
        at += source.stride;
    }
    return sum >> 16u;
}

fn element(index: u32) -> u32 {
    let pixels = tensor.width * tensor.height;
    let in_picture = index % (pixels * tensor.channels);
    var channel = in_picture / pixels;
    var pixel = in_picture % pixels;
    if tensor.interleaved == 1u {
        channel = in_picture % tensor.channels;
        pixel = in_picture / tensor.channels;
    }
    let picture = pictures[index / (pixels * tensor.channels)];
    let x = pixel % tensor.width - picture.x;
    let y = pixel / tensor.width - picture.y;
    var fraction = TENSOR_ELEMENTS - 1u;
    if x < picture.width && y < picture.height {
        var sum = HALF;
        let first = picture.sources + channel * picture.terms;
        for (var term = 0u; term < picture.terms; term++) {
            let source = sources[first + term];
            sum += source.weight * resampled(source, x, y);
        }
        fraction = sum >> 16u;
    }
    return elements[channel * TENSOR_ELEMENTS + fraction];
}

@compute @workgroup_size(INVOCATIONS)
fn main(
    @builtin(workgroup_id) group: vec3<u32>,
    @builtin(num_workgroups) groups: vec3<u32>,
    @builtin(local_invocation_index) lane: u32,
) {
    let at = (group.y * groups.x + group.x) * INVOCATIONS + lane;
    if at >= tensor.words {
        return;
    }
    let in_word = 32u / tensor.element_bits;
    var word = 0u;
    for (var i = 0u; i < in_word; i++) {
        let index = at * in_word + i;
        if index < tensor.elements {
            word |= element(index) << (i * tensor.element_bits);
        }
    }
    output[tensor.first + at] = word;
}
