//! Counts what a thread allocates, so that tests can bound what a hostile file makes the codec hold.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    // Constants without a destructor: nothing here may allocate.
    static HELD: Cell<isize> = const { Cell::new(0) };
    static PEAK: Cell<isize> = const { Cell::new(0) };
}

/// Notes that this thread holds more or fewer bytes. A thread that is ending has no counters any more, which is fine.
fn note(change: isize) {
    let _ = HELD.try_with(|held| {
        held.set(held.get() + change);
        PEAK.try_with(|peak| peak.set(peak.get().max(held.get())))
    });
}

/// The system's allocator, counting.
struct Counting;

#[expect(unsafe_code, reason = "an allocator cannot be wrapped otherwise; only this test binary has it")]
// SAFETY: every call goes on to `System` as it came, and its answer comes back as it is. The counters touch neither
// pointers nor layouts, and neither allocate nor panic: they are plain integers in constant thread-local cells.
unsafe impl GlobalAlloc for Counting {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc`.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size() as isize);
        // SAFETY: the caller keeps the contract of `alloc_zeroed`.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        note(-(layout.size() as isize));
        // SAFETY: `pointer` came from `System`, for this layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, size: usize) -> *mut u8 {
        note(size as isize - layout.size() as isize);
        // SAFETY: `pointer` came from `System`, for this layout.
        unsafe { System.realloc(pointer, layout, size) }
    }
}

#[global_allocator]
static ALLOCATOR: Counting = Counting;

/// A pool of one thread: all that runs in it, the codec's parallel loops too, is counted together.
pub struct Counted(rayon::ThreadPool);

impl Counted {
    pub fn new() -> Self {
        Counted(rayon::ThreadPoolBuilder::new().num_threads(1).build().unwrap())
    }

    /// What `work` gives, and the most bytes that it held at once.
    pub fn peak<T: Send>(&self, work: impl FnOnce() -> T + Send) -> (T, usize) {
        self.0.install(|| {
            let before = HELD.get();
            PEAK.set(before);
            let result = work();
            (result, (PEAK.get() - before) as usize)
        })
    }
}

#[test]
fn what_parallel_loops_hold_is_counted() {
    use rayon::prelude::*;
    let counted = Counted::new();
    let (sum, peak) = counted.peak(|| {
        let kept: Vec<Vec<u8>> = (0..10u8).into_par_iter().map(|i| vec![i; 100_000]).collect();
        drop(vec![0u64; 500_000]);
        kept.iter().map(|v| v.len()).sum::<usize>()
    });
    assert_eq!(sum, 1_000_000);
    assert!((5_000_000..5_100_000).contains(&peak), "{peak}");
    let (_, after) = counted.peak(|| vec![0u8; 1000]);
    assert!((1000..2000).contains(&after), "{after}");
}
