use std::io::Write as _;
use std::path::PathBuf;
use std::sync::Arc as Shared;

use datafusion::arrow::array::{
    ArrayRef, AsArray, DictionaryArray, Int64Array, RecordBatch, StringArray, StringViewArray,
};
use datafusion::arrow::datatypes::{Field, Int32Type, Int64Type};
use datafusion::arrow::ipc::CompressionType;
use datafusion::arrow::ipc::writer::{FileWriter, IpcWriteOptions, StreamWriter};

use super::*;
use crate::files::panics::caught;

const LIMIT: usize = 1 << 20;

fn rows(first: i64, count: i64) -> RecordBatch {
    let numbers: Int64Array = (first..first + count).map(Some).collect();
    let texts = numbers
        .iter()
        .map(|number| number.map(|n| format!("text {n}")));
    let texts: StringArray = texts.collect();
    let words = numbers
        .values()
        .iter()
        .map(|n| ["red", "green", "blue"][(n % 3) as usize]);
    let words: DictionaryArray<Int32Type> = words.collect();
    let long = numbers
        .values()
        .iter()
        .map(|n| Some(format!("a long text with number {n}")));
    let views: StringViewArray = long.collect();
    RecordBatch::try_from_iter([
        ("n", Shared::new(numbers) as ArrayRef),
        ("t", Shared::new(texts)),
        ("w", Shared::new(words)),
        ("v", Shared::new(views)),
    ])
    .unwrap()
}

#[derive(Debug, Clone, Copy)]
enum Form {
    File,
    Stream,
}

const FORMS: [Form; 2] = [Form::File, Form::Stream];
const CODECS: [Option<CompressionType>; 3] = [
    None,
    Some(CompressionType::LZ4_FRAME),
    Some(CompressionType::ZSTD),
];

fn written(batches: &[RecordBatch], form: Form, codec: Option<CompressionType>) -> Vec<u8> {
    let options = IpcWriteOptions::default()
        .try_with_compression(codec)
        .unwrap();
    let schema = batches[0].schema();
    let mut out = Vec::new();
    match form {
        Form::File => {
            let mut writer = FileWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            batches
                .iter()
                .for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
        Form::Stream => {
            let mut writer =
                StreamWriter::try_new_with_options(&mut out, &schema, options).unwrap();
            batches
                .iter()
                .for_each(|batch| writer.write(batch).unwrap());
            writer.finish().unwrap();
        }
    }
    out
}

fn file(folder: &tempfile::TempDir, content: &[u8]) -> PathBuf {
    let path = folder.path().join("file");
    // Not emptied first: when such a file is closed, ext4 waits until its new content is on disk.
    let options = std::fs::OpenOptions::new()
        .write(true)
        .create(true)
        .truncate(false)
        .open(&path);
    let mut file = options.unwrap();
    file.write_all(content).unwrap();
    file.set_len(content.len() as u64).unwrap();
    path
}

/// The batches of a file, of at most so many rows.
fn read(file: &Path, limit: usize, rows: usize, columns: &[usize]) -> Result<Vec<RecordBatch>> {
    let reads = Arrow::new(limit);
    let (schema, _) = reads.columns(file, 1)?;
    let wanted = Wanted {
        bytes: 0,
        schema: Shared::new(schema),
        columns: columns.to_vec(),
        rows,
    };
    let mut reader = reads.open(file, wanted)?;
    let mut batches = Vec::new();
    while let Some(batch) = reader.next()? {
        batches.push(batch);
    }
    Ok(batches)
}

#[test]
fn both_formats_are_read_with_every_codec() {
    let folder = tempfile::tempdir().unwrap();
    let batches = [rows(0, 100), rows(100, 0), rows(100, 50)];
    for form in FORMS {
        for codec in CODECS {
            let file = file(&folder, &written(&batches[..1], form, codec));
            let found = read(&file, LIMIT, 33, &[0, 1, 2, 3]).unwrap();
            let sizes: Vec<usize> = found.iter().map(RecordBatch::num_rows).collect();
            assert_eq!(sizes, [33, 33, 33, 1], "{form:?} {codec:?}");
            let columns: Vec<ArrayRef> = found[1].columns().to_vec();
            let expected = rows(0, 100).slice(33, 33);
            assert_eq!(columns, expected.columns(), "{form:?} {codec:?}");
        }
        let numbers = batches
            .each_ref()
            .map(|batch| batch.project(&[0, 1]).unwrap());
        let file = file(&folder, &written(&numbers, form, None));
        let found = read(&file, LIMIT, 1000, &[0]).unwrap();
        let found: Vec<i64> = found
            .iter()
            .flat_map(|batch| {
                batch
                    .column(0)
                    .as_primitive::<Int64Type>()
                    .values()
                    .to_vec()
            })
            .collect();
        assert_eq!(found, (0..150).collect::<Vec<_>>());
        // Of no column there are still rows.
        let found = read(&file, LIMIT, 1000, &[]).unwrap();
        assert_eq!(found.iter().map(RecordBatch::num_rows).sum::<usize>(), 150);
    }
}

#[test]
fn columns_are_found_by_their_names() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, &written(&[rows(0, 3)], Form::File, None));
    let reads = Arrow::new(LIMIT);
    let field = |name, kind| Field::new(name, kind, true);
    use datafusion::arrow::datatypes::DataType;
    let schema = Schema::new(vec![
        field("t", DataType::Utf8),
        field("other", DataType::Int64),
        field("n", DataType::Float64),
    ]);
    let wanted = Wanted {
        bytes: 0,
        schema: Shared::new(schema),
        columns: vec![2, 1, 0],
        rows: 10,
    };
    let mut reader = reads.open(&file, wanted).unwrap();
    let batch = reader.next().unwrap().unwrap();
    assert_eq!(batch.column(0).data_type(), &DataType::Float64);
    assert_eq!(batch.column(1).null_count(), 3);
    assert_eq!(batch.column(2).as_string::<i32>().value(1), "text 1");
}

/// What a file may do is to have rows, or to be an error: it never panics, and takes no more memory than the limit.
#[test]
fn damaged_files_are_errors() {
    let folder = tempfile::tempdir().unwrap();
    let (mut damaged, mut panicked) = (0, 0);
    // A byte becomes one of these in each file, and another in the next file.
    let (values, mut files) = ([0, 1, 0x7f, 0x80, 0xff], 0);
    for form in FORMS {
        for codec in CODECS {
            let whole = written(&[rows(0, 8)], form, codec);
            let mut try_bytes = |bytes: &[u8]| {
                let file = file(&folder, bytes);
                let outcome = caught(|| read(&file, LIMIT, 100, &[0, 1, 2, 3]));
                match outcome {
                    Ok(Ok(_)) => {}
                    Ok(Err(_)) => damaged += 1,
                    Err(_) => panicked += 1,
                }
            };
            for cut in 0..whole.len() {
                if cut % 7 == 0 {
                    try_bytes(&whole[..cut]);
                }
            }
            files += 1;
            for place in 0..whole.len() {
                let value = values[(place + files) % values.len()];
                if whole[place] != value {
                    let mut bytes = whole.clone();
                    bytes[place] = value;
                    try_bytes(&bytes);
                }
            }
            // Lengths of eight bytes.
            for place in (0..whole.len().saturating_sub(8)).step_by(4) {
                for value in [u64::MAX, 1 << 62, 1 << 40, 1 << 33] {
                    let mut bytes = whole.clone();
                    bytes[place..place + 8].copy_from_slice(&value.to_le_bytes());
                    try_bytes(&bytes);
                }
            }
        }
    }
    assert!(damaged > 1000, "{damaged} errors and {panicked} panics");
}

#[test]
fn files_do_not_take_more_memory_than_the_limit() {
    let folder = tempfile::tempdir().unwrap();
    let zeros: Int64Array = std::iter::repeat_n(Some(0), LIMIT).collect();
    let batch = RecordBatch::try_from_iter([("n", Shared::new(zeros) as ArrayRef)]).unwrap();
    for form in FORMS {
        for codec in CODECS {
            let content = written(std::slice::from_ref(&batch), form, codec);
            let file = file(&folder, &content);
            let error = read(&file, LIMIT, 8192, &[0]).unwrap_err().to_string();
            assert!(
                error.contains("more bytes than the memory"),
                "{form:?} {codec:?}: {error}"
            );
            assert_eq!(
                read(&file, 16 * LIMIT, 8192, &[0]).unwrap().len(),
                LIMIT / 8192
            );
        }
        // A buffer that says that it is small.
        let content = written(std::slice::from_ref(&batch), form, CODECS[1]);
        let length = (8 * LIMIT as u64).to_le_bytes();
        let place = content
            .windows(8)
            .position(|bytes| bytes == length)
            .unwrap();
        let mut content = content.clone();
        content[place..place + 8].copy_from_slice(&64_u64.to_le_bytes());
        let error = read(&file(&folder, &content), LIMIT, 8192, &[0]).unwrap_err();
        assert!(
            error.to_string().contains("wrong length"),
            "{form:?}: {error}"
        );
    }
}

#[test]
fn other_files_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let twice = RecordBatch::try_new(
        Shared::new(Schema::new(vec![
            rows(0, 1).schema().field(0).clone(),
            rows(0, 1).schema().field(0).clone(),
        ])),
        vec![rows(0, 1).column(0).clone(), rows(0, 1).column(0).clone()],
    )
    .unwrap();
    let whole = written(&[rows(0, 8)], Form::File, None);
    for (content, said) in [
        (b"FEA1 and more".to_vec(), "version 1 of the format Feather"),
        (b"a,b\n1,2\n".to_vec(), "incomplete"),
        (b"".to_vec(), "not of Arrow"),
        (whole[..whole.len() - 1].to_vec(), "no footer"),
        (written(&[twice], Form::File, None), "two columns"),
    ] {
        let error = read(&file(&folder, &content), LIMIT, 100, &[0]).unwrap_err();
        assert!(error.to_string().contains(said), "{said}: {error}");
    }
}

#[test]
fn a_missing_column_of_a_large_fixed_size_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let file = file(&folder, &written(&[rows(0, 100)], Form::File, None));
    let item = Shared::new(Field::new("item", DataType::Int64, true));
    for wide in [
        DataType::FixedSizeBinary(i32::MAX),
        DataType::FixedSizeList(item, i32::MAX),
    ] {
        let fields = [("n", DataType::Int64), ("wide", wide)];
        let fields = fields.map(|(name, kind)| Field::new(name, kind, true));
        let wanted = Wanted {
            bytes: 0,
            schema: Shared::new(Schema::new(fields.to_vec())),
            columns: vec![0, 1],
            rows: 100,
        };
        let mut reader = Arrow::new(LIMIT).open(&file, wanted).unwrap();
        let error = reader.next().unwrap_err().to_string();
        assert!(error.contains("more bytes than the memory"), "{error}");
    }
}
