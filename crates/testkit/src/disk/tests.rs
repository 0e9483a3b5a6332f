//! The failing disk fails as asked, and otherwise keeps every promise.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use ostrakon_store::catalog::{Catalog, CatalogIdentity, NewTable};
use ostrakon_store::clock::Random;
use ostrakon_store::error::{ErrorKind, StoreResult};
use ostrakon_store::vfs::{MemoryVfs, RealVfs, Vfs};

use super::*;

fn root() -> &'static Path {
    Path::new("/data")
}

fn disk(seed: u64) -> FaultyVfs {
    let disk = FaultyVfs::new(seed);
    disk.create_dir_all(root()).unwrap();
    disk.sync_dir(Path::new("/")).unwrap();
    disk
}

fn kind<T>(result: StoreResult<T>) -> ErrorKind {
    match result {
        Ok(_) => panic!("an error was expected"),
        Err(error) => error.kind(),
    }
}

fn content(disk: &FaultyVfs, path: &Path) -> Option<Vec<u8>> {
    disk.exists(path)
        .unwrap()
        .then(|| disk.read_to_vec(path, 1 << 30).unwrap())
}

#[test]
fn all_disks_pass_the_examiner() {
    examine_disk(&disk(1), root());
    let memory = MemoryVfs::new();
    memory.create_dir_all(root()).unwrap();
    examine_disk(&memory, root());
    let directory = tempfile::tempdir().unwrap();
    examine_disk(&RealVfs, directory.path());
}

#[test]
fn power_loss_keeps_what_was_synced_and_nothing_else() {
    let disk = disk(1);
    let [synced, unsynced, unnamed] = ["synced", "unsynced", "unnamed"].map(|n| root().join(n));
    let mut file = disk.create(&synced).unwrap();
    file.write_all(b"kept").unwrap();
    file.sync_data().unwrap();
    file.write_all(b" lost").unwrap();
    disk.create(&unsynced).unwrap().write_all(b"lost").unwrap();
    disk.sync_dir(root()).unwrap();
    let mut nameless = disk.create(&unnamed).unwrap();
    nameless.write_all(b"synced, but its name was not").unwrap();
    nameless.sync_data().unwrap();
    assert_eq!(content(&disk, &synced).unwrap(), b"kept lost");

    disk.crash(Crash::PowerLost);
    assert_eq!(content(&disk, &synced).unwrap(), b"kept");
    assert_eq!(
        content(&disk, &unsynced).unwrap(),
        b"",
        "the name is durable, the content is not"
    );
    assert_eq!(content(&disk, &unnamed), None);
    for dead in [
        file.write_all(b"x"),
        file.sync_data(),
        nameless.write_all(b"x"),
    ] {
        assert!(dead.unwrap_err().to_string().contains("opened") || file.sync_data().is_err());
    }
}

#[test]
fn the_death_of_the_process_keeps_every_write() {
    let disk = disk(1);
    let path = root().join("file");
    let lock = disk.lock(&root().join("LOCK")).unwrap();
    disk.create(&path).unwrap().write_all(b"written").unwrap();
    disk.crash(Crash::Process);
    assert_eq!(content(&disk, &path).unwrap(), b"written");
    let again = disk.lock(&root().join("LOCK"));
    assert!(again.is_ok(), "the lock died with its process");
    drop(lock);
    assert_eq!(
        kind(disk.lock(&root().join("LOCK"))),
        ErrorKind::Locked,
        "the new lock holds"
    );
}

#[test]
fn removals_and_renames_are_durable_with_their_directory() {
    let disk = disk(1);
    let [a, b, c] = ["a", "b", "c"].map(|name| root().join(name));
    for path in [&a, &b] {
        let mut file = disk.create(path).unwrap();
        file.write_all(path.as_os_str().as_encoded_bytes()).unwrap();
        file.sync_data().unwrap();
    }
    disk.sync_dir(root()).unwrap();
    disk.rename(&a, &c).unwrap();
    disk.remove(&b).unwrap();
    disk.crash(Crash::PowerLost);
    assert_eq!(
        content(&disk, &a).unwrap(),
        b"/data/a",
        "neither was synced"
    );
    assert_eq!(content(&disk, &b).unwrap(), b"/data/b");
    assert_eq!(content(&disk, &c), None);

    disk.rename(&a, &c).unwrap();
    disk.remove(&b).unwrap();
    disk.sync_dir(root()).unwrap();
    disk.crash(Crash::PowerLost);
    assert_eq!((content(&disk, &a), content(&disk, &b)), (None, None));
    assert_eq!(content(&disk, &c).unwrap(), b"/data/a");
}

#[test]
fn a_directory_that_was_not_synced_takes_its_files_with_it() {
    let disk = disk(1);
    let inner = root().join("inner");
    disk.create_dir_all(&inner).unwrap();
    disk.create(&inner.join("file"))
        .unwrap()
        .sync_data()
        .unwrap();
    disk.sync_dir(&inner).unwrap();
    disk.crash(Crash::PowerLost);
    assert!(!disk.exists(&inner).unwrap() && !disk.exists(&inner.join("file")).unwrap());
}

#[test]
fn a_torn_write_leaves_a_prefix() {
    let mut lengths = std::collections::BTreeSet::new();
    for seed in 0..200 {
        let disk = disk(seed);
        let path = root().join("log");
        let mut file = disk.create(&path).unwrap();
        disk.sync_dir(root()).unwrap();
        file.write_all(b"synced;").unwrap();
        file.sync_data().unwrap();
        file.write_all(b"first;").unwrap();
        file.write_all(b"second;").unwrap();
        disk.crash(Crash::PowerLostTorn);
        let left = content(&disk, &path).unwrap();
        assert!(
            left.len() >= 7 && b"synced;first;second;".starts_with(&left),
            "{left:?}"
        );
        lengths.insert(left.len());
    }
    assert_eq!(lengths, (7..=20).collect(), "every place can tear");
}

#[test]
fn scattered_sectors_may_leave_holes() {
    let (mut holes, mut wholes) = (0, 0);
    for seed in 0..100 {
        let disk = disk(seed);
        let path = root().join("log");
        let mut file = disk.create(&path).unwrap();
        disk.sync_dir(root()).unwrap();
        file.write_all(&[b'x'; 100]).unwrap();
        file.sync_data().unwrap();
        file.write_all(&[b'y'; 1500]).unwrap();
        disk.crash(Crash::PowerLostScattered);
        let left = content(&disk, &path).unwrap();
        assert_eq!(left[..100], [b'x'; 100], "what was synced is whole");
        let sector = |n: usize| left.get(512 * n + 100..512 * n + 200).map(|part| part[0]);
        assert!([None, Some(0), Some(b'y')].contains(&sector(1)));
        holes += usize::from(sector(1) == Some(0));
        wholes += usize::from(left.len() == 1600 && !left.contains(&0));
    }
    assert!(holes > 10 && wholes > 2, "{holes} holes, {wholes} whole");
}

#[test]
fn a_seed_gives_the_same_crash_again() {
    let run = |seed| {
        let disk = disk(seed);
        for index in 0..20_u8 {
            let mut file = disk.create(&root().join(format!("{index}"))).unwrap();
            file.write_all(&[index; 3000]).unwrap();
        }
        disk.crash(Crash::PowerLostScattered);
        let files = disk.files_below(root());
        files
            .iter()
            .map(|path| (path.clone(), content(&disk, path)))
            .collect::<Vec<_>>()
    };
    assert_eq!(run(5), run(5));
    assert_ne!(run(5), run(6));
}

#[test]
fn after_a_failed_sync_the_data_is_lost_though_later_syncs_succeed() {
    let disk = disk(1);
    let path = root().join("file");
    let mut file = disk.create(&path).unwrap();
    disk.sync_dir(root()).unwrap();
    disk.set_faults(Faults {
        fail_sync_after: Some(1),
        ..Faults::default()
    });
    file.write_all(b"one").unwrap();
    file.sync_data().unwrap();
    file.write_all(b"two").unwrap();
    assert_eq!(kind(file.sync_data()), ErrorKind::Io);
    assert_eq!(
        kind(file.sync_data()),
        ErrorKind::Io,
        "the handle remembers"
    );
    assert_eq!(kind(file.write_all(b"three")), ErrorKind::Io);
    assert_eq!(
        content(&disk, &path).unwrap(),
        b"onetwo",
        "programs still see it"
    );
    let other = disk.open_random(&path).unwrap();
    other.sync_data().unwrap();
    disk.crash(Crash::PowerLost);
    assert_eq!(content(&disk, &path).unwrap(), b"one");
}

#[test]
fn a_failed_sync_of_a_directory_loses_the_names() {
    let disk = disk(1);
    disk.create(&root().join("file")).unwrap();
    disk.set_faults(Faults {
        fail_sync_after: Some(0),
        ..Faults::default()
    });
    assert_eq!(kind(disk.sync_dir(root())), ErrorKind::Io);
    disk.sync_dir(root()).unwrap();
    disk.crash(Crash::PowerLost);
    assert!(!disk.exists(&root().join("file")).unwrap());
}

#[test]
fn a_killed_process_changes_nothing_and_loses_nothing() {
    let disk = disk(1);
    let path = root().join("file");
    let mut file = disk.create(&path).unwrap();
    file.write_all(b"one").unwrap();
    disk.set_faults(Faults {
        die_after_operations: Some(0),
        ..Faults::default()
    });
    assert_eq!(kind(file.write_all(b"two")), ErrorKind::Io);
    assert_eq!(kind(file.sync_data()), ErrorKind::Io);
    assert_eq!(kind(disk.sync_dir(root())), ErrorKind::Io);
    assert_eq!(kind(disk.remove(&path)), ErrorKind::Io);
    disk.crash(Crash::Process);
    disk.open_random(&path).unwrap().sync_data().unwrap();
    disk.sync_dir(root()).unwrap();
    disk.crash(Crash::PowerLost);
    assert_eq!(content(&disk, &path).unwrap(), b"one");
}

#[test]
fn operations_fail_after_the_chosen_one_and_go_on_when_healed() {
    let disk = disk(1);
    let before = disk.counters();
    disk.set_faults(Faults {
        fail_after_operations: Some(3),
        ..Faults::default()
    });
    let mut file = disk.create(&root().join("file")).unwrap();
    file.write_all(b"aaaa").unwrap();
    file.sync_data().unwrap();
    assert_eq!(kind(file.write_all(b"bbbb")), ErrorKind::Io);
    assert_eq!(kind(disk.create(&root().join("other"))), ErrorKind::Io);
    assert_eq!(kind(disk.remove(&root().join("file"))), ErrorKind::Io);
    assert_eq!(
        kind(disk.rename(&root().join("file"), &root().join("x"))),
        ErrorKind::Io
    );
    let left = content(&disk, &root().join("file")).unwrap();
    assert!(
        b"aaaabbb".starts_with(&left) && left.len() >= 4,
        "never the whole write: {left:?}"
    );
    disk.heal();
    disk.remove(&root().join("file")).unwrap();
    let after = disk.counters();
    assert_eq!(after.operations - before.operations, 8);
    assert_eq!(after.syncs - before.syncs, 1);
}

#[test]
fn a_full_disk_takes_what_fits() {
    let disk = disk(1);
    disk.set_faults(Faults {
        capacity_bytes: Some(10),
        ..Faults::default()
    });
    let mut file = disk.create(&root().join("file")).unwrap();
    file.write_all(b"123456").unwrap();
    assert_eq!(disk.free_space(root()).unwrap(), 4);
    assert_eq!(kind(file.allocate(11)), ErrorKind::OutOfSpace);
    file.allocate(10).unwrap();
    let error = file.write_all(b"789012").unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfSpace);
    assert!(error.to_string().contains("disk full"), "{error}");
    assert_eq!(content(&disk, &root().join("file")).unwrap(), b"1234567890");
    let random = disk.open_random(&root().join("random")).unwrap();
    assert_eq!(kind(random.set_len(1)), ErrorKind::OutOfSpace);
    disk.remove(&root().join("file")).unwrap();
    assert_eq!(
        disk.free_space(root()).unwrap(),
        0,
        "an open file still takes room"
    );
    drop(file);
    disk.remove(&root().join("random")).unwrap();
    assert_eq!(disk.free_space(root()).unwrap(), 10);
    random.set_len(0).unwrap();
}

#[test]
fn too_many_open_files_and_a_read_only_disk() {
    let disk = disk(1);
    let path = root().join("file");
    disk.create(&path).unwrap().write_all(b"x").unwrap();
    disk.set_faults(Faults {
        open_files_max: Some(2),
        ..Faults::default()
    });
    let open = [disk.open(&path).unwrap(), disk.open(&path).unwrap()];
    let error = disk.open(&path).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TooManyOpenFiles);
    assert!(error.to_string().contains("too many open files"), "{error}");
    assert_eq!(
        kind(disk.create(&root().join("more"))),
        ErrorKind::TooManyOpenFiles
    );
    assert!(!disk.exists(&root().join("more")).unwrap());
    drop(open);
    disk.open(&path).unwrap();

    disk.set_faults(Faults {
        read_only: true,
        ..Faults::default()
    });
    for refused in [
        disk.create(&root().join("new")).map(|_| ()),
        disk.open_random(&path).map(|_| ()),
        disk.lock(&root().join("LOCK")).map(|_| ()),
        disk.create_dir_all(&root().join("dir")),
        disk.remove(&path),
    ] {
        assert_eq!(kind(refused), ErrorKind::ReadOnly);
    }
    assert_eq!(content(&disk, &path).unwrap(), b"x", "reading goes on");
}

#[test]
fn reads_fail_after_the_chosen_one() {
    let disk = disk(1);
    let path = root().join("file");
    disk.create(&path).unwrap().write_all(b"x").unwrap();
    let reader = disk.open(&path).unwrap();
    disk.set_faults(Faults {
        fail_after_reads: Some(1),
        ..Faults::default()
    });
    reader.read_at(0, &mut [0]).unwrap();
    assert_eq!(kind(reader.read_at(0, &mut [0])), ErrorKind::Io);
}

#[test]
fn a_flipped_bit_stays_flipped() {
    let disk = disk(1);
    let path = root().join("file");
    let mut file = disk.create(&path).unwrap();
    file.write_all(b"abc").unwrap();
    file.sync_data().unwrap();
    disk.sync_dir(root()).unwrap();
    assert!(disk.flip_bit(&path, 1, 0).unwrap());
    assert!(!disk.flip_bit(&path, 3, 0).unwrap(), "beyond the end");
    assert_eq!(content(&disk, &path).unwrap(), b"acc");
    disk.crash(Crash::PowerLost);
    assert_eq!(content(&disk, &path).unwrap(), b"acc");
}

/// Dying at every operation of [`Vfs::replace`], in every way, leaves the old file or the new one.
#[test]
fn a_replaced_file_is_old_or_new() {
    let path = root().join("small");
    let prepare = |seed| {
        let disk = disk(seed);
        disk.replace(&path, b"the old content").unwrap();
        disk
    };
    let counting = prepare(0);
    let before = counting.counters().operations;
    counting.replace(&path, b"new").unwrap();
    let operations = counting.counters().operations - before;
    for dies_after in 0..=operations {
        for crash in Crash::ALL {
            for seed in 0..20 {
                let disk = prepare(seed);
                let fail_after_operations = Some(dies_after);
                disk.set_faults(Faults {
                    fail_after_operations,
                    ..Faults::default()
                });
                let done = disk.replace(&path, b"new").is_ok();
                disk.crash(crash);
                let left = content(&disk, &path).unwrap();
                let old = left == b"the old content" && !done;
                assert!(
                    left == b"new" || old,
                    "{dies_after} {crash:?} {done}: {left:?}"
                );
            }
        }
    }
}

/// The catalog on a dying disk: for every operation of a run, die there in every way; what was
/// committed must be there, and what was under way must be there whole or not at all.
#[test]
fn the_catalog_survives_death_at_every_operation() {
    let names = |catalog: &Catalog| -> Vec<String> {
        let tables = catalog.view().unwrap().tables().unwrap();
        tables.into_iter().map(|table| table.name).collect()
    };
    let identity = || CatalogIdentity::new(&mut Random::from_seed(1), 0);
    let splits = || (0..30_u8).map(|row| vec![row]).collect::<Vec<_>>();
    // The run: make a store, then tables one after another, each known to be committed or not.
    let run = |vfs: &Arc<dyn Vfs>| -> Option<usize> {
        let catalog = Catalog::create(vfs, root(), identity(), 1 << 20).ok()?;
        let mut committed = 0;
        for index in 0..4 {
            let new = NewTable {
                splits: splits(),
                ..NewTable::default()
            };
            let made = catalog.transaction(|tx| tx.create_table(&format!("{index}"), new));
            match made {
                Ok(_) => committed += 1,
                Err(_) => break,
            }
        }
        Some(committed)
    };
    let counting = disk(0);
    assert_eq!(run(&counting.shared()), Some(4));
    let operations = counting.counters().operations;
    assert!(operations > 20, "{operations}");

    for dies_after in 0..operations {
        for (seed, crash) in Crash::ALL.into_iter().enumerate() {
            let disk = disk(dies_after * 10 + seed as u64);
            let faults = Faults {
                fail_after_operations: Some(dies_after),
                ..Faults::default()
            };
            disk.set_faults(faults);
            let committed = run(&disk.shared());
            disk.crash(crash);
            let place = format!("dies after {dies_after}, {crash:?}, committed {committed:?}");
            match Catalog::open(&disk.shared(), root(), 1 << 20) {
                Ok(catalog) => {
                    let found = names(&catalog);
                    let least = committed.unwrap_or(0);
                    assert!(
                        (least..=least + 1).contains(&found.len()),
                        "{place}: {found:?}"
                    );
                    assert_eq!(
                        catalog.view().unwrap().check().unwrap(),
                        Vec::<String>::new()
                    );
                }
                Err(error) => {
                    assert!(committed.is_none(), "{place}: {error}");
                    assert_eq!(error.kind(), ErrorKind::NotFound, "{place}: {error}");
                    let again = Catalog::create(&disk.shared(), root(), identity(), 1 << 20);
                    assert!(again.is_ok(), "{place}: {again:?}");
                }
            }
        }
    }
}

#[test]
fn a_full_disk_is_told_through_the_catalog() {
    let disk = disk(1);
    let vfs = disk.shared();
    let identity = CatalogIdentity::new(&mut Random::from_seed(1), 0);
    let catalog = Catalog::create(&vfs, root(), identity, 1 << 20).unwrap();
    let _ = catalog
        .transaction(|tx| tx.create_table("kept", NewTable::default()))
        .unwrap();
    let used = disk.len(catalog.path()).unwrap();
    disk.set_faults(Faults {
        capacity_bytes: Some(used),
        ..Faults::default()
    });
    let splits = (0..50_000_u32)
        .map(|row| row.to_be_bytes().to_vec())
        .collect();
    let new = NewTable {
        splits,
        ..NewTable::default()
    };
    let error = catalog
        .transaction(|tx| tx.create_table("too much", new))
        .unwrap_err();
    assert_eq!(error.kind(), ErrorKind::OutOfSpace, "{error}");
    assert!(error.to_string().contains("/data/catalog"), "{error}");
    let next = catalog.transaction(|tx| tx.create_table("next", NewTable::default()));
    if let Err(error) = &next {
        assert_eq!(error.kind(), ErrorKind::ReadOnly, "{error}");
        assert!(error.to_string().contains("reopen"), "{error}");
    }
    drop(catalog);
    disk.heal();
    let catalog = Catalog::open(&vfs, root(), 1 << 20).unwrap();
    assert!(catalog.view().unwrap().table_id("kept").unwrap().is_some());
    assert_eq!(catalog.view().unwrap().table_id("too much").unwrap(), None);
}

/// The first sync of a commit is that of the catalog's file, the second that of its mirror. Whichever
/// fails, nobody is told that the table is there; after the second it may be.
#[test]
fn a_failed_sync_is_told_through_the_catalog() {
    for (syncs, least, most) in [(0, 0, 0), (1, 0, 1)] {
        let disk = disk(1);
        let vfs = disk.shared();
        let identity = CatalogIdentity::new(&mut Random::from_seed(1), 0);
        let catalog = Catalog::create(&vfs, root(), identity, 1 << 20).unwrap();
        disk.set_faults(Faults {
            fail_sync_after: Some(syncs),
            ..Faults::default()
        });
        let made = catalog.transaction(|tx| tx.create_table("a", NewTable::default()));
        assert_eq!(kind(made), ErrorKind::Io);
        let made = catalog.transaction(|tx| tx.create_table("b", NewTable::default()));
        assert_eq!(
            kind(made),
            ErrorKind::ReadOnly,
            "nothing more until reopened"
        );
        drop(catalog);
        disk.crash(Crash::PowerLost);
        let catalog = Catalog::open(&vfs, root(), 1 << 20).unwrap();
        let tables = catalog.view().unwrap().tables().unwrap().len();
        assert!((least..=most).contains(&tables), "{tables}");
        drop(catalog);
        let bytes = |name| vfs.read_to_vec(&root().join(name), u64::MAX).unwrap();
        assert!(bytes("catalog") == bytes("catalog.mirror"), "{syncs}");
    }
}

/// Power fails in the middle of commits, then one of the copies rots: the other has everything that
/// was acknowledged.
#[test]
fn either_copy_of_the_catalog_survives_death_at_every_operation() {
    let create = |vfs: &Arc<dyn Vfs>| {
        let identity = CatalogIdentity::new(&mut Random::from_seed(1), 0);
        Catalog::create(vfs, root(), identity, 1 << 20).unwrap()
    };
    let run = |catalog: &Catalog| -> usize {
        let made = (0..3).map(|index| {
            catalog.transaction(|tx| tx.create_table(&format!("{index}"), NewTable::default()))
        });
        made.take_while(Result::is_ok).count()
    };
    let counting = disk(0);
    let catalog = create(&counting.shared());
    let before = counting.counters().operations;
    assert_eq!(run(&catalog), 3);
    let operations = counting.counters().operations - before;
    assert!(operations > 12, "{operations}");
    for dies_after in 0..=operations {
        for (seed, crash) in Crash::ALL.into_iter().enumerate() {
            for rotten in ["catalog", "catalog.mirror"] {
                let disk = disk(dies_after * 10 + seed as u64);
                let catalog = create(&disk.shared());
                disk.set_faults(Faults {
                    fail_after_operations: Some(dies_after),
                    ..Faults::default()
                });
                let committed = run(&catalog);
                disk.crash(crash);
                drop(catalog);
                assert!(disk.flip_bit(&root().join(rotten), 3, 1).unwrap());
                let place = format!("{rotten}, dies after {dies_after}, {crash:?}, {committed}");
                let catalog = Catalog::open(&disk.shared(), root(), 1 << 20)
                    .unwrap_or_else(|error| panic!("{place}: {error}"));
                let view = catalog.view().unwrap();
                let found = view.tables().unwrap().len();
                assert!(
                    (committed..=committed + 1).contains(&found),
                    "{place}: {found}"
                );
                assert_eq!(view.check().unwrap(), Vec::<String>::new(), "{place}");
            }
        }
    }
}

#[test]
fn files_are_listed_at_any_depth() {
    let disk = disk(1);
    disk.create_dir_all(&root().join("t").join("1")).unwrap();
    for path in ["b", "t/1/f", "a"] {
        disk.create(&root().join(path)).unwrap();
    }
    let expected = ["/data/a", "/data/b", "/data/t/1/f"].map(PathBuf::from);
    assert_eq!(disk.files_below(root()), expected);
}
