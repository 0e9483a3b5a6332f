//! `ostrakon sql` on files: compressed ones, and those of Arrow.

use std::io::Write as _;

use super::run::Folder;

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    packer.write_all(text).unwrap();
    packer.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::encode_all(text, 1).unwrap()
}

/// Rows of text that do not repeat, so that half of a compressed file is half of its content.
fn numbers(count: u64) -> String {
    let mix = |n: u64| n.wrapping_mul(0x9E37_79B9_7F4A_7C15);
    (0..count).map(|n| format!("{n},{}\n", mix(n))).collect()
}

#[test]
fn compressed_files_are_read_as_their_content_is() {
    let folder = Folder::with_table();
    let csv = "code,title\na,\"one\nline\"\nb,two\n";
    let tsv = "code\ttitle\na\t\"one\nline\"\nb\ttwo\n";
    let json = "{\"code\":\"a\",\"title\":\"one\\nline\"}\n{\"code\":\"b\",\"title\":\"two\"}\n";
    for (name, text) in [
        ("x.csv", csv),
        ("x.tsv", tsv),
        ("x.json", json),
        ("x.jsonl", json),
        ("x.ndjson", json),
    ] {
        folder.write(name, text);
        folder.write(&format!("{name}.gz"), gzip(text.as_bytes()));
        folder.write(&format!("{name}.ZST"), zstd(text.as_bytes()));
        for ending in ["", ".gz", ".ZST"] {
            let query = format!("SELECT code, title FROM '{name}{ending}' ORDER BY code");
            let rows = folder.run(&["sql", "-c", &query, "--json"]).json();
            let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
            let expected = [
                r#"{"code":"a","title":"one\nline"}"#,
                r#"{"code":"b","title":"two"}"#,
            ];
            assert_eq!(rows, expected, "{name}{ending}");
        }
    }
    for part in 0..3 {
        folder.write(
            &format!("part-{part}.csv.gz"),
            gzip(format!("n\n{part}\n").as_bytes()),
        );
    }
    let sum = "SELECT sum(n) AS n FROM 'part-*.csv.gz'";
    assert_eq!(folder.ok(&["sql", "-c", sum]), "n\n3\n");
    for (name, said) in [
        ("x.csv.bz2", "may be followed by .gz or .zst"),
        ("x.parquet.gz", "compressed inside"),
        ("missing.csv.gz", "check the name of the file"),
    ] {
        let query = format!("SELECT * FROM '{name}'");
        let ran = folder.run(&["sql", "-c", &query]);
        assert!(
            ran.code != 0 && ran.err.contains(said),
            "{name}: {}",
            ran.err
        );
    }
}

#[test]
fn damaged_compressed_files_are_named() {
    let folder = Folder::with_table();
    let text = format!("a,b\n{}", numbers(100_000));
    for (name, whole) in [
        ("x.csv.gz", gzip(text.as_bytes())),
        ("x.csv.zst", zstd(text.as_bytes())),
    ] {
        let mut flipped = whole.clone();
        let middle = whole.len() / 2;
        flipped[middle..middle + 64].fill(0x55);
        for bytes in [
            &whole[..middle],
            &whole[..whole.len() - 1],
            b"a,b\n1,2\n",
            &flipped,
        ] {
            folder.write(name, bytes);
            let query = format!("SELECT count(*) FROM '{name}'");
            let err = folder.fails(1, &["sql", "-c", &query]);
            assert!(
                err.contains("content that cannot be read")
                    && err.contains(&format!("file: {name}\n")),
                "{name}: {err}"
            );
        }
    }
}

/// A file of some kilobytes whose content is one record of gigabytes, or a batch of many large ones.
#[test]
fn compressed_bombs_come_to_the_limit_of_records() {
    let folder = Folder::with_table();
    let part = vec![b'x'; 1 << 20];
    let bomb = |begin: &[u8], part: &[u8], parts: usize| {
        let mut packer = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
        packer.write_all(begin).unwrap();
        for _ in 0..parts {
            packer.write_all(part).unwrap();
        }
        packer.finish().unwrap()
    };
    for (name, begin) in [
        ("bomb.csv.zst", "a,b\n1,2\n3,\""),
        ("bomb.tsv.zst", "a\tb\n1\t2\n3\t"),
        ("bomb.jsonl.zst", "{\"a\":1,\"b\":2}\n{\"a\":3,\"b\":\""),
    ] {
        folder.write(name, bomb(begin.as_bytes(), &part, 2048));
        let query = format!("SELECT count(*), max(b) FROM '{name}'");
        let err = folder.fails(1, &["--memory", "64M", "sql", "-c", &query]);
        let said = ["a record has more bytes", &format!("file: {name}\n")];
        assert!(said.iter().all(|said| err.contains(said)), "{name}: {err}");
    }
    // Each record is small enough, and a batch of 8192 of them would be eight gigabytes. These have more than twice
    // the memory.
    let record = [b"1,".as_slice(), &part, b"\n"].concat();
    folder.write("many.csv.zst", bomb(b"a,b\n", &record, 150));
    let query = "SELECT count(b) AS n, max(length(b)) AS l FROM 'many.csv.zst'";
    let found = folder.ok(&["--memory", "64M", "sql", "-c", query]);
    assert_eq!(found, "  n        l\n150  1048576\n");
}

#[test]
fn rows_are_the_same_in_files_of_arrow() {
    let folder = Folder::with_table();
    folder.ok(&["put", "t", r"a\xff", "f", "q", r"\x00,\xfe"]);
    let query = "SELECT row, value, NULL AS nothing, 1.5 AS n, 9007199254740993 AS i, true AS b, \
                 DATE '2024-02-29' AS d, TIMESTAMP '2024-02-29 01:02:03.000004' AS t, \
                 'a' AS x, 'b' AS x2 FROM t";
    let rows = folder.ok(&["sql", "-c", query, "--json"]);
    for name in ["x.arrow", "x.feather", "x.arrows"] {
        folder.ok(&["sql", "-c", query, "--output", name]);
        let back = format!("SELECT * FROM '{name}'");
        assert_eq!(folder.ok(&["sql", "-c", &back, "--json"]), rows, "{name}");
    }
    let starts =
        |name: &str, start: &[u8]| std::fs::read(folder.path(name)).unwrap().starts_with(start);
    assert!(starts("x.feather", b"ARROW1") && starts("x.arrows", &[0xff; 4]));
    folder.ok(&["sql", "-c", query, "--format", "arrow", "--output", "named"]);
    assert!(starts("named", b"ARROW1"));
    let err = folder.fails(2, &["sql", "-c", query, "--format", "arrow"]);
    assert!(err.contains("add --output FILE"), "{err}");
    // Conditions, order and joins with other files.
    folder.write("y.csv", "k,v\n9007199254740993,seven\n");
    let join = "SELECT v FROM 'x.arrow' JOIN 'y.csv' ON i = k WHERE b AND n > 1";
    assert_eq!(folder.ok(&["sql", "-c", join]), "v\nseven\n");
}

#[test]
fn damaged_files_of_arrow_are_errors_without_a_panic() {
    let folder = Folder::with_table();
    let query = "SELECT x, 'text ' || x AS t FROM generate_series(1, 20) s (x)";
    for name in ["x.arrow", "x.arrows"] {
        folder.ok(&["sql", "-c", query, "--output", name]);
        let whole = std::fs::read(folder.path(name)).unwrap();
        let mut damaged = 0;
        for place in (0..whole.len()).step_by(whole.len() / 24) {
            for value in [0xff, 0x41] {
                let mut bytes = whole.clone();
                bytes[place] = value;
                folder.write(name, &bytes);
                let read = format!("SELECT max(x), max(t) FROM '{name}'");
                let ran = folder.run(&["sql", "-c", &read]);
                if ran.code != 0 {
                    damaged += 1;
                    assert!(
                        ran.err.contains(&format!("file: {name}\n")),
                        "{place}: {}",
                        ran.err
                    );
                }
                let panics = ["panicked", "backtrace", ".rs:"];
                assert!(
                    !panics.iter().any(|word| ran.err.contains(word)),
                    "{place}: {}",
                    ran.err
                );
            }
        }
        assert!(damaged > 3, "{damaged}");
        folder.write(name, &whole[..whole.len() / 2]);
        let err = folder.fails(1, &["sql", "-c", &format!("SELECT * FROM '{name}'")]);
        assert!(
            err.contains("incomplete") && err.contains(&format!("file: {name}\n")),
            "{err}"
        );
    }
}

#[test]
fn a_pattern_names_the_files_of_one_directory() {
    let folder = Folder::with_table();
    for below in ["logs", "logs/old", "logs/old.csv"] {
        std::fs::create_dir(folder.path(below)).unwrap();
    }
    for (name, number) in [
        ("logs/a.csv", 1),
        ("logs/b.csv", 10),
        ("logs/.c.csv", 100),
        ("logs/old/d.csv", 1000),
        ("logs/[ab].csv", 10_000),
        ("logs/100%25 #1?.csv", 100_000),
    ] {
        folder.write(name, format!("n\n{number}\n"));
    }
    #[cfg(unix)]
    std::os::unix::fs::symlink("loop", folder.path("logs/loop")).unwrap();
    for (pattern, sum) in [
        ("logs/[a-b].csv", 11),
        ("logs/?.csv", 11),
        ("logs/*.csv", 110_011),
        ("logs/*/*.csv", 1000),
        ("logs/old/../[ab].csv", 10_000),
        ("logs/../logs/[a-b].csv", 11),
        ("logs/[ab].csv", 10_000),
        ("logs/100%25 #1?.csv", 100_000),
    ] {
        let query = format!("SELECT sum(n) AS n FROM '{pattern}'");
        let found = folder.run(&["sql", "--json", "-c", &query]);
        assert_eq!(
            found.out,
            format!("{{\"n\":{sum}}}\n"),
            "{pattern}: {}",
            found.err
        );
    }
    for (code, name, said) in [
        (1, "logs/none*.csv", "no file matches the pattern"),
        (1, "logs/old.csv", "that of a directory"),
        (2, "logs/[.csv", "the pattern is malformed"),
        (2, "**/a.csv", "** is not supported"),
    ] {
        let err = folder.fails(code, &["sql", "-c", &format!("SELECT * FROM '{name}'")]);
        assert!(err.contains(said), "{name}: {err}");
    }
}

/// What comes of a writer that was ended before its first byte. Text may be empty.
#[test]
fn empty_files_of_formats_with_an_end_are_errors() {
    let folder = Folder::with_table();
    folder.ok(&["sql", "-c", "SELECT 1 AS n", "--output", "whole.parquet"]);
    folder.ok(&["sql", "-c", "SELECT 1 AS n", "--output", "whole.arrow"]);
    for (name, pattern) in [("empty.parquet", "*.parquet"), ("empty.arrow", "*.arrow")] {
        folder.write(name, "");
        for from in [name, pattern] {
            let query = format!("SELECT count(*) FROM '{from}'");
            let err = folder.fails(1, &["sql", "-c", &query]);
            assert!(
                err.contains("the file is empty") && err.contains(name),
                "{from}: {err}"
            );
        }
    }
    folder.write("empty.csv", "");
    folder.write("one.csv", "n\n1\n");
    let found = folder.ok(&["sql", "--json", "-c", "SELECT count(*) AS c FROM '*.csv'"]);
    assert_eq!(found, "{\"c\":1}\n");
}

/// The least and greatest values of a file say nothing of a cast to dates.
#[test]
fn times_of_files_are_compared_with_dates() {
    let folder = Folder::with_table();
    let times = "SELECT 1 AS k, TIMESTAMP '1969-12-31 23:59:58' AS t UNION ALL SELECT 2, TIMESTAMP '1970-01-01 00:00:02'";
    let dates = "SELECT 1 AS k, DATE '1969-12-31' AS d UNION ALL SELECT 2, DATE '2022-01-08'";
    folder.ok(&["sql", "-c", times, "--output", "times.parquet"]);
    folder.ok(&["sql", "-c", dates, "--output", "dates.parquet"]);
    let query = "SELECT k FROM (SELECT a.k, t, d FROM 'times.parquet' a JOIN 'dates.parquet' b ON a.k = b.k LIMIT 5) q \
                 WHERE CAST(t AS DATE) < d ORDER BY k";
    assert_eq!(folder.ok(&["sql", "--json", "-c", query]), "{\"k\":2}\n");
}

#[test]
fn lists_and_structs_are_those_of_json() {
    let folder = Folder::with_table();
    folder.write("codes.csv", "id;code\n1;00123\n2;x\n");
    let query = "SELECT array_agg(code ORDER BY id) AS codes, named_struct('n', max(id), 'f', 0.5e0, 'l', array_agg(id ORDER BY id)) AS s, \
                 array_agg(CAST(NULL AS VARCHAR)) AS nothing FROM 'codes.csv'";
    let rows = folder.run(&["sql", "-c", query, "--json"]).json();
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(
        rows,
        [r#"{"codes":["00123","x"],"nothing":[null,null],"s":{"f":0.5,"l":[1,2],"n":2}}"#]
    );
    let query = "SELECT array_agg(x) AS a, named_struct('b', X'ff') AS s, array_agg(X'ff') AS b \
                 FROM (VALUES ('a, \"b'), ('null')) t(x)";
    let rows = folder.run(&["sql", "-c", query, "--json"]).json();
    let rows: Vec<String> = rows.iter().map(ToString::to_string).collect();
    assert_eq!(
        rows,
        [
            r#"{"a":["a, \"b","null"],"b":[{"_base64":"/w=="},{"_base64":"/w=="}],"s":{"b_base64":"/w=="}}"#
        ]
    );
}

/// The engine returns what stands below the NULL.
#[test]
fn fields_of_structs_that_are_null_are_null() {
    let folder = Folder::with_table();
    folder.write(
        "s.json",
        "{\"k\":1,\"s\":{\"a\":1,\"t\":{\"u\":5}}}\n{\"k\":2,\"s\":null}\n{\"k\":3,\"s\":{\"a\":3,\"t\":null}}\n{\"k\":4}\n",
    );
    for (query, expected) in [
        (
            "SELECT k, (CASE WHEN k > 1 THEN s END)['a'] AS a FROM 's.json' ORDER BY k",
            ["1|", "2|", "3|3", "4|"],
        ),
        (
            "SELECT k, nullif(s, s)['a'] AS a FROM 's.json' ORDER BY k",
            ["1|", "2|", "3|", "4|"],
        ),
        (
            "SELECT k, (CASE WHEN k > 1 THEN s END)['t']['u'] AS a FROM 's.json' ORDER BY k",
            ["1|", "2|", "3|", "4|"],
        ),
        (
            "SELECT y.k, x.s['t']['u'] AS a FROM 's.json' x RIGHT JOIN 's.json' y ON x.s['a'] = y.k ORDER BY y.k",
            ["1|5", "2|", "3|", "4|"],
        ),
        (
            "SELECT y.k, get_field(x.s, 'a') AS a FROM 's.json' y LEFT JOIN 's.json' x ON x.s['a'] = y.k ORDER BY y.k",
            ["1|1", "2|", "3|3", "4|"],
        ),
    ] {
        let rows = folder.run(&["sql", "-c", query, "--json"]).json();
        let text = |value: &serde_json::Value| match value.is_null() {
            true => String::new(),
            false => value.to_string(),
        };
        let rows: Vec<String> = rows
            .iter()
            .map(|row| format!("{}|{}", text(&row["k"]), text(&row["a"])))
            .collect();
        assert_eq!(rows, expected, "{query}");
        // Of Parquet, the engine's own function is used where it is right.
        folder.ok(&[
            "sql",
            "-c",
            "SELECT * FROM 's.json'",
            "--output",
            "s.parquet",
            "--force",
        ]);
        let query = query.replace("s.json", "s.parquet");
        let rows = folder.run(&["sql", "-c", &query, "--json"]).json();
        let rows: Vec<String> = rows
            .iter()
            .map(|row| format!("{}|{}", text(&row["k"]), text(&row["a"])))
            .collect();
        assert_eq!(rows, expected, "{query}");
    }
}

/// A field that is never NULL in its struct has a value in a struct that is.
#[test]
fn fields_of_parquet_are_read_alone_and_null_with_their_struct() {
    let folder = Folder::with_table();
    let write = "SELECT value AS k, CASE WHEN value % 10 > 0 THEN named_struct('a', value, 'n', nullif(value, 5), 'big', \
                 nullif(CAST(random() AS VARCHAR) || CAST(random() AS VARCHAR) || CAST(random() AS VARCHAR), '')) \
                 END AS s FROM range(20000)";
    folder.ok(&["sql", "-c", write, "--output", "wide.parquet"]);
    let query = "SELECT count(s['a']) AS a, count(s['n']) AS n, sum(s['n']) AS sum, count(s['big']) AS big FROM 'wide.parquet'";
    let found = folder.ok(&["sql", "-c", query, "--format", "csv"]);
    let sum: usize = (0..20_000).filter(|at| at % 10 > 0).sum();
    assert_eq!(
        found,
        format!("a,n,sum,big\n18000,17999,{},18000\n", sum - 5)
    );
    let query = "EXPLAIN ANALYZE SELECT sum(s['n']) FROM 'wide.parquet' AS w WHERE k >= 0";
    let explained = folder.ok(&["sql", "-c", query]);
    let scanned = explained.split("bytes_scanned=").nth(1).unwrap();
    let kilobytes = scanned.split(" K").next().unwrap().parse::<f64>().unwrap();
    let size = std::fs::metadata(folder.path("wide.parquet"))
        .unwrap()
        .len();
    assert!(
        kilobytes * 1e3 < size as f64 / 2.0,
        "{kilobytes} K of {size}"
    );
}

/// Files of which one says that a field is never NULL, and another that it may be.
#[test]
fn fields_of_structs_that_differ_between_files_are_null_with_their_struct() {
    let folder = Folder::with_table();
    let write = |file: &str, first: usize, a: &str| {
        let query = format!(
            "SELECT value AS k, CASE WHEN value % 3 > 0 THEN named_struct('a', {a}, 'b', value) END AS s \
             FROM range({first}, {})",
            first + 3
        );
        folder.ok(&["sql", "-c", &query, "--output", file]);
    };
    for ending in ["parquet", "arrow"] {
        write(&format!("required.{ending}"), 0, "value");
        write(&format!("optional.{ending}"), 3, "nullif(value, 5)");
        let query = format!(
            "SELECT count(s['a']) AS a, sum(s['a']) AS sum, count(*) FILTER (WHERE s['a'] IS NULL) AS nulls FROM '*.{ending}'"
        );
        let found = folder.ok(&["sql", "-c", &query, "--format", "csv"]);
        assert_eq!(found, "a,sum,nulls\n3,7,3\n", "{ending}");
        // One has no such field, and lacks a column.
        let query = "SELECT named_struct('b', value) AS s FROM range(6, 8)";
        folder.ok(&["sql", "-c", query, "--output", &format!("a.{ending}")]);
        let query = format!(
            "SELECT sum(s['a']) AS a, sum(s['b']) AS b, count(*) FILTER (WHERE k IS NULL) AS n FROM '*.{ending}'"
        );
        let found = folder.ok(&["sql", "-c", &query, "--format", "csv"]);
        assert_eq!(found, "a,b,n\n7,25,2\n", "{ending}");
    }
    folder.ok(&[
        "sql",
        "-c",
        "CREATE TABLE kept (k BIGINT PRIMARY KEY); INSERT INTO kept VALUES (7)",
    ]);
    let delete = "DELETE FROM kept WHERE k NOT IN (SELECT s['a'] FROM '[or]*.parquet')";
    folder.ok(&["sql", "-c", delete]);
    let left = folder.ok(&[
        "sql",
        "-c",
        "SELECT count(*) AS n FROM kept",
        "--format",
        "csv",
    ]);
    assert_eq!(left, "n\n1\n");
}

/// The engine moves its own function of fields below joins, and loses it.
#[test]
fn fields_of_structs_stand_in_conditions_of_joins_and_subqueries() {
    let folder = Folder::with_table();
    let rows = "SELECT value AS k, named_struct('a', nullif(value, 3), 'b', nullif(value + 1, 3)) AS s FROM range(5)";
    for file in ["x.parquet", "x.arrow"] {
        folder.ok(&["sql", "-c", rows, "--output", file]);
    }
    folder.write("t.csv", "k\n1\n2\n7\n");
    let deleted = "INSERT INTO kept SELECT k FROM 't.csv'; DELETE FROM kept WHERE k = 7 OR EXISTS \
                   (SELECT 1 FROM 'x.parquet' p WHERE p.s['a'] = kept.k)";
    folder.ok(&["sql", "-c", "CREATE TABLE kept (k BIGINT PRIMARY KEY)"]);
    for query in [
        "SELECT p.k FROM 'x.parquet' p JOIN 'x.parquet' o ON p.s['a'] + 1 = o.s['a'] + 1 ORDER BY k",
        "SELECT p.k FROM 'x.parquet' p LEFT JOIN 'x.parquet' o ON coalesce(p.s['a'], 0) = o.s['a'] ORDER BY k",
        "SELECT p.k FROM 'x.parquet' p JOIN 'x.parquet' o ON p.s['a'] = o.s['a'] \
         WHERE o.s['a'] > (SELECT avg(k) FROM 't.csv') OR o.s['a'] < 1 ORDER BY k",
        "SELECT k FROM 'x.parquet' p WHERE p.s['a'] + 1 IN (SELECT k FROM 't.csv') ORDER BY k",
        "SELECT k FROM 'x.parquet' p WHERE coalesce(p.s['a'], 7) NOT IN (SELECT k FROM 't.csv') ORDER BY k",
        "SELECT t.k FROM 't.csv' t WHERE NOT EXISTS (SELECT 1 FROM 'x.parquet' p WHERE p.s['a'] + 1 = t.k) ORDER BY k",
        "SELECT t.k, EXISTS (SELECT 1 FROM 'x.parquet' p WHERE p.s['a'] = t.k) AS e FROM 't.csv' t ORDER BY k",
        "SELECT t.k FROM 't.csv' t WHERE t.k = 7 OR EXISTS (SELECT 1 FROM 'x.parquet' p WHERE p.s['a'] = t.k) ORDER BY k",
        "SELECT t.k, t.k IN (SELECT p.k FROM 'x.parquet' p WHERE p.s['a'] = t.k) AS e FROM 't.csv' t ORDER BY k",
        "SELECT t.k, q.b FROM 't.csv' t, LATERAL (SELECT p.s['b'] AS b FROM 'x.parquet' p WHERE p.s['a'] = t.k) q ORDER BY k",
        "SELECT (SELECT max(s['a']) FROM 'x.parquet') AS a, (SELECT min(s['b']) FROM 'x.parquet' p WHERE p.s['a'] > 0) AS b",
    ] {
        let of_parquet = folder.ok(&["sql", "-c", query, "--format", "csv"]);
        let query = query.replace("x.parquet", "x.arrow");
        assert_eq!(
            of_parquet,
            folder.ok(&["sql", "-c", &query, "--format", "csv"]),
            "{query}"
        );
        assert!(of_parquet.lines().count() > 1, "{query}");
    }
    folder.ok(&["sql", "-c", deleted]);
    let left = folder.ok(&[
        "sql",
        "-c",
        "SELECT count(*) AS n FROM kept",
        "--format",
        "csv",
    ]);
    assert_eq!(left, "n\n0\n");
}

#[test]
fn a_file_to_which_a_pattern_leads_twice_is_read_once() {
    let folder = Folder::with_table();
    for name in ["d1/y.csv", "d2/y.csv", "x.csv"] {
        std::fs::create_dir_all(folder.path(name).parent().unwrap()).unwrap();
        folder.write(name, "a\n1\n");
    }
    let found = folder.ok(&[
        "sql",
        "-c",
        "SELECT count(*) AS n FROM 'd?/../x.csv'",
        "--format",
        "csv",
    ]);
    assert_eq!(found, "n\n1\n");
}

/// The statistics of a Parquet file leave NaN out, so a column of one number and NaNs looked like one of that number.
#[test]
fn a_nan_in_a_parquet_file_stays_one() {
    let folder = Folder::with_table();
    for (kind, file) in [("DOUBLE", "double.parquet"), ("REAL", "real.parquet")] {
        let values = format!(
            "SELECT CAST(column1 AS {kind}) AS x FROM (VALUES (1.0), (CAST('NaN' AS DOUBLE))) v"
        );
        folder.ok(&["sql", "-c", &values, "--output", file]);
        let query = format!("SELECT x, x + 1 AS y FROM '{file}' ORDER BY x");
        let found = folder.ok(&["sql", "--format", "csv", "-c", &query]);
        assert_eq!(found, "x,y\n1.0,2.0\nNaN,NaN\n", "{kind}");
        let query = format!("SELECT count(DISTINCT x) AS n, max(x) AS m FROM '{file}'");
        let found = folder.ok(&["sql", "--format", "csv", "-c", &query]);
        assert_eq!(found, "n,m\n2,NaN\n", "{kind}");
    }
}
