//! Pictures of other formats, read with every sample and depth as it is stored.

pub mod exif;
pub mod gdal;
pub mod ifd;
mod jpeg;
mod planes;
pub mod png;
mod pnm;
pub mod raw;
#[cfg(test)]
mod tests;
pub mod tiff;
mod webp;

use std::fmt::Display;
use std::path::Path;

use stepwell::{Image, Limits};

use crate::failure::{Failure, Result};
use planes::Planes;

/// Formats that are told apart by their first bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Portable Network Graphics.
    Png,
    /// JPEG (JFIF or Exif).
    Jpeg,
    /// TIFF and BigTIFF.
    Tiff,
    /// PBM, PGM, PPM and PAM.
    Pnm,
    /// WebP.
    Webp,
}

/// Why a reader gave up, before the file's name is known.
pub enum Fault {
    /// The library refused the picture.
    Library(stepwell::Error),
    /// The file is broken or of a kind that is not read; perhaps what to do about it.
    Bad(String, Option<&'static str>),
    /// Memory does not suffice.
    Memory(String),
}

impl Fault {
    /// The bytes are wrong.
    pub fn broken(what: impl Display) -> Self {
        Fault::Bad(format!("broken file: {what}"), None)
    }

    /// The bytes are right, but not read.
    pub fn unsupported(what: impl Display, help: &'static str) -> Self {
        Fault::Bad(format!("not supported: {what}"), Some(help))
    }

    /// So many samples do not fit into memory.
    pub fn memory(samples: u64) -> Self {
        Fault::Memory(format!("not enough memory for {samples} samples"))
    }

    fn about(self, path: &Path) -> Failure {
        match self {
            Fault::Library(e) => Failure::library(path, e),
            Fault::Bad(what, None) => Failure::bad_input(what).about(path),
            Fault::Bad(what, Some(help)) => Failure::bad_input(what).help(help).about(path),
            Fault::Memory(what) => Failure::failed(what).about(path),
        }
    }
}

impl From<stepwell::Error> for Fault {
    fn from(error: stepwell::Error) -> Self {
        Fault::Library(error)
    }
}

/// What is remarkable about a file that was read all the same, for the user to know.
pub type Notes = Vec<String>;

/// Formats met in practice that are recognised only to say so.
const OTHERS: &[(usize, &[u8], &str)] = &[
    (0, b"\xFF\x0A", "JPEG XL"),
    (4, b"JXL \r\n", "JPEG XL"),
    (4, b"ftypavif", "AVIF"),
    (4, b"ftypheic", "HEIC"),
    (0, b"\xFF\x4F\xFF\x51", "JPEG 2000"),
    (4, b"jP  \r\n", "JPEG 2000"),
    (0, b"GIF8", "GIF"),
    (0, b"BM", "BMP"),
    (0, b"8BPS", "Photoshop"),
    (0, b"v/1\x01", "OpenEXR"),
    (0, b"PF\n", "PFM"),
    (0, b"Pf\n", "PFM"),
    (0, b"qoif", "QOI"),
    (0, b"%PDF", "PDF"),
];

/// The format, judged by the first bytes.
pub fn sniff(bytes: &[u8]) -> Option<Format> {
    match bytes {
        [0x89, b'P', b'N', b'G', ..] => Some(Format::Png),
        [0xFF, 0xD8, 0xFF, ..] => Some(Format::Jpeg),
        [b'I', b'I', 42 | 43, 0, ..] | [b'M', b'M', 0, 42 | 43, ..] => Some(Format::Tiff),
        [b'P', b'1'..=b'7', c, ..] if c.is_ascii_whitespace() || *c == b'#' => Some(Format::Pnm),
        [b'R', b'I', b'F', b'F', _, _, _, _, b'W', b'E', b'B', b'P', ..] => Some(Format::Webp),
        _ => None,
    }
}

/// Reads a picture of any format that [`sniff`] knows.
pub fn read(path: &Path, bytes: Vec<u8>, limits: &Limits) -> Result<(Image, Notes)> {
    let mut notes = Notes::new();
    let image = match sniff(&bytes) {
        Some(Format::Png) => png::read(&bytes, limits, &mut notes),
        Some(Format::Jpeg) => jpeg::read(&bytes, limits),
        Some(Format::Tiff) => tiff::read(bytes, limits, &mut notes),
        Some(Format::Pnm) => pnm::read(&bytes, limits, &mut notes),
        Some(Format::Webp) => webp::read(&bytes, limits, &mut notes),
        None => Err(unknown(&bytes)),
    };
    Ok((image.map_err(|fault| fault.about(path))?, notes))
}

/// Reads samples without a header, which `shape` describes.
pub fn read_raw(path: &Path, bytes: Vec<u8>, shape: &raw::Shape, limits: &Limits) -> Result<Image> {
    raw::read(&bytes, shape, limits).map_err(|fault| fault.about(path))
}

fn unknown(bytes: &[u8]) -> Fault {
    const HELP: &str = "PNG, JPEG, TIFF, PNM/PAM and WebP are read; samples without a header with --raw";
    if bytes.is_empty() {
        return Fault::Bad("the file is empty".into(), None);
    }
    match OTHERS.iter().find(|(at, magic, _)| bytes.get(*at..).is_some_and(|b| b.starts_with(magic))) {
        Some((_, _, name)) => Fault::unsupported(format_args!("this is a {name} file"), HELP),
        None => Fault::Bad("not a picture of a known format".into(), Some(HELP)),
    }
}
