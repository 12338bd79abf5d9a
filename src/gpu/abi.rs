//! The records that host and kernels share: `shaders/abi.wgsl` declares the same, and a test compares the two.

use bytemuck::{Pod, Zeroable};

/// `Chunk.kind`: all symbols are zero.
pub const CHUNK_EMPTY: u32 = 16;
/// `Chunk.kind`: symbols are stored a word each.
pub const CHUNK_WIDE: u32 = 32;
/// Rows that a model has for each band.
pub const MODEL_ROWS: usize = 64;
/// Vectors of four coefficients that a window takes.
pub const WINDOW_VECTORS: usize = 7;
/// No chunk, no colour transform.
pub const NOTHING: u32 = u32::MAX;
/// Words of a group of chunks.
pub const GROUP_WORDS: usize = 9;
/// Context set 1 rather than 0.
pub const GROUP_SET: u32 = 1;
/// Lanes have four columns rather than two.
pub const GROUP_QUADS: u32 = 2;
/// Planes are Y, Co, Cg.
pub const OUTPUT_YCOCG: u32 = 1;
/// The fourth plane is alpha.
pub const OUTPUT_ALPHA: u32 = 2;
/// There is one plane: gray.
pub const OUTPUT_GRAY: u32 = 4;
/// Elements that a channel's fractions can become, and what it is filled with.
pub const TENSOR_ELEMENTS: u32 = 65_537;
/// The sum of the weights of a pixel, and of those of a channel's planes.
pub const TENSOR_ONE: u32 = 65_536;

macro_rules! record {
    ($(#[$doc:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? }) => {
        $(#[$doc])*
        #[repr(C)]
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Pod, Zeroable)]
        #[allow(missing_docs, reason = "shaders/abi.wgsl says what each field means")]
        pub struct $name { $(pub $field: $type),* }

        impl $name {
            /// Fields and the bytes at which they stand, for the test that compares them with WGSL.
            pub const LAYOUT: &'static [(&'static str, usize)] =
                &[$((stringify!($field), std::mem::offset_of!($name, $field))),*];
        }
    };
}

record! {
    /// One chunk to decode.
    Chunk {
        first_word: u32, words: u32, symbols: u32, shape: u32, model: u32, image: u32, ordinal: u32, kind: u32,
    }
}
record! {
    /// Some rows of a tile to rebuild.
    Block {
        lower: u32, lower_stride: u32, lower_plane: u32, out: u32, out_stride: u32, out_plane: u32,
        shape: u32, strip: u32, chunks: u32, params: u32, planes: u32, clip_x: u32, clip_y: u32, output: u32,
        pad0: u32, pad1: u32,
    }
}
record! {
    /// How a level of a plane is rebuilt.
    Plane {
        predictor: u32, coefficients: u32, band_stride: u32, sample_shift: u32, activity_shift: u32,
        step_v: u32, step_h0: u32, step_h1: u32,
        near: u32, far: u32,
        linear_set: u32, wraps: u32,
    }
}
record! {
    /// How decoded samples become what comes out.
    Conversion {
        from_first: u32, from_stride: u32, from_plane: u32, width: u32, height: u32,
        to_first: u32, to_stride: u32, to_plane: u32, kept: u32, planes: u32, fraction_bits: u32,
        colour_first: u32, wraps: u32, pad0: u32, pad1: u32, pad2: u32,
    }
}
record! {
    /// A plane that comes out.
    Kept { plane: u32, low: i32, high: i32, pad: u32 }
}
record! {
    /// What a batch of pictures becomes.
    Tensor {
        width: u32, height: u32, channels: u32, interleaved: u32,
        element_bits: u32, elements: u32, words: u32, first: u32,
    }
}
record! {
    /// A picture of a batch, as a tensor.
    TensorPicture {
        x: u32, y: u32, width: u32, height: u32, sources: u32, terms: u32, pad0: u32, pad1: u32,
    }
}
record! {
    /// A plane that a channel of a picture is made of.
    TensorSource {
        first: u32, stride: u32, columns: u32, column_taps: u32, rows: u32, row_taps: u32,
        shift: u32, mask: u32, low: i32, high: i32, dropped: u32, factor: u32,
        weight: u32, pad0: u32, pad1: u32, pad2: u32,
    }
}
record! {
    /// The part of a list that a dispatch works through.
    Range { first: u32, count: u32, pad0: u32, pad1: u32 }
}

/// Tile coder parameters of a level of a plane.
#[repr(C)]
#[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
#[allow(missing_docs, reason = "shaders/abi.wgsl says what each field means")]
pub struct Model {
    pub rows: [[u32; 2]; 3 * MODEL_ROWS],
    pub context_set: u32,
    pub deep: u32,
    pub wide: u32,
    pub pad: u32,
}

/// A tile's shape in one word.
pub fn shape_word(shape: &crate::entropy::TileShape) -> u32 {
    (shape.columns | shape.rows << 8 | shape.h_columns << 16 | shape.v_rows << 24) as u32
}
