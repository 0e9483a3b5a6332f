//! N: a scan keeps its snapshot, and can start over.

use ostrakon_cell::{Batch, BatchLimit, CompactOptions, Entry, EntryRef, Range, Scan, ScanOptions};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_values, marker, read_all, write,
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
