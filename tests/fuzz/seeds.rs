//! Writes small files of many kinds into a folder, for the fuzzers `index` and `decode` to start from.

#[path = "../it/pictures.rs"]
mod pictures;

use pictures::{TEXTURES, gray, image, rgb, rgba, yuv420};
use stepwell::{EncodeOptions, Encoder, Metadata, Size, Target};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let folder = std::env::args().nth(1).ok_or("name a folder")?;
    std::fs::create_dir_all(&folder)?;
    let mut number = 0;
    for planes in [gray(1), gray(8), rgb(8), rgba(8), yuv420(10), gray(16), rgb(24), gray(31)] {
        for (i, &(width, height)) in [(9, 9), (40, 20), (1, 70), (150, 70)].iter().enumerate() {
            for target in [Target::Lossless, Target::Quality(60.0)] {
                number += 1;
                let mut picture =
                    image(Size::new(width, height), planes.clone(), TEXTURES[number % 5], number as u64);
                if i == 1 {
                    picture.metadata = Metadata { xmp: Some(b"<x/>".to_vec()), ..Metadata::default() };
                }
                let options = EncodeOptions { target, tile_log2: [5; 2], ..EncodeOptions::lossless() };
                std::fs::write(format!("{folder}/{number}.swl"), Encoder::new(options).encode(&picture)?)?;
            }
        }
    }
    println!("{number} files in {folder}");
    Ok(())
}
