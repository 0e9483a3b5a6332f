//! Exports that are imported again, and files that are taken for exports.

use crate::run::Folder;

/// Labels must not get lost because of an option or a name that `--entries` ignores.
#[test]
fn what_would_be_ignored_of_a_label_is_refused() {
    let folder = Folder::with_table();
    let file = folder.write(
        "e.csv",
        "row,family,qualifier,visibility,timestamp,value\nr,f,q,,1,v\n",
    );
    for option in [
        &["--visibility", "hr"][..],
        &["--visibility-field", "visibility"],
        &["--family", "f"],
        &["--skip", "family"],
        &["--only", "family"],
        &["--value", "x"],
        &["--joiner", "-"],
        &["--missing", "v"],
        &["--explode"],
        &["--both-ways"],
        &["--timestamp-format", "millis"],
    ] {
        let import = [&["import", "t", &file, "--entries"], option].concat();
        let err = folder.fails(2, &import);
        assert!(err.contains("cannot be used with"), "{option:?}: {err}");
    }
    for name in ["label", "Visibility", "visibilty"] {
        let csv = format!("row,family,qualifier,{name},timestamp,value\nr,f,q,hr,1,v\n");
        let csv = folder.write("other.csv", csv);
        let json = format!("{{\"row\":\"r\",\"{name}\":\"hr\",\"value\":\"v\"}}\n");
        let json = folder.write("other.jsonl", json);
        for file in [&csv, &json] {
            let err = folder.fails(2, &["import", "t", file, "--entries"]);
            assert!(err.contains("did you mean `visibility`?"), "{err}");
        }
    }
    let file = folder.write("extra.csv", "row,value,zebra\nr,v,1\n");
    let err = folder.fails(2, &["import", "t", &file, "--entries"]);
    assert!(
        err.contains("zebra") && err.contains("row, family"),
        "{err}"
    );
    assert_eq!(folder.ok(&["scan", "t"]), "");
}

#[test]
fn labels_can_be_pasted_back() {
    let folder = Folder::with_table();
    for (label, auths) in [
        ("\"hr it\"|a", "a"),
        ("\"b\\\\s\"|a", "a"),
        ("\"q\\\"\u{202e}\"|a", "a"),
    ] {
        folder.ok(&["put", "t", "r", "f", "q", "v", "--visibility", label]);
        let shown = folder.ok(&["scan", "t", "--auths", auths]);
        let (_, rest) = shown.split_once('[').unwrap();
        let (pasted, _) = rest.split_once("]\t").unwrap();
        folder.ok(&["delete", "t", "r", "f", "q", "--visibility", pasted]);
        assert_eq!(folder.ok(&["scan", "t", "--auths", auths]), "", "{shown}");
    }
}

#[test]
fn byte_order_marks_at_the_beginning_of_rows_come_back() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "\\xef\\xbb\\xbfr", "f", "q", "a,b"]);
    folder.ok(&["put", "t", "\\xef\\xbb\\xbfs", "f", "q", "v"]);
    let before = folder.ok(&["scan", "t", "-t"]);
    for name in ["b.csv", "b.tsv", "b.jsonl"] {
        folder.ok(&["export", "t", name]);
        let table = name.replace('.', "_");
        folder.ok(&["import", &table, name, "--entries", "--create"]);
        assert_eq!(folder.ok(&["scan", &table, "-t"]), before, "{name}");
    }
}

/// A record that a constraint refuses is rejected like any other, with its line.
#[test]
fn records_that_constraints_refuse_are_rejected() {
    let folder = Folder::new();
    let property = "table.constraint.2=NumericValueConstraint";
    folder.ok(&["table", "create", "k", "-p", property]);
    let file = folder.write("k.csv", "id,x\n1,2\n2,b\n3,c\n4,5\n");
    let import = ["import", "k", &file, "--row", "id", "--json"];
    let dry = folder.run(&[&import[..], &["--dry-run"]].concat());
    assert_eq!(dry.code, 1);
    let told = &dry.json()[0];
    assert_eq!(
        (&told["records"], &told["rejected"]),
        (&2.into(), &2.into())
    );
    let ran = folder.run(&[&import[..], &["--rejects", "rej.tsv"]].concat());
    assert_eq!(ran.code, 1, "{}", ran.err);
    let told = &ran.json()[0];
    assert_eq!(
        (&told["records"], &told["rejected"]),
        (&2.into(), &2.into())
    );
    let rejects = folder.read("rej.tsv");
    for line in [
        "\t3\tNumericValueConstraint: ",
        "\t4\tNumericValueConstraint: ",
    ] {
        assert!(rejects.contains(line), "{rejects}");
    }
    assert_eq!(
        folder
            .ok(&["scan", "k", "--count", "--json"])
            .matches("\"entries\":2")
            .count(),
        1
    );
    let accepted = folder.run(&[&import[..], &["--accept-rejects"]].concat());
    assert_eq!(accepted.code, 0, "{}", accepted.err);
    // An edge is written in both directions or in none.
    let property = "table.constraint.2=AlphaNumKeyConstraint";
    folder.ok(&["table", "create", "e", "-p", property]);
    let file = folder.write("e.edges", "a b\nc d-e\n");
    folder.fails(1, &["import", "e", &file, "--both-ways"]);
    assert_eq!(folder.ok(&["scan", "e"]).lines().count(), 2);
}

#[test]
fn a_text_export_warns_of_lines_that_cannot_be_imported() {
    let folder = Folder::with_table();
    let value = vec![1; 17 << 20];
    let put = folder.run_with(&["put", "t", "r", "f", "q", "-"], &value);
    assert_eq!(put.code, 0, "{}", put.err);
    for name in ["l.csv", "l.tsv", "l.jsonl"] {
        let ran = folder.run(&["export", "t", name]);
        assert_eq!(ran.code, 0, "{}", ran.err);
        assert!(
            ran.err.contains("1 line is longer than 64 MiB"),
            "{}",
            ran.err
        );
        let err = folder.fails(1, &["import", "u", name, "--entries", "--create"]);
        assert!(err.contains("longer than 64 MiB"), "{err}");
    }
    folder.ok(&["put", "t", "r", "f", "q", "short"]);
    let ran = folder.run(&["export", "t", "s.csv"]);
    assert_eq!((ran.code, ran.err.contains("longer")), (0, false));
}

/// A selection that names rows twice is a mistake: the rows of both would be deleted.
#[test]
fn rows_are_selected_in_one_way() {
    let folder = Folder::with_table();
    for row in ["a", "b", "c", "d"] {
        folder.ok(&["put", "t", row, "f", "q", "v"]);
    }
    let file = folder.write("rows", "c\n");
    for two in [
        &["--row", "b", "--begin", "c"][..],
        &["--prefix", "b", "--end", "c"],
        &["--batch", &file, "--begin", "d"],
        &["--batch", &file, "--row", "d"],
        &["--batch", &file, "--prefix", "d"],
    ] {
        for command in [&["delete-many", "t", "--yes"][..], &["scan", "t"]] {
            let err = folder.fails(2, &[command, two].concat());
            assert!(err.contains("cannot be used with"), "{err}");
        }
    }
    folder.ok(&["delete-many", "t", "--yes", "--row", "b", "--prefix", "d"]);
    assert_eq!(folder.ok(&["scan", "t"]).lines().count(), 2);
}
