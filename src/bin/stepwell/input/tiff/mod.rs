//! TIFF and BigTIFF: integer samples of any number of planes, exactly as stored.

mod chunks;
mod layout;

use std::io::Cursor;

use stepwell::{Image, Limits, Metadata, PlaneInfo};
use tiff::decoder::Decoder;

use self::layout::{Colour, Layout};
use super::exif::{Exif, ORIENTATION};
use super::ifd::{Entry, Tiff};
use super::{Fault, Notes, Planes};

pub use self::layout::INKS;

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
    pub const TILE_OFFSETS: u16 = 324;
    pub const TILE_BYTE_COUNTS: u16 = 325;
    pub const EXTRA_SAMPLES: u16 = 338;
    pub const SAMPLE_FORMAT: u16 = 339;
    pub const S_MIN_SAMPLE_VALUE: u16 = 340;
    pub const S_MAX_SAMPLE_VALUE: u16 = 341;
    pub const XMP: u16 = 700;
    pub const ICC: u16 = 34675;
}

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
        return Err(contradiction());
    }
    chunks::read(&mut decoder, &layout, &mut planes)?;
    if matches!(layout.colour, Colour::Plain) {
        narrow_depths(&fields, &mut planes);
    }
    planes.finish(metadata)
}

fn contradiction() -> Fault {
    Fault::broken("its directory contradicts itself")
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
