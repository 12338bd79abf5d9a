//! The chain: buffers, dispatches, and what comes back.

mod probe;
pub use probe::Trespass;

use std::sync::Arc;

use bytemuck::Pod;

use super::packet::Packet;
use super::tables::{Output, Tables, Target};
use crate::error::{Error, Result};
use crate::geom::Size;
use crate::gpu::abi::{self, GROUP_WORDS};
use crate::gpu::{Gpu, GpuFault, Kernel, PASSES, Pooled, Staging, Timer};
use crate::grid::Grid;
use crate::upsample::gpu::coefficient_vectors;

/// Payload of a slice of a batch: long enough to keep the GPU busy while the next one is brought.
const SLICE_BYTES: u64 = 32 << 20;
/// Bytes behind the payload that kernels may look at: the words of a row, and the one after a chunk's last.
pub(super) const PAYLOAD_SPARE: u64 = 1024;

/// Decodes batches of pictures on a GPU. Its buffers grow to the largest batch and are used again.
#[derive(Debug)]
pub struct GpuDecoder {
    gpu: Arc<Gpu>,
    tables: Tables,
    /// Those of the next slice.
    ahead: Tables,
    /// Alias entries and context weights; coefficients of all predictors.
    constants: [wgpu::Buffer; 2],
    /// Filled by turns.
    staging: [Staging; 2],
    payload: Pooled,
    chunks: Pooled,
    models: Pooled,
    groups: Pooled,
    any: Pooled,
    blocks: Pooled,
    planes: Pooled,
    conversions: Pooled,
    kept: Pooled,
    ranges: Pooled,
    narrow: Pooled,
    wide: Pooled,
    samples: Pooled,
    /// One for each entropy kernel: so neither waits for the other.
    faults: [Pooled; 2],
    output: Pooled,
    read_back: Pooled,
}

/// How long a batch took on the GPU, in seconds.
#[derive(Clone, Debug)]
pub struct Timing {
    /// Pictures that were decoded: fewer than the batch has where it took slices.
    pub images: usize,
    /// The entropy stage, then one to three dispatches a level from the root down, and the colour stage.
    pub passes: Vec<f64>,
    /// From the first start to the last end.
    pub all: f64,
}

/// What a batch has become, on the GPU.
#[derive(Debug)]
pub struct Decoded {
    outputs: Vec<Output>,
    /// An error for each picture that has one. The others are right.
    pub results: Vec<Result<()>>,
}

/// Where a plane, or the pixels, of a picture lie in the output buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The first word.
    pub first: u32,
    /// Columns and rows, without gaps.
    pub size: Size,
}

impl Decoded {
    /// Where a plane of a picture lies, in the order of its request; of pixels there is only plane 0.
    pub fn place(&self, image: usize, plane: usize) -> Option<Place> {
        let &(first, size) = self.outputs.get(image)?.parts.get(plane)?;
        Some(Place { first, size })
    }
}

impl GpuDecoder {
    /// Without memory for any picture yet.
    pub fn new(gpu: Arc<Gpu>) -> Self {
        let tables = crate::gpu::tables();
        let constants = [
            constant(&gpu, "tables", bytemuck::cast_slice(&tables)),
            constant(&gpu, "coefficients", bytemuck::cast_slice(&coefficient_vectors())),
        ];
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        let back = wgpu::BufferUsages::MAP_READ | wgpu::BufferUsages::COPY_DST;
        GpuDecoder {
            gpu,
            tables: Tables::default(),
            ahead: Tables::default(),
            constants,
            staging: Default::default(),
            payload: Pooled::storage("payload"),
            chunks: Pooled::storage("chunks"),
            models: Pooled::storage("models"),
            groups: Pooled::storage("groups"),
            any: Pooled::storage("any"),
            blocks: Pooled::storage("blocks"),
            planes: Pooled::storage("planes"),
            conversions: Pooled::storage("conversions"),
            kept: Pooled::storage("kept"),
            ranges: Pooled::new("ranges", uniform),
            narrow: Pooled::storage("narrow"),
            wide: Pooled::storage("wide"),
            samples: Pooled::storage("samples"),
            faults: [Pooled::storage("faults"), Pooled::storage("faults")],
            output: Pooled::storage("output"),
            read_back: Pooled::new("read back", back),
        }
    }

    /// The GPU that decodes.
    pub fn gpu(&self) -> &Arc<Gpu> {
        &self.gpu
    }

    /// Decodes a batch and waits for it. What it becomes stays on the GPU until the next batch. Large batches go there in
    /// slices: while one is decoded the next is brought, and each fits the GPU's limits.
    ///
    /// # Errors
    /// [`Error::Gpu`] where the batch as a whole failed, [`Error::Request`] where a picture has no such target. What is
    /// wrong with a picture alone is in [`Decoded::results`].
    pub fn decode(&mut self, packets: &[&Packet], target: Target) -> Result<Decoded> {
        let mut outputs = Vec::with_capacity(packets.len());
        self.start(packets, target)?;
        let limits = (SLICE_BYTES, self.gpu.largest_binding());
        let mut ahead = std::mem::take(&mut self.ahead);
        let mut rest = packets;
        let mut count = match rest {
            [] => 0,
            _ => self.tables.fill_within(rest, target, (0, 0), limits),
        };
        while count > 0 {
            let (slice, next) = rest.split_at(count);
            let first = (packets.len() - next.len(), self.tables.output_words);
            // The tables of the next slice are filled while this one is brought.
            let fill = || match next {
                [] => 0,
                _ => ahead.fill_within(next, target, first, limits),
            };
            let (filled, brought) = rayon::join(fill, || self.bring(slice, target));
            brought?;
            self.submit(None)?;
            outputs.append(&mut self.tables.outputs);
            if filled > 0 {
                std::mem::swap(&mut self.tables, &mut ahead);
            }
            (rest, count) = (next, filled);
        }
        self.ahead = ahead;
        let results = self.results(packets)?;
        Ok(Decoded { outputs, results })
    }

    /// Brings a batch to the GPU in one slice, to be decoded by [`Self::time`].
    ///
    /// # Errors
    /// As [`Self::decode`].
    pub fn load(&mut self, packets: &[&Packet], target: Target) -> Result<()> {
        self.start(packets, target)?;
        let limits = (u64::MAX, self.gpu.largest_binding());
        let count = self.tables.fill_within(packets, target, (0, 0), limits);
        self.bring(&packets[..count], target)
    }

    /// Memory for what a batch becomes, and no faults yet.
    fn start(&mut self, packets: &[&Packet], target: Target) -> Result<()> {
        let words: u64 = packets.iter().map(|packet| packet.output_words(target)).sum();
        self.output.reserve(&self.gpu, 4 * words)?;
        let none = vec![u32::MAX; packets.len()];
        self.faults.iter_mut().try_for_each(|faults| write(&self.gpu, faults, &none))
    }

    /// Decodes the last batch (or the last slice of it) once more, from the bytes that are on the GPU, and says how long
    /// each dispatch took there. `None` where the GPU has no timestamps.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub fn time(&mut self) -> Result<Option<Timing>> {
        let Some(timer) = Timer::new(&self.gpu) else { return Ok(None) };
        let passes = self.submit(Some(&timer))?;
        let times = timer.read(&self.gpu, passes)?;
        let all = times.last().map_or(0.0, |last| last.1 - times[0].0);
        Ok(Some(Timing {
            images: self.tables.payload.len(),
            passes: times.iter().map(|(start, end)| end - start).collect(),
            all,
        }))
    }

    /// Brings tables and payload of a slice to the GPU.
    fn bring(&mut self, packets: &[&Packet], target: Target) -> Result<()> {
        if target == Target::Pixels && !self.tables.conversions.is_empty() {
            return Err(Error::Request(
                "only one, three or four planes of 8 bits come out as pixels, above the root".into(),
            ));
        }
        let (gpu, tables) = (&*self.gpu, &self.tables);
        self.payload.reserve(gpu, tables.payload_bytes + PAYLOAD_SPARE)?;
        self.narrow.reserve(gpu, 4 * tables.narrow_words)?;
        self.wide.reserve(gpu, 4 * tables.wide_words)?;
        self.samples.reserve(gpu, 4 * tables.samples)?;
        self.staging.rotate_left(1);
        let (staging, payload) = (&mut self.staging[0], &self.payload);
        let (uploaded, written) = rayon::join(
            || upload(gpu, tables, packets, staging, payload),
            || {
                write(gpu, &mut self.chunks, &tables.chunks)?;
                write(gpu, &mut self.models, &tables.models)?;
                write(gpu, &mut self.groups, &tables.work.groups)?;
                write(gpu, &mut self.any, &tables.work.any)?;
                write(gpu, &mut self.planes, &tables.planes)?;
                write(gpu, &mut self.conversions, &tables.conversions)?;
                write(gpu, &mut self.kept, &tables.kept)?;
                write(gpu, &mut self.samples, &tables.roots)?;
                let blocks: Vec<abi::Block> = tables.steps().flatten().flatten().flatten().copied().collect();
                write(gpu, &mut self.blocks, &blocks)
            },
        );
        uploaded.and(written)
    }

    /// Gives the number of passes that a timer has seen.
    fn submit(&mut self, timer: Option<&Timer>) -> Result<u32> {
        let mut list = Dispatches::default();
        let tables = &self.tables;
        let groups = tables.work.groups.len() / GROUP_WORDS;
        let entropy = list.push(0, groups);
        let any = list.push(0, tables.work.any.len());
        let mut first = 0;
        let mut steps = Vec::new();
        for step in tables.steps() {
            for (to_pixels, lists) in step.iter().enumerate() {
                for (kind, blocks) in lists.iter().enumerate() {
                    if !blocks.is_empty() {
                        steps.push((to_pixels, kind, list.push(first, blocks.len())));
                    }
                    first += blocks.len();
                }
            }
        }
        let conversions: Vec<_> = (0..tables.conversions.len()).map(|i| list.push(i, 1)).collect();
        self.ranges.reserve(&self.gpu, list.bytes.len() as u64)?;
        let gpu = &self.gpu;
        let get =
            |pooled: &'_ Pooled| pooled.get().cloned().ok_or_else(|| GpuFault::OutOfMemory("buffers".into()));
        let ranges = get(&self.ranges)?;
        gpu.queue.write_buffer(&ranges, 0, &list.bytes);
        let [constants, coefficients] = &self.constants;
        let (payload, chunks, models) = (get(&self.payload)?, get(&self.chunks)?, get(&self.models)?);
        let (narrow, wide, samples) = (get(&self.narrow)?, get(&self.wide)?, get(&self.samples)?);
        let output = get(&self.output)?;
        let [faults, any_faults] = [get(&self.faults[0])?, get(&self.faults[1])?];
        let (group_list, any_list) = (get(&self.groups)?, get(&self.any)?);
        let (blocks, planes) = (get(&self.blocks)?, get(&self.planes)?);
        let conversion_list = (get(&self.conversions)?, get(&self.kept)?);
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let kernels = &gpu.kernels;
        let run =
            |pass: &mut wgpu::ComputePass, kernel: &Kernel, buffers: &[&wgpu::Buffer], offset, (x, y)| {
                pass.set_pipeline(kernel.pipeline());
                pass.set_bind_group(0, &bind(gpu, kernel, buffers, &ranges), &[offset]);
                pass.dispatch_workgroups(x, y, 1);
            };
        // A timer tells passes apart, so that each dispatch gets its own then.
        let mut passes = 0;
        let mut begin = |encoder: &mut wgpu::CommandEncoder| {
            let timestamp_writes = timer.filter(|_| passes < PASSES).map(|timer| timer.writes(passes));
            passes += 1;
            let descriptor = wgpu::ComputePassDescriptor { label: None, timestamp_writes };
            encoder.begin_compute_pass(&descriptor).forget_lifetime()
        };
        let mut pass = begin(&mut encoder);
        if entropy.1 > 0 {
            let buffers = [&payload, &chunks, &models, constants, &group_list, &narrow, &faults];
            run(&mut pass, &kernels.entropy, &buffers, entropy.0, grid(entropy.1));
        }
        if any.1 > 0 {
            let buffers = [&payload, &chunks, &models, constants, &any_list, &wide, &any_faults];
            run(&mut pass, &kernels.entropy_any, &buffers, any.0, grid(any.1));
        }
        for (to_pixels, kind, (offset, count)) in steps {
            if timer.is_some() {
                drop(pass);
                pass = begin(&mut encoder);
            }
            let all = [&narrow, &wide, &chunks, &blocks, &planes, coefficients, &samples, &output];
            run(&mut pass, &kernels.upsample[to_pixels][kind], &all[..7 + to_pixels], offset, grid(count));
        }
        for (conversion, (offset, _)) in tables.conversions.iter().zip(conversions) {
            let buffers = [&conversion_list.0, &conversion_list.1, &samples, &output];
            let size = (conversion.width.div_ceil(16), conversion.height.div_ceil(16));
            run(&mut pass, &kernels.colour, &buffers, offset, size);
        }
        drop(pass);
        let passes = passes.min(PASSES);
        if let Some(timer) = timer {
            timer.resolve(&mut encoder, passes);
        }
        gpu.queue.submit([encoder.finish()]);
        gpu.check().map(|()| passes)
    }

    /// Waits, and says of each picture whether it came out right.
    fn results(&mut self, packets: &[&Packet]) -> Result<Vec<Result<()>>> {
        let mut faults = vec![u32::MAX; packets.len()];
        for buffer in [0, 1].map(|i| self.faults[i].get().cloned()).into_iter().flatten() {
            let found = self.read(&buffer, 0, packets.len() as u64)?;
            faults.iter_mut().zip(found).for_each(|(fault, found)| *fault = found.min(*fault));
        }
        Ok(packets.iter().zip(faults).map(|(packet, fault)| packet.result(fault)).collect())
    }

    /// The buffer that holds what the last batch has become.
    pub fn output(&self) -> Option<&wgpu::Buffer> {
        self.output.get()
    }

    /// Reads pixels back: R, G, B, A, row by row.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub fn read_pixels(&mut self, place: Place) -> Result<Vec<u8>> {
        Ok(bytemuck::cast_slice(&self.read_words(place)?).to_vec())
    }

    /// Reads a plane back.
    ///
    /// # Errors
    /// [`Error::Gpu`].
    pub fn read_plane(&mut self, place: Place) -> Result<Grid<i32>> {
        let words = self.read_words(place)?;
        let samples = words.into_iter().map(|word| word as i32).collect();
        Ok(Grid::from_vec(place.size.width as usize, place.size.height as usize, samples))
    }

    fn read_words(&mut self, place: Place) -> Result<Vec<u32>> {
        match self.output.get().cloned() {
            Some(buffer) => self.read(&buffer, place.first.into(), place.size.area()),
            None => Ok(Vec::new()),
        }
    }

    fn read(&mut self, buffer: &wgpu::Buffer, first: u64, count: u64) -> Result<Vec<u32>> {
        let back = self.read_back.reserve(&self.gpu, 4 * count)?.clone();
        let mut encoder = self.gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        encoder.copy_buffer_to_buffer(buffer, 4 * first, &back, 0, 4 * count);
        self.gpu.queue.submit([encoder.finish()]);
        let slice = back.slice(..4 * count);
        slice.map_async(wgpu::MapMode::Read, |_| ());
        self.gpu.wait()?;
        let words = match slice.get_mapped_range() {
            Ok(view) => bytemuck::pod_collect_to_vec(&view),
            Err(error) => return Err(GpuFault::Driver(error.to_string()).into()),
        };
        back.unmap();
        Ok(words)
    }
}

/// The parts of lists that dispatches work through, as the uniform buffer holds them.
#[derive(Default)]
struct Dispatches {
    bytes: Vec<u8>,
}

impl Dispatches {
    /// Offset and number of workgroups.
    fn push(&mut self, first: usize, count: usize) -> (u32, usize) {
        let offset = self.bytes.len() as u32;
        let range = abi::Range { first: first as u32, count: count as u32, pad0: 0, pad1: 0 };
        self.bytes.extend(bytemuck::bytes_of(&range));
        self.bytes.resize(offset as usize + crate::gpu::RANGE_STRIDE as usize, 0);
        (offset, count)
    }
}

/// Workgroups as rows and columns, neither more than WebGPU allows.
fn grid(count: usize) -> (u32, u32) {
    let rows = count.div_ceil(65_535);
    (count.div_ceil(rows) as u32, rows as u32)
}

/// Brings the payload.
fn upload(
    gpu: &Gpu,
    tables: &Tables,
    packets: &[&Packet],
    staging: &mut Staging,
    payload: &Pooled,
) -> Result<()> {
    let Some(payload) = payload.get() else { return Ok(()) };
    let mut slices: Vec<(u64, &[u8])> = Vec::new();
    for (packet, &start) in packets.iter().zip(&tables.payload) {
        slices.extend(packet.runs.iter().map(|run| (start + run.start, &run.bytes[..])));
    }
    let bytes = tables.payload_bytes;
    let staged = staging.fill(gpu, bytes, &slices)?;
    let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
    if bytes > 0 {
        encoder.copy_buffer_to_buffer(staged, 0, payload, 0, bytes);
    }
    let submission = gpu.queue.submit([encoder.finish()]);
    staging.submitted(submission);
    gpu.check()
}

fn constant(gpu: &Gpu, label: &str, bytes: &[u8]) -> wgpu::Buffer {
    let buffer = gpu.device.create_buffer(&wgpu::BufferDescriptor {
        label: Some(label),
        size: bytes.len().next_multiple_of(16) as u64,
        usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
        mapped_at_creation: false,
    });
    gpu.queue.write_buffer(&buffer, 0, bytes);
    buffer
}

fn write<T: Pod>(gpu: &Gpu, pooled: &mut Pooled, items: &[T]) -> Result<()> {
    let bytes: &[u8] = bytemuck::cast_slice(items);
    let buffer = pooled.reserve(gpu, bytes.len() as u64)?;
    if !bytes.is_empty() {
        gpu.queue.write_buffer(buffer, 0, bytes);
    }
    Ok(())
}

fn bind(gpu: &Gpu, kernel: &Kernel, buffers: &[&wgpu::Buffer], ranges: &wgpu::Buffer) -> wgpu::BindGroup {
    let mut entries = Vec::with_capacity(buffers.len() + 1);
    for (binding, buffer) in (0..).zip(buffers) {
        entries.push(wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() });
    }
    let range = wgpu::BufferBinding {
        buffer: ranges,
        offset: 0,
        size: wgpu::BufferSize::new(size_of::<abi::Range>() as u64),
    };
    entries.push(wgpu::BindGroupEntry {
        binding: crate::gpu::RANGE_BINDING,
        resource: wgpu::BindingResource::Buffer(range),
    });
    let layout = kernel.layout();
    gpu.device.create_bind_group(&wgpu::BindGroupDescriptor { label: None, layout, entries: &entries })
}
