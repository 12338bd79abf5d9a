//! Training pictures, and all the tiles that they are coded as.

use std::path::Path;

use rayon::prelude::*;
use stepwell::colour::ycocg_from_rgb;
use stepwell::container::header::levels_for;
use stepwell::decode::tile::tile_shape;
use stepwell::upsample::encode::lower_level;
use stepwell::{Grid, Size};

use crate::tiles::Tile;

/// Tiles have 2^this quads a side, as most files' have.
const TILE_LOG2: u32 = 6;
/// Tiles that are worked on before their results are taken: what bounds the memory.
const AT_ONCE: usize = 64;

/// An RGB picture of 8 bits.
pub struct Picture {
    size: Size,
    rgb: Vec<u8>,
}

/// One level of one plane.
struct PlaneLevel {
    plane: usize,
    level: usize,
    samples: Grid<i32>,
    /// The level above.
    lower: Grid<i32>,
}

/// Where a tile is: which of the levels of all planes, and column and row of tiles.
type Place = (usize, (u32, u32));

impl Picture {
    /// Reads a binary PPM file of 8 bits.
    ///
    /// # Errors
    /// What is wrong with the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let fail = |why: &str| format!("{}: {why}", path.display());
        let bytes = std::fs::read(path).map_err(|e| fail(&e.to_string()))?;
        let mut at = 0;
        let mut word = || {
            let start = at;
            at += bytes[at..].iter().position(u8::is_ascii_whitespace)? + 1;
            std::str::from_utf8(&bytes[start..at - 1]).ok()
        };
        let header = [word(), word(), word(), word()];
        let number = |i: usize| header[i].and_then(|w| w.parse::<u32>().ok());
        let (Some("P6"), Some(width), Some(height), Some(255)) = (header[0], number(1), number(2), number(3))
        else {
            return Err(fail("not a binary PPM file of 8 bits without comments"));
        };
        let picture = Picture { size: Size::new(width, height), rgb: bytes[at..].to_vec() };
        if picture.rgb.len() as u64 != 3 * picture.pixels() {
            return Err(fail("cut off, or too long"));
        }
        Ok(picture)
    }

    /// Pixels.
    pub fn pixels(&self) -> u64 {
        self.size.area()
    }

    fn planes(&self) -> [Grid<i32>; 3] {
        let pixels =
            self.rgb.chunks_exact(3).map(|p| ycocg_from_rgb([p[0].into(), p[1].into(), p[2].into()]));
        let coded: Vec<[i32; 3]> = pixels.collect();
        std::array::from_fn(|plane| {
            let samples = coded.iter().map(|pixel| pixel[plane]).collect();
            Grid::from_vec(self.size.width as usize, self.size.height as usize, samples)
        })
    }

    fn levels(&self) -> Vec<PlaneLevel> {
        let mut all = Vec::new();
        for (plane, mut samples) in self.planes().into_iter().enumerate() {
            for level in 0..usize::from(levels_for(self.size)) {
                let lower = lower_level(&samples);
                let above = lower.clone();
                all.push(PlaneLevel { plane, level, samples, lower });
                samples = above;
            }
        }
        all
    }
}

impl PlaneLevel {
    fn size(&self) -> Size {
        Size::new(self.samples.width() as u32, self.samples.height() as u32)
    }

    fn tile(&self, place: (u32, u32)) -> Tile {
        let (quads, shape) = tile_shape(TILE_LOG2, self.size(), place);
        let (x, y) = (quads.x as usize, quads.y as usize);
        let samples = self.samples.crop(2 * x, 2 * y, shape.width(), shape.height());
        let lower = self.lower.crop(x, y, shape.columns, shape.rows);
        Tile::new(self.plane, self.level, shape, &samples, &lower)
    }

    fn places(&self) -> Vec<(u32, u32)> {
        let tiles = self.size().at_level(1).rect().cells(1 << TILE_LOG2, 1 << TILE_LOG2).size();
        (0..tiles.height).flat_map(|y| (0..tiles.width).map(move |x| (x, y))).collect()
    }
}

/// Does `work` for every tile of every level of every picture, on all threads, and gives the results to `take` with the
/// picture's number, always in the same order: sums do not depend on the number of threads.
pub fn for_each_tile<T: Send>(
    pictures: &[Picture],
    work: impl Fn(&Tile) -> T + Sync,
    mut take: impl FnMut(usize, T),
) {
    for (number, picture) in pictures.iter().enumerate() {
        let levels = picture.levels();
        let places = levels.iter().enumerate().flat_map(|(i, l)| l.places().into_iter().map(move |p| (i, p)));
        let places: Vec<Place> = places.collect();
        for some in places.chunks(AT_ONCE) {
            let done: Vec<T> =
                some.par_iter().map(|&(level, place)| work(&levels[level].tile(place))).collect();
            done.into_iter().for_each(|result| take(number, result));
        }
    }
}
