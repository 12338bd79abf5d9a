//! `stepwell encode`

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use serde::Serialize;
use stepwell::Control;

use crate::args::Encode;
use crate::failure::{Failure, Failures, Result};
use crate::ui::{self, Context, Progress};
use crate::{codec, files, input};

#[derive(Serialize)]
struct Report {
    files: Vec<FileReport>,
}

#[derive(Serialize)]
struct FileReport {
    input: String,
    output: String,
    width: u32,
    height: u32,
    bytes: u64,
    bits_per_pixel: f64,
    seconds: f64,
}

/// Encodes pictures, several at a time.
pub fn run(args: &Encode, context: &Context) -> Result<(), Failures> {
    args.settings.options().check().map_err(|e| Failure::usage(e.to_string()))?;
    if args.json && files::is_std(&args.output) {
        Err(Failure::usage("--json and the file cannot both go to standard output"))?;
    }
    let outputs = outputs(args)?;
    let inputs: Vec<_> = args.inputs.iter().map(PathBuf::as_path).collect();
    for output in &outputs {
        files::check_overwrites(output, &inputs)?;
    }
    let folder = Folder::create(args)?;
    let results = encode_all(args, &outputs, context);
    folder.finish();
    let mut failures = Vec::new();
    let mut reports = Vec::new();
    for result in results {
        match result {
            Ok(report) => reports.push(report),
            Err(failure) => failures.push(failure),
        }
    }
    if args.json {
        ui::print_json(&Report { files: reports })?;
    }
    Failures::collect(failures, inputs.len())
}

fn encode_all(args: &Encode, outputs: &[PathBuf], context: &Context) -> Vec<Result<FileReport>> {
    if let ([input], [output]) = (&args.inputs[..], outputs) {
        let progress = context.progress(&files::name(input));
        return vec![encode(input, output, args, context, &progress, progress.control())];
    }
    let progress = context.progress("encoding");
    let (next, done) = (AtomicUsize::new(0), AtomicUsize::new(0));
    let results: Vec<_> = outputs.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        loop {
            let i = next.fetch_add(1, Ordering::Relaxed);
            let (Some(input), Some(output)) = (args.inputs.get(i), outputs.get(i)) else { return };
            let result = encode(input, output, args, context, &progress, Control::new());
            *results[i].lock().unwrap_or_else(PoisonError::into_inner) = Some(result);
            progress.set((done.fetch_add(1, Ordering::Relaxed) + 1) as f64 / outputs.len() as f64);
        }
    };
    // Threads of their own: a task of the shared pool that waits for a part of its picture would start on the next
    // picture meanwhile, and in the end all would be in memory.
    std::thread::scope(|scope| {
        (0..rayon::current_num_threads().min(outputs.len())).for_each(|_| drop(scope.spawn(work)));
    });
    results.into_iter().filter_map(|r| r.into_inner().unwrap_or_else(PoisonError::into_inner)).collect()
}

fn encode(
    input: &Path,
    output: &Path,
    args: &Encode,
    context: &Context,
    progress: &Progress,
    control: Control,
) -> Result<FileReport> {
    let start = Instant::now();
    let bytes = files::read(input)?;
    if codec::is_stepwell(&bytes) {
        let failure = Failure::bad_input("a Stepwell file already").help("use stepwell transcode");
        return Err(failure.about(input));
    }
    let image = match &args.raw {
        Some(shape) => input::read_raw(input, bytes, shape, &context.limits)?,
        None => {
            let (image, notes) = input::read(input, bytes, &context.limits)?;
            progress.above(|| context.notes(input, &notes));
            image
        }
    };
    let library = |e| Failure::library(input, e);
    let file = codec::encode(&image, args.settings.options(), control).map_err(library)?;
    files::write(output, &[input], |out| out.write_all(&file))?;
    Ok(FileReport {
        input: files::name(input),
        output: output.display().to_string(),
        width: image.size.width,
        height: image.size.height,
        bytes: file.len() as u64,
        bits_per_pixel: file.len() as f64 * 8.0 / image.size.area() as f64,
        seconds: start.elapsed().as_secs_f64(),
    })
}

/// Whether the output is a folder, which exists or has to be created.
fn is_folder(args: &Encode) -> bool {
    let ends_like_one = args.output.to_string_lossy().ends_with(std::path::is_separator);
    !files::is_std(&args.output) && (args.inputs.len() > 1 || ends_like_one || args.output.is_dir())
}

/// Where the result of each input goes.
fn outputs(args: &Encode) -> Result<Vec<PathBuf>> {
    if args.inputs.len() > 1 && (files::is_std(&args.output) || args.inputs.iter().any(|i| files::is_std(i)))
    {
        return Err(Failure::usage("several pictures are encoded from files into a folder, not through - "));
    }
    if !is_folder(args) {
        return Ok(vec![args.output.clone()]);
    }
    let mut taken: HashMap<PathBuf, &Path> = HashMap::new();
    let mut outputs = Vec::new();
    for input in &args.inputs {
        let stem = input.file_stem().filter(|_| !files::is_std(input));
        let stem =
            stem.ok_or_else(|| Failure::usage(format!("{} gives no file name", files::name(input))))?;
        let mut name = stem.to_os_string();
        name.push(".swl");
        let output = args.output.join(name);
        if let Some(other) = taken.insert(output.clone(), input) {
            let what =
                format!("{} and {} would both become {}", other.display(), input.display(), output.display());
            return Err(Failure::usage(what));
        }
        outputs.push(output);
    }
    Ok(outputs)
}

/// The folder for several outputs.
struct Folder<'a> {
    /// Where it was made by this run.
    created: Option<&'a Path>,
}

impl<'a> Folder<'a> {
    fn create(args: &'a Encode) -> Result<Self> {
        if !is_folder(args) || args.output.is_dir() {
            return Ok(Folder { created: None });
        }
        let cannot = |e| Failure::failed(format!("cannot create the folder {}: {e}", args.output.display()));
        fs::create_dir_all(&args.output).map_err(cannot)?;
        Ok(Folder { created: Some(&args.output) })
    }

    /// Removes it again if nothing was written into it.
    fn finish(self) {
        if let Some(path) = self.created {
            // Fails, as it should, where it is not empty.
            let _ = fs::remove_dir(path);
        }
    }
}
