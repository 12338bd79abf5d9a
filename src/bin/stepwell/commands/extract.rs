//! `stepwell extract`

use stepwell::Request;

use crate::args::Extract;
use crate::failure::{Failure, Result};
use crate::ui::Context;
use crate::{codec, files};

/// Copies a part of a file into one of its own.
pub fn run(args: &Extract, context: &Context) -> Result<()> {
    files::check_overwrites(&args.output, &[&args.input])?;
    let file = codec::open(&args.input, context)?;
    let request = Request { loq: args.part.loq, region: args.part.region, planes: None };
    let bytes = codec::extract(&file, &request).map_err(|e| Failure::library(&args.input, e))?;
    files::write(&args.output, &[&args.input], |out| out.write_all(&bytes))
}
