//! What every stage makes of a picture, kept so that the CPU's and the GPU's can be compared: a wrong pixel is found at
//! the first value that differs. The GPU's are made by [`GpuDecoder::trace`](super::GpuDecoder::trace).

use std::fmt;

use super::packet::Packet;
use crate::container::index::Chunk;
use crate::decode::cpu::decode_level;
use crate::decode::fast::Sink;
use crate::decode::output::{Converter, Planar};
use crate::decode::plan::{GroupPlan, LevelPlan};
use crate::decode::tile::{Part, tile_shape};
use crate::entropy::{BANDS, Symbols};
use crate::error::Result;
use crate::geom;
use crate::grid::Grid;

/// A stage, in the order of decoding. Residuals are not kept: on the GPU they are a part of upsampling.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Stage {
    /// Chunks → symbols.
    Entropy,
    /// Symbols and the level above → samples.
    Upsample,
    /// Coded samples → what comes out.
    Colour,
}

impl fmt::Display for Stage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Stage::Entropy => "entropy",
            Stage::Upsample => "upsample",
            Stage::Colour => "colour",
        })
    }
}

/// A level of a group.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LevelTrace {
    /// Of each chunk, in the order of the plan.
    pub symbols: Vec<Symbols>,
    /// Of each plane of the group.
    pub samples: Vec<Part>,
}

/// What the stages have made of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Trace {
    /// By group of the plan, then by level, from below the root down.
    pub groups: Vec<Vec<LevelTrace>>,
    /// What comes out, in the order of the request.
    pub planes: Vec<Grid<i32>>,
}

impl Trace {
    /// What the reference decoder makes of a packet.
    ///
    /// # Errors
    /// [`Error::Format`](crate::Error::Format) for the first broken chunk.
    pub fn reference(packet: &Packet) -> Result<Trace> {
        let (header, plan) = (&packet.header, &packet.plan);
        let mut planes = vec![Grid::default(); plan.planes.len()];
        let mut groups = Vec::new();
        for (group, roots) in plan.groups.iter().zip(&packet.roots) {
            let mut lower = roots.clone();
            let mut levels = Vec::new();
            for level in &group.levels {
                let chunk = |c: &Chunk| if c.bytes == 0 { &[][..] } else { packet.chunk(c).0 };
                let bytes: Vec<&[u8]> = level.chunks.iter().map(chunk).collect();
                let mut symbols = Vec::with_capacity(bytes.len());
                let mut keep = |s: &Symbols| symbols.push(s.clone());
                lower = decode_level(header, group, level, &lower, &bytes, &mut keep)?;
                levels.push(LevelTrace { symbols, samples: lower.clone() });
            }
            let mut sink = Planar::new(Converter::new(header, plan, group));
            sink.take(sink.convert(lower));
            let kept = (0..plan.planes.len()).filter(|&i| group.planes.contains(&plan.planes[i]));
            kept.zip(sink.planes).for_each(|(i, grid)| planes[i] = grid);
            groups.push(levels);
        }
        Ok(Trace { groups, planes })
    }

    /// Compares what the GPU has made of a packet with this, stage by stage, each from the root down.
    pub fn compare(&self, packet: &Packet, gpu: &Trace) -> Comparison {
        let mut out = Comparison::default();
        for (i, group) in packet.plan.groups.iter().enumerate() {
            for (k, level) in group.levels.iter().enumerate() {
                out.symbols(group, level, &self.groups[i][k].symbols, &gpu.groups[i][k].symbols);
            }
        }
        for (i, group) in packet.plan.groups.iter().enumerate() {
            for (k, level) in group.levels.iter().enumerate() {
                out.samples(group, level, &self.groups[i][k].samples, &gpu.groups[i][k].samples);
            }
        }
        for (&plane, (cpu, gpu)) in packet.plan.planes.iter().zip(self.planes.iter().zip(&gpu.planes)) {
            let place =
                Difference { stage: Stage::Colour, level: packet.plan.loq, plane, ..Difference::default() };
            out.grids(cpu, gpu, (0, 0), |_, _| place);
        }
        out
    }
}

/// A value that is not the same.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Difference {
    /// The stage that gave it.
    pub stage: Stage,
    /// The level.
    pub level: geom::Level,
    /// The plane, as the file counts them.
    pub plane: usize,
    /// Column and row of its tile in the level. What comes out has none.
    pub tile: Option<(u32, u32)>,
    /// Of symbols: 0 V, 1 H0, 2 H1.
    pub band: Option<usize>,
    /// The column: of symbols, of quads in the tile; of samples, in the level; of what comes out, in that.
    pub x: u32,
    /// The row, likewise.
    pub y: u32,
    /// The CPU's value.
    pub cpu: i32,
    /// The GPU's.
    pub gpu: i32,
}

impl Default for Difference {
    fn default() -> Self {
        let (level, plane, tile, band) = (0, 0, None, None);
        Difference { stage: Stage::Entropy, level, plane, tile, band, x: 0, y: 0, cpu: 0, gpu: 0 }
    }
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "stage {}, level {}, plane {}", self.stage, self.level, self.plane)?;
        if let Some((x, y)) = self.tile {
            write!(f, ", tile ({x}, {y})")?;
        }
        let what = match self.band {
            Some(band) => ["V of quad", "H0 of quad", "H1 of quad"][band],
            None => "sample",
        };
        let Difference { x, y, cpu, gpu, .. } = self;
        write!(f, ", {what} ({x}, {y}): {cpu} on the CPU, {gpu} on the GPU")
    }
}

/// How many values were compared, and the first that differs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Comparison {
    /// By stage.
    pub compared: [u64; 3],
    /// How many of them differ.
    pub differ: [u64; 3],
    /// The first.
    pub first: Option<Difference>,
}

impl Comparison {
    /// Adds what was compared after this.
    pub fn add(&mut self, other: &Comparison) {
        self.compared.iter_mut().zip(other.compared).for_each(|(all, more)| *all += more);
        self.differ.iter_mut().zip(other.differ).for_each(|(all, more)| *all += more);
        let earlier = |a: Difference, b: Difference| if b.stage < a.stage { b } else { a };
        self.first = match (self.first, other.first) {
            (Some(a), Some(b)) => Some(earlier(a, b)),
            (a, b) => a.or(b),
        };
    }

    fn symbols(&mut self, group: &GroupPlan, level: &LevelPlan, cpu: &[Symbols], gpu: &[Symbols]) {
        let planes = group.planes.len();
        let mut pairs = cpu.iter().zip(gpu);
        for place in level.tile_places() {
            let (_, shape) = tile_shape(level.tile_log2, level.size, place);
            for (&plane, (cpu, gpu)) in group.planes.iter().zip(pairs.by_ref().take(planes)) {
                for (y, band) in (0..shape.rows).flat_map(|y| (0..BANDS).map(move |band| (y, band))) {
                    let at = Difference {
                        stage: Stage::Entropy,
                        level: level.level,
                        plane,
                        tile: Some(place),
                        band: Some(band),
                        y: y as u32,
                        ..Difference::default()
                    };
                    self.row(cpu.row(band, y), gpu.row(band, y), |x| Difference { x, ..at });
                }
            }
        }
    }

    fn samples(&mut self, group: &GroupPlan, level: &LevelPlan, cpu: &[Part], gpu: &[Part]) {
        let side_log2 = level.tile_log2 + 1;
        for (&plane, (cpu, gpu)) in group.planes.iter().zip(cpu.iter().zip(gpu)) {
            let at = |x: u32, y: u32| Difference {
                stage: Stage::Upsample,
                level: level.level,
                plane,
                tile: Some((x >> side_log2, y >> side_log2)),
                ..Difference::default()
            };
            self.grids(&cpu.grid, &gpu.grid, (cpu.rect.x, cpu.rect.y), at);
        }
    }

    /// Compares grids whose first sample is at `origin` of what `at` speaks of.
    fn grids(
        &mut self,
        cpu: &Grid<i32>,
        gpu: &Grid<i32>,
        origin: (u32, u32),
        at: impl Fn(u32, u32) -> Difference,
    ) {
        for row in 0..cpu.height() {
            let y = origin.1 + row as u32;
            let place = |x: u32| Difference { x: origin.0 + x, y, ..at(origin.0 + x, y) };
            self.row(cpu.row(row), gpu.row(row), place);
        }
    }

    fn row(&mut self, cpu: &[i32], gpu: &[i32], at: impl Fn(u32) -> Difference) {
        assert_eq!(cpu.len(), gpu.len(), "both are laid out by one plan");
        let stage = at(0).stage as usize;
        self.compared[stage] += cpu.len() as u64;
        if cpu == gpu {
            return;
        }
        for (x, (&cpu, &gpu)) in (0..).zip(cpu.iter().zip(gpu)).filter(|(_, (cpu, gpu))| cpu != gpu) {
            self.differ[stage] += 1;
            self.first.get_or_insert(Difference { cpu, gpu, ..at(x) });
        }
    }
}
