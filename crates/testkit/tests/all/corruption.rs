//! Flipped bits in every kind of file: the damage is found and named, and the rest is readable.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Mutation, MutationBatch, Scanner, Source, Table, TableOptions};
use ostrakon_store::clock::Random;
use ostrakon_store::{Components, Store, StoreOptions};
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

/// Two tables with one file each, and one that is only in the log.
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

/// The result is correct, or an error.
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
fn a_damaged_table_file_is_named_and_the_other_table_stays_readable() {
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
fn a_damaged_log_is_named_and_files_stay_readable() {
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
            // Damage of the last record of the log looks like a record that was being written.
            continue;
        };
        found += 1;
        let kinds = [ErrorKind::Corruption, ErrorKind::NewerFormat];
        assert!(kinds.contains(&error.kind()), "{what}: {error:?}");
        assert!(format!("{error:?}").contains(&name), "{what}: {error:?}");
        let mut reading = StoreOptions {
            read_only: true,
            ..quiet()
        };
        let refused = open(&disk, &reading).err().map(|error| error.kind());
        assert!(refused.is_some(), "{what}: opened as if all were there");
        reading.allow_damage = true;
        if let Ok(store) = open(&disk, &reading) {
            assert!(!store.damages().is_empty(), "{what}");
            read(&store, "first").unwrap_or_else(|error| panic!("{what}: {error:?}"));
            read(&store, "second").unwrap_or_else(|error| panic!("{what}: {error:?}"));
        }
    }
    assert!(found > 20, "only {found} of 60 flips were found");
}

fn large_batch(first: u32) -> MutationBatch {
    let mut batch = MutationBatch::new();
    for row in first..first + 40 {
        let mut mutation = Mutation::new(format!("{row:03}"));
        mutation.put("f", "q", "v".repeat(1000)).unwrap();
        batch.push(&mutation).unwrap();
    }
    batch
}

/// A store with a table in a file, and one of 360 rows in several segments of the log; closed, or killed.
fn store_with_a_long_log(closed: bool) -> FaultyVfs {
    let disk = FaultyVfs::new(7);
    let options = roomy(false);
    let store = open(&disk, &options).unwrap();
    for name in ["first", "logged"] {
        store.create_table(name, &TableOptions::default()).unwrap();
    }
    fill(&store.table("first").unwrap());
    store.table("first").unwrap().flush(true).unwrap();
    let table = store.table("logged").unwrap();
    for part in 0..9 {
        table
            .submit(large_batch(part * 40), None)
            .unwrap()
            .wait()
            .unwrap();
    }
    if !closed {
        disk.crash(Crash::Process);
    }
    disk
}

fn roomy(read_only: bool) -> StoreOptions {
    StoreOptions {
        memory_budget_bytes: 16 << 20,
        read_only,
        allow_damage: read_only,
        ..quiet()
    }
}

#[test]
fn a_missing_segment_of_the_log_is_named_and_the_rest_is_readable() {
    for closed in [true, false] {
        let disk = store_with_a_long_log(closed);
        let vfs = disk.shared();
        let mut segments = files_of(&disk, "/wal/");
        segments.retain(|file| len(&disk, file) > 24);
        assert!(segments.len() > 3, "{segments:?}");
        let newest = segments.len() - 1;
        for (at, path) in segments.iter().enumerate() {
            let what = format!("closed {closed}, segment {at} of {newest}");
            let name = path.file_name().unwrap().to_string_lossy().into_owned();
            let bytes = vfs.read_to_vec(path, u64::MAX).unwrap();
            vfs.remove(path).unwrap();
            // After a kill, a loss of the newest records cannot be noticed.
            if !closed && at == newest {
                continue;
            }
            let error = open(&disk, &roomy(false)).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::Corruption, "{what}: {error:?}");
            let text = error.to_string();
            assert!(
                text.contains(&name) && text.contains("missing"),
                "{what}: {text}"
            );
            let store = open(&disk, &roomy(true)).unwrap();
            read(&store, "first").unwrap();
            let left = Scanner::new(store.table("logged").unwrap())
                .entries()
                .unwrap()
                .len();
            // Nothing is read after the gap, because a delete may be missing.
            assert!(left < 360, "{what}: {left}");
            assert_eq!(store.damages().len(), 1, "{what}: {:?}", store.damages());
            let report = store.check(&mut |_, _| true).unwrap();
            let problems: Vec<_> = report.problems.iter().map(|p| p.file.clone()).collect();
            assert_eq!(problems, [format!("wal/{name}")], "{what}");
            drop(store);
            vfs.create(path).unwrap().write_all(&bytes).unwrap();
        }
        let store = open(&disk, &roomy(false)).unwrap();
        let rows = Scanner::new(store.table("logged").unwrap())
            .entries()
            .unwrap();
        assert!(rows.len() == 360 || !closed, "{}", rows.len());
        // A check of the open store finds it too; segments that were flushed and deleted are not reported.
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
        vfs.remove(&segments[1]).unwrap();
        let report = store.check(&mut |_, _| true).unwrap();
        assert_eq!(report.problems.len(), 1, "{:?}", report.problems);
        store.table("logged").unwrap().flush(true).unwrap();
        drop(store);
        let store = open(&disk, &roomy(false)).unwrap();
        assert_eq!(store.check(&mut |_, _| true).unwrap().problems, []);
    }
}

#[test]
fn a_checkpoint_misses_no_segment_of_the_log_it_came_from() {
    let disk = store_with_a_long_log(true);
    let store = open(&disk, &roomy(false)).unwrap();
    store.checkpoint(Path::new("/copy")).unwrap();
    drop(store);
    let components = Components {
        vfs: disk.shared(),
        ..Components::default()
    };
    for _ in 0..2 {
        let copy = Store::open_with(components.clone(), "/copy", roomy(false)).unwrap();
        read(&copy, "first").unwrap();
        assert_eq!(copy.check(&mut |_, _| true).unwrap().problems, []);
        copy.table("logged")
            .unwrap()
            .submit(large_batch(0), None)
            .unwrap()
            .wait()
            .unwrap();
    }
}

/// If one copy of the catalog is damaged, in a store that was closed or killed, every table stays
/// readable and writable, also when the store is opened read-only, and the copy is restored.
#[test]
fn a_damaged_catalog_is_restored_from_its_mirror() {
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
        // Half of them at the beginning, where the used pages are.
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
fn damage_in_both_copies_of_the_catalog_is_named() {
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
