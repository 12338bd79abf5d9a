//! Netpbm's binary formats: any depth of 1 to 16 bits, no metadata.

use std::io::{self, Write};

use stepwell::{PlaneInfo, PlaneKind};

use super::{Endian, Format, Frame, describe, is_usual, pack};
use crate::failure::{Failure, Result};

/// Whether the format holds these planes exactly.
pub fn check(format: Format, planes: &[PlaneInfo]) -> Result<()> {
    let deep = planes.iter().any(|p| p.signed || p.depth > 16 || p.depth != planes[0].depth);
    let (fits, what) = match format {
        Format::Pbm => (planes.len() == 1 && planes[0].depth == 1, "PBM holds one plane of 1 bit"),
        Format::Pgm => (planes.len() == 1, "PGM holds one plane of 1 to 16 bits"),
        Format::Ppm => (planes.len() == 3 && is_usual(planes), "PPM holds RGB of 1 to 16 bits"),
        Format::Pnm => {
            (matches!(planes.len(), 1 | 3) && is_usual(planes), "PNM holds gray or RGB of 1 to 16 bits")
        }
        _ => (true, "PAM holds planes of one depth, 1 to 16 bits"),
    };
    let help = match () {
        () if deep => "write TIFF (.tif)",
        () if !fits => "write PAM (.pam) or TIFF (.tif), or choose planes with --planes",
        () => return Ok(()),
    };
    Err(Failure::usage(format!("{what}, not {}", describe(planes))).help(help))
}

/// Writes the picture row by row.
pub fn write(format: Format, frame: &Frame, out: &mut dyn Write) -> io::Result<()> {
    let (width, height) = (frame.size.width, frame.size.height);
    let maxval = (1u32 << frame.depth()) - 1;
    match format {
        Format::Pbm => write!(out, "P4\n{width} {height}\n")?,
        Format::Pam => {
            let planes = frame.planes.len();
            write!(out, "P7\nWIDTH {width}\nHEIGHT {height}\nDEPTH {planes}\nMAXVAL {maxval}\n")?;
            if let Some(tuple) = tuple_type(&frame.planes) {
                writeln!(out, "TUPLTYPE {tuple}")?;
            }
            writeln!(out, "ENDHDR")?;
        }
        _ => write!(out, "P{}\n{width} {height}\n{maxval}\n", if frame.planes.len() == 1 { 5 } else { 6 })?,
    }
    let mut row = Vec::new();
    for y in 0..height as usize {
        row.clear();
        frame.push_row(y, if maxval > 255 { 2 } else { 1 }, Endian::Big, &mut row);
        if format == Format::Pbm {
            // There, 1 is black.
            row.iter_mut().for_each(|v| *v ^= 1);
            row = pack(&row, 1);
        }
        out.write_all(&row)?;
    }
    Ok(())
}

fn tuple_type(planes: &[PlaneInfo]) -> Option<&'static str> {
    use PlaneKind::{Alpha, Blue, Gray, Green, Red};
    let kinds: Vec<_> = planes.iter().map(|p| p.kind).collect();
    Some(match (kinds.as_slice(), planes[0].depth) {
        ([Gray], 1) => "BLACKANDWHITE",
        ([Gray], _) => "GRAYSCALE",
        ([Gray, Alpha], 1) => "BLACKANDWHITE_ALPHA",
        ([Gray, Alpha], _) => "GRAYSCALE_ALPHA",
        ([Red, Green, Blue], _) => "RGB",
        ([Red, Green, Blue, Alpha], _) => "RGB_ALPHA",
        _ => return None,
    })
}
