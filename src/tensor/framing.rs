//! How a picture becomes a tensor: what of it is decoded, and which samples each pixel of the tensor is made of.

use super::resample::Axis;
use super::spec::{Channels, Fit, TensorSpec};
use crate::container::Header;
use crate::decode::plan::GroupPlan;
use crate::decode::{Plan, Request};
use crate::error::{Error, Limits, Result};
use crate::geom::{Level, Rect, Size};
use crate::image::{PlaneInfo, PlaneKind};

/// How a picture becomes a tensor. Made by [`TensorSpec::framing`], from the file's head alone.
#[derive(Clone, Debug, PartialEq)]
pub struct Framing {
    pub(super) spec: TensorSpec,
    pub(super) request: Request,
    /// The part of the tensor that the picture takes.
    pub(super) inner: Rect,
    /// What each channel is made of.
    pub(super) channels: Vec<Channel>,
    /// The planes of the request.
    pub(super) planes: Vec<PlaneFraming>,
    /// Columns and rows, by group of planes.
    pub(super) axes: Vec<[Axis; 2]>,
    #[cfg(feature = "gpu")]
    pub(super) target: crate::decode::gpu::Target,
}

/// What a channel is made of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Channel {
    /// A plane of the request.
    Plane(usize),
    /// Planes 0, 1 and 2, being red, green and blue, with [`LUMA`].
    Luma,
    /// Nothing: it is as large as can be. Colours stand before it.
    Opaque,
}

/// What red, green and blue add to gray (BT.601), of 65536.
pub const LUMA: [u32; 3] = [19_595, 38_470, 7_471];

/// A plane of the request.
#[derive(Clone, Debug, PartialEq)]
pub struct PlaneFraming {
    /// Its samples that are decoded.
    pub size: Size,
    /// How samples become fractions.
    pub fractions: Fractions,
    /// Which of [`Framing::axes`] are its.
    pub axes: usize,
}

/// How the samples of a plane become 16-bit fractions of its range.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fractions {
    /// Smallest and largest sample.
    pub range: (i32, i32),
    /// Bits beyond 16.
    pub dropped: u32,
    /// What the rest is multiplied by, in units of 2^-15.
    pub factor: u32,
}

impl Fractions {
    fn new(info: &PlaneInfo) -> Self {
        let bits = u32::from(info.depth).min(16);
        let most = (1u64 << bits) - 1;
        let factor = (((65_535 << 15) + most / 2) / most) as u32;
        Fractions { range: info.range(), dropped: u32::from(info.depth) - bits, factor }
    }

    /// 0 for the smallest sample to 65535 for the largest.
    pub fn of(&self, sample: i32) -> u32 {
        let (low, high) = self.range;
        let steps = (sample.clamp(low, high) - low) as u32 >> self.dropped;
        (steps * self.factor + (1 << 14)) >> 15
    }
}

/// The part of a picture's columns or rows that is seen, in full-size pixels.
#[derive(Clone, Copy)]
struct Span {
    start: f64,
    length: f64,
}

impl TensorSpec {
    /// How a picture becomes such a tensor: all of it, or a part given in full-size pixels, which then counts as all.
    ///
    /// The LoQ is the coarsest whose samples of what is seen are at least as many, in columns and in rows, as the tensor's
    /// pixels that they become; LoQ 0 where none has so many.
    ///
    /// # Errors
    /// [`Error::Request`] where the spec is wrong ([`Self::check`]), the part does not lie in the picture, the file has no
    /// planes for the channels, or the picture is so much longer in one direction than the tensor ([`Fit::Stretch`] alone)
    /// that a pixel stands for more than 256 samples.
    pub fn framing(&self, header: &Header, part: Option<Rect>) -> Result<Framing> {
        self.check()?;
        let (planes, channels) = planes_and_channels(self.channels, &header.planes)?;
        // What makes no sense as a request makes none here.
        let whole = Request { loq: 0, region: part, planes: Some(planes.clone()) };
        Plan::geometry(header, &whole, &Limits::NONE)?;
        let part = part.unwrap_or(header.window.size().rect());
        let (inner, spans) = self.seen(part);
        let loq = coarsest(header.levels, spans, inner.size());
        let most =
            |axis: usize| planes.iter().map(|&p| cell(&header.planes[p], loq)[axis]).fold(0.0, f64::max);
        let (x, width) = reach(spans[0], inner.width, most(0), (part.x, part.right()));
        let (y, height) = reach(spans[1], inner.height, most(1), (part.y, part.bottom()));
        let region = Some(Rect { x, y, width, height });
        let request = Request { loq, region, planes: Some(planes.clone()) };
        let plan = Plan::geometry(header, &request, &Limits::NONE)?;
        let of_group = |group| axes_of(header, loq, group, spans, inner.size());
        let axes = plan.groups.iter().map(of_group).collect::<Result<_>>()?;
        let framed = |&plane: &usize| {
            let axes = plan.groups.iter().position(|group| group.planes.contains(&plane)).unwrap_or(0);
            let size = plan.groups[axes].rect.size();
            PlaneFraming { size, fractions: Fractions::new(&header.planes[plane]), axes }
        };
        let planes = planes.iter().map(framed).collect();
        #[cfg(feature = "gpu")]
        let target = super::gpu::target(header, &plan);
        Ok(Framing {
            spec: *self,
            request,
            inner,
            channels,
            planes,
            axes,
            #[cfg(feature = "gpu")]
            target,
        })
    }

    /// The pixels of the tensor that a part takes, and the columns and rows of the picture that they show.
    fn seen(&self, part: Rect) -> (Rect, [Span; 2]) {
        match self.fit {
            Fit::Letterbox { .. } => (letterbox(part.size(), self.size), spans_of(part)),
            Fit::Crop => (self.size.rect(), cropped(part, self.size)),
            Fit::Stretch => (self.size.rect(), spans_of(part)),
        }
    }
}

impl Framing {
    /// What the picture becomes.
    pub fn spec(&self) -> &TensorSpec {
        &self.spec
    }

    /// What has to be decoded of the picture.
    pub fn request(&self) -> &Request {
        &self.request
    }

    /// The part of the tensor that the picture takes: all of it but in a letterbox.
    pub fn inner(&self) -> Rect {
        self.inner
    }

    /// What the picture can be decoded to on the GPU: pixels if possible, since these take a quarter of the memory or
    /// less. A batch in which one cannot is decoded to planes.
    #[cfg(feature = "gpu")]
    pub fn target(&self) -> crate::decode::gpu::Target {
        self.target
    }
}

/// The planes that channels take, and what each is made of.
fn planes_and_channels(channels: Channels, infos: &[PlaneInfo]) -> Result<(Vec<usize>, Vec<Channel>)> {
    let find = |kinds: &[PlaneKind]| infos.iter().position(|info| kinds.contains(&info.kind));
    let only = || (infos.len() == 1).then_some(0);
    let rgb = || -> Option<Vec<usize>> {
        [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue].map(|kind| find(&[kind])).into_iter().collect()
    };
    let missing = |what: &str| Error::Request(format!("the file has no planes of {what}"));
    if channels == Channels::Gray {
        let gray = find(&[PlaneKind::Gray]).or_else(|| find(&[PlaneKind::Luma])).or_else(only);
        return match (gray, rgb()) {
            (Some(gray), _) => Ok((vec![gray], vec![Channel::Plane(0)])),
            (None, Some(rgb)) => Ok((rgb, vec![Channel::Luma])),
            (None, None) => Err(missing("gray, nor of red, green and blue")),
        };
    }
    let gray = || find(&[PlaneKind::Gray]).or_else(only).map(|gray| vec![gray]);
    let mut planes = rgb().or_else(gray).ok_or_else(|| missing("red, green and blue, nor of gray"))?;
    // Of a gray picture every channel is its one plane.
    let mut made: Vec<Channel> = (0..3).map(|channel| Channel::Plane(channel % planes.len())).collect();
    if channels == Channels::Rgba {
        match find(&[PlaneKind::Alpha, PlaneKind::PremultipliedAlpha]) {
            Some(alpha) if !planes.contains(&alpha) => {
                made.push(Channel::Plane(planes.len()));
                planes.push(alpha);
            }
            _ => made.push(Channel::Opaque),
        }
    }
    Ok((planes, made))
}

/// Whether `part` is wider than `size`, for its height.
fn is_wider(part: Size, size: Size) -> bool {
    u64::from(part.width) * u64::from(size.height) > u64::from(part.height) * u64::from(size.width)
}

/// The largest rectangle in the middle of `size` that has the proportions of `part`, of whole pixels, at least one.
fn letterbox(part: Size, size: Size) -> Rect {
    let scaled = |side: u32, to: u32, from: u32| {
        let (side, to, from) = (u64::from(side), u64::from(to), u64::from(from));
        ((2 * side * to + from) / (2 * from)).max(1) as u32
    };
    let (mut width, mut height) = (size.width, size.height);
    if is_wider(part, size) {
        height = scaled(part.height, width, part.width).min(height);
    } else {
        width = scaled(part.width, height, part.height).min(width);
    }
    Rect { x: (size.width - width) / 2, y: (size.height - height) / 2, width, height }
}

fn spans_of(part: Rect) -> [Span; 2] {
    [(part.x, part.width), (part.y, part.height)]
        .map(|(start, length)| Span { start: start.into(), length: length.into() })
}

/// The largest middle of `part` that has the proportions of `size`.
fn cropped(part: Rect, size: Size) -> [Span; 2] {
    let [mut x, mut y] = spans_of(part);
    let middle = |span: &mut Span, length: f64| {
        span.start += (span.length - length) / 2.0;
        span.length = length;
    };
    let (width, height) = (f64::from(size.width), f64::from(size.height));
    if is_wider(part.size(), size) {
        middle(&mut x, y.length * width / height);
    } else {
        middle(&mut y, x.length * height / width);
    }
    [x, y]
}

/// Columns and rows of full-size pixels that a sample of a plane stands for.
fn cell(info: &PlaneInfo, loq: Level) -> [f64; 2] {
    [info.subsampling.0, info.subsampling.1].map(|factor| (u64::from(factor) << loq) as f64)
}

/// The tables of columns and rows for the planes of a group.
fn axes_of(
    header: &Header,
    loq: Level,
    group: &GroupPlan,
    spans: [Span; 2],
    inner: Size,
) -> Result<[Axis; 2]> {
    let [across, down] = cell(&header.planes[group.planes[0]], loq);
    let axis = |span: Span, origin: u32, cell: f64, (first, samples): (u32, u32), pixels: u32| {
        let start = (f64::from(origin) + span.start) / cell - f64::from(first);
        let too_many = || format!("{samples} samples a row or column are too many for {pixels} pixels");
        Axis::new((start, span.length / cell), samples, pixels).ok_or_else(|| Error::Request(too_many()))
    };
    let (window, rect) = (header.window, group.rect);
    Ok([
        axis(spans[0], window.x, across, (rect.x, rect.width), inner.width)?,
        axis(spans[1], window.y, down, (rect.y, rect.height), inner.height)?,
    ])
}

/// The coarsest level that has a sample for every pixel.
fn coarsest(levels: Level, spans: [Span; 2], inner: Size) -> Level {
    let samples = |span: Span, loq: Level| (span.length / (1u64 << loq) as f64).ceil();
    let suffices = |&loq: &Level| {
        samples(spans[0], loq) >= f64::from(inner.width) && samples(spans[1], loq) >= f64::from(inner.height)
    };
    (0..=levels).rev().find(suffices).unwrap_or(0)
}

/// The full-size pixels, as start and length, whose samples the filter sees: those of a span, and around a crop as far as
/// its outermost pixels reach. Samples are `cell` pixels long. Nothing outside `start..end`.
fn reach(span: Span, pixels: u32, cell: f64, (start, end): (u32, u32)) -> (u32, u32) {
    let scale = span.length / f64::from(pixels);
    let more = scale.max(cell) + cell / 2.0 - scale / 2.0;
    let first = ((span.start - more).floor().max(0.0) as u32).clamp(start, end - 1);
    let last = ((span.start + span.length + more).ceil() as u32).clamp(first + 1, end);
    (first, last - first)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Of up to 16 bits every sample's fraction is as near as documented; of any depth the ends of the range are exact.
    #[test]
    fn fractions() {
        for (depth, signed) in (1..=31).flat_map(|depth| [(depth, false), (depth, true)]) {
            let info = PlaneInfo { signed, ..PlaneInfo::new(PlaneKind::Other, depth) };
            let (low, high) = info.range();
            let fractions = Fractions::new(&info);
            assert_eq!((fractions.of(low), fractions.of(high)), (0, 65_535));
            assert_eq!((fractions.of(i32::MIN), fractions.of(i32::MAX)), (0, 65_535));
            if depth <= 16 {
                let most = i64::from(high - low);
                for steps in 0..=most {
                    let found = i64::from(fractions.of(low + steps as i32));
                    let error = (65_535 * steps - found * most).abs();
                    assert!(100 * error <= 51 * most, "{steps} of {depth} bits: {found}");
                }
            }
        }
    }
}
