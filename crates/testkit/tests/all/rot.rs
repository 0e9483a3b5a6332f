//! Flipped bits in every kind of file: found, named, and the rest readable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Mutation, MutationBatch, Scanner, Source, Table, TableOptions};
use ostrakon_store::clock::Random;
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::{Crash, FaultyVfs};

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

/// Whichever of the catalog's copies rots, of a store that was closed or killed: every table stays
/// readable and writable, also when the store is opened read-only, and the copy is made anew.
#[test]
fn a_rotten_catalog_is_mended_from_its_mirror() {
    let mut random = Random::from_seed(3);
    for round in 0..90 {
        let disk = store_with_everything(round);
        if round % 3 == 0 {
            let store = open(&disk, &quiet()).unwrap();
            let options = TableOptions::default();
            store.create_table("the_last_commit", &options).unwrap();
            disk.crash(Crash::Process);
        }
        let (file, other) = match round % 2 {
            0 => ("catalog", "catalog.mirror"),
            _ => ("catalog.mirror", "catalog"),
        };
        let path = |name: &str| Path::new(DIRECTORY).join(name);
        let size = len(&disk, &path(file));
        // Half of them where the pages in use are, at the front.
        let reach = [size, 4096, 40_000, 320][round as usize / 2 % 4].min(size);
        let (offset, bit) = (random.below(reach), random.below(8) as u32);
        assert!(disk.flip_bit(&path(file), offset, bit).unwrap());
        let what = format!("{file}, byte {offset} of {size}, bit {bit}, round {round}");
        let reading = StoreOptions {
            read_only: true,
            ..quiet()
        };
        for options in [reading, quiet()] {
            let store = open(&disk, &options).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            for name in ["first", "second", "logged"] {
                read(&store, name).unwrap_or_else(|error| panic!("{what}: {error:?}"));
            }
            assert_eq!(
                store.table("the_last_commit").is_ok(),
                round % 3 == 0,
                "{what}"
            );
            let report = store.check(&mut |_, _| true).unwrap();
            for problem in &report.problems {
                assert!(options.read_only, "{what}: {problem:?}");
                assert_eq!(problem.file, file, "{what}: {problem:?}");
            }
            if !options.read_only {
                fill(&store.table("second").unwrap());
            }
        }
        let bytes = |name| disk.shared().read_to_vec(&path(name), u64::MAX).unwrap();
        assert!(bytes(file) == bytes(other), "{what}");
    }
}

#[test]
fn rot_in_both_copies_of_the_catalog_is_named() {
    let disk = store_with_everything(1);
    for name in ["catalog", "catalog.mirror"] {
        let file = Path::new(DIRECTORY).join(name);
        assert!(disk.flip_bit(&file, 4, 3).unwrap());
    }
    let error = open(&disk, &quiet()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption, "{error:?}");
    let text = error.to_string();
    assert!(
        text.contains("catalog") && text.contains("checkpoint"),
        "{text}"
    );
}
