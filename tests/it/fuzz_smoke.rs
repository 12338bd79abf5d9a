//! The fuzzers' targets on made-up and mutated inputs: a few thousand in a few seconds, the same ones each time.

use crate::hostile::{ends, small_files};
use crate::pictures::{Random, Texture, image, rgb, yuv420};
use crate::region::encode;
use crate::targets;
use stepwell::{Size, Target};

pub fn seeds() -> Vec<Vec<u8>> {
    let tiles = image(Size::new(150, 70), rgb(8), Texture::Photo, 3);
    let deep = image(Size::new(40, 25), yuv420(24), Texture::Noise, 3);
    let files = small_files().into_iter().map(|(file, _)| file);
    files.chain([encode(&tiles, Target::Quality(40.0)), encode(&deep, Target::Lossless)]).collect()
}

/// What fuzzers do: flips, overwrites, cuts, copies within, and pieces of other inputs.
pub fn mutate(input: &mut Vec<u8>, others: &[Vec<u8>], random: &mut Random) {
    const NUMBERS: [u32; 8] = [0, 1, 127, 128, 255, 256, 1 << 31, u32::MAX];
    for _ in 0..=random.below(4) {
        let length = input.len().max(1) as u64;
        // Half of all changes hit the head, where they matter most.
        let at =
            if random.below(2) == 0 { random.below(length.min(200)) } else { random.below(length) } as usize;
        let rest = input.len().saturating_sub(at);
        let count = (1 + random.below(16) as usize).min(rest);
        match random.below(7) {
            0 => input.iter_mut().skip(at).take(1).for_each(|b| *b ^= 1 << (count % 8)),
            1 => input.iter_mut().skip(at).take(count).for_each(|b| *b = random.next() as u8),
            2 => {
                let number = NUMBERS[random.below(8) as usize].to_le_bytes();
                input.iter_mut().skip(at).zip(number).for_each(|(b, n)| *b = n);
            }
            3 => drop(input.drain(at..at + count)),
            4 => {
                let copy = input[at..at + count].to_vec();
                input.splice(at..at, copy);
            }
            5 => input.truncate(at),
            _ => {
                let other = &others[random.below(others.len() as u64) as usize];
                let same = other.get(at..(at + 64).min(other.len())).unwrap_or_default();
                input.iter_mut().skip(at).zip(same).for_each(|(b, n)| *b = *n);
            }
        }
    }
}

/// Runs a target on mutations, and demands that enough of them led to something.
fn run(target: fn(&[u8]) -> bool, seeds: Vec<Vec<u8>>, inputs: usize, least: usize) {
    ends(move || {
        assert!(!target(b"") || least == inputs);
        let (mut random, mut reached) = (Random(9), 0);
        for i in 0..inputs {
            let mut input = seeds[i % seeds.len()].clone();
            mutate(&mut input, &seeds, &mut random);
            reached += usize::from(target(&input));
        }
        assert!(reached >= least, "only {reached} of {inputs} inputs led anywhere");
    });
}

#[test]
fn index() {
    run(targets::index, seeds(), 4000, 500);
}

#[test]
fn decode() {
    run(targets::decode, seeds(), 2500, 400);
}

#[test]
fn round_trip() {
    let mut random = Random(2);
    let seeds = (0..40).map(|i| (0..10 + 30 * i).map(|_| random.next() as u8).collect()).collect();
    run(targets::round_trip, seeds, 200, 200);
}
