//! What has to happen at the end of a compaction, whatever the end is.

/// Does its work when it goes: also when an iterator panics, which is code of other people. A tablet
/// that stayed claimed would never be compacted again, and whoever asked for it would wait for ever.
pub(super) struct AtEnd<F: FnMut()>(pub(super) F);

impl<F: FnMut()> Drop for AtEnd<F> {
    fn drop(&mut self) {
        (self.0)();
    }
}
