//! The GPU: adapter, device, queue and what they can do.

use std::sync::{Arc, Mutex, PoisonError};

use super::kernel::{Kernels, Variant};
use crate::error::Result;

/// What a GPU could not do.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum GpuFault {
    /// There is none that can be used.
    #[error("no GPU can be used: {0}")]
    NoAdapter(String),
    /// The work does not fit what the GPU allows.
    #[error("the GPU's limits are too small: {0}")]
    Limits(String),
    /// Its memory is full.
    #[error("the GPU is out of memory: {0}")]
    OutOfMemory(String),
    /// The device is lost and nothing more can be done with it: open it anew.
    #[error("the GPU was lost: {0}")]
    Lost(String),
    /// The driver refused something that should work.
    #[error("the GPU's driver failed: {0}")]
    Driver(String),
}

/// How kernels are compiled.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Shaders {
    /// With the bounds checks that browsers put into every shader.
    Checked,
    /// Without: the kernels bound every index and loop themselves. For native use.
    #[default]
    Trusted,
}

/// Which GPU, and how it is used.
#[derive(Clone, Debug)]
pub struct GpuOptions {
    /// How kernels are compiled.
    pub shaders: Shaders,
    /// Only what every WebGPU device has: no subgroups, no loads of 16 bits.
    pub portable: bool,
    /// Only an adapter whose name has this in it.
    pub adapter: Option<String>,
}

impl Default for GpuOptions {
    fn default() -> Self {
        GpuOptions { shaders: Shaders::Trusted, portable: false, adapter: None }
    }
}

/// A GPU with its kernels.
#[derive(Debug)]
pub struct Gpu {
    pub(crate) device: wgpu::Device,
    pub(crate) queue: wgpu::Queue,
    pub(crate) kernels: Kernels,
    info: wgpu::AdapterInfo,
    lost: Arc<Mutex<Option<GpuFault>>>,
}

/// Lanes that a subgroup must have to be used.
const SUBGROUP_LANES: u32 = 32;

impl Gpu {
    /// Opens the fastest GPU, and waits for it.
    ///
    /// # Errors
    /// [`GpuFault::NoAdapter`] where there is none, [`GpuFault::Limits`] where it does not suffice.
    pub fn open(options: &GpuOptions) -> Result<Gpu> {
        pollster::block_on(Gpu::request(options))
    }

    /// Opens the fastest GPU.
    ///
    /// # Errors
    /// As [`Self::open`].
    pub async fn request(options: &GpuOptions) -> Result<Gpu> {
        let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
        descriptor.flags = wgpu::InstanceFlags::empty();
        let instance = wgpu::Instance::new(descriptor);
        let mut adapters = instance.enumerate_adapters(wgpu::Backends::all()).await;
        adapters.sort_by_key(|adapter| match adapter.get_info().device_type {
            wgpu::DeviceType::DiscreteGpu => 0,
            wgpu::DeviceType::IntegratedGpu => 1,
            wgpu::DeviceType::VirtualGpu => 2,
            _ => 3,
        });
        let offered: Vec<String> = adapters.iter().map(|adapter| adapter.get_info().name).collect();
        let wanted = |adapter: &wgpu::Adapter| {
            options.adapter.as_ref().is_none_or(|name| adapter.get_info().name.contains(name))
        };
        let Some(adapter) = adapters.into_iter().find(wanted) else {
            let what = match &options.adapter {
                Some(name) if !offered.is_empty() => {
                    format!("no adapter is named {name}, those there are {}", offered.join(", "))
                }
                _ => "the system offers no adapter".into(),
            };
            return Err(GpuFault::NoAdapter(what).into());
        };
        let info = adapter.get_info();
        let offered = adapter.features();
        let useful = wgpu::Features::TIMESTAMP_QUERY
            | wgpu::Features::SUBGROUP
            | wgpu::Features::SHADER_I16
            | wgpu::Features::MAPPABLE_PRIMARY_BUFFERS;
        let request = wgpu::DeviceDescriptor {
            label: Some("stepwell"),
            required_features: offered & useful,
            // All there is: larger bindings mean fewer slices.
            required_limits: adapter.limits(),
            ..Default::default()
        };
        let (device, queue) = adapter
            .request_device(&request)
            .await
            .map_err(|error| GpuFault::NoAdapter(format!("{} refuses a device: {error}", info.name)))?;
        Gpu::from_device(device, queue, options)
    }

    /// Uses a device that the caller has opened, say to draw what is decoded.
    ///
    /// # Errors
    /// [`GpuFault::Limits`] where its limits are below WebGPU's defaults.
    pub fn from_device(device: wgpu::Device, queue: wgpu::Queue, options: &GpuOptions) -> Result<Gpu> {
        let limits = device.limits();
        if limits.max_storage_buffers_per_shader_stage < 8
            || limits.max_compute_invocations_per_workgroup < 256
            || limits.max_compute_workgroup_storage_size < 16 << 10
        {
            let what = "8 storage buffers, 256 invocations and 16 KiB of workgroup memory are needed";
            return Err(GpuFault::Limits(what.into()).into());
        }
        let lost = Arc::new(Mutex::new(None));
        let noted = Arc::clone(&lost);
        device.set_device_lost_callback(move |reason, message| {
            let fault = GpuFault::Lost(format!("{message} ({reason:?})"));
            noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        });
        let noted = Arc::clone(&lost);
        device.on_uncaptured_error(Arc::new(move |error| {
            let fault = match error {
                wgpu::Error::OutOfMemory { source } => GpuFault::OutOfMemory(source.to_string()),
                other => GpuFault::Driver(other.to_string()),
            };
            noted.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert(fault);
        }));
        let info = device.adapter_info();
        let has = |feature| !options.portable && device.features().contains(feature);
        let of_right_size =
            info.subgroup_min_size == SUBGROUP_LANES && info.subgroup_max_size == SUBGROUP_LANES;
        let variant = Variant {
            subgroups: has(wgpu::Features::SUBGROUP) && of_right_size,
            halves: has(wgpu::Features::SHADER_I16),
        };
        let kernels = Kernels::new(&device, options.shaders, variant);
        let gpu = Gpu { device, queue, kernels, info, lost };
        gpu.check()?;
        Ok(gpu)
    }

    /// The adapter's name and driver.
    pub fn info(&self) -> &wgpu::AdapterInfo {
        &self.info
    }

    /// The device, for whoever goes on with what was decoded.
    pub fn device(&self) -> &wgpu::Device {
        &self.device
    }

    /// The device's queue.
    pub fn queue(&self) -> &wgpu::Queue {
        &self.queue
    }

    /// Bytes of the largest buffer that a kernel can be given.
    pub fn largest_binding(&self) -> u64 {
        let limits = self.device.limits();
        limits.max_buffer_size.min(limits.max_storage_buffer_binding_size)
    }

    /// What kernels use beyond what every device has.
    pub fn variant(&self) -> Variant {
        self.kernels.variant
    }

    /// An error if the device has failed since the last call. A lost device stays lost.
    ///
    /// # Errors
    /// What has happened.
    pub fn check(&self) -> Result<()> {
        let mut fault = self.lost.lock().unwrap_or_else(PoisonError::into_inner);
        match &*fault {
            None => Ok(()),
            Some(GpuFault::Lost(_)) => Err(fault.clone().unwrap_or(GpuFault::Lost(String::new())).into()),
            Some(_) => Err(fault.take().unwrap_or(GpuFault::Lost(String::new())).into()),
        }
    }

    /// Waits until all that was submitted is done.
    ///
    /// # Errors
    /// As [`Self::check`].
    pub fn wait(&self) -> Result<()> {
        let polled = self.device.poll(wgpu::PollType::wait_indefinitely());
        self.check()?;
        polled.map(|_| ()).map_err(|error| GpuFault::Driver(error.to_string()).into())
    }
}
