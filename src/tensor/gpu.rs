//! The tensor stage on the GPU: the decoder's buffer → the caller's. Kernel: `shaders/tensor.wgsl`.
//!
//! ```no_run
//! use std::sync::Arc;
//! use stepwell::decode::gpu::{GpuDecoder, Target};
//! use stepwell::gpu::{Gpu, GpuOptions};
//! use stepwell::stream::FileSource;
//! use stepwell::tensor::{TensorSpec, gpu::Tensors};
//! use stepwell::{Decoder, Limits, Size};
//!
//! let gpu = Arc::new(Gpu::open(&GpuOptions::default())?);
//! let mut decoder = GpuDecoder::new(Arc::clone(&gpu));
//! let mut tensors = Tensors::new(Arc::clone(&gpu), TensorSpec::new(Size::new(224, 224)))?;
//! let buffer = gpu.device().create_buffer(&wgpu::BufferDescriptor {
//!     label: None,
//!     size: tensors.spec().bytes(2),
//!     usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_SRC,
//!     mapped_at_creation: false,
//! });
//!
//! let (mut framings, mut packets) = (Vec::new(), Vec::new());
//! for path in ["a.swl", "b.swl"] {
//!     let source = FileSource::open(path).map_err(|cause| stepwell::Error::Source { what: path.into(), cause })?;
//!     let file = Decoder::open(source, Limits::default())?;
//!     let framing = tensors.spec().framing(file.header(), None)?;
//!     packets.push(file.packet(framing.request())?);
//!     framings.push(framing);
//! }
//! let pixels = framings.iter().all(|framing| framing.target() == Target::Pixels);
//! let target = if pixels { Target::Pixels } else { Target::Planes };
//! let decoded = decoder.decode(&packets.iter().collect::<Vec<_>>(), target)?;
//! if let Some(output) = decoder.output() {
//!     let framings: Vec<_> = framings.iter().collect();
//!     tensors.fill(&framings, (output, target), |i, plane| decoded.place(i, plane), (&buffer, 0))?;
//! }
//! # Ok::<(), stepwell::Error>(())
//! ```

use std::sync::Arc;

use super::framing::{Channel, Framing, LUMA};
use super::resample::ONE;
use super::spec::{Layout, TensorSpec, WHITE};
use crate::colour::gpu::pixel_word;
use crate::container::Header;
use crate::decode::Plan;
use crate::decode::gpu::{Place, Target};
use crate::decode::output::output_for;
use crate::error::{Error, Result};
use crate::gpu::abi::{self, TENSOR_ELEMENTS};
use crate::gpu::{Gpu, GpuFault, Pooled, RANGE_BINDING};

/// Words that a workgroup writes.
const GROUP: u64 = 256;
/// Most elements of a batch: numbers of words then have a bit to spare.
const MOST_ELEMENTS: u64 = 1 << 31;
/// Turns decoded batches into tensors on the GPU. Its buffers grow to the largest batch and are used again.
#[derive(Debug)]
pub struct Tensors {
    gpu: Arc<Gpu>,
    spec: TensorSpec,
    /// By channel: what each fraction becomes, and last what a letterbox is filled with.
    elements: wgpu::Buffer,
    tables: Tables,
    pictures: Pooled,
    sources: Pooled,
    weights: Pooled,
    tensor: Pooled,
}

/// The work of a batch. Its memory is kept.
#[derive(Debug, Default)]
struct Tables {
    pictures: Vec<abi::TensorPicture>,
    sources: Vec<abi::TensorSource>,
    weights: Vec<u32>,
    /// Of the last picture, by group of planes: where the tables of columns and rows start.
    starts: Vec<[u32; 2]>,
}

impl Tensors {
    /// For tensors of one kind.
    ///
    /// # Errors
    /// Those of [`TensorSpec::check`].
    pub fn new(gpu: Arc<Gpu>, spec: TensorSpec) -> Result<Self> {
        spec.check()?;
        let of_channel = |channel: usize| {
            let fractions = (0..TENSOR_ELEMENTS - 1).chain([spec.fill(channel)]);
            fractions.map(move |fraction| spec.element_bits(channel, fraction))
        };
        let bits: Vec<u32> = (0..spec.channels.count() as usize).flat_map(of_channel).collect();
        let elements = gpu.device.create_buffer(&wgpu::BufferDescriptor {
            label: Some("tensor elements"),
            size: 4 * bits.len() as u64,
            usage: wgpu::BufferUsages::STORAGE | wgpu::BufferUsages::COPY_DST,
            mapped_at_creation: false,
        });
        gpu.queue.write_buffer(&elements, 0, bytemuck::cast_slice(&bits));
        let uniform = wgpu::BufferUsages::UNIFORM | wgpu::BufferUsages::COPY_DST;
        Ok(Tensors {
            gpu,
            spec,
            elements,
            tables: Tables::default(),
            pictures: Pooled::storage("tensor pictures"),
            sources: Pooled::storage("tensor sources"),
            weights: Pooled::storage("tensor weights"),
            tensor: Pooled::new("tensor", uniform),
        })
    }

    /// What pictures become.
    pub fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    /// Makes the tensors of a batch, one behind the other without gaps, in `to` from a byte on: a multiple of 4. They take
    /// [`TensorSpec::bytes`], of which the last, up to 3, are 0 where elements leave them; no other bytes change.
    ///
    /// `decoded` is the decoder's buffer, after the [`Framing::request`]s of the pictures in their order, and `place`
    /// says where plane `p` of picture `i` lies in it: `|i, p| decoded.place(i, p)`. The work is one submission to the
    /// GPU's queue, which nobody waits for: what is submitted before and after sees the buffers as before and after it.
    /// A picture whose tiles were broken becomes a tensor of any values.
    ///
    /// # Errors
    /// [`Error::Request`] where framings are of another spec, places are not theirs, or the tensors do not fit `to`;
    /// [`Error::Gpu`] where the GPU has failed, or a batch exceeds its limits. Nothing is written then.
    pub fn fill(
        &mut self,
        framings: &[&Framing],
        (decoded, target): (&wgpu::Buffer, Target),
        place: impl Fn(usize, usize) -> Option<Place>,
        (to, offset): (&wgpu::Buffer, u64),
    ) -> Result<()> {
        if framings.is_empty() {
            return self.gpu.check();
        }
        let range = self.output_range(framings.len(), decoded, to, offset)?;
        let decoded_words = (decoded.size() / 4).min(u32::MAX.into());
        self.tables.clear();
        for (i, framing) in framings.iter().enumerate() {
            if framing.spec != self.spec {
                return Err(Error::Request(format!("picture {i} is framed for another tensor")));
            }
            let checked = |plane: usize| {
                let place = place(i, plane)?;
                let end = u64::from(place.first) + place.size.area();
                (end <= decoded_words).then_some(place)
            };
            let before = i.checked_sub(1).map(|i| framings[i]);
            let added = self.tables.add(framing, before, target, checked);
            added.ok_or_else(|| Error::Request(format!("picture {i} was not decoded as it is framed")))?;
        }
        let elements = self.spec.elements() * framings.len() as u64;
        let tensor = abi::Tensor {
            width: self.spec.size.width,
            height: self.spec.size.height,
            channels: self.spec.channels.count(),
            interleaved: (self.spec.layout == Layout::Interleaved).into(),
            element_bits: 8 * self.spec.element.bytes(),
            elements: elements as u32,
            words: (self.spec.bytes(framings.len()) / 4) as u32,
            first: ((offset - range.start) / 4) as u32,
        };
        self.submit(tensor, decoded, to, range)
    }

    /// The bytes of `to` that the kernel sees: from where a binding may start to the tensors' end.
    fn output_range(
        &self,
        pictures: usize,
        decoded: &wgpu::Buffer,
        to: &wgpu::Buffer,
        offset: u64,
    ) -> Result<std::ops::Range<u64>> {
        let bad = |what: String| Err(Error::Request(format!("tensor: {what}")));
        let bytes = self.spec.bytes(pictures);
        if self.spec.elements().saturating_mul(pictures as u64) > MOST_ELEMENTS {
            return bad(format!("{pictures} pictures have more than {MOST_ELEMENTS} elements"));
        }
        if !offset.is_multiple_of(4) {
            return bad(format!("it cannot start at byte {offset}, which is no multiple of 4"));
        }
        let end = offset.saturating_add(bytes);
        if end > to.size() {
            return bad(format!("{bytes} bytes from byte {offset} on do not fit a buffer of {}", to.size()));
        }
        if to == decoded {
            return bad("it cannot lie in the decoder's own buffer".into());
        }
        if ![to, decoded].iter().all(|buffer| buffer.usage().contains(wgpu::BufferUsages::STORAGE)) {
            return bad("buffers need the usage STORAGE".into());
        }
        let start = offset - offset % u64::from(self.gpu.device.limits().min_storage_buffer_offset_alignment);
        let (largest, most) = (decoded.size().max(end - start), self.gpu.largest_binding());
        if largest > most {
            let what = format!("a buffer of {largest} bytes, where {most} are possible");
            return Err(GpuFault::Limits(what).into());
        }
        Ok(start..end)
    }

    fn submit(
        &mut self,
        tensor: abi::Tensor,
        decoded: &wgpu::Buffer,
        to: &wgpu::Buffer,
        range: std::ops::Range<u64>,
    ) -> Result<()> {
        let (gpu, tables) = (&self.gpu, &self.tables);
        let whole = [
            self.pictures.write(gpu, &tables.pictures)?,
            self.sources.write(gpu, &tables.sources)?,
            self.weights.write(gpu, &tables.weights)?,
            &self.elements,
            decoded,
        ];
        let mut entries: Vec<_> = (0..)
            .zip(whole)
            .map(|(binding, buffer)| wgpu::BindGroupEntry { binding, resource: buffer.as_entire_binding() })
            .collect();
        let mut part = |binding, buffer, offset, size| {
            let binding_of = wgpu::BufferBinding { buffer, offset, size: wgpu::BufferSize::new(size) };
            entries
                .push(wgpu::BindGroupEntry { binding, resource: wgpu::BindingResource::Buffer(binding_of) });
        };
        part(5, to, range.start, range.end - range.start);
        let uniform = self.tensor.write(gpu, &[tensor])?;
        part(RANGE_BINDING, uniform, 0, size_of::<abi::Tensor>() as u64);
        let kernel = &gpu.kernels.tensor;
        let layout = kernel.layout();
        let descriptor = wgpu::BindGroupDescriptor { label: Some("tensor"), layout, entries: &entries };
        let bound = gpu.device.create_bind_group(&descriptor);
        let mut encoder = gpu.device.create_command_encoder(&wgpu::CommandEncoderDescriptor::default());
        let mut pass = encoder.begin_compute_pass(&wgpu::ComputePassDescriptor::default());
        pass.set_pipeline(kernel.pipeline());
        pass.set_bind_group(0, &bound, &[0]);
        // Rows of workgroups: no side may have more than 65535.
        let groups = u64::from(tensor.words).div_ceil(GROUP);
        let rows = groups.div_ceil(65_535);
        pass.dispatch_workgroups(groups.div_ceil(rows) as u32, rows as u32, 1);
        drop(pass);
        gpu.queue.submit([encoder.finish()]);
        gpu.check()
    }
}

impl Tables {
    fn clear(&mut self) {
        self.pictures.clear();
        self.sources.clear();
        self.weights.clear();
    }

    /// Adds a picture. `None` where it was decoded to something else than it is framed for.
    fn add(
        &mut self,
        framing: &Framing,
        before: Option<&Framing>,
        target: Target,
        place: impl Fn(usize) -> Option<Place>,
    ) -> Option<()> {
        if target == Target::Pixels && framing.target != Target::Pixels {
            return None;
        }
        // Pictures of one size often follow each other: they share their tables.
        if before.is_none_or(|before| before.axes != framing.axes) {
            self.starts.clear();
            for axes in &framing.axes {
                let starts = [0, 1].map(|i: usize| {
                    let start = self.weights.len() as u32;
                    self.weights.extend(&axes[i].table);
                    start
                });
                self.starts.push(starts);
            }
        }
        let first_source = self.sources.len() as u32;
        let mut terms = 1;
        for &channel in &framing.channels {
            match channel {
                Channel::Plane(plane) => self.source(framing, target, plane, ONE, &place)?,
                Channel::Luma => {
                    terms = LUMA.len() as u32;
                    for (plane, weight) in LUMA.into_iter().enumerate() {
                        self.source(framing, target, plane, weight, &place)?;
                    }
                }
                Channel::Opaque => {
                    // As any colour, but each sample is 0, the upper end of a range of -1 to 0.
                    let colour = *self.sources.last()?;
                    let factor = WHITE << 15;
                    let opaque =
                        abi::TensorSource { mask: 0, low: -1, high: 0, dropped: 0, factor, ..colour };
                    self.sources.push(opaque);
                }
            }
        }
        let inner = framing.inner;
        self.pictures.push(abi::TensorPicture {
            x: inner.x,
            y: inner.y,
            width: inner.width,
            height: inner.height,
            sources: first_source,
            terms,
            ..abi::TensorPicture::default()
        });
        Some(())
    }

    fn source(
        &mut self,
        framing: &Framing,
        target: Target,
        plane: usize,
        weight: u32,
        place: impl Fn(usize) -> Option<Place>,
    ) -> Option<()> {
        let framed = &framing.planes[plane];
        // Of a gray picture red, green and blue are alike, so that plane 0 is red.
        let (part, shift, mask) = match target {
            Target::Pixels => (0, 8 * plane as u32, 255),
            Target::Planes => (plane, 0, u32::MAX),
        };
        let place = place(part).filter(|place| place.size == framed.size)?;
        let [columns, rows] = &framing.axes[framed.axes];
        let [first_column, first_row] = self.starts[framed.axes];
        self.sources.push(abi::TensorSource {
            first: place.first,
            stride: place.size.width,
            columns: first_column,
            column_taps: columns.taps,
            rows: first_row,
            row_taps: rows.taps,
            shift,
            mask,
            low: framed.fractions.range.0,
            high: framed.fractions.range.1,
            dropped: framed.fractions.dropped,
            factor: framed.fractions.factor,
            weight,
            ..abi::TensorSource::default()
        });
        Some(())
    }
}

/// What a plan's planes can be decoded to: pixels if the decoder makes such of them.
pub(super) fn target(header: &Header, plan: &Plan) -> Target {
    let [group] = &plan.groups[..] else { return Target::Planes };
    let kept: Vec<usize> =
        plan.planes.iter().filter_map(|p| group.planes.iter().position(|q| p == q)).collect();
    match pixel_word(&output_for(header, group), &kept) {
        Some(_) if !group.levels.is_empty() => Target::Pixels,
        _ => Target::Planes,
    }
}
