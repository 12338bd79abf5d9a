//! One file a command.

pub mod bench;
#[cfg(feature = "gpu")]
mod bench_gpu;
#[cfg_attr(not(feature = "gpu"), path = "bisect_disabled.rs")]
pub mod bisect;
pub mod compare;
pub mod completions;
pub mod decode;
pub mod encode;
pub mod extract;
pub mod info;
pub mod transcode;
pub mod verify;
