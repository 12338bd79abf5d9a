//! Weights of the context sum.

use rayon::prelude::*;
use stepwell::entropy::context::{TERMS, walk};
use stepwell::entropy::token::{
    bucket_from_sum, context_magnitude, row_of_bucket, shift_of_bucket, token_from_magnitude,
};
use stepwell::entropy::{BANDS, Place, TileShape};

use crate::family::Distribution;
use crate::maps::Maps;
use crate::tiles::Bands;

/// Weights of the context sum in 1/[`UNIT`]: `[set][band][column parity][first row][term]`.
pub type Weights = [[[[[u32; TERMS]; 2]; 2]; BANDS]; 2];
/// The weights of one kind of place.
type Terms = [u32; TERMS];

/// The weight 1.
const UNIT: f64 = 256.0;
/// Sums of weighted magnitudes of 20 bits stay inside 32 bits.
const MOST: u32 = 4095;
/// The constant term's least weight: buckets begin there.
const LEAST_CONSTANT: u32 = 2;
/// Rounds of multiplicative updates.
const UPDATES: usize = 80;
/// How far an update goes: less than all the way keeps it from swinging.
const UPDATE_POWER: f64 = 0.7;
/// Most rounds of trying changes.
const TRIALS: usize = 4;

/// A symbol in its context.
pub struct Cell {
    /// Where it stands.
    pub place: Place,
    /// What its context sum weighs.
    terms: Terms,
    /// Its magnitude.
    pub magnitude: u32,
}

impl Cell {
    /// Its bucket.
    pub fn bucket(&self, set: usize, weights: &Weights) -> u32 {
        let Place { band, row, column } = self.place;
        bucket(&weights[set][band][column % 2][usize::from(row == 0)], &self.terms)
    }
}

fn bucket(weights: &Terms, terms: &Terms) -> u32 {
    bucket_from_sum(weights.iter().zip(terms).map(|(w, t)| w * t).sum())
}

/// Visits the symbols of a tile in coding order, but for lanes that are all zero.
pub fn cells(shape: &TileShape, magnitudes: &Bands<u32>, mut visit: impl FnMut(&Cell)) {
    let at = |place: Place| magnitudes[place.band].at(place.column, place.row);
    let mut live = vec![false; shape.lanes()];
    walk(shape, |place, lane| live[lane] |= at(place) != 0);
    let context = |magnitude: u32| context_magnitude(token_from_magnitude(magnitude).symbol, 0);
    let contexts: [Vec<u32>; BANDS] =
        magnitudes.each_ref().map(|band| band.data().iter().map(|&m| context(m)).collect());
    walk(shape, |place, lane| {
        if live[lane] {
            visit(&Cell { place, terms: terms(shape, &contexts, place), magnitude: at(place) });
        }
    });
}

/// The terms that [`stepwell::entropy::context`] sums up: it looks only at what has been decoded.
fn terms(shape: &TileShape, contexts: &[Vec<u32>; BANDS], place: Place) -> Terms {
    let Place { band, row, column } = place;
    let at = |band: usize, row: usize, column: usize| contexts[band][row * shape.columns + column];
    let (left, right) = (column.saturating_sub(1), (column + 1).min(shape.columns - 1));
    let sides = |band: usize, row: usize| at(band, row, left) + at(band, row, right);
    let mut terms = [1, 0, 0, 0, 0, 0, 0, 0, 0];
    if row > 0 {
        terms[1] = at(band, row - 1, column);
        terms[2] = sides(band, row - 1);
        terms[3] = at(band, row.saturating_sub(2), column);
        terms[8] = at((band + 1) % BANDS, row - 1, column) + at((band + 2) % BANDS, row - 1, column);
    }
    if column % 2 == 1 {
        terms[4] = at(band, row, left) + at(band, row, if column < right { right } else { left });
    }
    if band > 0 {
        terms[5] = at(0, row, column);
        terms[7] = sides(0, row);
    }
    if band > 1 {
        terms[6] = at(1, row, column);
        terms[7] += sides(1, row);
    }
    terms
}

/// Some symbols in their contexts, by the kind of their place.
#[derive(Clone, Default)]
pub struct Symbols {
    kinds: [Vec<(Terms, u32)>; 2 * BANDS * 2 * 2],
    /// Symbols seen in first rows, and in others.
    seen: [usize; 2],
}

/// One in so many symbols of first rows and of others is kept. Prime, so that all columns come in turn.
const KEPT: [usize; 2] = [29, 3];

impl Symbols {
    /// Keeps one in so many.
    pub fn add(&mut self, set: usize, cell: &Cell) {
        let Place { band, row, column } = cell.place;
        let first = usize::from(row == 0);
        self.seen[first] += 1;
        if self.seen[first].is_multiple_of(KEPT[first]) {
            let kind = ((set * BANDS + band) * 2 + column % 2) * 2 + first;
            self.kinds[kind].push((cell.terms, cell.magnitude));
        }
    }

    /// Adds those of another.
    pub fn merge(&mut self, other: Self) {
        self.kinds.iter_mut().zip(other.kinds).for_each(|(all, more)| all.extend(more));
    }

    /// Weights that make the context sum the mean magnitude: minimises the sum of log E + magnitude / E (Itakura and
    /// Saito's distance) by multiplicative updates.
    pub fn estimate(&self) -> Weights {
        weights_from(self.kinds.par_iter().map(|symbols| estimate(symbols)).collect())
    }

    /// Better weights: changes one after the other, as long as the symbols take fewer bits.
    pub fn improve(&self, weights: &Weights, maps: &Maps, family: &[Distribution]) -> Weights {
        let kinds = self.kinds.par_iter().enumerate().map(|(kind, symbols)| {
            let (set, band, parity, first) = (kind / 12, kind / 4 % 3, kind / 2 % 2, kind % 2);
            let distributions = maps[set][band].map(|d| &family[usize::from(d)]);
            improve(symbols, weights[set][band][parity][first], &distributions)
        });
        weights_from(kinds.collect())
    }
}

fn weights_from(kinds: Vec<Terms>) -> Weights {
    let at = |set, band, parity, first| kinds[((set * BANDS + band) * 2 + parity) * 2 + first];
    std::array::from_fn(|set| {
        std::array::from_fn(|band| {
            std::array::from_fn(|parity| std::array::from_fn(|first| at(set, band, parity, first)))
        })
    })
}

fn estimate(symbols: &[(Terms, u32)]) -> Terms {
    let mut weights = [0.1; TERMS];
    for _ in 0..UPDATES {
        let (mut up, mut down) = ([0.0; TERMS], [1e-9; TERMS]);
        for (terms, magnitude) in symbols {
            let terms = terms.map(f64::from);
            let mean = 0.02 + weights.iter().zip(terms).map(|(w, t)| w * t).sum::<f64>();
            let ratio = f64::from(*magnitude) / mean;
            for i in 0..TERMS {
                up[i] += terms[i] / mean * ratio;
                down[i] += terms[i] / mean;
            }
        }
        for i in 0..TERMS {
            weights[i] *= libm::pow(up[i] / down[i], UPDATE_POWER).clamp(0.0, 4.0);
        }
    }
    allowed(weights.map(|w| (w * UNIT).round() as u32))
}

fn allowed(mut weights: Terms) -> Terms {
    weights[0] = weights[0].max(LEAST_CONSTANT);
    weights.map(|w| w.min(MOST))
}

fn improve(symbols: &[(Terms, u32)], start: Terms, distributions: &[&Distribution]) -> Terms {
    let is_used = |term: &usize| symbols.iter().any(|(terms, _)| terms[*term] > 0);
    let used: Vec<usize> = (0..TERMS).filter(is_used).collect();
    let mut best = start;
    let mut least = bits(symbols, &best, distributions);
    for _ in 0..TRIALS {
        let before = least;
        for (term, part) in std::iter::once((None, 16)).chain(trials(&used)) {
            for up in [true, false] {
                let change = |weight: u32| {
                    let step = (weight / part).max(1);
                    if up { weight + step } else { weight.saturating_sub(step) }
                };
                let mut tried = best;
                match term {
                    Some(term) => tried[term] = change(tried[term]),
                    None => used.iter().for_each(|&term| tried[term] = change(tried[term])),
                }
                let tried = allowed(tried);
                let bits = bits(symbols, &tried, distributions);
                if bits < least {
                    (least, best) = (bits, tried);
                    break;
                }
            }
        }
        if before - least < 1e-5 * before {
            break;
        }
    }
    best
}

/// Which weight to change by what part of it, in this order.
fn trials(used: &[usize]) -> impl Iterator<Item = (Option<usize>, u32)> {
    used.iter().flat_map(|&term| [3, 8, 20].map(|part| (Some(term), part)))
}

/// What symbols cost but for their signs.
fn bits(symbols: &[(Terms, u32)], weights: &Terms, distributions: &[&Distribution]) -> f64 {
    let bits = |(terms, magnitude): &(Terms, u32)| {
        let bucket = bucket(weights, terms);
        let shift = shift_of_bucket(bucket);
        let token = token_from_magnitude(magnitude >> shift);
        distributions[row_of_bucket(bucket)].costs[token.symbol as usize] + f64::from(shift)
    };
    symbols.iter().map(bits).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use stepwell::Grid;
    use stepwell::entropy::context::Contexts;
    use stepwell::entropy::tables::WEIGHTS;

    #[test]
    fn buckets_are_those_of_the_codec() {
        for (columns, rows) in [(64, 64), (5, 3), (2, 1), (1, 9)] {
            let shape = TileShape { tile_log2: 6, columns, rows, h_columns: columns, v_rows: rows };
            let mut random = 1u32;
            let magnitudes: Bands<u32> = std::array::from_fn(|_| {
                let next = || {
                    random = random.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                    1 + (random >> 25)
                };
                Grid::from_vec(columns, rows, std::iter::repeat_with(next).take(columns * rows).collect())
            });
            let mut theirs = Contexts::new(shape, false);
            let mut seen = 0;
            cells(&shape, &magnitudes, |cell| {
                assert_eq!(cell.bucket(1, &WEIGHTS), theirs.bucket(1, cell.place));
                let token = token_from_magnitude(cell.magnitude).symbol;
                theirs.set(cell.place, context_magnitude(token, 0));
                seen += 1;
            });
            assert_eq!(seen, BANDS * shape.quads());
        }
    }
}
