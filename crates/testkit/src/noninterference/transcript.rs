//! What a reader can be told.

use std::fmt::Write;

use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, CloneOptions, Column, ColumnSelection, ColumnUpdate,
    CompactOptions, Condition, ConditionalMutation, Escaped, IteratorSetting, Mutation, Range,
    Result, ScanOptions, Source, Table,
};
use ostrakon_store::clock::Random;

use super::pair::{TABLE, held};

/// Everything that a reader gets of a source, a line each. The same seed asks for the same.
///
/// # Errors
/// When the table is not there; what a reader may run into is a part of the transcript.
pub fn transcript(source: &dyn Source, seed: u64) -> Result<Vec<String>> {
    let mut random = Random::from_seed(seed ^ 0x5eed);
    let table = source.table(TABLE)?;
    let mut lines = Vec::new();
    for _ in 0..12 {
        let options = scan_options(&mut random);
        let ranges = ranges(&mut random);
        lines.push(format!(
            "scan {ranges:?} {:?} {:?} {:?} ordered {}",
            options.columns.columns(),
            options.batch,
            options.iterators,
            options.ordered
        ));
        scan(&*table, &ranges, &options, &mut lines);
    }
    administration(source, &*table, &mut lines);
    conditions(&*table, &mut lines);
    Ok(lines)
}

fn scan(table: &dyn Table, ranges: &[Range], options: &ScanOptions, lines: &mut Vec<String>) {
    let mut scan = match table.scan(ranges, options) {
        Ok(scan) => scan,
        Err(error) => return lines.push(format!("{error:?}")),
    };
    let mut batch = Batch::new();
    let mut entries = Vec::new();
    loop {
        match scan.next_batch(&mut batch) {
            Ok(true) => {}
            Ok(false) => break,
            Err(error) => {
                lines.push(format!("{error:?}"));
                break;
            }
        }
        // Of the dictionary: labels and their order, also those that no entry has.
        let mut line = format!("batch of {} bytes, labels", batch.content_len());
        for id in 0..batch.visibility_count() as u32 {
            let _ = write!(line, " {}", Escaped(batch.visibility(id)));
        }
        lines.push(line);
        entries.clear();
        entries.extend(
            batch
                .iter()
                .map(|entry| format!("{} = {}", entry.key, Escaped(entry.value))),
        );
        lines.append(&mut entries);
        if options.resumable {
            lines.push(format!("unread {:?}", scan.unread()));
        }
    }
    lines.push("end".to_owned());
}

fn scan_options(random: &mut Random) -> ScanOptions {
    let columns = match random.below(4) {
        0 => ColumnSelection::new([Column::family("f1")]),
        1 => ColumnSelection::new([Column::new("f2", "q3"), Column::family("f0")]),
        _ => ColumnSelection::all(),
    };
    let authorizations = match random.below(3) {
        0 => Authorizations::default(),
        1 => Authorizations::new(["A"]).unwrap_or_default(),
        _ => held(),
    };
    let mut iterators = Vec::new();
    for _ in 0..random.below(3) {
        let priority = 30 + iterators.len() as u32;
        iterators.push(iterator(random, priority));
    }
    ScanOptions {
        columns,
        authorizations,
        iterators,
        batch: match random.below(4) {
            0 => BatchLimit {
                entries: 1 + random.below(20) as usize,
                bytes: 1 << 20,
            },
            1 => BatchLimit {
                entries: 1000,
                bytes: 1 + random.below(3000) as usize,
            },
            _ => BatchLimit::default(),
        },
        // So few ranges are read by one thread, in their order.
        ordered: !random.one_in(3),
        threads: 2,
        resumable: random.one_in(2),
        ..ScanOptions::default()
    }
}

/// One of the stock iterators, now and then one that fails on some values.
fn iterator(random: &mut Random, priority: u32) -> IteratorSetting {
    let settings: [(&str, &[(&str, &str)]); 12] = [
        ("VersioningIterator", &[("maxVersions", "2")]),
        ("WholeRowIterator", &[]),
        ("WholeRowIterator", &[("maxBufferSize", "3K")]),
        (
            "SummingCombiner",
            &[("type", "STRING"), ("all", "true"), ("lossy", "true")],
        ),
        ("SummingCombiner", &[("type", "STRING"), ("all", "true")]),
        (
            "MaxCombiner",
            &[
                ("type", "STRING"),
                ("columns", "f1,f2:q1"),
                ("lossy", "true"),
            ],
        ),
        (
            "MinCombiner",
            &[("type", "VARLEN"), ("all", "true"), ("lossy", "true")],
        ),
        ("AgeOffFilter", &[("ttl", "900"), ("currentTime", "3000")]),
        ("RegExFilter", &[("valueRegex", "[0-4].*")]),
        (
            "RegExFilter",
            &[("rowRegex", "row[0-2].*"), ("negate", "true")],
        ),
        (
            "GrepIterator",
            &[("term", "7"), ("matchColumnVisibility", "true")],
        ),
        ("ReqVisFilter", &[]),
    ];
    let (class, options) = settings[random.below(settings.len() as u64) as usize];
    let setting = IteratorSetting::new(priority, format!("i{priority}"), class);
    options.iter().fold(setting, |setting, (name, value)| {
        setting.with(*name, *value)
    })
}

fn ranges(random: &mut Random) -> Vec<Range> {
    let mut row = || format!("row{:02}", random.below(42));
    let (a, b, c) = (row(), row(), row());
    match random.below(5) {
        0 => vec![Range::row(a.as_str())],
        1 => vec![Range::rows(
            a.as_str().min(b.as_str())..=a.as_str().max(b.as_str()),
        )],
        2 => vec![
            Range::row(a.as_str()),
            Range::row(b.as_str()),
            Range::rows(c.as_str()..),
        ],
        3 => vec![Range::row_column(a, "f1", "q2")],
        _ => vec![Range::all()],
    }
}

/// Calls that are not a reader's: each must be refused, in the same words.
fn administration(source: &dyn Source, table: &dyn Table, lines: &mut Vec<String>) {
    let mut say = |what: &str, outcome: Result<()>| {
        lines.push(match outcome {
            Ok(()) => format!("{what} is done"),
            Err(error) => format!("{what}: {error:?}"),
        });
    };
    let strip = IteratorSetting::new(90, "whole", "WholeRowIterator");
    let compact = CompactOptions {
        iterators: vec![strip],
        ..CompactOptions::default()
    };
    let unset = ("table.security.scan.visibility.default".to_owned(), None);
    let tablets = table.tablets();
    say(
        "tablets",
        tablets.map(|tablets| assert!(tablets.is_empty(), "{tablets:?}")),
    );
    say("compact", table.compact(&compact));
    say("flush", table.flush(true));
    say("modify_properties", table.modify_properties(&[unset]));
    say("merge", table.merge(None, None));
    say("delete_rows", table.delete_rows(Some(b"x"), None));
    say("add_splits", table.add_splits(&[b"row1".to_vec()]));
    say(
        "clone_table",
        source.clone_table(TABLE, "copy", &CloneOptions::default()),
    );
    say("set_online", source.set_online(TABLE, true));
    say(
        "checkpoint",
        source.checkpoint(std::path::Path::new("/copy")),
    );
    say(
        "check",
        source
            .check(&mut |_, _| true)
            .map(|report| assert!(report.problems.is_empty())),
    );
    let more = ScanOptions {
        authorizations: Authorizations::new(["A", "hidden"]).unwrap_or_default(),
        ..ScanOptions::default()
    };
    say(
        "scan with more",
        table.scan(&[Range::all()], &more).map(drop),
    );
    lines.push(format!("{:?} {:?}", source.tables(), table.properties()));
}

/// Conditional mutations answer by what their writer may see.
fn conditions(table: &dyn Table, lines: &mut Vec<String>) {
    for (family, qualifier) in [("f1", "q1"), ("f2", "hidden"), ("hiddenf", "q1")] {
        let mut mutation = Mutation::new("row07");
        let update = ColumnUpdate {
            family: b"after",
            value: Some(b"v"),
            ..ColumnUpdate::default()
        };
        if let Err(error) = mutation.update(update) {
            lines.push(format!("{error:?}"));
        }
        let conditional = ConditionalMutation {
            mutation,
            conditions: vec![Condition {
                family: family.into(),
                qualifier: qualifier.into(),
                ..Condition::default()
            }],
        };
        let status = table.write_conditionally(vec![conditional], &held(), None);
        lines.push(format!("{family}:{qualifier} is absent: {status:?}"));
    }
}
