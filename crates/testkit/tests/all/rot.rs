//! Flipped bits in every kind of file: found, named, and the rest readable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Mutation, MutationBatch, Scanner, Source, Table, TableOptions};
use ostrakon_store::clock::Random;
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::FaultyVfs;

use crate::harness::{DIRECTORY, open, tiny};

fn quiet() -> StoreOptions {
    StoreOptions {
        background: false,
        ..tiny()
    }
}

fn fill(table: &Arc<dyn Table>) {
    let mut batch = MutationBatch::new();
    for row in 0..400 {
        let mut mutation = Mutation::new(format!("{row:03}"));
        mutation.put("f", "q", format!("value {row}")).unwrap();
        batch.push(&mutation).unwrap();
    }
    table.submit(batch, None).unwrap().wait().unwrap();
}

/// Two tables with a file each, and one that is only in the log.
fn store_with_everything(seed: u64) -> FaultyVfs {
    let disk = FaultyVfs::new(seed);
    let store = open(&disk, &quiet()).unwrap();
    for name in ["first", "second", "logged"] {
        store.create_table(name, &TableOptions::default()).unwrap();
        let table = store.table(name).unwrap();
        fill(&table);
        if name != "logged" {
            table.flush(true).unwrap();
        }
    }
    drop(store);
    disk
}

fn files_of(disk: &FaultyVfs, part: &str) -> Vec<PathBuf> {
    let mut files = disk.files_below(Path::new(DIRECTORY));
    files.retain(|file| file.to_string_lossy().contains(part));
    files
}

fn len(disk: &FaultyVfs, file: &Path) -> u64 {
    disk.shared().len(file).unwrap()
}

/// Right, or an error; never something else.
fn read(store: &Store, name: &str) -> Result<(), ostrakon_cell::Error> {
    let entries = Scanner::new(store.table(name)?).entries()?;
    assert_eq!(entries.len(), 400, "{name} lost entries without a word");
    for (row, entry) in entries.iter().enumerate() {
        let expected = (
            format!("{row:03}").into_bytes(),
            format!("value {row}").into_bytes(),
        );
        assert_eq!(
            (entry.key.row.clone(), entry.value.clone()),
            expected,
            "{name} changed"
        );
    }
    Ok(())
}

#[test]
fn a_rotten_table_file_is_named_and_the_other_table_reads_on() {
    let mut random = Random::from_seed(1);
    let size = {
        let disk = store_with_everything(1);
        len(&disk, &files_of(&disk, "/files/")[0])
    };
    for round in 0..60 {
        let disk = store_with_everything(round);
        let file = files_of(&disk, "/files/")[0].clone();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let (offset, bit) = (random.below(size), random.below(8) as u32);
        assert!(disk.flip_bit(&file, offset, bit).unwrap());
        let what = format!("{name}, byte {offset} of {size}, bit {bit}");
        let store = open(&disk, &quiet()).unwrap_or_else(|error| panic!("{what}: {error:?}"));
        read(&store, "second").unwrap_or_else(|error| panic!("{what}: {error:?}"));
        read(&store, "logged").unwrap_or_else(|error| panic!("{what}: {error:?}"));
        if let Err(error) = read(&store, "first") {
            let kinds = [ErrorKind::Corruption, ErrorKind::NewerFormat];
            assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
            assert!(format!("{error:?}").contains(&name), "{what}: {error:?}");
        }
        let report = store.check(&mut |_, _| true).unwrap();
        let found = report
            .problems
            .iter()
            .any(|problem| problem.file.contains(&name));
        assert!(found, "{what}: check saw {:?}", report.problems);
    }
}

#[test]
fn a_rotten_log_is_named_and_files_can_be_read() {
    let mut random = Random::from_seed(2);
    let mut found = 0;
    for round in 0..60 {
        let disk = store_with_everything(round);
        let logs = files_of(&disk, "/wal/");
        let file = logs
            .iter()
            .max_by_key(|file| len(&disk, file))
            .unwrap()
            .clone();
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        let size = len(&disk, &file);
        let (offset, bit) = (random.below(size), random.below(8) as u32);
        disk.flip_bit(&file, offset, bit).unwrap();
        let what = format!("{name}, byte {offset} of {size}, bit {bit}");
        let Err(error) = open(&disk, &quiet()) else {
            // The very last record of the log cannot be told from one that was being written.
            continue;
        };
        found += 1;
        let kinds = [ErrorKind::Corruption, ErrorKind::NewerFormat];
        assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
        assert!(format!("{error:?}").contains(&name), "{what}: {error:?}");
        let reading = StoreOptions {
            read_only: true,
            ..quiet()
        };
        if let Ok(store) = open(&disk, &reading) {
            read(&store, "first").unwrap_or_else(|error| panic!("{what}: {error:?}"));
            read(&store, "second").unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
    }
    assert!(found > 20, "only {found} of 60 flips were found");
}

#[test]
fn a_rotten_catalog_is_named_or_harmless() {
    let mut random = Random::from_seed(3);
    let mut found = 0;
    for round in 0..60 {
        let disk = store_with_everything(round);
        let file = Path::new(DIRECTORY).join("catalog");
        let size = len(&disk, &file);
        // Mostly where the pages in use are, at the front.
        let reach = if round % 2 == 0 {
            size
        } else {
            size.min(40_000)
        };
        let (offset, bit) = (random.below(reach), random.below(8) as u32);
        disk.flip_bit(&file, offset, bit).unwrap();
        let what = format!("catalog, byte {offset} of {size}, bit {bit}");
        match open(&disk, &quiet()) {
            Ok(store) => {
                for name in ["first", "second", "logged"] {
                    read(&store, name).unwrap_or_else(|error| panic!("{what}: {error:?}"));
                }
            }
            Err(error) => {
                found += 1;
                assert_ne!(error.kind(), ErrorKind::Internal, "{what}: {error:?}");
                assert!(
                    format!("{error:?}").contains("catalog"),
                    "{what}: {error:?}"
                );
            }
        }
    }
    assert!(found > 0, "no flip was found");
}
