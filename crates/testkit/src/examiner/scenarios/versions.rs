//! D and V: what delete markers hide, and how many versions are shown.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, Key, Range, Table, TableOptions};

use crate::examiner::bench::{
    Bench, Check, auths, entry, expect_values, labelled, marker, read, read_all, read_with, write,
};

pub(in crate::examiner) fn a_marker_hides_what_is_not_newer(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    let versions: Vec<_> = (1..=5)
        .map(|at| entry("r", "f:q", at, &at.to_string()))
        .collect();
    write(&table, &versions)?;
    write(&table, &[marker("r", "f:q", 3)])?;
    expect_values(&read_all(&table)?, &["5", "4"], "a marker at 3 of 1 to 5")?;
    write(&table, &[marker("r", "f:q", 9)])?;
    expect_values(&read_all(&table)?, &[], "a marker above everything")?;
    write(&table, &[entry("r", "f:q", 10, "10")])?;
    expect_values(&read_all(&table)?, &["10"], "a put above the marker")
}

pub(in crate::examiner) fn a_marker_hides_its_own_column_only(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let around = [
        entry("q", "f:q", 1, "row before"),
        entry("r", "e:q", 1, "family before"),
        entry("r", "f:p", 1, "qualifier before"),
        entry("r", "f:q", 1, "the one"),
        labelled(entry("r", "f:q", 1, "labelled"), "a"),
        entry("r", "f:qq", 1, "qualifier behind"),
        entry("s", "f:q", 1, "row behind"),
    ];
    write(&table, &around)?;
    write(&table, &[marker("r", "f:q", 1)])?;
    let options = ostrakon_cell::ScanOptions {
        authorizations: auths("a"),
        ..Default::default()
    };
    let expected = [
        "row before",
        "family before",
        "qualifier before",
        "labelled",
        "qualifier behind",
        "row behind",
    ];
    let found = read_with(&table, &[Range::all()], &options)?;
    expect_values(&found, &expected, "six neighbours")?;
    let whole = Range::row_column("r", "f", "q");
    expect_values(
        &read_with(&table, &[whole], &options)?,
        &["labelled"],
        "the column",
    )
}

/// Puts files and memory between the parts of a story.
fn settle(table: &Arc<dyn Table>, step: usize) -> Check {
    match step % 3 {
        0 => table.flush(true)?,
        1 => table.compact(&CompactOptions::default())?,
        _ => {}
    }
    Ok(())
}

pub(in crate::examiner) fn nothing_deleted_comes_back(bench: &Bench<'_>) -> Check {
    for first in 0..3 {
        let table = bench.table()?;
        write(
            &table,
            &[entry("r", "f:q", 1, "old"), entry("s", "f:q", 1, "kept")],
        )?;
        settle(&table, first)?;
        write(&table, &[marker("r", "f:q", 2)])?;
        for step in 0..5 {
            let what = format!("order {first}, step {step}");
            expect_values(&read_all(&table)?, &["kept"], &what)?;
            let only = read(&table, &[Range::row("r")])?;
            expect_values(&only, &[], &what)?;
            settle(&table, first + step)?;
        }
        write(&table, &[entry("r", "f:q", 3, "new")])?;
        settle(&table, first)?;
        expect_values(&read_all(&table)?, &["new", "kept"], "a later put")?;
    }
    Ok(())
}

fn five_versions(table: &Arc<dyn Table>) -> Check {
    for at in [2, 5, 1, 4, 3] {
        let text = at.to_string();
        write(
            table,
            &[entry("r", "f:q", at, &text), entry("s", "f:q", at, &text)],
        )?;
    }
    Ok(())
}

pub(in crate::examiner) fn the_newest_version_is_shown(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    five_versions(&table)?;
    expect_values(&read_all(&table)?, &["5", "5"], "of five versions")
}

pub(in crate::examiner) fn three_versions_are_shown(bench: &Bench<'_>) -> Check {
    let properties = ["scan", "minc", "majc"].map(|scope| {
        let name = format!("table.iterator.{scope}.vers.opt.maxVersions");
        (name, "3".to_owned())
    });
    let table = bench.table_with(&TableOptions {
        properties: properties.into(),
        ..TableOptions::default()
    })?;
    five_versions(&table)?;
    let expected = ["5", "4", "3", "5", "4", "3"];
    for step in 0..3 {
        expect_values(&read_all(&table)?, &expected, &format!("step {step}"))?;
        settle(&table, step)?;
    }
    Ok(())
}

pub(in crate::examiner) fn all_versions_are_shown(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    five_versions(&table)?;
    let expected = ["5", "4", "3", "2", "1", "5", "4", "3", "2", "1"];
    expect_values(&read_all(&table)?, &expected, "without iterators")
}

pub(in crate::examiner) fn versions_outlive_files(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    for at in [2, 5, 1, 4, 3] {
        write(&table, &[entry("r", "f:q", at, &at.to_string())])?;
        table.flush(true)?;
    }
    let expected = ["5", "4", "3", "2", "1"];
    expect_values(&read_all(&table)?, &expected, "in five files")?;
    table.compact(&CompactOptions::default())?;
    expect_values(&read_all(&table)?, &expected, "in one file")
}

pub(in crate::examiner) fn a_range_may_begin_inside_a_column(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(
        &table,
        &[
            entry("r", "f:q", 9, "newest"),
            entry("r", "f:q", 4, "hidden"),
        ],
    )?;
    write(
        &table,
        &[entry("s", "f:q", 9, "visible"), entry("t", "f:q", 3, "old")],
    )?;
    write(&table, &[marker("t", "f:q", 8)])?;
    let at = |row: &str, timestamp: i64| Key {
        timestamp,
        ..Key::new(row, "f", "q")
    };
    let cases = [
        // The newest version lies before the range: the others are hidden by it all the same.
        (at("r", 5), at("s", 0), vec!["visible"]),
        // So is what a marker before the range hides.
        (at("t", 5), at("u", 0), vec![]),
        (at("r", 9), at("s", 10), vec!["newest"]),
    ];
    for (start, end, expected) in cases {
        let what = format!("from {start} to {end}");
        let range = Range::keys(Some(start), true, Some(end), true)?;
        expect_values(&read(&table, &[range])?, &expected, &what)?;
    }
    Ok(())
}
