//! How a tile is dealt out to lanes, and how their final encoder states stand at its start.

/// The part of a level that one tile covers, in quads (2 × 2 samples of the level), and which bands exist where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TileShape {
    /// log2 of the quads a side of the level's tiles, which those at its border do not reach.
    pub tile_log2: u32,
    /// Columns of quads.
    pub columns: usize,
    /// Rows of quads.
    pub rows: usize,
    /// Columns whose quads have a right half: only they have H0 and H1.
    pub h_columns: usize,
    /// Rows whose quads have a lower half: only they have V and H1.
    pub v_rows: usize,
}

impl TileShape {
    /// Columns that each lane decodes: more in small and flat tiles, whose lanes would otherwise cost more than they
    /// carry.
    pub fn columns_per_lane(&self) -> usize {
        let mut per_lane = if self.tile_log2 == 5 { 4 } else { 2 };
        while per_lane < 8 && self.rows * per_lane * 3 < 96 && self.columns > per_lane {
            per_lane *= 2;
        }
        per_lane
    }

    /// Lanes of the tile.
    pub fn lanes(&self) -> usize {
        self.columns.div_ceil(self.columns_per_lane())
    }

    /// The order in which a lane's columns are coded within one row of one band. Odd ones come last: both
    /// neighbours are known then.
    pub fn phases(&self) -> &'static [usize] {
        match self.columns_per_lane() {
            2 => &[0, 1],
            4 => &[0, 2, 1, 3],
            _ => &[0, 4, 2, 6, 1, 3, 5, 7],
        }
    }

    /// Columns of samples.
    pub fn width(&self) -> usize {
        self.columns + self.h_columns
    }

    /// Rows of samples.
    pub fn height(&self) -> usize {
        self.rows + self.v_rows
    }

    /// Quads of the tile.
    pub fn quads(&self) -> usize {
        self.columns * self.rows
    }

    /// Columns that band `band` has in quad row `row`.
    pub fn band_columns(&self, band: usize, row: usize) -> usize {
        let columns = if band == 0 { self.columns } else { self.h_columns };
        if band == 1 || row < self.v_rows { columns } else { 0 }
    }
}

/// Encoder states start at `STATE_MIN | signs`, so that decoders end there.
pub const STATE_MIN: u32 = 1 << 16;
/// So many signs a lane are kept in the state instead of raw bits.
pub const DEFERRED_SIGNS: u32 = 16;

/// Writes lane states: a flag bit, a mask of live lanes if any is dead, bit lengths, then the states without their
/// leading one; padded to 16 bits. A state of 0 is a dead lane.
pub fn pack_states(states: &[u32]) -> Vec<u16> {
    let mut out = BitWriter::default();
    let all_live = states.iter().all(|&x| x != 0);
    out.put(u32::from(!all_live), 1);
    if !all_live {
        states.iter().for_each(|&x| out.put(u32::from(x != 0), 1));
    }
    let live = || states.iter().filter(|&&x| x != 0);
    live().for_each(|&x| out.put(15 - x.leading_zeros(), 4));
    for &x in live() {
        let bits = 31 - x.leading_zeros();
        out.put(x & ((1u64 << bits) - 1) as u32, bits);
    }
    out.finish()
}

/// Reads what [`pack_states`] wrote: the states (0 for dead lanes) and the number of words they took, or `None` if
/// the words end too early or no lane lives.
pub fn unpack_states(words: &[u16], lanes: usize) -> Option<(Vec<u32>, usize)> {
    let mut states = vec![1u32; lanes];
    let mut at = 0;
    let mut take = |bits: u32| {
        let mut value = 0u64;
        let first = at / 16;
        for (i, &word) in words.get(first..(at + bits as usize).div_ceil(16))?.iter().enumerate() {
            value |= u64::from(word) << (16 * i);
        }
        value >>= at % 16;
        at += bits as usize;
        Some((value & ((1u64 << bits) - 1)) as u32)
    };
    if take(1)? == 1 {
        for x in &mut states {
            *x = take(1)?;
        }
    }
    for x in states.iter_mut().filter(|x| **x != 0) {
        *x = 16 + take(4)?;
    }
    for x in states.iter_mut().filter(|x| **x != 0) {
        *x = take(*x)? | 1 << *x;
    }
    states.iter().any(|&x| x != 0).then_some((states, at.div_ceil(16)))
}

#[derive(Default)]
struct BitWriter {
    words: Vec<u16>,
    pending: u64,
    count: u32,
}

impl BitWriter {
    fn put(&mut self, value: u32, bits: u32) {
        self.pending |= u64::from(value) << self.count;
        self.count += bits;
        while self.count >= 16 {
            self.words.push(self.pending as u16);
            self.pending >>= 16;
            self.count -= 16;
        }
    }

    fn finish(mut self) -> Vec<u16> {
        if self.count > 0 {
            self.words.push(self.pending as u16);
        }
        self.words
    }
}
