//! The reference of the tensor stage: decoded planes → a tensor. Needs no GPU.

use super::framing::{Channel, Framing, LUMA};
use super::resample::{Axis, HALF};
use super::spec::{Layout, WHITE};
use crate::error::{Error, Result};
use crate::grid::Grid;
use crate::image::Image;

/// Appends the tensor of one picture to `out`: [`TensorSpec::elements`](super::TensorSpec::elements) elements,
/// little-endian and without padding. `image` is what decoding [`Framing::request`] gave.
///
/// # Errors
/// [`Error::Request`] where the image is not that; `out` stays as it was.
pub fn append(framing: &Framing, image: &Image, out: &mut Vec<u8>) -> Result<()> {
    check(framing, image)?;
    let spec = &framing.spec;
    let planes: Vec<Grid<u32>> = (framing.planes.iter().zip(&image.planes))
        .map(|(plane, decoded)| {
            let [columns, rows] = &framing.axes[plane.axes];
            let samples = &decoded.samples;
            let fractions = samples.data().iter().map(|&sample| plane.fractions.of(sample)).collect();
            let fractions = Grid::from_vec(samples.width(), samples.height(), fractions);
            resampled(&fractions, columns, rows, (framing.inner.width, framing.inner.height))
        })
        .collect();
    let (width, height, channels) = (spec.size.width, spec.size.height, spec.channels.count());
    let mut push = |channel: u32, x: u32, y: u32| {
        let bits = spec.element_bits(channel as usize, fraction(framing, &planes, channel as usize, x, y));
        out.extend(&bits.to_le_bytes()[..spec.element.bytes() as usize]);
    };
    match spec.layout {
        Layout::Planar => {
            for channel in 0..channels {
                for y in 0..height {
                    (0..width).for_each(|x| push(channel, x, y));
                }
            }
        }
        Layout::Interleaved => {
            for y in 0..height {
                for x in 0..width {
                    (0..channels).for_each(|channel| push(channel, x, y));
                }
            }
        }
    }
    Ok(())
}

fn check(framing: &Framing, image: &Image) -> Result<()> {
    let fits = framing.planes.len() == image.planes.len()
        && framing.planes.iter().zip(&image.planes).all(|(plane, decoded)| {
            let (size, samples) = (plane.size, &decoded.samples);
            (size.width as usize, size.height as usize) == (samples.width(), samples.height())
        });
    if fits {
        Ok(())
    } else {
        Err(Error::Request("the image is not what the framing's request decodes to".into()))
    }
}

/// A channel of a pixel of the tensor.
fn fraction(framing: &Framing, planes: &[Grid<u32>], channel: usize, x: u32, y: u32) -> u32 {
    let inner = framing.inner;
    let (x, y) = (x.wrapping_sub(inner.x), y.wrapping_sub(inner.y));
    if x >= inner.width || y >= inner.height {
        return framing.spec.fill(channel);
    }
    let at = |plane: usize| planes[plane].at(x as usize, y as usize);
    match framing.channels[channel] {
        Channel::Plane(plane) => at(plane),
        Channel::Luma => ((0..3).map(|plane| LUMA[plane] * at(plane)).sum::<u32>() + HALF) >> 16,
        Channel::Opaque => WHITE,
    }
}

/// Along rows, then along columns.
fn resampled(plane: &Grid<u32>, columns: &Axis, rows: &Axis, (width, height): (u32, u32)) -> Grid<u32> {
    let mut narrow = Grid::new(width as usize, plane.height());
    for y in 0..plane.height() {
        for x in 0..width {
            let (first, weights) = columns.pixel(x);
            let sum: u32 =
                weights.iter().enumerate().map(|(i, weight)| weight * plane.at(first + i, y)).sum();
            narrow.set(x as usize, y, (sum + HALF) >> 16);
        }
    }
    let mut out = Grid::new(width as usize, height as usize);
    for y in 0..height {
        let (first, weights) = rows.pixel(y);
        for x in 0..width as usize {
            let sum: u32 =
                weights.iter().enumerate().map(|(i, weight)| weight * narrow.at(x, first + i)).sum();
            out.set(x, y as usize, (sum + HALF) >> 16);
        }
    }
    out
}
