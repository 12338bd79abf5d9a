//! The family of token distributions, laid out as alias tables: one load finds token, frequency and offset.

use std::sync::LazyLock;

use super::tables::{DISTRIBUTIONS, FREQUENCIES};
use super::token::TOKENS;

/// Frequencies sum to 2^this.
pub const FREQUENCY_BITS: u32 = 14;
/// Slots an alias bucket has.
pub const BUCKET_SLOTS: u32 = (1 << FREQUENCY_BITS) / TOKENS as u32;
const BUCKET_BITS: u32 = BUCKET_SLOTS.trailing_zeros();

/// What one alias bucket says, in the 8 bytes that kernels load:
/// bits 0..15 frequency of the bucket's own token, 15..20 the other token, 20..30 the first slot that is the other's,
/// 32..48 frequency of the other token, 48..64 (signed) what to add to a slot of the other's to get its offset.
pub type AliasEntry = u64;

/// A slot resolved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Slot {
    /// The token.
    pub symbol: u32,
    /// Its frequency.
    pub frequency: u32,
    /// Which of the token's slots this is, below `frequency`.
    pub offset: u32,
}

/// Alias entries of all distributions.
pub static ALIAS: LazyLock<Vec<[AliasEntry; TOKENS]>> =
    LazyLock::new(|| FREQUENCIES.iter().map(alias_entries).collect());

/// For encoders: the inverse of [`ALIAS`].
static SLOTS: LazyLock<Vec<SlotTable>> = LazyLock::new(|| (0..DISTRIBUTIONS).map(SlotTable::new).collect());

/// Looks a slot up.
#[inline(always)]
pub fn resolve(entries: &[AliasEntry; TOKENS], slot: u32) -> Slot {
    let bucket = slot >> BUCKET_BITS;
    let within = slot & (BUCKET_SLOTS - 1);
    let entry = entries[bucket as usize];
    let own = within < (entry >> 20) as u32 & 0x3ff;
    let (symbol, frequency) = if own {
        (bucket, entry as u32 & 0x7fff)
    } else {
        ((entry >> 15) as u32 & 31, (entry >> 32) as u32 & 0xffff)
    };
    let offset = if own { within } else { within.wrapping_add((entry as i64 >> 48) as u32) };
    Slot { symbol, frequency, offset }
}

/// The slot of `offset` within `symbol`, the inverse of [`resolve`].
pub fn slot_from_offset(distribution: usize, symbol: u32, offset: u32) -> u32 {
    let table = &SLOTS[distribution];
    u32::from(table.slots[usize::from(table.first[symbol as usize]) + offset as usize])
}

/// The slots of a distribution by token and offset.
struct SlotTable {
    /// Where each token's slots start.
    first: [u16; TOKENS],
    slots: Vec<u16>,
}

impl SlotTable {
    fn new(distribution: usize) -> Self {
        let frequencies = &FREQUENCIES[distribution];
        let first = std::array::from_fn(|symbol| frequencies[..symbol].iter().sum());
        let mut slots = vec![0; 1 << FREQUENCY_BITS];
        for slot in 0..1 << FREQUENCY_BITS {
            let found = resolve(&ALIAS[distribution], slot);
            slots[usize::from(first[found.symbol as usize]) + found.offset as usize] = slot as u16;
        }
        SlotTable { first, slots }
    }
}

/// Vose's construction with stacks, in an order that the format fixes (SPEC section 10.5): buckets that are short are
/// filled, last pushed first, from the token on top of the stack of those that have too much.
fn alias_entries(frequencies: &[u16; TOKENS]) -> [AliasEntry; TOKENS] {
    let mut left: [u32; TOKENS] = frequencies.map(u32::from);
    let mut cut = [BUCKET_SLOTS; TOKENS];
    let mut lender: [usize; TOKENS] = std::array::from_fn(|i| i);
    let mut short: Vec<usize> = (0..TOKENS).filter(|&i| left[i] < BUCKET_SLOTS).collect();
    let mut rich: Vec<usize> = (0..TOKENS).filter(|&i| left[i] > BUCKET_SLOTS).collect();
    let mut filled = Vec::with_capacity(TOKENS);
    while let (Some(poor), Some(&from)) = (short.pop(), rich.last()) {
        cut[poor] = left[poor];
        lender[poor] = from;
        filled.push(poor);
        left[from] -= BUCKET_SLOTS - left[poor];
        if left[from] <= BUCKET_SLOTS {
            rich.pop();
            if left[from] < BUCKET_SLOTS {
                short.push(from);
            }
        }
    }
    // A token's own bucket holds its first slots; those it lent follow in the order of lending.
    let mut used = cut;
    let mut shift = [0i32; TOKENS];
    for poor in filled {
        let from = lender[poor];
        shift[poor] = used[from] as i32 - cut[poor] as i32;
        used[from] += BUCKET_SLOTS - cut[poor];
    }
    std::array::from_fn(|i| {
        let low = u32::from(frequencies[i]) | (lender[i] as u32) << 15 | cut[i] << 20;
        let high = u32::from(frequencies[lender[i]]) | (shift[i] as u32) << 16;
        u64::from(low) | u64::from(high) << 32
    })
}

/// Bits that each token costs, for encoders choosing among distributions: `[distribution][token]`.
pub static COSTS: LazyLock<Vec<[f32; TOKENS]>> = LazyLock::new(|| {
    let total = (1u32 << FREQUENCY_BITS) as f32;
    FREQUENCIES.iter().map(|f| f.map(|n| (total / f32::from(n)).log2())).collect()
});

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_slot_belongs_to_one_token_and_offset() {
        for d in 0..DISTRIBUTIONS {
            let mut seen = FREQUENCIES[d].map(|f| vec![false; f.into()]);
            for slot in 0..1 << FREQUENCY_BITS {
                let found = resolve(&ALIAS[d], slot);
                assert_eq!(found.frequency, FREQUENCIES[d][found.symbol as usize].into());
                let seen = &mut seen[found.symbol as usize][found.offset as usize];
                assert!(!*seen, "distribution {d} slot {slot} is a token's second with that offset");
                *seen = true;
                assert_eq!(slot_from_offset(d, found.symbol, found.offset), slot);
            }
            assert!(seen.iter().flatten().all(|&s| s), "distribution {d} misses slots");
        }
    }
}
