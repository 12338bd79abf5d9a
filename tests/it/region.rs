use std::ops::Range;

use crate::pictures::{Random, TEXTURES, Texture, gray, image, rgb, rgba, yuv420};
use crate::sources::{Watched, garbage_outside};
use stepwell::container::header::FIRST_READ;
use stepwell::container::index::Chunk;
use stepwell::stream::MemorySource;
use stepwell::stream::coalesce;
use stepwell::{
    Backend, Decoder, EncodeOptions, Encoder, Image, Limits, PlaneInfo, PlaneKind, Rect, Request, Size,
    Target,
};

pub const BACKENDS: [Backend; 2] = [Backend::Cpu, Backend::Reference];

pub fn open(file: &[u8], backend: Backend) -> Decoder<MemorySource> {
    Decoder::open(MemorySource::new(file.to_vec()), Limits::default()).unwrap().with_backend(backend)
}

pub fn encode(image: &Image, target: Target) -> Vec<u8> {
    let options = EncodeOptions { target, ..EncodeOptions::lossless() };
    Encoder::new(options).encode(image).unwrap()
}

/// Every LoQ of a file, whole. Both decoders must agree.
pub fn all_levels(file: &[u8]) -> Vec<Image> {
    let [cpu, reference] = BACKENDS.map(|backend| open(file, backend));
    let level = |loq| {
        let request = Request { loq, ..Request::default() };
        let image = cpu.decode(&request).unwrap();
        assert_eq!(image, reference.decode(&request).unwrap(), "LoQ {loq}: the decoders differ");
        image
    };
    (0..=cpu.header().levels).map(level).collect()
}

/// A region that may be anything from one pixel to all, often at an edge.
pub fn random_region(random: &mut Random, size: Size) -> Rect {
    let mut span = |all: u32| {
        let all = u64::from(all);
        let (a, b) = match random.below(4) {
            0 => (0, random.below(all)),
            1 => (all - 1, random.below(all)),
            2 => (random.below(all), random.below(all)),
            _ => [random.below(all); 2].into(),
        };
        (a.min(b) as u32, (a.abs_diff(b) + 1) as u32)
    };
    let ((x, width), (y, height)) = (span(size.width), span(size.height));
    Rect::new(x, y, width, height)
}

/// What a decode of `region` and `planes` must give, cut out of the LoQ decoded whole. The arithmetic is this test's
/// own: a sample of LoQ n stands for `sub-sampling × 2^n` pixels a side, and comes out if the region touches one.
fn cut(whole: &Image, loq: u8, region: Rect, planes: &[usize]) -> Image {
    let span = |start: u32, length: u32, factor: u8| -> Range<u64> {
        let cell = u64::from(factor) << loq;
        u64::from(start) / cell..(u64::from(start) + u64::from(length)).div_ceil(cell)
    };
    let (columns, rows) = (span(region.x, region.width, 1), span(region.y, region.height, 1));
    let size = Size::new((columns.end - columns.start) as u32, (rows.end - rows.start) as u32);
    let plane = |&p: &usize| {
        let mut plane = whole.planes[p].clone();
        let columns = span(region.x, region.width, plane.info.subsampling.0);
        let rows = span(region.y, region.height, plane.info.subsampling.1);
        let size = (columns.end - columns.start, rows.end - rows.start);
        plane.samples =
            plane.samples.crop(columns.start as usize, rows.start as usize, size.0 as usize, size.1 as usize);
        plane
    };
    Image { size, planes: planes.iter().map(plane).collect(), metadata: whole.metadata.clone() }
}

/// Any of the planes, in any order.
fn random_planes(random: &mut Random, count: usize) -> Vec<usize> {
    let mut planes: Vec<usize> = (0..count).collect();
    for i in (1..count).rev() {
        planes.swap(i, random.below(i as u64 + 1) as usize);
    }
    planes.truncate(1 + random.below(count as u64) as usize);
    planes
}

/// Demands of both decoders that some regions of every LoQ are the same as cut out of the whole.
pub fn regions_are_crops(file: &[u8], size: Size, regions: usize, seed: u64) {
    let whole = all_levels(file);
    let decoders = BACKENDS.map(|backend| open(file, backend));
    let mut random = Random(seed);
    for (loq, whole) in (0..).zip(&whole) {
        for _ in 0..regions {
            let region = random_region(&mut random, size);
            let planes = random_planes(&mut random, whole.planes.len());
            let expected = cut(whole, loq, region, &planes);
            assert_eq!(expected.size, region.at_level(loq).size());
            let request = Request { loq, region: Some(region), planes: Some(planes) };
            for (decoder, backend) in decoders.iter().zip(BACKENDS) {
                let decoded = decoder.decode(&request).unwrap();
                assert!(decoded == expected, "{backend:?} of {request:?} of {size:?}");
            }
        }
    }
}

#[test]
fn of_any_size() {
    let mut random = Random(1);
    for seed in 0..60 {
        let size = Size::new(1 + random.below(90) as u32, 1 + random.below(90) as u32);
        let picture = image(size, rgba(8), TEXTURES[seed as usize % 5], seed);
        let target = [Target::Lossless, Target::Quality(80.0)][seed as usize % 2];
        regions_are_crops(&encode(&picture, target), size, 6, seed);
    }
}

#[test]
fn across_tiles() {
    for (size, seed) in [((391, 283), 1), ((777, 1), 2), ((1, 777), 3), ((260, 514), 4)] {
        let size = Size::new(size.0, size.1);
        for target in [Target::Lossless, Target::Quality(60.0), Target::Bytes(10_000)] {
            let options = EncodeOptions { target, tile_log2: [5; 2], ..EncodeOptions::lossless() };
            let file = Encoder::new(options).encode(&image(size, rgb(8), Texture::Photo, seed)).unwrap();
            regions_are_crops(&file, size, 5, seed);
        }
    }
}

#[test]
fn of_subsampled_planes() {
    for (size, seed) in [((391, 283), 1), ((5, 3), 2), ((64, 129), 3), ((1, 30), 4)] {
        let size = Size::new(size.0, size.1);
        let mut planes = yuv420(10);
        planes.push(PlaneInfo { subsampling: (3, 5), signed: true, ..PlaneInfo::new(PlaneKind::Depth, 20) });
        for target in [Target::Lossless, Target::Quality(80.0)] {
            regions_are_crops(
                &encode(&image(size, planes.clone(), Texture::Photo, seed), target),
                size,
                6,
                seed,
            );
        }
    }
}

#[test]
fn across_index_blocks() {
    // 16 tiles of 64 quads are a block: this is two blocks wide at LoQ 0.
    let size = Size::new(2500, 37);
    let file = encode(&image(size, gray(8), Texture::Photo, 1), Target::Lossless);
    regions_are_crops(&file, size, 5, 1);
}

/// Regions, LoQs and planes, with a decoder over a source that watches, and the bytes that opening and planning read.
fn for_plans(
    file: &[u8],
    size: Size,
    mut check: impl FnMut(&Decoder<Watched>, &Request, Vec<Range<u64>>, u64),
) {
    let mut random = Random(3);
    for seed in 0..40 {
        for backend in BACKENDS {
            let decoder = Decoder::open(Watched::new(file), Limits::default()).unwrap().with_backend(backend);
            let loq = random.below(u64::from(decoder.header().levels) + 1) as u8;
            let planes = Some(random_planes(&mut random, decoder.header().planes.len()));
            let request = Request { loq, region: Some(random_region(&mut random, size)), planes };
            decoder.plan(&request).unwrap();
            let index = decoder.source().take();
            check(&decoder, &request, index, seed);
        }
    }
}

fn watched_file(size: Size) -> Vec<u8> {
    let mut planes = rgba(8);
    planes.push(PlaneInfo { subsampling: (2, 2), ..PlaneInfo::new(PlaneKind::Depth, 12) });
    let picture = image(size, planes, Texture::Photo, 9);
    Encoder::new(EncodeOptions { tile_log2: [5; 2], ..EncodeOptions::lossless() }).encode(&picture).unwrap()
}

#[test]
fn reads_the_bytes_of_its_plan_and_no_others() {
    let size = Size::new(391, 283);
    for_plans(&watched_file(size), size, |decoder, request, _, _| {
        let plan = decoder.plan(request).unwrap();
        // What the first read has brought is not read again.
        let chunks = plan.groups.iter().flat_map(|g| &g.levels).flat_map(|l| &l.chunks).map(Chunk::range);
        let expected = coalesce(chunks.chain([plan.root.clone()]).filter(|r| r.end > FIRST_READ), 0);
        decoder.source().allow(Some(expected.clone()));
        decoder.decode(request).unwrap();
        assert_eq!(decoder.source().take(), expected, "{request:?}");
        assert_eq!(plan.bytes(), plan.ranges().iter().map(|r| r.end - r.start).sum());
        decoder.source().allow(Some(Vec::new()));
        assert_eq!(decoder.decode(request).is_err(), !expected.is_empty(), "the source has refused nothing");
    });
}

#[test]
fn garbage_outside_of_the_plan_changes_nothing() {
    let size = Size::new(391, 283);
    let file = watched_file(size);
    for_plans(&file, size, |decoder, request, index, seed| {
        let plan = decoder.plan(request).unwrap();
        let kept: Vec<_> = index.into_iter().chain(plan.ranges()).collect();
        let garbled = garbage_outside(&file, &kept, seed);
        assert_eq!(open(&garbled, Backend::Cpu).decode(request).unwrap(), decoder.decode(request).unwrap());
        // All of what the plan names is needed: a byte that is wrong anywhere in it is noticed.
        let chosen = &plan.ranges()[seed as usize % plan.ranges().len()];
        let mut broken = file.clone();
        broken[(chosen.start + seed * 7919 % (chosen.end - chosen.start)) as usize] ^= 0x10;
        assert!(open(&broken, Backend::Cpu).decode(request).is_err(), "{request:?}");
    });
}

#[test]
fn small_regions_take_few_bytes() {
    let size = Size::new(1200, 900);
    let options = EncodeOptions { tile_log2: [5; 2], ..EncodeOptions::lossless() };
    let file = Encoder::new(options).encode(&image(size, gray(8), Texture::Photo, 9)).unwrap();
    let decoder = open(&file, Backend::Cpu);
    let request = Request { region: Some(Rect::new(500, 400, 40, 40)), ..Request::default() };
    let bytes = decoder.plan(&request).unwrap().bytes();
    assert!(bytes * 10 < file.len() as u64, "{bytes} of {}", file.len());
    decoder.decode(&request).unwrap();
    assert!(decoder.bytes_read() < bytes + (20 << 10), "{} read, {bytes} planned", decoder.bytes_read());
}

#[test]
fn interleaved_is_the_same() {
    let size = Size::new(150, 97);
    for (planes, order) in
        [(rgba(8), vec![3, 0, 1]), (rgb(8), vec![0, 1, 2]), (gray(8), vec![0]), (rgba(8), vec![1, 2])]
    {
        let file = encode(&image(size, planes, Texture::Photo, 4), Target::Lossless);
        for backend in BACKENDS {
            let decoder = open(&file, backend);
            for loq in 0..=decoder.header().levels {
                let region = Some(Rect::new(31, 17, 80, 61));
                let request = Request { loq, region, planes: Some(order.clone()) };
                let planar = decoder.decode(&request).unwrap();
                let mut out: Vec<u8> = vec![7];
                assert_eq!(decoder.decode_interleaved(&request, &mut out).unwrap(), planar.size);
                let count = planar.size.area() as usize;
                let pixels =
                    (0..count).flat_map(|i| planar.planes.iter().map(move |p| p.samples.data()[i] as u8));
                assert_eq!(
                    out,
                    [7].into_iter().chain(pixels).collect::<Vec<u8>>(),
                    "{backend:?} {request:?}"
                );
            }
        }
    }
}

#[test]
fn senseless_requests_are_refused() {
    let file = encode(&image(Size::new(40, 30), rgb(8), Texture::Photo, 4), Target::Lossless);
    let decoder = open(&file, Backend::Cpu);
    let region =
        |x, y, width, height| Request { region: Some(Rect::new(x, y, width, height)), ..Request::default() };
    let planes = |planes: &[usize]| Request { planes: Some(planes.to_vec()), ..Request::default() };
    for request in [
        region(0, 0, 0, 1),
        region(0, 0, 1, 0),
        region(0, 0, 41, 1),
        region(40, 0, 1, 1),
        region(39, 29, 1, 2),
        region(1, 1, u32::MAX, 1),
        region(u32::MAX, u32::MAX, u32::MAX, u32::MAX),
        planes(&[]),
        planes(&[3]),
        planes(&[0, usize::MAX]),
        Request { loq: decoder.header().levels + 1, ..Request::default() },
        Request { loq: 255, ..Request::default() },
    ] {
        let error = decoder.decode(&request).unwrap_err();
        assert!(matches!(error, stepwell::Error::Request(_)), "{request:?}: {error}");
    }
}
