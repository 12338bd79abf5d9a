//! The one place where the program meets the codec.

use std::path::Path;

use stepwell::container::Header;
use stepwell::container::header::MAGIC;
use stepwell::decode::Sample;
use stepwell::residual::Quantiser;
use stepwell::stream::{FileSource, MemorySource, Source};
use stepwell::{Control, Decoder, EncodeOptions, Encoder, Image, PlaneInfo, Request, Size};

use crate::failure::{Failure, Result};
use crate::gpu::GpuDecoder;
use crate::output::{Frame, Samples};
use crate::ui::Context;
use crate::{files, input};

/// A Stepwell file that is open.
pub type File = Decoder<Box<dyn Source>>;

/// Opens a Stepwell file to read parts of it; standard input and pipes are read whole.
pub fn open(path: &Path, context: &Context) -> Result<File> {
    let regular = !files::is_std(path) && std::fs::metadata(path).is_ok_and(|m| m.is_file());
    if !regular {
        return open_bytes(path, files::read(path)?, context);
    }
    let source =
        FileSource::open(path).map_err(|e| Failure::failed(format!("cannot read: {e}")).about(path))?;
    open_source(path, Box::new(source), context)
}

/// Opens a Stepwell file that is in memory.
pub fn open_bytes(path: &Path, bytes: impl Into<bytes::Bytes>, context: &Context) -> Result<File> {
    open_source(path, Box::new(MemorySource::new(bytes)), context)
}

fn open_source(path: &Path, source: Box<dyn Source>, context: &Context) -> Result<File> {
    Decoder::open(source, context.limits).map_err(|e| {
        let other = matches!(e, stepwell::Error::Format { at: 0, .. });
        let failure = Failure::library(path, e);
        if other { failure.help("stepwell encode makes Stepwell files of pictures") } else { failure }
    })
}

/// Whether the bytes start a Stepwell file.
pub fn is_stepwell(bytes: &[u8]) -> bool {
    bytes.starts_with(&MAGIC)
}

/// A picture of any format that can be read.
pub fn load(path: &Path, context: &Context) -> Result<Image> {
    let bytes = files::read(path)?;
    if !is_stepwell(&bytes) {
        let (image, notes) = input::read(path, bytes, &context.limits)?;
        context.notes(path, &notes);
        return Ok(image);
    }
    let file = open_bytes(path, bytes, context)?;
    file.decode(&Request::default()).map_err(|e| Failure::library(path, e))
}

/// The planes that a request gives.
pub fn planes_of(file: &File, request: &Request) -> Vec<PlaneInfo> {
    let all = &file.header().planes;
    match &request.planes {
        Some(planes) => planes.iter().map(|&p| all[p].clone()).collect(),
        None => all.clone(),
    }
}

/// Decodes to interleaved samples of the smallest type that holds them, on the GPU if one is given.
pub fn decode(file: &File, request: &Request, gpu: Option<&mut GpuDecoder>) -> stepwell::Result<Frame> {
    fn samples<T: Sample>(
        file: &File,
        request: &Request,
        gpu: Option<&mut GpuDecoder>,
    ) -> stepwell::Result<(Size, Vec<T>)> {
        let mut samples = Vec::new();
        let size = match gpu {
            Some(gpu) => gpu.decode_interleaved(file, request, &mut samples)?,
            None => file.decode_interleaved(request, &mut samples)?,
        };
        Ok((size, samples))
    }
    let planes = planes_of(file, request);
    let unsigned = planes.iter().all(|p| !p.signed);
    let (size, samples) = match crate::output::depth(&planes) {
        ..=8 if unsigned => samples(file, request, gpu).map(|(size, all)| (size, Samples::U8(all)))?,
        9..=16 if unsigned => samples(file, request, gpu).map(|(size, all)| (size, Samples::U16(all)))?,
        _ => samples(file, request, gpu).map(|(size, all)| (size, Samples::I32(all)))?,
    };
    let mut metadata = file.metadata()?;
    // Pixels of a higher level cover more.
    let scale = f64::from(request.loq).exp2();
    metadata.pixel_size = metadata.pixel_size.map(|(x, y)| (x * scale, y * scale));
    Ok(Frame { size, planes, samples, metadata })
}

/// Encodes a picture.
pub fn encode(image: &Image, options: EncodeOptions, control: Control) -> stepwell::Result<Vec<u8>> {
    Encoder::new(options).with_control(control).encode(image)
}

/// Whether the samples that were given to the encoder come back exactly.
pub fn is_lossless(header: &Header) -> bool {
    header.fraction_bits == 0 && header.params.iter().flatten().all(|p| p.quantiser == Quantiser::LOSSLESS)
}

/// A part of a file as a file of its own, its tiles copied.
pub fn extract(file: &File, request: &Request) -> stepwell::Result<Vec<u8>> {
    Ok(stepwell::extract(file, request)?.into_vec())
}
