//! Byte ranges, joined where reading a gap costs less than another request.

use std::ops::Range;

/// Sorts ranges and joins those whose gap is at most `gap`; empty ones vanish.
pub fn coalesce(ranges: impl IntoIterator<Item = Range<u64>>, gap: u64) -> Vec<Range<u64>> {
    let mut sorted: Vec<_> = ranges.into_iter().filter(|r| r.start < r.end).collect();
    sorted.sort_unstable_by_key(|r| (r.start, r.end));
    let mut joined: Vec<Range<u64>> = Vec::new();
    for range in sorted {
        match joined.last_mut() {
            Some(last) if range.start <= last.end.saturating_add(gap) => last.end = last.end.max(range.end),
            _ => joined.push(range),
        }
    }
    joined
}

#[cfg(test)]
mod tests {
    use super::coalesce;

    #[test]
    fn near_ranges_are_joined() {
        let ranges = [10..20, 0..0, 25..30, 5..12, 41..50];
        assert_eq!(coalesce(ranges.clone(), 0), [5..20, 25..30, 41..50]);
        assert_eq!(coalesce(ranges.clone(), 5), [5..30, 41..50]);
        assert_eq!(coalesce(ranges, 11), std::slice::from_ref(&(5..50)));
    }
}
