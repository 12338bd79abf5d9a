//! Twin of `bisect.rs` for programs without the feature gpu.

use crate::args::Bisect;
use crate::failure::Result;
use crate::gpu;
use crate::ui::Context;

/// Says that there is no GPU.
pub fn run(_: &Bisect, _: &Context) -> Result<()> {
    Err(gpu::missing())
}
