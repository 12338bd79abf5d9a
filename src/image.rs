//! A picture in memory: planes of samples and what is known about them.

use crate::error::{Error, Result};
use crate::geom::Size;
use crate::grid::Grid;

/// What a plane's samples mean. Only information: the codec treats all kinds alike.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PlaneKind {
    /// Anything else; the plane's name says more.
    Other,
    /// Luminance or gray.
    Gray,
    /// Red primary.
    Red,
    /// Green primary.
    Green,
    /// Blue primary.
    Blue,
    /// Opacity, not premultiplied: 0 is transparent.
    Alpha,
    /// Luma of a Y'CbCr-like picture that was stored as such.
    Luma,
    /// Blue-difference chroma of such a picture.
    ChromaBlue,
    /// Red-difference chroma of such a picture.
    ChromaRed,
    /// Distance from the camera.
    Depth,
    /// Opacity by which the colour planes have been multiplied.
    PremultipliedAlpha,
}

/// Everything about a plane but its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PlaneInfo {
    /// What the samples mean.
    pub kind: PlaneKind,
    /// Free text of at most 255 bytes (a spectral band's name, say).
    pub name: String,
    /// Bits a sample, 1 to 31. Unsigned samples lie in `0..2^depth`, signed ones in `-2^(depth-1)..2^(depth-1)`.
    pub depth: u8,
    /// Whether samples are signed.
    pub signed: bool,
    /// Canvas pixels a sample stands for, horizontally and vertically (1 to 255).
    /// The plane has `ceil(width / subsampling.0)` × `ceil(height / subsampling.1)` samples.
    pub subsampling: (u8, u8),
}

impl PlaneInfo {
    /// An unsigned plane of full resolution.
    pub fn new(kind: PlaneKind, depth: u8) -> Self {
        PlaneInfo { kind, name: String::new(), depth, signed: false, subsampling: (1, 1) }
    }

    /// The smallest and the largest value a sample may have.
    pub fn range(&self) -> (i32, i32) {
        if self.signed {
            let half = 1i64 << (self.depth - 1);
            (-half as i32, (half - 1) as i32)
        } else {
            (0, ((1i64 << self.depth) - 1) as i32)
        }
    }

    /// Samples of this plane for a canvas of that size.
    pub fn size(&self, canvas: Size) -> Size {
        Size {
            width: canvas.width.div_ceil(self.subsampling.0.into()),
            height: canvas.height.div_ceil(self.subsampling.1.into()),
        }
    }
}

/// One plane: what it is, and its samples.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plane {
    /// What the samples mean.
    pub info: PlaneInfo,
    /// The samples.
    pub samples: Grid<i32>,
}

/// Coding-independent code points (ITU-T H.273): which colours the numbers stand for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cicp {
    /// ColourPrimaries: 1 is BT.709 and sRGB, 9 BT.2020, 12 Display P3.
    pub primaries: u8,
    /// TransferCharacteristics: 13 is sRGB, 8 linear, 16 PQ, 18 HLG.
    pub transfer: u8,
    /// MatrixCoefficients: 0 is RGB.
    pub matrix: u8,
    /// Whether samples use their full range.
    pub full_range: bool,
}

/// What comes with the samples.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Metadata {
    /// Exif orientation, 1 to 8; 1 (and 0, unknown) means: shown as stored.
    pub orientation: u8,
    /// Which colours the numbers stand for.
    pub cicp: Option<Cicp>,
    /// Metres a canvas pixel covers, horizontally and vertically.
    pub pixel_size: Option<(f64, f64)>,
    /// An ICC profile. Where both are given, it overrules `cicp`.
    pub icc: Option<Vec<u8>>,
    /// An Exif block, starting with its TIFF header.
    pub exif: Option<Vec<u8>>,
    /// An XMP packet.
    pub xmp: Option<Vec<u8>>,
}

/// A picture in memory.
#[derive(Clone, Debug, PartialEq)]
pub struct Image {
    /// Size of the canvas in pixels.
    pub size: Size,
    /// The planes, each of the size that [`PlaneInfo::size`] gives.
    pub planes: Vec<Plane>,
    /// What comes with the samples.
    pub metadata: Metadata,
}

impl Image {
    /// A picture from interleaved samples of full-resolution unsigned planes, row by row.
    ///
    /// `kinds` names the planes in the order in which their samples follow each other.
    ///
    /// # Errors
    /// [`Error::Request`] if the number of samples does not fit or a sample exceeds `depth`.
    pub fn from_interleaved<T: Copy + Into<i64>>(
        size: Size,
        kinds: &[PlaneKind],
        depth: u8,
        samples: &[T],
    ) -> Result<Self> {
        let (w, h) = (size.width as usize, size.height as usize);
        let count = kinds.len();
        if count == 0 || samples.len() != w * h * count {
            return Err(Error::Request(format!(
                "{} samples given for {w} × {h} pixels of {count} planes",
                samples.len()
            )));
        }
        let mut planes = Vec::with_capacity(count);
        for (i, &kind) in kinds.iter().enumerate() {
            let samples = samples.iter().skip(i).step_by(count).map(|&v| sample_from(v)).collect();
            planes.push(Plane { info: PlaneInfo::new(kind, depth), samples: Grid::from_vec(w, h, samples) });
        }
        let image = Image { size, planes, metadata: Metadata::default() };
        image.check()?;
        Ok(image)
    }

    /// A picture from full-resolution unsigned planes, each a slice of samples row by row.
    ///
    /// # Errors
    /// [`Error::Request`] if the number of samples does not fit or a sample exceeds `depth`.
    pub fn from_planar<T: Copy + Into<i64>>(
        size: Size,
        depth: u8,
        planes: &[(PlaneKind, &[T])],
    ) -> Result<Self> {
        let (w, h) = (size.width as usize, size.height as usize);
        let plane = |&(kind, samples): &(PlaneKind, &[T])| {
            if samples.len() != w * h {
                return Err(Error::Request(format!("{} samples given for {w} × {h} pixels", samples.len())));
            }
            let samples = samples.iter().map(|&v| sample_from(v)).collect();
            Ok(Plane { info: PlaneInfo::new(kind, depth), samples: Grid::from_vec(w, h, samples) })
        };
        let planes = planes.iter().map(plane).collect::<Result<_>>()?;
        let image = Image { size, planes, metadata: Metadata::default() };
        image.check()?;
        Ok(image)
    }

    /// Whether the picture can be encoded: sizes and ranges agree with what the planes say of themselves.
    ///
    /// # Errors
    /// [`Error::Request`] naming the plane and the first sample that is wrong.
    pub fn check(&self) -> Result<()> {
        if self.size.width == 0 || self.size.height == 0 {
            return Err(Error::Request("a picture needs at least one pixel".into()));
        }
        if self.planes.is_empty() || self.planes.len() > 255 {
            return Err(Error::Request(format!("{} planes given, 1 to 255 are possible", self.planes.len())));
        }
        for (i, plane) in self.planes.iter().enumerate() {
            plane.check(i, self.size)?;
        }
        self.metadata.check()
    }
}

impl Metadata {
    fn check(&self) -> Result<()> {
        if self.orientation > 8 {
            return Err(Error::Request(format!("orientation {}, 0 to 8 are possible", self.orientation)));
        }
        match self.pixel_size {
            Some((x, y)) if !(x.is_finite() && y.is_finite() && x > 0.0 && y > 0.0) => {
                Err(Error::Request(format!("pixels of {x} × {y} metres")))
            }
            _ => Ok(()),
        }
    }
}

/// A sample that does not fit 32 bits becomes one that no unsigned plane can have, for the check to find.
fn sample_from<T: Into<i64>>(value: T) -> i32 {
    i32::try_from(value.into()).unwrap_or(i32::MIN)
}

impl Plane {
    fn check(&self, index: usize, canvas: Size) -> Result<()> {
        let info = &self.info;
        let bad = |what: String| Err(Error::Request(format!("plane {index}: {what}")));
        if !(1..=31).contains(&info.depth) {
            return bad(format!("{} bits a sample, 1 to 31 are possible", info.depth));
        }
        if info.subsampling.0 == 0 || info.subsampling.1 == 0 {
            return bad("sub-sampling factor 0".into());
        }
        if info.name.len() > 255 {
            return bad(format!("a name of {} bytes, 255 are possible", info.name.len()));
        }
        let (size, grid) = (info.size(canvas), &self.samples);
        if (size.width as usize, size.height as usize) != (grid.width(), grid.height()) {
            return bad(format!(
                "{} × {} samples given where {} × {} are expected",
                grid.width(),
                grid.height(),
                size.width,
                size.height
            ));
        }
        let (low, high) = info.range();
        if let Some(at) = grid.data().iter().position(|v| !(low..=high).contains(v)) {
            let (x, y) = (at % grid.width(), at / grid.width());
            return bad(format!(
                "sample ({x}, {y}) is {}, outside {low}..={high} of {} bits",
                grid.data()[at],
                info.depth
            ));
        }
        Ok(())
    }
}
