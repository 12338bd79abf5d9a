//! Tiles: what is predicted in them, from what, and what is left over.

use stepwell::entropy::{BANDS, TileShape};
use stepwell::upsample::encode::{pair_mean, row_targets};
use stepwell::upsample::rows::PaddedRows;
use stepwell::upsample::{COEFFICIENT_BITS, INNER, NEIGHBOURS, Scale, class_of};
use stepwell::{Grid, entropy::Place};

use crate::predictors::Table;

/// Features of a prediction: the differences of the window to its centre, and H0.
pub const FEATURES: usize = NEIGHBOURS + 1;
/// Depth of the training pictures.
const BITS: u32 = 8;

/// A tile of a level of a plane.
pub struct Tile {
    /// Which plane of Y, Co, Cg.
    plane: usize,
    /// 0 is full resolution.
    pub level: usize,
    /// Its size.
    pub shape: TileShape,
    /// Windows of V.
    lower: PaddedRows,
    /// Windows of H0 and H1.
    means: PaddedRows,
    /// What V, H0 and H1 are, by row of quads.
    targets: Vec<[Vec<i32>; BANDS]>,
}

/// A value to predict.
pub struct Sample {
    /// Where it stands.
    pub place: Place,
    /// What it is predicted from.
    pub features: [i32; FEATURES],
    /// Class of its window.
    pub class: usize,
    /// What it is.
    pub target: i32,
}

/// A grid a band, of what stands where in a tile.
pub type Bands<T> = [Grid<T>; BANDS];

impl Tile {
    /// From its samples and those of the level above.
    pub fn new(plane: usize, level: usize, shape: TileShape, samples: &Grid<i32>, lower: &Grid<i32>) -> Self {
        let mut tile = Tile {
            plane,
            level,
            shape,
            lower: PaddedRows::default(),
            means: PaddedRows::default(),
            targets: Vec::new(),
        };
        tile.lower.fill_from(lower);
        let mut means = Grid::new(shape.columns, shape.height());
        for y in 0..shape.height() {
            means
                .row_mut(y)
                .iter_mut()
                .enumerate()
                .for_each(|(x, mean)| *mean = pair_mean(samples.row(y), x));
        }
        tile.means.fill_from(&means);
        let below = |row: usize| (row < shape.v_rows).then(|| samples.row(2 * row + 1));
        tile.targets = (0..shape.rows).map(|row| row_targets(samples.row(2 * row), below(row))).collect();
        tile
    }

    /// Which coefficients predict it.
    pub fn coefficient_set(&self) -> usize {
        2 * self.context_set() + usize::from(self.level > 0)
    }

    /// Which contexts its symbols have.
    pub fn context_set(&self) -> usize {
        usize::from(self.plane > 0)
    }

    /// Visits the values of a band in every `step`-th column.
    pub fn samples(&self, band: usize, step: usize, mut visit: impl FnMut(&Sample)) {
        for row in 0..self.shape.rows {
            let window =
                if band == 0 { self.lower.window(row) } else { self.means.window(2 * row + band - 1) };
            let targets = &self.targets[row];
            for column in (row % step..self.shape.band_columns(band, row)).step_by(step) {
                let mut features = differences(&window, column);
                if band == 2 {
                    features[NEIGHBOURS] = targets[1][column];
                }
                let class = class_of(INNER.map(|i| features[i]), Scale::for_bits(BITS)) as usize;
                let place = Place { band, row, column };
                visit(&Sample { place, features, class, target: targets[band][column] });
            }
        }
    }

    /// A value for every place.
    pub fn bands<T: Copy + Default>(&self) -> Bands<T> {
        std::array::from_fn(|_| Grid::new(self.shape.columns, self.shape.rows))
    }

    /// What `table` leaves over, with the fraction that rounding drops: in 2^-[`COEFFICIENT_BITS`].
    pub fn residuals(&self, table: &Table) -> Bands<i32> {
        let mut residuals = self.bands();
        for (band, residuals) in residuals.iter_mut().enumerate() {
            self.samples(band, 1, |sample| {
                let coefficients = table.at(self.coefficient_set(), band, sample.class);
                let sum: i32 = coefficients.iter().zip(sample.features).map(|(&c, f)| i32::from(c) * f).sum();
                residuals.set(
                    sample.place.column,
                    sample.place.row,
                    (sample.target << COEFFICIENT_BITS) - sum,
                );
            });
        }
        residuals
    }

    /// The magnitudes that lossless files code.
    pub fn lossless_magnitudes(&self, residuals: &Bands<i32>) -> Bands<u32> {
        const HALF: i32 = 1 << (COEFFICIENT_BITS - 1);
        residuals.each_ref().map(|band| map(band, |r| ((HALF - r) >> COEFFICIENT_BITS).unsigned_abs()))
    }
}

fn map<T: Copy + Default>(grid: &Grid<i32>, value: impl Fn(i32) -> T) -> Grid<T> {
    Grid::from_vec(grid.width(), grid.height(), grid.data().iter().map(|&v| value(v)).collect())
}

fn differences(window: &[&[i32]; 5], column: usize) -> [i32; FEATURES] {
    let centre = window[2][column + 2];
    let mut features = [0; FEATURES];
    for (i, row) in window.iter().enumerate() {
        for (j, &value) in row[column..column + 5].iter().enumerate() {
            // The centre's place is taken by the neighbour after it.
            let at = 5 * i + j;
            features[at - usize::from(at > NEIGHBOURS / 2)] = value - centre;
        }
    }
    features[NEIGHBOURS] = 0;
    features
}
