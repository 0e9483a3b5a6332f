//! Which records of a damaged log are the store's own.
//!
//! A record cannot show that it was written to this store, and not to a copy of it. The length and checksum of a segment
//! are recorded where it ended: in the header of the next segment, and when the store is closed. A segment that differs
//! from them was put in the place of another; none of its records are replayed when a loss is accepted.

use std::collections::BTreeMap;
use std::path::Path;

use super::closed::Closed;
use crate::error::{ErrorKind, StoreResult};
use crate::vfs::{Vfs, is_loss};
use crate::wal::{KnownLog, SegmentPlace, SegmentReader, list_segments};

/// The end of a segment, as recorded elsewhere.
struct Recorded {
    bytes: u64,
    sum: u32,
    /// Whether records may follow.
    may_grow: bool,
}

/// For each segment of which more than the length is known, up to where its records are the store's own; 0 if another
/// segment is in its place. A segment that ends earlier has nothing to compare, and is not listed.
pub(super) fn proven_bytes(
    vfs: &dyn Vfs,
    dir: &Path,
    known: KnownLog,
    closed: &Closed,
) -> StoreResult<BTreeMap<u64, u64>> {
    let mut segments = match list_segments(vfs, dir) {
        Err(error) if error.kind() == ErrorKind::NotFound => return Ok(BTreeMap::new()),
        segments => segments?,
    };
    // The others are not read by recovery either, whatever is in their place.
    segments.retain(|(number, _)| *number >= known.first);
    let mut expected: BTreeMap<u64, Recorded> = BTreeMap::new();
    if closed.store == known.store && closed.sum != 0 {
        let recorded = Recorded {
            bytes: closed.bytes,
            sum: closed.sum,
            // The store may have continued the segment when it was opened again.
            may_grow: true,
        };
        expected.insert(closed.segment, recorded);
    }
    let open = |number: u64, path: &Path| {
        let place = SegmentPlace {
            number,
            store: known.store,
            ..SegmentPlace::default()
        };
        match SegmentReader::open(vfs, path, place) {
            // Recovery names the damage.
            Err(error) if is_loss(&error) => Ok(None),
            reader => reader.map(Some),
        }
    };
    for (number, path) in &segments {
        let previous = open(*number, path)?.map(|reader| reader.previous());
        if let Some(end) = previous.filter(|end| end.bytes != 0 && end.sum != 0) {
            let recorded = Recorded {
                bytes: end.bytes,
                sum: end.sum,
                may_grow: false,
            };
            // A shorter end than at the last close is not this store's.
            let before = number.saturating_sub(1);
            if expected
                .get(&before)
                .is_none_or(|known| known.bytes <= recorded.bytes)
            {
                expected.insert(before, recorded);
            }
        }
    }
    let mut proven = BTreeMap::new();
    for (number, path) in &segments {
        let (Some(recorded), Some(mut reader)) = (expected.get(number), open(*number, path)?)
        else {
            continue;
        };
        while reader.end().bytes < recorded.bytes && reader.next_record().is_some() {}
        let end = reader.end();
        if end.bytes < recorded.bytes {
            continue;
        }
        let is_own = end.bytes == recorded.bytes && end.sum == recorded.sum;
        match is_own {
            false => proven.insert(*number, 0),
            true if recorded.may_grow => None,
            true => proven.insert(*number, recorded.bytes),
        };
    }
    Ok(proven)
}
