//! Reading inputs whole, and writing outputs so that a failed run leaves nothing behind.

use std::collections::BTreeSet;
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};

use tempfile::NamedTempFile;

use crate::failure::{Failure, Result};

/// Whether the path stands for standard input or output.
pub fn is_std(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// How messages call an input.
pub fn name(path: &Path) -> String {
    if is_std(path) { "standard input".into() } else { path.display().to_string() }
}

/// All bytes of a file or of standard input.
pub fn read(path: &Path) -> Result<Vec<u8>> {
    let bytes = if is_std(path) {
        let mut bytes = Vec::new();
        io::stdin().lock().read_to_end(&mut bytes).map(|_| bytes)
    } else {
        fs::read(path)
    };
    bytes.map_err(|e| Failure::failed(format!("cannot read: {e}")).about(path))
}

/// Writes `path` through `fill`: under another name in the same folder first, renamed once it is complete.
///
/// `-` writes to standard output. What is no regular file (`/dev/null`, a pipe) is written in place.
/// `inputs` are files that must not be overwritten.
pub fn write(
    path: &Path,
    inputs: &[&Path],
    fill: impl FnOnce(&mut dyn Write) -> io::Result<()>,
) -> Result<()> {
    if is_std(path) {
        return write_stdout(fill);
    }
    let cannot = |e: io::Error| Failure::failed(format!("cannot write {}: {e}", path.display()));
    // A symbolic link stays one: what it points to is replaced.
    let target = fs::canonicalize(path).unwrap_or_else(|_| path.to_path_buf());
    check_overwrites(&target, inputs)?;
    match fs::metadata(&target) {
        Ok(m) if m.is_dir() => {
            Err(Failure::failed(format!("cannot write {}: it is a folder", path.display())))
        }
        Ok(m) if !m.is_file() => {
            let file = fs::OpenOptions::new().write(true).open(&target).map_err(cannot)?;
            fill_buffered(file, fill).map(drop).map_err(cannot)
        }
        old => {
            let mut pending = Pending::create(&target, old.ok()).map_err(cannot)?;
            fill_buffered(pending.file(), fill).map_err(cannot)?;
            pending.finish(&target).map_err(cannot)
        }
    }
}

/// Refuses an output that is one of the inputs.
pub fn check_overwrites(output: &Path, inputs: &[&Path]) -> Result<()> {
    let Ok(output) = fs::canonicalize(output) else { return Ok(()) };
    for input in inputs {
        if !is_std(input) && fs::canonicalize(input).is_ok_and(|i| i == output) {
            return Err(Failure::usage(format!("{} is input and output at once", input.display())));
        }
    }
    Ok(())
}

fn write_stdout(fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<()> {
    let stdout = io::stdout().lock();
    if stdout.is_terminal() {
        return Err(Failure::usage("standard output is a terminal, which cannot show the result")
            .help("name a file with -o, or send the output on with | or >"));
    }
    fill_buffered(stdout, fill)
        .map(drop)
        .map_err(|e| Failure::failed(format!("cannot write standard output: {e}")))
}

fn fill_buffered<W: Write>(out: W, fill: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> io::Result<W> {
    let mut out = BufWriter::with_capacity(1 << 17, out);
    fill(&mut out)?;
    out.into_inner().map_err(|e| e.into_error())
}

/// Outputs that exist under their temporary names only.
///
/// Whoever creates, renames or removes one holds the lock, so that an interrupt between two of these steps
/// finds them all.
static PENDING: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());

fn pending() -> MutexGuard<'static, BTreeSet<PathBuf>> {
    // The set stays usable whatever a thread that panicked was doing with it.
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// An output that has not been renamed yet. Dropping it removes it.
struct Pending {
    /// Empty only while it is being renamed or removed.
    file: Option<NamedTempFile>,
}

impl Pending {
    fn create(target: &Path, old: Option<fs::Metadata>) -> io::Result<Self> {
        let dir = target.parent().filter(|p| !p.as_os_str().is_empty()).unwrap_or(Path::new("."));
        let mut builder = tempfile::Builder::new();
        builder.prefix(".stepwell-").suffix(".tmp");
        // Temporary files are private by default; this one becomes an ordinary file (umask applies).
        #[cfg(unix)]
        builder.permissions(std::os::unix::fs::PermissionsExt::from_mode(0o666));
        let mut all = pending();
        let file = builder.tempfile_in(dir)?;
        all.insert(file.path().to_path_buf());
        drop(all);
        let mut pending = Pending { file: Some(file) };
        if let Some(old) = old {
            pending.file().set_permissions(old.permissions())?;
        }
        Ok(pending)
    }

    fn file(&mut self) -> &mut File {
        self.file.as_mut().expect("present until it is finished").as_file_mut()
    }

    fn finish(mut self, target: &Path) -> io::Result<()> {
        let mut all = pending();
        let file = self.file.take().expect("present until it is finished");
        all.remove(file.path());
        file.persist(target).map(drop).map_err(|e| e.error)
    }
}

impl Drop for Pending {
    fn drop(&mut self) {
        if let Some(file) = self.file.take() {
            let mut all = pending();
            all.remove(file.path());
            drop(file);
        }
    }
}

/// Removes unfinished outputs and ends the program; later writers wait for ever.
pub fn abandon(code: i32) -> ! {
    let all = pending();
    for path in all.iter() {
        let _ = fs::remove_file(path);
    }
    std::process::exit(code)
}
