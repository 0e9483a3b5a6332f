//! Background work: flushing, compacting, splitting, tidying up.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::open::Tables;
use super::said::Said;
use crate::catalog::LogEnd;
use crate::error::{Error, ErrorKind, StoreResult};
use crate::table::{StoreContext, TableCore};
use crate::threads;
use crate::wal::{SEGMENT_HEADER_BYTES, list_segments};

/// How long a thread sleeps when nobody wakes it.
const IDLE: Duration = Duration::from_secs(1);

/// How long a thread waits after a failure before it tries again.
const AFTER_FAILURE: Duration = Duration::from_millis(200);

/// Starts the threads.
pub(super) fn start(
    context: &Arc<StoreContext>,
    tables: &Arc<Tables>,
    stop: &Arc<AtomicBool>,
) -> StoreResult<Vec<JoinHandle<()>>> {
    let mut started = Vec::new();
    let said = Arc::new(Said::default());
    let mut spawn = |name: &str,
                     work: fn(&StoreContext, &Tables) -> StoreResult<bool>,
                     wait: fn(&StoreContext)| {
        let (context, tables, stop) = (context.clone(), tables.clone(), stop.clone());
        let said = said.clone();
        threads::spawn(name, move || {
            while !stop.load(Ordering::SeqCst) {
                match caught(|| work(&context, &tables)) {
                    Ok(true) => {}
                    Ok(false) => wait(&context),
                    Err(error) => {
                        context.metrics.background_errors.increment();
                        match said.tell(&error, context.clock.monotonic_nanos()) {
                            None => {
                                tracing::debug!(%error, "background work failed again");
                            }
                            Some(0) => {
                                tracing::warn!(%error, "background work failed; it is tried again");
                            }
                            Some(times) => {
                                tracing::warn!(%error, times, "background work still fails");
                            }
                        }
                        context.clock.sleep(AFTER_FAILURE);
                    }
                }
            }
        })
        .map(|thread| started.push(thread))
    };
    spawn("flush", flush, |context| context.wakeups.flush.wait(IDLE))?;
    for number in 0..context.options.compaction_threads {
        spawn(&format!("compact-{number}"), compact, |context| {
            context.wakeups.compact.wait(IDLE);
        })?;
    }
    spawn("keep", keep, |context| context.wakeups.keep.wait(IDLE))?;
    Ok(started)
}

/// A panic, of a user's iterator perhaps, as an error: the thread lives on and tries again.
fn caught<T>(work: impl FnOnce() -> StoreResult<T>) -> StoreResult<T> {
    // What `work` changes is behind locks and in the catalog, both whole after each step.
    catch_unwind(AssertUnwindSafe(work)).unwrap_or_else(|_| {
        Err(Error::new(
            ErrorKind::Internal,
            "background work panicked; what is printed above says where. An iterator of your own may be at fault: \
             take it off the table (`table config`) and it goes on",
        ))
    })
}

fn all(tables: &Tables) -> Vec<Arc<TableCore>> {
    tables.read().values().cloned().collect()
}

/// Flushes the table that most needs it.
fn flush(context: &StoreContext, tables: &Tables) -> StoreResult<bool> {
    let outcome = caught(|| flush_one(context, tables));
    context
        .health
        .report_background(&outcome.as_ref().map(|_| ()).map_err(Error::duplicate));
    outcome
}

fn flush_one(context: &StoreContext, tables: &Tables) -> StoreResult<bool> {
    let flush_bytes = context.options.flush_bytes();
    let tables_now = all(tables);
    let mut largest: Option<(u64, Arc<TableCore>)> = None;
    let mut taken_along = 0;
    for table in &tables_now {
        let (_, segment) = table.unflushed();
        // A table that is written rarely must not keep old log segments for ever.
        let kept = segment.map_or(0, |segment| {
            context.segment.load(Ordering::SeqCst) - segment
        });
        let log_bytes = kept * context.options.segment_bytes();
        if log_bytes > 2 * context.options.memtable_bytes() {
            table.flush_memtables()?;
            return Ok(true);
        }
        let (waiting, held) = table.waiting_to_flush();
        taken_along += held;
        if largest.as_ref().is_none_or(|(most, _)| waiting > *most) {
            largest = Some((waiting, table.clone()));
        }
    }
    let Some((waiting, table)) = largest else {
        return Ok(false);
    };
    // Many small tables may fill memory together without one being large. What compactions take along
    // frees no room yet, however often others are flushed.
    let crowded = context.pressure.used().saturating_sub(taken_along) >= 2 * flush_bytes;
    if waiting < flush_bytes && !(crowded && waiting > 0) {
        return Ok(false);
    }
    table.flush_memtables()?;
    Ok(true)
}

/// Splits what has grown too large, then compacts where it is worth it.
fn compact(context: &StoreContext, tables: &Tables) -> StoreResult<bool> {
    let mut worked = false;
    let mut debt = 0;
    for table in all(tables) {
        if table.check_online().is_err() {
            continue;
        }
        worked |= table.split_large()?;
        worked |= table.compact_once()?;
        debt = debt.max(table.debt_percent());
    }
    context.pressure.set_debt_percent(debt);
    Ok(worked)
}

/// Merges memtable runs, deletes what nobody needs of log and files, and lends memory that nobody writes to.
fn keep(context: &StoreContext, tables: &Tables) -> StoreResult<bool> {
    for table in all(tables) {
        table.merge_runs();
    }
    context.pressure.lend(&*context.clock);
    // Here, not behind a flush: compactions that took memory along and users' flushes free segments too.
    let log = delete_old_segments(context, tables);
    let files = context.files.collect();
    log.and(files).map(|_| false)
}

/// Deletes log segments of which every batch is in files.
pub(super) fn delete_old_segments(context: &StoreContext, tables: &Tables) -> StoreResult<()> {
    // The current segment first: what is published later is in it or behind it.
    let current = context.segment.load(Ordering::SeqCst);
    let oldest = all(tables)
        .iter()
        .filter_map(|table| table.unflushed().1)
        .min();
    let needed = oldest.unwrap_or(current).min(current);
    if needed <= context.oldest_segment.load(Ordering::SeqCst) {
        return Ok(());
    }
    let mut old = list_segments(&*context.vfs, &context.dir.join("wal"))?;
    old.retain(|(number, _)| *number < needed);
    if !old.is_empty() {
        if context.catalog.is_uncertain() {
            // Nothing is committed any more: the next opening deletes them.
            return Ok(());
        }
        // First: of what is gone and was not given up, somebody will be told.
        record_log(context, needed, None)?;
    }
    for (_, path) in old {
        match context.vfs.remove(&path) {
            // The background and whoever closes the store may both come here.
            Err(error) if error.kind() != ErrorKind::NotFound => return Err(error),
            _ => {}
        }
    }
    context.oldest_segment.fetch_max(needed, Ordering::SeqCst);
    Ok(())
}

/// Has the catalog say which is the last segment of the log that holds something, if it does not know.
/// Call when the log is on the disk and nothing is added to it any more.
pub(super) fn record_last_segment(context: &StoreContext, wal_dir: &Path) -> StoreResult<()> {
    let mut last = LogEnd {
        segment: context.segment.load(Ordering::SeqCst),
        bytes: context.log_end.load(Ordering::SeqCst),
    };
    if last.bytes <= SEGMENT_HEADER_BYTES as u64 {
        // One without records may be gone after the next crash. That before it was synced when this was
        // begun.
        last.segment -= 1;
        last.bytes = match list_segments(&*context.vfs, wal_dir)?
            .into_iter()
            .find(|(number, _)| *number == last.segment)
        {
            Some((_, path)) => context.vfs.len(&path)?,
            None => 0,
        };
    }
    let view = context.catalog.view()?;
    let (low, known) = (view.wal_low_water()?, view.wal_last()?);
    drop(view);
    let gapless = context.gapless_from.load(Ordering::SeqCst).max(low);
    if last.segment < gapless || last.segment <= known.segment || context.catalog.is_uncertain() {
        return Ok(());
    }
    record_log(context, 0, Some(last))
}

fn record_log(context: &StoreContext, needed: u64, last: Option<LogEnd>) -> StoreResult<()> {
    let first = needed.max(context.gapless_from.load(Ordering::SeqCst));
    // As when segments cannot be deleted: it is tried again and again.
    if last.is_none() && context.catalog.view()?.wal_low_water()? >= first {
        return Ok(());
    }
    let recorded = context.catalog.transaction(|change| {
        change.set_wal_low_water(first)?;
        match last {
            Some(last) => change.set_wal_last(last),
            None => Ok(()),
        }
    });
    if let Err(error) = recorded {
        if context.catalog.is_uncertain() {
            context.health.fail(error.duplicate());
        }
        return Err(error);
    }
    Ok(())
}
