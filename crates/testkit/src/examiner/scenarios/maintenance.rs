//! M: flush and compaction change nothing that a reader sees, unless told to.

use ostrakon_cell::{CompactOptions, Entry, ErrorKind, IteratorSetting, Range, TableOptions};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_entries, expect_refused, expect_values, marker, read_all,
    write,
};

pub(in crate::examiner) fn flush_and_compaction_change_nothing(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    table.flush(true)?;
    table.compact(&CompactOptions::default())?;
    expect_values(&read_all(&table)?, &[], "an empty table")?;
    let mut rows = std::collections::BTreeMap::new();
    for round in 0..12_i64 {
        let mut batch: Vec<Entry> = Vec::new();
        for number in 0..300_i64 {
            let row = format!("{:03}", (number * 7 + round * 13) % 500);
            if (number + round) % 9 == 0 {
                batch.push(marker(&row, "f:q", round + 1));
                rows.remove(&row);
            } else {
                batch.push(entry(&row, "f:q", round + 1, &format!("{round}")));
                rows.insert(row.clone(), batch[batch.len() - 1].clone());
            }
        }
        write(&table, &batch)?;
        let expected: Vec<Entry> = rows.values().cloned().collect();
        expect_entries(
            &read_all(&table)?,
            &expected,
            &format!("round {round}, written"),
        )?;
        match round % 4 {
            0 => table.flush(true)?,
            1 => table.flush(false)?,
            2 => table.compact(&CompactOptions::default())?,
            _ => table.compact(&CompactOptions {
                start: Some(b"100".to_vec()),
                end: Some(b"300".to_vec()),
                wait: false,
                ..CompactOptions::default()
            })?,
        }
        expect_entries(
            &read_all(&table)?,
            &expected,
            &format!("round {round}, settled"),
        )?;
    }
    let swapped = CompactOptions {
        start: Some(b"b".to_vec()),
        end: Some(b"a".to_vec()),
        ..CompactOptions::default()
    };
    let invalid = &[ErrorKind::InvalidArgument];
    expect_refused(
        table.compact(&swapped),
        invalid,
        "a compaction of swapped rows",
    )
    .map(drop)
}

pub(in crate::examiner) fn a_compaction_may_rewrite(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        without_default_iterators: true,
        splits: vec![b"m".to_vec()],
        ..TableOptions::default()
    })?;
    for at in 1..=3 {
        let text = at.to_string();
        write(
            &table,
            &[entry("a", "f:q", at, &text), entry("z", "f:q", at, &text)],
        )?;
        table.flush(true)?;
    }
    let options = CompactOptions {
        end: Some(b"m".to_vec()),
        iterators: vec![IteratorSetting::new(50, "once", "VersioningIterator")],
        ..CompactOptions::default()
    };
    table.compact(&options)?;
    let rewritten = ["3", "3", "2", "1"];
    expect_values(&read_all(&table)?, &rewritten, "one tablet of two")?;
    table.compact(&CompactOptions::default())?;
    expect_values(
        &read_all(&table)?,
        &rewritten,
        "the iterator was for once only",
    )
}

pub(in crate::examiner) fn a_compaction_can_be_cancelled(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    // With nothing under way there is nothing to complain about.
    table.cancel_compaction()?;
    let mut all = Vec::new();
    for round in 0..6 {
        let part: Vec<Entry> = (0..3_000)
            .map(|number| entry(&format!("{number:05}{round}"), "f:q", 1, "x"))
            .collect();
        write(&table, &part)?;
        table.flush(true)?;
        all.extend(part);
    }
    all.sort_by(|a, b| a.key.cmp(&b.key));
    std::thread::scope(|scope| -> Check {
        let compaction = scope.spawn(|| table.compact(&CompactOptions::default()));
        for _ in 0..20 {
            table.cancel_compaction()?;
            std::thread::yield_now();
        }
        match compaction.join() {
            Ok(Ok(())) => Ok(()),
            Ok(Err(error)) if error.kind() == ErrorKind::Cancelled => Ok(()),
            Ok(Err(error)) => Err(error.into()),
            Err(_) => ensure(false, || "the compaction panicked".to_owned()),
        }
    })?;
    expect_entries(&read_all(&table)?, &all, "after a cancelled compaction")?;
    table.compact(&CompactOptions::default())?;
    expect_entries(&read_all(&table)?, &all, "after the next compaction")?;
    let tablets = table.tablets()?;
    ensure(tablets.iter().all(|tablet| tablet.files <= 1), || {
        format!("a compaction leaves one file to a tablet: {tablets:?}")
    })?;
    let found = crate::examiner::bench::read(&table, &[Range::rows("02999"..)])?;
    ensure(found.len() == 6, || {
        format!("{} entries of the last row", found.len())
    })
}
