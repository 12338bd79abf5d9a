//! The decoder for speed: tiles and strips of rows in parallel, a few rows of tiles at a time, so that residuals never
//! stand in memory whole. The same result as `cpu.rs`.

use std::collections::VecDeque;

use bytes::Bytes;
use rayon::prelude::*;

use super::plan::{GroupPlan, LevelPlan};
use super::tile::{Chunks, tile_shape};
use crate::container::Header;
use crate::control::Control;
use crate::entropy::Symbols;
use crate::entropy::fast::{Prepared, decode_tile};
use crate::error::Result;
use crate::geom::Rect;
use crate::upsample::cpu::{Parameters, Part};
use crate::upsample::fast::{Strip, SymbolRows, rebuild_strip};

/// Rows of quads that one job rebuilds.
const STRIP_ROWS: u32 = 16;

/// Takes strips of the level that comes out.
pub trait Sink: Sync {
    /// What a strip becomes, in parallel.
    type Piece: Send;
    /// Changes a strip.
    fn convert(&self, strip: Strip) -> Self::Piece;
    /// Takes what a strip became, in order from top to bottom.
    fn take(&mut self, piece: Self::Piece);
}

/// Decodes a group from its root samples; strips of the plan's LoQ go to `sink`.
pub fn decode_group<S: Sink>(
    header: &Header,
    plan: &GroupPlan,
    root: Vec<Part>,
    chunks: &dyn Chunks,
    control: &Control,
    sink: &mut S,
) -> Result<()> {
    let mut planes = root;
    let Some((last, earlier)) = plan.levels.split_last() else {
        let rect = planes[0].rect;
        let planes = planes.into_iter().map(|part| part.grid.into_vec()).collect();
        sink.take(sink.convert(Strip { rect, planes }));
        return Ok(());
    };
    for level in earlier {
        let mut collect = Collect::new(level, planes.len());
        decode_level(header, plan, level, &planes, chunks, &control.part(0.0, 0.0), &mut collect)?;
        planes = collect.finish();
    }
    decode_level(header, plan, last, &planes, chunks, control, sink)
}

/// Keeps a level whole.
struct Collect {
    rect: Rect,
    size: crate::geom::Size,
    planes: Vec<Vec<i32>>,
}

impl Collect {
    fn new(level: &LevelPlan, planes: usize) -> Self {
        let rect = level.samples();
        let room = || Vec::with_capacity(rect.width as usize * rect.height as usize);
        Collect { rect, size: level.size, planes: (0..planes).map(|_| room()).collect() }
    }

    fn finish(self) -> Vec<Part> {
        let Collect { rect, size, planes } = self;
        let grid = |data| crate::grid::Grid::from_vec(rect.width as usize, rect.height as usize, data);
        planes.into_iter().map(|data| Part { rect, size, grid: grid(data) }).collect()
    }
}

impl Sink for Collect {
    type Piece = Strip;

    fn convert(&self, strip: Strip) -> Strip {
        strip
    }

    fn take(&mut self, strip: Strip) {
        self.planes.iter_mut().zip(strip.planes).for_each(|(all, rows)| all.extend_from_slice(&rows));
    }
}

fn decode_level<S: Sink>(
    header: &Header,
    plan: &GroupPlan,
    level: &LevelPlan,
    lower: &[Part],
    chunks: &dyn Chunks,
    control: &Control,
    sink: &mut S,
) -> Result<()> {
    let params = &header.params[usize::from(level.level)];
    let models: Vec<Prepared> = plan.planes.iter().map(|&p| Prepared::new(&params[p].model)).collect();
    let parameters: Vec<Parameters> =
        plan.planes.iter().map(|&p| Parameters::new(header, &params[p], p)).collect();
    let tiles = level.tiles;
    let a_row = tiles.width as usize * plan.planes.len();
    // Enough rows of tiles at a time to keep all threads busy.
    let batch = rayon::current_num_threads().div_ceil(a_row).max(1);
    let mut rows = TileRows::new(level, header.tile_log2, plan.planes.len());
    let mut done = level.quads.y;
    let numbers: Vec<usize> = (0..tiles.height as usize).collect();
    for batch in numbers.chunks(batch) {
        let some = &level.chunks[batch[0] * a_row..(batch[batch.len() - 1] + 1) * a_row];
        let bytes = chunks.fetch(some)?;
        let decoded: Vec<Symbols> = some
            .par_iter()
            .zip(&bytes)
            .enumerate()
            .map(|(i, (chunk, bytes)): (usize, (_, &Bytes))| {
                let (tile, plane) = (i / plan.planes.len(), i % plan.planes.len());
                let column = tiles.x + (tile % tiles.width as usize) as u32;
                let row = tiles.y + (batch[0] + tile / tiles.width as usize) as u32;
                let (_, shape) = tile_shape(header.tile_log2, level.size, (column, row));
                decode_tile(bytes, &shape, &models[plane]).map_err(|fault| chunk.fault(fault.to_string()))
            })
            .collect::<Result<_>>()?;
        let mut decoded = decoded.into_iter();
        for &number in batch {
            rows.push(tiles.y + number as u32, decoded.by_ref().take(a_row).collect());
        }
        // The last row decoded waits for the one below it, which its means depend on.
        let last = batch[batch.len() - 1] + 1 == tiles.height as usize;
        let ready = if last { level.quads.bottom() } else { rows.bottom() - 1 }.min(level.quads.bottom());
        if ready > done {
            rebuild_rows(level, done..ready, lower, &rows, &parameters, sink);
            done = ready;
        }
        rows.forget_above(done);
        control.step((done - level.quads.y) as f32 / level.quads.height as f32)?;
    }
    Ok(())
}

fn rebuild_rows<S: Sink>(
    level: &LevelPlan,
    rows: std::ops::Range<u32>,
    lower: &[Part],
    symbols: &TileRows,
    parameters: &[Parameters],
    sink: &mut S,
) {
    let strips: Vec<u32> = rows.clone().step_by(STRIP_ROWS as usize).collect();
    let one = |&y: &u32| {
        let height = STRIP_ROWS.min(rows.end - y);
        let quads = Rect { y, height, ..level.quads };
        sink.convert(rebuild_strip(level.size, quads, lower, symbols, parameters))
    };
    let pieces: Vec<S::Piece> = strips.par_iter().map(one).collect();
    pieces.into_iter().for_each(|piece| sink.take(piece));
}

/// The rows of tiles that are still needed.
struct TileRows {
    tile_log2: u32,
    first_column: u32,
    planes: usize,
    all: crate::geom::Size,
    rows: VecDeque<(u32, Vec<Symbols>)>,
}

impl TileRows {
    fn new(level: &LevelPlan, tile_log2: u32, planes: usize) -> Self {
        let all = level.size.at_level(1);
        TileRows { tile_log2, first_column: level.tiles.x, planes, all, rows: VecDeque::new() }
    }

    fn push(&mut self, row: u32, tiles: Vec<Symbols>) {
        self.rows.push_back((row, tiles));
    }

    /// First row of quads below those decoded.
    fn bottom(&self) -> u32 {
        let rows = self.rows.back().map_or(0, |(row, _)| row + 1);
        (rows << self.tile_log2).min(self.all.height)
    }

    /// Drops what rows of quads from `y` on do not need.
    fn forget_above(&mut self, y: u32) {
        let first = y.saturating_sub(crate::upsample::MEAN_BORDER.1) >> self.tile_log2;
        while self.rows.front().is_some_and(|(row, _)| *row < first) {
            self.rows.pop_front();
        }
    }
}

impl SymbolRows for TileRows {
    fn copy(&self, plane: usize, band: usize, x: u32, y: u32, out: &mut [i32]) {
        let (row, side) = (y >> self.tile_log2, 1u32 << self.tile_log2);
        let first = self.rows.front().map_or(0, |(row, _)| *row);
        let tiles = &self.rows[(row - first) as usize].1;
        let (mut x, mut rest) = (x, out);
        while !rest.is_empty() {
            let column = x >> self.tile_log2;
            let from = x & (side - 1);
            let count = ((side - from) as usize).min(rest.len());
            let tile = &tiles[(column - self.first_column) as usize * self.planes + plane];
            let (out, after) = rest.split_at_mut(count);
            let source = tile.row(band, (y & (side - 1)) as usize);
            out.copy_from_slice(&source[from as usize..from as usize + count]);
            (x, rest) = (x + count as u32, after);
        }
    }
}
