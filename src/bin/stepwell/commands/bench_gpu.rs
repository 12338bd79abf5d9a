//! `stepwell bench --gpu`

use std::fmt::Write;
use std::sync::Arc;
use std::time::Instant;

use serde::Serialize;
use stepwell::decode::gpu::{GpuDecoder, Packet, Target};
use stepwell::gpu::{Gpu, GpuOptions, Shaders};
use stepwell::{Error, Request};

use super::bench::median;
use crate::args::Bench;
use crate::codec::{self, File};
use crate::failure::{Failure, Result};
use crate::files;
use crate::ui::{self, Context};

#[derive(Serialize)]
struct Report {
    adapter: String,
    driver: String,
    subgroups: bool,
    halves: bool,
    checked: bool,
    loq: u8,
    files: usize,
    /// Mean bytes of a file.
    file_bytes: u64,
    batches: Vec<BatchReport>,
}

/// Times are medians, a picture each, in microseconds.
#[derive(Serialize)]
struct BatchReport {
    batch: u32,
    /// Mean bytes of a picture as RGB of 8 bits.
    rgb_bytes: f64,
    /// Compressed bytes on the GPU → RGBA on the GPU, by its timestamps.
    resident: Option<f64>,
    /// The entropy stage, then the other dispatches from the root down.
    resident_stages: Vec<f64>,
    /// The least and largest of the repeats.
    resident_range: Option<(f64, f64)>,
    resident_gigabytes_per_second: Option<f64>,
    /// File in memory → RGBA on the GPU, by the clock: index, checksums, upload, decode, wait.
    from_host: f64,
    from_host_range: (f64, f64),
    from_host_gigabytes_per_second: f64,
}

/// Times decodes on the GPU of files that are in memory, all of them by turns.
pub fn run(args: &Bench, batches: &[u32], context: &Context) -> Result<()> {
    let shaders = if args.checked { Shaders::Checked } else { Shaders::Trusted };
    let options = GpuOptions { shaders, portable: args.portable, adapter: args.adapter.clone() };
    let gpu = crate::gpu::open(&options)?;
    let mut opened: Vec<File> = Vec::new();
    let mut contents = Vec::new();
    for path in &args.inputs {
        let bytes: bytes::Bytes = files::read(path)?.into();
        opened.push(codec::open_bytes(path, bytes.clone(), context)?);
        contents.push(bytes);
    }
    let request = Request { loq: args.loq, ..Request::default() };
    let info = gpu.info();
    let mut report = Report {
        adapter: info.name.clone(),
        driver: format!("{} {}", info.driver, info.driver_info),
        subgroups: gpu.variant().subgroups,
        halves: gpu.variant().halves,
        checked: args.checked,
        loq: args.loq,
        files: opened.len(),
        file_bytes: contents.iter().map(|bytes| bytes.len() as u64).sum::<u64>() / contents.len() as u64,
        batches: Vec::new(),
    };
    check(&gpu, &opened, &request)?;
    for &batch in batches {
        let mut decoder = GpuDecoder::new(Arc::clone(&gpu));
        let members: Vec<usize> = (0..batch as usize).map(|i| i % opened.len()).collect();
        report.batches.push(measure(&mut decoder, &members, &contents, &request, args, context)?);
    }
    if args.json { ui::print_json(&report) } else { ui::print(&table(&report)) }
}

/// All pictures once: the GPU's pixels are the CPU's.
fn check(gpu: &Arc<Gpu>, files: &[File], request: &Request) -> Result<()> {
    let failure = |e: Error| Failure::failed(e.to_string());
    let mut decoder = GpuDecoder::new(Arc::clone(gpu));
    for file in files {
        let packet = file.packet(request).map_err(failure)?;
        let decoded = decoder.decode(&[&packet], Target::Pixels).map_err(failure)?;
        if let Some(error) = decoded.results.iter().find_map(|result| result.as_ref().err()) {
            return Err(Failure::failed(error.to_string()));
        }
        let Some(place) = decoded.place(0, 0) else { continue };
        let pixels = decoder.read_pixels(place).map_err(failure)?;
        let mut expected: Vec<u8> = Vec::new();
        file.decode_interleaved(request, &mut expected).map_err(failure)?;
        let planes = expected.len() / (pixels.len() / 4);
        let same = pixels.chunks_exact(4).zip(expected.chunks_exact(planes)).all(|(gpu, cpu)| match planes {
            1 => gpu[0] == cpu[0],
            _ => gpu[..planes] == *cpu,
        });
        if !same {
            return Err(Failure::failed("the GPU's pixels are not the CPU's".to_owned()));
        }
    }
    Ok(())
}

fn measure(
    decoder: &mut GpuDecoder,
    members: &[usize],
    contents: &[bytes::Bytes],
    request: &Request,
    args: &Bench,
    context: &Context,
) -> Result<BatchReport> {
    use rayon::prelude::*;
    let failure = |e: Error| Failure::failed(e.to_string());
    let count = members.len() as f64;
    let mut from_host = Vec::new();
    let mut pixels = 0;
    let mut last = Vec::new();
    for _ in 0..args.repeat + 3 {
        let start = Instant::now();
        let open = |&i: &usize| -> Result<Packet> {
            let file = codec::open_bytes(&args.inputs[i], contents[i].clone(), context)?;
            file.packet(request).map_err(failure)
        };
        let packets: Vec<Packet> = members.par_iter().map(open).collect::<Result<_>>()?;
        let references: Vec<&Packet> = packets.iter().collect();
        let decoded = decoder.decode(&references, Target::Pixels).map_err(failure)?;
        from_host.push(start.elapsed().as_secs_f64() * 1e6 / count);
        pixels = (0..members.len()).filter_map(|i| decoded.place(i, 0)).map(|p| p.size.area()).sum();
        last = packets;
    }
    let references: Vec<&Packet> = last.iter().collect();
    decoder.load(&references, Target::Pixels).map_err(failure)?;
    // The first ones warm clocks, caches and memory up.
    from_host.drain(..3);
    from_host.sort_by(f64::total_cmp);

    let mut all: Vec<f64> = Vec::new();
    let mut stages: Vec<Vec<f64>> = Vec::new();
    for i in 0..args.repeat + 5 {
        let Some(timing) = decoder.time().map_err(failure)? else { break };
        if i >= 5 {
            let count = timing.images as f64;
            all.push(timing.all * 1e6 / count);
            stages.resize_with(timing.passes.len(), Vec::new);
            stages.iter_mut().zip(timing.passes).for_each(|(list, time)| list.push(time * 1e6 / count));
        }
    }
    stages.iter_mut().chain([&mut all]).for_each(|list| list.sort_by(f64::total_cmp));
    let rgb_bytes = pixels as f64 * 3.0 / count;
    let speed = |micros: f64| rgb_bytes / micros / 1e3;
    let resident = (!all.is_empty()).then(|| median(&all));
    let range = |list: &[f64]| (list[0], list[list.len() - 1]);
    Ok(BatchReport {
        batch: members.len() as u32,
        rgb_bytes,
        resident,
        resident_stages: stages.iter().map(|list| median(list)).collect(),
        resident_range: resident.map(|_| range(&all)),
        resident_gigabytes_per_second: resident.map(speed),
        from_host: median(&from_host),
        from_host_range: range(&from_host),
        from_host_gigabytes_per_second: speed(median(&from_host)),
    })
}

fn table(report: &Report) -> String {
    let mut text = format!(
        "{} ({}), {} subgroups, {} 16-bit loads, {} shaders, LoQ {}, {} files of {} bytes\n",
        report.adapter,
        report.driver,
        if report.subgroups { "with" } else { "without" },
        if report.halves { "with" } else { "without" },
        if report.checked { "checked" } else { "trusted" },
        report.loq,
        report.files,
        report.file_bytes
    );
    for b in &report.batches {
        if let (Some(all), Some((least, most)), Some(speed)) =
            (b.resident, b.resident_range, b.resident_gigabytes_per_second)
        {
            let stages: Vec<String> = b.resident_stages.iter().map(|time| format!("{time:.1}")).collect();
            let stages = stages.join(" + ");
            writeln!(
                text,
                "batch {}: resident {all:.1} us a picture ({least:.1} to {most:.1}), {speed:.1} GB/s of RGB: {stages}",
                b.batch
            )
            .expect("a string takes everything");
        }
        let ((least, most), speed) = (b.from_host_range, b.from_host_gigabytes_per_second);
        writeln!(
            text,
            "batch {}: from host {:.1} us a picture ({least:.1} to {most:.1}), {speed:.1} GB/s of RGB",
            b.batch, b.from_host
        )
        .expect("a string takes everything");
    }
    text
}
