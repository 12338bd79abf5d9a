//! The records that host and kernels share: `shaders/abi.wgsl` declares the same, and a test compares the two.

use bytemuck::{Pod, Zeroable};

use crate::entropy::lanes::DEFERRED_SIGNS;
use crate::entropy::token::{ESCAPE_BASE, MAGNITUDE_CAP, NARROW_LIMIT};
use crate::upsample::ACTIVITY_CAP;

/// The bits of `Chunk.kind` that are columns a lane.
pub const COLUMNS_PER_LANE: u32 = 15;
/// `Chunk.kind`: all symbols are zero.
pub const CHUNK_EMPTY: u32 = 16;
/// `Chunk.kind`: symbols are stored a word each.
pub const CHUNK_WIDE: u32 = 32;
/// Rows that a model has for each band.
pub const MODEL_ROWS: usize = 64;
/// Vectors of four coefficients that a window takes.
pub const WINDOW_VECTORS: usize = 7;
/// `Plane.predictor`: there is none.
pub const PREDICTOR_NONE: u32 = 0;
/// `Plane.predictor`: one set of coefficients.
pub const PREDICTOR_LINEAR: u32 = 1;
/// `Plane.predictor`: coefficients by class.
pub const PREDICTOR_CLASSED: u32 = 2;
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

macro_rules! named {
    ($($name:ident),* $(,)?) => { &[$((stringify!($name), $name as u32)),*] };
}

/// Constants that kernels declare too, for the test that compares them.
pub const CONSTANTS: &[(&str, u32)] = named![
    COLUMNS_PER_LANE,
    CHUNK_EMPTY,
    CHUNK_WIDE,
    MODEL_ROWS,
    WINDOW_VECTORS,
    PREDICTOR_NONE,
    PREDICTOR_LINEAR,
    PREDICTOR_CLASSED,
    NOTHING,
    GROUP_WORDS,
    GROUP_SET,
    GROUP_QUADS,
    OUTPUT_YCOCG,
    OUTPUT_ALPHA,
    OUTPUT_GRAY,
    DEFERRED_SIGNS,
    NARROW_LIMIT,
    MAGNITUDE_CAP,
    ESCAPE_BASE,
    TENSOR_ELEMENTS,
    TENSOR_ONE,
    ACTIVITY_CAP,
];

/// A record, for the test that compares it with WGSL.
#[derive(Clone, Debug)]
pub struct Record {
    /// Its name in both languages.
    pub name: &'static str,
    /// Its size.
    pub bytes: usize,
    /// Of each field: name, first byte, type.
    pub fields: Vec<(&'static str, usize, &'static str)>,
}

macro_rules! records {
    ($($(#[$attribute:meta])* $name:ident { $($field:ident: $type:ty),* $(,)? })*) => {
        $(
            $(#[$attribute])*
            #[repr(C)]
            #[derive(Clone, Copy, Debug, PartialEq, Eq, Pod, Zeroable)]
            #[allow(missing_docs, reason = "shaders/abi.wgsl says what each field means")]
            pub struct $name { $(pub $field: $type),* }
        )*

        /// All records.
        pub fn records() -> Vec<Record> {
            vec![$(Record {
                name: stringify!($name),
                bytes: size_of::<$name>(),
                fields: vec![$((
                    stringify!($field),
                    std::mem::offset_of!($name, $field),
                    std::any::type_name::<$type>(),
                )),*],
            }),*]
        }
    };
}

records! {
    /// One chunk to decode.
    #[derive(Default)]
    Chunk {
        first_word: u32, words: u32, symbols: u32, shape: u32, model: u32, image: u32, ordinal: u32, kind: u32,
    }
    /// Some rows of a tile to rebuild.
    #[derive(Default)]
    Block {
        lower: u32, lower_stride: u32, lower_plane: u32, out: u32, out_stride: u32, out_plane: u32,
        shape: u32, strip: u32, chunks: u32, params: u32, planes: u32, clip_x: u32, clip_y: u32, output: u32,
        pad0: u32, pad1: u32,
    }
    /// How a level of a plane is rebuilt.
    #[derive(Default)]
    Plane {
        predictor: u32, coefficients: u32, band_stride: u32, sample_shift: u32, activity_shift: u32,
        step_v: u32, step_h0: u32, step_h1: u32,
        near: u32, far: u32,
        linear_set: u32, wraps: u32,
    }
    /// How decoded samples become what comes out.
    #[derive(Default)]
    Conversion {
        from_first: u32, from_stride: u32, from_plane: u32, width: u32, height: u32,
        to_first: u32, to_stride: u32, to_plane: u32, kept: u32, planes: u32, fraction_bits: u32,
        colour_first: u32, wraps: u32, pad0: u32, pad1: u32, pad2: u32,
    }
    /// A plane that comes out.
    #[derive(Default)]
    Kept { plane: u32, low: i32, high: i32, pad: u32 }
    /// What a batch of pictures becomes.
    #[derive(Default)]
    Tensor {
        width: u32, height: u32, channels: u32, interleaved: u32,
        element_bits: u32, elements: u32, words: u32, first: u32,
    }
    /// A picture of a batch, as a tensor.
    #[derive(Default)]
    TensorPicture {
        x: u32, y: u32, width: u32, height: u32, sources: u32, terms: u32, pad0: u32, pad1: u32,
    }
    /// A plane that a channel of a picture is made of.
    #[derive(Default)]
    TensorSource {
        first: u32, stride: u32, columns: u32, column_taps: u32, rows: u32, row_taps: u32,
        shift: u32, mask: u32, low: i32, high: i32, dropped: u32, factor: u32,
        weight: u32, pad0: u32, pad1: u32, pad2: u32,
    }
    /// The part of a list that a dispatch works through.
    #[derive(Default)]
    Range { first: u32, count: u32, pad0: u32, pad1: u32 }
    /// Tile coder parameters of a level of a plane.
    Model {
        rows: [[u32; 2]; 3 * MODEL_ROWS],
        context_set: u32,
        deep: u32,
        wide: u32,
        pad: u32,
    }
}

/// A tile's shape in one word.
pub fn shape_word(shape: &crate::entropy::TileShape) -> u32 {
    (shape.columns | shape.rows << 8 | shape.h_columns << 16 | shape.v_rows << 24) as u32
}
