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
