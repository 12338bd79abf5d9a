//! A file on disk.

use std::fs::File;
use std::io::{self, Read, Seek, SeekFrom};
use std::ops::Range;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use bytes::Bytes;

use super::{Source, coalesce};

/// Ranges nearer to each other than this are read in one go.
const GAP: u64 = 16 << 10;

/// A file on disk, read where it is needed.
#[derive(Debug)]
pub struct FileSource {
    // A position shared by seek and read: the portable way to read at an offset.
    file: Mutex<File>,
    length: u64,
}

impl FileSource {
    /// Opens a file.
    ///
    /// # Errors
    /// Those of opening it and asking for its length.
    pub fn open(path: impl AsRef<Path>) -> io::Result<Self> {
        let file = File::open(path)?;
        let length = file.metadata()?.len();
        Ok(FileSource { file: Mutex::new(file), length })
    }
}

impl Source for FileSource {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let clip = |r: &Range<u64>| r.start.min(self.length)..r.end.min(self.length);
        let clipped: Vec<_> = ranges.iter().map(clip).collect();
        let mut runs = Vec::new();
        for run in coalesce(clipped.iter().cloned(), GAP) {
            let mut buffer = vec![0; (run.end - run.start) as usize];
            let mut file = self.file.lock().unwrap_or_else(PoisonError::into_inner);
            file.seek(SeekFrom::Start(run.start))?;
            file.read_exact(&mut buffer)?;
            runs.push((run, Bytes::from(buffer)));
        }
        let cut = |r: &Range<u64>| {
            let found = runs.iter().find(|(run, _)| run.start <= r.start && r.end <= run.end);
            found.map_or_else(Bytes::new, |(run, bytes)| {
                bytes.slice((r.start - run.start) as usize..(r.end - run.start) as usize)
            })
        };
        Ok(clipped.iter().map(cut).collect())
    }
}
