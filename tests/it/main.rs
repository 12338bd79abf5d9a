//! Integration tests, one binary.

/// Counts what threads allocate.
mod alloc;
/// Files cut out of files.
mod extract;
/// Heads that no encoder would write.
mod forge;
/// The fuzzers' targets, on a few thousand inputs.
mod fuzz_smoke;
/// Named pictures, and checksums of their files and pixels in `tests/data/expected.txt`.
mod golden;
/// The same integers on the GPU.
#[cfg(feature = "gpu")]
mod gpu;
/// Broken and hostile files on the GPU.
#[cfg(feature = "gpu")]
mod gpu_broken;
/// Pictures larger than a GPU's buffers.
#[cfg(feature = "gpu")]
mod gpu_slices;
/// Broken and hostile files: truncated, flipped, overwritten, absurd.
mod hostile;
/// Limits that hold, sources that do not, work that is cancelled.
mod limits;
/// Pictures to test with: noise, gradients, edges, all from a seed.
mod pictures;
/// Files cut short, and bytes that come late, in pieces and in any order.
mod prefix;
/// Pictures of any kind: exact, near, and as small as asked for.
mod property;
/// A region is the same as the whole cut to it, and takes only the bytes that its plan names.
mod region;
/// A test for every fault that was found.
mod regression;
/// Makes checksums fit again after a change.
mod repair;
/// What goes in comes out: sizes, depths, planes, sub-sampling, by both decoders.
mod round_trip;
/// Kernels as text.
#[cfg(feature = "gpu")]
mod shaders;
/// Sources that watch, lie, or deliver by hand.
mod sources;
/// The SPEC says what the code does: its tables, its example, its numbering.
mod spec;
/// Stage by stage the same on the GPU, which writes nowhere else.
#[cfg(feature = "gpu")]
mod stages;
/// What fuzzers call.
mod targets;
/// Tensors for models.
mod tensor;
/// The same bits on the GPU.
#[cfg(feature = "gpu")]
mod tensor_gpu;
