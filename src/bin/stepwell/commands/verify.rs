//! `stepwell verify`

use std::path::Path;

use crate::args::Verify;
use crate::failure::{Failure, Failures, Result};
use crate::ui::{self, Context};
use crate::{codec, files};

/// Reads and decodes files whole, and says of each whether it is sound.
pub fn run(args: &Verify, context: &Context) -> Result<(), Failures> {
    let mut failures = Vec::new();
    for path in &args.inputs {
        match verify(path, context) {
            Ok(bytes) => ui::print(&format!("{}: sound, {}\n", files::name(path), ui::bytes(bytes)))?,
            Err(failure) => failures.push(failure),
        }
    }
    Failures::collect(failures, args.inputs.len())
}

fn verify(path: &Path, context: &Context) -> Result<u64> {
    let progress = context.progress(&files::name(path));
    let file = codec::open(path, context)?.with_control(progress.control());
    file.verify().map_err(|e| Failure::library(path, e))?;
    Ok(file.header().file_length)
}
