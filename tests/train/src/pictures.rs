//! Training pictures, and the levels that predictors learn from.

use std::path::Path;

use rayon::prelude::*;
use stepwell::colour::ycocg_from_rgb;
use stepwell::container::header::levels_for;
use stepwell::entropy::BANDS;
use stepwell::upsample::cpu::Part;
use stepwell::upsample::encode::{Bands, lower_level, targets};
use stepwell::upsample::row_mean;
use stepwell::upsample::rows::PaddedRows;
use stepwell::{Grid, Size};

/// An RGB picture of 8 bits.
pub struct Picture {
    size: Size,
    rgb: Vec<u8>,
}

/// How a picture is turned over before it is learned from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mirror {
    /// Left and right change places.
    pub horizontally: bool,
    /// Top and bottom change places.
    pub vertically: bool,
}

impl Mirror {
    /// As it is.
    pub const NOT: Mirror = Mirror { horizontally: false, vertically: false };
    /// All ways.
    pub const ALL: [Mirror; 4] = [
        Self::NOT,
        Mirror { horizontally: true, vertically: false },
        Mirror { horizontally: false, vertically: true },
        Mirror { horizontally: true, vertically: true },
    ];
}

/// One level of one plane, with all that its bands are predicted from.
pub struct PlaneLevel {
    /// Which coefficients predict it.
    pub set: usize,
    /// 0 for full resolution.
    pub level: usize,
    /// Its samples.
    pub size: Size,
    /// What V, H0 and H1 are.
    pub targets: Bands,
    /// The level above: windows for V.
    pub lower: PaddedRows,
    /// The row means: windows for H0 and H1.
    pub means: PaddedRows,
}

impl Picture {
    /// Reads a binary PPM file of 8 bits.
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
        match (header[0], number(1), number(2), number(3)) {
            (Some("P6"), Some(width), Some(height), Some(255)) => {
                let size = Size::new(width, height);
                let rgb = bytes[at..].to_vec();
                let fits = rgb.len() as u64 == 3 * size.area();
                fits.then_some(Picture { size, rgb }).ok_or_else(|| fail("cut off or too long"))
            }
            _ => Err(fail("not a PPM file of 8 bits without comments")),
        }
    }

    /// Pixels.
    pub fn pixels(&self) -> u64 {
        self.size.area()
    }

    /// All levels of all planes.
    pub fn levels(&self, mirror: Mirror) -> Vec<PlaneLevel> {
        let count = usize::from(levels_for(self.size));
        let planes = self.planes(mirror);
        let all = planes.into_par_iter().enumerate().map(|(plane, mut samples)| {
            let mut levels = Vec::new();
            for level in 0..count {
                let lower = lower_level(&samples);
                levels.push(PlaneLevel::new(plane, level, &samples, &lower));
                samples = lower;
            }
            levels
        });
        all.flatten().collect()
    }

    fn planes(&self, mirror: Mirror) -> [Grid<i32>; 3] {
        let (width, height) = (self.size.width as usize, self.size.height as usize);
        let mut planes = std::array::from_fn(|_| Grid::new(width, height));
        for y in 0..height {
            let from_y = if mirror.vertically { height - 1 - y } else { y };
            for x in 0..width {
                let from_x = if mirror.horizontally { width - 1 - x } else { x };
                let pixel = &self.rgb[3 * (from_y * width + from_x)..][..3];
                let coded = ycocg_from_rgb([pixel[0].into(), pixel[1].into(), pixel[2].into()]);
                planes.iter_mut().zip(coded).for_each(|(plane, v)| plane.set(x, y, v));
            }
        }
        planes
    }
}

impl PlaneLevel {
    fn new(plane: usize, level: usize, samples: &Grid<i32>, lower: &Grid<i32>) -> Self {
        PlaneLevel {
            set: 2 * usize::from(plane > 0) + usize::from(level > 0),
            level,
            size: size_of(samples),
            targets: targets(samples),
            lower: padded(lower),
            means: padded(&row_means(samples)),
        }
    }

    /// 0 for luma, 1 for chroma: which contexts its symbols have.
    pub fn context_set(&self) -> usize {
        self.set / 2
    }

    /// Quads.
    pub fn quads(&self) -> Size {
        self.size.at_level(1)
    }

    /// How many quads have band `band`, a row and a column.
    pub fn band_size(&self, band: usize) -> (usize, usize) {
        let quads = self.quads();
        let columns = if band == 0 { quads.width } else { self.size.width / 2 };
        let rows = if band == 1 { quads.height } else { self.size.height / 2 };
        (columns as usize, rows as usize)
    }

    /// The rows around those that band `band` of quad row `y` is predicted from.
    pub fn window(&self, band: usize, y: usize) -> [&[i32]; 5] {
        const { assert!(BANDS == 3) };
        match band {
            0 => self.lower.window(y as u32),
            _ => self.means.window((2 * y + band - 1) as u32),
        }
    }
}

fn row_means(samples: &Grid<i32>) -> Grid<i32> {
    let mut means = Grid::new(samples.width().div_ceil(2), samples.height());
    for y in 0..samples.height() {
        for (mean, pair) in means.row_mut(y).iter_mut().zip(samples.row(y).chunks(2)) {
            *mean = pair.get(1).map_or(pair[0], |&right| row_mean(pair[0], right));
        }
    }
    means
}

fn size_of(grid: &Grid<i32>) -> Size {
    Size::new(grid.width() as u32, grid.height() as u32)
}

fn padded(grid: &Grid<i32>) -> PaddedRows {
    let size = size_of(grid);
    let part = Part { rect: size.rect(), size, grid: grid.clone() };
    let mut rows = PaddedRows::default();
    rows.fill_from(&part, 0, 0..size.height, grid.width());
    rows
}
