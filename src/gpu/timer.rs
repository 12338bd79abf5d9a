//! How long passes take, as the GPU itself counts.

use super::{Gpu, GpuFault};
use crate::error::Result;

/// Passes that one timer can tell apart.
pub(crate) const PASSES: u32 = 64;

/// Timestamps at the start and end of passes.
#[derive(Debug)]
pub struct Timer {
    queries: wgpu::QuerySet,
    resolved: wgpu::Buffer,
    back: wgpu::Buffer,
}

impl Timer {
    /// A timer, where the GPU has timestamps.
    pub fn new(gpu: &Gpu) -> Option<Self> {
        if !gpu.device.features().contains(wgpu::Features::TIMESTAMP_QUERY) {
            return None;
        }
        let queries = gpu.device.create_query_set(&wgpu::QuerySetDescriptor {
            label: None,
            ty: wgpu::QueryType::Timestamp,
            count: 2 * PASSES,
        });
        let buffer = |usage| {
            let size = u64::from(16 * PASSES);
            gpu.device.create_buffer(&wgpu::BufferDescriptor {
                label: None,
                size,
                usage,
                mapped_at_creation: false,
            })
        };
        let resolved = buffer(wgpu::BufferUsages::QUERY_RESOLVE | wgpu::BufferUsages::COPY_SRC);
        let back = buffer(wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST);
        Some(Timer { queries, resolved, back })
    }

    /// What makes a pass the timer's `pass`-th.
    pub(crate) fn writes(&self, pass: u32) -> wgpu::ComputePassTimestampWrites<'_> {
        wgpu::ComputePassTimestampWrites {
            query_set: &self.queries,
            beginning_of_pass_write_index: Some(2 * pass),
            end_of_pass_write_index: Some(2 * pass + 1),
        }
    }

    /// To be called after the last pass.
    pub(crate) fn resolve(&self, encoder: &mut wgpu::CommandEncoder, passes: u32) {
        encoder.resolve_query_set(&self.queries, 0..2 * passes, &self.resolved, 0);
        encoder.copy_buffer_to_buffer(&self.resolved, 0, &self.back, 0, u64::from(16 * passes));
    }

    /// Waits, and gives start and end of each pass in seconds.
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub(crate) fn read(&self, gpu: &Gpu, passes: u32) -> Result<Vec<(f64, f64)>> {
        let slice = self.back.slice(..u64::from(16 * passes));
        slice.map_async(wgpu::MapMode::Read, |_| ());
        gpu.wait()?;
        let ticks: Vec<u64> = match slice.get_mapped_range() {
            Ok(view) => bytemuck::pod_collect_to_vec(&view),
            Err(error) => return Err(GpuFault::Driver(error.to_string()).into()),
        };
        self.back.unmap();
        let seconds = |tick: u64| {
            tick.wrapping_sub(ticks[0]) as f64 * f64::from(gpu.queue.get_timestamp_period()) * 1e-9
        };
        Ok(ticks.chunks_exact(2).map(|pass| (seconds(pass[0]), seconds(pass[1]))).collect())
    }
}
