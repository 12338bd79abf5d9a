//! Twin of `gpu.rs` for programs without the feature gpu.

use stepwell::Error;
use stepwell::decode::Sample;
use stepwell::{Request, Size};

use crate::args::BackendName;
use crate::codec::File;
use crate::failure::{Failure, Result};
use crate::ui::Context;

/// There is none.
pub enum GpuDecoder {}

impl GpuDecoder {
    /// Is never called.
    pub fn decode_interleaved<T: Sample>(
        &mut self,
        _: &File,
        _: &Request,
        _: &mut Vec<T>,
    ) -> stepwell::Result<Size> {
        match *self {}
    }
}

/// What commands say that need one.
pub fn missing() -> Failure {
    Failure::failed("this program was built without the feature gpu")
        .help("build it with --features cli,gpu, or decode with --backend cpu")
}

/// No decoder of a GPU, or an error where one is asked for.
pub fn choose(backend: BackendName, _: Option<&str>, context: &Context) -> Result<Option<GpuDecoder>> {
    match backend {
        BackendName::Gpu => Err(missing()),
        BackendName::Auto => {
            context.note("this program was built without the feature gpu: decoding on the CPU");
            Ok(None)
        }
        BackendName::Cpu | BackendName::Reference => Ok(None),
    }
}

/// No GPU, no fault of one.
pub fn is_fault(_: &Error) -> bool {
    false
}
