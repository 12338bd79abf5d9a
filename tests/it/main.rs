//! Integration tests, one binary.

/// Pictures to test with: noise, gradients, edges, all from a seed.
mod pictures;
/// What goes in comes out: sizes, depths, planes, sub-sampling, by both decoders.
mod round_trip;
