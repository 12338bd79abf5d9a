//! Broken and hostile files: an error that says what is wrong, or exact pixels, and neither panics, hangs nor memory
//! beyond the limits.

use std::sync::mpsc;
use std::time::Duration;

use crate::alloc::Counted;
use crate::forge::Claims;
use crate::golden::with_metadata;
use crate::pictures::{Random, Texture, gray, image, rgb, rgba};
use crate::region::{BACKENDS, all_levels, encode};
use crate::repair;
use stepwell::stream::MemorySource;
use stepwell::{Decoder, Error, Image, Limits, PlaneInfo, PlaneKind, Rect, Request, Size, Target};

/// What strangers' files may ask for.
pub const STRICT: Limits = Limits { samples: 1 << 20, memory: 16 << 20, planes: 16, head: 1 << 20 };
/// The reference decoder holds whole levels with symbols, residuals and means, and the limit is an estimate.
const MOST_BYTES: usize = 64 << 20;

/// Fails if `work` takes longer than any of these tests should: most likely it never ends.
pub fn ends(work: impl FnOnce() + Send + 'static) {
    let (sender, receiver) = mpsc::channel::<()>();
    let thread = std::thread::spawn(move || {
        let _alive = sender;
        work();
    });
    match receiver.recv_timeout(Duration::from_secs(120)) {
        Err(mpsc::RecvTimeoutError::Timeout) => panic!("this does not end"),
        _ => thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)),
    }
}

/// Every LoQ of a file, by both decoders, which must agree on samples and on what cannot be decoded.
pub fn decode_all(file: &[u8], limits: Limits) -> Result<Vec<Result<Image, Error>>, Error> {
    let [cpu, reference] = BACKENDS.map(|backend| {
        Decoder::open(MemorySource::new(file.to_vec()), limits).map(|decoder| decoder.with_backend(backend))
    });
    let (cpu, reference) = (cpu?, reference?);
    let level = |loq| {
        let request = Request { loq, ..Request::default() };
        let (a, b) = (cpu.decode(&request), reference.decode(&request));
        match (&a, &b) {
            (Ok(a), Ok(b)) => assert!(a == b, "LoQ {loq}: the decoders differ"),
            (Err(_), Err(_)) => {}
            _ => panic!("LoQ {loq}: one decoder gives {:?}, the other {:?}", a.err(), b.err()),
        }
        a
    };
    Ok((0..=cpu.header().levels).map(level).collect())
}

/// Small files of several kinds, and all their LoQs.
pub fn small_files() -> Vec<(Vec<u8>, Vec<Image>)> {
    let mut planes = rgba(8);
    planes.push(PlaneInfo { subsampling: (2, 3), name: "µ".into(), ..PlaneInfo::new(PlaneKind::Other, 20) });
    let mut tagged = image(Size::new(12, 18), planes, Texture::Photo, 2);
    tagged.metadata =
        stepwell::Metadata { xmp: Some(b"<x/>".to_vec()), ..with_metadata(tagged.clone()).metadata };
    tagged.metadata.icc = Some(b"profile".to_vec());
    let files = [
        encode(&image(Size::new(19, 13), gray(8), Texture::Noise, 1), Target::Lossless),
        encode(&image(Size::new(21, 30), rgb(8), Texture::Photo, 1), Target::Quality(50.0)),
        encode(&tagged, Target::Lossless),
    ];
    files.map(|file| (file.clone(), all_levels(&file))).to_vec()
}

#[test]
fn truncated_at_every_byte() {
    for (file, whole) in small_files() {
        let header = repair::read_head(&file).unwrap();
        for end in 0..file.len() {
            let available = header.available(end as u64);
            let levels = match decode_all(&file[..end], STRICT) {
                Ok(levels) => levels,
                Err(Error::Truncated { .. } | Error::Format { .. }) if end < header.head_bytes as usize => {
                    continue;
                }
                Err(error) => panic!("cut at {end} of {}: {error}", file.len()),
            };
            for (loq, (level, whole)) in (0..).zip(levels.into_iter().zip(&whole)) {
                match level {
                    Ok(level) => {
                        assert!(available.unwrap() <= loq && level == *whole, "cut at {end}: LoQ {loq}")
                    }
                    Err(Error::Truncated { available: said, end: at, needed }) => {
                        assert!(available.is_none_or(|finest| loq < finest), "cut at {end}: LoQ {loq}");
                        assert_eq!((at, said), (end as u64, available), "LoQ {loq}");
                        assert!(needed > at && needed <= file.len() as u64);
                    }
                    Err(error) => panic!("cut at {end} of {}: LoQ {loq}: {error}", file.len()),
                }
            }
        }
    }
}

#[test]
fn every_flipped_bit_is_noticed_or_harmless() {
    for (file, whole) in small_files() {
        for bit in 0..8 * file.len() {
            let mut broken = file.clone();
            broken[bit / 8] ^= 1 << (bit % 8);
            let Ok(levels) = decode_all(&broken, STRICT) else { continue };
            for (loq, (level, whole)) in levels.iter().zip(&whole).enumerate() {
                assert!(
                    level.as_ref().map_or(true, |level| level == whole),
                    "bit {bit}: LoQ {loq} has wrong pixels"
                );
            }
            let decoder = Decoder::open(MemorySource::new(broken), STRICT).unwrap();
            assert!(decoder.verify().is_err(), "bit {bit} of {} is not missed", 8 * file.len());
        }
    }
}

/// Whatever a file says, decoding it ends, without panic and within the limits.
fn survives(counted: &Counted, file: &[u8]) -> bool {
    let (result, peak) = counted.peak(|| decode_all(file, STRICT).is_ok_and(|levels| levels[0].is_ok()));
    assert!(peak < MOST_BYTES, "{peak} bytes held for a file of {}", file.len());
    result
}

#[test]
fn flipped_bits_behind_right_checksums() {
    ends(|| {
        let counted = Counted::new();
        for (file, _) in small_files() {
            let mut decoded = 0;
            for bit in 0..8 * file.len() {
                let mut broken = file.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                repair::all(&mut broken);
                decoded += usize::from(survives(&counted, &broken));
            }
            // The repair works: many of them get past all checks.
            assert!(decoded > file.len() / 2, "only {decoded} of {}", 8 * file.len());
        }
    });
}

#[test]
fn overwritten_behind_right_checksums() {
    ends(|| {
        let counted = Counted::new();
        let mut random = Random(4);
        let large = encode(&image(Size::new(150, 90), rgba(8), Texture::Photo, 1), Target::Quality(70.0));
        let files: Vec<Vec<u8>> = small_files().into_iter().map(|(file, _)| file).chain([large]).collect();
        for turn in 0..1200 {
            let mut broken = files[turn % files.len()].clone();
            overwrite(&mut random, &mut broken);
            repair::all(&mut broken);
            survives(&counted, &broken);
        }
    });
}

/// Overwrites some places with a few bytes.
pub fn overwrite(random: &mut Random, file: &mut [u8]) {
    for _ in 0..1 + random.below(4) {
        let at = random.below(file.len() as u64) as usize;
        let count = (1 + random.below(8) as usize).min(file.len() - at);
        let value = [0, 255, 1, 127, 128, random.next() as u8][random.below(6) as usize];
        let same = random.below(2) == 0;
        file[at..at + count].iter_mut().for_each(|b| *b = if same { value } else { random.next() as u8 });
    }
}

#[test]
fn garbage_behind_the_end_is_not_read() {
    for (mut file, whole) in small_files() {
        file.extend((0..5000).map(|i| (i * 7) as u8));
        let levels: Vec<Image> = decode_all(&file, STRICT).unwrap().into_iter().map(Result::unwrap).collect();
        assert!(levels == whole);
        let error = Decoder::open(MemorySource::new(file), STRICT).unwrap().verify().unwrap_err();
        assert!(error.to_string().contains("behind the end"), "{error}");
    }
}

#[test]
fn not_stepwell_files() {
    let open =
        |bytes: &[u8]| Decoder::open(MemorySource::new(bytes.to_vec()), STRICT).unwrap_err().to_string();
    let png = open(b"\x89PNG\r\n\x1a\n and more");
    assert!(png.contains("not a Stepwell file"), "{png}");
    let empty = open(b"");
    assert!(empty.contains("too short"), "{empty}");
    let mut file = small_files()[0].0.clone();
    file[4] = b'\n';
    assert!(open(&file).contains("text mode"));
    file[4..8].copy_from_slice(b"\r\n\x1a\n");
    file[8] = 77;
    repair::head(&mut file);
    assert!(
        matches!(Decoder::open(MemorySource::new(file), STRICT), Err(Error::Unsupported(what)) if what.contains("77"))
    );
}

/// Pictures of absurd sizes, in files of a few kilobytes.
pub fn absurd() -> Vec<Claims> {
    let most = u32::MAX;
    let square = Claims::new(most, most);
    let many_planes = Claims { planes: 255, ..Claims::new(most, 1) };
    vec![
        square.clone(),
        Claims { tile_log2: 5, front_levels: square.levels(), ..square.clone() },
        Claims { window: Rect::new(most - 1, most - 1, 1, 1), ..square.clone() },
        Claims { window: Rect::new(most - 700, 5, 700, 700), tile_log2: 5, ..square.clone() },
        Claims { subsampling: (255, 255), ..square.clone() },
        Claims { pages: 1 << 56, payload: 1 << 50, ..square.clone() },
        Claims { back: vec![(16, most); 255], ..square },
        Claims::new(most, 1),
        Claims { tile_log2: 5, front_levels: 3, ..Claims::new(1, most) },
        Claims { planes: 255, ..Claims::new(1 << 16, 1 << 16) },
        Claims { tile_log2: 5, payload: 1 << 30, ..Claims::new(40_000, 40_000) },
        many_planes,
    ]
}

#[test]
fn absurd_sizes_take_little_memory() {
    ends(|| {
        let counted = Counted::new();
        for claims in absurd() {
            let file = claims.file(60_000);
            for limits in [STRICT, Limits::default()] {
                let (results, peak) = counted.peak(|| absurd_decodes(&file, limits));
                let outcome: Vec<_> = results.iter().map(|r| r.as_ref().map(|image| image.size)).collect();
                assert!(peak < MOST_BYTES, "{peak} bytes held for {claims:?}: {outcome:?}");
                for result in &results {
                    let fits = |e: &Error| {
                        matches!(e, Error::Limit { .. } | Error::Truncated { .. } | Error::Format { .. })
                    };
                    assert!(result.as_ref().err().is_none_or(fits), "{claims:?}: {outcome:?}");
                }
                assert!(results[results.len() - 1].is_err(), "{claims:?} decoded as a whole: {outcome:?}");
                // The head is fine, and the root samples are there unless megabytes of index stand before them.
                let root =
                    (claims.planes <= limits.planes as u8 || limits != STRICT) && claims.front_levels == 0;
                assert!(!root || !claims.back.is_empty() || results[0].is_ok(), "{claims:?}: {outcome:?}");
            }
        }
    });
}

/// Decodes of the root, of each LoQ of a corner, and of the whole.
fn absurd_decodes(file: &[u8], limits: Limits) -> Vec<Result<Image, Error>> {
    let decoder = match Decoder::open(MemorySource::new(file.to_vec()), limits) {
        Ok(decoder) => decoder,
        Err(error) => return vec![Err(error)],
    };
    absurd_requests(&decoder).iter().map(|request| decoder.decode(request)).collect()
}

/// The root, each LoQ of a corner, and the whole.
pub fn absurd_requests(decoder: &Decoder<MemorySource>) -> Vec<Request> {
    let (size, levels) = (decoder.size(), decoder.header().levels);
    let (width, height) = (size.width.min(3), size.height.min(3));
    let corner = Rect::new(size.width - width, size.height - height, width, height);
    let mut requests = vec![Request { loq: levels, ..Request::default() }];
    requests.extend((0..levels).map(|loq| Request { loq, region: Some(corner), planes: Some(vec![0]) }));
    requests.push(Request::default());
    requests
}

#[test]
fn claims_that_do_not_add_up_are_refused() {
    let claims = Claims::new(100, 80);
    let good = claims.file(4000);
    assert!(decode_all(&good, STRICT).unwrap().iter().all(Result::is_ok));
    let put = |at: usize, bytes: &[u8]| {
        let mut file = good.clone();
        file[at..at + bytes.len()].copy_from_slice(bytes);
        repair::head(&mut file);
        Decoder::open(MemorySource::new(file), STRICT).map(|_| ()).unwrap_err()
    };
    let loq_table = 64 + 6;
    for (what, at, bytes) in [
        ("canvas of 0", 32, &[0; 4][..]),
        ("canvas of 0 rows", 36, &[0; 4]),
        ("canvas of other levels", 32, &[255; 4]),
        ("window outside", 40, &[101, 0, 0, 0]),
        ("window that overflows", 40, &[255; 4]),
        ("window of 0", 48, &[0; 4]),
        ("no planes", 56, &[0]),
        ("two planes", 56, &[2]),
        ("255 planes", 56, &[255]),
        ("levels", 57, &[0]),
        ("255 levels", 57, &[255]),
        ("tiles of 2^4", 58, &[4]),
        ("tiles of 2^255", 58, &[255]),
        ("colour transform of one plane", 59, &[1]),
        ("fraction bits", 61, &[9]),
        ("front levels", 62, &[claims.levels() + 1]),
        ("orientation", 63, &[9]),
        ("0 bits", 64 + 1, &[0]),
        ("32 bits", 64 + 1, &[32]),
        ("sub-sampling 0", 64 + 3, &[0]),
        ("name longer than the head", 64 + 5, &[255]),
        ("file length", 16, &[255; 8]),
        ("file length by one", 16, &[good[16] ^ 1]),
        ("root's end", loq_table, &[good[loq_table] ^ 1]),
        ("a prefix of 2^64 - 1", loq_table + 8, &[255; 8]),
        ("an index of 2^64 - 1", loq_table + 16, &[255; 8]),
        ("an index of 0", loq_table + 16, &[0; 8]),
        ("head length", 12, &[64, 0, 0, 0]),
        ("head length 2^32 - 1", 12, &[255; 4]),
    ] {
        let error = put(at, bytes);
        let clear = matches!(error, Error::Format { .. } | Error::Limit { .. } | Error::Unsupported(_));
        assert!(clear && !error.to_string().is_empty(), "{what}: {error:?}");
    }
}
