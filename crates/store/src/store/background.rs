//! Background work: flushes, compactions, splits, maintenance.

use std::collections::HashMap;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use ostrakon_cell::Activity;
use parking_lot::Mutex;

use super::closed::Closed;
use super::error_throttle::ErrorThrottle;
use crate::catalog::TableId;
use crate::clock::Clock;
use crate::compaction::{caught, without_data};
use crate::error::{Error, ErrorKind, StoreResult};
use crate::table::{StoreContext, TableCore, Watch};
use crate::threads;
use crate::wal::{SEGMENT_HEADER_BYTES, list_segments};

/// How long a thread sleeps when nothing wakes it.
const IDLE: Duration = Duration::from_secs(1);

/// How often all tables are checked, not only those that changed.
const SWEEP: Duration = Duration::from_secs(2);

/// Iterators that read nothing for this time are reported, and another thread replaces theirs.
const STALLED: Duration = Duration::from_secs(10);

/// Maximum number of replaced threads of a kind.
const REPLACED_MOST: usize = 8;

/// How long a thread waits after a failure of the whole store before it retries.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// State shared by the passes of all threads.
pub(super) struct Pass {
    stop: Arc<AtomicBool>,
    /// When all tables were last checked, by the monotonic clock.
    swept_nanos: AtomicU64,
    /// Tables with a compaction backlog, in percent of `table.file.max`.
    debts: Mutex<HashMap<TableId, u64>>,
    /// Whether the last search for tablets to rewrite found any.
    rewrites: AtomicBool,
    said: ErrorThrottle,
    watch: Mutex<Watch>,
    /// The flush threads and the compaction threads.
    crews: [Crew; 2],
    threads: Arc<Mutex<Vec<JoinHandle<()>>>>,
}

/// Threads with the same task. While the iterators of some of them stall, other threads replace
/// them, so that one table does not block the others.
struct Crew {
    name: &'static str,
    activity: Activity,
    usual: usize,
    live: AtomicUsize,
    wanted: AtomicUsize,
    work: fn(&StoreContext, &Pass) -> StoreResult<bool>,
    wait: fn(&StoreContext),
}

impl Crew {
    /// Whether the calling thread is surplus and must end.
    fn is_dismissed(&self) -> bool {
        let wanted = self.wanted.load(Ordering::SeqCst);
        let one_less = |live: usize| (live > wanted).then(|| live - 1);
        self.live
            .fetch_update(Ordering::SeqCst, Ordering::SeqCst, one_less)
            .is_ok()
    }
}

impl Pass {
    fn is_sweep_due(&self, clock: &dyn Clock) -> bool {
        let now = clock.monotonic_nanos();
        let last = self.swept_nanos.load(Ordering::Relaxed);
        let is_due = last == 0 || now.saturating_sub(last) >= SWEEP.as_nanos() as u64;
        if is_due {
            self.swept_nanos.store(now.max(1), Ordering::Relaxed);
        }
        is_due
    }

    /// One turn of a thread.
    fn attempt(
        &self,
        context: &StoreContext,
        work: fn(&StoreContext, &Self) -> StoreResult<bool>,
        wait: fn(&StoreContext),
    ) {
        match caught(|| work(context, self)) {
            Ok(true) => {}
            Ok(false) => wait(context),
            Err(error) => {
                context.metrics.background_errors.increment();
                tell(&self.said, &error, &*context.clock);
                context.clock.sleep(AFTER_FAILURE);
            }
        }
    }

    /// Records a table's compaction backlog, which may slow down the writers of all tables. A table
    /// that cannot be compacted does not slow down others: in the end it rejects its own writes.
    fn set_debt(&self, table: &TableCore, context: &StoreContext) {
        let debt = table.debt_percent();
        let mut debts = self.debts.lock();
        if debt == 0 || table.check_exists().is_err() {
            debts.remove(&table.id());
        } else {
            debts.insert(table.id(), debt);
        }
        let most = debts.values().max().copied().unwrap_or(0);
        context.pressure.set_debt_percent(most);
    }
}

/// Starts the threads.
pub(super) fn start(
    context: &Arc<StoreContext>,
    threads: &Arc<Mutex<Vec<JoinHandle<()>>>>,
    stop: &Arc<AtomicBool>,
) -> StoreResult<()> {
    let compacting = context.options.compaction_threads;
    let crew = |name, activity, usual, work, wait| Crew {
        name,
        activity,
        usual,
        live: AtomicUsize::new(0),
        wanted: AtomicUsize::new(usual),
        work,
        wait,
    };
    let pass = Arc::new(Pass {
        stop: stop.clone(),
        swept_nanos: AtomicU64::new(0),
        debts: Mutex::default(),
        rewrites: AtomicBool::new(false),
        said: ErrorThrottle::default(),
        watch: Mutex::default(),
        crews: [
            crew("flush", Activity::Flush, 1, flush, |context| {
                context.wakeups.flush.wait(IDLE);
            }),
            crew(
                "compact",
                Activity::Compaction,
                compacting,
                compact,
                |context| {
                    context.wakeups.compact.wait(IDLE);
                },
            ),
        ],
        threads: threads.clone(),
    });
    for at in 0..pass.crews.len() {
        fill(context, &pass, at)?;
    }
    let (context, own) = (context.clone(), pass.clone());
    let maintainer = threads::spawn("maintenance", move || {
        while !own.stop.load(Ordering::SeqCst) {
            own.attempt(&context, keep, |context| {
                context.wakeups.maintenance.wait(IDLE);
            });
            replace_stalled(&context, &own);
        }
    })?;
    pass.threads.lock().push(maintainer);
    Ok(())
}

/// Starts the missing threads of a crew.
fn fill(context: &Arc<StoreContext>, pass: &Arc<Pass>, at: usize) -> StoreResult<()> {
    let crew = &pass.crews[at];
    while crew.live.load(Ordering::SeqCst) < crew.wanted.load(Ordering::SeqCst) {
        let number = crew.live.fetch_add(1, Ordering::SeqCst);
        let (context, own) = (context.clone(), pass.clone());
        let spawned = threads::spawn(&format!("{}-{number}", crew.name), move || {
            let crew = &own.crews[at];
            while !own.stop.load(Ordering::SeqCst) && !crew.is_dismissed() {
                own.attempt(&context, crew.work, crew.wait);
            }
        });
        match spawned {
            Ok(thread) => pass.threads.lock().push(thread),
            Err(error) => {
                crew.live.fetch_sub(1, Ordering::SeqCst);
                return Err(error);
            }
        }
    }
    Ok(())
}

/// Records work whose iterators stall, and replaces its threads while that lasts.
fn replace_stalled(context: &Arc<StoreContext>, pass: &Arc<Pass>) {
    let mut stalled = Vec::new();
    let mut counts = [0; 2];
    pass.watch.lock().look(
        &context.running,
        context.clock.monotonic_nanos(),
        STALLED.as_nanos() as u64,
        |work| {
            for (crew, count) in pass.crews.iter().zip(&mut counts) {
                *count += usize::from(crew.activity == work.activity);
            }
            stalled.push(work.clone());
        },
    );
    for work in stalled {
        if let Some(table) = context.attention.table(work.table) {
            table.note_stall(&work);
        }
    }
    for (at, count) in counts.into_iter().enumerate() {
        let crew = &pass.crews[at];
        crew.wanted
            .store(crew.usual + count.min(REPLACED_MOST), Ordering::SeqCst);
        if let Err(error) = fill(context, pass, at) {
            tell(&pass.said, &error, &*context.clock);
        }
    }
}

/// Logs a failure that does not belong to a table.
fn tell(said: &ErrorThrottle, error: &Error, clock: &dyn Clock) {
    let cause = without_data(error);
    match said.tell(error, clock.monotonic_nanos()) {
        None => tracing::debug!(error = ?cause, "background work failed again"),
        Some(0) => tracing::warn!(error = ?cause, "background work failed; it is retried"),
        Some(times) => tracing::warn!(error = ?cause, times, "background work still fails"),
    }
}

/// Flushes the table that most needs it. A failure is recorded with the table, which is retried
/// when it is due; meanwhile the others have their turn.
fn flush(context: &StoreContext, _: &Pass) -> StoreResult<bool> {
    let flush_bytes = context.options.flush_bytes();
    let mut largest = Choice::default();
    let mut oldest = Choice::default();
    let mut failing = Choice::default();
    let (mut taken_along, mut set_aside) = (0, 0);
    for table in context.attention.with_memory() {
        let (memory, segment) = table.unflushed();
        let (waiting, held) = if table.is_being_flushed() {
            (0, 0)
        } else {
            table.waiting_to_flush()
        };
        taken_along += held;
        // A table with few writes must not hold old log segments.
        let kept = segment.map_or(0, |segment| {
            context.log.segment.load(Ordering::SeqCst) - segment
        });
        let log_bytes = kept * context.options.segment_bytes();
        let is_old = log_bytes > 2 * context.options.memtable_bytes();
        if table.is_unwritable() {
            set_aside += memory;
        }
        if table.is_being_flushed() {
            // Another thread flushes it, which may take long.
        } else if table.may_flush() {
            largest.consider(waiting, &table);
            oldest.consider(if is_old { log_bytes } else { 0 }, &table);
        } else if !table.is_unwritable() {
            let is_over = is_old || memory >= context.options.failing_share_bytes();
            failing.consider(if is_over { u64::MAX } else { memory }, &table);
        }
    }
    context.pressure.set_aside(set_aside);
    // Many small tables may fill the memory together without one of them being large. Memory that a
    // compaction is writing is not freed before it ends, however often other tables are flushed.
    let crowded = context.pressure.used().saturating_sub(taken_along) >= 2 * flush_bytes;
    let largest = largest.of_at_least(if crowded { 1 } else { flush_bytes });
    // Alternates: otherwise ten thousand tables with old log segments would all precede one that is
    // being filled.
    let old_first = context.log.old_log_first.fetch_xor(true, Ordering::Relaxed);
    let oldest = oldest.of_at_least(1);
    let chosen = if old_first {
        oldest.or(largest)
    } else {
        largest.or(oldest)
    };
    if let Some((_, table)) = chosen {
        let patience = !crowded && table.unflushed().0 < context.options.failing_share_bytes();
        if patience {
            table.try_to_flush();
        } else {
            // The failure is recorded with the table.
            let _ = table.flush_for_room();
        }
        return Ok(true);
    }
    // Memory is needed, and only tables with failing iterators hold any.
    if let Some((_, table)) = failing.of_at_least(if crowded { 1 } else { u64::MAX }) {
        let _ = table.flush_for_room();
        return Ok(true);
    }
    Ok(false)
}

/// One step of all background work except flushes.
pub(super) fn maintain(context: &StoreContext) -> StoreResult<bool> {
    let (mut worked, mut debt) = (false, 0);
    for (table, _) in context.attention.to_compact(true) {
        if table.check_online().is_ok() {
            worked |= table.split_large()? | table.compact_once()?;
            debt = debt.max(table.debt_percent());
        }
    }
    context.pressure.set_debt_percent(debt);
    if !worked {
        worked = rewrite(context, &AtomicBool::new(false))?;
    }
    maintain_files(context)?;
    Ok(worked)
}

/// Rewrites one tablet per table that holds much garbage or is idle. Only when there is no other
/// work.
fn rewrite(context: &StoreContext, stop: &AtomicBool) -> StoreResult<bool> {
    let mut worked = false;
    for (table, _) in context.attention.to_compact(true) {
        if stop.load(Ordering::SeqCst) {
            break;
        }
        if table.check_online().is_ok() {
            worked |= table.rewrite_one()?;
        }
    }
    Ok(worked)
}

/// The table with the greatest value.
#[derive(Default)]
struct Choice(Option<(u64, Arc<TableCore>)>);

impl Choice {
    fn consider(&mut self, amount: u64, table: &Arc<TableCore>) {
        if amount > self.0.as_ref().map_or(0, |(most, _)| *most) {
            self.0 = Some((amount, table.clone()));
        }
    }

    fn of_at_least(self, least: u64) -> Option<(u64, Arc<TableCore>)> {
        self.0.filter(|(amount, _)| *amount >= least)
    }
}

/// Splits tablets that are too large, then compacts where it pays: each table once per pass, so
/// that none waits for another. A failure is recorded with its tablet.
fn compact(context: &StoreContext, pass: &Pass) -> StoreResult<bool> {
    let mut worked = false;
    // Some work becomes due by time alone: writers pause, retries become due.
    let sweep = pass.is_sweep_due(&*context.clock);
    for (table, change) in context.attention.to_compact(sweep) {
        if pass.stop.load(Ordering::SeqCst) {
            break;
        }
        if table.check_online().is_err() {
            continue;
        }
        let did = table.split_large()? | table.compact_once()?;
        pass.set_debt(&table, context);
        if did {
            worked = true;
        } else {
            context.attention.found_nothing(table.id(), change);
        }
    }
    if !worked && (sweep || pass.rewrites.load(Ordering::Relaxed)) {
        worked = rewrite(context, &pass.stop)?;
        pass.rewrites.store(worked, Ordering::Relaxed);
    }
    Ok(worked)
}

/// Merges memtable runs, deletes unneeded log segments and files, and lends memory that writes do
/// not use.
fn keep(context: &StoreContext, _: &Pass) -> StoreResult<bool> {
    maintain_files(context).map(|()| false)
}

fn maintain_files(context: &StoreContext) -> StoreResult<()> {
    for table in context.attention.with_memory() {
        table.merge_runs();
    }
    context.pressure.lend(&*context.clock);
    // Here and not after a flush, because compactions of memtables and flushes by users free
    // segments too.
    let log = delete_old_segments(context);
    let files = context.files.collect();
    log.and(files).map(drop)
}

/// Deletes log segments whose batches are all in files.
pub(super) fn delete_old_segments(context: &StoreContext) -> StoreResult<()> {
    // The current segment first: later batches are published into it or a later one.
    let current = context.log.segment.load(Ordering::SeqCst);
    let oldest = context
        .attention
        .with_memory()
        .iter()
        .filter_map(|table| table.unflushed().1)
        .min();
    let needed = oldest.unwrap_or(current).min(current);
    if needed <= context.log.oldest_segment.load(Ordering::SeqCst) {
        return Ok(());
    }
    let mut old = list_segments(&*context.vfs, &context.dir.join("wal"))?;
    old.retain(|(number, _)| *number < needed);
    if !old.is_empty() {
        if context.catalog.is_uncertain() {
            // The catalog accepts no more commits: the next opening deletes them.
            return Ok(());
        }
        // First record that the segments are not needed: a missing segment that is not recorded is
        // reported as lost.
        record_log(context, needed)?;
    }
    for (_, path) in old {
        match context.vfs.remove(&path) {
            // A background thread and the thread that closes the store may both delete it.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    context
        .log
        .oldest_segment
        .fetch_max(needed, Ordering::SeqCst);
    Ok(())
}

/// The end of the log. Call when it is on the disk and nothing is appended to it any more.
pub(super) fn closed_log(context: &StoreContext, wal_dir: &Path) -> StoreResult<Closed> {
    let segment = context.log.segment.load(Ordering::SeqCst);
    let bytes = context
        .log
        .end
        .load(Ordering::SeqCst)
        .max(SEGMENT_HEADER_BYTES as u64);
    let (mut last, mut last_bytes) = (segment, bytes);
    if bytes <= SEGMENT_HEADER_BYTES as u64 {
        // A segment without records may be lost in the next crash. The one before it was synced
        // when this one was begun.
        last -= 1;
        last_bytes = match list_segments(&*context.vfs, wal_dir)?
            .into_iter()
            .find(|(number, _)| *number == last)
        {
            Some((_, path)) => context.vfs.len(&path)?,
            None => 0,
        };
    }
    let gapless = context.log.gapless_from.load(Ordering::SeqCst);
    if context.catalog.view()?.wal_low_water()? < gapless {
        record_log(context, 0)?;
    }
    if last < gapless {
        (last, last_bytes) = (0, 0);
    }
    Ok(Closed {
        store: context.catalog.identity().number(),
        segment,
        bytes,
        last,
        last_bytes,
        commits: context.catalog.view()?.commits()?,
        sum: match last == segment {
            true => context.log.sum.load(Ordering::SeqCst),
            false => 0,
        },
    })
}

/// Records in the catalog which segments of the log are needed.
pub(super) fn record_log(context: &StoreContext, needed: u64) -> StoreResult<()> {
    let first = needed.max(context.log.gapless_from.load(Ordering::SeqCst));
    // As when segments cannot be deleted: it is retried.
    if context.catalog.view()?.wal_low_water()? >= first {
        return Ok(());
    }
    let recorded = context
        .catalog
        .transaction(|change| change.set_wal_low_water(first));
    if let Err(error) = recorded {
        if context.catalog.is_uncertain() {
            context.health.fail(error.duplicate());
        }
        return Err(error);
    }
    Ok(())
}
