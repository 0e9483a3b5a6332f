//! `scan`

use std::time::{Duration, Instant};

use ostrakon_cell::{Batch, ScanOptions, Source, Table};
use serde_json::json;

use super::access::find_table;
use super::rows::{ScanRequest, scan_request};
use crate::args::ScanArgs;
use crate::failure::Result;
use crate::interrupt::Watch;
use crate::output::{
    EntryFields, Output, counted, grouped, seconds, write_entry_json, write_entry_text,
    write_value_raw,
};
use crate::progress::Progress;

/// How often a scan checks for Ctrl-C.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// Shows entries, or counts them.
pub(super) fn run(source: &dyn Source, args: ScanArgs, out: &mut Output) -> Result<()> {
    let table = find_table(source, &args.table)?;
    let request = scan_request(&args.table, args.selection)?.limited(args.limit);
    let limit = args.limit.unwrap_or(u64::MAX);
    if request.ranges.is_empty() || limit == 0 {
        return match args.count {
            true => show_count(out, &args.table, 0, 0.0),
            false => Ok(()),
        };
    }
    if args.count {
        let started = Instant::now();
        let entries = count(&*table, &request, limit)?;
        return show_count(out, &args.table, entries, started.elapsed().as_secs_f64());
    }
    let fields = EntryFields {
        timestamp: args.timestamps,
        value: !args.keys_only,
        value_only: args.values_only,
    };
    let json = out.is_json();
    let raw = args.raw.then_some(if args.null { 0 } else { b'\n' });
    let watch = Watch::start();
    let mut scan = table.scan(&request.ranges, &answering(&request))?;
    let (mut batch, mut left) = (Batch::new(), limit);
    while left > 0 && scan.next_batch(&mut batch)? {
        let stream = out.stream();
        let shown = usize::try_from(left).unwrap_or(usize::MAX);
        for entry in batch.iter().take(shown) {
            if let Some(end) = raw {
                write_value_raw(stream, entry, end)?;
            } else if json {
                write_entry_json(stream, entry, !args.keys_only)?;
            } else {
                write_entry_text(stream, entry, fields)?;
            }
        }
        left = left.saturating_sub(batch.len() as u64);
        if left > 0 {
            // Between two entries, so that no line is cut.
            watch.check("what was printed is complete up to there")?;
        }
    }
    Ok(())
}

/// The options of a scan that returns at intervals even if no entry matches, so that Ctrl-C is noticed.
fn answering(request: &ScanRequest) -> ScanOptions {
    ScanOptions {
        answer_within: Some(ANSWER_WITHIN),
        ..request.options.clone()
    }
}

fn count(table: &dyn Table, request: &ScanRequest, limit: u64) -> Result<u64> {
    let watch = Watch::start();
    let progress = Progress::count("entries");
    let mut scan = table.scan(&request.ranges, &answering(request))?;
    let (mut batch, mut entries) = (Batch::new(), 0_u64);
    while entries < limit && scan.next_batch(&mut batch)? {
        entries += batch.len() as u64;
        progress.set(entries);
        if watch.stopped() {
            watch.check(&format!("{} entries were counted", grouped(entries)))?;
        }
    }
    Ok(entries.min(limit))
}

fn show_count(out: &mut Output, table: &str, entries: u64, elapsed: f64) -> Result<()> {
    let rate = if entries == 0 {
        0.0
    } else {
        entries as f64 / elapsed.max(1e-9)
    };
    let object = json!({
        "table": table,
        "entries": entries,
        "seconds": elapsed,
        "entries_per_second": rate,
    });
    out.object(&object, || {
        format!(
            "{} in {} ({} entries/s)",
            counted(entries, "entry", "entries"),
            seconds(elapsed),
            grouped(rate as u64)
        )
    })
}
