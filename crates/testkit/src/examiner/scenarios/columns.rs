//! C: which columns a scan fetches.

use ostrakon_cell::{Column, ColumnSelection, CompactOptions, Range, ScanOptions};

use crate::examiner::bench::{Bench, Check, entry, expect_values, read_with, write};

pub(in crate::examiner) fn only_the_columns_asked_for(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let mut entries = Vec::new();
    for row in ["r", "s"] {
        for column in [":", ":x", "a:", "a:x", "a:y", "ab:x", "b:x", "\u{ff}:x"] {
            entries.push(entry(row, column, 1, &format!("{row} {column}")));
        }
    }
    write(&table, &entries)?;
    type Wanted<'a> = (Vec<Column>, &'a [&'a str]);
    let cases: [Wanted<'_>; 7] = [
        (vec![Column::family("a")], &["a:", "a:x", "a:y"]),
        (vec![Column::family("")], &[":", ":x"]),
        (vec![Column::new("a", "x")], &["a:x"]),
        (vec![Column::new("a", "")], &["a:"]),
        (
            vec![
                Column::new("b", "x"),
                Column::new("a", "y"),
                Column::family("ab"),
            ],
            &["a:y", "ab:x", "b:x"],
        ),
        (
            vec![
                Column::family("a"),
                Column::new("a", "x"),
                Column::new("", "x"),
            ],
            &[":x", "a:", "a:x", "a:y"],
        ),
        (vec![Column::family("absent"), Column::new("a", "z")], &[]),
    ];
    for step in ["from memory", "after a flush", "after a compaction"] {
        for (columns, expected) in &cases {
            let options = ScanOptions {
                columns: ColumnSelection::new(columns.clone()),
                ..ScanOptions::default()
            };
            let what = format!("{columns:?} {step}");
            let both: Vec<String> = ["r", "s"]
                .iter()
                .flat_map(|row| expected.iter().map(move |column| format!("{row} {column}")))
                .collect();
            let both: Vec<&str> = both.iter().map(String::as_str).collect();
            expect_values(&read_with(&table, &[Range::all()], &options)?, &both, &what)?;
            let one_row = read_with(&table, &[Range::row("s")], &options)?;
            expect_values(&one_row, &both[expected.len()..], &what)?;
        }
        if step == "from memory" {
            table.flush(true)?;
        } else {
            table.compact(&CompactOptions::default())?;
        }
    }
    Ok(())
}
