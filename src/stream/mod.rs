//! Where bytes come from: files, memory, and whatever implements [`Source`] or [`AsyncSource`].

mod file;
mod ranges;
mod sparse;

use std::io;
use std::ops::Range;

use bytes::Bytes;

pub use file::FileSource;
pub use ranges::coalesce;
pub use sparse::SparseBytes;

/// Random access to the bytes of a file.
pub trait Source: Send + Sync {
    /// The bytes of each range. A range that reaches beyond the end comes back shorter, never longer.
    ///
    /// # Errors
    /// Whatever keeps the bytes from being had.
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>>;
}

/// [`Source`] for callers that await their bytes (browsers, servers).
pub trait AsyncSource {
    /// The bytes of each range. A range that reaches beyond the end comes back shorter, never longer.
    ///
    /// # Errors
    /// Whatever keeps the bytes from being had.
    fn read(&self, ranges: &[Range<u64>]) -> impl Future<Output = io::Result<Vec<Bytes>>>;
}

/// What a source gave for some ranges, if it kept its promise: as many as asked for, and none longer.
pub(crate) fn as_promised(ranges: &[Range<u64>], bytes: Vec<Bytes>) -> io::Result<Vec<Bytes>> {
    let longer = |(range, bytes): (&Range<u64>, &Bytes)| range.start + bytes.len() as u64 > range.end;
    if bytes.len() != ranges.len() || ranges.iter().zip(&bytes).any(longer) {
        return Err(io::Error::new(
            io::ErrorKind::InvalidData,
            "the source gave other ranges than asked for",
        ));
    }
    Ok(bytes)
}

/// Where a source ends that has nothing at `before`: a read behind the end tells no more than that.
pub(crate) fn find_end<S: Source + ?Sized>(source: &S, before: u64) -> u64 {
    let (mut there, mut missing) = (0, before);
    while there < missing {
        let middle = there + (missing - there) / 2;
        match source.read(std::slice::from_ref(&(middle..middle + 1))) {
            Ok(bytes) if bytes.iter().all(Bytes::is_empty) => missing = middle,
            _ => there = middle + 1,
        }
    }
    there
}

/// A file that is in memory already. Reading it copies nothing.
#[derive(Clone, Debug)]
pub struct MemorySource(Bytes);

impl MemorySource {
    /// Over the bytes of a whole file.
    pub fn new(bytes: impl Into<Bytes>) -> Self {
        MemorySource(bytes.into())
    }
}

impl Source for MemorySource {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let length = self.0.len() as u64;
        let clip = |at: u64| at.min(length) as usize;
        Ok(ranges.iter().map(|r| self.0.slice(clip(r.start)..clip(r.end).max(clip(r.start)))).collect())
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        (**self).read(ranges)
    }
}

impl<S: Source + ?Sized> Source for Box<S> {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        (**self).read(ranges)
    }
}
