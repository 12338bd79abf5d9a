//! Exif blocks: what of them lives elsewhere in TIFF files, and the orientation inside.

use super::ifd::{ASCII, Entry, Tiff, serialise};

/// Orientation of the picture, 1 to 8.
pub const ORIENTATION: u16 = 0x0112;
const EXIF_POINTER: u16 = 0x8769;
const GPS_POINTER: u16 = 0x8825;
const INTEROPERABILITY_POINTER: u16 = 0xA005;

/// Fields of a TIFF file's own directory that belong to an Exif block: title, camera, software, date, people.
const SHARED: [u16; 8] = [0x010E, 0x010F, 0x0110, 0x0131, 0x0132, 0x013B, 0x013C, 0x8298];

/// An Exif block, taken apart.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Exif {
    /// Title, camera, software, date, people, orientation.
    pub main: Vec<Entry>,
    /// How the picture was taken.
    pub exif: Vec<Entry>,
    /// Where it was taken.
    pub gps: Vec<Entry>,
}

impl Exif {
    /// Takes apart a block that starts with its TIFF header, or the first directory of a TIFF file.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let tiff = Tiff::new(bytes)?;
        let main = tiff.directory(tiff.first)?;
        let child = |pointer: u16| {
            let at = main.iter().find(|e| e.tag == pointer)?.integer()?;
            tiff.directory(u64::try_from(at).ok()?)
        };
        let mut exif = child(EXIF_POINTER).unwrap_or_default();
        let gps = child(GPS_POINTER).unwrap_or_default();
        // It points to a place that other bytes will take.
        exif.retain(|e| e.tag != INTEROPERABILITY_POINTER);
        Some(Exif { main, exif, gps })
    }

    /// Only what also makes sense in another file.
    pub fn portable(mut self) -> Self {
        self.main.retain(|e| SHARED.contains(&e.tag) && e.kind == ASCII);
        self
    }

    /// Whether there is nothing in it.
    pub fn is_empty(&self) -> bool {
        self.main.is_empty() && self.exif.is_empty() && self.gps.is_empty()
    }

    /// The main directory at offset `at`, followed by the others.
    pub fn serialise(&self, at: u64, big: bool) -> Vec<u8> {
        let mut main = self.main.clone();
        main.retain(|e| e.tag != EXIF_POINTER && e.tag != GPS_POINTER);
        let children = [(EXIF_POINTER, &self.exif), (GPS_POINTER, &self.gps)];
        for (pointer, entries) in children {
            if !entries.is_empty() {
                main.push(Entry::long(pointer, 0));
            }
        }
        // Its length does not depend on where the pointers lead.
        let mut next = at + serialise(&main, at, big).len() as u64;
        let mut behind = Vec::new();
        for (pointer, entries) in children {
            if let Some(field) = main.iter_mut().find(|e| e.tag == pointer) {
                *field = Entry::long(pointer, next as u32);
                let bytes = serialise(entries, next, big);
                next += bytes.len() as u64;
                behind.extend(bytes);
            }
        }
        [serialise(&main, at, big), behind].concat()
    }

    /// A block with its TIFF header.
    pub fn to_block(&self) -> Vec<u8> {
        [b"II*\0\x08\0\0\0".to_vec(), self.serialise(8, false)].concat()
    }
}

/// The orientation in a block; 0 if there is none.
pub fn orientation(block: &[u8]) -> u8 {
    let find = || {
        let tiff = Tiff::new(block)?;
        let entry = tiff.directory(tiff.first)?.into_iter().find(|e| e.tag == ORIENTATION)?;
        entry.integer().filter(|o| (1..=8).contains(o))
    };
    find().unwrap_or(0) as u8
}

/// The block with this orientation inside; one made for it if there is none. 0 is unknown.
pub fn with_orientation(block: Option<&[u8]>, value: u8) -> Option<Vec<u8>> {
    let Some(block) = block else {
        let main = vec![Entry::shorts(ORIENTATION, &[value.into()])];
        return (value > 1).then(|| Exif { main, ..Exif::default() }.to_block());
    };
    if value == orientation(block) || value == 0 {
        return Some(block.to_vec());
    }
    let mut changed = block.to_vec();
    if let Some(tiff) = Tiff::new(block) {
        if let Some(place) = tiff.place_of_short(tiff.first, ORIENTATION) {
            changed[place..place + 2].copy_from_slice(&tiff.short(value.into()));
        } else if let Some(mut exif) = Exif::parse(block) {
            exif.main.retain(|e| e.tag != ORIENTATION);
            exif.main.push(Entry::shorts(ORIENTATION, &[value.into()]));
            changed = exif.to_block();
        }
    }
    Some(changed)
}

/// The block without the `Exif\0\0` that some WebP files put before it.
pub fn without_prefix(block: Vec<u8>) -> Vec<u8> {
    match block.strip_prefix(b"Exif\0\0") {
        Some(rest) => rest.to_vec(),
        None => block,
    }
}
