//! L: who sees what.

use std::sync::Arc;

use ostrakon_cell::{CompactOptions, MutationBatch, PendingWrite, Range, ScanOptions, Table};

use crate::examiner::bench::{
    Bench, Check, auths, entry, expect_equal, expect_values, labelled, read_with, values, write,
};

/// A label, and which of the readers below see it: `.` for no, `x` for yes.
const MATRIX: &[(&str, &str)] = &[
    ("", "xxxxxxx"),
    ("a", ".x.xxx."),
    ("b", "..xxx.."),
    ("a&b", "...xx.."),
    ("a|b", ".xxxxx."),
    ("(a)", ".x.xxx."),
    ("a&(b|c)", "...xxx."),
    ("(a|b)&c", "....xx."),
    ("a&b&c", "....x.."),
    ("a|b|c", ".xxxxx."),
    ("\"a\"", ".x.xxx."),
    ("\"\u{e9} \\\" x\"", "......x"),
    ("a|\"\u{e9} \\\" x\"", ".x.xxxx"),
    ("zz", "......."),
    ("A", "......."),
    ("ab", "......."),
];

/// The readers: nobody, a, b, both, all three, a and c, and one with an odd name.
const READERS: [&[&str]; 7] = [
    &[],
    &["a"],
    &["b"],
    &["a", "b"],
    &["a", "b", "c"],
    &["a", "c"],
    &["\u{e9} \" x"],
];

fn see(table: &Arc<dyn Table>, reader: &[&str], range: Range) -> Check<Vec<String>> {
    let authorizations =
        ostrakon_cell::Authorizations::new(reader.iter().map(|name| name.as_bytes()))
            .unwrap_or_default();
    let options = ScanOptions {
        authorizations,
        ..ScanOptions::default()
    };
    Ok(values(&read_with(table, &[range], &options)?))
}

pub(in crate::examiner) fn labels_decide_visibility(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    for row in ["r", "s"] {
        let entries: Vec<_> = MATRIX
            .iter()
            .map(|(label, _)| labelled(entry(row, "f:q", 1, label), label))
            .collect();
        write(&table, &entries)?;
    }
    for step in ["from memory", "after a flush", "after a compaction"] {
        for (at, reader) in READERS.iter().enumerate() {
            let mut expected: Vec<&str> = MATRIX
                .iter()
                .filter(|(_, seen)| seen.as_bytes().get(at) == Some(&b'x'))
                .map(|(label, _)| *label)
                .collect();
            expected.sort_unstable();
            let what = format!("reader {reader:?} {step}");
            for row in ["r", "s"] {
                let found = see(&table, reader, Range::row(row))?;
                expect_equal(
                    &found.iter().map(String::as_str).collect(),
                    &expected,
                    &what,
                )?;
            }
        }
        if step == "from memory" {
            table.flush(true)?;
        } else {
            table.compact(&CompactOptions::default())?;
        }
    }
    Ok(())
}

pub(in crate::examiner) fn a_broken_label_hides_its_entry(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    for label in ["a&", "(a", "a&b|c", "|", "\"a", "a b"] {
        let broken = labelled(entry("r", "f:q", 1, label), label);
        let mut batch = MutationBatch::new();
        let update = ostrakon_cell::ColumnUpdate {
            family: &broken.key.family,
            qualifier: &broken.key.qualifier,
            visibility: label.as_bytes(),
            timestamp: Some(1),
            value: Some(&broken.value),
        };
        batch.put(b"r", update)?;
        // A source may refuse it, or keep it and show it to nobody.
        let _ = table.submit(batch, None).and_then(PendingWrite::wait);
    }
    write(&table, &[entry("s", "f:q", 1, "sound")])?;
    for _ in 0..2 {
        let found = see(&table, &["a", "b", "c"], Range::all())?;
        expect_equal(found, vec!["sound".to_owned()], "a reader with every name")?;
        table.flush(true)?;
    }
    Ok(())
}

pub(in crate::examiner) fn entries_without_label_may_get_one(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(
        &table,
        &[
            entry("r", "f:q", 1, "bare"),
            labelled(entry("s", "f:q", 1, "b"), "b"),
        ],
    )?;
    let set = |label: Option<&str>| {
        let name = "table.security.scan.visibility.default".to_owned();
        table.modify_properties(&[(name, label.map(str::to_owned))])
    };
    let seen = |list: &str| {
        let options = ScanOptions {
            authorizations: auths(list),
            ..ScanOptions::default()
        };
        read_with(&table, &[Range::all()], &options)
    };
    set(Some("a"))?;
    expect_values(&seen("")?, &[], "no reader")?;
    expect_values(&seen("a")?, &["bare"], "a")?;
    expect_values(&seen("b")?, &["b"], "b")?;
    set(None)?;
    expect_values(&seen("")?, &["bare"], "no reader, once it is taken back")
}
