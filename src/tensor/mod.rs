//! Tensors for models: pictures of any sizes → numbers of one size, normalised, in the layout that a model takes.
//!
//! A [`TensorSpec`] says what the model takes. For each picture a [`Framing`] chooses the coarsest LoQ that need not be
//! enlarged and the region that is seen, so that no other bytes are read or decoded. What is decoded becomes the tensor
//! on the processor ([`cpu`]) or on the GPU ([`gpu`]), from the decoder's buffer straight into the caller's. Both give
//! the same bits.
//!
//! ```
//! use stepwell::stream::MemorySource;
//! use stepwell::tensor::{Element, TensorSpec, cpu};
//! use stepwell::{Decoder, EncodeOptions, Encoder, Image, Limits, PlaneKind, Size};
//!
//! let rgb: Vec<u8> = (0..640 * 480 * 3).map(|i| (i / 5 % 256) as u8).collect();
//! let kinds = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue];
//! let image = Image::from_interleaved(Size::new(640, 480), &kinds, 8, &rgb)?;
//! let file = Encoder::new(EncodeOptions::lossless()).encode(&image)?;
//! let decoder = Decoder::open(MemorySource::new(file), Limits::default())?;
//!
//! let spec = TensorSpec {
//!     element: Element::F16,
//!     mean: [0.485, 0.456, 0.406, 0.0],
//!     std: [0.229, 0.224, 0.225, 1.0],
//!     ..TensorSpec::new(Size::new(224, 224))
//! };
//! let framing = spec.framing(decoder.header(), None)?;
//! assert_eq!(framing.request().loq, 1); // 240 rows suffice for 224
//! let mut tensor = Vec::new();
//! cpu::append(&framing, &decoder.decode(framing.request())?, &mut tensor)?;
//! assert_eq!(tensor.len(), 3 * 224 * 224 * 2);
//! # Ok::<(), stepwell::Error>(())
//! ```
//!
//! # What is computed
//!
//! 1. Each sample becomes a fraction of its plane's range in 16 bits, `65535 · (v - low) / (high - low)`, rounded to the
//!    nearest or, where two are within 0.51, to one of them; `257 · v` of 8 bits, `v` of 16. Planes of more bits lose the
//!    lowest first.
//! 2. The span of the picture that is seen (all of it, or what [`Fit::Crop`] leaves) is resampled to the pixels that it
//!    takes in the tensor, first along rows, then along columns, by a triangle filter: sample `i` of LoQ `n` has its
//!    centre at `(i + ½) · 2^n`, pixel `x` of the tensor at `start + (x + ½) · scale`, and the weight of a sample falls
//!    linearly from its pixel's centre to zero at the distance of `scale`, or of one sample where that is more. Samples
//!    outside the picture, or the part of it that was asked for, have none; those outside a crop do. It is what Pillow's
//!    `resize(size, BILINEAR, box)` and torchvision's antialiased bilinear `resize` compute.
//!    Weights are whole numbers of the sum 65536, and each of both passes rounds to 16 bits: where a pixel takes few
//!    samples, the result differs from exact arithmetic by a few 65536ths.
//! 3. Gray of three colours is `(19595 R + 38470 G + 7471 B + 32768) >> 16`.
//! 4. The fraction `r` becomes `y = (r / 65535 - mean) / std`, in 64-bit floating point. [`Element::F32`] and
//!    [`Element::F16`] hold `y`, rounded to the nearest, ties to even; [`Element::U8`] holds `255 · y`, rounded and
//!    clamped to 0..=255.
//!
//! Samples count as they are stored: neither ICC profiles nor transfer functions nor orientation are applied, and colours
//! are not multiplied by alpha.

pub mod cpu;
mod framing;
#[cfg(feature = "gpu")]
pub mod gpu;
mod resample;
mod spec;

pub use framing::Framing;
pub use spec::{Channels, Element, Fit, Layout, TensorSpec};
