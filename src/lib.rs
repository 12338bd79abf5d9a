//! Stepwell (scaffold; the map comes with the stages).

pub mod error;
pub mod geom;
pub mod grid;
pub mod image;

pub use error::{Error, Limits, Result};
pub use geom::{Level, Rect, Size};
pub use grid::Grid;
pub use image::{Cicp, Image, Metadata, Plane, PlaneInfo, PlaneKind};
