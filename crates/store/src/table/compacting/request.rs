//! Compactions on request.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::CompactOptions;
use parking_lot::Mutex;

use super::at_end::AtEnd;
use super::job::Job;
use crate::catalog::Fence;
use crate::compaction::Cancel;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::table::bounded;
use crate::table::caller::Deadline;
use crate::table::core::TableCore;
use crate::tablet::{TableVersion, TabletView};
use crate::threads;

impl TableCore {
    /// As [`compact_range`](Self::compact_range), and returns soon after it was cancelled, or after
    /// `deadline`, even if iterators go on.
    pub(in crate::table) fn compact_bounded(
        self: &Arc<Self>,
        options: &CompactOptions,
        deadline: Option<&Deadline>,
    ) -> StoreResult<()> {
        let (options, table) = (options.clone(), self.clone());
        bounded::run(
            self,
            "compact-request",
            deadline,
            move |table| table.compact_range(&options),
            move |_| {
                let running = &table.context.running;
                running.left_behind(Some(table.id())).is_some()
            },
        )
    }

    /// Merges all files of each tablet in the range into one, on a user's request, and also the
    /// memtables if the options say so.
    pub(in crate::table) fn compact_range(&self, options: &CompactOptions) -> StoreResult<()> {
        let wanted = Fence::new(options.start.clone(), options.end.clone());
        let cancel = Cancel::default();
        {
            let mut busy = self.busy.lock();
            busy.cancels.push(cancel.clone());
            busy.wanted.push(wanted.clone());
            // Files that the background merges now would be merged again at once.
            for (extent, chosen) in &busy.chosen {
                if extent.intersection(&wanted).is_some() {
                    chosen.cancel();
                }
            }
        }
        let _ended = AtEnd(|| {
            let mut busy = self.busy.lock();
            busy.cancels.retain(|other| !other.is(&cancel));
            if let Some(at) = busy.wanted.iter().position(|other| *other == wanted) {
                busy.wanted.swap_remove(at);
            }
        });
        let outcome = self.compact_now(&wanted, options, &cancel);
        // Deleting the table stops this too.
        outcome.or_else(|error| self.check_exists().and(Err(error)))
    }

    fn compact_now(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        if options.flush {
            // Where flushes fail, memory is written without the iterators.
            if self.may_flush() {
                self.split_first(wanted, options, cancel)?;
                if self.compact_with_memory(wanted, options, cancel)? {
                    return Ok(());
                }
            }
            self.flush_for_room()?;
        }
        self.compact_tablets(wanted, options, cancel)
    }

    fn compact_tablets(
        &self,
        wanted: &Fence,
        options: &CompactOptions,
        cancel: &Cancel,
    ) -> StoreResult<()> {
        if self.context.options.background {
            // The flush may have made tablets large. If they were split during the compaction, all
            // their pieces would be left to the thread that has the tablet.
            self.split_large_of(wanted)?;
        }
        let version = self.version();
        let mut tablets: Vec<_> = version
            .tablets()
            .iter()
            .filter(|tablet| tablet.extent.intersection(wanted).is_some())
            .collect();
        // The largest first, so that the last one does not occupy a single thread for long.
        tablets.sort_by_cached_key(|tablet| std::cmp::Reverse(bytes_of(tablet)));
        let extents: Vec<Fence> = tablets
            .into_iter()
            .map(|tablet| tablet.extent.clone())
            .collect();
        // Tablets that were merged from several of these.
        let merged = Mutex::new(Vec::new());
        self.on_all_threads(&extents, |extent, helped| {
            self.compact_whole(extent, &merged, options, cancel, helped)
        })
    }

    /// Calls `work` for each of the tablets, several at once; starts no more after a failure. The
    /// last one is told that no other thread has work left.
    pub(super) fn on_all_threads<T: Sync>(
        &self,
        tablets: &[T],
        work: impl Fn(&T, bool) -> StoreResult<()> + Sync,
    ) -> StoreResult<()> {
        let next = AtomicUsize::new(0);
        let threads_most = self.context.options.compaction_threads;
        let work = || {
            loop {
                let at = next.fetch_add(1, Ordering::Relaxed);
                let Some(tablet) = tablets.get(at) else {
                    return Ok(());
                };
                work(tablet, threads_most > 1 && at + 1 == tablets.len())
                    .inspect_err(|_| next.store(tablets.len(), Ordering::Relaxed))?;
            }
        };
        let count = threads_most.clamp(1, tablets.len().max(1));
        let panicked = || Error::new(ErrorKind::Internal, "a compaction thread panicked");
        threads::run_on_all(count, panicked, work)
    }

    /// Compacts all files of the tablet with these rows, or of the tablets that contain them after
    /// later splits and merges. Tablets that also contain other rows are added to `merged`; tablets
    /// that are in it already are skipped.
    fn compact_whole(
        &self,
        extent: &Fence,
        merged: &Mutex<Vec<Fence>>,
        options: &CompactOptions,
        cancel: &Cancel,
        helped: bool,
    ) -> StoreResult<()> {
        // The rows still to be compacted, from its end on.
        let mut rest = extent.clone();
        while !rest.is_empty() {
            cancel.check()?;
            self.check_exists()?;
            let last = |version: &TableVersion| version.with_end_of(&rest).cloned();
            let Some(tablet) = last(&self.version()) else {
                // Deleted meanwhile.
                continue;
            };
            let end = tablet.extent.through.clone();
            self.claim(&end);
            let _ended = AtEnd(|| self.release(&end));
            // Its present state now that it is claimed, if it still exists.
            let Some(tablet) = last(&self.version()).filter(|now| now.extent.through == end) else {
                continue;
            };
            let is_done = |merged: &Fence| merged.encloses(&tablet.extent);
            if tablet.files.is_empty() || merged.lock().iter().any(is_done) {
                rest = before(rest, &tablet);
                continue;
            }
            let job = Job {
                files: tablet.files.clone(),
                tablet: tablet.clone(),
                memory: Vec::new(),
                memory_ages: None,
                user: true,
                iterators: options.iterators.clone(),
                cancel: cancel.clone(),
                helped,
            };
            if self.run_measured(&job)? {
                if !extent.encloses(&tablet.extent) {
                    merged.lock().push(tablet.extent.clone());
                }
                rest = before(rest, &tablet);
            }
        }
        Ok(())
    }

    /// Stops the compactions that users requested.
    pub(crate) fn cancel_user_compactions(&self) {
        for cancel in &self.busy.lock().cancels {
            cancel.cancel();
        }
    }

    /// Stops all compactions.
    pub(crate) fn cancel_compactions(&self) {
        self.cancel_user_compactions();
        self.cancel_background_compactions();
    }

    /// Stops the compactions that the background chose.
    pub(crate) fn cancel_background_compactions(&self) {
        for (_, chosen) in &self.busy.lock().chosen {
            chosen.cancel();
        }
    }
}

/// The part of the rows before the tablet.
fn before(rows: Fence, tablet: &TabletView) -> Fence {
    match &tablet.extent.after {
        Some(row) => Fence::new(rows.after, Some(row.clone())),
        // No row is.
        None => Fence::new(Some(Vec::new()), Some(Vec::new())),
    }
}

/// Bytes of a tablet's files, using the index of those it shares with others.
pub(super) fn bytes_of(tablet: &TabletView) -> u64 {
    let shares = tablet.files.iter().map(|file| {
        let fence = file.reference.fence.intersection(&tablet.extent);
        let share = fence.and_then(|fence| file.file.reader().estimate(&fence).ok());
        share.map_or(file.reference.bytes, |(bytes, _)| bytes)
    });
    shares.sum()
}
