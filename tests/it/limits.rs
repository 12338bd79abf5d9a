//! What callers and sources may do wrong or set tight: limits hold to the byte, and no source makes a decoder hang.

use std::io;
use std::ops::Range;
use std::sync::atomic::{AtomicUsize, Ordering};

use bytes::Bytes;

use crate::alloc::Counted;
use crate::hostile::ends;
use crate::pictures::{Texture, gray, image, rgb, rgba};
use crate::region::{BACKENDS, encode, open};
use stepwell::stream::{MemorySource, Source};
use stepwell::{
    Backend, CancelHandle, Control, Decoder, EncodeOptions, Encoder, Error, Limits, Metadata, Rect, Request,
};
use stepwell::{Size, Target};

fn outcome(file: &[u8], limits: Limits, request: &Request) -> Result<(), Error> {
    Decoder::open(MemorySource::new(file.to_vec()), limits)?.decode(request).map(|_| ())
}

#[test]
fn hold_to_the_last_byte() {
    let mut picture = image(Size::new(300, 200), rgb(8), Texture::Photo, 1);
    picture.metadata = Metadata { icc: Some(vec![1; 5000]), ..Metadata::default() };
    let file = encode(&picture, Target::Lossless);
    let request = Request { loq: 1, region: Some(Rect::new(0, 0, 100, 60)), planes: Some(vec![1]) };
    let decoder = open(&file, Backend::Cpu);
    let plan = decoder.plan(&request).unwrap();
    let head = u64::from(decoder.header().head_bytes).max(5000);
    assert_eq!(plan.samples(), 50 * 30);
    let fits = Limits { samples: plan.samples(), memory: plan.memory(), planes: 3, head };
    outcome(&file, fits, &request).unwrap();
    for (short, what, need) in [
        (Limits { samples: fits.samples - 1, ..fits }, "samples", fits.samples),
        (Limits { memory: fits.memory - 1, ..fits }, "memory", fits.memory),
        (Limits { planes: 2, ..fits }, "planes", 3),
        (Limits { head: head - 1, ..fits }, "metadata", head),
    ] {
        match outcome(&file, short, &request).unwrap_err() {
            Error::Limit { what: named, asked, allowed } => {
                assert!(
                    named.contains(what) && asked == need && allowed == need - 1,
                    "{named} {asked} {allowed}"
                );
            }
            error => panic!("{what}: {error}"),
        }
    }
}

/// [`stepwell::decode::Plan::memory`] is what a decode holds at most, roughly.
#[test]
fn the_memory_planned_is_the_memory_taken() {
    let counted = Counted::new();
    for (size, planes) in
        [((700, 500), rgb(8)), ((1000, 1000), gray(8)), ((9000, 9), rgba(8)), ((9, 9000), gray(16))]
    {
        let size = Size::new(size.0, size.1);
        let file = encode(&image(size, planes, Texture::Photo, 1), Target::Lossless);
        for loq in [0, 1] {
            let decoder = open(&file, Backend::Cpu);
            let request = Request { loq, ..Request::default() };
            let planned = decoder.plan(&request).unwrap().memory() as usize;
            let (result, peak) = counted.peak(|| decoder.decode(&request));
            result.unwrap();
            assert!(
                peak < planned * 3 / 2 + (1 << 20),
                "{size:?} LoQ {loq}: {planned} bytes planned, {peak} held"
            );
            assert!(
                planned < 4 * peak + (4 << 20),
                "{size:?} LoQ {loq}: {planned} bytes planned, {peak} held"
            );
        }
    }
}

/// How a source breaks its promise.
#[derive(Clone, Copy, Debug)]
enum Fault {
    Fails,
    GivesNothing,
    GivesOneOfSeveral,
    EndsEarly,
    GivesMore,
    ChangesBetweenReads,
    Shrinks,
}

struct Faulty {
    file: Vec<u8>,
    fault: Fault,
    reads: AtomicUsize,
}

impl Source for Faulty {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let turn = self.reads.fetch_add(1, Ordering::Relaxed);
        let mut file = self.file.clone();
        match self.fault {
            Fault::Fails => return Err(io::Error::other("the line is down")),
            Fault::Shrinks => file.truncate(file.len() * 9 / (9 + turn)),
            Fault::ChangesBetweenReads => {
                file.iter_mut().skip(turn % 5).step_by(5).for_each(|b| *b ^= turn as u8)
            }
            _ => {}
        }
        let mut bytes = MemorySource::new(file).read(ranges)?;
        match self.fault {
            Fault::GivesNothing => bytes.clear(),
            Fault::GivesOneOfSeveral => bytes.truncate(1),
            Fault::EndsEarly => bytes.iter_mut().for_each(|b| b.truncate(b.len() / 2)),
            Fault::GivesMore => bytes.iter_mut().for_each(|b| *b = [&b[..], &[0; 9]].concat().into()),
            _ => {}
        }
        Ok(bytes)
    }
}

#[test]
fn sources_that_break_their_promise_get_errors() {
    let size = Size::new(391, 283);
    let picture = image(size, rgb(8), Texture::Photo, 3);
    let file = Encoder::new(EncodeOptions { tile_log2: [5; 2], ..EncodeOptions::lossless() })
        .encode(&picture)
        .unwrap();
    for fault in [
        Fault::Fails,
        Fault::EndsEarly,
        Fault::GivesMore,
        Fault::ChangesBetweenReads,
        Fault::Shrinks,
        Fault::GivesOneOfSeveral,
        Fault::GivesNothing,
    ] {
        for backend in BACKENDS {
            let (file, picture) = (file.clone(), picture.clone());
            ends(move || {
                let source = Faulty { file, fault, reads: AtomicUsize::new(0) };
                let decode = |d: Decoder<Faulty>| d.with_backend(backend).decode(&Request::default());
                match Decoder::open(source, Limits::default()).and_then(decode) {
                    Ok(decoded) => assert!(decoded == picture, "{fault:?}: wrong pixels"),
                    Err(error) => assert!(!error.to_string().is_empty()),
                }
            });
        }
    }
}

#[test]
fn cancelled_work_says_so() {
    let size = Size::new(391, 283);
    let picture = image(size, rgb(8), Texture::Photo, 3);
    let file = encode(&picture, Target::Lossless);
    let cancelling = || {
        // Cancelled at the first sign of life.
        let handle = std::sync::Arc::new(std::sync::OnceLock::<CancelHandle>::new());
        let inner = handle.clone();
        let control = Control::new().on_progress(move |_| inner.get().unwrap().cancel());
        handle.set(control.cancel_handle()).unwrap();
        control
    };
    let decoder = open(&file, Backend::Cpu).with_control(cancelling());
    assert!(matches!(decoder.decode(&Request::default()), Err(Error::Cancelled)));
    for target in [Target::Lossless, Target::Quality(50.0), Target::BitsPerPixel(1.0)] {
        let options = EncodeOptions { target, ..EncodeOptions::lossless() };
        let encoded = Encoder::new(options).with_control(cancelling()).encode(&picture);
        assert!(matches!(encoded, Err(Error::Cancelled)), "{target:?}");
    }
}
