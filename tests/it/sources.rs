//! Sources that keep an eye on what is read, lie about it, or deliver it when the test says so.

use std::cell::RefCell;
use std::io;
use std::ops::Range;
use std::pin::Pin;
use std::rc::Rc;
use std::sync::Mutex;
use std::task::{Context, Poll, Waker};

use bytes::Bytes;
use stepwell::stream::{AsyncSource, MemorySource, Source, coalesce};

use crate::pictures::Random;

/// Notes what is read, and refuses what is outside of the ranges allowed, if such are given.
pub struct Watched {
    file: MemorySource,
    read: Mutex<Vec<Range<u64>>>,
    allowed: Mutex<Option<Vec<Range<u64>>>>,
}

impl Watched {
    pub fn new(file: &[u8]) -> Self {
        let file = MemorySource::new(file.to_vec());
        Watched { file, read: Mutex::default(), allowed: Mutex::default() }
    }

    /// From here on only these ranges may be read, or all if `None`.
    pub fn allow(&self, ranges: Option<Vec<Range<u64>>>) {
        *self.allowed.lock().unwrap() = ranges;
    }

    /// What has been read since the last call, joined.
    pub fn take(&self) -> Vec<Range<u64>> {
        coalesce(std::mem::take(&mut *self.read.lock().unwrap()), 0)
    }
}

impl Source for Watched {
    fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        self.read.lock().unwrap().extend(ranges.iter().cloned());
        if let Some(allowed) = &*self.allowed.lock().unwrap() {
            let inside = |r: &&Range<u64>| !allowed.iter().any(|a| a.start <= r.start && r.end <= a.end);
            if let Some(outside) = ranges.iter().find(inside) {
                return Err(io::Error::other(format!("{outside:?} is none of the bytes of the plan")));
            }
        }
        self.file.read(ranges)
    }
}

/// The file with every byte outside of some ranges replaced by garbage.
pub fn garbage_outside(file: &[u8], ranges: &[Range<u64>], seed: u64) -> Vec<u8> {
    let mut random = Random(seed);
    let mut out: Vec<u8> = file.iter().map(|b| b ^ (1 + random.below(255)) as u8).collect();
    for range in ranges {
        let range = range.start as usize..(range.end as usize).min(file.len());
        out[range.clone()].copy_from_slice(&file[range]);
    }
    out
}

/// A read that waits for its bytes.
struct Delivery {
    ranges: Vec<Range<u64>>,
    bytes: Vec<Option<Bytes>>,
}

/// An asynchronous source whose bytes come when [`Self::deliver`] is called, one range a call.
pub struct ByHand {
    file: MemorySource,
    open: RefCell<Vec<Rc<RefCell<Delivery>>>>,
    pub fetched: RefCell<Vec<Range<u64>>>,
}

impl ByHand {
    pub fn new(file: &[u8]) -> Self {
        let file = MemorySource::new(file.to_vec());
        ByHand { file, open: RefCell::default(), fetched: RefCell::default() }
    }

    /// Delivers any one of the ranges that are waited for; false if there is none.
    pub fn deliver(&self, random: &mut Random) -> bool {
        let mut waiting = Vec::new();
        for read in self.open.borrow().iter() {
            let missing = |(i, b): (usize, &Option<Bytes>)| b.is_none().then_some(i);
            waiting.extend(
                read.borrow().bytes.iter().enumerate().filter_map(missing).map(|i| (read.clone(), i)),
            );
        }
        if waiting.is_empty() {
            return false;
        }
        let (read, i) = &waiting[random.below(waiting.len() as u64) as usize];
        let range = read.borrow().ranges[*i].clone();
        self.fetched.borrow_mut().push(range.clone());
        read.borrow_mut().bytes[*i] = self.file.read(&[range]).unwrap().pop();
        true
    }
}

impl AsyncSource for ByHand {
    async fn read(&self, ranges: &[Range<u64>]) -> io::Result<Vec<Bytes>> {
        let delivery = Delivery { ranges: ranges.to_vec(), bytes: vec![None; ranges.len()] };
        let delivery = Rc::new(RefCell::new(delivery));
        self.open.borrow_mut().push(delivery.clone());
        std::future::poll_fn(|_| {
            if delivery.borrow().bytes.contains(&None) { Poll::Pending } else { Poll::Ready(()) }
        })
        .await;
        self.open.borrow_mut().retain(|other| !Rc::ptr_eq(other, &delivery));
        let bytes = delivery.borrow().bytes.iter().flatten().cloned().collect();
        Ok(bytes)
    }
}

/// Polls a future by hand: `turn` is called after each poll that found it waiting, and says whether to go on.
pub fn drive<F: Future>(future: F, mut turn: impl FnMut() -> bool) -> Option<F::Output> {
    let mut future: Pin<Box<F>> = Box::pin(future);
    let mut context = Context::from_waker(Waker::noop());
    loop {
        match future.as_mut().poll(&mut context) {
            Poll::Ready(output) => return Some(output),
            Poll::Pending if !turn() => return None,
            Poll::Pending => {}
        }
    }
}
