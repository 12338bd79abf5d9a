//! The reference decoder of a group: level after level, tile after tile, everything in whole planes.

use crate::container::Header;
use crate::decode::plan::{GroupPlan, LevelPlan};
use crate::decode::tile::{Chunks, tile_shape};
use crate::entropy::cpu::decode_tile;
use crate::entropy::{BANDS, Place};
use crate::error::Result;
use crate::geom::Rect;
use crate::upsample::cpu::{Parameters, Part, rebuild};

/// Decodes the planes of a group, from their root samples to the plan's LoQ. What comes out covers at least the
/// plan's rectangle.
pub fn decode_group(
    header: &Header,
    plan: &GroupPlan,
    root: Vec<Part>,
    chunks: &impl Chunks,
) -> Result<Vec<Part>> {
    let mut planes = root;
    for level in &plan.levels {
        let bytes = chunks.fetch(&level.chunks)?;
        let mut rebuilt: Vec<(Part, [Part; BANDS])> = Vec::new();
        for (i, &plane) in plan.planes.iter().enumerate() {
            let symbols = decode_symbols(header, level, plane, i, plan.planes.len(), &bytes)?;
            let params = &header.params[usize::from(level.level)][plane];
            // The planes before come nearest first; those of the plan are the ones the file's planes refer to.
            let count = params.cross.count;
            let before: Vec<&[Part; BANDS]> = rebuilt[i - count..].iter().rev().map(|(_, r)| r).collect();
            let parameters = Parameters::new(header, params, plane);
            let new = rebuild(level.size, level.quads, &planes[i], &symbols, &before, &parameters);
            rebuilt.push((new.samples, new.residuals));
        }
        planes = rebuilt.into_iter().map(|(samples, _)| samples).collect();
    }
    Ok(planes)
}

fn decode_symbols(
    header: &Header,
    level: &LevelPlan,
    plane: usize,
    place: usize,
    planes: usize,
    bytes: &[bytes::Bytes],
) -> Result<[Part; BANDS]> {
    let all = level.size.at_level(1);
    let mut bands = std::array::from_fn(|_| Part::new(level.symbols, all));
    let params = &header.params[usize::from(level.level)][plane];
    let tiles = level.tiles;
    let places = (tiles.y..tiles.bottom()).flat_map(|y| (tiles.x..tiles.right()).map(move |x| (x, y)));
    for (tile, (x, y)) in places.enumerate() {
        let (quads, shape) = tile_shape(header.tile_log2, level.size, (x, y));
        let at = tile * planes + place;
        let symbols = decode_tile(&bytes[at], &shape, &params.model)
            .map_err(|fault| level.chunks[at].fault(fault.to_string()))?;
        let needed: Rect = quads.intersect(level.symbols);
        for (band, part) in bands.iter_mut().enumerate() {
            for y in needed.y..needed.bottom() {
                for x in needed.x..needed.right() {
                    let (column, row) = ((x - quads.x) as usize, (y - quads.y) as usize);
                    part.set(x, y, symbols.at(Place { band, row, column }));
                }
            }
        }
    }
    Ok(bands)
}
