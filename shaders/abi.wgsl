// What host and kernels tell each other. `src/gpu/abi.rs` declares the same; a test compares the two.

// One chunk to decode: a tile of a plane.
struct Chunk {
    // Its first word in the payload, in units of 16 bits, and how many there are.
    first_word: u32,
    words: u32,
    // Where its symbols go: an index into `narrow` or `wide`.
    symbols: u32,
    // columns | rows << 8 | h_columns << 16 | v_rows << 24, in quads.
    shape: u32,
    // Index of its model.
    model: u32,
    // Which word of `faults` takes its ordinal if it is broken, and that ordinal.
    image: u32,
    ordinal: u32,
    // columns a lane | CHUNK_* flags.
    kind: u32,
}

// The low bits of `Chunk.kind`: columns a lane.
const COLUMNS_PER_LANE: u32 = 15u;
// All symbols are zero: there are no words, and nothing is stored.
const CHUNK_EMPTY: u32 = 16u;
// Symbols are stored in `wide`, one a word, rather than in `narrow`, two a word.
const CHUNK_WIDE: u32 = 32u;

// Tile coder parameters of a level of a plane.
struct Model {
    // By band and half octaves of the context sum: index of the distribution's first alias entry; slots of tokens 1 (low
    // 15 bits) and 2 (the next 15) that mean "+". Row 0 of each band, which no sum reaches, is for lanes that do not code.
    rows: array<vec2<u32>, 192>,
    // Context set.
    context_set: u32,
    // Whether magnitudes may exceed 16 bits in contexts, and in values.
    deep: u32,
    wide: u32,
    pad: u32,
}
// Rows that `Model` has for each band.
const MODEL_ROWS: u32 = 64u;

// Rows of a tile to rebuild, all planes of a group.
struct Block {
    // In the samples of the level above: the tile's first sample, row stride, distance between planes.
    lower: u32,
    lower_stride: u32,
    lower_plane: u32,
    // In the output: where the tile's first sample would be, row stride, distance between planes.
    out: u32,
    out_stride: u32,
    out_plane: u32,
    // As in `Chunk`.
    shape: u32,
    // First row of quads | rows of quads << 8 | log2 of the tile's side << 16.
    strip: u32,
    // Index of the first plane's chunk; the others follow.
    chunks: u32,
    // Index of the first plane's `Plane`; the others follow.
    params: u32,
    planes: u32,
    // Samples of the tile that are wanted: first | end << 16.
    clip_x: u32,
    clip_y: u32,
    // For pixels: OUTPUT_* flags, and fraction bits << 8.
    output: u32,
    pad0: u32,
    pad1: u32,
}

// How the samples of a decoded part become what comes out. One invocation a pixel.
struct Conversion {
    // In `samples`: the first sample, row stride, distance between planes.
    from_first: u32,
    from_stride: u32,
    from_plane: u32,
    width: u32,
    height: u32,
    // In the output: the first value, row stride, distance between planes.
    to_first: u32,
    to_stride: u32,
    to_plane: u32,
    // Index of the first of `planes` `Kept`.
    kept: u32,
    planes: u32,
    fraction_bits: u32,
    // The first plane of the colour transform, or `NOTHING`.
    colour_first: u32,
    // Whether coded samples are reduced to signed 16 bits first.
    wraps: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}

// A plane that comes out.
struct Kept {
    // Which of the decoded planes it is.
    plane: u32,
    // Smallest and largest sample.
    low: i32,
    high: i32,
    pad: u32,
}

// How a level of a plane is rebuilt.
struct Plane {
    // 0 none, 1 linear, 2 classed.
    predictor: u32,
    // Index of the first coefficient vector of V; those of H0 and H1 follow after `band_stride` each.
    coefficients: u32,
    band_stride: u32,
    sample_shift: u32,
    activity_shift: u32,
    // Quantiser steps of V, H0, H1 in sixteenths.
    step_v: u32,
    step_h0: u32,
    step_h1: u32,
    // Cross-plane factors of the nearest plane before and the one before that, a signed byte a band.
    near: u32,
    far: u32,
    // The coefficients of a predictor without classes, or `NOTHING`: set, and 4 more for the compact one.
    linear_set: u32,
    // Whether residuals of other planes are reduced to signed 16 bits.
    wraps: u32,
}
const PREDICTOR_NONE: u32 = 0u;
const PREDICTOR_LINEAR: u32 = 1u;
const PREDICTOR_CLASSED: u32 = 2u;
// Vectors of coefficients that a window takes: columns 0 to 3 of each row; column 4 of rows 0 to 3; column 4 of row 4,
// and the coefficient of H0.
const WINDOW_VECTORS: u32 = 7u;

// Planes are Y, Co, Cg.
const OUTPUT_YCOCG: u32 = 1u;
// The fourth plane is alpha.
const OUTPUT_ALPHA: u32 = 2u;
// There is one plane: gray.
const OUTPUT_GRAY: u32 = 4u;

// In `work`: no chunk here.
const NOTHING: u32 = 0xffffffffu;
// Words of a group of chunks, of which the first says what they have in common: GROUP_* flags, and rows << 8.
const GROUP_WORDS: u32 = 9u;
const GROUP_SET: u32 = 1u;
const GROUP_QUADS: u32 = 2u;

// What a batch of pictures becomes.
struct Tensor {
    width: u32,
    height: u32,
    channels: u32,
    // Whether the channels of a pixel stand next to each other.
    interleaved: u32,
    // Bits of an element: 8, 16 or 32.
    element_bits: u32,
    // Elements of all pictures, the words that they take, and the first of these in the output.
    elements: u32,
    words: u32,
    first: u32,
}

// A picture of a batch, as a tensor.
struct TensorPicture {
    // The part of the tensor that it takes.
    x: u32,
    y: u32,
    width: u32,
    height: u32,
    // Index of its first source. Each channel has `terms` of them, one after the other.
    sources: u32,
    terms: u32,
    pad0: u32,
    pad1: u32,
}

// A plane that a channel of a picture is made of.
struct TensorSource {
    // In `decoded`: the first word, words a row.
    first: u32,
    stride: u32,
    // In `weights`: by column, and by row, the first sample and then as many weights as there are taps.
    columns: u32,
    column_taps: u32,
    rows: u32,
    row_taps: u32,
    // A sample is `word >> shift & mask`.
    shift: u32,
    mask: u32,
    // Smallest and largest sample; bits to drop; what the rest is multiplied by, in units of 2^-15, to be of 16 bits.
    low: i32,
    high: i32,
    dropped: u32,
    factor: u32,
    // What it adds to the channel, of `TENSOR_ONE`.
    weight: u32,
    pad0: u32,
    pad1: u32,
    pad2: u32,
}
// By channel, `elements` has what each fraction of 16 bits becomes, and last what a letterbox is filled with.
const TENSOR_ELEMENTS: u32 = 65537u;
const TENSOR_ONE: u32 = 65536u;

// The part of a list that a dispatch works through.
struct Range { first: u32, count: u32, pad0: u32, pad1: u32 }
