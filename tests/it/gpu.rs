//! The GPU decoder: the same integers as the CPU's, and the same faults.
//!
//! With `STEPWELL_GPU=required` a machine without a GPU fails these tests; without it they say so and check nothing.

use std::sync::{Arc, OnceLock};

use crate::pictures::{Random, Texture, gray, image, rgb, rgba, yuv420};
use crate::region::random_region;
use crate::repair;
use stepwell::decode::gpu::{GpuDecoder, Packet, Target as Output};
use stepwell::gpu::{Gpu, GpuOptions, Shaders};
use stepwell::stream::MemorySource;
use stepwell::{Decoder, EncodeOptions, Encoder, Image, Limits, Profile, Request, Size, Target};

pub type File = Decoder<MemorySource>;

/// The GPU, opened once for each way of compiling kernels.
pub fn gpu(shaders: Shaders) -> Option<Arc<Gpu>> {
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

pub fn open(file: Vec<u8>) -> File {
    Decoder::open(MemorySource::new(file), Limits::default()).unwrap()
}

pub fn encode(image: &Image, options: EncodeOptions) -> File {
    open(Encoder::new(options).encode(image).unwrap())
}

pub fn options(target: Target) -> EncodeOptions {
    EncodeOptions { target, ..EncodeOptions::lossless() }
}

/// Fails at the first sample that differs.
fn assert_planes(
    gpu: &mut GpuDecoder,
    expected: &Image,
    place: impl Fn(usize) -> stepwell::decode::gpu::Place,
) {
    for (plane, expected) in expected.planes.iter().enumerate() {
        let found = gpu.read_plane(place(plane)).unwrap();
        let expected = &expected.samples;
        assert_eq!((found.width(), found.height()), (expected.width(), expected.height()), "plane {plane}");
        let differs = |&i: &usize| found.data()[i] != expected.data()[i];
        if let Some(i) = (0..found.data().len()).find(differs) {
            let (x, y) = (i % found.width(), i / found.width());
            let (found, expected) = (found.data()[i], expected.data()[i]);
            panic!("plane {plane} at ({x}, {y}): {found} on the GPU, {expected} on the CPU");
        }
    }
}

/// Decodes requests of files in one batch and compares each with the CPU's.
fn compare(gpu: &mut GpuDecoder, requests: &[(&File, Request)]) {
    let packets: Vec<Packet> = requests.iter().map(|(file, request)| file.packet(request).unwrap()).collect();
    let packets: Vec<&Packet> = packets.iter().collect();
    let decoded = gpu.decode(&packets, Output::Planes).unwrap();
    for (i, (file, request)) in requests.iter().enumerate() {
        assert!(decoded.results[i].is_ok(), "{:?}", decoded.results[i]);
        let expected = file.decode(request).unwrap();
        assert_planes(gpu, &expected, |plane| decoded.place(i, plane).unwrap());
    }
}

fn every_loq(file: &File) -> Vec<(&File, Request)> {
    (0..=file.header().levels).map(|loq| (file, Request { loq, ..Request::default() })).collect()
}

/// All levels of a picture, by both kinds of kernels, lossless and not.
pub fn equals_the_cpu(image: &Image) {
    for shaders in [Shaders::Trusted, Shaders::Checked] {
        let Some(gpu) = gpu(shaders) else { return };
        let mut decoder = GpuDecoder::new(gpu);
        for target in [Target::Lossless, Target::Quality(75.0)] {
            let file = encode(image, options(target));
            compare(&mut decoder, &every_loq(&file));
        }
    }
}

#[test]
fn small_sizes() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let sides = [1, 2, 3, 7, 16, 31, 33, 63, 65, 127, 129];
    for width in sides {
        let files: Vec<File> = sides
            .iter()
            .map(|&height| {
                let image = image(Size::new(width, height), rgb(8), Texture::Photo, 5);
                encode(&image, options(Target::Lossless))
            })
            .collect();
        let requests: Vec<_> = files.iter().flat_map(every_loq).collect();
        compare(&mut decoder, &requests);
    }
}

#[test]
fn tiles_and_profiles() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let image = image(Size::new(333, 290), rgba(8), Texture::Photo, 9);
    for tile_log2 in [[5, 5], [6, 5], [6, 6], [5, 6]] {
        for profile in [Profile::Balanced, Profile::Fast, Profile::Small] {
            for target in [Target::Lossless, Target::Quality(60.0)] {
                let file =
                    encode(&image, EncodeOptions { target, profile, tile_log2, ..EncodeOptions::lossless() });
                compare(&mut decoder, &every_loq(&file));
            }
        }
    }
}

#[test]
fn regions_and_planes() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let size = Size::new(500, 401);
    let pictures = [image(size, rgba(8), Texture::Photo, 1), image(size, yuv420(10), Texture::Photo, 2)];
    let mut random = Random(7);
    for picture in &pictures {
        let file = encode(picture, options(Target::Quality(80.0)));
        let requests: Vec<_> = (0..24)
            .map(|i| {
                let region = Some(random_region(&mut random, size));
                let planes = (i % 3 > 0).then(|| vec![random.below(picture.planes.len() as u64) as usize, 0]);
                (&file, Request { loq: (i % 5) as u8, region, planes })
            })
            .collect();
        compare(&mut decoder, &requests);
    }
}

/// Pixels are R, G, B, A; gray repeats, and missing alpha is opaque.
#[test]
fn pixels() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let size = Size::new(301, 222);
    for planes in [gray(8), rgb(8), rgba(8)] {
        let count = planes.len();
        for target in [Target::Lossless, Target::Quality(70.0)] {
            for profile in [Profile::Balanced, Profile::Fast, Profile::Small] {
                let picture = image(size, planes.clone(), Texture::Photo, 4);
                let file = encode(&picture, EncodeOptions { profile, ..options(target) });
                let mut random = Random(3);
                for loq in [0, 0, 1, 2, 3] {
                    let region = Some(random_region(&mut random, size));
                    let request = Request { loq, region, planes: None };
                    let packet = file.packet(&request).unwrap();
                    let decoded = decoder.decode(&[&packet], Output::Pixels).unwrap();
                    assert!(decoded.results[0].is_ok());
                    let found = decoder.read_pixels(decoded.place(0, 0).unwrap()).unwrap();
                    let mut samples: Vec<u8> = Vec::new();
                    file.decode_interleaved(&request, &mut samples).unwrap();
                    let expected: Vec<u8> = samples
                        .chunks_exact(count)
                        .flat_map(|s| match *s {
                            [v] => [v, v, v, 255],
                            [r, g, b] => [r, g, b, 255],
                            _ => [s[0], s[1], s[2], s[3]],
                        })
                        .collect();
                    assert!(found == expected, "{count} planes, LoQ {loq}, {region:?}");
                }
            }
        }
    }
}

#[test]
fn pixels_of_deep_planes_and_of_several_groups_are_refused() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let gray_and_another = [gray(8), gray(8)].concat();
    for planes in [rgb(16), yuv420(8), gray_and_another] {
        let file = encode(&image(Size::new(40, 40), planes, Texture::Photo, 1), options(Target::Lossless));
        let packet = file.packet(&Request::default()).unwrap();
        let refused = GpuDecoder::new(gpu.clone()).decode(&[&packet], Output::Pixels);
        assert!(matches!(refused, Err(stepwell::Error::Request(_))));
    }
}

/// One decoder serves batches of any pictures one after the other, large after small and small after large.
#[test]
fn many_batches() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let files: Vec<File> = [
        image(Size::new(400, 300), rgb(8), Texture::Photo, 1),
        image(Size::new(20, 31), gray(16), Texture::Noise, 2),
        image(Size::new(150, 90), rgba(12), Texture::Photo, 3),
        image(Size::new(260, 260), yuv420(8), Texture::Sparse, 4),
        image(Size::new(99, 1), gray(31), Texture::Noise, 5),
    ]
    .iter()
    .map(|picture| encode(picture, options(Target::Lossless)))
    .collect();
    for members in [&[1][..], &[0, 1, 2, 3, 4], &[4, 4], &[3, 0, 0, 2], &[1, 4]] {
        let requests: Vec<_> = members.iter().map(|&i| (&files[i], Request::default())).collect();
        compare(&mut decoder, &requests);
    }
}

/// A file in which some bytes of tiles are other ones, behind checksums that fit.
pub fn broken(random: &mut Random, file: &[u8]) -> Option<File> {
    let mut broken = file.to_vec();
    let header = repair::read_head(file)?;
    let start = header.root_start() + header.root_bytes();
    for _ in 0..1 + random.below(3) {
        let at = start + random.below(file.len() as u64 - start);
        broken[at as usize] ^= 1 << random.below(8);
    }
    repair::all(&mut broken);
    Decoder::open(MemorySource::new(broken), Limits::default()).ok()
}

/// Broken tiles end in the CPU's error for that picture alone, or in the CPU's samples.
#[test]
fn broken_tiles() {
    for shaders in [Shaders::Trusted, Shaders::Checked] {
        let Some(gpu) = gpu(shaders) else { return };
        let mut decoder = GpuDecoder::new(gpu);
        let mut random = Random(11);
        let sources = [
            image(Size::new(140, 150), rgb(8), Texture::Photo, 1),
            image(Size::new(70, 66), gray(16), Texture::Noise, 2),
            image(Size::new(70, 80), gray(31), Texture::Photo, 3),
        ];
        let (mut faults, mut right) = (0, 0);
        for picture in &sources {
            for target in [Target::Lossless, Target::Quality(75.0)] {
                let bytes = Encoder::new(options(target)).encode(picture).unwrap();
                let whole = open(bytes.clone());
                let files: Vec<File> = (0..40).filter_map(|_| broken(&mut random, &bytes)).collect();
                let packets: Vec<_> =
                    files.iter().chain([&whole]).map(|file| file.packet(&Request::default())).collect();
                let readable: Vec<usize> = (0..packets.len()).filter(|&i| packets[i].is_ok()).collect();
                let batch: Vec<&Packet> = packets.iter().flatten().collect();
                let decoded = decoder.decode(&batch, Output::Planes).unwrap();
                for (i, &number) in readable.iter().enumerate() {
                    let file = files.get(number).unwrap_or(&whole);
                    match (&decoded.results[i], file.decode(&Request::default())) {
                        (Ok(()), Ok(expected)) => {
                            right += 1;
                            assert_planes(&mut decoder, &expected, |plane| decoded.place(i, plane).unwrap());
                        }
                        (Err(found), Err(expected)) => {
                            faults += 1;
                            let section = |e: &stepwell::Error| {
                                matches!(e, stepwell::Error::Format { section: "10", .. })
                            };
                            assert!(section(found) && section(&expected), "{found} / {expected}");
                        }
                        (found, expected) => {
                            panic!("{found:?} on the GPU, {:?} on the CPU", expected.map(|_| ()))
                        }
                    }
                }
                assert!(decoded.results.last().unwrap().is_ok(), "the whole file suffers from broken ones");
            }
        }
        assert!(faults > 50 && right > 5, "{faults} faults and {right} right ones test too little");
    }
}
