//! N: a scan keeps its snapshot, and can start over.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{
    Batch, BatchLimit, CompactOptions, Entry, EntryRef, ErrorKind, Interrupt, Range, Scan,
    ScanOptions, Table, TableOptions,
};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, marker, read_all,
    write,
};

fn small_batches() -> ScanOptions {
    ScanOptions {
        batch: BatchLimit {
            entries: 3,
            bytes: 1 << 20,
        },
        ..ScanOptions::default()
    }
}

fn rest(scan: &mut dyn Scan) -> Check<Vec<Entry>> {
    let (mut batch, mut entries) = (Batch::new(), Vec::new());
    while scan.next_batch(&mut batch)? {
        entries.extend(batch.iter().map(EntryRef::to_entry));
    }
    Ok(entries)
}

pub(in crate::examiner) fn a_scan_can_start_over(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let rows: Vec<Entry> = (0..20)
        .map(|row| entry(&format!("{row:02}"), "f:q", 1, &format!("{row:02}")))
        .collect();
    write(&table, &rows)?;
    let mut scan = table.scan(&[Range::rows("05"..)], &small_batches())?;
    let mut batch = Batch::new();
    ensure(scan.next_batch(&mut batch)?, || {
        "the scan is empty".to_owned()
    })?;
    // In the middle, with other ranges.
    scan.restart(&[Range::row("03"), Range::row("01")])?;
    expect_values(
        &rest(&mut *scan)?,
        &["01", "03"],
        "started over in the middle",
    )?;
    ensure(!scan.next_batch(&mut batch)? && batch.is_empty(), || {
        "a scan that was over went on".to_owned()
    })?;
    // After its end, with what was written meanwhile.
    write(&table, &[entry("03", "f:q", 2, "new")])?;
    scan.restart(&[Range::row("03")])?;
    expect_values(&rest(&mut *scan)?, &["new"], "started over after a write")?;
    table.flush(true)?;
    for row in (0..20).rev() {
        let row = format!("{row:02}");
        scan.restart(&[Range::row(row.as_str())])?;
        expect_equal(rest(&mut *scan)?.len(), 1, "one row after another")?;
    }
    scan.restart(&[])?;
    expect_values(&rest(&mut *scan)?, &[], "started over without ranges")?;
    scan.restart(&[Range::all()])?;
    expect_equal(rest(&mut *scan)?.len(), 20, "started over for everything")
}

/// Twenty rows, written and flushed in part.
fn some_rows(bench: &Bench<'_>) -> Check<Arc<dyn Table>> {
    let table = bench.table()?;
    let rows: Vec<Entry> = (0..20)
        .map(|row| entry(&format!("{row:02}"), "f:q", 1, &format!("{row:02}")))
        .collect();
    write(&table, &rows[..12])?;
    table.flush(true)?;
    write(&table, &rows[12..])?;
    Ok(table)
}

/// The scan fails now and for good, without an entry.
fn expect_over(scan: &mut dyn Scan, kind: ErrorKind, what: &str) -> Check {
    let mut batch = Batch::new();
    for _ in 0..3 {
        expect_refused(scan.next_batch(&mut batch), &[kind], what)?;
        ensure(batch.is_empty(), || {
            format!("{what}: entries beside an error")
        })?;
    }
    Ok(())
}

pub(in crate::examiner) fn a_scan_can_be_interrupted(bench: &Bench<'_>) -> Check {
    let table = some_rows(bench)?;
    for ordered in [true, false] {
        let interrupt = Interrupt::default();
        let options = ScanOptions {
            interrupt: Some(interrupt.clone()),
            ordered,
            ..small_batches()
        };
        let mut scan = table.scan(&[Range::all()], &options)?;
        let mut batch = Batch::new();
        ensure(scan.next_batch(&mut batch)?, || {
            "the scan is empty".to_owned()
        })?;
        interrupt.set();
        expect_over(&mut *scan, ErrorKind::Cancelled, "an interrupted scan")?;
        let refused = scan.restart(&[Range::row("03")]);
        expect_refused(refused, &[ErrorKind::Cancelled], "its restart")?;
        expect_over(&mut *scan, ErrorKind::Cancelled, "after its restart")?;
    }
    let options = ScanOptions {
        timeout: Some(Duration::ZERO),
        ..small_batches()
    };
    let late = table
        .scan(&[Range::all()], &options)
        .and_then(|mut scan| scan.next_batch(&mut Batch::new()));
    expect_refused(late, &[ErrorKind::TimedOut], "a scan without time")?;
    let options = ScanOptions {
        timeout: Some(Duration::from_secs(3_600)),
        answer_within: Some(Duration::from_secs(3_600)),
        ..small_batches()
    };
    let mut scan = table.scan(&[Range::all()], &options)?;
    expect_equal(rest(&mut *scan)?.len(), 20, "a scan with time enough")
}

pub(in crate::examiner) fn a_scan_ends_with_its_table(bench: &Bench<'_>) -> Check {
    let table = some_rows(bench)?;
    let name = table.name();
    let mut batch = Batch::new();
    let mut begun = |ordered| -> Check<Box<dyn Scan>> {
        let options = ScanOptions {
            ordered,
            ..small_batches()
        };
        let mut scan = table.scan(&[Range::all()], &options)?;
        ensure(scan.next_batch(&mut batch)?, || {
            "the scan is empty".to_owned()
        })?;
        Ok(scan)
    };
    let mut scans = [begun(true)?, begun(false)?];
    bench.source.set_online(&name, false)?;
    for scan in &mut scans {
        expect_over(
            &mut **scan,
            ErrorKind::Offline,
            "a scan of a table gone off-line",
        )?;
        let refused = scan.restart(&[Range::row("03")]);
        expect_refused(refused, &[ErrorKind::Offline], "its restart")?;
    }
    bench.source.set_online(&name, true)?;
    for scan in &mut scans {
        // What failed is not taken up by itself.
        expect_over(&mut **scan, ErrorKind::Offline, "a scan that had failed")?;
        scan.restart(&[Range::row("03")])?;
        expect_values(&rest(&mut **scan)?, &["03"], "its restart on-line")?;
    }
    let mut scans = [begun(true)?, begun(false)?];
    bench.source.delete_table(&name)?;
    for scan in &mut scans {
        expect_over(
            &mut **scan,
            ErrorKind::TableNotFound,
            "a scan of a deleted table",
        )?;
    }
    Ok(())
}

pub(in crate::examiner) fn what_was_not_read_can_be_read(bench: &Bench<'_>) -> Check {
    let table = some_rows(bench)?;
    let options = ScanOptions {
        resumable: true,
        ..small_batches()
    };
    let ranges = [
        Range::rows("02".."09"),
        Range::row("11"),
        Range::rows("15"..),
    ];
    let wanted: Vec<String> = [2..9, 11..12, 15..20]
        .into_iter()
        .flatten()
        .map(|row| format!("{row:02}"))
        .collect();
    for batches in 0..5 {
        let mut scan = table.scan(&ranges, &options)?;
        let (mut batch, mut values) = (Batch::new(), Vec::new());
        for _ in 0..batches {
            scan.next_batch(&mut batch)?;
            values.extend(batch.iter().map(EntryRef::to_entry));
        }
        let left = scan.unread()?;
        let mut second = table.scan(&left, &options)?;
        values.extend(rest(&mut *second)?);
        let wanted: Vec<&str> = wanted.iter().map(String::as_str).collect();
        expect_values(&values, &wanted, "a scan in two parts")?;
        ensure(second.unread()?.is_empty(), || {
            "a finished scan has something left".to_owned()
        })?;
    }
    let scan = table.scan(&ranges, &small_batches())?;
    let refused = scan.unread();
    expect_refused(
        refused,
        &[ErrorKind::InvalidArgument],
        "a scan that keeps nothing",
    )
    .map(drop)
}

pub(in crate::examiner) fn a_scan_sees_one_snapshot(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let rows: Vec<Entry> = (0..5_000)
        .map(|row| entry(&format!("{row:04}"), "f:q", 1, "old"))
        .collect();
    let (first, second) = rows.split_at(2_000);
    write(&table, first)?;
    table.flush(true)?;
    write(&table, second)?;
    let mut scan = table.scan(&[Range::all()], &small_batches())?;
    let mut batch = Batch::new();
    ensure(scan.next_batch(&mut batch)?, || {
        "the scan is empty".to_owned()
    })?;
    let mut seen = batch.len();
    // Changes, new rows, deletes, and everything that moves entries between files.
    let changes: Vec<Entry> = (0..5_000)
        .map(|row| match row % 3 {
            0 => entry(&format!("{row:04}"), "f:q", 2, "new"),
            1 => marker(&format!("{row:04}"), "f:q", 2),
            _ => entry(&format!("{row:04}x"), "f:q", 2, "new"),
        })
        .collect();
    write(&table, &changes)?;
    table.flush(true)?;
    table.compact(&CompactOptions::default())?;
    while scan.next_batch(&mut batch)? {
        for found in batch.iter() {
            ensure(found.value == b"old", || {
                format!("a running scan saw a later write in row {}", found.key)
            })?;
            seen += 1;
        }
    }
    expect_equal(seen, 5_000, "entries of the snapshot")?;
    let after = read_all(&table)?;
    expect_equal(after.len(), 5_000 - 1_667 + 1_666, "entries afterwards")
}

pub(in crate::examiner) fn samples_not_kept_are_refused(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("r", "f:q", 1, "v")])?;
    let class = "org.apache.accumulo.core.client.sample.RowSampler";
    let options = ScanOptions {
        sampler: Some((
            class.to_owned(),
            [("modulus".to_owned(), "7".to_owned())].into(),
        )),
        ..ScanOptions::default()
    };
    // Everything in place of a sample would be a wrong answer.
    expect_refused(
        table.scan(&[Range::all()], &options).map(drop),
        &[ErrorKind::SampleNotPresent],
        "a scan of a sample of a table without one",
    )
    .map(drop)
}

pub(in crate::examiner) fn parts_together_are_the_whole(bench: &Bench<'_>) -> Check {
    let few = |parts: &[Vec<Range>], most: usize| {
        ensure((1..=most.max(1)).contains(&parts.len()), || {
            format!("{} parts where at most {most} are asked for", parts.len())
        })
    };
    // Tablets without entries.
    let splits: Vec<Vec<u8>> = (1..50).map(|at| format!("{at:04}").into()).collect();
    let empty = bench.table_with(&TableOptions {
        splits,
        ..TableOptions::default()
    })?;
    for most in [2, 7] {
        few(&empty.divide(&[Range::all()], most)?, most)?;
    }
    let table = bench.table()?;
    let all: Vec<Entry> = (0..100_000)
        .map(|at| {
            let (row, column) = (format!("{:06}", at / 4), format!("f:{}", at % 4));
            entry(&row, &column, 1, "v")
        })
        .collect();
    write(&table, &all[..60_000])?;
    table.flush(true)?;
    write(&table, &all[60_000..])?;
    let ranges = [Range::rows("001000".."024000"), Range::row("000500")];
    let options = ScanOptions::default();
    for (at, most) in [(1, 0), (2, 1), (3, 2), (4, 3), (5, 7)] {
        let whole = rest(&mut *table.scan(&ranges, &options)?)?;
        let parts = table.divide(&ranges, most)?;
        few(&parts, most)?;
        let mut scans = table.scan_parts(&parts, &options)?;
        expect_equal(scans.len(), parts.len(), "scans of parts")?;
        // The scans are of the moment at which they were started.
        let late = [
            entry("000500", "f:late", at, "v"),
            entry("023999", "f:late", at, "v"),
        ];
        write(&table, &late)?;
        let mut together: Vec<Entry> = Vec::new();
        for scan in &mut scans {
            let part = rest(&mut **scan)?;
            let last = together.last().map(|last| last.key.row.clone());
            let first = part.first().map(|first| first.key.row.clone());
            ensure(first.is_none() || last < first, || {
                format!("a part begins with row {first:?} and the one before ends with {last:?}")
            })?;
            together.extend(part);
        }
        ensure(together == whole, || {
            let (found, expected) = (together.len(), whole.len());
            format!("of at most {most} parts: {found} entries, not the {expected} of one scan")
        })?;
    }
    Ok(())
}
