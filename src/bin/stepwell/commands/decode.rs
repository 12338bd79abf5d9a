//! `stepwell decode`

use std::time::Instant;

use serde::Serialize;
use stepwell::Request;

use crate::args::Decode;
use crate::failure::{Failure, Result};
use crate::output::{self, Format};
use crate::ui::{self, Context};
use crate::{codec, files, planes};

#[derive(Serialize)]
struct Report {
    bytes_read: u64,
    decode_seconds: f64,
    width: u32,
    height: u32,
    loq: u8,
}

/// Decodes a part of a file into another format.
pub fn run(args: &Decode, context: &Context) -> Result<()> {
    let format = match args.format {
        Some(format) => format,
        None if files::is_std(&args.output) => {
            return Err(Failure::usage("standard output has no name that tells the format")
                .help("name a format, for example --format png"));
        }
        None => Format::of(&args.output)?,
    };
    if args.json && files::is_std(&args.output) {
        return Err(Failure::usage("--json and the picture cannot both go to standard output"));
    }
    files::check_overwrites(&args.output, &[&args.input])?;
    let start = Instant::now();
    let progress = context.progress(&files::name(&args.input));
    let file = codec::open(&args.input, context)?;
    let file = file.with_backend(args.backend.into()).with_control(progress.control());
    let planes = match &args.planes {
        Some(wanted) => Some(planes::select(wanted, &file.header().planes)?),
        None => None,
    };
    let request = Request { loq: args.part.loq, region: args.part.region, planes };
    // Before the work, not after it.
    format.check(&codec::planes_of(&file, &request))?;
    let frame = codec::decode(&file, &request).map_err(|e| Failure::library(&args.input, e))?;
    let decode_seconds = start.elapsed().as_secs_f64();
    files::write(&args.output, &[&args.input], |out| output::write(format, &frame, out))?;
    drop(progress);
    if args.json {
        let (width, height) = (frame.size.width, frame.size.height);
        let bytes_read = file.bytes_read();
        ui::print_json(&Report { bytes_read, decode_seconds, width, height, loq: request.loq })?;
    }
    Ok(())
}
