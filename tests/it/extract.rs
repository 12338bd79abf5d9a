//! A file cut out of a file decodes to what the cut-out part of the whole is.

use crate::pictures::{Random, Texture, gray, image, rgb, yuv420};
use crate::region::{BACKENDS, open, random_region};
use stepwell::stream::MemorySource;
use stepwell::{
    Decoder, EncodeOptions, Encoder, Image, Limits, PlaneInfo, Rect, Request, Size, Target, extract,
};

fn file(size: Size, planes: Vec<PlaneInfo>, target: Target) -> Vec<u8> {
    let options = EncodeOptions { target, tile_log2: [5; 2], ..EncodeOptions::lossless() };
    Encoder::new(options).encode(&image(size, planes, Texture::Photo, 3)).unwrap()
}

fn extracted(file: &[u8], request: &Request) -> Vec<u8> {
    let decoder = open(file, BACKENDS[0]);
    extract(&decoder, request).unwrap().into_vec()
}

fn decode(file: &[u8], request: &Request) -> Image {
    let [cpu, reference] = BACKENDS.map(|backend| open(file, backend).decode(request).unwrap());
    assert!(cpu == reference);
    cpu
}

/// LoQs that both the extract and the whole have, whole and in parts, demanded to be the same.
fn same_as_the_whole(whole: &[u8], part: &[u8], request: &Request, random: &mut Random) {
    let region = request.region.unwrap();
    let decoder = open(part, BACKENDS[0]);
    decoder.verify().unwrap();
    // On the whole's canvas, of which its picture may be a window.
    let window = open(whole, BACKENDS[0]).header().window;
    let region = Rect { x: region.x + window.x, y: region.y + window.y, ..region };
    let first = region.at_level(request.loq);
    assert_eq!((decoder.size(), decoder.header().window), (first.size(), first));
    for loq in 0..=decoder.header().levels {
        let finest = Request { loq, ..Request::default() };
        let (ours, theirs) = (decode(part, &finest), Request { loq: loq + request.loq, ..request.clone() });
        let theirs = decode(whole, &theirs);
        assert!(ours == theirs, "{request:?}: LoQ {loq} of the extract");
        // A region of the extract, in pixels of the whole.
        let inner = random_region(random, decoder.size());
        let ours = decode(part, &Request { loq, region: Some(inner), planes: None });
        let scale = 1 << request.loq;
        let (x, y) = ((first.x + inner.x) * scale, (first.y + inner.y) * scale);
        let outer = Rect::new(x, y, inner.width * scale, inner.height * scale).intersect(window);
        let outer = outer.relative_to(window.x, window.y);
        let theirs = Request { loq: loq + request.loq, region: Some(outer), planes: None };
        assert!(
            ours.planes == decode(whole, &theirs).planes,
            "{request:?}: {inner:?} at LoQ {loq} of the extract"
        );
    }
}

#[test]
fn tiles_keep_the_size_of_the_level_they_came_from() {
    let size = Size::new(391, 283);
    for tile_log2 in [[6, 5], [5, 5], [5, 6]] {
        let options = EncodeOptions { tile_log2, ..EncodeOptions::lossless() };
        let whole = Encoder::new(options).encode(&image(size, rgb(8), Texture::Photo, 3)).unwrap();
        for loq in 0..3 {
            let request = Request { loq, region: Some(size.rect()), planes: None };
            let part = extracted(&whole, &request);
            same_as_the_whole(&whole, &part, &request, &mut Random(6));
        }
    }
}

#[test]
fn decodes_as_the_part_it_is() {
    let mut random = Random(5);
    for (size, planes, target) in [
        ((391, 283), rgb(8), Target::Lossless),
        ((391, 283), yuv420(8), Target::Quality(70.0)),
        ((97, 1), gray(16), Target::Lossless),
        ((5, 7), gray(8), Target::Lossless),
    ] {
        let size = Size::new(size.0, size.1);
        let whole = file(size, planes, target);
        let levels = open(&whole, BACKENDS[0]).header().levels;
        for _ in 0..6 {
            let loq = random.below(u64::from(levels) + 1) as u8;
            let region = Some(random_region(&mut random, size));
            let request = Request { loq, region, planes: None };
            let part = extracted(&whole, &request);
            same_as_the_whole(&whole, &part, &request, &mut random);
            // An extract of the extract.
            let size = open(&part, BACKENDS[0]).size();
            let loq = random.below(u64::from(levels - loq) + 1) as u8;
            let request = Request { loq, region: Some(random_region(&mut random, size)), planes: None };
            same_as_the_whole(&part, &extracted(&part, &request), &request, &mut random);
        }
    }
}

#[test]
fn of_everything_is_the_same_picture() {
    let size = Size::new(131, 67);
    let whole = file(size, rgb(8), Target::Lossless);
    let part = extracted(&whole, &Request::default());
    assert!(decode(&part, &Request::default()) == decode(&whole, &Request::default()));
    assert_eq!(part.len(), whole.len());
}

#[test]
fn small_parts_make_small_files() {
    let size = Size::new(1200, 900);
    let whole = file(size, gray(8), Target::Lossless);
    let request = Request { region: Some(Rect::new(500, 400, 40, 40)), ..Request::default() };
    let part = extracted(&whole, &request);
    assert!(part.len() * 10 < whole.len(), "{} of {}", part.len(), whole.len());
    let cut = Decoder::open(MemorySource::new(whole[..whole.len() / 2].to_vec()), Limits::default()).unwrap();
    assert!(extract(&cut, &Request::default()).is_err());
    let planes = Request { planes: Some(vec![0]), ..Request::default() };
    assert!(extract(&open(&whole, BACKENDS[0]), &planes).is_err());
}
