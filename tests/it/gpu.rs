//! The GPU decoder: the same integers as the CPU's.

use std::sync::{Arc, OnceLock};

use crate::pictures::{Texture, image, rgb};
use stepwell::decode::gpu::{GpuDecoder, Target as GpuTarget};
use stepwell::gpu::{Gpu, GpuOptions, Shaders};
use stepwell::stream::MemorySource;
use stepwell::{Decoder, EncodeOptions, Encoder, Image, Limits, Request};

/// The GPU, opened once for each way of compiling kernels. Without one, tests pass only where nobody requires it.
fn gpu(shaders: Shaders) -> Option<Arc<Gpu>> {
    static GPUS: [OnceLock<Option<Arc<Gpu>>>; 2] = [OnceLock::new(), OnceLock::new()];
    let open = || match Gpu::open(&GpuOptions { shaders, ..GpuOptions::default() }) {
        Ok(gpu) => Some(Arc::new(gpu)),
        Err(error) if std::env::var("STEPWELL_GPU").as_deref() == Ok("required") => panic!("{error}"),
        Err(error) => {
            eprintln!("no GPU test is run: {error}");
            None
        }
    };
    GPUS[usize::from(shaders == Shaders::Checked)].get_or_init(open).clone()
}

fn check(image: &Image, options: &EncodeOptions, shaders: Shaders) {
    let Some(gpu) = gpu(shaders) else { return };
    let file = Encoder::new(options.clone()).encode(image).unwrap();
    let decoder = Decoder::open(MemorySource::new(file), Limits::default()).unwrap();
    let mut gpu_decoder = GpuDecoder::new(gpu);
    for loq in 0..=decoder.header().levels {
        let request = Request { loq, ..Request::default() };
        let expected = decoder.decode(&request).unwrap();
        let packet = decoder.packet(&request).unwrap();
        let decoded = gpu_decoder.decode(&[&packet], GpuTarget::Planes).unwrap();
        decoded.results[0].as_ref().unwrap();
        for (plane, expected) in expected.planes.iter().enumerate() {
            let place = decoded.place(0, plane).unwrap();
            let found = gpu_decoder.read_plane(place).unwrap();
            assert_eq!(
                (found.width(), found.height()),
                (expected.samples.width(), expected.samples.height())
            );
            for y in 0..found.height() {
                for x in 0..found.width() {
                    assert_eq!(
                        found.at(x, y),
                        expected.samples.at(x, y),
                        "LoQ {loq} plane {plane} at ({x}, {y})"
                    );
                }
            }
        }
    }
}

#[test]
fn a_photograph() {
    let size = stepwell::Size::new(300, 200);
    let image = image(size, rgb(8), Texture::Photo, 3);
    check(&image, &EncodeOptions::lossless(), Shaders::Trusted);
}
