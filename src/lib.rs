//! Stepwell (scaffold; the map comes with the stages).

pub mod colour;
pub mod container;
pub mod control;
pub mod decode;
pub mod encode;
pub mod entropy;
pub mod error;
pub mod geom;
pub mod grid;
pub mod image;
pub mod residual;
mod simd;
pub mod stream;
pub mod upsample;

pub use control::{CancelHandle, Control};
pub use decode::{Backend, Decoder, Request, extract};
pub use encode::{EncodeOptions, Encoder, Profile, Target};
pub use error::{Error, Limits, Result};
pub use geom::{Level, Rect, Size};
pub use grid::Grid;
pub use image::{Cicp, Image, Metadata, Plane, PlaneInfo, PlaneKind};
