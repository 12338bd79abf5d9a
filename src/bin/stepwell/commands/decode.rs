//! `stepwell decode`

use std::time::Instant;

use serde::Serialize;
use stepwell::Request;

use crate::args::{BackendName, Decode};
use crate::failure::{Failure, Result};
use crate::output::{self, Format};
use crate::ui::{self, Context};
use crate::{codec, files, gpu, planes};

#[derive(Serialize)]
struct Report {
    decoder: &'static str,
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
    if args.adapter.is_some() && !matches!(args.backend, BackendName::Gpu | BackendName::Auto) {
        return Err(Failure::usage("--adapter chooses a GPU, and --backend none")
            .help("add --backend gpu or --backend auto"));
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
    // After all that needs none: opening one takes a while.
    let mut gpu = gpu::choose(args.backend, args.adapter.as_deref(), context)?;
    let frame = match codec::decode(&file, &request, gpu.as_mut()) {
        Err(error) if args.backend == BackendName::Auto && gpu::is_fault(&error) => {
            progress.above(|| context.note(&format!("{error}: decoding on the CPU")));
            gpu = None;
            codec::decode(&file, &request, None)
        }
        frame => frame,
    };
    let frame = frame.map_err(|e| Failure::library(&args.input, e))?;
    let decode_seconds = start.elapsed().as_secs_f64();
    files::write(&args.output, &[&args.input], |out| output::write(format, &frame, out))?;
    drop(progress);
    if args.json {
        let (width, height) = (frame.size.width, frame.size.height);
        let bytes_read = file.bytes_read();
        let decoder = match (gpu, args.backend) {
            (Some(_), _) => "gpu",
            (None, BackendName::Reference) => "reference",
            _ => "cpu",
        };
        ui::print_json(&Report { decoder, bytes_read, decode_seconds, width, height, loq: request.loq })?;
    }
    Ok(())
}
