use std::io::Write;
use std::path::PathBuf;

use datafusion::arrow::array::AsArray;
use datafusion::arrow::datatypes::DataType;

use super::super::followed::CHUNK;
use super::*;

fn packed(text: &[u8], packing: Packing) -> Vec<u8> {
    match packing {
        Packing::None => text.to_vec(),
        Packing::Gzip => {
            let mut packer = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
            packer.write_all(text).unwrap();
            packer.finish().unwrap()
        }
        Packing::Zstd => zstd::encode_all(text, 1).unwrap(),
    }
}

const PACKINGS: [Packing; 3] = [Packing::None, Packing::Gzip, Packing::Zstd];

fn file(folder: &tempfile::TempDir, content: &[u8]) -> PathBuf {
    let file = folder.path().join("file");
    std::fs::write(&file, content).unwrap();
    file
}

/// Rows of the batches of a file.
fn read(reads: &Text, file: &Path, rows: usize) -> Result<Vec<usize>> {
    let (schema, _) = reads.columns(file, 1000)?;
    let wanted = Wanted {
        bytes: 0,
        columns: (0..schema.fields().len()).collect(),
        schema: Arc::new(schema),
        rows,
    };
    let mut reader = reads.open(file, wanted)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next()? {
        batches.push(batch.num_rows());
    }
    Ok(batches)
}

#[test]
fn every_row_is_read_once_whatever_the_size_of_batches_and_records() {
    let folder = tempfile::tempdir().unwrap();
    for width in [1, 50, CHUNK / 3, CHUNK, 2 * CHUNK] {
        let count = (4 * CHUNK / width).clamp(5, 3000);
        let value = "x".repeat(width);
        let csv: String = (0..count)
            .map(|n| format!("{n},\"{value}\n\"\r\n"))
            .collect();
        let json: String = (0..count)
            .map(|n| format!("{{\"n\":{n},\n \"v\":\"{value}\"}}\n\n"))
            .collect();
        for packing in PACKINGS {
            let limit = 64 * CHUNK;
            let csv_file = file(&folder, &packed(format!("n,v\n{csv}").as_bytes(), packing));
            let text = Text::delimited(b',', packing, limit);
            for rows in [1, 7, 8192] {
                let batches = read(&text, &csv_file, rows).unwrap();
                assert_eq!(batches.iter().sum::<usize>(), count, "{width} {rows}");
                assert!(batches.iter().all(|batch| *batch <= rows));
            }
            // Types are found line by line, so an object on several lines has to be known.
            let schema = Schema::new(vec![datafusion::arrow::datatypes::Field::new(
                "n",
                DataType::Int64,
                true,
            )]);
            let json_file = file(&folder, &packed(json.as_bytes(), packing));
            let wanted = Wanted {
                bytes: 0,
                schema: Arc::new(schema),
                columns: vec![0],
                rows: 100,
            };
            let mut reader = Text::json(packing, limit).open(&json_file, wanted).unwrap();
            let mut next = 0;
            while let Some(batch) = reader.next().unwrap() {
                let numbers = batch
                    .column(0)
                    .as_primitive::<datafusion::arrow::datatypes::Int64Type>();
                for number in numbers.values() {
                    assert_eq!(*number, next);
                    next += 1;
                }
            }
            assert_eq!(next, i64::try_from(count).unwrap());
        }
    }
}

#[test]
fn batches_of_large_records_have_few_rows() {
    let folder = tempfile::tempdir().unwrap();
    let value = "x".repeat(CHUNK);
    let text: String = (0..40).map(|n| format!("{n},{value}\n")).collect();
    let file = file(
        &folder,
        &packed(format!("n,v\n{text}").as_bytes(), Packing::Zstd),
    );
    let limit = 4 * CHUNK;
    let batches = read(&Text::delimited(b',', Packing::Zstd, limit), &file, 8192).unwrap();
    assert_eq!(batches.iter().sum::<usize>(), 40);
    assert!(batches.iter().all(|batch| *batch <= 2), "{batches:?}");
}

#[test]
fn records_are_limited_also_in_compressed_files() {
    let folder = tempfile::tempdir().unwrap();
    let limit = 8 * CHUNK;
    let long = "y".repeat(3 * limit);
    let begin = "1,2\n\n".repeat(2000);
    let first = "{\"a\":1}\n".repeat(1000);
    for packing in PACKINGS {
        for (reads, text, line) in [
            (
                Text::delimited(b',', packing, limit),
                format!("a,b\n{begin}\"{long}\",2\n"),
                4002,
            ),
            (
                Text::delimited(b',', packing, limit),
                format!("a,b\n1,\"{}", "5,6\n".repeat(limit)),
                2,
            ),
            (
                Text::json(packing, 8 * limit),
                format!("{{\"a\":1}}\n{{\"a\":\"{long}\"}}\n"),
                2,
            ),
            // Line ends in an object do not make it smaller. Types are found line by line, so it comes after those lines.
            (
                Text::json(packing, 8 * limit),
                format!("{first}{{\"a\":[{}1]}}\n", "1,\n".repeat(limit)),
                1001,
            ),
        ] {
            let file = file(&folder, &packed(text.as_bytes(), packing));
            let error = read(&reads, &file, 100).unwrap_err();
            let error = crate::error::of_query(error);
            let context = format!("{error:?}");
            assert!(
                error.to_string().contains("a record has more bytes"),
                "{context}"
            );
            assert!(context.contains(&line.to_string()), "{context}");
        }
    }
}

#[test]
fn damaged_compressed_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let text: String = (0..50_000_u64)
        .map(|n| format!("{n},{}\n", n.wrapping_mul(0x9E37_79B9_7F4A_7C15)))
        .collect();
    for packing in [Packing::Gzip, Packing::Zstd] {
        let whole = packed(format!("a,b\n{text}").as_bytes(), packing);
        let reads = Text::delimited(b',', packing, 64 << 20);
        let file = |content: &[u8]| file(&folder, content);
        assert_eq!(
            read(&reads, &file(&whole), 8192)
                .unwrap()
                .iter()
                .sum::<usize>(),
            50_000
        );
        // Two members, or frames, are one content.
        let two = [whole.as_slice(), &packed(b"7,8\n", packing)].concat();
        assert_eq!(
            read(&reads, &file(&two), 8192)
                .unwrap()
                .iter()
                .sum::<usize>(),
            50_001
        );
        for cut in [1, 5, whole.len() / 2, whole.len() - 1] {
            let error = read(&reads, &file(&whole[..cut]), 8192).unwrap_err();
            assert!(
                error.to_string().contains("damaged or incomplete"),
                "{cut}: {error}"
            );
        }
        let error = read(&reads, &file(b"a,b\n1,2\n"), 8192).unwrap_err();
        assert!(
            error.to_string().contains("damaged or incomplete"),
            "{error}"
        );
        let mut flipped = whole.clone();
        let middle = whole.len() / 2;
        for byte in &mut flipped[middle..middle + 64] {
            *byte ^= 0x55;
        }
        read(&reads, &file(&flipped), 8192).unwrap_err();
    }
}

#[test]
fn an_error_that_an_unclosed_quote_has_caused_is_that_of_the_quote() {
    let folder = tempfile::tempdir().unwrap();
    let reads = Text::delimited(b',', Packing::None, 64 << 20);
    let open = "a quote is not closed";
    for (text, said) in [
        ("a,b\n1,2\n3,\"4\n5,6\n", Some((open, 3))),
        // The quote of the third line ends in the fourth.
        ("a,b\n1,2\n3,\"4\n5,\"\n9,\"0\n", Some((open, 5))),
        (
            "a,b\n1,2\n3,\"4\n5,\"6\n7,8\n9,\"0\n",
            Some(("text follows the closing quote", 3)),
        ),
        ("a,b\n1,2\n3\n", None),
    ] {
        let error = read(&reads, &file(&folder, text.as_bytes()), 100).unwrap_err();
        let error = format!("{:?}", crate::error::of_query(error));
        match said {
            Some((said, line)) => {
                assert!(error.contains(said), "{error}");
                assert!(error.contains(&line.to_string()), "{error}");
            }
            None => assert!(!error.contains("quote"), "{error}"),
        }
    }
}

#[test]
fn a_column_that_begins_without_values_has_those_that_follow() {
    let folder = tempfile::tempdir().unwrap();
    let text = format!("a,b\n{}1,x\n", "1,\n".repeat(1000));
    let file = file(&folder, text.as_bytes());
    let reads = Text::delimited(b',', Packing::None, 1 << 20);
    let schema = reads
        .settled(vec![reads.columns(&file, 1000).unwrap().0])
        .unwrap();
    let wanted = Wanted {
        bytes: 0,
        schema: Arc::new(schema),
        columns: vec![1],
        rows: 8192,
    };
    let mut reader = reads.open(&file, wanted).unwrap();
    let mut values = Vec::new();
    while let Some(batch) = reader.next().unwrap() {
        let texts = batch.column(0).as_string::<i32>().iter().flatten();
        values.extend(texts.filter(|text| !text.is_empty()).map(str::to_owned));
    }
    assert_eq!(values, ["x"]);
}

#[test]
fn lines_of_json_that_hold_many_records_are_limited_while_types_are_found() {
    let folder = tempfile::tempdir().unwrap();
    for part in [" ", "{}"] {
        let text = part.repeat((16 << 20) / part.len());
        let file = file(&folder, &packed(text.as_bytes(), Packing::Zstd));
        let reads = Text::json(Packing::Zstd, 8 << 20);
        let error = reads.columns(&file, 1000).unwrap_err().to_string();
        assert!(error.contains("more bytes than the memory"), "{error}");
    }
}

#[test]
fn wide_tables_have_few_rows_in_a_batch_and_a_limit_of_columns() {
    let folder = tempfile::tempdir().unwrap();
    let reads = Text::delimited(b',', Packing::None, 1 << 20);
    let line = |columns: usize| vec!["1"; columns].join(",");
    let names: Vec<String> = (0..1000).map(|at| format!("c{at}")).collect();
    let text = format!(
        "{}\n{}",
        names.join(","),
        format!("{}\n", line(1000)).repeat(200)
    );
    let batches = read(&reads, &file(&folder, text.as_bytes()), 8192);
    let batches = batches.unwrap();
    assert_eq!(batches.iter().sum::<usize>(), 200);
    assert!(batches.iter().all(|rows| *rows <= 65), "{batches:?}");
    for first in ["", "\"\n\","] {
        let text = format!("{first}{}\n", line(300_000));
        let error = reads.columns(&file(&folder, text.as_bytes()), 1000);
        let error = error.unwrap_err().to_string();
        assert!(error.contains("more columns"), "{error}");
    }
}

/// The values of all rows, as text.
fn values(reads: &Text, file: &Path, schema: &Schema) -> Result<Vec<String>> {
    let wanted = Wanted {
        bytes: 0,
        schema: Arc::new(schema.clone()),
        columns: (0..schema.fields().len()).collect(),
        rows: 8192,
    };
    let mut reader = reads.open(file, wanted)?;
    let mut shown = Vec::new();
    while let Some(batch) = reader.next()? {
        for row in 0..batch.num_rows() {
            let value = |column: &datafusion::arrow::array::ArrayRef| {
                datafusion::arrow::util::display::array_value_to_string(column, row).unwrap()
            };
            let row: Vec<String> = batch.columns().iter().map(value).collect();
            shown.push(row.join("|"));
        }
    }
    Ok(shown)
}

#[test]
fn columns_of_delimited_files_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    for packing in PACKINGS {
        let reads = Text::delimited(b',', packing, 1 << 20);
        let first = file(&folder, &packed(b"a,b,c\n1,x,2.5\n", packing));
        let schema = reads.columns(&first, 1000).unwrap().0;
        for (text, expected) in [
            ("c,a,b\n1.5,7,y\n", "7|y|1.5"),
            ("b,d,a\nz,unused,8\n", "8|z|"),
            ("d,c\nunused,\n", "||"),
        ] {
            let other = file(&folder, &packed(text.as_bytes(), packing));
            assert_eq!(values(&reads, &other, &schema).unwrap(), [expected]);
        }
        let other = file(&folder, &packed(b"A,B,C\n1,x,2\n", packing));
        let error = values(&reads, &other, &schema).unwrap_err().to_string();
        assert!(error.contains("none of the columns"), "{error}");
        let twice = file(&folder, &packed(b"a,b,a\n1,2,3\n", packing));
        let error = reads.columns(&twice, 1000).unwrap_err().to_string();
        assert!(error.contains("names `a` twice"), "{error}");
    }
}

#[test]
fn values_of_json_are_read_as_they_are_written() {
    let folder = tempfile::tempdir().unwrap();
    let reads = Text::json(Packing::None, 64 << 20);
    let after = |first: &str, last: &str| {
        let text = format!("{}{last}\n", format!("{first}\n").repeat(1000));
        let file = file(&folder, text.as_bytes());
        let schema = reads
            .settled(vec![reads.columns(&file, 1000).unwrap().0])
            .unwrap();
        values(&reads, &file, &schema)
    };
    let last = |first: &str, last: &str| after(first, last).unwrap().pop().unwrap();
    assert_eq!(last("{\"a\":1}", "{\"a\":-7}"), "-7");
    assert_eq!(last("{\"a\":1.5}", "{\"a\":2}"), "2.0");
    let marked = file(&folder, "\u{feff}{\"a\":1}\n".as_bytes());
    let schema = reads.columns(&marked, 1000).unwrap().0;
    assert_eq!(values(&reads, &marked, &schema).unwrap(), ["1"]);
    assert_eq!(last("{\"a\":\"x\"}", "{\"a\":2.50}"), "2.50");
    assert_eq!(last("{\"a\":null}", "{\"a\":3}"), "3");
    for (whole, shown) in [
        ("2.0", "2"),
        ("-1e3", "-1000"),
        ("0.0", "0"),
        ("1E2", "100"),
    ] {
        assert_eq!(last("{\"a\":1}", &format!("{{\"a\":{whole}}}")), shown);
    }
    assert_eq!(
        last(
            "{\"a\":9223372036854775807}",
            "{\"a\":-9223372036854775808}"
        ),
        "-9223372036854775808"
    );
    for (first, last) in [
        ("{\"a\":1}", "{\"a\":2.9}"),
        ("{\"a\":1}", "{\"a\":9223372036854775808}"),
        ("{\"a\":1}", "{\"a\":1e19}"),
        ("{\"a\":1}", "{\"a\":true}"),
        ("{\"a\":{\"b\":1}}", "{\"a\":{\"b\":2.9}}"),
        ("{\"a\":[1]}", "{\"a\":[2.9]}"),
    ] {
        let error = after(first, last).unwrap_err().to_string();
        assert!(error.contains("column `a` has whole numbers"), "{error}");
    }
}

#[test]
fn codes_with_zeros_before_them_are_text() {
    let folder = tempfile::tempdir().unwrap();
    for packing in PACKINGS {
        let reads = Text::delimited(b',', packing, 1 << 20);
        let text = "id,code,rate,none,f\n1,10,0.5,,1.5\n2,00123,0,,02.5\n3,\"-07\",10,,\n";
        let file = file(&folder, &packed(text.as_bytes(), packing));
        let schema = reads.columns(&file, 1000).unwrap().0;
        let kinds: Vec<String> = schema
            .fields()
            .iter()
            .map(|field| field.data_type().to_string())
            .collect();
        assert_eq!(kinds, ["Int64", "Utf8", "Float64", "Null", "Utf8"]);
        let expected = ["1|10|0.5||1.5", "2|00123|0.0||02.5", "3|-07|10.0||"];
        assert_eq!(
            values(&reads, &file, &reads.settled(vec![schema]).unwrap()).unwrap(),
            expected
        );
        // Only the first records decide.
        let schema = reads.columns(&file, 1).unwrap().0;
        assert_eq!(schema.field(1).data_type(), &DataType::Int64);
    }
}

#[test]
fn the_first_line_tells_the_delimiter() {
    let folder = tempfile::tempdir().unwrap();
    for packing in PACKINGS {
        let reads = Text::delimited(b',', packing, 1 << 20);
        let first = file(
            &folder,
            &packed("a;b\n1;\"x;y\"\n2;1,5\n".as_bytes(), packing),
        );
        let schema = reads.columns(&first, 1000).unwrap().0;
        assert_eq!(values(&reads, &first, &schema).unwrap(), ["1|x;y", "2|1,5"]);
        // Files of one pattern may differ.
        for text in ["b|a\nz|3\n", "b\ta\nz\t3\n", "b,a\nz,3\n"] {
            let other = file(&folder, &packed(text.as_bytes(), packing));
            assert_eq!(values(&reads, &other, &schema).unwrap(), ["3|z"], "{text}");
        }
        let open = file(&folder, &packed(b"a;b\n1;\"x\n2;3\n", packing));
        let error = values(&reads, &open, &schema).unwrap_err().to_string();
        assert!(error.contains("a quote is not closed"), "{error}");
    }
    // A name that ends in .tsv says what the delimiter is.
    let reads = Text::delimited(b'\t', Packing::None, 1 << 20);
    let one = file(&folder, b"a;b\n1;2\n");
    assert_eq!(reads.columns(&one, 1000).unwrap().0.fields().len(), 1);
}
