//! What a command prints for a reader does not depend on cells that the reader may not see: output, messages, log
//! lines and exit codes are the same for a store with such cells and for one without.

use std::fmt::Write as _;

use crate::run::Folder;

/// Occurs in every hidden row, qualifier, label or value, and nowhere else.
const HIDDEN: &str = "hidden";

/// Entries as `export` writes them.
fn entries(seed: usize, hidden: bool) -> String {
    let mut lines = String::new();
    let mut add = |row: &str, qualifier: &str, label: &str, at: usize, value: &str| {
        let _ = writeln!(
            lines,
            r#"{{"row":"{row}","family":"f","qualifier":"{qualifier}","visibility":"{label}","timestamp":{at},"value":"{value}"}}"#
        );
    };
    for at in 0..300 {
        let dice = (at + 300 * seed) * 7919 % 1_000_003;
        let (row, column) = (format!("r{:02}", dice % 40), format!("q{}", dice / 40 % 5));
        let label = ["", "", "A", "A&B", "A|C"][dice / 200 % 5];
        add(
            &row,
            &column,
            label,
            at,
            ["7", "12", "word"][dice / 1000 % 3],
        );
        if hidden {
            let label = [HIDDEN, "A&hidden", "hidden|C"][dice / 77 % 3];
            let value = format!("{HIDDEN}{at}");
            match dice / 13 % 3 {
                0 => add(&row, &column, label, at + 1, &value),
                1 => add(&format!("{row}{HIDDEN}"), "q1", label, at, &value),
                _ => add(&value, HIDDEN, label, at, &HIDDEN.repeat(at)),
            }
        }
    }
    lines
}

/// A store for a seed; the one with hidden cells is flushed and split differently.
fn store(seed: usize, hidden: bool) -> Folder {
    let folder = Folder::with_table();
    for half in 0..2 {
        let lines = entries(2 * seed + half, hidden);
        let file = folder.write("cells.jsonl", lines);
        let import = ["import", "t", &file, "--entries", "--format", "jsonl"];
        let ran = folder.run(&import);
        assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
        if hidden && half == 0 {
            folder.ok(&["table", "flush", "t"]);
            folder.ok(&["table", "add-splits", "t", "r13", "r25", "r25hidden"]);
        }
    }
    folder
}

const READING: &[&[&str]] = &[
    &["scan", "t"],
    &["scan", "t", "-t", "-s", "A"],
    &["scan", "t", "-t", "-s", "A,B", "--json"],
    &["scan", "t", "-s", "A,B", "-n", "7"],
    &["scan", "t", "-s", "A", "-p", "r1", "-c", "f:q1"],
    &[
        "scan",
        "t",
        "-s",
        "A",
        "-r",
        "r13",
        "-r",
        "r25",
        "-r",
        "r13hidden",
    ],
    &[
        "scan",
        "t",
        "-s",
        "B",
        "--keys-only",
        "-b",
        "r05",
        "-e",
        "r30",
    ],
    &[
        "scan",
        "t",
        "-s",
        "A",
        "-i",
        "30,MaxCombiner,type=STRING,all=true,lossy=true",
    ],
    &[
        "scan",
        "t",
        "-s",
        "A",
        "-i",
        "30,SummingCombiner,type=STRING,all=true",
    ],
    &[
        "scan",
        "t",
        "-s",
        "A",
        "-i",
        "30,SummingCombiner,type=STRING,all=true",
        "--json",
    ],
    &[
        "scan",
        "t",
        "-s",
        "A",
        "-i",
        "30,WholeRowIterator,maxBufferSize=150",
    ],
    &["scan", "t", "-s", "A&", "-n", "1"],
    &["-vv", "scan", "t", "-s", "A", "-n", "3"],
    &["export", "t", "-s", "A,B"],
    &["export", "t", "-s", "A,B", "--format", "csv"],
    &["export", "t", "-s", "A", "--format", "tsv", "-n", "11"],
    &["export", "t", "out.jsonl", "-s", "A", "--json"],
    &["delete-many", "t", "-s", "A", "-p", "r2", "--yes", "--json"],
    &["scan", "t", "-s", "A,B"],
];

/// Removes what may differ: the path of the store, times and durations.
fn neutral(text: &str, folder: &Folder) -> String {
    let text = text.replace(&folder.text(""), "/");
    let mut lines = Vec::new();
    for line in text.lines() {
        let words = line.split_inclusive([' ', ',']).filter(|word| {
            let timed = ["seconds", "per_second", "elapsed", "took", "ms", "µs"];
            let is_time = word.starts_with("20") && word.trim_end().ends_with('Z');
            !is_time && !timed.iter().any(|unit| word.contains(unit))
        });
        lines.push(words.collect::<String>());
    }
    lines.join("\n")
}

#[test]
fn a_reader_is_told_the_same_with_and_without_hidden_cells() {
    for seed in 1..=2 {
        let [plain, mixed] = [false, true].map(|hidden| store(seed, hidden));
        let mut shown = 0;
        for command in READING {
            let [without, beside] = [&plain, &mixed].map(|folder| {
                let ran = folder.run(command);
                (
                    ran.code,
                    neutral(&ran.out, folder),
                    neutral(&ran.err, folder),
                )
            });
            assert_eq!(without, beside, "seed {seed}, {command:?}");
            shown += without.1.len();
            let says = format!("{} {}", beside.1, beside.2);
            assert!(!says.contains(HIDDEN), "seed {seed}, {command:?}: {says}");
        }
        assert_eq!(plain.read("out.jsonl"), mixed.read("out.jsonl"));
        assert!(shown > 10_000, "{shown} bytes");
        // The hidden cells exist.
        let all = mixed.ok(&["scan", "t", "-s", "A,B,C,hidden"]);
        assert!(all.matches(HIDDEN).count() > 500);
    }
}
