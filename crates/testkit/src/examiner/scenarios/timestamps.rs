//! S: timestamps, set by the table or by the writer.

use ostrakon_cell::{TableOptions, TimeType};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_entries, read_all, sorted, write, write_now,
};

fn given_out(bench: &Bench<'_>, time_type: TimeType) -> Check<Vec<i64>> {
    let table = bench.table_with(&TableOptions {
        time_type,
        ..TableOptions::default()
    })?;
    for number in 0..50 {
        // The row sorts batches; two entries show that a batch may hold several.
        let rows = [format!("{number:02}a"), format!("{number:02}b")];
        write_now(
            &table,
            &[entry(&rows[0], "f", 0, ""), entry(&rows[1], "f", 0, "")],
        )?;
    }
    let found = read_all(&table)?;
    ensure(found.len() == 100, || {
        format!("{} entries of 100", found.len())
    })?;
    Ok(found.iter().map(|entry| entry.key.timestamp).collect())
}

pub(in crate::examiner) fn millis_do_not_go_back(bench: &Bench<'_>) -> Check {
    let given = given_out(bench, TimeType::Millis)?;
    ensure(given.is_sorted(), || {
        format!("timestamps go back: {given:?}")
    })?;
    // Between 2001 and 2286: milliseconds, not seconds or microseconds.
    let plausible = |at: &i64| (1_000_000_000_000..10_000_000_000_000).contains(at);
    ensure(given.iter().all(plausible), || {
        format!("timestamps are not milliseconds: {given:?}")
    })
}

pub(in crate::examiner) fn an_ended_time_does_not_come_again(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    // More quickly than one in a millisecond.
    for number in 0..200 {
        write_now(&table, &[entry(&format!("{number:03}"), "f", 0, "")])?;
        table.advance_time()?;
    }
    let found = read_all(&table)?;
    let given: Vec<i64> = found.iter().map(|entry| entry.key.timestamp).collect();
    let rises = given.len() == 200 && given.is_sorted_by(|a, b| a < b);
    ensure(rises, || format!("timestamps do not rise: {given:?}"))
}

pub(in crate::examiner) fn logical_time_counts_batches(bench: &Bench<'_>) -> Check {
    let given = given_out(bench, TimeType::Logical)?;
    let batches: Vec<(i64, i64)> = given.chunks(2).map(|pair| (pair[0], pair[1])).collect();
    let rises = batches
        .windows(2)
        .all(|two| two[0].0.max(two[0].1) < two[1].0.min(two[1].1));
    ensure(
        rises && given.iter().all(|at| (0..100_000).contains(at)),
        || format!("a logical clock does not count batches: {given:?}"),
    )
}

pub(in crate::examiner) fn explicit_timestamps_are_kept(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    let times = [
        0,
        1,
        -1,
        1_000,
        -1_000,
        i64::MAX,
        i64::MIN,
        i64::MAX - 1,
        i64::MIN + 1,
    ];
    let entries: Vec<_> = times
        .iter()
        .map(|&at| entry("r", "f:q", at, &at.to_string()))
        .collect();
    write(&table, &entries)?;
    let expected = sorted(entries);
    expect_entries(&read_all(&table)?, &expected, "newest first")?;
    table.flush(true)?;
    expect_entries(&read_all(&table)?, &expected, "newest first, after a flush")
}
