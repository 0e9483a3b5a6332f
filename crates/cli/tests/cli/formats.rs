//! Compressed files and Parquet, in and out.

use std::io::Write as _;

use crate::run::Folder;

/// A table with three rows, and what a scan shows of it.
fn people() -> (Folder, String) {
    let folder = Folder::with_table();
    folder.import_csv("anna,Zürich,\nbert,a\\b,\ncora,\"two\nlines\",\n");
    let shown = folder.ok(&["scan", "t", "-t"]);
    assert_eq!(shown.lines().count(), 3);
    (folder, shown)
}

#[test]
fn compressed_exports_are_imported_by_their_content() {
    let (folder, before) = people();
    for (ending, magic) in [("gz", &b"\x1f\x8b"[..]), ("zst", b"\x28\xb5\x2f\xfd")] {
        for format in ["csv", "tsv", "jsonl"] {
            let file = folder.text(&format!("e.{format}.{ending}"));
            folder.ok(&["export", "t", &file]);
            let bytes = std::fs::read(&file).unwrap();
            assert!(bytes.starts_with(magic), "{file}");
            let table = format!("{format}_{ending}");
            folder.ok(&["import", &table, &file, "--entries", "--create"]);
            assert_eq!(folder.ok(&["scan", &table, "-t"]), before, "{file}");
            // The name does not matter, and neither does a pipe.
            let table = format!("{table}_piped");
            let ran = folder.run_with(
                &[
                    "import",
                    &table,
                    "-",
                    "--entries",
                    "--create",
                    "--format",
                    format,
                ],
                &bytes,
            );
            assert_eq!(ran.code, 0, "{}", ran.err);
            assert_eq!(folder.ok(&["scan", &table, "-t"]), before, "{file}");
        }
    }
}

/// Files have all text as it is, and a terminal what can be seen of it.
#[test]
fn text_is_escaped_only_where_it_must_be() {
    let folder = Folder::with_table();
    let text = "≤ “q” 🙂 é 中文 — हिन्दी";
    folder.ok(&["put", "t", "a", "f", "q", text, "-t", "1"]);
    folder.ok(&[
        "put",
        "t",
        "b",
        "f",
        "q",
        "x\u{200d}y\u{a0}z\\x0a\\xff\\\\",
        "-t",
        "2",
    ]);
    assert_eq!(
        folder.ok(&["scan", "t"]),
        format!("a f:q []\t{text}\nb f:q []\tx\\xe2\\x80\\x8dy\\xc2\\xa0z\\x0a\\xff\\\\\n")
    );
    let kept = "x\u{200d}y\u{a0}z\\x0a\\xff\\\\";
    for (format, separator) in [("csv", ','), ("tsv", '\t')] {
        let shown = folder.ok(&["export", "t", "--format", format]);
        let ends: Vec<&str> = shown
            .lines()
            .skip(1)
            .map(|line| line.rsplit(separator).next().unwrap())
            .collect();
        assert_eq!(ends, [text, kept], "{format}");
        let file = folder.write(&format!("e.{format}"), &shown);
        folder.ok(&["import", format, &file, "--entries", "--create"]);
        assert_eq!(
            folder.ok(&["scan", format, "-t"]),
            folder.ok(&["scan", "t", "-t"])
        );
    }
    #[cfg(feature = "sql")]
    assert_eq!(
        folder.ok(&[
            "sql",
            "-c",
            "SELECT value FROM t ORDER BY row",
            "--format",
            "csv"
        ]),
        format!("value\n{text}\n{kept}\n")
    );
}

#[test]
fn parts_of_compressed_files_follow_each_other() {
    let folder = Folder::with_table();
    let gzip = |text: &str| {
        let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
        packer.write_all(text.as_bytes()).unwrap();
        packer.finish().unwrap()
    };
    let zstd = |text: &str| zstd::encode_all(text.as_bytes(), 1).unwrap();
    for (name, parts) in [
        ("a", [gzip("id,v\n1,a\n"), gzip("2,b\n")]),
        ("b", [zstd("id,v\n3,c\n"), zstd("4,d\n")]),
    ] {
        let file = folder.write(name, parts.concat());
        folder.ok(&["import", "t", &file, "--format", "csv", "--row", "id"]);
    }
    assert_eq!(folder.ok(&["scan", "t", "--values-only"]), "a\nb\nc\nd\n");
    let whole = gzip("id,v\n5,e\n");
    let file = folder.write("cut.csv.gz", &whole[..whole.len() - 9]);
    let err = folder.fails(1, &["import", "t", &file, "--row", "id"]);
    assert!(
        err.contains("cannot read the file") && err.contains("cut.csv.gz"),
        "{err}"
    );
}

#[test]
fn foreign_archives_and_formats_are_named() {
    let folder = Folder::with_table();
    let file = folder.write("a.csv.xz", b"\xfd7zXZ\0\0\x04");
    let err = folder.fails(2, &["import", "t", &file, "--row", "id"]);
    assert!(err.contains("xzcat"), "{err}");
    let err = folder.fails(2, &["export", "t", "out.xlsx"]);
    for format in [".csv", ".tsv", ".jsonl", ".parquet", ".gz", ".zst"] {
        assert!(err.contains(format), "{err}");
    }
    assert!(!folder.path("out.xlsx").exists());
    folder.ok(&["export", "t", "out.xlsx", "--format", "csv"]);
}

#[cfg(feature = "parquet")]
mod parquet_files {
    use std::sync::Arc;

    use parquet::data_type::{ByteArray, ByteArrayType, DoubleType, Int64Type};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;

    use super::people;
    use crate::run::Folder;

    #[test]
    fn an_export_comes_back() {
        let (folder, before) = people();
        folder.ok(&["export", "t", "e.parquet"]);
        folder.ok(&["import", "u", "e.parquet", "--entries", "--create"]);
        assert_eq!(folder.ok(&["scan", "u", "-t"]), before);
        // Bytes that are not text need columns of bytes.
        folder.ok(&["put", "t", "\\xff", "", "", "\\xfe"]);
        let err = folder.fails(1, &["export", "t", "f.parquet"]);
        assert!(err.contains("--binary"), "{err}");
        assert!(!folder.path("f.parquet").exists());
        folder.ok(&["export", "t", "f.parquet", "--binary"]);
        folder.ok(&["import", "v", "f.parquet", "--entries", "--create"]);
        assert_eq!(
            folder.ok(&["scan", "v", "-t"]),
            folder.ok(&["scan", "t", "-t"])
        );
        folder.fails(2, &["export", "t", "f.csv", "--binary"]);
    }

    /// A file with columns of several types, as other programs write it.
    fn typed() -> Vec<u8> {
        let schema = "message m {
            required int64 id;
            optional binary name (STRING);
            required double height;
            optional int64 at (TIMESTAMP(MICROS, true));
            optional group user { optional binary mail (STRING); }
        }";
        let schema = Arc::new(parse_message_type(schema).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        let text = |text: &str| ByteArray::from(text.as_bytes().to_vec());
        let mut column = group.next_column().unwrap().unwrap();
        let ints = column.typed::<Int64Type>();
        ints.write_batch(&[1, 2], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let names = column.typed::<ByteArrayType>();
        names
            .write_batch(&[text("anna")], Some(&[1, 0]), None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let heights = column.typed::<DoubleType>();
        heights.write_batch(&[1.5, 2.0], None, None).unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let times = column.typed::<Int64Type>();
        times
            .write_batch(&[1_431_857_103_000_000], Some(&[1, 0]), None)
            .unwrap();
        column.close().unwrap();
        let mut column = group.next_column().unwrap().unwrap();
        let mails = column.typed::<ByteArrayType>();
        mails
            .write_batch(&[text("a@b")], Some(&[2, 0]), None)
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn columns_become_fields() {
        let folder = Folder::with_table();
        let file = folder.write("typed.parquet", typed());
        let arguments = ["import", "t", &file, "--row", "id"];
        folder.ok(&arguments);
        assert_eq!(
            folder.ok(&["scan", "t"]),
            "1 :at []\t2015-05-17T10:05:03Z\n1 :height []\t1.5\n1 :name []\tanna\n\
             1 :user.mail []\ta@b\n2 :height []\t2\n"
        );
        let err = folder.fails(2, &["import", "t", &file, "--row", "nme"]);
        assert!(err.contains("did you mean `name`?"), "{err}");
        let timed = [
            "import",
            "u",
            &file,
            "--row",
            "id",
            "--timestamp-field",
            "at",
            "--create",
        ];
        let err = folder.fails(1, &timed);
        assert!(
            err.contains(":2: field `at` of the timestamp is missing"),
            "{err}"
        );
        let found = folder.ok(&["scan", "u", "-t"]);
        assert!(found.contains("1 :name [] 1431857103000\tanna"), "{found}");
    }

    /// A file with one row, whose columns of integers have these logical types.
    fn times(columns: &[(&str, i64)]) -> Vec<u8> {
        let fields = columns.iter().enumerate();
        let fields: String = fields
            .map(|(at, (kind, _))| format!("required int64 c{at} ({kind});\n"))
            .collect();
        let schema = format!(
            "message m {{ {fields} optional group l (LIST) {{ repeated group list {{ required int64 element \
             (TIMESTAMP(NANOS,true)); }} }} }}"
        );
        let schema = Arc::new(parse_message_type(&schema).unwrap());
        let mut writer = SerializedFileWriter::new(Vec::new(), schema, Default::default()).unwrap();
        let mut group = writer.next_row_group().unwrap();
        for (_, value) in columns {
            let mut column = group.next_column().unwrap().unwrap();
            let values = column.typed::<Int64Type>();
            values.write_batch(&[*value], None, None).unwrap();
            column.close().unwrap();
        }
        let mut column = group.next_column().unwrap().unwrap();
        let values = column.typed::<Int64Type>();
        values
            .write_batch(&[1, 2], Some(&[2, 2]), Some(&[0, 1]))
            .unwrap();
        column.close().unwrap();
        group.close().unwrap();
        writer.into_inner().unwrap()
    }

    #[test]
    fn times_of_every_unit_are_texts_of_one_form() {
        let folder = Folder::with_table();
        let file = folder.write(
            "times.parquet",
            times(&[
                ("TIMESTAMP(MILLIS,true)", 1_431_857_103_001),
                ("TIMESTAMP(MICROS,false)", 1_431_857_103_000_001),
                ("TIMESTAMP(NANOS,true)", 1_431_857_103_000_000_001),
                ("TIMESTAMP(NANOS,false)", -1),
                ("TIME(MICROS,true)", 3_600_000_001),
                ("TIME(NANOS,true)", 86_399_999_999_999),
            ]),
        );
        folder.ok(&["import", "t", &file, "--row", "@line"]);
        assert_eq!(
            folder.ok(&["scan", "t", "--values-only"]),
            "2015-05-17T10:05:03.001Z\n2015-05-17T10:05:03.000001Z\n2015-05-17T10:05:03.000000001Z\n\
             1969-12-31T23:59:59.999999999Z\n01:00:00.000001\n23:59:59.999999999\n\
             [\"1970-01-01T00:00:00.000000001Z\",\"1970-01-01T00:00:00.000000002Z\"]\n"
        );
        folder.ok(&["events", "create", "e", "--from", &file, "--map", "c2=ts"]);
        folder.ok(&["events", "ingest", "e", &file, "--map", "c2=ts"]);
        let found = folder.ok(&["events", "query", "e", "--fields", "ts,c3"]);
        assert_eq!(
            found,
            "2015-05-17T10:05:03Z ts=2015-05-17T10:05:03.000000001Z c3=1969-12-31T23:59:59.999999999Z\n"
        );
    }

    #[test]
    fn what_is_not_a_parquet_file_is_refused() {
        let folder = Folder::with_table();
        let whole = typed();
        let file = folder.write("cut.parquet", &whole[..whole.len() - 20]);
        let err = folder.fails(1, &["import", "t", &file, "--row", "id"]);
        assert!(err.contains("the Parquet file cannot be read"), "{err}");
        let ran = folder.run_with(&["import", "t", "-", "--row", "id"], &whole);
        assert!(ran.code == 2 && ran.err.contains("pipe"), "{}", ran.err);
        let text = folder.write("text.csv", "id\n1\n");
        folder.fails(
            2,
            &["import", "t", &text, "--row", "id", "--format", "parquet"],
        );
    }
}
