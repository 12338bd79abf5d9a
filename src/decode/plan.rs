//! What a decode needs: a pure function of header and request. All decoders, and all that fetch for them, follow it.

use std::ops::Range;

use crate::colour::ColourTransform;
use crate::container::Header;
use crate::container::index::{Chunk, TileGrid};
use crate::error::{Error, Limits, Result};
use crate::geom::{Level, Rect, Size};
use crate::stream::coalesce;

/// Which part of a picture to decode.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Request {
    /// Level of quality: 0 is full size, each step up halves both sides.
    pub loq: Level,
    /// In full-resolution pixels, whatever the LoQ; all of the picture if `None`. At LoQ n the pixels that it touches
    /// come out: [`Rect::at_level`].
    pub region: Option<Rect>,
    /// Indices of planes, in the order in which they shall come out; all if `None`.
    pub planes: Option<Vec<usize>>,
}

/// What a decode needs of each level, and where it lies in the file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Plan {
    /// The LoQ that comes out.
    pub loq: Level,
    /// Size of what comes out, for planes without sub-sampling.
    pub size: Size,
    /// Planes that come out, in that order.
    pub planes: Vec<usize>,
    /// Groups that have to be decoded.
    pub groups: Vec<GroupPlan>,
    /// Where the root samples and their checksum lie.
    pub root: Range<u64>,
}

/// What a decode needs of a group of planes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GroupPlan {
    /// Which group.
    pub group: usize,
    /// Planes that have to be decoded, ascending: those wanted and those they depend on.
    pub planes: Vec<usize>,
    /// The samples of the LoQ that come out, in the group's planes.
    pub rect: Rect,
    /// From the level below the root down to the LoQ.
    pub levels: Vec<LevelPlan>,
}

/// What a decode needs of one level of a group: whole tiles.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelPlan {
    /// Which level.
    pub level: Level,
    /// Its size.
    pub size: Size,
    /// Its tiles that are rebuilt.
    pub tiles: Rect,
    /// log2 of their quads a side.
    pub tile_log2: u32,
    /// Their chunks: by tile, row by row, then by plane of [`GroupPlan::planes`].
    pub chunks: Vec<Chunk>,
}

impl LevelPlan {
    /// The samples that are rebuilt.
    pub fn samples(&self) -> Rect {
        let side = 2 << self.tile_log2;
        let all = |start: u32, count: u32, end: u32| {
            let first = start * side;
            (first, (u64::from(start + count) * u64::from(side)).min(end.into()) as u32 - first)
        };
        let (x, width) = all(self.tiles.x, self.tiles.width, self.size.width);
        let (y, height) = all(self.tiles.y, self.tiles.height, self.size.height);
        Rect { x, y, width, height }
    }

    /// The tiles, in the order of their chunks.
    pub fn tile_places(&self) -> impl Iterator<Item = (u32, u32)> {
        let tiles = self.tiles;
        (tiles.y..tiles.bottom()).flat_map(move |y| (tiles.x..tiles.right()).map(move |x| (x, y)))
    }
}

impl Plan {
    /// The plan without chunks, which takes no index.
    ///
    /// # Errors
    /// [`Error::Request`] where the request does not fit the file, [`Error::Limit`] where it exceeds the limits.
    pub fn geometry(header: &Header, request: &Request, limits: &Limits) -> Result<Plan> {
        let loq = request.loq;
        if loq > header.levels {
            let message = format!("LoQ {loq} asked for, the file has 0 to {}", header.levels);
            return Err(Error::Request(message));
        }
        let picture = header.window.size();
        let region = request.region.unwrap_or(picture.rect());
        if region.is_empty() || !region.fits(picture) {
            let Rect { x, y, width, height } = region;
            return Err(Error::Request(format!(
                "the region {width} × {height} at ({x}, {y}) does not lie in the picture of {} × {}",
                picture.width, picture.height
            )));
        }
        let on_canvas = Rect { x: region.x + header.window.x, y: region.y + header.window.y, ..region };
        let planes = wanted_planes(header, request)?;
        let coded = coded_planes(header, loq, &planes);
        let mut groups = Vec::new();
        for group in 0..header.groups.len() {
            let in_group = |&&p: &&usize| header.groups[group].contains(&p);
            let members: Vec<usize> = coded.iter().filter(in_group).copied().collect();
            if !members.is_empty() {
                groups.push(group_plan(header, group, members, on_canvas, loq));
            }
        }
        let root = header.root_start()..header.root_start() + header.root_bytes();
        let plan = Plan { loq, size: on_canvas.at_level(loq).size(), planes, groups, root };
        plan.check(limits)?;
        Ok(plan)
    }

    /// Samples that come out.
    pub fn samples(&self) -> u64 {
        let rect_of =
            |p: &usize| self.groups.iter().find(|g| g.planes.contains(p)).map_or(0, |g| g.rect.size().area());
        self.planes.iter().map(rect_of).fold(0, u64::saturating_add)
    }

    /// Every byte that is read, in order and without overlaps (the index apart, which planning has read).
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let chunks = self.groups.iter().flat_map(|g| &g.levels).flat_map(|l| &l.chunks).map(Chunk::range);
        coalesce(chunks.chain([self.root.clone()]), 0)
    }

    /// The sum of [`Self::ranges`].
    pub fn bytes(&self) -> u64 {
        self.ranges().iter().map(|r| r.end - r.start).sum()
    }

    fn check(&self, limits: &Limits) -> Result<()> {
        Limits::check("the number of samples", self.samples(), limits.samples)?;
        Limits::check("the memory needed", self.memory(), limits.memory)
    }

    /// Bytes that decoding holds at most, roughly: planes of 32 bits come out, the level above stands beside them, and
    /// three rows of tiles are in work. Chunk tables are counted too: a small file can have a huge index.
    pub fn memory(&self) -> u64 {
        let mut peak = 0u64;
        for group in &self.groups {
            let planes = group.planes.len() as u64;
            for level in &group.levels {
                let samples = level.samples().size().area();
                let quads = (u64::from(level.tiles.width) * 3 * (1 << 14)).min(level.size.at_level(1).area());
                let rows = quads * 3 * 4;
                let table = level.tiles.size().area().saturating_mul(16);
                let all = samples.saturating_mul(5).saturating_add(rows).saturating_add(table);
                peak = peak.max(all.saturating_mul(planes));
            }
        }
        peak.saturating_add(self.samples().saturating_mul(4))
    }
}

fn wanted_planes(header: &Header, request: &Request) -> Result<Vec<usize>> {
    let count = header.planes.len();
    let Some(planes) = &request.planes else { return Ok((0..count).collect()) };
    if planes.is_empty() || planes.len() > count {
        return Err(Error::Request(format!("{} planes asked for, the file has {count}", planes.len())));
    }
    match planes.iter().find(|&&p| p >= count) {
        Some(p) => Err(Error::Request(format!("plane {p} asked for, the file has 0 to {}", count - 1))),
        None => Ok(planes.clone()),
    }
}

/// The planes that have to be decoded for those wanted: all three of a colour transform, and what residuals of others
/// are predicted from.
fn coded_planes(header: &Header, loq: Level, wanted: &[usize]) -> Vec<usize> {
    let mut needed = vec![false; header.planes.len()];
    wanted.iter().for_each(|&p| needed[p] = true);
    if header.colour != ColourTransform::None {
        let colours = header.colour_first..header.colour_first + 3;
        if needed[colours.clone()].contains(&true) {
            needed[colours].fill(true);
        }
    }
    for plane in (0..needed.len()).rev() {
        if needed[plane] {
            let levels = &header.params[usize::from(loq)..];
            let before = levels.iter().map(|level| level[plane].cross.count).max().unwrap_or(0);
            needed[plane - before..plane].fill(true);
        }
    }
    (0..needed.len()).filter(|&p| needed[p]).collect()
}

fn group_plan(header: &Header, group: usize, planes: Vec<usize>, on_canvas: Rect, loq: Level) -> GroupPlan {
    let (across, down) = header.planes[planes[0]].subsampling;
    let full = on_canvas.cells(across.into(), down.into());
    let rect = full.at_level(loq);
    let mut levels = Vec::new();
    // The samples of a tile take the quads it covers of the level above, and no more.
    let mut needed = rect;
    for level in loq..header.levels {
        let grid = TileGrid::new(header, level, group);
        let tiles = grid.tiles_of_quads(needed.parent());
        let size = header.plane_size(planes[0], level);
        levels.push(LevelPlan { level, size, tiles, tile_log2: header.tile_log2(level), chunks: Vec::new() });
        needed = grid.quads_of_tiles(tiles);
    }
    levels.reverse();
    GroupPlan { group, planes, rect, levels }
}
