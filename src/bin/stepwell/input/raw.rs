//! Samples without a header.

use std::str::FromStr;

use stepwell::{Image, Limits, Metadata, PlaneInfo, PlaneKind, Size};

use super::{Fault, Planes};

/// What the samples of a headerless file are: the value of `--raw`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Shape {
    /// Columns and rows.
    pub size: Size,
    /// Planes.
    pub planes: usize,
    /// Bits a sample, 1 to 31, right-aligned in 1, 2 or 4 bytes.
    pub depth: u8,
    /// Whether samples are signed.
    pub signed: bool,
    /// Whether the most significant byte comes first.
    pub big_endian: bool,
    /// Whether planes follow each other, instead of the samples of a pixel.
    pub planar: bool,
}

impl Shape {
    /// Bytes a sample takes.
    pub fn sample_bytes(&self) -> usize {
        sample_bytes(self.depth)
    }
}

/// Bytes that a sample of `depth` bits takes: the smallest of 1, 2 and 4 that holds it.
pub fn sample_bytes(depth: u8) -> usize {
    match depth {
        ..=8 => 1,
        9..=16 => 2,
        _ => 4,
    }
}

/// What planes mean where only their number is known.
pub fn usual_kinds(planes: usize) -> Vec<PlaneKind> {
    use PlaneKind::{Alpha, Blue, Gray, Green, Other, Red};
    match planes {
        1 => vec![Gray],
        2 => vec![Gray, Alpha],
        3 => vec![Red, Green, Blue],
        4 => vec![Red, Green, Blue, Alpha],
        n => vec![Other; n],
    }
}

impl FromStr for Shape {
    type Err = String;

    /// `WIDTHxHEIGHTxPLANES:BITS[s][le|be][,planar|,interleaved]`
    fn from_str(text: &str) -> Result<Self, String> {
        let wrong = || {
            format!(
                "{text:?} is not WIDTHxHEIGHTxPLANES:BITS[s][le|be][,planar], such as 640x480x3:8 or 512x512x1:16sbe"
            )
        };
        let (sizes, rest) = text.split_once(':').ok_or_else(wrong)?;
        let sizes: Vec<u32> =
            sizes.split('x').map(str::parse).collect::<Result<_, _>>().map_err(|_| wrong())?;
        let [width, height, planes] = sizes[..] else { return Err(wrong()) };
        let (sample, order) = rest.split_once(',').unwrap_or((rest, "interleaved"));
        let digits = sample.find(|c: char| !c.is_ascii_digit()).unwrap_or(sample.len());
        let depth: u8 = sample[..digits].parse().map_err(|_| wrong())?;
        let (signed, end) = match &sample[digits..] {
            rest if rest.starts_with('s') => (true, &rest[1..]),
            rest => (false, rest),
        };
        let shape = Shape {
            size: Size::new(width, height),
            planes: planes as usize,
            depth,
            signed,
            big_endian: match end {
                "" | "le" => false,
                "be" => true,
                _ => return Err(wrong()),
            },
            planar: match order {
                "planar" => true,
                "interleaved" => false,
                _ => return Err(wrong()),
            },
        };
        if width == 0 || height == 0 || !(1..=255).contains(&planes) {
            return Err(format!("{text:?}: sizes must be above 0, and planes 1 to 255"));
        }
        if !(1..=31).contains(&depth) {
            return Err(format!("{text:?}: {depth} bits a sample, 1 to 31 are possible"));
        }
        Ok(shape)
    }
}

/// Reads samples as `shape` says.
pub fn read(bytes: &[u8], shape: &Shape, limits: &Limits) -> Result<Image, Fault> {
    let infos = usual_kinds(shape.planes)
        .into_iter()
        .map(|kind| PlaneInfo { signed: shape.signed, ..PlaneInfo::new(kind, shape.depth) })
        .collect();
    let mut planes = Planes::new(shape.size, infos, limits)?;
    let (width, height) = (shape.size.width as usize, shape.size.height as usize);
    // Cannot overflow: the planes have been allocated.
    let expected = width * height * shape.planes * shape.sample_bytes();
    if bytes.len() != expected {
        return Err(Fault::broken(format_args!(
            "it has {} bytes where --raw asks for {expected}",
            bytes.len()
        )));
    }
    let (row_samples, rows) =
        if shape.planar { (width, height * shape.planes) } else { (width * shape.planes, height) };
    let row_bytes = row_samples * shape.sample_bytes();
    let mut row = vec![0i32; row_samples];
    for (y, bytes) in bytes.chunks_exact(row_bytes).take(rows).enumerate() {
        for (sample, bytes) in row.iter_mut().zip(bytes.chunks_exact(shape.sample_bytes())) {
            *sample = sample_from_bytes(bytes, shape)?;
        }
        if shape.planar {
            planes.put_plane_row(y / height, 0, y % height, &row);
        } else {
            planes.put_row(0, y, &row);
        }
    }
    planes.finish(Metadata::default())
}

fn sample_from_bytes(bytes: &[u8], shape: &Shape) -> Result<i32, Fault> {
    let fold = |value: u32, byte: &u8| value << 8 | u32::from(*byte);
    let value = if shape.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) };
    if shape.signed {
        let unused = 32 - 8 * bytes.len() as u32;
        return Ok((value << unused) as i32 >> unused);
    }
    i32::try_from(value).map_err(|_| Fault::broken(format_args!("sample {value} exceeds 31 bits")))
}
