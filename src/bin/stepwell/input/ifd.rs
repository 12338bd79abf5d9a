//! The directories that TIFF files and Exif blocks are made of.

/// A field of a directory.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// What the field means.
    pub tag: u16,
    /// TIFF's field type.
    pub kind: u16,
    /// Number of values.
    pub count: u64,
    /// The values, in little-endian order whatever the file's is.
    pub data: Vec<u8>,
}

/// BYTE, ASCII, SHORT, LONG, RATIONAL, UNDEFINED, SLONG and LONG8 of the TIFF specification.
pub const BYTE: u16 = 1;
/// Text that ends with a zero byte.
pub const ASCII: u16 = 2;
/// 16 bits, unsigned.
pub const SHORT: u16 = 3;
/// 32 bits, unsigned.
pub const LONG: u16 = 4;
/// Two `LONG`s: numerator and denominator.
pub const RATIONAL: u16 = 5;
/// Any bytes.
pub const UNDEFINED: u16 = 7;
/// 32 bits, signed.
pub const SLONG: u16 = 9;
/// 64 bits, unsigned (BigTIFF).
pub const LONG8: u16 = 16;

/// Bytes of field values that are copied out of one directory, at most: hostile ones name the same bytes often.
const DIRECTORY_BYTES: usize = 64 << 20;

/// Size of a value of that type and of the units that byte order applies to.
fn widths(kind: u16) -> Option<(usize, usize)> {
    Some(match kind {
        1 | 2 | 6 | 7 => (1, 1),
        3 | 8 => (2, 2),
        4 | 9 | 11 | 13 => (4, 4),
        5 | 10 => (8, 4),
        12 | 16 | 17 | 18 => (8, 8),
        _ => return None,
    })
}

impl Entry {
    /// A field of `SHORT`s.
    pub fn shorts(tag: u16, values: &[u16]) -> Self {
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Entry { tag, kind: SHORT, count: values.len() as u64, data }
    }

    /// A field of one `LONG`.
    pub fn long(tag: u16, value: u32) -> Self {
        Entry { tag, kind: LONG, count: 1, data: value.to_le_bytes().to_vec() }
    }

    /// A field of `SLONG`s.
    pub fn signed_longs(tag: u16, values: &[i32]) -> Self {
        let data = values.iter().flat_map(|v| v.to_le_bytes()).collect();
        Entry { tag, kind: SLONG, count: values.len() as u64, data }
    }

    /// A field of offsets or byte counts: `LONG`s, or `LONG8`s in BigTIFF.
    pub fn offsets(tag: u16, values: &[u64], big: bool) -> Self {
        let width = if big { 8 } else { 4 };
        let data = values.iter().flat_map(|v| v.to_le_bytes().into_iter().take(width)).collect();
        Entry { tag, kind: if big { LONG8 } else { LONG }, count: values.len() as u64, data }
    }

    /// A field of one `RATIONAL`.
    pub fn rational(tag: u16, (numerator, denominator): (u32, u32)) -> Self {
        let data = [numerator.to_le_bytes(), denominator.to_le_bytes()].concat();
        Entry { tag, kind: RATIONAL, count: 1, data }
    }

    /// A field of bytes.
    pub fn bytes(tag: u16, kind: u16, data: &[u8]) -> Self {
        Entry { tag, kind, count: data.len() as u64, data: data.to_vec() }
    }

    /// Its values as integers; none if they are of another type.
    pub fn integers(&self) -> Vec<i64> {
        let Some((width, _)) = widths(self.kind) else { return Vec::new() };
        let value = |b: &[u8]| match (self.kind, b) {
            (1, &[v]) => Some(v.into()),
            (6, &[v]) => Some((v as i8).into()),
            (3, &[a, b]) => Some(u16::from_le_bytes([a, b]).into()),
            (8, &[a, b]) => Some(i16::from_le_bytes([a, b]).into()),
            (4 | 13, &[a, b, c, d]) => Some(u32::from_le_bytes([a, b, c, d]).into()),
            (9, &[a, b, c, d]) => Some(i32::from_le_bytes([a, b, c, d]).into()),
            (16 | 18, b) => Some(i64::from_le_bytes(b.try_into().ok()?)),
            _ => None,
        };
        self.data.chunks_exact(width).map(value).collect::<Option<_>>().unwrap_or_default()
    }

    /// Its first value as an integer.
    pub fn integer(&self) -> Option<i64> {
        self.integers().first().copied()
    }

    /// Its first value as a fraction.
    pub fn fraction(&self) -> Option<f64> {
        let &[a, b, c, d, e, f, g, h] = self.data.first_chunk::<8>()?;
        let (over, under) = (u32::from_le_bytes([a, b, c, d]), u32::from_le_bytes([e, f, g, h]));
        (self.kind == RATIONAL && under != 0).then(|| f64::from(over) / f64::from(under))
    }
}

/// A TIFF structure in memory.
pub struct Tiff<'a> {
    bytes: &'a [u8],
    big_endian: bool,
    big: bool,
    /// Offset of the first directory.
    pub first: u64,
}

impl<'a> Tiff<'a> {
    /// Reads the header of TIFF, BigTIFF and Exif.
    pub fn new(bytes: &'a [u8]) -> Option<Self> {
        let big_endian = match bytes.get(..2)? {
            b"II" => false,
            b"MM" => true,
            _ => return None,
        };
        let mut tiff = Tiff { bytes, big_endian, big: false, first: 0 };
        tiff.big = match tiff.number(2, 2)? {
            42 => false,
            43 => true,
            _ => return None,
        };
        tiff.first = if tiff.big { tiff.number(8, 8)? } else { tiff.number(4, 4)? };
        Some(tiff)
    }

    fn number(&self, at: usize, width: usize) -> Option<u64> {
        let bytes = self.bytes.get(at..at.checked_add(width)?)?;
        let fold = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Some(if self.big_endian { bytes.iter().fold(0, fold) } else { bytes.iter().rev().fold(0, fold) })
    }

    /// Offset of the first field of the directory at `at`, size of a field, and their number.
    fn fields(&self, at: u64) -> Option<(usize, usize, usize)> {
        let at = usize::try_from(at).ok()?;
        let (head, field) = if self.big { (8, 20) } else { (2, 12) };
        let count = usize::try_from(self.number(at, head)?).ok()?;
        // Every field has to be there, which bounds their number by the file's length.
        let first = at.checked_add(head)?;
        self.bytes.get(first..first.checked_add(count.checked_mul(field)?)?)?;
        Some((first, field, count))
    }

    /// The fields of the directory at `at`; those that make no sense are left out.
    pub fn directory(&self, at: u64) -> Option<Vec<Entry>> {
        let (first, field, count) = self.fields(at)?;
        let mut left = DIRECTORY_BYTES;
        let mut entries = Vec::new();
        for i in 0..count {
            let Some(entry) = self.entry(first + i * field, left) else { continue };
            left -= entry.data.len();
            entries.push(entry);
        }
        Some(entries)
    }

    /// Offset of the directory after the one at `at`; 0 is none.
    pub fn next(&self, at: u64) -> Option<u64> {
        let (first, field, count) = self.fields(at)?;
        self.number(first + count * field, if self.big { 8 } else { 4 })
    }

    fn entry(&self, at: usize, most: usize) -> Option<Entry> {
        let offset_width = if self.big { 8 } else { 4 };
        let (tag, kind) = (self.number(at, 2)? as u16, self.number(at + 2, 2)? as u16);
        let count = self.number(at + 4, offset_width)?;
        let (width, unit) = widths(kind)?;
        let length = usize::try_from(count).ok()?.checked_mul(width).filter(|&l| l <= most)?;
        let place = at + 4 + offset_width;
        let start =
            if length <= offset_width { place } else { self.number(place, offset_width)?.try_into().ok()? };
        let mut data = self.bytes.get(start..start.checked_add(length)?)?.to_vec();
        if self.big_endian {
            data.chunks_exact_mut(unit).for_each(<[u8]>::reverse);
        }
        Some(Entry { tag, kind, count, data })
    }

    /// Where in the file the value of a one-value `SHORT` field stands.
    pub fn place_of_short(&self, directory: u64, tag: u16) -> Option<usize> {
        let (first, field, count) = self.fields(directory)?;
        let at =
            (0..count).map(|i| first + i * field).find(|&at| self.number(at, 2) == Some(u64::from(tag)))?;
        let value = at + field - if self.big { 8 } else { 4 };
        (self.number(at + 2, 2)? == u64::from(SHORT)).then_some(value)
    }

    /// A 16-bit number as this file stores it.
    pub fn short(&self, value: u16) -> [u8; 2] {
        if self.big_endian { value.to_be_bytes() } else { value.to_le_bytes() }
    }
}

/// Bytes of a little-endian directory that starts at offset `at`, the values of its fields behind it.
pub fn serialise(entries: &[Entry], at: u64, big: bool) -> Vec<u8> {
    let mut entries: Vec<_> = entries.iter().collect();
    entries.sort_by_key(|e| e.tag);
    let (head, field, offset_width) = if big { (8, 20, 8) } else { (2, 12, 4) };
    let mut fields = (entries.len() as u64).to_le_bytes()[..head].to_vec();
    let values_at = at + (head + entries.len() * field + offset_width) as u64;
    let mut values = Vec::new();
    for entry in entries {
        fields.extend_from_slice(&entry.tag.to_le_bytes());
        fields.extend_from_slice(&entry.kind.to_le_bytes());
        fields.extend_from_slice(&entry.count.to_le_bytes()[..offset_width]);
        let mut place = [0; 8];
        if entry.data.len() <= offset_width {
            place[..entry.data.len()].copy_from_slice(&entry.data);
        } else {
            place = (values_at + values.len() as u64).to_le_bytes();
            values.extend_from_slice(&entry.data);
            values.resize(values.len().next_multiple_of(8), 0);
        }
        fields.extend_from_slice(&place[..offset_width]);
    }
    fields.resize(fields.len() + offset_width, 0);
    fields.append(&mut values);
    // The next directory has to start at an even offset.
    fields.resize(fields.len().next_multiple_of(8), 0);
    fields
}
