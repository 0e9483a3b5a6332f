//! R: ranges of every kind, against a filter over everything.

use std::sync::Arc;

use ostrakon_cell::{BatchLimit, Entry, Key, KeyPart, Range, ScanOptions, Table};

use crate::examiner::bench::{
    Bench, Check, entry, expect_entries, expect_equal, read, read_all, read_with, sorted, write,
};

/// Rows that lie close together, some in files, some in memory, over three tablets.
fn crowded(bench: &Bench<'_>) -> Check<(Arc<dyn Table>, Vec<Entry>)> {
    let table = bench.table_of_all_versions()?;
    let rows = [
        "", "a", "a\0", "a\0\0", "aa", "ab", "b", "b\u{1}", "c", "\u{7f}", "\u{ff}", "zz",
    ];
    let mut all = Vec::new();
    for (at, row) in rows.iter().enumerate() {
        for column in ["", "f:", "f:q", "g:q"] {
            all.push(entry(row, column, 5, &format!("{at}{column}")));
            all.push(entry(row, column, 7, &format!("{at}{column} new")));
        }
    }
    let (first, second) = all.split_at(all.len() / 2);
    write(&table, first)?;
    table.flush(true)?;
    write(&table, second)?;
    if table.capabilities().has(ostrakon_cell::Capability::Tablets) {
        table.add_splits(&[b"a\0".to_vec(), b"b".to_vec()])?;
    }
    Ok((table, sorted(all)))
}

fn agree(table: &Arc<dyn Table>, all: &[Entry], range: &Range) -> Check {
    let expected: Vec<Entry> = all
        .iter()
        .filter(|entry| range.contains(entry.key.as_ref()))
        .cloned()
        .collect();
    let found = read(table, std::slice::from_ref(range))?;
    expect_entries(&found, &expected, &format!("{range:?}"))
}

pub(in crate::examiner) fn rows_between_two_bounds(bench: &Bench<'_>) -> Check {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let (table, all) = crowded(bench)?;
    const ROWS: [&[u8]; 8] = [b"", b"a", b"a\0", b"aaa", b"b", b"bb", b"zz", b"\xff\xff"];
    let mut bounds = vec![Unbounded];
    for row in ROWS {
        bounds.push(Included(row));
        bounds.push(Excluded(row));
    }
    for start in &bounds {
        for end in &bounds {
            let range = Range::rows::<&[u8]>((*start, *end));
            if range.is_empty() {
                expect_equal(read(&table, &[range])?.len(), 0, "a range without rows")?;
            } else {
                agree(&table, &all, &range)?;
            }
        }
    }
    Ok(())
}

pub(in crate::examiner) fn rows_that_begin_alike(bench: &Bench<'_>) -> Check {
    let (table, all) = crowded(bench)?;
    for prefix in [
        &b""[..],
        b"a",
        b"a\0",
        b"b",
        b"\xc3",
        b"\xff",
        b"\xff\xff",
        b"nothing",
    ] {
        agree(&table, &all, &Range::row_prefix(prefix))?;
    }
    Ok(())
}

pub(in crate::examiner) fn keys_inside_a_row(bench: &Bench<'_>) -> Check {
    let (table, all) = crowded(bench)?;
    let mut points: Vec<Key> = Vec::new();
    for row in ["a", "a\0", "ab", "b"] {
        for (family, qualifier) in [("", ""), ("f", ""), ("f", "q"), ("f", "r")] {
            for timestamp in [8, 7, 6, 5] {
                points.push(Key {
                    timestamp,
                    ..Key::new(row, family, qualifier)
                });
            }
        }
    }
    for (at, start) in points.iter().enumerate().step_by(3) {
        for end in points.iter().skip(at).step_by(5) {
            for (closed_start, closed_end) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                let (start, end) = (start.min(end).clone(), start.max(end).clone());
                let range = Range::keys(Some(start), closed_start, Some(end), closed_end)?;
                if range.is_empty() {
                    expect_equal(read(&table, &[range])?.len(), 0, "an empty range")?;
                } else {
                    agree(&table, &all, &range)?;
                }
            }
        }
        agree(
            &table,
            &all,
            &Range::keys(Some(start.clone()), false, None, false)?,
        )?;
        agree(
            &table,
            &all,
            &Range::keys(None, false, Some(start.clone()), false)?,
        )?;
        agree(
            &table,
            &all,
            &Range::row_family(start.row.clone(), start.family.clone()),
        )?;
        let exact = Range::keys(
            Some(start.clone()),
            true,
            Some(start.following(KeyPart::Timestamp)),
            false,
        )?;
        agree(&table, &all, &exact)?;
    }
    Ok(())
}

pub(in crate::examiner) fn ranges_without_entries(bench: &Bench<'_>) -> Check {
    let (table, _) = crowded(bench)?;
    let empty = [
        Range::row("absent"),
        Range::rows("b".."b"),
        Range::rows("x".."y"),
        Range::row_column("a", "f", "absent"),
        Range::rows("\u{ff}\u{ff}"..),
    ];
    for range in &empty {
        let found = read(&table, std::slice::from_ref(range))?;
        expect_equal(found.len(), 0, &format!("{range:?}"))?;
    }
    expect_equal(read(&table, &empty)?.len(), 0, "all of them together")?;
    expect_equal(read(&table, &[])?.len(), 0, "no range at all")
}

pub(in crate::examiner) fn overlapping_ranges_give_each_entry_once(bench: &Bench<'_>) -> Check {
    let (table, all) = crowded(bench)?;
    let ranges = [
        Range::rows("b".."c"),
        Range::rows("a"..="aa"),
        Range::row("aa"),
        Range::row("aa"),
        Range::row_family("aa", "f"),
        Range::rows("aa".."b"),
        Range::rows("b\u{1}"..),
        Range::row("c"),
    ];
    let inside = |entry: &&Entry| {
        ranges
            .iter()
            .any(|range| range.contains(entry.key.as_ref()))
    };
    let expected: Vec<Entry> = all.iter().filter(inside).cloned().collect();
    expect_entries(&read(&table, &ranges)?, &expected, "in key order")?;
    let unordered = ScanOptions {
        ordered: false,
        ..ScanOptions::default()
    };
    let found = sorted(read_with(&table, &ranges, &unordered)?);
    expect_entries(&found, &expected, "in any order")
}

pub(in crate::examiner) fn thousands_of_ranges(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let row = |number: usize| format!("{:06}", number * 7919 % 1_000_000);
    let all: Vec<Entry> = (0..6_000)
        .map(|number| entry(&row(number), "f:q", 1, &number.to_string()))
        .collect();
    for part in all.chunks(2_000) {
        write(&table, part)?;
        table.flush(true)?;
    }
    if table.capabilities().has(ostrakon_cell::Capability::Tablets) {
        let splits: Vec<Vec<u8>> = (1..10)
            .map(|at| format!("{at}00000").into_bytes())
            .collect();
        table.add_splits(&splits)?;
    }
    // Half of the rows looked up are there, and they come in no order.
    let ranges: Vec<Range> = (3_000..9_000)
        .map(|number| Range::row(row(number)))
        .collect();
    let expected = sorted(all[3_000..].to_vec());
    for threads in [0, 1, 3] {
        let ordered = ScanOptions {
            threads,
            ..ScanOptions::default()
        };
        let unordered = ScanOptions {
            ordered: false,
            ..ordered.clone()
        };
        let found = read_with(&table, &ranges, &ordered)?;
        expect_entries(&found, &expected, "in key order")?;
        let found = sorted(read_with(&table, &ranges, &unordered)?);
        expect_entries(
            &found,
            &expected,
            &format!("in any order, {threads} threads"),
        )?;
    }
    Ok(())
}

pub(in crate::examiner) fn batches_of_any_size(bench: &Bench<'_>) -> Check {
    let (table, all) = crowded(bench)?;
    for (entries, bytes) in [
        (1, 1 << 20),
        (2, 1 << 20),
        (7, 1 << 20),
        (1_000, 1),
        (1_000, 40),
    ] {
        let options = ScanOptions {
            batch: BatchLimit { entries, bytes },
            ..ScanOptions::default()
        };
        let what = format!("batches of {entries} entries or {bytes} bytes");
        let found = read_with(&table, &[Range::all()], &options)?;
        expect_entries(&found, &all, &what)?;
        let mut scan = table.scan(&[Range::all()], &options)?;
        let mut batch = ostrakon_cell::Batch::new();
        while scan.next_batch(&mut batch)? {
            crate::examiner::bench::ensure(batch.len() <= entries, || {
                format!("{what}: one held {} entries", batch.len())
            })?;
        }
    }
    expect_entries(&read_all(&table)?, &all, "at the default")
}
