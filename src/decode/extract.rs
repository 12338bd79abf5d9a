//! Cuts a smaller file out of a file, without coding anything anew.

use bytes::Bytes;

use super::decoder::Decoder;
use super::plan::{GroupPlan, LevelPlan, Plan, Request};
use crate::container::Header;
use crate::container::index::TileGrid;
use crate::container::write::{File, GroupChunks, Parts};
use crate::error::{Error, Limits, Result};
use crate::geom::Rect;
use crate::stream::Source;

/// A file that holds one LoQ and what is below it, of one region or of all: its LoQ 0 is the request's LoQ. Tiles are
/// copied as they are; those that the region does not need are left out.
///
/// # Errors
/// Those of the source and of broken bytes; [`Error::Request`] where the request does not fit, and where it names
/// planes (files hold all).
pub fn extract<S: Source>(decoder: &Decoder<S>, request: &Request) -> Result<File> {
    if request.planes.is_some() {
        return Err(Error::Request("an extract holds all planes".into()));
    }
    let plan = decoder.plan(request)?;
    let metadata = decoder.metadata()?;
    let header = decoder.header();
    let levels = usize::from(header.levels - plan.loq);
    let mut chunks: Vec<Vec<GroupChunks>> = vec![Vec::new(); levels];
    for group in &plan.groups {
        for level in &group.levels {
            let place = usize::from(level.level - plan.loq);
            chunks[place].push(level_chunks(decoder, group, level)?);
        }
    }
    let root = decoder.root_grids(&plan)?;
    Parts { header: extract_header(header, request, &plan), root, chunks, metadata }.finish()
}

/// The chunks of a whole level, empty where the plan does not need them.
fn level_chunks<S: Source>(
    decoder: &Decoder<S>,
    group: &GroupPlan,
    level: &LevelPlan,
) -> Result<GroupChunks> {
    let grid = TileGrid::new(decoder.header(), level.level, group.group);
    let planes = group.planes.len();
    // The new file has an entry for every tile of the level, also for those left out.
    let table = grid.tiles.area().saturating_mul((planes * size_of::<Bytes>()) as u64);
    Limits::check(
        "the memory needed",
        table.saturating_add(grid.directory_bytes()),
        decoder.limits().memory,
    )?;
    let mut all = vec![Bytes::new(); grid.tiles.area() as usize * planes];
    let mut fetched = decoder.chunks(&level.chunks)?.into_iter();
    let Rect { x, y, width, height } = level.tiles;
    for row in y..y + height {
        let start = (row as usize * grid.tiles.width as usize + x as usize) * planes;
        all[start..start + width as usize * planes].fill_with(|| fetched.next().unwrap_or_default());
    }
    Ok(all)
}

fn extract_header(header: &Header, request: &Request, plan: &Plan) -> Header {
    let (loq, window) = (plan.loq, header.window);
    let region = request.region.unwrap_or(window.size().rect());
    let on_canvas = Rect { x: region.x + window.x, y: region.y + window.y, ..region };
    // Each pixel covers more of the world.
    let grown = f64::from(loq).exp2();
    Header {
        canvas: header.canvas.at_level(loq),
        window: on_canvas.at_level(loq),
        levels: header.levels - loq,
        tile_log2: [header.tile_log2(loq), header.tile_log2[1]],
        pixel_size: header.pixel_size.map(|(x, y)| (x * grown, y * grown)),
        params: header.params[usize::from(loq)..].to_vec(),
        ..header.clone()
    }
}
