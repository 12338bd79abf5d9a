//! The decoder for speed: tiles in parallel, a few rows of tiles at a time, so that compressed bytes and residuals never
//! stand in memory whole. The same result as `cpu.rs`.

use rayon::prelude::*;

use super::plan::{GroupPlan, LevelPlan};
use super::tile::{Chunks, Part, tile_shape};
use crate::container::Header;
use crate::control::Control;
use crate::entropy::Symbols;
use crate::entropy::fast::{Prepared, decode_tile};
use crate::error::Result;
use crate::grid::Grid;
use crate::upsample::cpu::Parameters;
use crate::upsample::fast::rebuild;

/// Tiles that are decoded between two looks at cancellation, a thread.
const TILES_A_THREAD: usize = 4;

/// Takes the parts of the level that comes out.
pub trait Sink: Sync {
    /// What a part becomes, in parallel.
    type Piece: Send;
    /// Changes a part: one for each plane of the group, all of the same rectangle.
    fn convert(&self, planes: Vec<Part>) -> Self::Piece;
    /// Takes what a part became.
    fn take(&mut self, piece: Self::Piece);
}

/// Decodes a group from its root samples; the parts of the plan's LoQ go to `sink`.
pub fn decode_group<S: Sink>(
    header: &Header,
    plan: &GroupPlan,
    root: Vec<Part>,
    chunks: &dyn Chunks,
    control: &Control,
    sink: &mut S,
) -> Result<()> {
    let mut lower = root;
    let Some((last, earlier)) = plan.levels.split_last() else {
        sink.take(sink.convert(lower));
        return Ok(());
    };
    for level in earlier {
        let mut whole = Whole(plan.planes.iter().map(|_| Part::new(level.samples())).collect());
        LevelDecoder::new(header, plan, level, &lower).decode(chunks, &control.quiet(), &mut whole)?;
        lower = whole.0;
    }
    LevelDecoder::new(header, plan, last, &lower).decode(chunks, control, sink)
}

/// Keeps a level whole.
struct Whole(Vec<Part>);

impl Sink for Whole {
    type Piece = Vec<Part>;

    fn convert(&self, planes: Vec<Part>) -> Vec<Part> {
        planes
    }

    fn take(&mut self, piece: Vec<Part>) {
        for (whole, part) in self.0.iter_mut().zip(piece) {
            whole.paste(part.rect.x, part.rect.y, &part.grid);
        }
    }
}

struct LevelDecoder<'a> {
    level: &'a LevelPlan,
    lower: &'a [Part],
    models: Vec<Prepared<'a>>,
    parameters: Vec<Parameters>,
}

impl<'a> LevelDecoder<'a> {
    fn new(header: &'a Header, plan: &GroupPlan, level: &'a LevelPlan, lower: &'a [Part]) -> Self {
        let params = &header.params[usize::from(level.level)];
        LevelDecoder {
            level,
            lower,
            models: plan.planes.iter().map(|&p| Prepared::new(&params[p].model)).collect(),
            parameters: plan.planes.iter().map(|&p| Parameters::new(header, &params[p], p)).collect(),
        }
    }

    fn decode<S: Sink>(&self, chunks: &dyn Chunks, control: &Control, sink: &mut S) -> Result<()> {
        let planes = self.lower.len();
        let places: Vec<(u32, u32)> = self.level.tile_places().collect();
        // Whole rows of tiles, so that what is read lies together.
        let row = self.level.tiles.width as usize;
        let batch = (rayon::current_num_threads() * TILES_A_THREAD).div_ceil(row) * row;
        for (start, places) in (0..).step_by(batch).zip(places.chunks(batch)) {
            let some = &self.level.chunks[start * planes..(start + places.len()) * planes];
            let bytes = chunks.fetch(some)?;
            let tiles = places.par_iter().zip(bytes.par_chunks(planes)).zip(some.par_chunks(planes));
            let decode = |((&place, bytes), chunks): ((&(u32, u32), &[bytes::Bytes]), &[_])| {
                self.tile(place, bytes, chunks).map(|parts| sink.convert(parts))
            };
            let pieces: Vec<S::Piece> = tiles.map(decode).collect::<Result<_>>()?;
            pieces.into_iter().for_each(|piece| sink.take(piece));
            control.step((start + places.len()) as f32 / self.level.tiles.size().area() as f32)?;
        }
        Ok(())
    }

    fn tile(
        &self,
        place: (u32, u32),
        bytes: &[bytes::Bytes],
        chunks: &[crate::container::index::Chunk],
    ) -> Result<Vec<Part>> {
        let (quads, shape) = tile_shape(self.level.tile_log2, self.level.size, place);
        let mut residuals: Vec<Symbols> = Vec::with_capacity(bytes.len());
        let mut parts = Vec::with_capacity(bytes.len());
        for (plane, (bytes, chunk)) in bytes.iter().zip(chunks).enumerate() {
            let mut symbols = decode_tile(bytes, &shape, &self.models[plane])
                .map_err(|fault| chunk.fault(fault.to_string()))?;
            let parameters = &self.parameters[plane];
            let before: Vec<&Symbols> = residuals[plane - parameters.cross.count..].iter().rev().collect();
            let lower = self.lower[plane].crop(quads);
            let grid: Grid<i32> = rebuild(&shape, &lower, &mut symbols, &before, parameters);
            let (width, height) = (grid.width() as u32, grid.height() as u32);
            let rect = crate::geom::Rect { x: 2 * quads.x, y: 2 * quads.y, width, height };
            parts.push(Part { rect, grid });
            residuals.push(symbols);
        }
        Ok(parts)
    }
}
