//! Stepwell is a hierarchical image codec. A picture is a stairway of levels of quality (LoQ): a small root, and for
//! each step up a layer of residuals that turns the up-sampled lower level into the next one. One file serves every
//! size, region and plane: a reader fetches and decodes only what it needs.
//!
//! ```
//! use stepwell::stream::MemorySource;
//! use stepwell::{Decoder, EncodeOptions, Encoder, Image, Limits, PlaneKind, Rect, Request, Size};
//!
//! let rgb: Vec<u8> = (0..640 * 480 * 3).map(|i| (i / 5 % 256) as u8).collect();
//! let kinds = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue];
//! let image = Image::from_interleaved(Size::new(640, 480), &kinds, 8, &rgb)?;
//! let file = Encoder::new(EncodeOptions::lossless()).encode(&image)?;
//!
//! let decoder = Decoder::open(MemorySource::new(file), Limits::default())?;
//! let mut all: Vec<u8> = Vec::new();
//! decoder.decode_interleaved(&Request::default(), &mut all)?;
//! assert_eq!(all, rgb);
//!
//! // A region at half its size. Only the bytes that this takes are read.
//! let request = Request { loq: 1, region: Some(Rect::new(320, 200, 100, 80)), planes: None };
//! let part = decoder.decode(&request)?;
//! assert_eq!(part.size, Size::new(50, 40));
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! # The map
//!
//! ```text
//! bytes ─container─▶ header + index ─plan─▶ byte ranges + jobs
//!                                             │  (a Source fetches the ranges)
//!         ┌───────────────────────────────────┘
//!         ▼  root first
//!    entropy ─▶ residual ─▶ upsample(previous level) + residual ─▶ … ─▶ planes ─colour─▶ samples
//! ```
//!
//! | stage | in → out | reference (read this) | for speed | on the GPU | kernels | inverse |
//! |---|---|---|---|---|---|---|
//! | [`entropy`] | tile bytes → symbols | `entropy/cpu.rs` | `entropy/fast.rs` | `entropy/gpu.rs` | `shaders/entropy*.wgsl` | `entropy/encode.rs` |
//! | [`residual`] | symbols → residuals | `residual/mod.rs` | the same | part of upsample | | `residual/encode.rs` |
//! | [`upsample`] | level k + 1 and residuals → level k | `upsample/cpu.rs` | `upsample/fast.rs` | `upsample/gpu.rs` | `shaders/upsample*.wgsl` | `upsample/encode.rs` |
//! | [`colour`] | coded planes → samples | `colour/cpu.rs` | the same | `colour/gpu.rs` | `shaders/colour.wgsl` | `colour/mod.rs` |
//! | [`tensor`] | samples → what a model takes | `tensor/cpu.rs` | | `tensor/gpu.rs` | `shaders/tensor.wgsl` | |
//!
//! The chains are `decode/cpu.rs`, `decode/fast.rs` and [`decode::gpu`]. All compute the same integers; tests compare
//! them with `==`. The format is
//! `src/container/SPEC.md`.
//!
//! # Features
//!
//! * `gpu` (default): decoding on the GPU, through wgpu.
//! * `cli`: the `stepwell` program and the image formats it reads and writes.

// What everything is measured in and held in.
pub mod error;
pub mod geom;
pub mod grid;
pub mod image;

// Bytes: where they come from, what they mean, which of them are needed.
pub mod container;
pub mod stream;

// The stages, in the order of decoding.
pub mod colour;
pub mod entropy;
pub mod residual;
pub mod upsample;

// The GPU, without any codec.
#[cfg(feature = "gpu")]
pub mod gpu;

// The chains through them.
pub mod control;
pub mod decode;
pub mod encode;
// What follows them.
pub mod tensor;

mod simd;

pub use control::{CancelHandle, Control};
pub use decode::{Backend, Decoder, Request, extract};
pub use encode::{EncodeOptions, Encoder, Profile, Target};
pub use error::{Error, Limits, Result};
pub use geom::{Level, Rect, Size};
pub use grid::Grid;
pub use image::{Cicp, Image, Metadata, Plane, PlaneInfo, PlaneKind};

/// The code in README.md, as a test.
#[cfg(all(doctest, feature = "gpu"))]
#[doc = include_str!("../README.md")]
struct ReadmeDoctests;
