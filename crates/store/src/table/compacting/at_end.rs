//! Runs code at the end of a compaction, however it ends.

/// Runs its closure when dropped, also when an iterator, which is external code, panics. A tablet
/// that stayed claimed would never be compacted again, and a request for it would wait forever.
pub(super) struct AtEnd<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
