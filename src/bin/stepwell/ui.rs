//! What is said on the terminal beside the result.

use std::io::{self, Write};
use std::path::Path;

use indicatif::{ProgressBar, ProgressStyle};
use serde::Serialize;
use stepwell::{Control, Limits};

use crate::failure::{Failure, Result};
use crate::files;

/// What all commands are told.
#[derive(Clone, Copy, Debug)]
pub struct Context {
    /// What a file may ask for.
    pub limits: Limits,
    /// No progress and no remarks.
    pub quiet: bool,
}

impl Context {
    /// A progress bar on the terminal, if standard error is one.
    pub fn progress(&self, what: &str) -> Progress {
        let bar = if self.quiet { ProgressBar::hidden() } else { ProgressBar::new(1000) };
        let style = ProgressStyle::with_template("{msg} {wide_bar} {percent:>3} %  {eta}");
        bar.set_style(style.expect("the template is well-formed"));
        bar.set_message(what.to_owned());
        Progress(bar)
    }

    /// A remark that asks for no action.
    pub fn note(&self, note: &str) {
        if !self.quiet {
            eprintln!("note: {note}");
        }
    }

    /// Remarks about a file that ask for no action.
    pub fn notes(&self, path: &Path, notes: &[String]) {
        for note in notes.iter().filter(|_| !self.quiet) {
            eprintln!("note: {}: {note}", files::name(path));
        }
    }
}

/// A progress bar that vanishes with this value.
pub struct Progress(ProgressBar);

impl Progress {
    /// Makes the library move the bar.
    pub fn control(&self) -> Control {
        let bar = self.0.clone();
        Control::new().on_progress(move |done| bar.set_position((done * 1000.0) as u64))
    }

    /// Moves the bar to a part of the whole.
    pub fn set(&self, done: f64) {
        self.0.set_position((done * 1000.0) as u64);
    }

    /// Says something above the bar.
    pub fn above(&self, say: impl FnOnce()) {
        self.0.suspend(say);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.0.finish_and_clear();
    }
}

/// Prints a result to standard output. That nobody reads on (`| head`) is no failure.
pub fn print(text: &str) -> Result<()> {
    let mut out = io::stdout().lock();
    match out.write_all(text.as_bytes()).and_then(|()| out.flush()) {
        Err(e) if e.kind() != io::ErrorKind::BrokenPipe => {
            Err(Failure::failed(format!("cannot write standard output: {e}")))
        }
        _ => Ok(()),
    }
}

/// Prints a result as indented JSON.
pub fn print_json(value: &impl Serialize) -> Result<()> {
    let text = serde_json::to_string_pretty(value).map_err(|e| Failure::failed(e.to_string()))?;
    print(&(text + "\n"))
}

/// A number of bytes for people.
pub fn bytes(count: u64) -> String {
    match count {
        ..1_000 => format!("{count} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", count as f64 / 1e3),
        1_000_000..1_000_000_000 => format!("{:.2} MB", count as f64 / 1e6),
        _ => format!("{:.2} GB", count as f64 / 1e9),
    }
}
