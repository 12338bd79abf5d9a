//! `stepwell bench`

use std::fmt::Write;
use std::path::Path;
use std::time::Instant;

use serde::Serialize;
use stepwell::Request;

use crate::args::Bench;
use crate::failure::{Failure, Result};
use crate::ui::{self, Context};
use crate::{codec, files};

#[derive(Serialize)]
struct Report {
    files: Vec<FileReport>,
    megapixels_per_second: f64,
}

#[derive(Serialize)]
struct FileReport {
    file: String,
    megapixels: f64,
    seconds_median: f64,
    seconds_best: f64,
}

/// Times decodes of files that are in memory.
pub fn run(args: &Bench, context: &Context) -> Result<()> {
    #[cfg(feature = "gpu")]
    if let Some(batches) = &args.gpu {
        return super::bench_gpu::run(args, batches, context);
    }
    #[cfg(not(feature = "gpu"))]
    if args.gpu.is_some() {
        return Err(Failure::usage("this program was built without the feature gpu"));
    }
    let progress = context.progress("decoding");
    let mut files = Vec::new();
    for (i, path) in args.inputs.iter().enumerate() {
        files.push(measure(path, args, context)?);
        progress.set((i + 1) as f64 / args.inputs.len() as f64);
    }
    drop(progress);
    let total = |of: fn(&FileReport) -> f64| files.iter().map(of).sum::<f64>();
    let megapixels_per_second = total(|f| f.megapixels) / total(|f| f.seconds_median);
    let report = Report { files, megapixels_per_second };
    if args.json { ui::print_json(&report) } else { ui::print(&table(&report)) }
}

fn measure(path: &Path, args: &Bench, context: &Context) -> Result<FileReport> {
    let bytes: bytes::Bytes = files::read(path)?.into();
    let request = Request { loq: args.loq, ..Request::default() };
    let library = |e| Failure::library(path, e);
    let mut seconds = Vec::new();
    let mut pixels = 0;
    // The first decode warms caches and memory up.
    for _ in 0..=args.repeat {
        let start = Instant::now();
        let file = codec::open_bytes(path, bytes.clone(), context)?;
        let frame = codec::decode(&file, &request, None).map_err(library)?;
        seconds.push(start.elapsed().as_secs_f64());
        pixels = frame.size.area();
    }
    seconds.remove(0);
    seconds.sort_by(f64::total_cmp);
    Ok(FileReport {
        file: files::name(path),
        megapixels: pixels as f64 / 1e6,
        seconds_median: median(&seconds),
        seconds_best: seconds[0],
    })
}

pub(super) fn median(sorted: &[f64]) -> f64 {
    let middle = sorted.len() / 2;
    if sorted.len() % 2 == 1 { sorted[middle] } else { (sorted[middle - 1] + sorted[middle]) / 2.0 }
}

fn table(report: &Report) -> String {
    let mut text = String::new();
    for f in &report.files {
        let speed = f.megapixels / f.seconds_median;
        let (median, best) = (f.seconds_median * 1e3, f.seconds_best * 1e3);
        writeln!(
            text,
            "{}: {:.2} MP, median {median:.2} ms, best {best:.2} ms, {speed:.1} MP/s",
            f.file, f.megapixels
        )
        .expect("a string takes everything");
    }
    text + &format!("all: {:.1} MP/s\n", report.megapixels_per_second)
}

#[cfg(test)]
mod tests {
    use super::median;

    #[test]
    fn medians_of_odd_and_even_counts() {
        assert_eq!(median(&[1.0, 2.0, 9.0]), 2.0);
        assert_eq!(median(&[1.0, 2.0, 4.0, 9.0]), 3.0);
    }
}
