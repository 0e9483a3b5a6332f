//! `ostrakon sql`: formats, files, errors, and what is read-only.

use super::run::Folder;

#[test]
fn rows_are_exact_in_every_format() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", r"a\xff", "f", "q", r"\x00,\xfe"]);
    folder.ok(&["put", "t", "b", "f", "ü", "line\nfeed \"x\""]);
    let query = "SELECT row, qualifier, value, NULL AS nothing, 1.5 AS n, 9007199254740993 AS i, true AS b, DATE '2024-02-29' AS d \
                 FROM t ORDER BY row";
    let rows = folder.run(&["sql", "-c", query, "--json"]).json();
    assert_eq!(rows[0]["row_base64"], "Yf8=");
    assert_eq!(rows[0]["value_base64"], "ACz+");
    assert!(rows[0].get("row").is_none());
    assert_eq!(rows[1]["value"], "line\nfeed \"x\"");
    assert_eq!(rows[1]["qualifier"], "ü");
    assert_eq!(rows[1]["nothing"], serde_json::Value::Null);
    assert_eq!(rows[1]["i"].to_string(), "9007199254740993");
    assert_eq!(
        (rows[1]["n"].as_f64(), rows[1]["b"].as_bool()),
        (Some(1.5), Some(true))
    );
    assert_eq!(rows[1]["d"], "2024-02-29");
    assert_eq!(
        folder.ok(&[
            "sql",
            "-c",
            "SELECT row, value FROM t WHERE row < 'b'",
            "--format",
            "csv"
        ]),
        "row,value\na\\xff,\"\\x00,\\xfe\"\n"
    );
    assert_eq!(
        folder.ok(&[
            "sql",
            "-c",
            "SELECT row, 5 AS n, NULL AS x FROM t WHERE row > 'b' OR row = 'b'"
        ]),
        "row  n  x\nb    5  NULL\n"
    );
    folder.ok(&[
        "sql",
        "-c",
        query,
        "--format",
        "parquet",
        "-o",
        &folder.text("x.parquet"),
    ]);
    let back = format!(
        "SELECT row, value, i FROM '{}' ORDER BY row",
        folder.text("x.parquet")
    );
    let back = folder.run(&["sql", "-c", &back, "--json"]).json();
    assert_eq!(back[0]["row_base64"], "Yf8=");
    assert_eq!(back[1]["i"].to_string(), "9007199254740993");
    let err = folder.fails(
        1,
        &[
            "sql",
            "-c",
            query,
            "--format",
            "csv",
            "-o",
            &folder.text("x.parquet"),
        ],
    );
    assert!(err.contains("already exists"), "{err}");
}

#[test]
fn files_stand_beside_tables_and_only_local_ones() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "1"]);
    folder.write("x.csv", "code,n\na,7\nb,8\n");
    folder.write(
        "y.jsonl",
        "{\"code\":\"a\",\"t\":\"one\"}\n{\"code\":\"b\",\"t\":null}\n",
    );
    let query = "SELECT n, y.t FROM t JOIN 'x.csv' x ON CAST(row AS VARCHAR) = x.code JOIN 'y.jsonl' y ON y.code = x.code";
    assert_eq!(
        folder.run(&["sql", "-c", query, "--json"]).json()[0].to_string(),
        r#"{"n":7,"t":"one"}"#
    );
    for (name, said) in [
        ("https://example.org/x.csv", "not a local file"),
        ("s3://bucket/x.parquet", "not a local file"),
        ("x.txt", "ends in .parquet"),
    ] {
        let err = folder.fails(2, &["sql", "-c", &format!("SELECT * FROM '{name}'")]);
        assert!(err.contains(said), "{name}: {err}");
    }
    let err = folder.fails(1, &["sql", "-c", "SELECT * FROM 'missing.csv'"]);
    assert!(
        err.contains("cannot be read") && err.contains("check the name of the file"),
        "{err}"
    );
}

/// The reader of Parquet panics at some of these bytes.
#[test]
fn damaged_parquet_files_are_errors_without_a_panic() {
    let folder = Folder::with_table();
    let output = ["--format", "parquet", "--output", "whole.parquet"];
    folder.run(&[&["sql", "-c", "SELECT 1 AS a, 'x' AS b"], &output[..]].concat());
    let whole = std::fs::read(folder.path("whole.parquet")).unwrap();
    let name = b"ARROW:schema";
    let schema = whole.windows(name.len()).position(|part| part == name);
    let schema = schema.expect("the schema of Arrow");
    let mut damaged = 0;
    for offset in (102..240).step_by(3) {
        let mut bytes = whole.clone();
        let byte = &mut bytes[schema + offset];
        *byte = if *byte == b'/' { b'w' } else { b'/' };
        folder.write("damaged.parquet", &bytes);
        let query = "SELECT a, b FROM 'damaged.parquet'";
        let ran = folder.run(&["sql", "-c", query]);
        let err = &ran.err;
        if ran.code != 0 {
            damaged += 1;
            assert!(err.contains("file: damaged.parquet\n"), "{offset}: {err}");
        }
        let panics = ["panicked", "backtrace", ".rs:"];
        assert!(
            !panics.iter().any(|word| err.contains(word)),
            "{offset}: {err}"
        );
    }
    assert!(damaged > 3, "{damaged}");
}

/// The reader would take the rest of the file into memory.
#[test]
fn records_of_csv_files_are_limited() {
    let folder = Folder::with_table();
    let rest = "3,z\n".repeat(10 << 20);
    folder.write("begins.csv", format!("a,b\n1,x\n2,\"y\n{rest}"));
    folder.write("ends.csv", format!("a,b\n{rest}4,\"y\n{rest}"));
    for (name, line) in [("begins.csv", 3), ("ends.csv", 2 + (10 << 20))] {
        let query = format!("SELECT count(*), max(b) FROM '{name}'");
        let err = folder.fails(1, &["--memory", "64M", "sql", "-c", &query]);
        let said = [
            "a record has more bytes",
            &format!("file: {name}\n"),
            &format!("line: {line}\n"),
        ];
        assert!(said.iter().all(|said| err.contains(said)), "{name}: {err}");
    }
    let few = "SELECT a FROM 'ends.csv' LIMIT 1";
    assert_eq!(folder.ok(&["--memory", "64M", "sql", "-c", few]), "a\n3\n");
}

/// The rest of the file would be one value.
#[test]
fn quotes_of_csv_files_are_closed() {
    let folder = Folder::with_table();
    folder.write("open.csv", "a,b\n1,x\n2,\"y\n3,z\n4,w\n");
    folder.write("open.tsv", "a\tb\n1\tx,\"\n2\t\"\"\"y\n");
    for (name, line) in [("open.csv", 3), ("open.tsv", 3)] {
        for query in ["SELECT * FROM", "SELECT count(*) FROM"] {
            let err = folder.fails(1, &["sql", "-c", &format!("{query} '{name}'")]);
            let said = [
                "a quote is not closed",
                &format!("file: {name}\n"),
                &format!("line: {line}\n"),
            ];
            assert!(said.iter().all(|said| err.contains(said)), "{name}: {err}");
        }
    }
    // What a LIMIT leaves out is not read.
    let found = folder.run(&["sql", "-c", "SELECT a FROM 'open.csv' LIMIT 1", "--json"]);
    assert_eq!(found.json()[0]["a"], 1);
    folder.write("closed.csv", "a,b\n1,5\" x\n2,\"y \"\"z\"\"\n\"\n");
    let found = folder.run(&[
        "sql",
        "-c",
        "SELECT b FROM 'closed.csv' ORDER BY a",
        "--json",
    ]);
    assert_eq!(found.json()[1]["b"], "y \"z\"\n");
}

#[test]
fn a_query_with_too_little_memory_says_how_to_give_it_more() {
    let folder = Folder::with_table();
    let query = "SELECT count(DISTINCT value), count(*) FROM range(2000000)";
    let err = folder.fails(1, &["--memory", "16M", "sql", "-c", query]);
    assert!(
        err.contains("next: run it with a larger `--memory`"),
        "{err}"
    );
}

/// The quotes would be lost.
#[test]
fn closing_quotes_of_csv_files_are_at_the_ends_of_fields() {
    let folder = Folder::with_table();
    folder.write("after.csv", "a,b\n1,x\n2,\"y\"z\n3,w\n");
    folder.write("after.tsv", "a\tb\n1\tx\"y\"\n2\t\"y\" \n");
    folder.write("header.csv", "a,\"b\"c\n1,x\n");
    for (name, line) in [("after.csv", 3), ("after.tsv", 3), ("header.csv", 1)] {
        for query in ["SELECT * FROM", "SELECT count(*) FROM"] {
            let err = folder.fails(1, &["sql", "-c", &format!("{query} '{name}'")]);
            let said = [
                "text follows the closing quote of a field",
                &format!("file: {name}\n"),
                &format!("line: {line}\n"),
            ];
            assert!(said.iter().all(|said| err.contains(said)), "{name}: {err}");
        }
    }
}

/// The types of the columns were found in pieces of the file that were cut at line ends in values.
#[test]
fn records_of_csv_files_are_whole_when_types_are_found() {
    let folder = Folder::with_table();
    for end in ["\n", "\r\n"] {
        for width in 1..12 {
            let value = "x".repeat(width);
            let record = format!("1,\"{value}\ny,\"{end}");
            let text = format!("a,b{end}{}", record.repeat(1_500));
            folder.write("lines.csv", text);
            let query = "SELECT sum(a) AS a, count(b) AS b FROM 'lines.csv'";
            let found = folder.run(&["sql", "-c", query, "--json"]);
            let expected = r#"{"a":1500,"b":1500}"#;
            assert_eq!(found.json()[0].to_string(), expected, "{width} {end:?}");
        }
    }
}

/// A large file is not divided in the middle of a value.
#[test]
fn values_of_csv_files_may_have_line_ends() {
    let folder = Folder::with_table();
    let value = "1,2\n".repeat(2_000);
    let lines = (0..2_000).map(|n| format!("{n},\"{value}\"\n"));
    folder.write("long.csv", format!("a,b\n{}", lines.collect::<String>()));
    let query = "SELECT count(*) AS n, sum(a) AS a, min(length(b)) AS b FROM 'long.csv'";
    let found = folder.run(&["sql", "-c", query, "--json"]);
    assert_eq!(
        found.json()[0].to_string(),
        r#"{"a":1999000,"b":8000,"n":2000}"#
    );
}

#[test]
fn inserted_values_fit_their_columns_or_are_named() {
    let folder = Folder::with_table();
    folder.write(
        "v.csv",
        "k,half,large,word,at\n1,1.0,7,yes,2024-01-01T00:00:00\n2,2.5,1e30,no,2024-01-02T10:00:00\n",
    );
    let create = "CREATE TABLE n (k BIGINT, i BIGINT, u BIGINT UNSIGNED, b BOOLEAN, d DATE, PRIMARY KEY (k))";
    folder.run(&["sql", "-c", create]);
    for (insert, column, value) in [
        (
            "INSERT INTO n (k, i) SELECT k, half FROM 'v.csv'",
            "i",
            "2.5",
        ),
        (
            "INSERT INTO n (k, i) SELECT k, large FROM 'v.csv'",
            "i",
            "1e30",
        ),
        (
            "INSERT INTO n (k, i) SELECT k, word FROM 'v.csv'",
            "i",
            "yes",
        ),
        (
            "INSERT INTO n (k, u) SELECT k, 1 - k FROM 'v.csv'",
            "u",
            "-1",
        ),
        ("INSERT INTO n (k, b) SELECT k, k FROM 'v.csv'", "b", "2"),
        (
            "INSERT INTO n (k, d) SELECT k, at FROM 'v.csv'",
            "d",
            "2024-01-02T10:00:00",
        ),
        ("INSERT INTO n (k, i) VALUES (1, 2.5)", "i", "2.5"),
        ("INSERT INTO n (i, k) VALUES (1, 2.5)", "k", "2.5"),
    ] {
        let err = folder.fails(1, &["sql", "-c", insert]);
        let said = [
            "cannot hold a value",
            &format!("column: {column}\n"),
            &format!("value: {value}\n"),
        ];
        assert!(
            said.iter().all(|said| err.contains(said)),
            "{insert}: {err}"
        );
    }
    let fits = "INSERT INTO n (k, i, b, d) SELECT k, half, word, CAST(at AS DATE) FROM 'v.csv' WHERE k = 1";
    folder.run(&["sql", "-c", fits]);
    folder.run(&[
        "sql",
        "-c",
        "INSERT INTO n VALUES (2, 3.0, 4, 1, '2024-01-01'), (3, NULL, NULL, NULL, NULL)",
    ]);
    let found = folder.run(&["sql", "-c", "SELECT i, b FROM n ORDER BY k", "--json"]);
    assert_eq!(found.json()[1].to_string(), r#"{"b":true,"i":3}"#);
}

#[test]
fn files_that_cannot_be_read_are_named() {
    let folder = Folder::with_table();
    // The side of a join that is kept in memory may be this one, and the other is not read if it is empty.
    folder.ok(&["put", "t", "a", "f", "q", "1"]);
    folder.write("good.csv", "a,b\n1,2\n");
    folder.write("bytes.parquet", b"PAR1 and no footer PAR1");
    folder.write("ragged.csv", "a,b\n1,2\n3\n");
    folder.write("half.jsonl", "{\"a\":1}\n{\"a\":");
    // The types of the columns come from the first lines.
    let numbers = (0..30_000).map(|n| format!("{n}\n")).collect::<String>();
    folder.write("late.csv", format!("a\n{numbers}x\n"));
    for name in ["bytes.parquet", "ragged.csv", "half.jsonl", "late.csv"] {
        let query = format!("SELECT x.a FROM '{name}' x JOIN t ON true");
        let err = folder.fails(1, &["sql", "-c", &query]);
        let line = format!("  file: {name}\n");
        assert!(
            err.contains("cannot be read") && err.contains(&line),
            "{err}"
        );
    }
    let err = folder.fails(
        1,
        &[
            "sql",
            "-c",
            "SELECT count(x.a) FROM 'good.csv' y, 'late.csv' x",
        ],
    );
    assert!(err.contains("  file: late.csv\n"), "{err}");
    assert!(!err.contains("check the disk"), "{err}");
    // An error of the values of a query that reads files is not a fault of a file.
    folder.write("text.csv", "a\nhello\n");
    for query in [
        "SELECT CAST(a AS TIMESTAMP) FROM 'text.csv'",
        "SELECT CAST(x AS TIMESTAMP) FROM (VALUES ('hello')) v (x) JOIN 'good.csv' ON true",
    ] {
        let err = folder.fails(1, &["sql", "-c", query]);
        assert!(err.contains("failed on a value"), "{err}");
        assert!(
            !err.contains("good.csv") && !err.contains("text.csv"),
            "{err}"
        );
    }
    // Many files are counted.
    for number in 0..5 {
        folder.write(&format!("many-{number}.csv"), "a\n1\n");
    }
    folder.write("many-5.csv", format!("a\n{numbers}x\n"));
    let err = folder.fails(1, &["sql", "-c", "SELECT sum(a) FROM 'many-*.csv'"]);
    assert!(err.contains("many-"), "{err}");
}

#[test]
fn no_two_columns_are_kept_in_one_cell() {
    let folder = Folder::with_table();
    for (columns, said) in [
        ("k INTEGER PRIMARY KEY, a VARCHAR, \":a\" VARCHAR", "a, :a"),
        ("k INTEGER PRIMARY KEY, \":\" VARCHAR", "rename it"),
    ] {
        let err = folder.fails(2, &["sql", "-c", &format!("CREATE TABLE u ({columns})")]);
        assert!(err.contains(said), "{err}");
    }
    folder.write("al.csv", "k,a,:a\n1,,x\n2,p,q\n");
    let copy = "CREATE TABLE u (PRIMARY KEY (k)) AS SELECT * FROM 'al.csv'";
    let err = folder.fails(2, &["sql", "-c", copy]);
    assert!(err.contains("kept in one cell"), "{err}");
}

#[test]
fn errors_say_what_to_do_next() {
    let folder = Folder::with_table();
    folder.ok(&["table", "create", "people"]);
    let err = folder.fails(1, &["sql", "-c", "SELECT * FROM poeple"]);
    assert!(err.contains("did you mean `people`?"), "{err}");
    let err = folder.fails(2, &["sql", "-c", "SELEC 1"]);
    assert!(err.contains("not valid SQL"), "{err}");
    let err = folder.fails(2, &["sql", "-c", "SELECT 1; SELECT 2", "-o", "x"]);
    assert!(err.contains("exactly one query"), "{err}");
    let err = folder.fails(2, &["sql", "-c", "SELECT 1", "--label", "a&"]);
    assert!(!err.is_empty());
    // Data, not statements, are at fault.
    folder.write("bad.sql", b"SELECT '\xff'");
    let err = folder.fails(1, &["sql", "-f", "bad.sql"]);
    assert!(
        err.contains("not UTF-8") && err.contains("byte: 8"),
        "{err}"
    );
    folder.write("text.csv", "a\nx\n");
    let err = folder.fails(
        1,
        &["sql", "-c", "SELECT CAST(a AS BIGINT) FROM 'text.csv'"],
    );
    assert!(err.contains("failed on a value"), "{err}");
    std::fs::create_dir(folder.path("d.csv")).unwrap();
    let err = folder.fails(1, &["sql", "-c", "SELECT * FROM 'd.csv'"]);
    assert!(err.contains("name the files in it"), "{err}");
    // Statements before the one that fails have run, those after it have not.
    let ran = folder.run(&[
        "sql",
        "-c",
        "SELECT 1 AS a; SELECT * FROM nothing; SELECT 2 AS b",
        "--json",
    ]);
    assert_eq!((ran.code, ran.out.as_str()), (1, "{\"a\":1}\n"));
}

#[test]
fn a_first_table_that_fails_leaves_no_store() {
    let folder = Folder::new();
    folder.write("x.csv", "a,b\n1,2\n");
    for statement in [
        "CREATE TABLE t (a BIGINT)",
        "CREATE TABLE t (PRIMARY KEY (a)) AS SELECT * FROM 'absent.csv'",
        "CREATE TABLE t (PRIMARY KEY (c)) AS SELECT * FROM 'x.csv'",
        "INSERT INTO u VALUES (1); CREATE TABLE t (a BIGINT, PRIMARY KEY (a))",
    ] {
        let ran = folder.run(&["sql", "-c", statement]);
        assert_ne!(ran.code, 0, "{statement}");
        assert!(!folder.path("store").exists(), "{statement}");
    }
    let fill = "CREATE TABLE t (PRIMARY KEY (a)) AS SELECT * FROM 'x.csv'; SELECT * FROM t";
    let ran = folder.run(&["sql", "-c", fill, "--json"]);
    assert!(ran.out.ends_with("{\"a\":1,\"b\":2}\n"), "{}", ran.out);
}

#[test]
fn queries_open_the_store_read_only() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", "a", "f", "q", "1"]);
    // Two readers at once, and no change on the disk.
    let before = folder.read_all();
    folder.ok(&[
        "sql",
        "-c",
        "SELECT * FROM t",
        "-c",
        "EXPLAIN SELECT * FROM t",
    ]);
    assert_eq!(folder.read_all(), before);
    let err = folder.fails(
        1,
        &[
            "sql",
            "--read-only",
            "-c",
            "CREATE TABLE x (a BIGINT, PRIMARY KEY (a))",
        ],
    );
    assert!(err.contains("without --read-only"), "{err}");
    let ran = folder.run_with(&["sql"], b"SELECT 1 AS a;");
    assert_eq!((ran.code, ran.out.as_str()), (0, "a\n1\n"));
}

impl Folder {
    /// Names and content of the files of the store.
    fn read_all(&self) -> Vec<(std::path::PathBuf, Vec<u8>)> {
        let mut files = Vec::new();
        let mut folders = vec![self.path("store")];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                match path.is_dir() {
                    true => folders.push(path),
                    false => files.push((path.clone(), std::fs::read(path).unwrap())),
                }
            }
        }
        files.sort();
        files
    }
}

/// A time that no calendar has is shown as its number, and the rest of the answer beside it.
#[test]
fn far_times_are_shown_as_numbers() {
    let folder = Folder::with_table();
    for format in ["table", "csv", "json"] {
        for (value, shown) in [
            ("CAST(2147483647 AS DATE)", "2147483647 days from 1970"),
            (
                "to_timestamp_seconds(9000000000000)",
                "9000000000000 s from 1970",
            ),
        ] {
            let query = format!("SELECT {value} AS far, 'beside' AS near");
            let out = folder.ok(&["sql", "--format", format, "-c", &query]);
            assert!(
                out.contains(shown) && out.contains("beside"),
                "{format}: {out}"
            );
        }
    }
}

#[test]
fn statements_of_too_many_queries_are_errors() {
    let folder = Folder::with_table();
    for statement in [
        vec!["SELECT 1"; 2000].join(" UNION ALL "),
        format!("{} SELECT 1", "EXPLAIN ".repeat(2000)),
        format!(
            "WITH a0 AS (SELECT 1 AS k){} SELECT count(*) FROM a1999",
            (1..2000)
                .map(|at| format!(", a{at} AS (SELECT * FROM a{})", at - 1))
                .collect::<String>()
        ),
    ] {
        folder.fails(2, &["sql", "-c", &statement]);
    }
    let most = vec!["SELECT 1"; 200].join(" UNION ALL ");
    folder.ok(&["sql", "-c", &most]);
    let named: String = (1..200)
        .map(|at| format!(", a{at} AS (SELECT * FROM a{})", at - 1))
        .collect();
    let deep = format!("WITH a0 AS (SELECT 1 AS k){named} SELECT count(*) FROM a199");
    folder.ok(&["sql", "-c", &deep]);
}

#[test]
fn a_statement_may_be_the_argument() {
    let folder = Folder::with_table();
    assert_eq!(
        folder.ok(&[
            "sql",
            "SELECT SUM(n), 1 + n FROM (VALUES (2)) x (n) GROUP BY n",
            "-c",
            "SELECT 3"
        ]),
        "sum(n)  1 + n\n     2      3\n3\n3\n"
    );
    let file = folder.write("report.sql", "SELECT 1");
    let err = folder.fails(2, &["sql", &file]);
    assert!(err.contains("sql -f '"), "{err}");
    assert_eq!(folder.ok(&["sql", "-f", &file]), "1\n1\n");
}

/// A terminal would obey them.
#[test]
fn control_characters_have_escapes_in_tables() {
    let folder = Folder::with_table();
    let query = "SELECT 'a' || chr(9) || chr(27) || 'b\\' AS t";
    assert_eq!(folder.ok(&["sql", "-c", query]), "t\na\\x09\\x1bb\\\n");
}

#[test]
fn queries_are_described_as_tables_are() {
    let folder = Folder::with_table();
    for described in ["SELECT 1 AS a", "t"] {
        let shown = folder.ok(&["sql", "-c", &format!("DESCRIBE {described}")]);
        let head: Vec<&str> = shown.lines().next().unwrap().split_whitespace().collect();
        assert_eq!(head, ["column_name", "data_type", "is_nullable"], "{shown}");
    }
}
