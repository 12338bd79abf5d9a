//! A level of a group of planes → chunks of tiles, with models fitted to them.

use bytes::Bytes;
use rayon::prelude::*;

use super::model::Histogram;
use crate::decode::tile::{Part, tile_shape};
use crate::entropy::encode::{cells, encode_tile};
use crate::entropy::{Symbols, TileModel, TileShape};
use crate::geom::{Rect, Size};
use crate::grid::Grid;
use crate::upsample::cpu::Parameters;
use crate::upsample::encode::analyse;

/// What the coder of a plane needs to know beside [`Parameters`].
#[derive(Clone, Copy, Debug)]
pub struct PlaneCoder {
    /// How values are predicted and quantised.
    pub parameters: Parameters,
    /// Context set.
    pub set: usize,
    /// Whether magnitudes may exceed 16 bits.
    pub deep: bool,
    /// Whether signs may be skewed.
    pub skewed: bool,
}

/// A coded level of a group.
pub struct CodedLevel {
    /// By tile, row by row, then by plane.
    pub chunks: Vec<Bytes>,
    /// A model a plane.
    pub models: Vec<TileModel>,
    /// The level as decoders will have it, a plane each.
    pub samples: Vec<Grid<i32>>,
}

struct Tile {
    shape: TileShape,
    quads: Rect,
    /// A plane each.
    symbols: Vec<Symbols>,
    samples: Vec<Grid<i32>>,
}

/// Encodes a level; `original` and `lower` (the level above as decoders have it) are a plane each.
pub fn encode_level(
    original: &[&Grid<i32>],
    lower: &[&Grid<i32>],
    coders: &[PlaneCoder],
    tile_log2: u32,
) -> CodedLevel {
    let size = Size::new(original[0].width() as u32, original[0].height() as u32);
    let grid = size.at_level(1).rect().cells(1 << tile_log2, 1 << tile_log2).size();
    let places: Vec<(u32, u32)> =
        (0..grid.height).flat_map(|y| (0..grid.width).map(move |x| (x, y))).collect();
    let analyse =
        |&place: &(u32, u32)| analyse_tile(original, lower, coders, tile_shape(tile_log2, size, place));
    let tiles: Vec<Tile> = places.par_iter().map(analyse).collect();

    let none = || vec![Histogram::default(); coders.len()];
    let count = |mut histograms: Vec<Histogram>, tile: &Tile| {
        for ((histogram, coder), symbols) in histograms.iter_mut().zip(coders).zip(&tile.symbols) {
            cells(symbols, &tile.shape, coder.set, coder.deep, |cell| histogram.add(cell));
        }
        histograms
    };
    let merge =
        |a: Vec<Histogram>, b: Vec<Histogram>| a.into_iter().zip(&b).map(|(a, b)| a.merge(b)).collect();
    let histograms = tiles.par_iter().fold(none, count).reduce(none, merge);
    let fit =
        |(histogram, coder): (&Histogram, &PlaneCoder)| histogram.fit(coder.set, coder.deep, coder.skewed);
    let models: Vec<TileModel> = histograms.iter().zip(coders).map(fit).collect();

    let encode = |tile: &Tile| -> Vec<Bytes> {
        let planes = tile.symbols.iter().zip(&models);
        planes.map(|(symbols, model)| encode_tile(symbols, &tile.shape, model).into()).collect()
    };
    let chunks: Vec<Vec<Bytes>> = tiles.par_iter().map(encode).collect();
    let mut samples: Vec<Part> = coders.iter().map(|_| Part::new(size.rect())).collect();
    for tile in &tiles {
        for (whole, part) in samples.iter_mut().zip(&tile.samples) {
            whole.paste(2 * tile.quads.x, 2 * tile.quads.y, part);
        }
    }
    let samples = samples.into_iter().map(|part| part.grid).collect();
    CodedLevel { chunks: chunks.into_iter().flatten().collect(), models, samples }
}

fn analyse_tile(
    original: &[&Grid<i32>],
    lower: &[&Grid<i32>],
    coders: &[PlaneCoder],
    (quads, shape): (Rect, TileShape),
) -> Tile {
    let (x, y) = (quads.x as usize, quads.y as usize);
    let mut tile = Tile { shape, quads, symbols: Vec::new(), samples: Vec::new() };
    let mut residuals: Vec<Symbols> = Vec::new();
    for (plane, coder) in coders.iter().enumerate() {
        let before: Vec<&Symbols> = residuals[plane - coder.parameters.cross.count..].iter().rev().collect();
        let own = original[plane].crop(2 * x, 2 * y, shape.width(), shape.height());
        let above = lower[plane].crop(x, y, shape.columns, shape.rows);
        let analysed = analyse(&own, &shape, &above, &before, &coder.parameters);
        tile.symbols.push(analysed.symbols);
        tile.samples.push(analysed.samples);
        residuals.push(analysed.residuals);
    }
    tile
}
