//! Bands of a level → chunks of tiles, with a model fitted to them.

use bytes::Bytes;
use rayon::prelude::*;

use super::model::Histogram;
use crate::decode::tile::tile_shape;
use crate::entropy::encode::{cells, encode_tile};
use crate::entropy::{Symbols, TileModel, TileShape};
use crate::geom::Size;
use crate::upsample::encode::Bands;

/// The chunks of a level of a plane, row by row, and the model they are coded with.
pub fn encode_level(
    bands: &Bands,
    level: Size,
    tile_log2: u32,
    (set, deep, skewed): (usize, bool, bool),
) -> (TileModel, Vec<Bytes>) {
    let tiles = level.at_level(1).rect().cells(1 << tile_log2, 1 << tile_log2).size();
    let places: Vec<(u32, u32)> =
        (0..tiles.height).flat_map(|y| (0..tiles.width).map(move |x| (x, y))).collect();
    let tile = |place: &(u32, u32)| tile_symbols(bands, level, tile_log2, *place);
    let count = |mut histogram: Histogram, place: &(u32, u32)| {
        let (shape, symbols) = tile(place);
        cells(&symbols, &shape, set, deep, |cell| histogram.add(cell));
        histogram
    };
    let histogram =
        places.par_iter().fold(Histogram::default, count).reduce(Histogram::default, |a, b| a.merge(&b));
    let model = histogram.fit(set, deep, skewed);
    let code = |place: &(u32, u32)| {
        let (shape, symbols) = tile(place);
        Bytes::from(encode_tile(&symbols, &shape, &model))
    };
    let chunks = places.par_iter().map(code).collect();
    (model, chunks)
}

fn tile_symbols(bands: &Bands, level: Size, tile_log2: u32, place: (u32, u32)) -> (TileShape, Symbols) {
    let (quads, shape) = tile_shape(tile_log2, level, place);
    let mut symbols = Symbols::new(&shape);
    for (band, grid) in bands.iter().enumerate() {
        for row in 0..shape.rows {
            let columns = shape.band_columns(band, row);
            let source = &grid.row(quads.y as usize + row)[quads.x as usize..][..columns];
            symbols.row_mut(band, row)[..columns].copy_from_slice(source);
        }
    }
    (shape, symbols)
}
