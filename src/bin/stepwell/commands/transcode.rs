//! `stepwell transcode`

use stepwell::Request;

use crate::args::Transcode;
use crate::failure::{Failure, Result};
use crate::ui::Context;
use crate::{codec, files};

/// Decodes a file and encodes it with other settings.
pub fn run(args: &Transcode, context: &Context) -> Result<()> {
    files::check_overwrites(&args.output, &[&args.input])?;
    let options = args.settings.options();
    options.check().map_err(|e| Failure::usage(e.to_string()))?;
    let library = |e| Failure::library(&args.input, e);
    let image = codec::open(&args.input, context)?.decode(&Request::default()).map_err(library)?;
    let progress = context.progress(&files::name(&args.input));
    let bytes = codec::encode(&image, options, progress.control()).map_err(library)?;
    files::write(&args.output, &[&args.input], |out| out.write_all(&bytes))
}
