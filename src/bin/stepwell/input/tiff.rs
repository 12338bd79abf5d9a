//! TIFF and BigTIFF: integer samples of any number of planes, exactly as stored.

use std::io::Cursor;

use stepwell::{Image, Limits, Metadata, PlaneInfo, PlaneKind, Size};
use tiff::decoder::Decoder;

use super::exif::{Exif, ORIENTATION};
use super::ifd::{Entry, Tiff};
use super::{Fault, Notes, Planes, gdal};

/// Tags of the fields that are read here.
pub mod tag {
    #![allow(missing_docs, reason = "they bear the names of the TIFF specification")]
    pub const NEW_SUBFILE_TYPE: u16 = 254;
    pub const IMAGE_WIDTH: u16 = 256;
    pub const IMAGE_LENGTH: u16 = 257;
    pub const BITS_PER_SAMPLE: u16 = 258;
    pub const COMPRESSION: u16 = 259;
    pub const PHOTOMETRIC: u16 = 262;
    pub const SAMPLES_PER_PIXEL: u16 = 277;
    pub const X_RESOLUTION: u16 = 282;
    pub const Y_RESOLUTION: u16 = 283;
    pub const PLANAR_CONFIGURATION: u16 = 284;
    pub const RESOLUTION_UNIT: u16 = 296;
    pub const COLOR_MAP: u16 = 320;
    pub const EXTRA_SAMPLES: u16 = 338;
    pub const SAMPLE_FORMAT: u16 = 339;
    pub const S_MIN_SAMPLE_VALUE: u16 = 340;
    pub const S_MAX_SAMPLE_VALUE: u16 = 341;
    pub const XMP: u16 = 700;
    pub const ICC: u16 = 34675;
}

/// Bytes that a tile may take in any picture, however small.
const TILE_BYTES: u64 = 64 << 20;

/// Reads the first picture of a TIFF file.
pub fn read(mut bytes: Vec<u8>, limits: &Limits, notes: &mut Notes) -> Result<Image, Fault> {
    let fields = Fields::new(&bytes)?;
    let layout = Layout::new(&fields)?;
    if fields.other_pages {
        notes.push("only the first picture of the file is used".into());
    }
    let mut planes = Planes::new(layout.size, layout.infos(&fields), limits)?;
    let metadata = metadata(&fields, &bytes);
    // The decoder drops samples that its colour types do not foresee, and refuses palettes.
    // As planes of gray it hands out all of them, untouched.
    let place =
        fields.photometric_place.ok_or_else(|| Fault::broken("it does not say what its colours are"))?;
    bytes[place..place + 2].copy_from_slice(&fields.gray);
    let mut allowed = tiff::decoder::Limits::default();
    (allowed.intermediate_buffer_size, allowed.decoding_buffer_size) = (usize::MAX, usize::MAX);
    let mut decoder = Decoder::new(Cursor::new(bytes)).map_err(fault)?.with_limits(allowed);
    let size = decoder.dimensions().map_err(fault)?;
    let stored = decoder.colortype().map_err(fault)?;
    let samples = (usize::from(stored.num_samples()), stored.bit_depth());
    // Of a field that occurs twice, the decoder may take the other.
    if size != (layout.size.width, layout.size.height) || samples != (layout.samples, layout.bits) {
        return Err(Fault::broken("its directory contradicts itself"));
    }
    read_chunks(&mut decoder, &layout, &mut planes)?;
    if matches!(layout.colour, Colour::Plain) {
        narrow_depths(&fields, &mut planes);
    }
    planes.finish(metadata)
}

fn fault(error: tiff::TiffError) -> Fault {
    match error {
        tiff::TiffError::UnsupportedError(e) => {
            Fault::unsupported(e, "convert it to an uncompressed TIFF first")
        }
        tiff::TiffError::IoError(e) if e.kind() == std::io::ErrorKind::UnexpectedEof => {
            Fault::broken("it ends too early")
        }
        e => Fault::broken(e),
    }
}

/// The fields of the first picture.
struct Fields {
    entries: Vec<Entry>,
    other_pages: bool,
    /// Where the file says what its colours are, and how it would say gray.
    photometric_place: Option<usize>,
    gray: [u8; 2],
}

impl Fields {
    fn new(bytes: &[u8]) -> Result<Self, Fault> {
        let tiff = Tiff::new(bytes).ok_or_else(|| Fault::broken("it ends in its header"))?;
        let entries =
            tiff.directory(tiff.first).ok_or_else(|| Fault::broken("its directory is not in the file"))?;
        let next = tiff.next(tiff.first).filter(|&at| at != 0).and_then(|at| tiff.directory(at));
        // Smaller versions and masks of the first picture are no pictures of their own.
        let reduced =
            |e: &Entry| e.tag == tag::NEW_SUBFILE_TYPE && e.integer().is_some_and(|kind| kind & 5 != 0);
        Ok(Fields {
            other_pages: next.is_some_and(|entries| !entries.iter().any(reduced)),
            photometric_place: tiff.place_of_short(tiff.first, tag::PHOTOMETRIC),
            gray: tiff.short(1),
            entries,
        })
    }

    fn get(&self, tag: u16) -> Option<&Entry> {
        self.entries.iter().find(|e| e.tag == tag)
    }

    fn integer(&self, tag: u16) -> Option<i64> {
        self.get(tag).and_then(Entry::integer)
    }

    fn integers(&self, tag: u16) -> Vec<i64> {
        self.get(tag).map(Entry::integers).unwrap_or_default()
    }

    fn text(&self, tag: u16) -> String {
        self.get(tag).map(|e| String::from_utf8_lossy(&e.data).into_owned()).unwrap_or_default()
    }

    fn bytes(&self, tag: u16) -> Option<Vec<u8>> {
        self.get(tag).map(|e| e.data.clone())
    }
}

/// What has to be done to the stored samples.
enum Colour {
    Plain,
    /// 0 is white.
    Inverted,
    /// Indices of these colours, and the depth of these.
    Palette(Vec<[i32; 3]>, u8),
    /// Luma and chroma of a JPEG-compressed picture.
    JpegYcc,
}

struct Layout {
    size: Size,
    /// Stored samples of a pixel.
    samples: usize,
    bits: u8,
    signed: bool,
    planar: bool,
    photometric: i64,
    colour: Colour,
}

impl Layout {
    fn new(fields: &Fields) -> Result<Self, Fault> {
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

    fn infos(&self, fields: &Fields) -> Vec<PlaneInfo> {
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
    fn convert(&self, samples: &mut Vec<i32>) -> Result<(), Fault> {
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

fn read_chunks(
    decoder: &mut Decoder<Cursor<Vec<u8>>>,
    layout: &Layout,
    planes: &mut Planes,
) -> Result<(), Fault> {
    let (width, height) = (layout.size.width, layout.size.height);
    let (chunk_width, chunk_height) = decoder.chunk_dimensions();
    let across = width.div_ceil(chunk_width);
    let a_plane = u64::from(across) * u64::from(height.div_ceil(chunk_height));
    let (stored_planes, per_pixel) = if layout.planar { (layout.samples, 1) } else { (1, layout.samples) };
    let chunks =
        u32::try_from(a_plane * stored_planes as u64).map_err(|_| Fault::broken("too many parts"))?;
    let (mut bytes, mut samples) = (Vec::new(), Vec::new());
    for chunk in 0..chunks {
        let (plane, place) = ((u64::from(chunk) / a_plane) as usize, (u64::from(chunk) % a_plane) as u32);
        let (x, y) = (place % across * chunk_width, place / across * chunk_height);
        let shape = decoder.image_chunk_buffer_layout(chunk).map_err(fault)?;
        // Tiles may reach beyond the picture, but a hostile file names them any size.
        let picture = layout.size.area().saturating_mul(4 * layout.samples as u64);
        if shape.len as u64 > picture.saturating_add(TILE_BYTES) {
            return Err(Fault::broken(format_args!("tiles of {} bytes", shape.len)));
        }
        bytes.clear();
        bytes.resize(shape.len, 0);
        decoder.read_chunk_bytes(chunk, &mut bytes).map_err(fault)?;
        // The decoder pads the tiles of all planes but the first.
        let (columns, rows) = (chunk_width.min(width - x), chunk_height.min(height - y));
        let stride = shape.row_stride.map_or(1, usize::from);
        for (row, bytes) in bytes.chunks(stride).take(rows as usize).enumerate() {
            samples_from_bytes(bytes, layout, columns as usize * per_pixel, &mut samples)?;
            layout.convert(&mut samples)?;
            if layout.planar {
                planes.put_plane_row(plane, x as usize, y as usize + row, &samples);
            } else {
                planes.put_row(x as usize, y as usize + row, &samples);
            }
        }
    }
    Ok(())
}

fn samples_from_bytes(
    bytes: &[u8],
    layout: &Layout,
    count: usize,
    samples: &mut Vec<i32>,
) -> Result<(), Fault> {
    samples.clear();
    let bits = usize::from(layout.bits);
    let unused = 32 - u32::from(layout.bits);
    let signed = |v: u32| if layout.signed { (v << unused) as i32 >> unused } else { v as i32 };
    match bits {
        16 => {
            let pairs = bytes.chunks_exact(2).take(count);
            samples.extend(pairs.map(|b| signed(u16::from_ne_bytes([b[0], b[1]]).into())));
        }
        32 => {
            let words = bytes.chunks_exact(4).take(count);
            samples.extend(words.map(|b| i32::from_ne_bytes([b[0], b[1], b[2], b[3]])));
            if !layout.signed
                && let Some(&v) = samples.iter().find(|v| **v < 0)
            {
                let what = format!("sample {}, which exceeds 31 bits", v as u32);
                return Err(Fault::unsupported(what, "scale the picture down to 31 bits first"));
            }
        }
        8 => samples.extend(bytes.iter().take(count).map(|&b| signed(b.into()))),
        _ => samples.extend((0..count).map(|i| {
            let at = i * bits;
            let pair = u16::from(bytes[at / 8]) << 8 | bytes.get(at / 8 + 1).map_or(0, |&b| b.into());
            signed(u32::from(pair >> (16 - bits - at % 8)) & ((1 << bits) - 1))
        })),
    }
    Ok(())
}

/// Takes over depths that the container of 8, 16 or 32 bits hides, where the file states a range of values.
fn narrow_depths(fields: &Fields, planes: &mut Planes) {
    let (low, high) = (fields.integers(tag::S_MIN_SAMPLE_VALUE), fields.integers(tag::S_MAX_SAMPLE_VALUE));
    for (i, plane) in planes.planes_mut().iter_mut().enumerate() {
        let of_plane = |values: &[i64]| values.get(i).or(values.first()).copied();
        let Some(high) = of_plane(&high) else { return };
        let depths = 1..plane.info.depth;
        let fits = depths.map(|depth| PlaneInfo { depth, ..plane.info.clone() }).find(|info| {
            let (lowest, highest) = info.range();
            high == i64::from(highest) && of_plane(&low).is_none_or(|low| low == i64::from(lowest))
        });
        // Other programs state the values that occur, or wrong ones: samples decide.
        if let Some(info) = fits {
            let (low, high) = info.range();
            if plane.samples.data().iter().all(|v| (low..=high).contains(v)) {
                plane.info = info;
            }
        }
    }
}

fn metadata(fields: &Fields, bytes: &[u8]) -> Metadata {
    let unit = match fields.integer(tag::RESOLUTION_UNIT).unwrap_or(2) {
        2 => Some(0.0254),
        3 => Some(0.01),
        _ => None,
    };
    let metres = |tag| Some(unit? / fields.get(tag)?.fraction().filter(|v| *v > 0.0)?);
    let exif = Exif::parse(bytes).map(Exif::portable).filter(|e| !e.is_empty());
    Metadata {
        orientation: fields.integer(ORIENTATION).filter(|o| (1..=8).contains(o)).unwrap_or(0) as u8,
        cicp: None,
        pixel_size: metres(tag::X_RESOLUTION).zip(metres(tag::Y_RESOLUTION)),
        icc: fields.bytes(tag::ICC),
        exif: exif.map(|e| e.to_block()),
        xmp: fields.bytes(tag::XMP),
    }
}
