//! What the program says when it cannot do what was asked, and with which code it ends.

use std::fmt;
use std::path::Path;
use std::process::ExitCode;

use crate::files;

/// Who has to act, which decides the exit code.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Something could not be done (disk full, file missing, not enough memory).
    Failed = 1,
    /// The command line asks for something that makes no sense.
    Usage = 2,
    /// An input file is broken, truncated or of a kind that cannot be read.
    BadInput = 3,
}

/// Why a command ends without its result.
#[derive(Debug)]
pub struct Failure {
    /// Decides the exit code.
    pub kind: Kind,
    message: String,
    help: Option<String>,
}

/// Shorthand for results of this program.
pub type Result<T, E = Failure> = std::result::Result<T, E>;

impl Failure {
    /// Something could not be done.
    pub fn failed(message: impl Into<String>) -> Self {
        Failure { kind: Kind::Failed, message: message.into(), help: None }
    }

    /// The command line makes no sense.
    pub fn usage(message: impl Into<String>) -> Self {
        Failure { kind: Kind::Usage, message: message.into(), help: None }
    }

    /// An input cannot be read for what it contains.
    pub fn bad_input(message: impl Into<String>) -> Self {
        Failure { kind: Kind::BadInput, message: message.into(), help: None }
    }

    /// The same, with a line that says what to do about it.
    pub fn help(mut self, help: impl Into<String>) -> Self {
        self.help = Some(help.into());
        self
    }

    /// The same, naming the file it is about.
    pub fn about(mut self, path: &Path) -> Self {
        self.message = format!("{}: {}", files::name(path), self.message);
        self
    }

    /// What the library says about the file `path`.
    pub fn library(path: &Path, error: stepwell::Error) -> Self {
        use stepwell::Error as E;
        let failure = match &error {
            E::Format { .. } | E::Truncated { .. } | E::Unsupported(_) => {
                Failure::bad_input(error.to_string())
            }
            E::Request(_) => Failure::usage(error.to_string()),
            _ => Failure::failed(error.to_string()),
        };
        let failure = match error {
            E::Limit { .. } => failure.help("if you trust the file, raise the limits with --no-limits"),
            #[cfg(feature = "gpu")]
            E::Gpu(_) => failure.help("decode on the CPU with --backend cpu"),
            E::Truncated { available: Some(loq), .. } => {
                failure.help(format!("what is there can be decoded with --loq {loq}"))
            }
            _ => failure,
        };
        failure.about(path)
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Failure {}

impl miette::Diagnostic for Failure {
    fn help<'a>(&'a self) -> Option<Box<dyn fmt::Display + 'a>> {
        self.help.as_ref().map(|h| Box::new(h) as Box<dyn fmt::Display>)
    }
}

/// Why a command that may handle several files ends without all its results.
#[derive(Debug)]
pub struct Failures {
    list: Vec<Failure>,
    code: Kind,
}

impl From<Failure> for Failures {
    fn from(failure: Failure) -> Self {
        Failures { code: failure.kind, list: vec![failure] }
    }
}

impl Failures {
    /// An error if any of `files` files failed. Only a single file's failure keeps its exit code.
    pub fn collect(list: Vec<Failure>, files: usize) -> Result<(), Self> {
        let Some(first) = list.first() else { return Ok(()) };
        let code = if files == 1 { first.kind } else { Kind::Failed };
        Err(Failures { list, code })
    }

    /// Prints them, and gives the exit code.
    pub fn report(self) -> ExitCode {
        for failure in self.list {
            eprintln!("{:?}", miette::Report::new(failure));
        }
        ExitCode::from(self.code as u8)
    }
}
