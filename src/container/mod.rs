//! Container: bytes ⇄ header and index. `SPEC.md` beside this file is the format; sections are cited from there.

mod bytes;
mod head;
pub mod header;
pub mod index;
pub mod params;
pub mod read;
pub mod write;

pub use header::Header;
pub use params::LevelParams;
pub use read::{Index, Opening, Step};
