//! Every stage on the GPU beside its twin: symbols of every tile, samples of every level and plane, what comes out. And
//! kernels write where they may, and nowhere else, whatever a file says.

use crate::gpu::{broken, encode, gpu, open, options};
use crate::pictures::{Random, TEXTURES, Texture, gray, image, rgb, rgba, yuv420};
use crate::region::random_region;
use stepwell::decode::gpu::{Comparison, GpuDecoder, Packet, Stage, Target as Output, Trace};
use stepwell::entropy::Place;
use stepwell::gpu::Shaders;
use stepwell::{EncodeOptions, Encoder, Error, Image, Profile, Request, Size, Target};

const SHADERS: [Shaders; 2] = [Shaders::Trusted, Shaders::Checked];

fn assert_same(comparison: &Comparison, what: &str) {
    assert_eq!(comparison.first, None, "{what}: {:?} of {:?}", comparison.differ, comparison.compared);
    // Roots may be all there is, but something comes out.
    assert!(comparison.compared[2] > 0, "{what}: nothing was compared");
}

/// All stages of a picture, by both kinds of kernels, lossless and not.
pub fn equal_the_cpu(image: &Image) {
    let packets = [Target::Lossless, Target::Quality(75.0)].map(|target| {
        let packet = encode(image, options(target)).packet(&Request::default()).unwrap();
        let cpu = Trace::reference(&packet).unwrap();
        (packet, cpu)
    });
    for shaders in SHADERS {
        let Some(gpu) = gpu(shaders) else { return };
        let mut decoder = GpuDecoder::new(gpu);
        for (packet, cpu) in &packets {
            let gpu = decoder.trace(packet, None).unwrap();
            assert_same(&cpu.compare(packet, &gpu), &format!("{shaders:?}"));
        }
    }
}

#[test]
fn random_pictures() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let mut random = Random(21);
    for i in 0..24 {
        let depth = 1 + random.below(31) as u8;
        let planes = [gray(depth), rgb(depth), rgba(8), yuv420(depth)][i % 4].clone();
        let size = Size::new(1 + random.below(300) as u32, 1 + random.below(200) as u32);
        let picture = image(size, planes, TEXTURES[random.below(5) as usize], random.next() % 100);
        let options = EncodeOptions {
            target: [Target::Lossless, Target::Quality(70.0)][i / 4 % 2],
            profile: [Profile::Balanced, Profile::Fast, Profile::Small][i % 3],
            tile_log2: [5 + i as u32 / 2 % 2, 5 + i as u32 / 3 % 2],
            ..EncodeOptions::lossless()
        };
        let file = encode(&picture, options);
        let region = (i % 3 == 0).then(|| random_region(&mut random, size));
        let request = Request { region, ..Request::default() };
        let packet = file.packet(&request).unwrap();
        let cpu = Trace::reference(&packet).unwrap();
        let gpu = decoder.trace(&packet, None).unwrap();
        assert_same(&cpu.compare(&packet, &gpu), &format!("picture {i} of {size:?}, {depth} bits"));
        assert!(cpu.planes == file.decode_planar(&request).unwrap(), "the trace is not what comes out");
    }
}

/// The comparison finds an error that was planted in any stage, and stages that are given hide those before them.
#[test]
fn planted_errors_are_found() {
    let Some(gpu) = gpu(Shaders::Trusted) else { return };
    let mut decoder = GpuDecoder::new(gpu);
    let file = encode(&image(Size::new(200, 150), rgb(8), Texture::Photo, 1), options(Target::Lossless));
    let packet = file.packet(&Request::default()).unwrap();
    let cpu = Trace::reference(&packet).unwrap();
    for given in [Stage::Entropy, Stage::Upsample, Stage::Colour] {
        let gpu = decoder.trace(&packet, Some((given, &cpu))).unwrap();
        assert_same(&cpu.compare(&packet, &gpu), &format!("given {given}"));
    }

    let last = cpu.groups[0].len() - 1;
    let mut other = cpu.clone();
    // Plane 1 of the second tile.
    let symbols = &mut other.groups[0][last].symbols[4];
    let place = Place { band: 2, row: 7, column: 3 };
    symbols.set(place, symbols.at(place) + 1);
    let found = cpu.compare(&packet, &decoder.trace(&packet, Some((Stage::Entropy, &other))).unwrap());
    let first = found.first.unwrap();
    assert_eq!((first.stage, first.level, first.plane, first.tile), (Stage::Entropy, 0, 1, Some((1, 0))));
    assert_eq!((first.band, first.x, first.y, first.gpu), (Some(2), 3, 7, first.cpu + 1));
    assert!(found.differ[0] == 1 && found.differ[1] > 0 && found.differ[2] > 0, "{:?}", found.differ);

    let mut other = cpu.clone();
    let samples = &mut other.groups[0][last].samples[2].grid;
    samples.set(140, 20, samples.at(140, 20) ^ 64);
    let found = cpu.compare(&packet, &decoder.trace(&packet, Some((Stage::Upsample, &other))).unwrap());
    let first = found.first.unwrap();
    assert_eq!((first.stage, first.level, first.plane, first.tile), (Stage::Upsample, 0, 2, Some((1, 0))));
    assert_eq!((first.x, first.y, found.differ[0], found.differ[1]), (140, 20, 0, 1));
    assert!(found.differ[2] > 0);

    let mut other = cpu.clone();
    other.planes[1].set(9, 8, 1000);
    let found = cpu.compare(&packet, &decoder.trace(&packet, Some((Stage::Colour, &other))).unwrap());
    let first = found.first.unwrap();
    assert_eq!((first.stage, first.plane, first.x, first.y, first.gpu), (Stage::Colour, 1, 9, 8, 1000));
    assert_eq!(found.differ, [0, 0, 1]);
    assert!(first.to_string().starts_with("stage colour, level 0, plane 1, sample (9, 8): "), "{first}");
}

/// Good and broken files in one batch: no word is written outside of what the batch may write.
#[test]
fn nothing_is_written_elsewhere() {
    let mut random = Random(31);
    let pictures = [
        image(Size::new(140, 150), rgb(8), Texture::Photo, 1),
        image(Size::new(75, 66), gray(16), Texture::Noise, 2),
        image(Size::new(70, 81), gray(31), Texture::Photo, 3),
        image(Size::new(131, 33), rgba(8), Texture::Noise, 4),
        image(Size::new(1, 90), gray(8), Texture::Noise, 4),
    ];
    let mut faults = 0;
    for (i, picture) in pictures.iter().enumerate() {
        let target = [Target::Lossless, Target::Quality(70.0)][i % 2];
        let bytes = Encoder::new(options(target)).encode(picture).unwrap();
        let whole = open(bytes.clone());
        let files: Vec<_> = (0..60).filter_map(|_| broken(&mut random, &bytes)).collect();
        let request = |i: usize| Request {
            region: (i % 2 == 1).then(|| random_region(&mut Random(i as u64), picture.size)),
            ..Request::default()
        };
        let packets: Vec<Packet> = files
            .iter()
            .chain([&whole])
            .enumerate()
            .filter_map(|(i, file)| file.packet(&request(i)).ok())
            .collect();
        let batch: Vec<&Packet> = packets.iter().collect();
        for shaders in SHADERS {
            let Some(gpu) = gpu(shaders) else { return };
            let mut decoder = GpuDecoder::new(gpu);
            let eight_bits = picture.planes.iter().all(|plane| plane.info.depth == 8);
            for output in [Output::Planes, Output::Pixels].into_iter().take(1 + usize::from(eight_bits)) {
                let (decoded, trespasses) = decoder.decode_guarded(&batch, output).unwrap();
                assert!(trespasses.is_empty(), "{shaders:?}, {output:?}: {}", trespasses[0]);
                assert!(decoded.results[batch.len() - 1].is_ok(), "the whole file suffers from broken ones");
                faults += decoded.results.iter().filter(|r| matches!(r, Err(Error::Format { .. }))).count();
            }
        }
    }
    assert!(faults > 200, "only {faults} broken ones");
}
