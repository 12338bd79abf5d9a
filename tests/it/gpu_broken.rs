//! Broken and hostile files on the GPU: the reference decoder's error or its samples, no hang, and sound pictures of the
//! same batch come out right. The files are those of hostile.rs, forge.rs and fuzz_smoke.rs.

use crate::fuzz_smoke::{mutate, seeds};
use crate::gpu::{File, gpu, open};
use crate::hostile::{STRICT, absurd, absurd_requests, ends, overwrite, small_files};
use crate::pictures::{Random, Texture, image, rgba};
use crate::region::encode;
use crate::repair;
use stepwell::decode::gpu::{GpuDecoder, Packet, Target as Output};
use stepwell::gpu::Shaders;
use stepwell::stream::MemorySource;
use stepwell::{Backend, Decoder, Error, Limits, Request, Size, Target};

/// What became of files.
#[derive(Debug, Default)]
struct Outcomes {
    /// Refused before anything went to the GPU.
    refused: usize,
    /// Broken chunks that the GPU found.
    broken: usize,
    right: usize,
}

struct Checker {
    gpu: GpuDecoder,
    sound: File,
    outcomes: Outcomes,
}

impl Checker {
    fn new() -> Option<Checker> {
        let gpu = gpu(Shaders::Trusted)?;
        let sound = open(encode(&image(Size::new(150, 140), rgba(8), Texture::Photo, 8), Target::Lossless));
        Some(Checker { gpu: GpuDecoder::new(gpu), sound, outcomes: Outcomes::default() })
    }

    /// Decodes requests of files in one batch with a sound one in their middle, and compares all with the reference.
    fn check(&mut self, files: &[(File, Request)]) {
        let sound = Request::default();
        let (before, after) = files.split_at(files.len() / 2);
        let all = before.iter().map(|(file, request)| (file, request));
        let all =
            all.chain([(&self.sound, &sound)]).chain(after.iter().map(|(file, request)| (file, request)));
        let mut packets: Vec<Packet> = Vec::new();
        let mut expected = Vec::new();
        for (file, request) in all {
            let reference = file.decode_planar::<i32>(request);
            match file.packet(request) {
                Ok(packet) => {
                    packets.push(packet);
                    expected.push(reference);
                }
                Err(error) => {
                    self.outcomes.refused += 1;
                    let other = reference.expect_err("the GPU's packet alone is refused");
                    assert!(same(&error, &other), "{error} for the GPU, {other} on the CPU");
                }
            }
        }
        let batch: Vec<&Packet> = packets.iter().collect();
        let decoded = self.gpu.decode(&batch, Output::Planes).unwrap();
        for (i, expected) in expected.iter().enumerate() {
            match (&decoded.results[i], expected) {
                (Ok(()), Ok(expected)) => {
                    self.outcomes.right += 1;
                    for (plane, expected) in expected.iter().enumerate() {
                        let found = self.gpu.read_plane(decoded.place(i, plane).unwrap()).unwrap();
                        assert!(found == *expected, "plane {plane} differs");
                    }
                }
                (Err(found), Err(expected)) => {
                    self.outcomes.broken += 1;
                    assert_eq!(found.to_string(), expected.to_string());
                }
                (found, expected) => {
                    panic!("{found:?} on the GPU, {:?} on the CPU", expected.as_ref().map(|_| ()))
                }
            }
        }
    }

    /// Checks files in batches of 100, each at a LoQ of its own.
    fn check_all(&mut self, files: Vec<Vec<u8>>) {
        for files in files.chunks(100) {
            let file = |(i, bytes): (usize, &Vec<u8>)| {
                let file = open_strictly(bytes, STRICT).ok()?;
                // Mostly LoQ 0, which takes all levels.
                let loq = (i as u8 % 8).saturating_sub(4).min(file.header().levels);
                Some((file, Request { loq, ..Request::default() }))
            };
            let files: Vec<_> = files.iter().enumerate().filter_map(file).collect();
            self.check(&files);
        }
    }
}

fn open_strictly(bytes: &[u8], limits: Limits) -> Result<File, Error> {
    let source = MemorySource::new(bytes.to_vec());
    Ok(Decoder::open(source, limits)?.with_backend(Backend::Reference))
}

/// Whether errors say the same. The GPU gets all bytes before it decodes any: of files with several faults it may meet
/// another one first, and of those that end too early a later end of what it needs.
fn same(gpu: &Error, cpu: &Error) -> bool {
    match (gpu, cpu) {
        (Error::Truncated { end: a, available: b, .. }, Error::Truncated { end: c, available: d, .. }) => {
            (a, b) == (c, d)
        }
        (Error::Truncated { .. }, _) => true,
        _ => gpu.to_string() == cpu.to_string(),
    }
}

/// Runs checks, which have to end, and demands so many outcomes of each kind.
fn run(check: fn(&mut Checker), least: Outcomes) {
    ends(move || {
        let Some(mut checker) = Checker::new() else { return };
        check(&mut checker);
        let Outcomes { refused, broken, right } = checker.outcomes;
        let enough = refused >= least.refused && broken >= least.broken && right >= least.right;
        assert!(enough, "{:?} test too little", checker.outcomes);
    });
}

#[test]
fn flipped_bits() {
    let check = |checker: &mut Checker| {
        for (file, _) in small_files() {
            let flipped = |bit: usize| {
                let mut broken = file.clone();
                broken[bit / 8] ^= 1 << (bit % 8);
                // A third stays as it is: checksums refuse it.
                if !bit.is_multiple_of(3) {
                    repair::all(&mut broken);
                }
                broken
            };
            checker.check_all((0..8 * file.len()).step_by(5).map(flipped).collect());
        }
    };
    run(check, Outcomes { refused: 100, broken: 100, right: 100 });
}

#[test]
fn overwritten_and_mutated() {
    let check = |checker: &mut Checker| {
        let mut random = Random(6);
        let seeds = seeds();
        let broken = |i: usize| {
            let mut broken = seeds[i % seeds.len()].clone();
            match i % 2 {
                0 => overwrite(&mut random, &mut broken),
                _ => mutate(&mut broken, &seeds, &mut random),
            }
            repair::all(&mut broken);
            broken
        };
        checker.check_all((0..900).map(broken).collect());
    };
    run(check, Outcomes { refused: 50, broken: 100, right: 50 });
}

#[test]
fn truncated() {
    let check = |checker: &mut Checker| {
        for (file, _) in small_files() {
            checker.check_all((0..file.len()).step_by(3).map(|end| file[..end].to_vec()).collect());
        }
    };
    run(check, Outcomes { refused: 100, broken: 0, right: 10 });
}

#[test]
fn absurd_sizes() {
    let check = |checker: &mut Checker| {
        for claims in absurd() {
            let bytes = claims.file(60_000);
            let Ok(file) = open_strictly(&bytes, STRICT) else { continue };
            let again = |request| (open_strictly(&bytes, STRICT).unwrap(), request);
            let files: Vec<_> = absurd_requests(&file).into_iter().map(again).collect();
            checker.check(&files);
        }
    };
    run(check, Outcomes { refused: 10, broken: 0, right: 10 });
}
