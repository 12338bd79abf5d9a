//! A file cut at a LoQ's prefix is a whole file down to that LoQ, and however bytes arrive, pixels are the same.

use std::ops::Range;

use bytes::Bytes;

use crate::golden::many_planes;
use crate::pictures::{Random, Texture, gray, image, rgba, yuv420};
use crate::region::{BACKENDS, all_levels, encode, open, random_region};
use crate::sources::{ByHand, drive};
use stepwell::container::{Opening, Step};
use stepwell::stream::{MemorySource, Source, SparseBytes};
use stepwell::{Backend, Decoder, Error, Image, Limits, Metadata, Request, Size, Target};

/// Small and large, lossless and lossy, with and without much index and metadata.
fn files() -> Vec<(Size, Vec<u8>)> {
    let mut out = Vec::new();
    for (size, target) in [
        ((9, 7), Target::Lossless),
        ((100, 75), Target::Lossless),
        ((391, 283), Target::Quality(70.0)),
        ((2500, 37), Target::Lossless),
    ] {
        let size = Size::new(size.0, size.1);
        let mut picture = image(size, rgba(8), Texture::Photo, 3);
        let profile = (0..30_000u32).map(|i| ((i * i) >> 7) as u8).collect();
        picture.metadata =
            Metadata { icc: Some(profile), xmp: Some(b"<x/>".to_vec()), ..Metadata::default() };
        out.push((size, encode(&picture, target)));
        out.push((size, encode(&image(size, yuv420(12), Texture::Photo, 4), target)));
    }
    let size = Size::new(40, 30);
    out.push((size, encode(&image(size, many_planes(), Texture::Photo, 4), Target::Lossless)));
    let header = open(&out[out.len() - 1].1, Backend::Cpu).header().clone();
    assert!(header.front_levels < header.levels, "some index shall stand behind the root samples");
    out
}

#[test]
fn a_prefix_is_a_whole_file_down_to_its_loq() {
    for (size, file) in files() {
        let whole = all_levels(&file);
        let levels = whole.len() as u8 - 1;
        for k in 0..=levels {
            let prefix = open(&file, Backend::Cpu).prefix(k).unwrap();
            let cut = &file[..prefix as usize];
            for backend in BACKENDS {
                let decoder = open(cut, backend);
                for loq in (k..=levels).rev() {
                    let decoded = decoder.decode(&Request { loq, ..Request::default() }).unwrap();
                    assert!(decoded == whole[usize::from(loq)], "{size:?} cut for LoQ {k}: LoQ {loq}");
                }
                if k == 0 || decoder.prefix(k - 1) == decoder.prefix(k) {
                    continue;
                }
                let error = decoder.decode(&Request { loq: k - 1, ..Request::default() }).unwrap_err();
                let Error::Truncated { end, needed, available } = error else { panic!("{error}") };
                assert_eq!((end, available), (prefix, Some(k)), "{size:?} cut for LoQ {k}");
                assert!(needed > end && needed <= decoder.prefix(k - 1).unwrap());
            }
        }
        assert_eq!(open(&file, Backend::Cpu).prefix(0), Some(file.len() as u64));
        assert_eq!(open(&file, Backend::Cpu).prefix(levels + 1), None);
    }
}

/// Opens, plans and fetches by hand: `supply` gets every range asked for and gives it to the sink in its own way.
fn arrive(
    file: &[u8],
    request: &Request,
    mut supply: impl FnMut(&Range<u64>, &mut dyn FnMut(Range<u64>, Bytes)),
) -> Image {
    let mut sparse = SparseBytes::new();
    let mut opening = Opening::new(Limits::default());
    let mut index = loop {
        match opening.step().unwrap() {
            Step::Ready(index) => break index,
            Step::Need(ranges) => ranges.iter().for_each(|range| {
                supply(range, &mut |range, bytes| {
                    sparse.insert(&range, bytes.clone());
                    opening.supply(&range, bytes);
                })
            }),
        }
    };
    let plan = loop {
        let ranges = match index.metadata().unwrap() {
            Step::Need(ranges) => ranges,
            Step::Ready(_) => match index.plan(request).unwrap() {
                Step::Ready(plan) => break plan,
                Step::Need(ranges) => ranges,
            },
        };
        for range in &ranges {
            supply(range, &mut |range, bytes| {
                sparse.insert(&range, bytes.clone());
                index.supply(&range, bytes);
            });
        }
    };
    for range in plan.ranges() {
        supply(&range, &mut |range, bytes| sparse.insert(&range, bytes));
    }
    // Whoever knows the file's end says so: a read from there on comes back empty.
    let end = file.len() as u64;
    sparse.insert(&(end..end + 1), Bytes::new());
    Decoder::open(sparse, Limits::default()).unwrap().decode(request).unwrap()
}

fn requests(size: Size, file: &[u8]) -> Vec<Request> {
    let mut random = Random(5);
    let levels = open(file, Backend::Cpu).header().levels;
    let mut out = vec![Request::default()];
    for loq in [0, 1.min(levels), levels] {
        let planes = Some(vec![random.below(3) as usize]);
        out.push(Request { loq, region: Some(random_region(&mut random, size)), planes });
    }
    out
}

#[test]
fn bytes_may_come_one_by_one_and_in_any_order() {
    for (size, file) in files() {
        for (turn, request) in requests(size, &file).into_iter().enumerate() {
            let source = MemorySource::new(file.clone());
            let mut random = Random(turn as u64);
            let decoded = arrive(&file, &request, |range, sink| {
                let bytes = source.read(std::slice::from_ref(range)).unwrap().pop().unwrap();
                let mut pieces: Vec<(u64, usize)> = Vec::new();
                let mut at = 0;
                while at < bytes.len() {
                    // Single bytes where that is quick enough, and otherwise pieces that overlap.
                    let length = if file.len() < 20_000 { 1 } else { 1 + random.below(3000) as usize };
                    pieces.push((at as u64, length.min(bytes.len() - at)));
                    at += length.div_ceil(1 + random.below(2) as usize);
                }
                for i in (1..pieces.len()).rev() {
                    pieces.swap(i, random.below(i as u64 + 1) as usize);
                }
                for (at, length) in pieces {
                    let start = range.start + at;
                    sink(start..start + length as u64, bytes.slice(at as usize..at as usize + length));
                }
                let end = range.start + bytes.len() as u64;
                sink(end..range.end, Bytes::new());
            });
            assert!(decoded == open(&file, Backend::Cpu).decode(&request).unwrap(), "{size:?} {request:?}");
        }
    }
}

#[test]
fn awaited_bytes_give_the_same() {
    for (size, file) in files() {
        for (turn, request) in requests(size, &file).into_iter().enumerate() {
            let mut random = Random(turn as u64);
            let source = ByHand::new(&file);
            // Given up halfway, and begun anew.
            let mut turns = 2;
            let given_up = drive(stepwell::decode::fetch(&source, &request, Limits::default()), || {
                turns -= 1;
                turns > 0 && source.deliver(&mut random)
            });
            // One delivery can be enough: the first read brings small pictures whole.
            assert!(given_up.is_none_or(|done| done.is_ok()));
            let source = ByHand::new(&file);
            let fetching = stepwell::decode::fetch(&source, &request, Limits::default());
            let decoder = drive(fetching, || source.deliver(&mut random)).unwrap().unwrap();
            let expected = open(&file, Backend::Cpu);
            assert!(
                decoder.decode(&request).unwrap() == expected.decode(&request).unwrap(),
                "{size:?} {request:?}"
            );
            let fetched: u64 =
                source.fetched.borrow().iter().map(|r| r.end.min(file.len() as u64) - r.start).sum();
            assert!(
                fetched <= expected.bytes_read(),
                "{fetched} bytes fetched, {} would do",
                expected.bytes_read()
            );
        }
    }
}

#[test]
fn awaited_bytes_of_a_cut_file_say_where_it_ends() {
    let size = Size::new(391, 283);
    let file = encode(&image(size, gray(8), Texture::Photo, 3), Target::Lossless);
    let prefix = open(&file, Backend::Cpu).prefix(2).unwrap() as usize;
    let source = ByHand::new(&file[..prefix]);
    let mut random = Random(1);
    let mut fetch = |loq| {
        let request = Request { loq, ..Request::default() };
        let decoder = drive(stepwell::decode::fetch(&source, &request, Limits::default()), || {
            source.deliver(&mut random)
        });
        decoder.unwrap().and_then(|decoder| decoder.decode(&request))
    };
    assert_eq!(fetch(2).unwrap().size, size.at_level(2));
    let error = fetch(1).unwrap_err();
    assert!(matches!(error, Error::Truncated { available: Some(2), .. }), "{error:?}");
}

#[test]
fn threads_may_share_a_decoder() {
    let size = Size::new(391, 283);
    let file = encode(&image(size, rgba(8), Texture::Photo, 3), Target::Lossless);
    let (alone, shared) = (open(&file, Backend::Cpu), open(&file, Backend::Cpu));
    let wanted = requests(size, &file);
    std::thread::scope(|scope| {
        for turn in 0..4 {
            let (alone, shared, wanted) = (&alone, &shared, &wanted);
            scope.spawn(move || {
                for i in 0..wanted.len() {
                    let request = &wanted[(i + turn) % wanted.len()];
                    assert!(shared.decode(request).unwrap() == alone.decode(request).unwrap(), "{request:?}");
                }
            });
        }
    });
}
