//! What decodes come out as: planes, or interleaved samples of the caller's type.

use super::fast::Sink;
use super::plan::{GroupPlan, Plan};
use crate::colour::ColourTransform;
use crate::colour::cpu::Output;
use crate::container::Header;
use crate::geom::Rect;
use crate::upsample::fast::Strip;

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
        ranges: group.planes.iter().map(|&p| header.planes[p].range()).collect(),
    }
}

/// Cuts `rect` out of strips, applies the colour stage and keeps wanted planes.
pub struct Converter {
    output: Output,
    rect: Rect,
    /// Of each plane that is kept: its place in the strip.
    keep: Vec<usize>,
}

impl Converter {
    /// For a group of a plan.
    pub fn new(header: &Header, plan: &Plan, group: &GroupPlan) -> Self {
        let keep = plan.planes.iter().filter_map(|p| group.planes.iter().position(|q| p == q)).collect();
        Converter { output: output_for(header, group), rect: group.rect, keep }
    }

    /// The samples of a strip that are wanted, and how many they are a plane.
    fn convert(&self, mut strip: Strip) -> (Vec<Vec<i32>>, usize) {
        let part = strip.rect.intersect(self.rect);
        if part != strip.rect {
            let local = part.relative_to(strip.rect.x, strip.rect.y);
            let width = strip.rect.width as usize;
            for plane in &mut strip.planes {
                let rows = plane.chunks_exact(width).skip(local.y as usize).take(local.height as usize);
                let cut = |row: &[i32]| row[local.x as usize..local.right() as usize].to_vec();
                *plane = rows.flat_map(cut).collect();
            }
        }
        let mut planes: Vec<&mut [i32]> = strip.planes.iter_mut().map(Vec::as_mut_slice).collect();
        self.output.apply(&mut planes);
        (strip.planes, part.size().area() as usize)
    }
}

/// Planes of 32-bit samples.
pub struct Planar {
    converter: Converter,
    /// The planes that [`Converter`] keeps.
    pub planes: Vec<Vec<i32>>,
}

impl Planar {
    /// With room for everything.
    pub fn new(converter: Converter) -> Self {
        let room = converter.rect.size().area() as usize;
        let planes = converter.keep.iter().map(|_| Vec::with_capacity(room)).collect();
        Planar { converter, planes }
    }
}

impl Sink for Planar {
    type Piece = Vec<Vec<i32>>;

    fn convert(&self, strip: Strip) -> Self::Piece {
        self.converter.convert(strip).0
    }

    fn take(&mut self, piece: Self::Piece) {
        for (all, &place) in self.planes.iter_mut().zip(&self.converter.keep) {
            all.extend_from_slice(&piece[place]);
        }
    }
}

/// Interleaved samples, appended to the caller's vector.
pub struct Interleaved<'a, T> {
    converter: Converter,
    out: &'a mut Vec<T>,
}

impl<'a, T: Sample> Interleaved<'a, T> {
    /// Reserves what will be appended.
    pub fn new(converter: Converter, out: &'a mut Vec<T>) -> Self {
        out.reserve_exact(converter.rect.size().area() as usize * converter.keep.len());
        Interleaved { converter, out }
    }
}

impl<T: Sample> Sink for Interleaved<'_, T> {
    type Piece = Vec<T>;

    fn convert(&self, strip: Strip) -> Vec<T> {
        let (planes, samples) = self.converter.convert(strip);
        let count = self.converter.keep.len();
        let mut out = vec![T::default(); samples * count];
        if let [a, b, c] = self.converter.keep[..] {
            let pixels = planes[a].iter().zip(&planes[b]).zip(&planes[c]);
            for (out, ((&a, &b), &c)) in out.chunks_exact_mut(3).zip(pixels) {
                out.copy_from_slice(&[T::from_i32(a), T::from_i32(b), T::from_i32(c)]);
            }
            return out;
        }
        for (i, &place) in self.converter.keep.iter().enumerate() {
            let places = out.iter_mut().skip(i).step_by(count);
            places.zip(&planes[place]).for_each(|(out, &v)| *out = T::from_i32(v));
        }
        out
    }

    fn take(&mut self, piece: Vec<T>) {
        self.out.extend_from_slice(&piece);
    }
}
