//! Decoding: what is needed of a file, where it lies, and the chain of stages that turns it into samples.

pub mod cpu;
mod decoder;
mod extract;
pub mod fast;
mod fetch;
#[cfg(feature = "gpu")]
pub mod gpu;
pub mod output;
pub mod plan;
mod root;
pub mod tile;

pub use crate::container::read::Step;
pub use decoder::{Backend, Decoder};
pub use extract::extract;
pub use fetch::fetch;
pub use output::Sample;
pub use plan::{Plan, Request};
