//! Buffers that are kept from batch to batch and grow where one needs more.

use bytemuck::Pod;

use super::{Gpu, GpuFault};
use crate::error::Result;

/// A buffer that grows.
#[derive(Debug)]
pub struct Pooled {
    label: &'static str,
    usage: wgpu::BufferUsages,
    buffer: Option<wgpu::Buffer>,
    /// How often it was replaced: bind groups made before are stale.
    generation: u64,
}

impl Pooled {
    /// Without memory yet.
    pub fn new(label: &'static str, usage: wgpu::BufferUsages) -> Self {
        Pooled { label, usage, buffer: None, generation: 0 }
    }

    /// For kernels, filled from the host.
    pub fn storage(label: &'static str) -> Self {
        Pooled::new(
            label,
            wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST | wgpu::BufferUsages::COPY_SRC,
        )
    }

    /// The buffer with room for at least so many bytes. What it held may be lost.
    ///
    /// # Errors
    /// [`GpuFault::Limits`] if the GPU has no bindings of that size.
    pub fn reserve(&mut self, gpu: &Gpu, bytes: u64) -> Result<&wgpu::Buffer> {
        let bytes = bytes.max(16).next_multiple_of(16);
        let most = gpu.largest_binding();
        if bytes > most {
            let what = format!("{} of {bytes} bytes, where {most} are possible", self.label);
            return Err(GpuFault::Limits(what).into());
        }
        if let Some(buffer) = self.buffer.take_if(|buffer| buffer.size() < bytes) {
            buffer.destroy();
        }
        if self.buffer.is_none() {
            // A quarter more, so that batches of about one size soon need no new memory.
            let size = (bytes + bytes / 4).next_multiple_of(16).min(most & !15);
            self.generation += 1;
            self.buffer = Some(gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: Some(self.label),
                size,
                usage: self.usage,
                mapped_at_creation: false,
            }));
        }
        self.buffer.as_ref().ok_or_else(|| GpuFault::OutOfMemory(self.label.into()).into())
    }

    /// Brings items to the buffer, which grows where it has to.
    ///
    /// # Errors
    /// As [`Self::reserve`].
    pub fn write<T: Pod>(&mut self, gpu: &Gpu, items: &[T]) -> Result<&wgpu::Buffer> {
        let bytes: &[u8] = bytemuck::cast_slice(items);
        let buffer = self.reserve(gpu, bytes.len() as u64)?;
        gpu.queue.write_buffer(buffer, 0, bytes);
        Ok(buffer)
    }

    /// The buffer, if it has memory.
    pub fn get(&self) -> Option<&wgpu::Buffer> {
        self.buffer.as_ref()
    }

    /// Changes whenever the buffer is another one.
    pub fn generation(&self) -> u64 {
        self.generation
    }
}
