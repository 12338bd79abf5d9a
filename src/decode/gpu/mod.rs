//! The decoder on the GPU: many pictures at once, from their bytes to planes or pixels that stay there.
//!
//! All tiles of all levels of all pictures of a batch go through the entropy stage in one dispatch, since a tile's
//! symbols depend on nothing else. Then the levels follow, from the root down, each a dispatch over all pictures.

mod decoder;
mod packet;
mod slices;
mod tables;
pub mod trace;

pub use decoder::{Decoded, GpuDecoder, Place, Timing, Trespass};
pub use packet::Packet;
pub use slices::{largest_buffer, slices};
pub use tables::Target;
pub use trace::{Comparison, Difference, Stage, Trace};
