//! `stepwell bisect`

use stepwell::decode::gpu::{Comparison, GpuDecoder, Packet, Stage, Trace, slices};
use stepwell::gpu::{GpuOptions, Shaders};
use stepwell::{Error, Request};

use crate::args::{Bisect, StageName};
use crate::failure::{Failure, Result};
use crate::ui::{self, Context};
use crate::{codec, files, gpu, planes};

/// Decodes on the CPU and on the GPU, and says where they first differ.
pub fn run(args: &Bisect, context: &Context) -> Result<()> {
    let fail = |e: Error| Failure::library(&args.input, e);
    let file = codec::open(&args.input, context)?;
    let planes = match &args.planes {
        Some(wanted) => Some(planes::select(wanted, &file.header().planes)?),
        None => None,
    };
    let request = Request { loq: args.part.loq, region: args.part.region, planes };
    let shaders = if args.checked { Shaders::Checked } else { Shaders::Trusted };
    let options = GpuOptions { shaders, portable: args.portable, adapter: args.adapter.clone() };
    let mut decoder = GpuDecoder::new(gpu::open(&options)?);
    // Guard bands take room beside what a slice takes.
    let most = decoder.gpu().largest_binding() / 4 * 3;
    let parts = slices(file.header(), &request, most, &mut |request| file.plan(request)).map_err(fail)?;
    let progress = context.progress(&files::name(&args.input));
    let mut all = Comparison::default();
    for (done, part) in (1..).zip(&parts) {
        let packet = file.packet(part).map_err(fail)?;
        all.add(&compare(&mut decoder, &packet, args.cpu_until.map(Into::into)).map_err(fail)?);
        progress.set(f64::from(done) / parts.len() as f64);
    }
    drop(progress);
    let [symbols, samples, values] = all.compared;
    let compared = format!("{symbols} symbols, {samples} samples of levels and {values} that come out");
    match all.first {
        None => ui::print(&format!("no difference in {compared}\n")),
        Some(first) => {
            ui::print(&format!("{first}\n"))?;
            let [symbols, samples, values] = all.differ;
            let differ = format!("{symbols} symbols, {samples} samples of levels and {values} that come out");
            Err(Failure::failed(format!("of {compared}, {differ} differ")).about(&args.input))
        }
    }
}

/// A part of a picture. Both decoders may refuse it, for the same reason.
fn compare(decoder: &mut GpuDecoder, packet: &Packet, until: Option<Stage>) -> stepwell::Result<Comparison> {
    let cpu = match Trace::reference(packet) {
        Ok(cpu) => cpu,
        Err(fault) => {
            let what = match decoder.trace(packet, None) {
                Ok(_) => "nothing".into(),
                Err(other) if other.to_string() == fault.to_string() => return Err(fault),
                Err(other) => other.to_string(),
            };
            return Err(disagree(&fault.to_string(), &what));
        }
    };
    match decoder.trace(packet, until.map(|stage| (stage, &cpu))) {
        Ok(gpu) => Ok(cpu.compare(packet, &gpu)),
        Err(error @ Error::Format { .. }) => Err(disagree("nothing", &error.to_string())),
        Err(error) => Err(error),
    }
}

fn disagree(cpu: &str, gpu: &str) -> Error {
    stepwell::gpu::GpuFault::Driver(format!("the CPU finds {cpu}, the GPU {gpu}")).into()
}

impl From<StageName> for Stage {
    fn from(name: StageName) -> Self {
        match name {
            StageName::Entropy => Stage::Entropy,
            StageName::Upsample => Stage::Upsample,
            StageName::Colour => Stage::Colour,
        }
    }
}
