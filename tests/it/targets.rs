//! What fuzzers call, with any bytes: `tests/fuzz/` has a fuzzer for each, `fuzz_smoke.rs` a quick run without any.
//! Each returns whether the bytes led to something that was decoded.

use crate::repair;
use stepwell::stream::MemorySource;
use stepwell::{
    Backend, Decoder, EncodeOptions, Encoder, Error, Grid, Image, Limits, Metadata, Plane, PlaneInfo,
    PlaneKind, Rect, Request, Size, Target,
};

/// What strangers' files may ask for.
const LIMITS: Limits = Limits { samples: 1 << 18, memory: 8 << 20, planes: 8, head: 1 << 20 };

fn open(file: &[u8], backend: Backend) -> Result<Decoder<MemorySource>, Error> {
    Ok(Decoder::open(MemorySource::new(file.to_vec()), LIMITS)?.with_backend(backend))
}

/// Opens a file and plans decodes, as it is and past all checksums.
pub fn index(data: &[u8]) -> bool {
    let mut file = data.to_vec();
    repair::all(&mut file);
    plans(data) | plans(&file)
}

/// Plans decodes of all LoQs, whole and of a corner. Ranges must be in order and inside of what the file claims to be.
fn plans(file: &[u8]) -> bool {
    let Ok(decoder) = open(file, Backend::Cpu) else { return false };
    let (size, header) = (decoder.size(), decoder.header());
    let corner = Rect::new(size.width / 2, size.height / 2, 1, size.height - size.height / 2);
    let mut any = false;
    for loq in 0..=header.levels {
        for region in [None, Some(corner)] {
            let Ok(plan) = decoder.plan(&Request { loq, region, planes: None }) else { continue };
            let ranges = plan.ranges();
            assert!(ranges.iter().all(|r| r.start < r.end && r.end <= header.file_length));
            assert!(ranges.windows(2).all(|w| w[0].end < w[1].start));
            any = true;
        }
    }
    any
}

/// Decodes all LoQs with both decoders, past all checksums.
pub fn decode(data: &[u8]) -> bool {
    let mut file = data.to_vec();
    repair::all(&mut file);
    let (Ok(cpu), Ok(reference)) = (open(&file, Backend::Cpu), open(&file, Backend::Reference)) else {
        return false;
    };
    let _ = cpu.verify();
    let mut any = false;
    for loq in (0..=cpu.header().levels).rev() {
        let request = Request { loq, ..Request::default() };
        match (cpu.decode(&request), reference.decode(&request)) {
            (Ok(a), Ok(b)) => {
                assert!(a == b, "LoQ {loq}: the decoders differ");
                any = true;
            }
            (Err(_), Err(_)) => {}
            (a, b) => panic!("LoQ {loq}: one decoder gives {:?}, the other {:?}", a.err(), b.err()),
        }
    }
    any
}

/// Bytes as numbers; zeros once they are used up.
struct Bytes<'a>(&'a [u8]);

impl Bytes<'_> {
    fn next(&mut self) -> u8 {
        match self.0.split_first() {
            Some((&byte, rest)) => {
                self.0 = rest;
                byte
            }
            None => 0,
        }
    }

    fn word(&mut self) -> u32 {
        u32::from_le_bytes([self.next(), self.next(), self.next(), self.next()])
    }
}

/// Makes a picture of the bytes: size and planes from the first ones, samples from the rest.
fn picture(bytes: &mut Bytes) -> Image {
    let kinds = [PlaneKind::Red, PlaneKind::Green, PlaneKind::Blue, PlaneKind::Alpha, PlaneKind::ChromaBlue];
    let size = Size::new(1 + u32::from(bytes.next()) % 200, 1 + u32::from(bytes.next()) % 100);
    let (count, shared) = (1 + bytes.next() % 4, bytes.next());
    let mut planes = Vec::new();
    for i in 0..count {
        // Mostly planes of one kind, so that they become colours.
        let own = bytes.next();
        let (format, factors) = if own < 200 { (shared, 0) } else { (own.wrapping_mul(37), own) };
        let info = PlaneInfo {
            signed: format & 32 != 0,
            subsampling: (1 + factors % 3, 1 + factors / 3 % 3),
            ..PlaneInfo::new(kinds[usize::from(i) % 5], 1 + (format & 31) % 31)
        };
        planes.push(Plane { samples: samples(&info, size, bytes), info });
    }
    Image { size, planes, metadata: Metadata::default() }
}

/// Runs of a value, steps and raw values, whichever the bytes say.
fn samples(info: &PlaneInfo, canvas: Size, bytes: &mut Bytes) -> Grid<i32> {
    let size = info.size(canvas);
    let mut grid = Grid::new(size.width as usize, size.height as usize);
    let (low, high) = info.range();
    let span = (i64::from(high) - i64::from(low) + 1) as u64;
    let (mut value, mut step, mut run) = (0u64, 0u64, 0u32);
    for sample in grid.data_mut() {
        if run == 0 {
            let code = bytes.next();
            run = 1 + u32::from(code & 63);
            match code >> 6 {
                0 => (value, step) = (bytes.word().into(), 0),
                1 => (value, step, run) = (bytes.word().into(), 0, 1),
                2 => step = u64::from(bytes.next()),
                _ => step = span - u64::from(bytes.next()).min(span),
            }
        }
        *sample = (i64::from(low) + (value % span) as i64) as i32;
        (value, run) = (value.wrapping_add(step), run - 1);
    }
    grid
}

/// Encodes a picture made of the bytes, and decodes it: exactly what went in, by both decoders; lossy files are at
/// least decoded alike, a region of them like the whole.
pub fn round_trip(data: &[u8]) -> bool {
    let mut bytes = Bytes(data);
    let choice = bytes.next();
    let image = picture(&mut bytes);
    let target = if choice & 3 == 3 { Target::Quality(f32::from(choice >> 2)) } else { Target::Lossless };
    let options = EncodeOptions {
        target,
        tile_log2: [5 + u32::from(choice >> 2) % 2, 5 + u32::from(choice >> 3) % 2],
        ..EncodeOptions::lossless()
    };
    let file = Encoder::new(options).encode(&image).unwrap();
    let decoders = [Backend::Cpu, Backend::Reference].map(|backend| open(&file, backend).unwrap());
    let whole = decoders.each_ref().map(|decoder| decoder.decode(&Request::default()).unwrap());
    assert!(whole[0] == whole[1], "the decoders differ");
    assert!(target != Target::Lossless || whole[0] == image, "not what went in");
    let (width, height) = (1 + image.size.width / 3, 1 + image.size.height / 3);
    let region = Rect::new(image.size.width - width, image.size.height - height, width, height);
    for decoder in &decoders {
        let part = decoder.decode(&Request { region: Some(region), ..Request::default() }).unwrap();
        for (part, whole) in part.planes.iter().zip(&whole[0].planes) {
            let (across, down) = whole.info.subsampling;
            let (x, y) = ((region.x / u32::from(across)) as usize, (region.y / u32::from(down)) as usize);
            let crop = whole.samples.crop(x, y, part.samples.width(), part.samples.height());
            assert!(part.samples == crop, "the region is not what the whole has there");
        }
    }
    true
}
