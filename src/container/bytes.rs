//! Little-endian reading with offsets in errors, and writing.

use crate::error::{Error, Result};

/// A place in bytes that begin at file offset `base`.
pub struct Reader<'a> {
    bytes: &'a [u8],
    at: usize,
    base: u64,
    section: &'static str,
}

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8], base: u64, section: &'static str) -> Self {
        Reader { bytes, at: 0, base, section }
    }

    /// From here on, errors cite this section of the SPEC.
    pub fn section(&mut self, section: &'static str) {
        self.section = section;
    }

    /// Offset in the file of what is read next.
    pub fn offset(&self) -> u64 {
        self.base + self.at as u64
    }

    pub fn fail<T>(&self, what: impl Into<String>) -> Result<T> {
        Err(Error::format(self.offset(), self.section, what))
    }

    pub fn take(&mut self, count: usize) -> Result<&'a [u8]> {
        match self.bytes.get(self.at..).and_then(|rest| rest.get(..count)) {
            Some(taken) => {
                self.at += count;
                Ok(taken)
            }
            None => self.fail(format!("{count} more bytes expected, {} left", self.bytes.len() - self.at)),
        }
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let mut array = [0; N];
        array.copy_from_slice(self.take(N)?);
        Ok(array)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u16(&mut self) -> Result<u16> {
        self.array().map(u16::from_le_bytes)
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn f64(&mut self) -> Result<f64> {
        self.array().map(f64::from_le_bytes)
    }

    /// A number in groups of seven bits, the lowest first; bit 7 says that another follows. At most 32 bits.
    pub fn varint(&mut self) -> Result<u32> {
        let mut value = 0u64;
        for shift in (0..35).step_by(7) {
            let byte = self.u8()?;
            value |= u64::from(byte & 127) << shift;
            if byte < 128 {
                return match u32::try_from(value) {
                    Ok(value) => Ok(value),
                    Err(_) => self.fail("a number of more than 32 bits"),
                };
            }
        }
        self.fail("a number of more than 5 bytes")
    }

    pub fn is_empty(&self) -> bool {
        self.at == self.bytes.len()
    }
}

/// The inverse of [`Reader::varint`].
pub fn put_varint(out: &mut Vec<u8>, mut value: u32) {
    while value >= 128 {
        out.push(value as u8 | 128);
        value >>= 7;
    }
    out.push(value as u8);
}
