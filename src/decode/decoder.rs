//! The decoder that callers use: a source, its index, and decodes of any part of it.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::output::{Converter, Interleaved, Planar, Sample};
use super::plan::{GroupPlan, Plan, Request};
use super::root::root_samples;
use super::tile::{Chunks, Part, SourceChunks, read_exactly};
use super::{cpu, fast};
use crate::container::index::Chunk;
use crate::container::{Header, Index, Opening, Step};
use crate::control::Control;
use crate::error::{Error, Limits, Result};
use crate::geom::{Level, Size};
use crate::grid::Grid;
use crate::image::{Image, Metadata, Plane};
use crate::stream::{Source, as_promised, find_end};

/// Which implementation decodes. All give the same samples.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Backend {
    /// All cores, made for speed.
    #[default]
    Cpu,
    /// One core, made to be read.
    Reference,
}

/// Decodes any level of quality, region and planes of a file, reading only the bytes that takes.
///
/// ```
/// use stepwell::stream::MemorySource;
/// use stepwell::{Decoder, EncodeOptions, Encoder, Image, Limits, PlaneKind, Rect, Request, Size};
///
/// let pixels: Vec<u8> = (0..300 * 200).map(|i| (i % 251) as u8).collect();
/// let image = Image::from_interleaved(Size::new(300, 200), &[PlaneKind::Gray], 8, &pixels)?;
/// let file = Encoder::new(EncodeOptions::lossless()).encode(&image)?;
///
/// let decoder = Decoder::open(MemorySource::new(file), Limits::default())?;
/// assert_eq!(decoder.decode(&Request::default())?.planes, image.planes);
///
/// // A quarter of the size, of a part given in full-size pixels.
/// let request = Request { loq: 2, region: Some(Rect::new(100, 40, 64, 32)), planes: None };
/// let mut small: Vec<u8> = Vec::new();
/// assert_eq!(decoder.decode_interleaved(&request, &mut small)?, Size::new(16, 8));
/// # Ok::<(), stepwell::Error>(())
/// ```
#[derive(Debug)]
pub struct Decoder<S> {
    source: S,
    header: Header,
    /// The first bytes of the file, which opening it has read.
    start: Bytes,
    index: Mutex<Index>,
    backend: Backend,
    control: Control,
    bytes_read: AtomicU64,
}

impl<S> Decoder<S> {
    /// Over a file whose head has been read.
    pub(super) fn from_index(source: S, index: Index, bytes_read: u64) -> Self {
        let header = index.header().clone();
        Decoder {
            source,
            header,
            start: index.first_bytes(),
            index: Mutex::new(index),
            backend: Backend::default(),
            control: Control::new(),
            bytes_read: bytes_read.into(),
        }
    }
}

impl<S: Source> Decoder<S> {
    /// Reads a file's head.
    ///
    /// # Errors
    /// Those of the source, and of a head that is broken, unsupported or beyond the limits.
    pub fn open(source: S, limits: Limits) -> Result<Self> {
        let mut opening = Opening::new(limits);
        let mut bytes_read = 0;
        let index = loop {
            match opening.step()? {
                Step::Ready(index) => break index,
                Step::Need(ranges) => {
                    for (range, bytes) in read(&source, &ranges)? {
                        bytes_read += bytes.len() as u64;
                        opening.supply(&range, bytes);
                    }
                }
            }
        };
        Ok(Decoder::from_index(source, index, bytes_read))
    }

    /// With progress and cancellation.
    #[must_use]
    pub fn with_control(mut self, control: Control) -> Self {
        self.control = control;
        self
    }

    /// With another implementation.
    #[must_use]
    pub fn with_backend(mut self, backend: Backend) -> Self {
        self.backend = backend;
        self
    }

    /// What the file says of itself.
    pub fn header(&self) -> &Header {
        &self.header
    }

    /// Size of the picture at full resolution.
    pub fn size(&self) -> Size {
        self.header.window.size()
    }

    /// Bytes from the start of the file that decode a LoQ; `None` if the file has no such LoQ.
    pub fn prefix(&self, loq: Level) -> Option<u64> {
        self.header.entries.get(usize::from(loq)).map(|entry| entry.prefix)
    }

    /// Bytes read from the source so far.
    pub fn bytes_read(&self) -> u64 {
        self.bytes_read.load(Ordering::Relaxed)
    }

    /// What the caller allows.
    pub(super) fn limits(&self) -> Limits {
        self.index.lock().unwrap_or_else(PoisonError::into_inner).limits()
    }

    /// How progress is reported and work cancelled.
    #[cfg(feature = "gpu")]
    pub(super) fn control(&self) -> &Control {
        &self.control
    }

    /// Where the bytes come from.
    pub fn source(&self) -> &S {
        &self.source
    }

    /// ICC, Exif, XMP and what else the file says of its colours and size.
    ///
    /// # Errors
    /// Those of the source; [`Error::Format`] for a broken item.
    pub fn metadata(&self) -> Result<Metadata> {
        self.with_index(|index| index.metadata())
    }

    /// What a decode would read.
    ///
    /// # Errors
    /// [`Error::Request`] and [`Error::Limit`] where it cannot be, and those of reading the index.
    pub fn plan(&self, request: &Request) -> Result<Plan> {
        self.with_index(|index| index.plan(request))
    }

    /// Decodes to planes of 32-bit samples.
    ///
    /// # Errors
    /// Those of the source, of broken bytes, and of requests that do not fit the file or its limits.
    pub fn decode(&self, request: &Request) -> Result<Image> {
        let plan = self.plan(request)?;
        let metadata = self.metadata()?;
        self.decode_plan(&plan, metadata)
    }

    /// Decodes a plan.
    ///
    /// # Errors
    /// Those of the source and of broken bytes.
    pub fn decode_plan(&self, plan: &Plan, metadata: Metadata) -> Result<Image> {
        let grids = self.planar(plan)?;
        let plane = |(&plane, samples): (&usize, Grid<i32>)| Plane {
            info: self.header.planes[plane].clone(),
            samples,
        };
        Ok(Image { size: plan.size, planes: plan.planes.iter().zip(grids).map(plane).collect(), metadata })
    }

    /// Decodes to planes of the caller's type, in the order of the request.
    ///
    /// # Errors
    /// As [`Self::decode`]; [`Error::Request`] where samples do not fit the type.
    pub fn decode_planar<T: Sample>(&self, request: &Request) -> Result<Vec<Grid<T>>> {
        let plan = self.plan(request)?;
        self.check_type::<T>(&plan)?;
        self.planar(&plan)
    }

    fn planar<T: Sample>(&self, plan: &Plan) -> Result<Vec<Grid<T>>> {
        let mut planes: Vec<Option<Grid<T>>> = vec![None; plan.planes.len()];
        for (group, root) in plan.groups.iter().zip(self.roots(plan)?) {
            let mut sink = Planar::new(Converter::new(&self.header, plan, group));
            self.decode_group(group, root, &mut sink)?;
            let kept = (0..plan.planes.len()).filter(|&i| group.planes.contains(&plan.planes[i]));
            kept.zip(sink.planes).for_each(|(i, grid)| planes[i] = Some(grid));
        }
        Ok(planes.into_iter().flatten().collect())
    }

    /// An error where samples do not fit the type.
    pub(super) fn check_type<T: Sample>(&self, plan: &Plan) -> Result<()> {
        for &p in &plan.planes {
            let (low, high) = self.header.planes[p].range();
            if !T::holds(low, high) {
                let message =
                    format!("plane {p} has samples of {low} to {high}, which do not fit the type asked for");
                return Err(Error::Request(message));
            }
        }
        Ok(())
    }

    /// Decodes to interleaved samples, appended to `out` row by row; returns the size. The wanted planes must have one
    /// size, and their samples must fit the type. Takes little memory beside `out`.
    ///
    /// # Errors
    /// As [`Self::decode`]; [`Error::Request`] where planes or type do not fit.
    pub fn decode_interleaved<T: Sample>(&self, request: &Request, out: &mut Vec<T>) -> Result<Size> {
        let plan = self.plan(request)?;
        self.check_type::<T>(&plan)?;
        self.check_sizes(&plan)?;
        let mut roots = self.roots(&plan)?;
        let size = plan.groups[0].rect.size();
        if let ([group], Some(root)) = (&plan.groups[..], roots.pop()) {
            let start = out.len();
            let mut sink = Interleaved::new(Converter::new(&self.header, &plan, group), out);
            let done = self.decode_group(group, root, &mut sink);
            if done.is_err() {
                out.truncate(start);
            }
            return done.map(|()| size);
        }
        // Planes of several groups are decoded one after the other, and then woven.
        weave(&self.planar(&plan)?, out);
        Ok(size)
    }

    /// An error where the planes that come out are not of one size.
    pub(super) fn check_sizes(&self, plan: &Plan) -> Result<()> {
        let subsampling = |p: usize| self.header.planes[p].subsampling;
        match plan.planes.iter().find(|&&p| subsampling(p) != subsampling(plan.planes[0])) {
            None => Ok(()),
            Some(p) => Err(Error::Request(format!("plane {p} is not as large as plane {}", plan.planes[0]))),
        }
    }

    /// Reads and decodes the whole picture, which checks every checksum and the end of every tile, and that nothing
    /// follows the file's end; returns the bytes of the file.
    ///
    /// # Errors
    /// The first fault.
    pub fn verify(&self) -> Result<u64> {
        self.metadata()?;
        let plan = self.plan(&Request::default())?;
        for (group, root) in plan.groups.iter().zip(self.roots(&plan)?) {
            self.decode_group(group, root, &mut Nothing)?;
        }
        let end = self.header.file_length;
        let behind = read(&self.source, std::slice::from_ref(&(end..end + 1)))?;
        if behind.iter().any(|(_, bytes)| !bytes.is_empty()) {
            return Err(Error::format(end, "2", "bytes behind the end of the file"));
        }
        Ok(end)
    }

    /// The bytes of chunks, checked.
    pub(super) fn chunks(&self, chunks: &[Chunk]) -> Result<Vec<Bytes>> {
        let counted = self.counted();
        SourceChunks { source: &counted, available: &|end| self.header.available(end) }.fetch(chunks)
    }

    /// The root samples of all planes.
    pub(super) fn root_grids(&self, plan: &Plan) -> Result<Vec<Grid<i32>>> {
        Ok(self.roots(plan)?.into_iter().flatten().map(|part| part.grid).collect())
    }

    fn decode_group<K: fast::Sink>(&self, group: &GroupPlan, root: Vec<Part>, sink: &mut K) -> Result<()> {
        let available = |end| self.header.available(end);
        let counted = self.counted();
        let chunks = SourceChunks { source: &counted, available: &available };
        match self.backend {
            Backend::Cpu => fast::decode_group(&self.header, group, root, &chunks, &self.control, sink),
            Backend::Reference => {
                let planes = cpu::decode_group(&self.header, group, root, &chunks)?;
                sink.take(sink.convert(planes));
                Ok(())
            }
        }
    }

    /// Some ranges, whole.
    #[cfg(feature = "gpu")]
    pub(super) fn read_whole(&self, ranges: &[Range<u64>]) -> Result<Vec<Bytes>> {
        read_exactly(&self.counted(), ranges, &|end| self.header.available(end))
    }

    /// The root samples of the planes of each group.
    pub(super) fn roots(&self, plan: &Plan) -> Result<Vec<Vec<Part>>> {
        let available = |end| self.header.available(end);
        let counted = self.counted();
        let bytes = read_exactly(&counted, std::slice::from_ref(&plan.root), &available)?;
        let samples = root_samples(&self.header, &bytes[0])?;
        let of_group = |group: &GroupPlan| group.planes.iter().map(|&p| samples[p].clone()).collect();
        Ok(plan.groups.iter().map(of_group).collect())
    }

    fn counted(&self) -> Counted<'_, S> {
        Counted { source: &self.source, start: &self.start, bytes_read: &self.bytes_read }
    }

    fn with_index<T>(&self, mut step: impl FnMut(&mut Index) -> Result<Step<T>>) -> Result<T> {
        loop {
            let mut index = self.index.lock().unwrap_or_else(PoisonError::into_inner);
            match step(&mut index).map_err(|error| self.locate_end(error))? {
                Step::Ready(value) => return Ok(value),
                Step::Need(ranges) => {
                    for (range, bytes) in read(&self.source, &ranges)? {
                        self.bytes_read.fetch_add(bytes.len() as u64, Ordering::Relaxed);
                        index.supply(&range, bytes);
                    }
                }
            }
        }
    }

    /// Puts right where a cut file ends, where parts of the index were sought behind its end.
    fn locate_end(&self, error: Error) -> Error {
        let Error::Truncated { end, needed, .. } = error else { return error };
        let end = find_end(&self.source, end);
        Error::Truncated { end, needed, available: self.header.available(end) }
    }
}

/// Appends planes of one size to `out`, sample by sample.
pub(super) fn weave<T: Sample>(planes: &[Grid<T>], out: &mut Vec<T>) {
    let count = planes.first().map_or(0, |plane| plane.data().len());
    out.reserve_exact(count * planes.len());
    for i in 0..count {
        out.extend(planes.iter().map(|plane| plane.data()[i]));
    }
}

/// Throws decoded samples away.
struct Nothing;

impl fast::Sink for Nothing {
    type Piece = ();

    fn convert(&self, _: Vec<Part>) {}

    fn take(&mut self, (): ()) {}
}

fn read<S: Source + ?Sized>(source: &S, ranges: &[Range<u64>]) -> Result<Vec<(Range<u64>, Bytes)>> {
    let bytes = source.read(ranges).and_then(|bytes| as_promised(ranges, bytes));
    let bytes = bytes.map_err(|cause| Error::Source { what: "head and index".into(), cause })?;
    Ok(ranges.iter().cloned().zip(bytes).collect())
}

/// The decoder's source, with what opening has read already kept, and bytes counted.
struct Counted<'a, S> {
    source: &'a S,
    start: &'a Bytes,
    bytes_read: &'a AtomicU64,
}

impl<S: Source> Source for Counted<'_, S> {
    fn read(&self, ranges: &[Range<u64>]) -> std::io::Result<Vec<Bytes>> {
        let known = |range: &Range<u64>| {
            (range.end <= self.start.len() as u64)
                .then(|| self.start.slice(range.start as usize..range.end as usize))
        };
        let missing: Vec<Range<u64>> = ranges.iter().filter(|r| known(r).is_none()).cloned().collect();
        let bytes =
            if missing.is_empty() { Vec::new() } else { as_promised(&missing, self.source.read(&missing)?)? };
        self.bytes_read.fetch_add(bytes.iter().map(|b| b.len() as u64).sum(), Ordering::Relaxed);
        let mut bytes = bytes.into_iter();
        Ok(ranges.iter().map(|range| known(range).or_else(|| bytes.next()).unwrap_or_default()).collect())
    }
}
