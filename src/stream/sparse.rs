//! Parts of a file that have been fetched.

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;

use bytes::Bytes;

use super::Source;

/// Parts of a file that have been fetched, as a [`Source`] over them.
#[derive(Clone, Debug, Default)]
pub struct SparseBytes {
    segments: BTreeMap<u64, Bytes>,
    /// The file's length, once a read has come back short.
    end: Option<u64>,
}

impl SparseBytes {
    /// Nothing yet.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds what reading `range` gave: shorter than the range only where the file ends.
    pub fn insert(&mut self, range: &Range<u64>, bytes: Bytes) {
        let end = range.start + bytes.len() as u64;
        if end < range.end {
            self.end = Some(self.end.map_or(end, |known| known.min(end)));
        }
        // No segment lies inside another: so the last one that starts at or before a place reaches farthest.
        let before = self.segments.range(..=range.start).next_back();
        if bytes.is_empty() || before.is_some_and(|(at, known)| at + known.len() as u64 >= end) {
            return;
        }
        let inside =
            self.segments.range(range.start..end).take_while(|(at, known)| **at + known.len() as u64 <= end);
        for at in inside.map(|(at, _)| *at).collect::<Vec<_>>() {
            self.segments.remove(&at);
        }
        self.segments.insert(range.start, bytes);
    }

    /// The file's length, if a read has come back short.
    pub fn end(&self) -> Option<u64> {
        self.end
    }

    /// The bytes of a range, if they have been fetched.
    pub fn get(&self, range: &Range<u64>) -> Option<Bytes> {
        if range.start >= range.end {
            return Some(Bytes::new());
        }
        let (start, bytes) = self.segments.range(..=range.start).next_back()?;
        let (from, to) =
            (usize::try_from(range.start - start).ok()?, usize::try_from(range.end - start).ok()?);
        if to <= bytes.len() {
            return Some(bytes.slice(from..to));
        }
        self.gather(range)
    }

    /// As [`Self::get`] for a range that no single segment holds.
    fn gather(&self, range: &Range<u64>) -> Option<Bytes> {
        let mut out = Vec::new();
        let mut at = range.start;
        while at < range.end {
            let (start, bytes) = self.segments.range(..=at).next_back()?;
            let rest = bytes.get(usize::try_from(at - start).ok()?..).filter(|rest| !rest.is_empty())?;
            let take = rest.len().min((range.end - at) as usize);
            out.extend_from_slice(&rest[..take]);
            at += take as u64;
        }
        Some(out.into())
    }
}

impl Source for SparseBytes {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let get = |range: &Range<u64>| {
            let known = range.start..self.end.map_or(range.end, |end| range.end.min(end));
            self.get(&known).ok_or_else(|| io::Error::other(format!("bytes {range:?} have not been fetched")))
        };
        ranges.iter().map(get).collect()
    }
}
