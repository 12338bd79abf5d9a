//! The reference decoder of a group: level after level, tile after tile.

use crate::container::Header;
use crate::decode::plan::{GroupPlan, LevelPlan};
use crate::decode::tile::{Chunks, Part, tile_shape};
use crate::entropy::Symbols;
use crate::entropy::cpu::decode_tile;
use crate::error::Result;
use crate::upsample::cpu::{Parameters, rebuild};

/// Decodes the planes of a group, from their root samples to the plan's LoQ. What comes out covers at least the
/// plan's rectangle.
pub fn decode_group(
    header: &Header,
    plan: &GroupPlan,
    root: Vec<Part>,
    chunks: &dyn Chunks,
) -> Result<Vec<Part>> {
    let mut lower = root;
    for level in &plan.levels {
        let bytes = chunks.fetch(&level.chunks)?;
        lower = decode_level(header, plan, level, &lower, &bytes, &mut |_| ())?;
    }
    Ok(lower)
}

/// Decodes a level from the samples of the level above and the bytes of its chunks. `watch` sees the symbols of each.
pub fn decode_level(
    header: &Header,
    plan: &GroupPlan,
    level: &LevelPlan,
    lower: &[Part],
    bytes: &[impl AsRef<[u8]>],
    watch: &mut dyn FnMut(&Symbols),
) -> Result<Vec<Part>> {
    let mut planes: Vec<Part> = plan.planes.iter().map(|_| Part::new(level.samples())).collect();
    for (tile, place) in level.tile_places().enumerate() {
        let (quads, shape) = tile_shape(level.tile_log2, level.size, place);
        let mut residuals: Vec<Symbols> = Vec::new();
        for (i, &plane) in plan.planes.iter().enumerate() {
            let params = &header.params[usize::from(level.level)][plane];
            let at = tile * plan.planes.len() + i;
            let symbols = decode_tile(bytes[at].as_ref(), &shape, &params.model)
                .map_err(|fault| level.chunks[at].fault(fault.to_string()))?;
            watch(&symbols);
            // The planes before come nearest first.
            let before: Vec<&Symbols> = residuals[i - params.cross.count..].iter().rev().collect();
            let parameters = Parameters::new(header, params, plane);
            let (samples, actual) = rebuild(&shape, &lower[i].crop(quads), &symbols, &before, &parameters);
            planes[i].paste(2 * quads.x, 2 * quads.y, &samples);
            residuals.push(actual);
        }
    }
    Ok(planes)
}
