//! What decodes come out as: planes, or interleaved samples of the caller's type.

use super::fast::Sink;
use super::plan::{GroupPlan, Plan};
use super::tile::Part;
use crate::colour::ColourTransform;
use crate::colour::cpu::Output;
use crate::container::Header;
use crate::geom::Rect;
use crate::grid::Grid;
use crate::upsample::WRAPPED_BITS;

/// Types that samples can come out as.
pub trait Sample: Copy + Default + Send + Sync + 'static {
    /// Whether every value of `low..=high` can be held.
    fn holds(low: i32, high: i32) -> bool;
    /// The value, which [`Self::holds`] said yes to.
    fn from_i32(value: i32) -> Self;
}

macro_rules! sample {
    ($($type:ty),*) => {$(
        impl Sample for $type {
            fn holds(low: i32, high: i32) -> bool {
                <$type>::try_from(low).is_ok() && <$type>::try_from(high).is_ok()
            }

            fn from_i32(value: i32) -> Self {
                value as $type
            }
        }
    )*};
}
sample!(u8, u16, i16, i32);

/// The colour stage for the coded planes of a group.
pub fn output_for(header: &Header, group: &GroupPlan) -> Output {
    let first = group.planes.iter().position(|&p| p == header.colour_first);
    let transformed = header.colour != ColourTransform::None && first.is_some();
    Output {
        transform: if transformed { header.colour } else { ColourTransform::None },
        first: first.unwrap_or(0),
        fraction_bits: header.fraction_bits,
        wraps: header.groups[group.group].clone().all(|p| header.coded_bits(p) <= WRAPPED_BITS),
        ranges: group.planes.iter().map(|&p| header.planes[p].range()).collect(),
    }
}

/// Cuts `rect` out of parts, applies the colour stage and keeps wanted planes.
pub struct Converter {
    output: Output,
    rect: Rect,
    /// Of each plane that is kept: its place in the part.
    keep: Vec<usize>,
}

impl Converter {
    /// For a group of a plan.
    pub fn new(header: &Header, plan: &Plan, group: &GroupPlan) -> Self {
        let keep = plan.planes.iter().filter_map(|p| group.planes.iter().position(|q| p == q)).collect();
        Converter { output: output_for(header, group), rect: group.rect, keep }
    }

    /// The samples of a part that are wanted, relative to what comes out.
    fn convert(&self, planes: Vec<Part>) -> (Rect, Vec<Grid<i32>>) {
        let whole = planes.first().map_or(self.rect, |part| part.rect);
        let wanted = whole.intersect(self.rect);
        let cut = |part: Part| if wanted == whole { part.grid } else { part.crop(wanted) };
        let mut grids: Vec<Grid<i32>> = planes.into_iter().map(cut).collect();
        let mut samples: Vec<&mut [i32]> = grids.iter_mut().map(Grid::data_mut).collect();
        self.output.apply(&mut samples);
        (wanted.relative_to(self.rect.x, self.rect.y), grids)
    }
}

/// A plane for each that [`Converter`] keeps.
pub struct Planar<T> {
    converter: Converter,
    /// The planes, in the order of the plan.
    pub planes: Vec<Grid<T>>,
}

impl<T: Sample> Planar<T> {
    /// All zero.
    pub fn new(converter: Converter) -> Self {
        let (width, height) = (converter.rect.width as usize, converter.rect.height as usize);
        let planes = converter.keep.iter().map(|_| Grid::new(width, height)).collect();
        Planar { converter, planes }
    }
}

impl<T: Sample> Sink for Planar<T> {
    type Piece = (Rect, Vec<Grid<i32>>);

    fn convert(&self, planes: Vec<Part>) -> Self::Piece {
        self.converter.convert(planes)
    }

    fn take(&mut self, (rect, grids): Self::Piece) {
        for (plane, &place) in self.planes.iter_mut().zip(&self.converter.keep) {
            for y in 0..rect.height as usize {
                let out = &mut plane.row_mut(rect.y as usize + y)[rect.x as usize..][..rect.width as usize];
                out.iter_mut().zip(grids[place].row(y)).for_each(|(out, &v)| *out = T::from_i32(v));
            }
        }
    }
}

/// Interleaved samples, appended to the caller's vector.
pub struct Interleaved<'a, T> {
    converter: Converter,
    out: &'a mut [T],
}

impl<'a, T: Sample> Interleaved<'a, T> {
    /// Makes the room that will be filled.
    pub fn new(converter: Converter, out: &'a mut Vec<T>) -> Self {
        let start = out.len();
        let room = converter.rect.size().area() as usize * converter.keep.len();
        out.reserve_exact(room);
        out.resize(start + room, T::default());
        Interleaved { converter, out: &mut out[start..] }
    }
}

impl<T: Sample> Sink for Interleaved<'_, T> {
    type Piece = (Rect, Vec<T>);

    fn convert(&self, planes: Vec<Part>) -> Self::Piece {
        let (rect, grids) = self.converter.convert(planes);
        let count = self.converter.keep.len();
        let mut out = vec![T::default(); rect.size().area() as usize * count];
        if let [a, b, c] = self.converter.keep[..] {
            let pixels = grids[a].data().iter().zip(grids[b].data()).zip(grids[c].data());
            for (out, ((&a, &b), &c)) in out.chunks_exact_mut(3).zip(pixels) {
                out.copy_from_slice(&[T::from_i32(a), T::from_i32(b), T::from_i32(c)]);
            }
            return (rect, out);
        }
        for (i, &place) in self.converter.keep.iter().enumerate() {
            let places = out.iter_mut().skip(i).step_by(count);
            places.zip(grids[place].data()).for_each(|(out, &v)| *out = T::from_i32(v));
        }
        (rect, out)
    }

    fn take(&mut self, (rect, samples): Self::Piece) {
        let count = self.converter.keep.len();
        let (stride, width) = (self.converter.rect.width as usize * count, rect.width as usize * count);
        let start = rect.y as usize * stride + rect.x as usize * count;
        let rows = self.out.get_mut(start..).unwrap_or_default().chunks_mut(stride);
        rows.zip(samples.chunks_exact(width.max(1))).for_each(|(out, row)| out[..width].copy_from_slice(row));
    }
}
