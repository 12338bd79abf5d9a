//! What the codec needs of wgpu, and no codec: an adapter and its limits, kernels, buffers that are used again.

pub mod abi;
mod buffer;
mod context;
mod kernel;
mod staging;
mod timer;

pub use buffer::Pooled;
pub use context::{Gpu, GpuFault, GpuOptions, Shaders};
pub use kernel::{Kernel, Kernels, RANGE_BINDING, RANGE_STRIDE, Variant, sources, tables};
pub use staging::{ALIGNMENT, Staging};
pub(crate) use timer::PASSES;
pub use timer::Timer;
