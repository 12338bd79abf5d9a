//! Pictures made from a seed, with what stresses a codec: gradients, edges, flat parts, noise, extremes.

use stepwell::{Grid, Image, Metadata, Plane, PlaneInfo, PlaneKind, Size};

/// A small generator (SplitMix64), so that pictures are the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    pub fn below(&mut self, limit: u64) -> u64 {
        self.next() % limit
    }
}

/// What a plane is filled with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Texture {
    /// Smooth waves with a little noise and a few hard edges, like a photograph.
    Photo,
    /// White noise over the whole range.
    Noise,
    /// Smallest and largest value by turns.
    Checkerboard,
    /// One value.
    Flat,
    /// Flat with single odd samples.
    Sparse,
}

pub const TEXTURES: [Texture; 5] =
    [Texture::Photo, Texture::Noise, Texture::Checkerboard, Texture::Flat, Texture::Sparse];

/// Nearly a sine, of turns: sums and products alone, so that it is the same on every machine.
fn wave(turns: f64) -> f64 {
    let part = turns - turns.floor();
    if part < 0.5 { 16.0 * part * (0.5 - part) } else { 16.0 * (part - 0.5) * (part - 1.0) }
}

/// Samples of one plane.
pub fn plane(info: PlaneInfo, canvas: Size, texture: Texture, seed: u64) -> Plane {
    let mut random = Random(seed);
    let size = info.size(canvas);
    let (low, high) = info.range();
    let span = i64::from(high) - i64::from(low);
    let (fx, fy, phase) = (0.005 + seed as f64 % 7.0 * 0.0016, 0.008, seed as f64 * 0.16);
    let mut samples = Grid::new(size.width as usize, size.height as usize);
    for y in 0..size.height as usize {
        for x in 0..size.width as usize {
            let part = match texture {
                Texture::Photo => {
                    let wave = wave(x as f64 * fx + phase) * wave(y as f64 * fy + 0.25) * 0.3 + 0.5;
                    let edge = if (x / 13 + y / 17) % 5 == 0 { 0.15 } else { 0.0 };
                    wave + edge + (random.below(1000) as f64 / 1000.0 - 0.5) * 0.02
                }
                Texture::Noise => random.below(1 << 32) as f64 / (1u64 << 32) as f64,
                Texture::Checkerboard => ((x + y) % 2) as f64,
                Texture::Flat => 0.3,
                Texture::Sparse => f64::from(u8::from(random.below(500) == 0)),
            };
            let value = i64::from(low) + (part.clamp(0.0, 1.0) * span as f64).round() as i64;
            samples.set(x, y, value as i32);
        }
    }
    Plane { info, samples }
}

/// A picture with planes of one texture.
pub fn image(size: Size, planes: Vec<PlaneInfo>, texture: Texture, seed: u64) -> Image {
    let planes = planes.into_iter().enumerate().map(|(i, info)| plane(info, size, texture, seed + i as u64));
    Image { size, planes: planes.collect(), metadata: Metadata::default() }
}

pub fn gray(depth: u8) -> Vec<PlaneInfo> {
    vec![PlaneInfo::new(PlaneKind::Gray, depth)]
}

pub fn rgb(depth: u8) -> Vec<PlaneInfo> {
    [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue].map(|k| PlaneInfo::new(k, depth)).to_vec()
}

pub fn rgba(depth: u8) -> Vec<PlaneInfo> {
    let mut planes = rgb(depth);
    planes.push(PlaneInfo::new(PlaneKind::Alpha, depth));
    planes
}

/// Luma with chroma of half the size.
pub fn yuv420(depth: u8) -> Vec<PlaneInfo> {
    let mut planes =
        [PlaneKind::Luma, PlaneKind::ChromaBlue, PlaneKind::ChromaRed].map(|k| PlaneInfo::new(k, depth));
    planes[1].subsampling = (2, 2);
    planes[2].subsampling = (2, 2);
    planes.to_vec()
}
