//! The run: scan and mark, sort and count, and name the rows that point to missing ones.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use ostrakon_cell::{Error, ErrorKind, Range, Result, Source, Table};

use super::super::layout::format_row;
use super::super::pieces::pieces;
use super::count::{Counter, Counts};
use super::options::{UndefinedRow, VerifyFigures, VerifyOptions};
use super::partitions::{MEMORY_MIN, Partitions, Spill, Stage, defined, referenced};
use super::scan::read;
use crate::Progress;
use crate::control::Control;
use crate::measure::{RateSampler, Watched};
use crate::threads::{in_threads, thread_count};

/// Rows named that point to one undefined row.
const REFERRERS: usize = 3;

/// Verifies the table: reads every entry, checks it, and finds rows that others point to and that
/// are not there.
///
/// Two marks of eight bytes are made of each entry (its row is there; the row it names is pointed
/// to), sorted into partitions by row, then each partition is sorted and counted. So memory is bounded
/// at any table size. Entries written while verify runs may be reported as missing: do
/// not write meanwhile.
///
/// # Errors
/// No such table, a failed read, too little memory, or the scratch directory refuses; cancelled.
pub fn run_verify(
    source: &Arc<dyn Source>,
    options: &VerifyOptions,
    progress: &dyn Progress,
) -> Result<VerifyFigures> {
    if options.memory_bytes < MEMORY_MIN {
        return Err(Error::invalid("verify needs at least 4 MiB of memory")
            .with("given bytes", options.memory_bytes));
    }
    let table = source.table(&options.table)?;
    let threads = thread_count(options.threads);
    let pieces = pieces(&*table, threads, options.ranges_max)?;
    let control = Control::new(None, None, progress);
    let mut figures = VerifyFigures {
        threads,
        ..VerifyFigures::default()
    };

    // An eighth for chunks being filled, three for chunks that stay, three for sorting.
    let spill = Spill::new(&options.scratch, options.memory_bytes / 8 * 3)?;
    let count = if options.memory_bytes >= 128 << 20 {
        1024
    } else {
        64
    };
    let partitions = Partitions::new(&spill, (0, u64::MAX), count, options.memory_bytes / 8);
    progress.phase("verify: scan", stored_entries(&*table));
    scan(
        &table,
        options,
        (&pieces, threads),
        (&control, progress),
        &partitions,
        &mut figures,
    )?;
    figures.scan_seconds = control.seconds();

    progress.phase("verify: count", Some(partitions.len() as u64));
    let counter = Counter {
        spill: &spill,
        load_bytes: options.memory_bytes / 8 * 3 / threads as u64,
        examples: options.examples,
    };
    let undefined = count_all(
        &counter,
        &partitions,
        threads,
        &control,
        progress,
        &mut figures,
    )?;
    check_cancelled(&control)?;
    figures.spilled_bytes = spill.spilled_bytes();
    figures.seconds = control.seconds();
    figures.entries_per_second = figures.entries as f64 / figures.seconds.max(1e-9);
    if !undefined.is_empty() {
        progress.phase("verify: who points to what is missing", None);
        let control = Control::new(None, None, progress);
        let pieces = (pieces.as_slice(), threads);
        figures.undefined_examples = referrers(&table, options, pieces, &control, &undefined)?;
    }
    Ok(figures)
}

fn check_cancelled(control: &Control<'_>) -> Result<()> {
    // Half a count would look like data loss.
    if control.goes_on() {
        return Ok(());
    }
    Err(Error::new(
        ErrorKind::Cancelled,
        "verify was stopped before it had read everything",
    ))
}

/// The tablets' own counts of entries, used for progress only.
fn stored_entries(table: &dyn Table) -> Option<u64> {
    let tablets = table.tablets().ok()?;
    Some(tablets.iter().map(|tablet| tablet.entries).sum::<u64>()).filter(|entries| *entries > 0)
}

fn scan(
    table: &Arc<dyn Table>,
    options: &VerifyOptions,
    pieces: (&[Range], usize),
    (control, progress): (&Control<'_>, &dyn Progress),
    partitions: &Partitions<'_>,
    figures: &mut VerifyFigures,
) -> Result<()> {
    let parts = std::thread::scope(|scope| {
        let sampler = RateSampler::start(
            scope,
            Watched {
                counter: &control.done,
                progress,
                unit: "entries",
                seconds: 1.0,
            },
        )?;
        let parts = read(
            table,
            options,
            pieces,
            control,
            || Stage::new(partitions),
            |stage, link| {
                stage.push(defined(link.row))?;
                link.previous
                    .map_or(Ok(()), |previous| stage.push(referenced(previous)))
            },
        );
        let _ = sampler.finish();
        parts
    })?;
    check_cancelled(control)?;
    let examples = options.examples;
    for (stage, mut read) in parts {
        stage.finish()?;
        figures.entries += read.entries;
        figures.corrupt += read.corrupt;
        figures.foreign += read.foreign;
        figures.unchecked += read.unchecked;
        figures.corrupt_examples.append(&mut read.corrupt_examples);
        figures.foreign_examples.append(&mut read.foreign_examples);
    }
    figures.corrupt_examples.truncate(examples);
    figures.foreign_examples.truncate(examples);
    Ok(())
}

/// Counts all partitions and returns some undefined rows, sorted.
fn count_all(
    counter: &Counter<'_>,
    partitions: &Partitions<'_>,
    threads: usize,
    control: &Control<'_>,
    progress: &dyn Progress,
    figures: &mut VerifyFigures,
) -> Result<Vec<u64>> {
    let next = AtomicUsize::new(0);
    let parts = in_threads(
        "verify-count",
        threads,
        || control.stop(),
        |_| {
            let mut counts = Counts::default();
            while control.goes_on() {
                let at = next.fetch_add(1, Ordering::Relaxed);
                if at >= partitions.len() {
                    break;
                }
                counter.count(partitions.take(at), partitions.stretch(at), &mut counts)?;
                progress.done(at as u64 + 1);
            }
            Ok(counts)
        },
    )?;
    let mut rows = Vec::new();
    for mut counts in parts {
        figures.referenced += counts.referenced;
        figures.unreferenced += counts.unreferenced;
        figures.undefined += counts.undefined;
        rows.append(&mut counts.undefined_rows);
    }
    rows.sort_unstable();
    rows.truncate(counter.examples);
    Ok(rows)
}

/// A second scan, only when something is missing: who points there.
fn referrers(
    table: &Arc<dyn Table>,
    options: &VerifyOptions,
    pieces: (&[Range], usize),
    control: &Control<'_>,
    undefined: &[u64],
) -> Result<Vec<UndefinedRow>> {
    let found = read(
        table,
        options,
        pieces,
        control,
        || vec![Vec::new(); undefined.len()],
        |found, link| {
            if let Some(previous) = link.previous
                && let Ok(at) = undefined.binary_search(&previous)
                && found[at].len() < REFERRERS
            {
                found[at].push(link.row);
            }
            Ok(())
        },
    )?;
    let text = |row: u64| String::from_utf8_lossy(&format_row(row)).into_owned();
    Ok(undefined
        .iter()
        .enumerate()
        .map(|(at, row)| {
            let rows = found.iter().flat_map(|(found, _)| &found[at]);
            UndefinedRow {
                row: text(*row),
                referenced_by: rows.take(REFERRERS).map(|row| text(*row)).collect(),
            }
        })
        .collect())
}
