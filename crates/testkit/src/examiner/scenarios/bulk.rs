//! B: bulk imports.

use ostrakon_cell::{Batch, Capability, CompactOptions, Entry, ErrorKind};

use crate::examiner::bench::{
    Bench, Check, entry, expect_entries, expect_equal, expect_refused, expect_values, marker,
    read_all, sorted, write,
};

fn batch_of(entries: &[Entry]) -> Check<Batch> {
    let mut batch = Batch::new();
    for entry in entries {
        batch.push(entry.key.as_ref(), &entry.value)?;
    }
    Ok(batch)
}

pub(in crate::examiner) fn imports_come_at_once(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    if table.capabilities().has(Capability::Tablets) {
        table.add_splits(&[b"2".to_vec(), b"400".to_vec()])?;
    }
    let old = [
        entry("0100", "f:q", 5, "old"),
        entry("0200", "f:q", 9, "newer"),
    ];
    write(&table, &old)?;
    let imported: Vec<Entry> = (0..5_000)
        .map(|number| match number {
            // One below what is there, one marker that hides something.
            100 => marker("0100", "f:q", 6),
            _ => entry(&format!("{number:04}"), "f:q", 7, "bulk"),
        })
        .collect();
    let mut writer = table.bulk_writer()?;
    for part in imported.chunks(700) {
        writer.append(&batch_of(part)?)?;
        expect_entries(&read_all(&table)?, &old, "before the import is finished")?;
    }
    expect_equal(writer.finish()?, 5_000, "the count told")?;
    let expected: Vec<Entry> = (0..5_000)
        .filter(|number| *number != 100)
        .map(|number| match number {
            200 => entry("0200", "f:q", 9, "newer"),
            _ => entry(&format!("{number:04}"), "f:q", 7, "bulk"),
        })
        .collect();
    expect_entries(&read_all(&table)?, &expected, "after the import")?;
    table.compact(&CompactOptions::default())?;
    expect_entries(&read_all(&table)?, &expected, "after a compaction")?;
    write(&table, &[entry("0300", "f:q", 8, "later")])?;
    let found = read_all(&table)?;
    expect_values(&found[299..300], &["later"], "a write on top of an import")
}

pub(in crate::examiner) fn unsorted_imports_are_refused(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let entries = [entry("b", "f:q", 1, "b"), entry("a", "f:q", 1, "a")];
    let invalid = &[ErrorKind::InvalidArgument];
    let mut writer = table.bulk_writer()?;
    expect_refused(
        writer.append(&batch_of(&entries)?),
        invalid,
        "an unsorted batch",
    )?;
    drop(writer);
    let mut writer = table.bulk_writer()?;
    writer.append(&batch_of(&entries[..1])?)?;
    expect_refused(
        writer.append(&batch_of(&entries[1..])?),
        invalid,
        "a batch below the one before",
    )?;
    let closed = &[ErrorKind::Closed];
    expect_refused(
        writer.append(&batch_of(&entries[..1])?),
        closed,
        "a batch after a refused one",
    )?;
    expect_refused(writer.finish(), closed, "the end of an import that failed")?;
    let mut dropped = table.bulk_writer()?;
    dropped.append(&batch_of(&sorted(entries.to_vec()))?)?;
    drop(dropped);
    expect_values(&read_all(&table)?, &[], "after imports given up")?;
    expect_equal(table.bulk_writer()?.finish()?, 0, "an import of nothing")?;
    expect_values(&read_all(&table)?, &[], "after an import of nothing")
}
