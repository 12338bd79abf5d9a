//! The GPU, as commands choose it.

use std::sync::Arc;

use stepwell::Error;
use stepwell::gpu::{Gpu, GpuOptions};

use crate::args::BackendName;
use crate::failure::{Failure, Result};
use crate::ui::Context;

pub use stepwell::decode::gpu::GpuDecoder;

/// Opens a GPU, or says why there is none and what to do about it.
pub fn open(options: &GpuOptions) -> Result<Arc<Gpu>> {
    Gpu::open(options).map(Arc::new).map_err(|error| {
        Failure::failed(error.to_string())
            .help("a GPU needs a Vulkan driver (vulkaninfo lists what there is); --backend cpu needs none")
    })
}

/// The decoder of the GPU, if one is to decode.
pub fn choose(backend: BackendName, adapter: Option<&str>, context: &Context) -> Result<Option<GpuDecoder>> {
    let options = GpuOptions { adapter: adapter.map(str::to_owned), ..GpuOptions::default() };
    match backend {
        BackendName::Cpu | BackendName::Reference => Ok(None),
        BackendName::Gpu => open(&options).map(|gpu| Some(GpuDecoder::new(gpu))),
        BackendName::Auto => {
            let gpu = match Gpu::open(&options) {
                Ok(gpu) => gpu,
                Err(error) => {
                    context.note(&format!("{error}: decoding on the CPU"));
                    return Ok(None);
                }
            };
            // Software is slower than the decoder made for the CPU. Whoever names it wants it.
            if adapter.is_none() && gpu.info().device_type == wgpu::DeviceType::Cpu {
                context
                    .note(&format!("no GPU but {}, which is software: decoding on the CPU", gpu.info().name));
                return Ok(None);
            }
            Ok(Some(GpuDecoder::new(Arc::new(gpu))))
        }
    }
}

/// Whether the GPU has failed, rather than the file.
pub fn is_fault(error: &Error) -> bool {
    matches!(error, Error::Gpu(_))
}
