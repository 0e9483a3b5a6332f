//! `read_csv` and the other calls of `ostrakon sql` that read files.

use std::io::Write as _;

use super::run::Folder;

fn rows(folder: &Folder, query: &str) -> String {
    let out = folder.ok(&["sql", "-c", query, "--json"]);
    out.trim_end().to_owned()
}

#[test]
fn calls_say_how_a_file_is_read() {
    let folder = Folder::with_table();
    folder.write("visits.txt", "a|7|NA\nb||2024-02-29 12:00:00\n");
    for (call, expected) in [
        (
            "read_csv('visits.txt', header = false)",
            "{\"column0\":\"a\",\"column1\":7,\"column2\":\"NA\"}\n\
             {\"column0\":\"b\",\"column1\":null,\"column2\":\"2024-02-29 12:00:00\"}",
        ),
        (
            "read_csv('visits.txt', header := 0, delim => '|', nullstr = 'NA', names = ['k', 'n', 't']) AS v",
            "{\"k\":\"a\",\"n\":7,\"t\":null}\n{\"k\":\"b\",\"n\":null,\"t\":\"2024-02-29T12:00:00\"}",
        ),
        (
            "read_csv('visits.txt', header = false, nullstr = 'NA', \
             columns = {'k': 'VARCHAR', 'n': 'DOUBLE', 't': 'TIMESTAMP'})",
            "{\"k\":\"a\",\"n\":7.0,\"t\":null}\n{\"k\":\"b\",\"n\":null,\"t\":\"2024-02-29T12:00:00\"}",
        ),
        (
            "read_csv('visits.txt', all_varchar = true)",
            "{\"a\":\"b\",\"7\":null,\"NA\":\"2024-02-29 12:00:00\"}",
        ),
        (
            "read_csv('visits.txt', header = true, names = ['k', 'n', 't'])",
            "{\"k\":\"b\",\"n\":null,\"t\":\"2024-02-29T12:00:00\"}",
        ),
        (
            "read_csv('visits.txt', header = false, delim = ';', names = ['line'])",
            "{\"line\":\"a|7|NA\"}\n{\"line\":\"b||2024-02-29 12:00:00\"}",
        ),
    ] {
        let found = rows(&folder, &format!("SELECT * FROM {call}"));
        assert_eq!(found, expected, "{call}");
    }
    let sum = "SELECT sum(v.n) AS n, count(t) AS t \
               FROM read_csv('visits.txt', header = false, nullstr = 'NA', names = ['k', 'n', 't']) v \
               WHERE v.k = 'a'";
    assert_eq!(rows(&folder, sum), r#"{"n":7,"t":0}"#);
    // Without an alias, its name is that of the file, as for a name in quotes.
    let named = "SELECT \"visits.txt\".column1 AS n FROM read_csv('visits.txt', header = false) \
                 WHERE column0 = 'a'";
    assert_eq!(rows(&folder, named), r#"{"n":7}"#);
}

#[test]
fn calls_read_compressed_files_and_patterns_of_any_ending() {
    let folder = Folder::with_table();
    for part in 0..3 {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        writeln!(packer, "{part};0{part}").unwrap();
        folder.write(&format!("part-{part}.log.gz"), packer.finish().unwrap());
    }
    let query = "SELECT sum(column0) AS n, min(column1) AS code \
                 FROM read_csv('part-*.log.gz', header = false)";
    assert_eq!(rows(&folder, query), r#"{"n":3,"code":"00"}"#);
    // Of a file without a record, the names are those that the call gives.
    folder.write("empty.csv", "");
    folder.write("mark.csv", "\u{feff}");
    for (name, options) in [
        ("empty.csv", "columns = {'q': 'BIGINT'}"),
        ("empty.csv", "names = ['q']"),
        ("mark.csv", "names = ['q']"),
    ] {
        let query =
            format!("SELECT count(q) AS n FROM read_csv('{name}', header = false, {options})");
        assert_eq!(rows(&folder, &query), r#"{"n":0}"#, "{query}");
    }
    folder.write("lines", "{\"a\":1}\n{\"a\":2}\n");
    let query = "SELECT sum(a) AS a FROM read_json('lines')";
    assert_eq!(rows(&folder, query), r#"{"a":3}"#);
    folder.ok(&["sql", "-c", "SELECT 1 AS a", "--output", "x.parquet"]);
    std::fs::rename(folder.path("x.parquet"), folder.path("x")).unwrap();
    assert_eq!(
        rows(&folder, "SELECT a FROM read_parquet('x')"),
        r#"{"a":1}"#
    );
}

/// The types are those of the first 20,000 records.
#[test]
fn later_values_are_whole_or_errors() {
    let folder = Folder::with_table();
    let many = |value: &str| format!("x\n{}", format!("{value}\n").repeat(20_000));
    folder.write(
        "time.csv",
        many("2026-01-01T10:00:00") + "2026-01-01T10:00:00.75\n",
    );
    assert_eq!(
        rows(&folder, "SELECT max(x) AS x FROM 'time.csv'"),
        r#"{"x":"2026-01-01T10:00:00.750"}"#
    );
    for (name, last, said) in [
        (
            "day.csv",
            "2026-01-02T10:00:00",
            "a DATE has no time of day",
        ),
        ("day.csv", "2026-02-30", "line 20002"),
        ("time.csv", "24:00", "line 20002"),
    ] {
        let value = if name == "day.csv" {
            "2026-01-01"
        } else {
            "2026-01-01T10:00:00"
        };
        folder.write(name, many(value) + last + "\n");
        let error = folder.fails(1, &["sql", "-c", &format!("SELECT max(x) FROM '{name}'")]);
        assert!(error.contains(said) && error.contains("20002"), "{error}");
        assert!(error.contains(name), "{error}");
    }
}

/// Values that look like a type, and have not its form, are text if they are among the first.
#[test]
fn what_only_looks_like_a_time_is_text() {
    let folder = Folder::with_table();
    for value in ["2020-02-30", "0000-00-00", "2020-01-01 24:00:00", "\u{663}"] {
        folder.write("x.csv", format!("x\n{value}\n"));
        let expected = format!("{{\"x\":\"{value}\"}}");
        assert_eq!(rows(&folder, "SELECT x FROM 'x.csv'"), expected);
    }
}

/// Records may have several lines, and the reader counts records, in some errors from zero.
#[test]
fn errors_have_the_line_of_the_file() {
    let folder = Folder::with_table();
    let good = "1,2\n".repeat(20_500);
    let quoted = "1,\"2\n\"\n".repeat(3);
    for (text, query, line) in [
        (
            format!("a,b\n{good}x,1\n"),
            "SELECT sum(a) FROM 'x.csv'",
            20_502,
        ),
        (
            format!("a,b\n{good}1,1,1\n"),
            "SELECT sum(a) FROM 'x.csv'",
            20_502,
        ),
        (
            format!("{good}x,1\n"),
            "SELECT sum(column0) FROM read_csv('x.csv', header = false)",
            20_501,
        ),
        (
            format!("a,b\n{quoted}{good}x,1\n"),
            "SELECT sum(a) FROM 'x.csv'",
            20_508,
        ),
        (
            format!("a,b\n{quoted}{good}1,1,1\n"),
            "SELECT sum(a) FROM 'x.csv'",
            20_508,
        ),
    ] {
        folder.write("x.csv", text);
        let error = folder.fails(1, &["sql", "-c", query]);
        assert!(error.contains(&format!("line {line}")), "{line}: {error}");
    }
}

/// A name with a call may be shown, and stands in files that are written.
#[test]
fn columns_are_named_by_the_call_as_it_is_written() {
    let folder = Folder::with_table();
    folder.write("x.csv", "a\n1\n");
    let query = "SELECT (SELECT count(*) FROM read_csv('x.csv')) FROM read_csv('x.csv')";
    let out = folder.ok(&["sql", "-c", query, "--format", "csv"]);
    assert_eq!(out, "(SELECT count(*) FROM read_csv('x.csv'))\n1\n");
    let explained = folder.ok(&["sql", "-c", &format!("EXPLAIN {query}")]);
    assert!(!explained.contains('\0'), "{explained}");
}

#[test]
fn pipes_and_devices_are_refused() {
    let folder = Folder::with_table();
    for query in [
        "SELECT * FROM read_csv('/dev/stdin')",
        "SELECT * FROM read_json('/dev/zero')",
        "SELECT * FROM read_parquet('/dev/null')",
    ] {
        let ran = folder.run_with(&["sql", "-c", query], b"a\n1\n");
        assert_ne!(ran.code, 0, "{query}: {}", ran.out);
        assert!(
            ran.err.contains("not that of a regular file"),
            "{}",
            ran.err
        );
    }
}

/// Whole numbers of JSON that only an unsigned type has keep their digits.
#[test]
fn large_whole_numbers_of_json_are_kept() {
    let folder = Folder::with_table();
    folder.write(
        "x.json",
        "{\"a\":18446744073709551614,\"b\":[1]}\n{\"a\":18446744073709551612,\"b\":[2]}\n",
    );
    let query = "SELECT count(DISTINCT a) AS n, max(a) AS a FROM 'x.json'";
    assert_eq!(
        rows(&folder, query),
        r#"{"n":2,"a":"18446744073709551614"}"#
    );
    let create = "CREATE TABLE u (k BIGINT UNSIGNED, PRIMARY KEY (k))";
    folder.ok(&["sql", "-c", create]);
    folder.ok(&["sql", "-c", "INSERT INTO u SELECT a FROM 'x.json'"]);
    let joined =
        "SELECT count(*) AS n FROM u JOIN 'x.json' x ON u.k = CAST(x.a AS BIGINT UNSIGNED)";
    assert_eq!(rows(&folder, joined), r#"{"n":2}"#);
    // Fields of structs that differ among files are merged as columns are.
    folder.write("one.jsonl", "{\"n\":{\"x\":1}}\n");
    folder.write("two.jsonl", "{\"n\":{\"x\":1.5,\"y\":true}}\n");
    let query = "SELECT sum(n['x']) AS x, count(n['y']) AS y FROM '*.jsonl'";
    assert_eq!(rows(&folder, query), r#"{"x":2.5,"y":1}"#);
}

/// A first record that is taken for names, or names that are taken for a record, would be a wrong answer.
#[test]
fn calls_with_mistakes_are_refused() {
    let folder = Folder::with_table();
    folder.write("x.csv", "a,b\n1,x\n");
    for (arguments, said) in [
        (
            "'x.csv', names = ['k', 'n']",
            "header = true or header = false",
        ),
        (
            "'x.csv', columns = {'k': 'BIGINT'}",
            "header = true or header = false",
        ),
        ("'x.csv', header = false, names = ['k', 'k']", "named twice"),
        (
            "'x.csv', header = false, names = ['k']",
            "the first line has 2 columns, and the query names 1",
        ),
        (
            "'x.csv', header = true, columns = {'k': 'BIGINT', 'b': 'BIGINT'}",
            "Error while parsing value 'x'",
        ),
        (
            "'x.csv', header = true, columns = {'k': 'BIGINT'}",
            "expected 1 got more than 1",
        ),
        (
            "'x.csv', header = true, columns = {'k': 'BLOB', 'b': 'TEXT'}",
            "one of the types BIGINT",
        ),
        ("'x.csv', header = 'no'", "needs true or false"),
        ("'x.csv', delim = '||'", "one ASCII character"),
        ("'x.csv', delim = ';', sep = ','", "given twice"),
        (
            "'x.csv', header = true, columns = {'a': 'BIGINT', 'b': 'TEXT'}, all_varchar = true",
            "leave `all_varchar` out",
        ),
        ("'x.csv', skip = 1", "no such option"),
        ("'x.csv', 1", "an option has a name and a value"),
        ("header = true", "is its path"),
        ("x", "is its path"),
        ("", "is its path"),
        ("'missing.csv', header = true", "missing.csv"),
    ] {
        let query = format!("SELECT * FROM read_csv({arguments})");
        let output = folder.run(&["sql", "-c", &query]);
        assert_ne!(output.code, 0, "{arguments}");
        assert!(output.err.contains(said), "{arguments}: {}", output.err);
        assert!(!output.err.contains('\0'), "{arguments}: {}", output.err);
    }
    for (call, said) in [
        (
            "read_json('x.csv', header = true)",
            "only read_csv has options",
        ),
        ("read_parquet('x.gz')", "compressed inside"),
        ("read_xlsx('x.xlsx')", "no such function of tables"),
    ] {
        let err = folder
            .run(&["sql", "-c", &format!("SELECT * FROM {call}")])
            .err;
        assert!(err.contains(said), "{call}: {err}");
    }
}

#[test]
fn errors_of_files_are_about_lines_and_columns() {
    let folder = Folder::with_table();
    folder.write("ragged.csv", "a,b\n1,2\n3\n");
    folder.write("array.json", "[{\"a\":1},\n{\"a\":2}]\n");
    folder.write("letters.csv", "Code,Title\nch,x\n");
    folder.write("twice.csv", "Code,CODE\nch,x\n");
    for (query, part) in [
        (
            "SELECT * FROM 'ragged.csv'",
            "line 3 has the wrong number of fields: 1 instead of 2",
        ),
        (
            "SELECT * FROM 'array.json'",
            "a line is not one JSON object",
        ),
        (
            "SELECT Code FROM 'twice.csv'",
            "A name with upper-case letters is written in double quotes.",
        ),
    ] {
        let ran = folder.run(&["sql", query]);
        assert!(
            ran.code > 0 && ran.err.contains(part),
            "{query}: {}",
            ran.err
        );
        assert!(
            !ran.err.contains("data:") && !ran.err.contains("datafusion"),
            "{}",
            ran.err
        );
    }
    for name in ["\"Code\"", "Code", "code", "CODE"] {
        let found = folder.ok(&["sql", &format!("SELECT {name} FROM 'letters.csv'")]);
        assert_eq!(found, "Code\nch\n");
    }
}

/// Headers of files have upper-case letters. A name is found in other letters if no column has exactly that name.
#[test]
fn columns_are_found_in_other_letters() {
    let folder = Folder::with_table();
    folder.write(
        "cases.csv",
        "Day,Country,Cases\n2024-01-01,ch,3\n2024-01-01,it,4\n2024-01-02,ch,5\n",
    );
    folder.write("lands.csv", "country,Name\nch,Switzerland\nit,Italy\n");
    let csv = |query: &str| folder.ok(&["sql", "--format", "csv", "-c", query]);
    for (query, expected) in [
        (
            "SELECT Country, sum(Cases) AS total FROM 'cases.csv' WHERE day >= '2024-01-01' GROUP BY Country HAVING \
             sum(cases) > 0 ORDER BY total DESC, country",
            "Country,total\nch,8\nit,4\n",
        ),
        // The alias, which is there, is not the column.
        (
            "SELECT upper(Country) AS country FROM 'cases.csv' ORDER BY country DESC LIMIT 1",
            "country\nIT\n",
        ),
        (
            "SELECT c.country, l.NAME FROM 'cases.csv' c JOIN 'lands.csv' l ON c.COUNTRY = l.country WHERE c.cases = 4",
            "Country,Name\nit,Italy\n",
        ),
        (
            "SELECT n FROM (SELECT name AS n, country FROM 'lands.csv') WHERE country = 'ch'",
            "n\nSwitzerland\n",
        ),
        (
            "WITH x AS (SELECT Cases * 2 AS Twice FROM 'cases.csv') SELECT max(Twice) AS m FROM x",
            "m\n10\n",
        ),
        (
            "SELECT count(*) AS n FROM 'lands.csv' WHERE country IN (SELECT c.COUNTRY FROM 'cases.csv' c WHERE cases > 4)",
            "n\n1\n",
        ),
        (
            "SELECT cases, row_number() OVER (PARTITION BY country ORDER BY cases) AS n FROM 'cases.csv' ORDER BY cases",
            "Cases,n\n3,1\n4,1\n5,2\n",
        ),
    ] {
        assert_eq!(csv(query), expected, "{query}");
    }
    // The outer query has `country`, and the subquery's own file `Country`.
    let inner = |column: &str| {
        format!("SELECT name FROM 'lands.csv' o WHERE 'fr' IN (SELECT {column} FROM 'cases.csv' c)")
    };
    for column in ["country", "c.country", "\"Country\"", "c.\"Country\""] {
        assert_eq!(csv(&inner(column)), "Name\n", "{column}");
    }
    assert_eq!(
        csv(
            "SELECT o.name FROM 'lands.csv' o WHERE EXISTS (SELECT 1 FROM 'cases.csv' c WHERE c.country = o.country AND cases = 4)"
        ),
        "Name\nItaly\n"
    );
    folder.ok(&[
        "sql",
        "-c",
        "CREATE TABLE cases (PRIMARY KEY (Day, country)) AS SELECT * FROM 'cases.csv'",
        "-c",
        "INSERT INTO cases (day, Country, CASES) VALUES (DATE '2024-01-03', 'fr', 7)",
        "-c",
        "UPDATE cases SET cases = Cases + 1 WHERE country = 'fr'",
        "-c",
        "DELETE FROM cases WHERE Country = 'it'",
    ]);
    let left = "Day,Country,Cases\n2024-01-01,ch,3\n2024-01-02,ch,5\n2024-01-03,fr,8\n";
    assert_eq!(csv("SELECT * FROM cases ORDER BY day"), left);
    // Not the outer column, which all records have.
    folder.ok(&[
        "sql",
        "-c",
        "CREATE TABLE lands (country VARCHAR PRIMARY KEY)",
        "-c",
        "INSERT INTO lands VALUES ('ch'), ('fr')",
    ]);
    let delete = "DELETE FROM lands WHERE country IN (SELECT country FROM 'cases.csv')";
    folder.ok(&["sql", "-c", delete]);
    assert_eq!(csv("SELECT * FROM lands"), "country\nfr\n");
    // In quotes, names are exact.
    folder.fails(2, &["sql", "-c", "SELECT \"country\" FROM 'cases.csv'"]);
    folder.fails(2, &["sql", "-c", "UPDATE cases SET \"cases\" = 1"]);
}
