//! Pictures larger than a GPU's buffers: decoded in slices, to the CPU's samples.

use std::sync::Arc;

use crate::gpu::{encode, gpu, options};
use crate::pictures::{Random, Texture, image, rgb, rgba, yuv420};
use crate::region::random_region;
use stepwell::decode::gpu::{GpuDecoder, slices};
use stepwell::gpu::{Gpu, GpuOptions, Shaders};
use stepwell::{Error, Request, Size, Target};

/// A GPU whose buffers have at most so many bytes.
fn small_gpu(bytes: u64) -> Option<Arc<Gpu>> {
    gpu(Shaders::Trusted)?;
    let mut descriptor = wgpu::InstanceDescriptor::new_without_display_handle();
    descriptor.flags = wgpu::InstanceFlags::empty();
    let instance = wgpu::Instance::new(descriptor);
    let adapter = pollster::block_on(instance.enumerate_adapters(wgpu::Backends::all())).remove(0);
    let required_limits =
        wgpu::Limits { max_storage_buffer_binding_size: bytes, max_buffer_size: bytes, ..adapter.limits() };
    let descriptor = wgpu::DeviceDescriptor { required_limits, ..Default::default() };
    let (device, queue) = pollster::block_on(adapter.request_device(&descriptor)).unwrap();
    Some(Arc::new(Gpu::from_device(device, queue, &GpuOptions::default()).unwrap()))
}

#[test]
fn slices_give_the_whole() {
    let Some(small) = small_gpu(600_000) else { return };
    let most = small.largest_binding();
    let mut decoder = GpuDecoder::new(small);
    let size = Size::new(460, 520);
    let mut random = Random(5);
    for planes in [rgb(8), rgba(16), yuv420(10)] {
        let picture = image(size, planes, Texture::Photo, 3);
        let file = encode(&picture, options(Target::Quality(80.0)));
        let region = Some(random_region(&mut random, size));
        for request in [
            Request::default(),
            Request { loq: 1, planes: Some(vec![2, 0]), ..Request::default() },
            Request { region, ..Request::default() },
        ] {
            let found = decoder.decode_planar::<_, i32>(&file, &request).unwrap();
            assert!(found == file.decode_planar(&request).unwrap(), "{request:?}");
        }
        let parts = slices(file.header(), &Request::default(), most, &mut |request| file.plan(request));
        assert!(parts.unwrap().len() > 4, "nothing was cut");
    }
}

/// Noise fills all buffers, the staged payload too.
#[test]
fn noise_fits_as_planned() {
    let Some(small) = small_gpu(400_000) else { return };
    let mut decoder = GpuDecoder::new(small);
    let file = encode(&image(Size::new(300, 300), rgb(31), Texture::Noise, 3), options(Target::Lossless));
    let found = decoder.decode_planar::<_, i32>(&file, &Request::default()).unwrap();
    assert!(found == file.decode_planar(&Request::default()).unwrap());
}

#[test]
fn interleaved_samples_are_the_cpus() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let file = encode(&image(Size::new(150, 90), rgba(8), Texture::Photo, 3), options(Target::Lossless));
    let (mut found, mut expected): (Vec<u8>, Vec<u8>) = (vec![9], vec![9]);
    let request = Request { loq: 1, planes: Some(vec![3, 1]), ..Request::default() };
    let size = decoder.decode_interleaved(&file, &request, &mut found).unwrap();
    assert_eq!(size, file.decode_interleaved(&request, &mut expected).unwrap());
    assert!(found == expected && found.len() > 1);
    let deep = encode(&image(Size::new(15, 9), yuv420(16), Texture::Photo, 3), options(Target::Lossless));
    for request in [Request::default(), Request { planes: Some(vec![0]), ..Request::default() }] {
        let refused = decoder.decode_interleaved::<_, u8>(&deep, &request, &mut found);
        let expected = deep.decode_interleaved::<u8>(&request, &mut expected);
        assert!(matches!(refused, Err(Error::Request(_))));
        assert_eq!(refused.unwrap_err().to_string(), expected.unwrap_err().to_string());
    }
}
