//! Pictures written in other formats, with exactly the values that were decoded or not at all.

mod png;
mod pnm;
mod raw;
#[cfg(test)]
mod tests;
mod tiff;

use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use stepwell::{Metadata, PlaneInfo, PlaneKind, Size};

use crate::failure::{Failure, Result};

/// A format to write.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// PNG: gray or RGB with or without opacity, of 8 or 16 bits (gray also of 1, 2 and 4).
    Png,
    /// PBM: one plane of 1 bit.
    Pbm,
    /// PGM: one plane of 1 to 16 bits.
    Pgm,
    /// PPM: three planes of 1 to 16 bits.
    Ppm,
    /// PGM or PPM, by the number of planes.
    Pnm,
    /// PAM: any planes of one depth, 1 to 16 bits.
    Pam,
    /// TIFF (BigTIFF above 4 GB): any planes of one size, 1 to 31 bits, signed too.
    #[value(alias = "tif")]
    Tiff,
    /// Interleaved samples without a header: 1, 2 or 4 bytes each, little-endian.
    Raw,
}

impl Format {
    /// The format that a file name's ending asks for.
    pub fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|e| e.to_str()).unwrap_or("").to_ascii_lowercase();
        Format::from_str(&ending, true).map_err(|_| {
            Failure::usage(format!("{}: its ending names no format that can be written", path.display()))
                .help("end it in .png, .ppm, .pgm, .pbm, .pam, .tif or .raw, or name one with --format")
        })
    }

    /// Whether the format holds these planes exactly; the error says which other does.
    pub fn check(self, planes: &[PlaneInfo]) -> Result<()> {
        self.check_sizes(planes)?;
        match self {
            Format::Png => png::check(planes),
            Format::Pbm | Format::Pgm | Format::Ppm | Format::Pnm | Format::Pam => pnm::check(self, planes),
            Format::Tiff => tiff::check(planes),
            Format::Raw => Ok(()),
        }
    }

    fn check_sizes(self, planes: &[PlaneInfo]) -> Result<()> {
        if planes.windows(2).all(|p| p[0].subsampling == p[1].subsampling) {
            return Ok(());
        }
        Err(Failure::usage("the planes differ in size, and no output format holds such a picture")
            .help("write them one by one, with --planes 0, then --planes 1 and so on"))
    }
}

/// A decoded picture, its samples interleaved.
#[derive(Clone, Debug, PartialEq)]
pub struct Frame {
    /// Columns and rows.
    pub size: Size,
    /// What the planes are.
    pub planes: Vec<PlaneInfo>,
    /// Pixel by pixel, row by row.
    pub samples: Samples,
    /// What comes with them.
    pub metadata: Metadata,
}

/// Samples in the smallest type that holds them.
#[derive(Clone, Debug, PartialEq)]
pub enum Samples {
    /// Unsigned, up to 8 bits.
    U8(Vec<u8>),
    /// Unsigned, up to 16 bits.
    U16(Vec<u16>),
    /// All others.
    I32(Vec<i32>),
}

/// Order of the bytes of a sample.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Endian {
    /// Least significant byte first.
    Little,
    /// Most significant byte first.
    Big,
}

impl Frame {
    /// Bits of the deepest plane.
    pub fn depth(&self) -> u8 {
        depth(&self.planes)
    }

    /// The colour profile, unless it is for other planes than those written: a gray part of an RGB picture.
    fn icc(&self) -> Option<&[u8]> {
        let icc = self.metadata.icc.as_deref()?;
        let colours = self.planes.iter().filter(|p| p.kind != PlaneKind::Alpha).count();
        let fits = match icc.get(16..20) {
            Some(b"RGB ") => colours >= 3,
            Some(b"GRAY") => colours < 3,
            _ => true,
        };
        fits.then_some(icc)
    }

    /// Appends row `y` to `bytes`, each sample in `width` (1, 2 or 4) bytes.
    fn push_row(&self, y: usize, width: usize, endian: Endian, bytes: &mut Vec<u8>) {
        let count = self.size.width as usize * self.planes.len();
        let range = y * count..(y + 1) * count;
        let mut push = |value: u32| {
            let little = value.to_le_bytes();
            match endian {
                Endian::Little => bytes.extend_from_slice(&little[..width]),
                Endian::Big => bytes.extend(little[..width].iter().rev()),
            }
        };
        match &self.samples {
            Samples::U8(s) if width == 1 => bytes.extend_from_slice(&s[range]),
            Samples::U8(s) => s[range].iter().for_each(|&v| push(v.into())),
            Samples::U16(s) => s[range].iter().for_each(|&v| push(v.into())),
            Samples::I32(s) => s[range].iter().for_each(|&v| push(v as u32)),
        }
    }
}

/// Bits of the deepest plane.
pub fn depth(planes: &[PlaneInfo]) -> u8 {
    planes.iter().map(|p| p.depth).max().unwrap_or(1)
}

/// Writes a picture that [`Format::check`] has let pass.
pub fn write(format: Format, frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    match format {
        Format::Png => png::write(frame, out),
        Format::Pbm | Format::Pgm | Format::Ppm | Format::Pnm | Format::Pam => pnm::write(format, frame, out),
        Format::Tiff => tiff::write(frame, out),
        Format::Raw => raw::write(frame, out),
    }
}

/// Samples of 1, 2 or 4 bits, given one a byte, packed from the highest bit down.
fn pack(samples: &[u8], bits: u8) -> Vec<u8> {
    let a_byte = usize::from(8 / bits);
    let byte = |group: &[u8]| {
        let packed = group.iter().fold(0, |byte, sample| byte << bits | sample);
        // The last byte of a row may not be full.
        packed << (bits as usize * (a_byte - group.len()))
    };
    samples.chunks(a_byte).map(byte).collect()
}

/// Whether planes are gray or RGB, with or without opacity, in this order: what most formats expect.
///
/// Planes without a meaning of their own pass as gray and RGB: three bands of a satellite make a picture.
fn is_usual(planes: &[PlaneInfo]) -> bool {
    use PlaneKind::{Alpha, Blue, Gray, Green, Other, Red};
    let kinds: Vec<_> = planes.iter().map(|p| p.kind).collect();
    let colours = match kinds.as_slice() {
        [rest @ .., Alpha] if matches!(rest.len(), 1 | 3) => rest,
        all => all,
    };
    match colours {
        [_] => true,
        [Red, Green, Blue] => true,
        [a, b, c] => [a, b, c].into_iter().all(|k| matches!(k, Gray | Other | Red | Green | Blue)),
        _ => false,
    }
}

/// What planes are, for messages.
fn describe(planes: &[PlaneInfo]) -> String {
    let signed = if planes.iter().any(|p| p.signed) { " signed" } else { "" };
    match planes {
        [p] => format!("one plane of {}{signed} bits", p.depth),
        [p, rest @ ..] if rest.iter().all(|q| q.depth == p.depth) => {
            format!("{} planes of {}{signed} bits", planes.len(), p.depth)
        }
        _ => {
            let depths: Vec<_> = planes.iter().map(|p| p.depth.to_string()).collect();
            format!("planes of {}{signed} bits", depths.join(", "))
        }
    }
}
