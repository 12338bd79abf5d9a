//! A test for every fault that was found: by fuzzing, by these tests, by users.

use bytes::Bytes;

use crate::alloc::Counted;
use crate::forge::Claims;
use crate::pictures::{Random, TEXTURES, Texture, gray, image, rgb};
use crate::region::{all_levels, encode, open, random_region};
use stepwell::stream::{MemorySource, Source, SparseBytes};
use stepwell::{
    Backend, Decoder, EncodeOptions, Encoder, Error, Limits, Metadata, PlaneInfo, PlaneKind, Rect, Request,
};
use stepwell::{Size, Target};

/// A short segment that began inside a long one hid the rest of it: fetched bytes were fetched again, or missing.
#[test]
fn overlapping_segments_are_all_found() {
    let file: Vec<u8> = (0..=255).collect();
    let mut random = Random(1);
    for _ in 0..200 {
        let (mut sparse, mut known) = (SparseBytes::new(), [false; 256]);
        for _ in 0..6 {
            let (a, b) = (random.below(257), random.below(257));
            let range = a.min(b)..a.max(b);
            let places = range.start as usize..range.end as usize;
            sparse.insert(&range, Bytes::from(file[places.clone()].to_vec()));
            known[places].fill(true);
            for start in 0..256usize {
                for end in [start + 1, (start + 40).min(256), 256] {
                    let found = sparse.get(&(start as u64..end as u64));
                    let expected = known[start..end].iter().all(|&k| k).then(|| &file[start..end]);
                    assert_eq!(found.as_deref(), expected);
                }
            }
        }
    }
}

/// A range that reaches beyond a known end was an error instead of shorter.
#[test]
fn fetched_bytes_end_where_the_file_ends() {
    let mut sparse = SparseBytes::new();
    sparse.insert(&(0..100), Bytes::from(vec![7; 60]));
    assert_eq!(
        sparse.read(&[40..80, 60..61, 90..91, 0..60]).unwrap().iter().map(Bytes::len).collect::<Vec<_>>(),
        [20, 0, 0, 60]
    );
    let file = encode(&image(Size::new(20, 20), gray(8), Texture::Photo, 1), Target::Lossless);
    let mut sparse = SparseBytes::new();
    sparse.insert(&(0..1 << 20), file.into());
    assert!(Decoder::open(sparse, Limits::default()).unwrap().decode(&Request::default()).is_ok());
}

/// Where a read began behind the end of a cut file, the error took its beginning for the end.
#[test]
fn a_cut_file_ends_where_it_ends() {
    let size = Size::new(391, 283);
    let options = EncodeOptions { tile_log2: [5; 2], ..EncodeOptions::lossless() };
    let file = Encoder::new(options).encode(&image(size, gray(8), Texture::Photo, 1)).unwrap();
    let header = open(&file, Backend::Cpu).header().clone();
    let (mut random, mut noticed) = (Random(8), 0);
    for _ in 0..300 {
        let k = random.below(u64::from(header.levels)) as usize;
        let end = header.entries[k].prefix.saturating_sub(random.below(2) * random.below(2000));
        let source = MemorySource::new(file[..end as usize].to_vec());
        let Ok(decoder) = Decoder::open(source, Limits::default()) else { continue };
        let request = Request { region: Some(random_region(&mut random, size)), ..Request::default() };
        match decoder.decode(&request) {
            Err(Error::Truncated { end: said, available, .. }) => {
                assert_eq!((said, available), (end, header.available(end)), "{request:?}");
                noticed += 1;
            }
            decoded => assert!(decoded.unwrap() == open(&file, Backend::Cpu).decode(&request).unwrap()),
        }
    }
    assert!(noticed > 100, "{noticed}");
}

/// The search for a size crept towards its target from one side, and gave up on sizes that can be reached.
#[test]
fn thin_pictures_reach_their_size() {
    let picture = image(Size::new(777, 1), rgb(8), Texture::Photo, 2);
    let smallest = encode(&picture, Target::Quality(0.0)).len() as u64;
    for bytes in [smallest + 20, smallest * 5 / 4, smallest * 3 / 2, smallest * 2] {
        let file = Encoder::new(EncodeOptions { target: Target::Bytes(bytes), ..EncodeOptions::lossless() })
            .encode(&picture);
        assert!(file.is_ok_and(|file| file.len() as u64 <= bytes), "{bytes} bytes, {smallest} are possible");
    }
}

/// Steps times symbols overflowed: lossy planes of 28 bits and more came back with errors of half their range.
#[test]
fn deep_lossy_planes_stay_near() {
    for depth in 26..=31 {
        for texture in TEXTURES {
            let mut picture = image(Size::new(75, 41), rgb(depth), texture, 3);
            let signed = PlaneInfo { signed: true, ..PlaneInfo::new(PlaneKind::Depth, depth) };
            picture.planes.push(crate::pictures::plane(signed, picture.size, texture, 4));
            let file = encode(&picture, Target::Quality(90.0));
            for (plane, original) in all_levels(&file)[0].planes.iter().zip(&picture.planes) {
                let pairs = plane.samples.data().iter().zip(original.samples.data());
                let most = pairs.map(|(&a, &b)| (i64::from(a) - i64::from(b)).abs()).max().unwrap();
                assert!(most <= 4 << (depth - 8), "{depth} bits, {texture:?}: an error of {most}");
            }
        }
    }
}

/// Metadata that no reader accepts was written all the same.
#[test]
fn what_cannot_be_read_back_is_not_written() {
    let picture = image(Size::new(20, 20), gray(8), Texture::Photo, 1);
    for metadata in [
        Metadata { pixel_size: Some((0.0, 1.0)), ..Metadata::default() },
        Metadata { pixel_size: Some((1.0, f64::NAN)), ..Metadata::default() },
        Metadata { pixel_size: Some((-1.0, 1.0)), ..Metadata::default() },
        Metadata { orientation: 9, ..Metadata::default() },
        Metadata { icc: Some(Vec::new()), ..Metadata::default() },
    ] {
        let mut picture = picture.clone();
        picture.metadata = metadata;
        if let Ok(file) = Encoder::new(EncodeOptions::lossless()).encode(&picture) {
            let decoder =
                Decoder::open(MemorySource::new(file), Limits::default()).expect("a file was written");
            assert_eq!(decoder.metadata().unwrap(), picture.metadata);
        }
    }
}

/// What was decoded before a fault stayed in the caller's vector.
#[test]
fn interleaved_samples_come_whole_or_not_at_all() {
    let size = Size::new(391, 283);
    let file = encode(&image(size, rgb(8), Texture::Photo, 1), Target::Lossless);
    for backend in [Backend::Cpu, Backend::Reference] {
        let mut out: Vec<u8> = vec![1, 2, 3];
        open(&file[..file.len() - 1], backend).decode_interleaved(&Request::default(), &mut out).unwrap_err();
        assert_eq!(out, [1, 2, 3]);
    }
}

/// A table of all tiles of a level was made for a file that asked for any number of them, whatever the limits.
#[test]
fn extracts_stay_within_the_limits() {
    let claims = Claims { tile_log2: 5, ..Claims::new(1 << 17, 1 << 17) };
    let (file, counted) = (claims.file(800_000), Counted::new());
    let limits = Limits { samples: 1 << 16, memory: 8 << 20, ..Limits::default() };
    let region = Some(Rect::new(0, 0, 10, 10));
    let (result, peak) = counted.peak(|| {
        let decoder = Decoder::open(MemorySource::new(file), limits).unwrap();
        stepwell::extract(&decoder, &Request { region, ..Request::default() })
            .map(|file| file.into_vec().len())
    });
    assert!(matches!(result, Ok(_) | Err(Error::Limit { .. })), "{result:?}");
    assert!(peak < 24 << 20, "{peak} bytes held: {result:?}");
}
