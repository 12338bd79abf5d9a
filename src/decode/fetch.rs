//! Decoding from sources that are awaited.

use std::ops::Range;

use bytes::Bytes;

use super::decoder::Decoder;
use super::plan::Request;
use crate::container::{Opening, Step};
use crate::error::{Error, Limits, Result};
use crate::stream::{AsyncSource, SparseBytes, as_promised};

/// Decodes from a source that is awaited: the bytes of a request are fetched first, then decoded at once.
///
/// Decoding is work for the processor: servers run [`Decoder::decode`] on what [`fetch`] gave where blocking is fine.
///
/// # Errors
/// As [`Decoder::decode`].
pub async fn fetch<S: AsyncSource>(
    source: &S,
    request: &Request,
    limits: Limits,
) -> Result<Decoder<SparseBytes>> {
    let mut sparse = SparseBytes::new();
    let mut opening = Opening::new(limits);
    let mut index = loop {
        match opening.step()? {
            Step::Ready(index) => break index,
            Step::Need(ranges) => {
                for (range, bytes) in read_async(source, &ranges).await? {
                    sparse.insert(&range, bytes.clone());
                    opening.supply(&range, bytes);
                }
            }
        }
    };
    let plan = loop {
        let step = match index.metadata()? {
            Step::Need(ranges) => Step::Need(ranges),
            Step::Ready(_) => index.plan(request)?,
        };
        match step {
            Step::Ready(plan) => break plan,
            Step::Need(ranges) => {
                for (range, bytes) in read_async(source, &ranges).await? {
                    index.supply(&range, bytes);
                }
            }
        }
    };
    // What opening has brought need not come again.
    let known = index.first_bytes().len() as u64;
    let rest = plan.ranges().into_iter().map(|r| r.start.max(known)..r.end).filter(|r| !r.is_empty());
    for (range, bytes) in read_async(source, &rest.collect::<Vec<_>>()).await? {
        sparse.insert(&range, bytes);
    }
    Ok(Decoder::from_index(sparse, index, 0))
}

async fn read_async<S: AsyncSource>(source: &S, ranges: &[Range<u64>]) -> Result<Vec<(Range<u64>, Bytes)>> {
    let read = source.read(ranges).await.and_then(|bytes| as_promised(ranges, bytes));
    let bytes = read.map_err(|cause| Error::Source { what: "bytes of the picture".into(), cause })?;
    Ok(ranges.iter().cloned().zip(bytes).collect())
}
