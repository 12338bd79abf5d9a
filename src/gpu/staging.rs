//! Memory that host threads fill and the GPU copies from, used again for every batch.

use rayon::prelude::*;

use super::{Gpu, GpuFault};
use crate::error::Result;

/// Bytes that a thread copies at a time.
const PIECE: usize = 256 << 10;
/// Where a mapped range may start.
pub const ALIGNMENT: u64 = wgpu::MAP_ALIGNMENT;

/// A buffer of the host's that is mapped whenever the GPU does not read it.
#[derive(Debug, Default)]
pub struct Staging {
    buffer: Option<wgpu::Buffer>,
    /// The copy that the GPU makes of it.
    submission: Option<wgpu::SubmissionIndex>,
}

impl Staging {
    /// Copies slices to where they shall start, multiples of [`ALIGNMENT`], with all threads. The buffer is then the
    /// GPU's until [`Self::submitted`].
    ///
    /// # Errors
    /// [`Error::Gpu`](crate::Error::Gpu).
    pub fn fill(&mut self, gpu: &Gpu, bytes: u64, slices: &[(u64, &[u8])]) -> Result<&wgpu::Buffer> {
        let size = bytes.next_multiple_of(ALIGNMENT).max(ALIGNMENT);
        if let Some(buffer) = self.buffer.take_if(|buffer| buffer.size() < size) {
            buffer.destroy();
        }
        let buffer = match self.buffer.take() {
            Some(buffer) => {
                // Mapping was asked for when the GPU got it: it is done once the copy is.
                if let Some(submission) = self.submission.take() {
                    let wait = wgpu::PollType::Wait { submission_index: Some(submission), timeout: None };
                    gpu.device.poll(wait).map_err(|error| GpuFault::Driver(error.to_string()))?;
                    gpu.check()?;
                }
                buffer
            }
            None => {
                // A quarter more, as in `Pooled`, but no more than a buffer may have.
                let most = gpu.device.limits().max_buffer_size / ALIGNMENT * ALIGNMENT;
                gpu.device.create_buffer(&wgpu::BufferDescriptor {
                    label: Some("staging"),
                    size: (size + size / 4).next_multiple_of(ALIGNMENT).min(most.max(size)),
                    usage: wgpu::BufferUsages::MAP_WRITE | wgpu::BufferUsages::COPY_SRC,
                    mapped_at_creation: true,
                })
            }
        };
        let pieces: Vec<(u64, &[u8])> = slices
            .iter()
            .flat_map(|&(start, slice)| {
                slice.chunks(PIECE).enumerate().map(move |(i, piece)| (start + (i * PIECE) as u64, piece))
            })
            .collect();
        pieces.into_par_iter().try_for_each(|(start, piece)| {
            let end = start + (piece.len() as u64).next_multiple_of(wgpu::COPY_BUFFER_ALIGNMENT);
            let mut view = buffer
                .slice(start..end)
                .get_mapped_range_mut()
                .map_err(|error| GpuFault::Driver(error.to_string()))?;
            view.slice(..piece.len()).copy_from_slice(piece);
            Ok::<(), GpuFault>(())
        })?;
        buffer.unmap();
        Ok(self.buffer.insert(buffer))
    }

    /// To be called once the copy has been submitted: the buffer comes back when it is done.
    pub fn submitted(&mut self, submission: wgpu::SubmissionIndex) {
        self.submission = Some(submission);
        if let Some(buffer) = &self.buffer {
            buffer.map_async(wgpu::MapMode::Write, .., |_| ());
        }
    }
}
