use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, BatchWriter, BatchWriterConfig, ColumnUpdate, Entry, ErrorKind, Scanner, Source,
};
use ostrakon_testkit::reference_model::MapSource;

use super::*;
use crate::continuous::{IngestOptions, run_ingest};
use crate::{NoProgress, Progress};

fn ingested(
    entries: u64,
    options: IngestOptions,
) -> (Arc<dyn Source>, crate::continuous::IngestFigures) {
    let source: Arc<dyn Source> = Arc::new(MapSource::new());
    let options = IngestOptions {
        entries: Some(entries),
        writers: 2,
        splits: 5,
        ..options
    };
    let figures = run_ingest(&source, &options, &NoProgress).unwrap();
    (source, figures)
}

fn verify(source: &Arc<dyn Source>, memory_bytes: u64) -> VerifyFigures {
    let options = VerifyOptions {
        memory_bytes,
        threads: 2,
        ..VerifyOptions::default()
    };
    run_verify(source, &options, &NoProgress).unwrap()
}

fn some_entry(source: &Arc<dyn Source>, wanted: impl Fn(&Entry) -> bool) -> Entry {
    let entries = Scanner::new(source.table("ci").unwrap()).entries().unwrap();
    entries.into_iter().find(wanted).unwrap()
}

fn write(source: &Arc<dyn Source>, entry: &Entry, value: Option<&[u8]>) {
    let mut writer = BatchWriter::new(source.table("ci").unwrap(), BatchWriterConfig::default());
    let update = ColumnUpdate {
        family: &entry.key.family,
        qualifier: &entry.key.qualifier,
        value,
        ..ColumnUpdate::default()
    };
    writer.put(&entry.key.row, update).unwrap();
    writer.close().unwrap();
}

#[test]
fn a_sound_table_is_called_sound() {
    let options = IngestOptions {
        flush_interval: Some(50),
        ..IngestOptions::default()
    };
    let (source, ingest) = ingested(2_698, options);
    let figures = verify(&source, 512 << 20);
    assert!(figures.is_sound());
    assert_eq!(figures.entries, ingest.entries - ingest.rewritten);
    assert_eq!(figures.referenced + figures.unreferenced, figures.entries);
    // Two writers, each with one list joined from 50: one head each.
    assert_eq!(figures.unreferenced, 2);
    assert_eq!(
        (figures.foreign, figures.unchecked, figures.spilled_bytes),
        (0, 0, 0)
    );
}

#[test]
fn a_table_in_which_no_loss_would_show_is_not_called_sound() {
    // One round: first entries, which point to nothing.
    let options = IngestOptions {
        flush_interval: Some(50),
        ..IngestOptions::default()
    };
    let (source, _) = ingested(100, options.clone());
    let figures = verify(&source, 512 << 20);
    assert_eq!((figures.entries, figures.undefined), (100, 0));
    assert!(figures.fault().unwrap().contains("nothing is proved"));

    // Linked, but with a label the reader does not hold.
    let options = IngestOptions {
        visibilities: vec![b"secret".to_vec()],
        ..options
    };
    let (source, _) = ingested(2_698, options);
    let figures = verify(&source, 512 << 20);
    assert_eq!((figures.entries, figures.undefined), (0, 0));
    assert!(!figures.is_sound());
    let options = VerifyOptions {
        authorizations: Authorizations::new(["secret"]).unwrap(),
        ..VerifyOptions::default()
    };
    assert!(
        run_verify(&source, &options, &NoProgress)
            .unwrap()
            .is_sound()
    );
}

#[test]
fn a_lost_row_is_reported_with_the_row_that_points_to_it() {
    let (source, _) = ingested(2_698, IngestOptions::default());
    let before = verify(&source, 512 << 20);
    let referrer = some_entry(&source, |entry| entry.value.len() == 79);
    let lost = referrer.value[54..70].to_vec();
    let lost = some_entry(&source, |entry| entry.key.row == lost);
    write(&source, &lost, None);
    let figures = verify(&source, 512 << 20);
    assert_eq!(figures.undefined, 1);
    assert!(!figures.is_sound());
    assert_eq!(figures.entries, before.entries - 1);
    let named = &figures.undefined_examples[0];
    assert_eq!(named.row.as_bytes(), lost.key.row);
    assert_eq!(named.referenced_by[0].as_bytes(), referrer.key.row);
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    let (source, _) = ingested(600, IngestOptions::default());
    // A digit that stays one: other letters would be noticed by their form.
    let linked = |entry: &Entry| entry.value.len() == 79 && entry.value[60].is_ascii_digit();
    let mut entry = some_entry(&source, linked);
    entry.value[60] ^= 1;
    write(&source, &entry, Some(&entry.value));
    let figures = verify(&source, 512 << 20);
    assert_eq!(figures.corrupt, 1);
    assert!(!figures.is_sound());
    let example = &figures.corrupt_examples[0];
    assert!(
        example
            .key
            .starts_with(std::str::from_utf8(&entry.key.row).unwrap())
    );
    assert_eq!(example.fault, "the checksum does not match");
    // Its row does not count as existing, as in the suite, so a link to it is undefined.
    assert!(figures.undefined <= 1);
}

#[test]
fn rows_of_others_are_counted_and_passed_over() {
    let (source, _) = ingested(
        600,
        IngestOptions {
            checksum: false,
            ..IngestOptions::default()
        },
    );
    let foreign = Entry {
        key: ostrakon_cell::Key::new("al\u{1}ice", "edge", "bob"),
        value: b"cited".to_vec(),
    };
    write(&source, &foreign, Some(&foreign.value));
    let figures = verify(&source, 512 << 20);
    assert!(figures.is_sound());
    assert_eq!(
        (figures.foreign, figures.unchecked),
        (1, figures.entries - 1)
    );
    assert_eq!(figures.foreign_examples, ["al\\x01ice"]);
}

#[test]
fn little_memory_gives_the_same_answer_from_disk() {
    // Few rows, so that they crowd in a few partitions, and more marks than 4 MiB hold.
    let rows = crate::continuous::RowRange {
        min: 1 << 40,
        max: (1 << 40) + (1 << 30),
    };
    let options = IngestOptions {
        rows,
        ..IngestOptions::default()
    };
    let (source, _) = ingested(300_000, options);
    let plenty = verify(&source, 512 << 20);
    let little = verify(&source, 4 << 20);
    assert!(little.spilled_bytes > 1 << 20, "{}", little.spilled_bytes);
    assert_eq!(
        (
            plenty.referenced,
            plenty.unreferenced,
            plenty.undefined,
            plenty.entries
        ),
        (
            little.referenced,
            little.unreferenced,
            little.undefined,
            little.entries
        )
    );
    assert!(plenty.is_sound());
}

#[test]
fn hidden_entries_need_authorizations() {
    let options = IngestOptions {
        visibilities: vec![b"A".to_vec()],
        ..IngestOptions::default()
    };
    let (source, _) = ingested(600, options);
    assert_eq!(verify(&source, 512 << 20).entries, 0);
    let options = VerifyOptions {
        authorizations: Authorizations::parse("A").unwrap(),
        ..VerifyOptions::default()
    };
    let figures = run_verify(&source, &options, &NoProgress).unwrap();
    assert!(figures.is_sound() && figures.entries > 500);
}

#[test]
fn a_stopped_run_gives_no_figures() {
    struct Cancelled;
    impl Progress for Cancelled {
        fn cancelled(&self) -> bool {
            true
        }
    }
    let (source, _) = ingested(600, IngestOptions::default());
    let error = run_verify(&source, &VerifyOptions::default(), &Cancelled).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Cancelled);
    let tiny = VerifyOptions {
        memory_bytes: 1000,
        ..VerifyOptions::default()
    };
    assert!(run_verify(&source, &tiny, &NoProgress).is_err());
}
