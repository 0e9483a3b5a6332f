//! P: splits, merges and row-range deletes.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, Entry, ErrorKind, Range, Table, TableOptions};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_entries, expect_equal, expect_refused, expect_values, read,
    read_all, write,
};

fn ends(table: &Arc<dyn Table>) -> Check<Vec<String>> {
    let tablets = table.tablets()?;
    let mut previous: Option<Vec<u8>> = None;
    for (at, tablet) in tablets.iter().enumerate() {
        expect_equal(&tablet.previous_end, &previous, "where a tablet begins")?;
        ensure(tablet.end.is_some() == (at + 1 < tablets.len()), || {
            "only the last tablet has no end".to_owned()
        })?;
        previous.clone_from(&tablet.end);
    }
    let text = |end: Vec<u8>| String::from_utf8_lossy(&end).into_owned();
    Ok(tablets
        .into_iter()
        .filter_map(|one| one.end)
        .map(text)
        .collect())
}

fn letters(table: &Arc<dyn Table>) -> Check<Vec<Entry>> {
    let all: Vec<Entry> = ('a'..='z')
        .map(|row| entry(&row.to_string(), "f:q", 1, &row.to_string()))
        .collect();
    write(table, &all[..13])?;
    table.flush(true)?;
    write(table, &all[13..])?;
    Ok(all)
}

fn rows(of: &[&str]) -> Vec<Vec<u8>> {
    of.iter().map(|row| row.as_bytes().to_vec()).collect()
}

pub(in crate::examiner) fn splits_leave_entries_alone(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        splits: rows(&["m", "e", "m"]),
        ..TableOptions::default()
    })?;
    expect_equal(
        ends(&table)?,
        vec!["e".to_owned(), "m".to_owned()],
        "at creation",
    )?;
    let mut all = letters(&table)?;
    table.add_splits(&rows(&["e", "c", "s", "cc"]))?;
    let expected = ["c", "cc", "e", "m", "s"].map(str::to_owned);
    expect_equal(ends(&table)?, expected.to_vec(), "added")?;
    expect_entries(&read_all(&table)?, &all, "after the split")?;
    for (row, at) in ["c", "cc", "d", "e", "f", "m", "n"].iter().zip(2..) {
        // A split point is the last row of its tablet: both sides must be read and written.
        write(&table, &[entry(row, "f:q", at, row)])?;
        let found = read(&table, &[Range::row(*row)])?;
        expect_values(&found, &[row], "a row beside a split point")?;
        all.retain(|old| old.key.row != row.as_bytes());
        all.push(entry(row, "f:q", at, row));
    }
    all.sort_by(|a, b| a.key.cmp(&b.key));
    expect_entries(&read_all(&table)?, &all, "after writing beside the points")?;
    table.flush(true)?;
    table.compact(&CompactOptions::default())?;
    expect_entries(&read_all(&table)?, &all, "after a compaction")?;
    let found = read(&table, &[Range::rows("cc"..="m")])?;
    expect_equal(found.len(), 11, "a range over several tablets")
}

pub(in crate::examiner) fn too_long_split_points_are_refused(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    letters(&table)?;
    let invalid = &[ErrorKind::InvalidArgument];
    let long = vec![vec![b'x'; 10 * 1_024 + 1], b"k".to_vec()];
    expect_refused(
        table.add_splits(&long),
        invalid,
        "a split point of 10 KiB and 1",
    )?;
    expect_equal(ends(&table)?, vec![], "the splits after a refusal")
}

pub(in crate::examiner) fn merges_leave_entries_alone(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        splits: rows(&["c", "f", "m", "s", "v"]),
        ..TableOptions::default()
    })?;
    let all = letters(&table)?;
    let text = |of: &[&str]| -> Vec<String> { of.iter().map(|row| (*row).to_owned()).collect() };
    // Rows after f up to s lie in the tablets that end in m and s.
    table.merge(Some(b"f"), Some(b"s"))?;
    expect_equal(
        ends(&table)?,
        text(&["c", "f", "s", "v"]),
        "between two points",
    )?;
    table.merge(Some(b"d"), Some(b"g"))?;
    expect_equal(
        ends(&table)?,
        text(&["c", "s", "v"]),
        "between two other rows",
    )?;
    expect_entries(&read_all(&table)?, &all, "after merging some")?;
    let invalid = &[ErrorKind::InvalidArgument];
    expect_refused(table.merge(Some(b"t"), Some(b"b")), invalid, "swapped rows")?;
    expect_refused(
        table.merge(Some(b"t"), Some(b"t")),
        invalid,
        "an empty range",
    )?;
    table.merge(None, None)?;
    expect_equal(ends(&table)?, vec![], "everything")?;
    expect_entries(&read_all(&table)?, &all, "after merging everything")?;
    write(&table, &[entry("g", "f:q", 2, "new")])?;
    table.compact(&CompactOptions::default())?;
    expect_values(
        &read(&table, &[Range::row("g")])?,
        &["new"],
        "a later write",
    )?;
    expect_equal(read_all(&table)?.len(), all.len(), "after a compaction")
}

pub(in crate::examiner) fn row_ranges_are_deleted(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        splits: rows(&["f", "m", "s"]),
        ..TableOptions::default()
    })?;
    letters(&table)?;
    let left = |expected: &str, what: &str| -> Check {
        let found: Vec<u8> = read_all(&table)?
            .iter()
            .flat_map(|one| one.value.clone())
            .collect();
        expect_equal(
            String::from_utf8_lossy(&found).into_owned(),
            expected.to_owned(),
            what,
        )
    };
    table.delete_rows(Some(b"h"), Some(b"k"))?;
    left("abcdefghlmnopqrstuvwxyz", "after h up to k")?;
    table.delete_rows(Some(b"f"), Some(b"m"))?;
    left("abcdefnopqrstuvwxyz", "a whole tablet")?;
    table.delete_rows(None, Some(b"b"))?;
    left("cdefnopqrstuvwxyz", "up to b")?;
    table.delete_rows(Some(b"w"), None)?;
    left("cdefnopqrstuvw", "after w")?;
    let invalid = &[ErrorKind::InvalidArgument];
    expect_refused(
        table.delete_rows(Some(b"t"), Some(b"d")),
        invalid,
        "swapped rows",
    )?;
    expect_refused(
        table.delete_rows(Some(b"t"), Some(b"t")),
        invalid,
        "an empty range",
    )?;
    // No marker stays: what is written again is there, however old its timestamp.
    write(&table, &[entry("i", "f:q", 0, "i")])?;
    left("cdefinopqrstuvw", "a row written again")?;
    table.flush(true)?;
    table.compact(&CompactOptions::default())?;
    left("cdefinopqrstuvw", "after a compaction")?;
    table.delete_rows(None, None)?;
    left("", "everything")
}

pub(in crate::examiner) fn rows_are_located(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        splits: vec![b"g".to_vec(), b"p".to_vec()],
        ..TableOptions::default()
    })?;
    let some = |row: &str| Some(row.as_bytes().to_vec());
    let cases = [
        ("", (None, some("g"))),
        ("g", (None, some("g"))),
        ("g\0", (some("g"), some("p"))),
        ("m", (some("g"), some("p"))),
        ("p", (some("g"), some("p"))),
        ("z", (some("p"), None)),
    ];
    let before = table.locate(b"m")?.layout;
    for (row, rows) in cases {
        let found = table.locate(row.as_bytes())?;
        expect_equal(found.rows, rows, &format!("the tablet of {row:?}"))?;
        expect_equal(found.layout, before, "the layout while nothing changes")?;
    }
    table.add_splits(&[b"j".to_vec()])?;
    let split = table.locate(b"m")?;
    expect_equal(split.rows, (some("j"), some("p")), "after a split")?;
    table.merge(Some(b"g"), Some(b"p"))?;
    let merged = table.locate(b"m")?;
    expect_equal(merged.rows, (some("g"), some("p")), "after a merge")?;
    ensure(
        before < split.layout && split.layout < merged.layout,
        || format!("layouts {before}, {}, {}", split.layout, merged.layout),
    )
}
