//! What the host hands over for a picture: its plan, root samples and compressed bytes.

use std::ops::Range;

use bytes::Bytes;
use rayon::prelude::*;

use super::tables::Target;
use crate::container::Header;
use crate::container::index::Chunk;
use crate::decode::plan::{GroupPlan, LevelPlan};
use crate::decode::tile::{Part, tile_shape};
use crate::decode::{Decoder, Plan, Request};
use crate::entropy::cpu::decode_tile;
use crate::error::{Error, Result};
use crate::gpu::{ALIGNMENT, GpuFault};
use crate::stream::{Source, coalesce};

/// Bytes that lie together in the file, and in the payload from `start` on.
#[derive(Clone, Debug)]
pub struct Run {
    /// Where they lie in the file.
    pub range: Range<u64>,
    /// Where they come to lie in the packet's payload, a multiple of [`ALIGNMENT`].
    pub start: u64,
    /// They themselves.
    pub bytes: Bytes,
}

/// A part of a picture, ready to be decoded on the GPU.
#[derive(Clone, Debug)]
pub struct Packet {
    pub(super) header: Header,
    pub(super) plan: Plan,
    /// By group and plane.
    pub(super) roots: Vec<Vec<Part>>,
    pub(super) runs: Vec<Run>,
    pub(super) payload_bytes: u64,
}

impl<S: Source> Decoder<S> {
    /// Reads and checks what a decode on the GPU takes.
    ///
    /// # Errors
    /// As [`Decoder::decode`], but for what only decoding tiles can find.
    pub fn packet(&self, request: &Request) -> Result<Packet> {
        let plan = self.plan(request)?;
        let roots = self.roots(&plan)?;
        let chunks =
            || plan.groups.iter().flat_map(|g| &g.levels).flat_map(|l| &l.chunks).filter(|c| c.bytes > 0);
        let ranges = coalesce(chunks().map(Chunk::range), 0);
        let bytes = self.read_whole(&ranges)?;
        let mut payload_bytes = 0;
        let mut runs = Vec::with_capacity(ranges.len());
        for (range, bytes) in ranges.into_iter().zip(bytes) {
            runs.push(Run { start: payload_bytes, range, bytes });
            payload_bytes =
                (payload_bytes + runs[runs.len() - 1].bytes.len() as u64).next_multiple_of(ALIGNMENT);
        }
        let packet = Packet { header: self.header().clone(), plan, roots, runs, payload_bytes };
        packet.check()?;
        Ok(packet)
    }
}

impl Packet {
    /// What will be decoded.
    pub fn plan(&self) -> &Plan {
        &self.plan
    }

    /// The bytes of a chunk that is not empty, and where they come to lie in the payload.
    pub(super) fn chunk(&self, chunk: &Chunk) -> (&[u8], u64) {
        let run = self.runs.partition_point(|run| run.range.end <= chunk.start);
        self.runs.get(run).map_or((&[], 0), |run| {
            let within = chunk.start.saturating_sub(run.range.start);
            let bytes = run.bytes.get(within as usize..(within + u64::from(chunk.bytes)) as usize);
            (bytes.unwrap_or_default(), run.start + within)
        })
    }

    /// Words that its output takes.
    pub(super) fn output_words(&self, target: Target) -> u64 {
        match target {
            Target::Planes => self.plan.samples(),
            Target::Pixels => self.plan.size.area(),
        }
    }

    fn check(&self) -> Result<()> {
        let levels: Vec<&LevelPlan> = self.plan.groups.iter().flat_map(|g| &g.levels).collect();
        let chunks: Vec<&Chunk> = levels.iter().flat_map(|l| &l.chunks).filter(|c| c.bytes > 0).collect();
        let wrong = |chunk: &&&Chunk| Chunk::checksum(self.chunk(chunk).0) != chunk.crc;
        match chunks.par_iter().find_first(wrong) {
            None => Ok(()),
            Some(chunk) => Err(Error::format(chunk.start, "8", "checksum of a tile does not fit")),
        }
    }

    /// Chunks in the order in which the GPU counts them.
    pub(super) fn ordered(&self) -> impl Iterator<Item = (&GroupPlan, &LevelPlan, usize)> {
        let levels = self.plan.groups.iter().flat_map(|g| g.levels.iter().map(move |level| (g, level)));
        levels.flat_map(|(group, level)| (0..level.chunks.len()).map(move |at| (group, level, at)))
    }

    /// What the word says that kernels leave for a picture: the first broken chunk, or none.
    pub(super) fn result(&self, fault: u32) -> Result<()> {
        if fault == u32::MAX { Ok(()) } else { Err(self.fault(fault)) }
    }

    /// What is wrong with the chunk that the GPU found broken.
    fn fault(&self, ordinal: u32) -> Error {
        let disagrees = || GpuFault::Driver(format!("chunk {ordinal} is broken on the GPU alone")).into();
        let Some((group, level, at)) = self.ordered().nth(ordinal as usize) else { return disagrees() };
        let planes = group.planes.len();
        let Some(place) = level.tile_places().nth(at / planes) else { return disagrees() };
        let (_, shape) = tile_shape(level.tile_log2, level.size, place);
        let chunk = &level.chunks[at];
        let model = &self.header.params[usize::from(level.level)][group.planes[at % planes]].model;
        match decode_tile(self.chunk(chunk).0, &shape, model) {
            Err(fault) => chunk.fault(fault.to_string()),
            Ok(_) => disagrees(),
        }
    }
}
