//! The crate's one error type, and the limits a caller sets on what a file may ask for.

use crate::geom::Level;

/// What went wrong, by who has to act.
///
/// "More bytes are needed" is not an error: see [`Step::Need`](crate::decode::Step::Need).
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// Bytes could not be had (file system, network). Trying again may help.
    #[error("cannot read {what}: {cause}")]
    Source {
        /// What was being read.
        what: String,
        /// Why it failed.
        cause: std::io::Error,
    },
    /// The source ends before the bytes that were asked for.
    #[error(
        "the file ends at byte {end}, but bytes up to {needed} are needed{}",
        .available.map_or(String::new(), |loq| format!(" (complete down to LoQ {loq})"))
    )]
    Truncated {
        /// Where the source ends.
        end: u64,
        /// The first byte offset after what was needed.
        needed: u64,
        /// The finest level of quality that is complete, if any.
        available: Option<Level>,
    },
    /// The bytes are not a valid Stepwell file.
    #[error("byte {at}: {what} (SPEC section {section})")]
    Format {
        /// Offset in the file where the fault lies.
        at: u64,
        /// What is wrong there.
        what: String,
        /// The section of `src/container/SPEC.md` that says what should stand there.
        section: &'static str,
    },
    /// The file is valid as far as it can be judged, but this version cannot decode it.
    #[error("not supported: {0}")]
    Unsupported(String),
    /// The file asks for more than the caller's [`Limits`] allow.
    #[error("{what} is {asked}, more than the limit of {allowed}")]
    Limit {
        /// Which quantity.
        what: &'static str,
        /// What the file or request asks for.
        asked: u64,
        /// What the caller allows.
        allowed: u64,
    },
    /// A request or picture that makes no sense (region outside the picture, unknown plane, …).
    #[error("{0}")]
    Request(String),
    /// The GPU cannot be used, or has failed. The CPU may still decode.
    #[cfg(feature = "gpu")]
    #[error(transparent)]
    Gpu(#[from] crate::gpu::GpuFault),
    /// The caller cancelled the work.
    #[error("cancelled")]
    Cancelled,
}

/// Shorthand for results of this crate.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    pub(crate) fn format(at: u64, section: &'static str, what: impl Into<String>) -> Self {
        Error::Format { at, what: what.into(), section }
    }
}

/// How much a file may make the decoder allocate.
///
/// A few hundred bytes can describe a picture of 2^64 pixels: whoever opens files of strangers sets these.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Limits {
    /// Samples (pixels × planes) that one decode may produce.
    pub samples: u64,
    /// Bytes of working memory and output that one decode may hold at once (estimated before it starts).
    pub memory: u64,
    /// Planes a file may have (the format's own limit is 255).
    pub planes: u32,
    /// Bytes of header, parameters and metadata that opening a file may read.
    pub head: u64,
}

impl Default for Limits {
    /// 4 giga-samples, 16 GiB, 255 planes, 64 MiB of head.
    fn default() -> Self {
        Limits { samples: 1 << 32, memory: 16 << 30, planes: 255, head: 64 << 20 }
    }
}

impl Limits {
    /// No limits but the format's own: for files you made yourself.
    pub const NONE: Limits = Limits { samples: u64::MAX, memory: u64::MAX, planes: u32::MAX, head: u64::MAX };

    pub(crate) fn check(what: &'static str, asked: u64, allowed: u64) -> Result<()> {
        if asked > allowed { Err(Error::Limit { what, asked, allowed }) } else { Ok(()) }
    }
}
