//! The threads that unordered scans share.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Limits the threads that read for all unordered scans of a store together. A scan that finds too
/// few free reads on its caller's thread alone: no scan waits for another.
#[derive(Debug)]
pub(crate) struct ScanThreads {
    most: usize,
    used: AtomicUsize,
}

/// A permit for one thread, until it is dropped.
#[derive(Debug)]
pub(super) struct ScanThread(Arc<ScanThreads>);

impl ScanThreads {
    /// At most `most` at once.
    pub(crate) fn new(most: usize) -> Arc<Self> {
        Arc::new(Self {
            most,
            used: AtomicUsize::new(0),
        })
    }

    /// Permits for a scan that wants `wanted`; none if fewer than two are left, since one thread
    /// has no benefit.
    pub(super) fn take(self: &Arc<Self>, wanted: usize) -> Vec<ScanThread> {
        let mut granted = 0;
        let taken = self
            .used
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |used| {
                granted = self.most.saturating_sub(used).min(wanted);
                (granted > 1).then_some(used + granted)
            });
        if taken.is_err() {
            return Vec::new();
        }
        (0..granted).map(|_| ScanThread(self.clone())).collect()
    }
}

impl Drop for ScanThread {
    fn drop(&mut self) {
        self.0.used.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn permits_are_shared_and_returned() {
        let threads = ScanThreads::new(5);
        let first = threads.take(2);
        let second = threads.take(8);
        assert_eq!((first.len(), second.len()), (2, 3));
        assert!(threads.take(2).is_empty());
        drop(first);
        let mut third = threads.take(2);
        assert_eq!(third.len(), 2);
        // A single one has no benefit, and is left for others.
        third.pop();
        assert!(threads.take(2).is_empty());
        drop((second, third));
        assert_eq!(threads.take(9).len(), 5);
        assert!(ScanThreads::new(0).take(2).is_empty());
    }
}
