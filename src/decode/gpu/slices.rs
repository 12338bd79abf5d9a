//! Requests too large for a GPU's buffers as several that fit: bands of whole rows of tiles, so that little is decoded
//! twice.

use super::decoder::{GpuDecoder, PAYLOAD_SPARE};
use super::packet::Packet;
use super::tables::Target;
use crate::container::Header;
use crate::decode::decoder::weave;
use crate::decode::output::Sample;
use crate::decode::{Decoder, Plan, Request};
use crate::error::{Error, Result};
use crate::geom::{Rect, Size};
use crate::gpu::{ALIGNMENT, GpuFault};
use crate::grid::Grid;
use crate::stream::Source;

/// Longest side of a plane: the colour stage has a workgroup for 16 samples, and WebGPU allows so many a dimension.
const MOST_SIDE: u32 = 16 * 65_535;

/// Bytes of the largest buffer that decoding a plan on a GPU may take. Of plans without chunks the payload is not
/// counted.
pub fn largest_buffer(plan: &Plan) -> u64 {
    // Two bytes or four a root sample.
    let mut words = (plan.root.end - plan.root.start) / 2;
    let mut payload = PAYLOAD_SPARE;
    for group in &plan.groups {
        for level in &group.levels {
            let samples = level.samples();
            // Symbols take at most a word each, and flat tiles have more of them than samples.
            // (Rows of samples are rounded up to pairs on both sides.)
            let stored = (u64::from(samples.width) + 2) * u64::from(samples.height);
            let most = stored.max(3 * samples.parent().size().area());
            words = words.saturating_add(most.saturating_mul(group.planes.len() as u64));
            payload += level.chunks.iter().map(|chunk| u64::from(chunk.bytes) + ALIGNMENT).sum::<u64>();
        }
    }
    words.max(plan.samples()).saturating_mul(4).max(payload)
}

/// Parts of a request that each take buffers of at most `most` bytes ([`Gpu::largest_binding`]): all of it if it fits,
/// or else rows of tiles, halved until they do; only where a single row is too large, parts of it. Together they give all
/// that was asked for, in order from the top; planes with sub-sampling may get a row or column of samples twice.
///
/// `plan` makes a request's plan: [`Decoder::plan`], or [`Plan::geometry`] where the payload does not matter.
///
/// [`Gpu::largest_binding`]: crate::gpu::Gpu::largest_binding
///
/// # Errors
/// [`Error::Gpu`] where a single tile is too large, and those of `plan`.
pub fn slices(
    header: &Header,
    request: &Request,
    most: u64,
    plan: &mut dyn FnMut(&Request) -> Result<Plan>,
) -> Result<Vec<Request>> {
    let whole = plan(request)?;
    let fits = |plan: &Plan| {
        let sides = plan.groups.iter().flat_map(|group| [group.rect.width, group.rect.height]);
        largest_buffer(plan) <= most && sides.max() <= Some(MOST_SIDE)
    };
    if fits(&whole) {
        return Ok(vec![request.clone()]);
    }
    let region = request.region.unwrap_or(header.window.size().rect());
    let cell = tile_cell(header, &whole);
    let mut out = Vec::new();
    // The last is the next from the top.
    let mut waiting = vec![region];
    while let Some(region) = waiting.pop() {
        let part = Request { region: Some(region), ..request.clone() };
        let planned = plan(&part)?;
        if fits(&planned) {
            out.push(part);
            continue;
        }
        let Some((first, second)) = halves(region, header.window, cell) else {
            let bytes = largest_buffer(&planned);
            let what = format!("one tile takes a buffer of {bytes} bytes, where {most} are possible");
            return Err(GpuFault::Limits(what).into());
        };
        waiting.extend([second, first]);
    }
    Ok(out)
}

/// Pixels a side that a tile of the plan's LoQ covers, of the planes with the largest samples.
fn tile_cell(header: &Header, plan: &Plan) -> (u64, u64) {
    let samples = plan.groups.iter().map(|group| header.planes[group.planes[0]].subsampling);
    let (across, down) = samples.fold((1, 1), |(across, down), (x, y)| (x.max(across), y.max(down)));
    let side = (2u64 << header.tile_log2(plan.loq)) << plan.loq.min(32);
    (side * u64::from(across), side * u64::from(down))
}

/// A region of the window as two, cut between rows of cells of the canvas, or between columns where it lies in one row.
fn halves(region: Rect, window: Rect, (width, height): (u64, u64)) -> Option<(Rect, Rect)> {
    let cut = |start: u32, length: u32, origin: u32, cell: u64| {
        let start = u64::from(origin) + u64::from(start);
        let (first, end) = (start / cell, (start + u64::from(length)).div_ceil(cell));
        (end - first > 1).then(|| ((first + (end - first) / 2) * cell - start) as u32)
    };
    let Rect { x, y, .. } = region;
    if let Some(rows) = cut(y, region.height, window.y, height) {
        let below = Rect { y: y + rows, height: region.height - rows, ..region };
        return Some((Rect { height: rows, ..region }, below));
    }
    let columns = cut(x, region.width, window.x, width)?;
    let right = Rect { x: x + columns, width: region.width - columns, ..region };
    Some((Rect { width: columns, ..region }, right))
}

impl GpuDecoder {
    /// Decodes a request of a file to planes of the caller's type in the host's memory, in the order of the request: what
    /// [`Decoder::decode_planar`] gives. What is too large for the GPU's buffers goes there in [`slices`].
    ///
    /// # Errors
    /// As [`Decoder::decode_planar`]; [`Error::Gpu`] where the GPU fails, or is too small for a single tile.
    pub fn decode_planar<S: Source, T: Sample>(
        &mut self,
        file: &Decoder<S>,
        request: &Request,
    ) -> Result<Vec<Grid<T>>> {
        let header = file.header();
        let most = self.gpu().largest_binding();
        let whole = Plan::geometry(header, request, &file.limits())?;
        file.check_type::<T>(&whole)?;
        let rects: Vec<Rect> = plane_rects(&whole).collect();
        let mut planes: Vec<Grid<T>> =
            rects.iter().map(|rect| Grid::new(rect.width as usize, rect.height as usize)).collect();
        let parts = slices(header, request, most, &mut |request| file.plan(request))?;
        for (done, part) in (1..).zip(&parts) {
            self.decode_packet(&file.packet(part)?, &rects, &mut planes)?;
            file.control().step(done as f32 / parts.len() as f32)?;
        }
        Ok(planes)
    }

    /// Decodes a request of a file to interleaved samples in the host's memory: what [`Decoder::decode_interleaved`]
    /// gives, from [`Self::decode_planar`].
    ///
    /// # Errors
    /// As [`Self::decode_planar`]; [`Error::Request`] where the planes are not of one size.
    pub fn decode_interleaved<S: Source, T: Sample>(
        &mut self,
        file: &Decoder<S>,
        request: &Request,
        out: &mut Vec<T>,
    ) -> Result<Size> {
        let plan = Plan::geometry(file.header(), request, &file.limits())?;
        file.check_type::<T>(&plan)?;
        file.check_sizes(&plan)?;
        weave(&self.decode_planar(file, request)?, out);
        Ok(plan.groups[0].rect.size())
    }

    /// Decodes a packet, and puts it where it belongs in planes that cover `rects`.
    fn decode_packet<T: Sample>(
        &mut self,
        packet: &Packet,
        rects: &[Rect],
        planes: &mut [Grid<T>],
    ) -> Result<()> {
        let mut decoded = self.decode(&[packet], Target::Planes)?;
        decoded.results.swap_remove(0)?;
        let parts: Vec<Rect> = plane_rects(packet.plan()).collect();
        for (i, (part, whole)) in parts.into_iter().zip(rects).enumerate() {
            let missing = || Error::from(GpuFault::Driver("a plane is missing".into()));
            let samples = self.read_plane(decoded.place(0, i).ok_or_else(missing)?)?;
            let at = part.relative_to(whole.x, whole.y);
            for y in 0..samples.height() {
                let out = &mut planes[i].row_mut(at.y as usize + y)[at.x as usize..][..samples.width()];
                out.iter_mut().zip(samples.row(y)).for_each(|(out, &v)| *out = T::from_i32(v));
            }
        }
        Ok(())
    }
}

/// The samples of each plane that comes out.
fn plane_rects(plan: &Plan) -> impl Iterator<Item = Rect> {
    let of = |p: &usize| plan.groups.iter().find(|group| group.planes.contains(p)).map(|group| group.rect);
    plan.planes.iter().filter_map(of)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::stream::MemorySource;
    use crate::{EncodeOptions, Encoder, Image, Limits, PlaneKind};

    /// A picture of 1000 × 700 in tiles of 128, or an extract of it.
    fn file(window: Option<Rect>) -> Decoder<MemorySource> {
        let samples: Vec<u8> = (0..1000 * 700).map(|i| (i % 251) as u8).collect();
        let image = Image::from_interleaved(Size::new(1000, 700), &[PlaneKind::Gray], 8, &samples).unwrap();
        let whole = Encoder::new(EncodeOptions::lossless()).encode(&image).unwrap();
        let open = |bytes| Decoder::open(MemorySource::new(bytes), Limits::default()).unwrap();
        let whole = open(whole);
        let request = Request { region: window, ..Request::default() };
        if window.is_some() { open(crate::extract(&whole, &request).unwrap().into_vec()) } else { whole }
    }

    fn parts(file: &Decoder<MemorySource>, request: &Request, most: u64) -> Vec<Request> {
        slices(file.header(), request, most, &mut |request| file.plan(request)).unwrap()
    }

    #[test]
    fn what_fits_stays_whole() {
        let file = file(None);
        let request = Request { loq: 1, ..Request::default() };
        let bytes = largest_buffer(&file.plan(&request).unwrap());
        assert_eq!(parts(&file, &request, bytes), std::slice::from_ref(&request));
        assert_eq!(parts(&file, &request, bytes - 1).len(), 2);
    }

    #[test]
    fn parts_fit_follow_tiles_and_cover_everything_once() {
        for (window, x0, y0) in [(None, 0, 0), (Some(Rect::new(130, 50, 700, 600)), 130, 50)] {
            let file = file(window);
            let size = file.size();
            let corner = Rect::new(5, 9, size.width - 5, size.height - 9);
            for (loq, region, most) in [
                (0, None, 600_000),
                (0, None, 200_000),
                (1, Some(corner), 200_000),
                (0, Some(corner), 150_000),
            ] {
                let request = Request { loq, region, planes: None };
                let parts = parts(&file, &request, most);
                assert!(parts.len() > 1);
                let wanted = region.unwrap_or(size.rect());
                let side = if loq == 0 { 128 } else { 64 << loq };
                let mut covered = 0;
                for (i, part) in parts.iter().enumerate() {
                    assert!(largest_buffer(&file.plan(part).unwrap()) <= most);
                    let rect = part.region.unwrap();
                    covered += rect.size().area();
                    assert!(rect.y == wanted.y || (rect.y + y0) % side == 0, "{rect:?}");
                    assert!(rect.x == wanted.x || (rect.x + x0) % side == 0, "{rect:?}");
                    let apart = |other: &Request| rect.intersect(other.region.unwrap()).is_empty();
                    assert!(parts[..i].iter().all(apart));
                }
                assert_eq!(covered, wanted.size().area());
            }
        }
    }

    #[test]
    fn a_single_tile_that_is_too_large_is_an_error() {
        let file = file(None);
        let refused = slices(file.header(), &Request::default(), 10_000, &mut |request| file.plan(request))
            .unwrap_err();
        assert!(matches!(refused, Error::Gpu(GpuFault::Limits(_))), "{refused}");
    }

    /// No tile has to be too large for that: dispatches have limits too.
    #[test]
    fn long_sides_are_cut() {
        let samples = vec![7u8; 2_100_000];
        let image =
            Image::from_interleaved(Size::new(2_100_000, 1), &[PlaneKind::Gray], 8, &samples).unwrap();
        let bytes = Encoder::new(EncodeOptions::lossless()).encode(&image).unwrap();
        let file = Decoder::open(MemorySource::new(bytes), Limits::default()).unwrap();
        let parts = parts(&file, &Request::default(), u64::MAX);
        assert!(parts.iter().all(|part| part.region.unwrap().width <= MOST_SIDE) && parts.len() > 1);
    }
}
