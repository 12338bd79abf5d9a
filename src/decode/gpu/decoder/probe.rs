//! Hooks for finding faults: decodes with a sentinel in every word that kernels may write, the stages' results read
//! back, and stages that are left to the CPU. Slow: for tests and `stepwell bisect`.

use std::fmt;
use std::ops::Range;

use super::{Decoded, GpuDecoder};
use crate::decode::gpu::packet::Packet;
use crate::decode::gpu::tables::Target;
use crate::decode::gpu::trace::{LevelTrace, Stage, Trace};
use crate::decode::tile::{Part, tile_shape};
use crate::entropy::gpu::Path;
use crate::entropy::{Symbols, TileShape};
use crate::error::Result;
use crate::geom::Size;
use crate::gpu::GpuFault;
use crate::gpu::abi::CHUNK_EMPTY;
use crate::grid::Grid;

/// Words of a guard band, before and behind what a batch may write.
const GUARD: u64 = 4096;
/// Nothing that decodes come to.
const SENTINEL: u32 = 0x5afe_c0de;

/// A word that kernels have written and must not.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Trespass {
    /// Which buffer.
    pub buffer: &'static str,
    /// Words from the first that the batch may write: negative before it.
    pub from_start: i64,
    /// Words from the first behind the last that it may write: negative before it.
    pub from_end: i64,
    /// What was written.
    pub value: u32,
}

impl fmt::Display for Trespass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Trespass { buffer, from_start, from_end, value } = self;
        write!(
            f,
            "{value:#x} was written to {buffer}, {from_start} words from the start and {from_end} from the end of the batch's part"
        )
    }
}

/// What a buffer holds, and which part of it the batch may write.
struct Guarded {
    name: &'static str,
    words: Vec<u32>,
    writable: Range<usize>,
}

impl Guarded {
    /// The words that are not what they were, of those that may not be written.
    fn trespasses(&self, after: &[u32]) -> impl Iterator<Item = Trespass> {
        let outside = |i: &usize| !self.writable.contains(i) && after[*i] != self.words[*i];
        (0..after.len()).filter(outside).map(|i| Trespass {
            buffer: self.name,
            from_start: i as i64 - self.writable.start as i64,
            from_end: i as i64 - self.writable.end as i64,
            value: after[i],
        })
    }
}

/// The buffers that kernels write, in the order in which [`Guarded`] ones stand.
const NARROW: usize = 0;
const WIDE: usize = 1;
const SAMPLES: usize = 2;
const OUTPUT: usize = 3;
const FAULTS: usize = 4;

impl GpuDecoder {
    /// Decodes a batch in one slice, between guard bands; gives also what was written outside of what the batch may
    /// write. Places in [`Decoded`] are right, as after [`GpuDecoder::decode`].
    ///
    /// # Errors
    /// As [`GpuDecoder::decode`]; [`GpuFault::Limits`] where one slice does not suffice.
    pub fn decode_guarded(
        &mut self,
        packets: &[&Packet],
        target: Target,
    ) -> Result<(Decoded, Vec<Trespass>)> {
        let before = self.prepare(packets, target)?;
        let (after, trespasses) = self.run_guarded(&before)?;
        let fault =
            |i: usize| (0..2).map(|k| after[FAULTS + k][GUARD as usize + i]).min().unwrap_or(u32::MAX);
        let results = packets.iter().enumerate().map(|(i, packet)| packet.result(fault(i))).collect();
        Ok((Decoded { outputs: std::mem::take(&mut self.tables.outputs), results }, trespasses))
    }

    /// What the stages make of a packet on the GPU. With a stage given, it and those before it are not run: their results
    /// are taken from the trace, which tells a fault of a later stage from one that it was handed.
    ///
    /// # Errors
    /// As [`GpuDecoder::decode`]; the packet's own fault; [`GpuFault::Driver`] where kernels write outside their place.
    pub fn trace(&mut self, packet: &Packet, given: Option<(Stage, &Trace)>) -> Result<Trace> {
        let mut before = self.prepare(&[packet], Target::Planes)?;
        if let Some((until, trace)) = given {
            self.give(packet, until, trace, &mut before);
        }
        let (after, trespasses) = self.run_guarded(&before)?;
        let fault = after[FAULTS][GUARD as usize].min(after[FAULTS + 1][GUARD as usize]);
        packet.result(fault)?;
        match trespasses.first() {
            Some(first) => Err(GpuFault::Driver(first.to_string()).into()),
            None => Ok(self.trace_from_words(packet, &after)),
        }
    }

    /// Fills the tables, leaving room for guard bands, and brings them and the payload. Gives what the buffers that
    /// kernels write shall hold before.
    fn prepare(&mut self, packets: &[&Packet], target: Target) -> Result<Vec<Guarded>> {
        self.tables.front = GUARD;
        let limits = (u64::MAX, self.gpu.largest_binding());
        let count = self.tables.fill_within(packets, target, (GUARD as usize, GUARD), limits);
        self.tables.front = 0;
        if count < packets.len() {
            return Err(GpuFault::Limits("the probed batch does not fit one slice".into()).into());
        }
        let faults = GUARD + packets.len() as u64;
        let tables = &self.tables;
        let parts = [
            (&mut self.narrow, "narrow", GUARD..tables.narrow_words),
            (&mut self.wide, "wide", GUARD..tables.wide_words),
            (&mut self.samples, "samples", tables.roots.len() as u64..tables.samples),
            (&mut self.output, "output", GUARD..tables.output_words),
        ];
        let mut out = Vec::new();
        let [first, second] = &mut self.faults;
        let fault_parts = [(first, "faults", GUARD..faults), (second, "faults of any", GUARD..faults)];
        for (pooled, name, writable) in parts.into_iter().chain(fault_parts) {
            let buffer = pooled.reserve(&self.gpu, 4 * (writable.end + GUARD))?;
            let writable = writable.start as usize..writable.end as usize;
            out.push(Guarded { name, words: vec![SENTINEL; buffer.size() as usize / 4], writable });
        }
        let roots = tables.roots[GUARD as usize..].iter().map(|&v| v as u32);
        out[SAMPLES].words[GUARD as usize..].iter_mut().zip(roots).for_each(|(word, root)| *word = root);
        for faults in &mut out[FAULTS..] {
            let writable = faults.writable.clone();
            faults.words[writable].fill(u32::MAX);
        }
        self.bring(packets, target)?;
        Ok(out)
    }

    /// Writes the buffers, runs what is in the tables, and reads the buffers back.
    fn run_guarded(&mut self, before: &[Guarded]) -> Result<(Vec<Vec<u32>>, Vec<Trespass>)> {
        let pooled =
            [&self.narrow, &self.wide, &self.samples, &self.output, &self.faults[0], &self.faults[1]];
        let buffers: Vec<wgpu::Buffer> =
            pooled.into_iter().filter_map(|pooled| pooled.get().cloned()).collect();
        for (buffer, guarded) in buffers.iter().zip(before) {
            self.gpu.queue.write_buffer(buffer, 0, bytemuck::cast_slice(&guarded.words));
        }
        self.submit(None)?;
        let (mut after, mut trespasses) = (Vec::new(), Vec::new());
        for (buffer, guarded) in buffers.iter().zip(before) {
            let words = self.read(buffer, 0, guarded.words.len() as u64)?;
            trespasses.extend(guarded.trespasses(&words));
            after.push(words);
        }
        Ok((after, trespasses))
    }

    /// Puts what the stages up to `until` have made in place, and takes these stages out of the work.
    fn give(&mut self, packet: &Packet, until: Stage, trace: &Trace, before: &mut [Guarded]) {
        let put = |words: &mut [u32], first: usize, values: &[u32]| {
            words[first..first + values.len()].copy_from_slice(values);
        };
        let of_samples = |samples: &[i32]| -> Vec<u32> { samples.iter().map(|&v| v as u32).collect() };
        self.tables.work.clear();
        let symbols = trace.groups.iter().flatten().flat_map(|level| &level.symbols);
        for ((path, shape, words), symbols) in self.chunk_places(packet).into_iter().zip(symbols) {
            let buffer = if path == Path::Any { WIDE } else { NARROW };
            put(
                &mut before[buffer].words,
                words.start,
                &path.words_from_symbols(symbols, &shape)[..words.len()],
            );
        }
        if until >= Stage::Upsample {
            self.tables.steps.clear();
            for (place, level) in self.tables.levels.iter().zip(trace.groups.iter().flatten()) {
                for (i, part) in (0..).zip(&level.samples) {
                    let rows = part.grid.data().chunks(part.grid.width());
                    for (y, row) in (place.rect.y..).zip(rows) {
                        let first = place.at(place.rect.x, y) + i * place.plane();
                        put(&mut before[SAMPLES].words, first as usize, &of_samples(row));
                    }
                }
            }
        }
        if until >= Stage::Colour {
            self.tables.conversions.clear();
            for (&(first, _), plane) in self.tables.outputs[0].parts.iter().zip(&trace.planes) {
                put(&mut before[OUTPUT].words, first as usize, &of_samples(plane.data()));
            }
        }
    }

    /// Of each chunk: path, shape and its words in `narrow` or `wide` (none where it is empty).
    fn chunk_places(&self, packet: &Packet) -> Vec<(Path, TileShape, Range<usize>)> {
        let mut records = self.tables.chunks.iter();
        let mut out = Vec::with_capacity(records.len());
        for (group, level) in packet.plan.groups.iter().flat_map(|g| g.levels.iter().map(move |l| (g, l))) {
            let params = &packet.header.params[usize::from(level.level)];
            for place in level.tile_places() {
                let (_, shape) = tile_shape(level.tile_log2, level.size, place);
                for (&plane, record) in group.planes.iter().zip(&mut records) {
                    let path = Path::of(&shape, &params[plane].model);
                    let empty = record.kind & CHUNK_EMPTY != 0;
                    let words = if empty { 0 } else { path.symbol_words(&shape) as usize };
                    let first = record.symbols as usize;
                    out.push((path, shape, first..first + words));
                }
            }
        }
        out
    }

    fn trace_from_words(&self, packet: &Packet, words: &[Vec<u32>]) -> Trace {
        let mut places = self.chunk_places(packet).into_iter();
        let mut levels = self.tables.levels.iter();
        let symbols_at = |(path, shape, range): (Path, _, Range<usize>)| match range.is_empty() {
            true => Symbols::new(&shape),
            false => {
                path.symbols_from_words(&words[if path == Path::Any { WIDE } else { NARROW }][range], &shape)
            }
        };
        let grid = |buffer: usize, first: u64, stride: u32, size: Size| {
            let (width, height) = (size.width as usize, size.height as usize);
            let rows = words[buffer][first as usize..].chunks(stride as usize).take(height);
            let samples = rows.flat_map(|row| &row[..width]).map(|&word| word as i32);
            Grid::from_vec(width, height, samples.collect())
        };
        let mut groups = Vec::new();
        for group in &packet.plan.groups {
            let mut traces = Vec::new();
            for (level, here) in group.levels.iter().zip(levels.by_ref()) {
                let symbols = places.by_ref().take(level.chunks.len()).map(symbols_at).collect();
                let part = |i: u64| {
                    let rect = here.rect;
                    let first = here.at(rect.x, rect.y) + i * here.plane();
                    Part { rect, grid: grid(SAMPLES, first, here.stride(), rect.size()) }
                };
                traces.push(LevelTrace {
                    symbols,
                    samples: (0..group.planes.len() as u64).map(part).collect(),
                });
            }
            groups.push(traces);
        }
        let plane = |&(first, size): &(u32, Size)| grid(OUTPUT, first.into(), size.width, size);
        Trace { groups, planes: self.tables.outputs[0].parts.iter().map(plane).collect() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_outside_are_trespasses() {
        let guarded = Guarded { name: "narrow", words: vec![SENTINEL; 20], writable: 5..15 };
        let mut after = guarded.words.clone();
        after[5..15].fill(7);
        assert_eq!(guarded.trespasses(&after).count(), 0);
        (after[4], after[15]) = (1, 2);
        let found: Vec<Trespass> = guarded.trespasses(&after).collect();
        let expected =
            |from_start, from_end, value| Trespass { buffer: "narrow", from_start, from_end, value };
        assert_eq!(found, [expected(-1, -11, 1), expected(10, 0, 2)]);
    }
}
