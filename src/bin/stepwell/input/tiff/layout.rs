//! What the samples of a TIFF file are, and how they become planes.

use std::collections::HashSet;

use stepwell::{PlaneInfo, PlaneKind, Size};

use super::super::{Fault, gdal};
use super::{Fields, tag};

/// What has to be done to the stored samples.
pub enum Colour {
    Plain,
    /// 0 is white.
    Inverted,
    /// Indices of these colours, and the depth of these.
    Palette(Vec<[i32; 3]>, u8),
    /// Luma and chroma of a JPEG-compressed picture.
    JpegYcc,
}

/// What the directory says of the samples.
pub struct Layout {
    pub size: Size,
    /// Stored samples of a pixel.
    pub samples: usize,
    pub bits: u8,
    pub signed: bool,
    pub planar: bool,
    photometric: i64,
    pub colour: Colour,
    /// Tiles that the file leaves out, as GDAL does where all samples are 0.
    pub absent: HashSet<u32>,
}

impl Layout {
    pub fn new(fields: &Fields) -> Result<Self, Fault> {
        let side = |tag| fields.integer(tag).and_then(|v| u32::try_from(v).ok()).unwrap_or(0);
        let bits = fields.integers(tag::BITS_PER_SAMPLE);
        let samples = fields.integer(tag::SAMPLES_PER_PIXEL).unwrap_or(1);
        if !(1..=255).contains(&samples) {
            return Err(Fault::unsupported(format_args!("{samples} samples a pixel"), "255 are possible"));
        }
        let signed = match fields.integer(tag::SAMPLE_FORMAT).unwrap_or(1) {
            1 => false,
            2 => true,
            _ => {
                return Err(Fault::unsupported(
                    "samples that are no integers",
                    "convert them to 16 or 32-bit integers first",
                ));
            }
        };
        let bits = match bits.first().copied().unwrap_or(1) {
            bits @ (1..=8 | 16 | 32) => bits as u8,
            bits => {
                return Err(Fault::unsupported(
                    format_args!("{bits} bits a sample"),
                    "convert it to 16 or 32 bits first",
                ));
            }
        };
        let mut layout = Layout {
            size: Size::new(side(tag::IMAGE_WIDTH), side(tag::IMAGE_LENGTH)),
            samples: samples as usize,
            bits,
            signed,
            planar: fields.integer(tag::PLANAR_CONFIGURATION) == Some(2) && samples > 1,
            photometric: fields.integer(tag::PHOTOMETRIC).unwrap_or(-1),
            colour: Colour::Plain,
            absent: absent_tiles(fields),
        };
        layout.colour = layout.colour(fields)?;
        Ok(layout)
    }

    fn colour(&self, fields: &Fields) -> Result<Colour, Fault> {
        const HELP: &str = "convert it to gray or RGB first";
        let jpeg = fields.integer(tag::COMPRESSION) == Some(7);
        Ok(match self.photometric {
            0 if !self.signed && self.bits < 32 => Colour::Inverted,
            1 => Colour::Plain,
            2 if self.samples >= 3 => Colour::Plain,
            5 if self.samples >= 4 && !jpeg => Colour::Plain,
            3 if self.samples == 1 && self.bits <= 16 && !self.signed => {
                palette(&fields.integers(tag::COLOR_MAP), self.bits)?
            }
            6 if self.samples == 3 && self.bits == 8 && !self.signed && jpeg && !self.planar => {
                Colour::JpegYcc
            }
            6 => return Err(Fault::unsupported("Y'CbCr TIFF that is not compressed as JPEG", HELP)),
            kind => return Err(Fault::unsupported(format_args!("photometric interpretation {kind}"), HELP)),
        })
    }

    /// Depth of the planes, where the file does not say that it is less.
    fn depth(&self) -> u8 {
        match self.colour {
            Colour::Palette(_, depth) => depth,
            _ => self.bits.min(31),
        }
    }

    pub fn infos(&self, fields: &Fields) -> Vec<PlaneInfo> {
        use PlaneKind::{Alpha, Blue, Gray, Green, Other, PremultipliedAlpha, Red};
        let extra = fields.integers(tag::EXTRA_SAMPLES);
        let mut kinds = match self.photometric {
            2 | 3 | 6 => vec![Red, Green, Blue],
            5 => vec![Other; 4],
            _ if extra.iter().all(|e| matches!(e, 1 | 2)) && self.samples == extra.len() + 1 => vec![Gray],
            // Bands of which none is opacity: the first is as good as the others.
            _ => vec![Other],
        };
        while kinds.len() < self.samples {
            kinds.push(match extra.get((kinds.len() + extra.len()).wrapping_sub(self.samples)) {
                Some(1) => PremultipliedAlpha,
                Some(2) => Alpha,
                _ => Other,
            });
        }
        let mut names = gdal::names(&fields.text(gdal::METADATA), kinds.len());
        if self.photometric == 5 {
            names.iter_mut().zip(INKS).for_each(|(name, ink)| *name = ink.into());
        }
        let info =
            |(kind, name)| PlaneInfo { name, signed: self.signed, ..PlaneInfo::new(kind, self.depth()) };
        kinds.into_iter().zip(names).map(info).collect()
    }

    /// Stored samples of a row to those of the planes.
    pub fn convert(&self, samples: &mut Vec<i32>) -> Result<(), Fault> {
        match &self.colour {
            Colour::Plain => {}
            Colour::Inverted => {
                let white = ((1i64 << self.bits) - 1) as i32;
                samples
                    .iter_mut()
                    .step_by(if self.planar { 1 } else { self.samples })
                    .for_each(|v| *v = white - *v);
            }
            Colour::Palette(colours, _) => {
                let colour = |&i: &i32| colours.get(i as usize).copied();
                let pixels: Option<Vec<_>> = samples.iter().map(colour).collect();
                *samples = pixels.ok_or_else(|| Fault::broken("a colour is not in its palette"))?.concat();
            }
            Colour::JpegYcc => samples.chunks_exact_mut(3).for_each(rgb_from_ycc),
        }
        Ok(())
    }
}

fn absent_tiles(fields: &Fields) -> HashSet<u32> {
    let (offsets, counts) = (fields.integers(tag::TILE_OFFSETS), fields.integers(tag::TILE_BYTE_COUNTS));
    let tiles = (0..).zip(offsets.into_iter().zip(counts));
    tiles.filter(|(_, place)| *place == (0, 0)).map(|(tile, _)| tile).collect()
}

/// Names of the planes of a picture for print; a TIFF writer knows them by these.
pub const INKS: [&str; 4] = ["cyan", "magenta", "yellow", "black"];

/// The full-range BT.601 matrix of JFIF, in 16-bit fixed point.
fn rgb_from_ycc(pixel: &mut [i32]) {
    let (y, cb, cr) = (pixel[0] << 16 | 0x8000, pixel[1] - 128, pixel[2] - 128);
    let rgb = [y + 91881 * cr, y - 22554 * cb - 46802 * cr, y + 116130 * cb];
    pixel.copy_from_slice(&rgb.map(|v| (v >> 16).clamp(0, 255)));
}

fn palette(map: &[i64], bits: u8) -> Result<Colour, Fault> {
    let count = 1 << bits;
    if map.len() != 3 * count || map.iter().any(|v| !(0..=65535).contains(v)) {
        return Err(Fault::broken("its palette does not fit its depth"));
    }
    // Most palettes hold 8-bit colours, spread to 16 bits in one way or another (or not at all).
    let all = |test: fn(i64) -> bool| map.iter().all(|&v| test(v));
    let (shift, depth) = match () {
        () if all(|v| v < 256) => (0, 8),
        () if all(|v| v % 257 == 0) || all(|v| v % 256 == 0) => (8, 8),
        () => (0, 16),
    };
    let colour = |i| [map[i], map[count + i], map[2 * count + i]].map(|v| (v >> shift) as i32);
    Ok(Colour::Palette((0..count).map(colour).collect(), depth))
}
