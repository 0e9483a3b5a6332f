//! Output that a program reads: every byte of every entry comes back.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

use crate::run::Folder;

/// Pseudo-random bytes, the same in each run.
struct Bytes(u64);

impl Bytes {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    /// Up to twelve bytes: any, or only those that some format treats specially.
    fn some(&mut self) -> Vec<u8> {
        const SPECIAL: &[u8] = b"\\\"\n\r\t ,:|[]x0N\xff\x00";
        let special = self.next().is_multiple_of(2);
        (0..self.next() % 12)
            .map(|_| match special {
                true => SPECIAL[self.next() as usize % SPECIAL.len()],
                false => self.next() as u8,
            })
            .collect()
    }
}

fn escaped(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
}

type Entry = (Vec<u8>, Vec<u8>, Vec<u8>, Vec<u8>);

/// A table of random entries, and the entries in order.
fn random_table(folder: &Folder, seed: u64) -> Vec<Entry> {
    let mut random = Bytes(seed);
    let mut entries = std::collections::BTreeMap::new();
    for number in 0..200_u8 {
        let row = [&random.some()[..], &[number]].concat();
        entries.insert((row, random.some(), random.some()), random.some());
    }
    let mut text = String::from("row\tfamily\tqualifier\tvalue\n");
    for ((row, family, qualifier), value) in &entries {
        let parts = [row, family, qualifier, value].map(|part| escaped(part));
        text.push_str(&format!("{}\n", parts.join("\t")));
    }
    let file = folder.write("random.tsv", text);
    let ran = folder.run(&["import", "t", &file, "--entries"]);
    assert_eq!(ran.code, 0, "{} {}", ran.out, ran.err);
    let entry = |((row, family, qualifier), value)| (row, family, qualifier, value);
    entries.into_iter().map(entry).collect()
}

/// The bytes of a part of an entry, which is there once.
fn part(object: &Value, name: &str) -> Vec<u8> {
    let coded = object.get(format!("{name}_base64"));
    match (object.get(name), coded) {
        (Some(text), None) => text.as_str().unwrap().into(),
        (None, Some(coded)) => {
            let bytes = STANDARD.decode(coded.as_str().unwrap()).unwrap();
            assert!(std::str::from_utf8(&bytes).is_err(), "{object}");
            bytes
        }
        _ => panic!("{name} in {object}"),
    }
}

#[test]
fn json_of_a_scan_has_every_byte() {
    let folder = Folder::with_table();
    let entries = random_table(&folder, 1);
    let read: Vec<Entry> = folder
        .run(&["scan", "t", "--json"])
        .json()
        .iter()
        .map(|object| {
            let part = |name| part(object, name);
            (
                part("row"),
                part("family"),
                part("qualifier"),
                part("value"),
            )
        })
        .collect();
    assert_eq!(read, entries);
}

#[test]
fn every_format_of_export_is_imported_exactly() {
    let folder = Folder::with_table();
    random_table(&folder, 2);
    let before = folder.ok(&["scan", "t", "-t"]);
    assert_eq!(before.lines().count(), 200);
    for ending in ["csv", "tsv", "jsonl"] {
        let file = folder.text(&format!("e.{ending}"));
        folder.ok(&["export", "t", &file]);
        let table = format!("from_{ending}");
        folder.ok(&["import", &table, &file, "--entries", "--create"]);
        assert_eq!(folder.ok(&["scan", &table, "-t"]), before, "{ending}");
    }
    // What `scan --json` prints has the same form.
    let lines = folder.ok(&["scan", "t", "--json"]);
    let file = folder.write("scan.jsonl", lines);
    folder.ok(&["import", "scanned", &file, "--entries", "--create"]);
    assert_eq!(folder.ok(&["scan", "scanned", "-t"]), before);
}

#[test]
fn json_lines_that_are_not_entries_are_rejected_with_the_reason() {
    let folder = Folder::with_table();
    let lines = [
        r#"{"row":"a","value":"v"}"#,
        r#"{"row":"b"}"#,
        r#"{"value":"v"}"#,
        r#"{"row":"c","value":"v","value_base64":"dg=="}"#,
        r#"{"row":"d","value_base64":"d"}"#,
    ];
    let file = folder.write("some.jsonl", lines.join("\n"));
    let err = folder.fails(1, &["import", "t", &file, "--entries"]);
    for reason in [
        ":2: the entry has no `value`",
        ":3: the entry has no `row`",
        ":4: value: given as text and as _base64",
        ":5: value: invalid base64",
    ] {
        assert!(err.contains(reason), "{reason}: {err}");
    }
    assert_eq!(folder.ok(&["scan", "t"]), "a : []\tv\n");
}

#[test]
fn json_has_rows_of_any_bytes_in_every_command() {
    let folder = Folder::with_table();
    let row = |arguments: &[&str], name: &str| {
        let all = [&["--json"], arguments].concat();
        part(&folder.run(&all).json()[0], name)
    };
    assert_eq!(
        row(&["put", "t", "a\\\\\\x0a", "f", "q", "v"], "row"),
        b"a\\\n"
    );
    assert_eq!(row(&["delete", "t", "\\xff", "f", "q"], "row"), b"\xff");
    folder.ok(&["table", "add-splits", "t", "m\\xff"]);
    assert_eq!(row(&["table", "splits", "t"], "row"), b"m\xff");
    assert_eq!(row(&["table", "tablets", "t"], "end"), b"m\xff");
    assert_eq!(row(&["table", "locate", "t", "a\\x0a"], "row"), b"a\n");
    let merge = ["table", "merge", "t", "--begin", "a", "--end", "z\\xff"];
    assert_eq!(row(&merge, "end"), b"z\xff");
    let rows = ["delete-rows", "t", "--begin", "b\\x09", "--yes"];
    assert_eq!(row(&rows, "begin"), b"b\t");
}

#[test]
fn raw_values_are_written_as_they_are() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "", "", "x\\\\\\x0ay"]);
    folder.ok(&["put", "t", "b", "", "", "z"]);
    assert_eq!(folder.ok(&["scan", "t", "--raw"]), "x\\\ny\nz\n");
    assert_eq!(folder.ok(&["scan", "t", "--raw", "-0"]), "x\\\ny\0z\0");
    assert!(folder.fails(2, &["scan", "t", "-0"]).contains("--raw"));
    folder.fails(2, &["scan", "t", "--raw", "--json"]);
}

#[test]
fn a_line_of_a_scan_stands_for_one_key() {
    let folder = Folder::with_table();
    for (row, family) in [("a b", "f"), ("a", "b f"), ("a", "b:f")] {
        folder.ok(&["put", "t", row, family, "q", "v"]);
    }
    assert_eq!(
        folder.ok(&["scan", "t"]),
        "a b\\x20f:q []\tv\na b\\x3af:q []\tv\na\\x20b f:q []\tv\n"
    );
    // What is printed is what an option takes.
    assert_eq!(
        folder.ok(&["scan", "t", "-r", "a\\x20b", "-c", "f:q", "--raw"]),
        "v\n"
    );
    assert_eq!(
        folder.ok(&["scan", "t", "-c", "b\\x3af:q", "--values-only"]),
        "v\n"
    );
}
