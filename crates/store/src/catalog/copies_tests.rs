//! Two copies of the catalog: whichever is damaged, nothing is lost, and the damage is reported.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::copies::Copies;
use super::tests::{
    DIR, apply, assert_sound, create, everything, identity, kind, memory, open, table_with_file,
};
use super::*;
use crate::clock::Random;
use crate::error::ErrorKind;
use crate::vfs::Vfs;

fn first() -> PathBuf {
    Path::new(DIR).join("catalog")
}

fn mirror() -> PathBuf {
    Path::new(DIR).join("catalog.mirror")
}

fn bytes(vfs: &Arc<dyn Vfs>, path: &Path) -> Vec<u8> {
    vfs.read_to_vec(path, u64::MAX).unwrap()
}

fn equal(vfs: &Arc<dyn Vfs>) -> bool {
    bytes(vfs, &first()) == bytes(vfs, &mirror())
}

fn disk_with(first_bytes: Option<&[u8]>, mirror_bytes: Option<&[u8]>) -> Arc<dyn Vfs> {
    let vfs = memory();
    for (path, bytes) in [(first(), first_bytes), (mirror(), mirror_bytes)] {
        if let Some(bytes) = bytes {
            vfs.create(&path).unwrap().write_all(bytes).unwrap();
        }
    }
    vfs
}

fn fill(catalog: &Catalog, tables: usize) {
    for index in 0..tables {
        let (table, _) = table_with_file(catalog, &format!("table {index}"));
        let splits: Vec<Vec<u8>> = (0..20).map(|i| format!("row {i}").into_bytes()).collect();
        apply(catalog, |tx| tx.add_splits(table, &splits));
    }
}

/// The catalog's file after a clean close and after a kill, and its content.
fn specimens() -> [(&'static str, Vec<u8>, String); 2] {
    let vfs = memory();
    let catalog = create(&vfs);
    fill(&catalog, 8);
    let content = everything(&catalog);
    assert!(equal(&vfs), "both copies get every write");
    let killed = bytes(&vfs, &first());
    drop(catalog);
    assert!(equal(&vfs), "also the last ones");
    let closed = bytes(&vfs, &first());
    [
        ("killed", killed, content.clone()),
        ("closed", closed, content),
    ]
}

/// Damages of a file: one bit of every header byte, and of some bytes of each page.
fn damages(whole: &[u8]) -> Vec<(String, Vec<u8>)> {
    let mut random = Random::from_seed(5);
    let head = (0..320).map(|at| (at, 1 << (at % 8)));
    // The flags for the last commit and for a crash.
    let flags = (0..8).map(|bit| (9, 1 << bit));
    let pages = (1..whole.len() / 4096).flat_map(|page| [page; 2]);
    let mut random_bit = |page: usize| {
        let at = page * 4096 + random.below(4096) as usize;
        (at, 1 << random.below(8))
    };
    let pages: Vec<(usize, u8)> = pages.map(&mut random_bit).collect();
    let mut damages: Vec<(String, Vec<u8>)> = head
        .chain(flags)
        .chain(pages)
        .map(|(at, bit)| {
            let mut damaged = whole.to_vec();
            damaged[at] ^= bit;
            (format!("byte {at}, bit {bit}"), damaged)
        })
        .collect();
    for len in [0, 1, 100, 320, 4096, whole.len() / 2, whole.len() - 1] {
        damages.push((format!("cut to {len}"), whole[..len].to_vec()));
    }
    damages
}

#[test]
fn any_damage_to_one_copy_loses_nothing() {
    for (state, whole, content) in specimens() {
        let mut lost_alone = 0;
        for (what, damaged) in damages(&whole) {
            let what = format!("{state}, {what}");
            // The effect of the damage on a catalog without mirror, to verify this test.
            let alone = open(&disk_with(Some(&damaged), None));
            lost_alone += u32::from(!alone.is_ok_and(|catalog| everything(&catalog) == content));

            for (which, disk) in [
                ("first", disk_with(Some(&damaged), Some(&whole))),
                ("mirror", disk_with(Some(&whole), Some(&damaged))),
            ] {
                let reading = Catalog::open_read_only(&disk, Path::new(DIR), 1 << 20);
                let reading = reading.unwrap_or_else(|error| panic!("{which}, {what}: {error}"));
                assert_eq!(everything(&reading), content, "{which}, {what}");
                let left = [
                    bytes(&disk, &first()) == whole,
                    bytes(&disk, &mirror()) == whole,
                ];
                assert_eq!(left, [which == "mirror", which == "first"], "{what}");

                let catalog =
                    open(&disk).unwrap_or_else(|error| panic!("{which}, {what}: {error}"));
                assert_eq!(everything(&catalog), content, "{which}, {what}");
                apply(&catalog, |tx| tx.create_table("new", NewTable::default()));
                let found = catalog.check_copies(&*disk, Path::new(DIR)).unwrap();
                assert_eq!(found, [], "{which}, {what}");
                drop(catalog);
                assert!(equal(&disk), "{which}, {what}");
                assert!(!disk.exists(&first().with_extension("new")).unwrap());
                assert_sound(&open(&disk).unwrap());
            }
        }
        assert!(lost_alone > 60, "{state}: only {lost_alone} damages matter");
    }
}

#[test]
fn two_damaged_copies_are_an_error_that_names_them() {
    let [_, (_, whole, _)] = specimens();
    let mut damaged = whole;
    damaged[3] ^= 1;
    for other in [damaged[..4096].to_vec(), damaged.clone()] {
        let disk = disk_with(Some(&damaged), Some(&other));
        let reading = Catalog::open_read_only(&disk, Path::new(DIR), 1 << 20);
        for error in [open(&disk).unwrap_err(), reading.unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Corruption);
            let text = error.to_string();
            assert!(
                text.contains("/store/catalog)") || text.contains("/store/catalog,"),
                "{text}"
            );
            assert!(text.contains("checkpoint"), "{text}");
        }
        assert_eq!(bytes(&disk, &first()), damaged, "left as they were");
        assert_eq!(bytes(&disk, &mirror()), other, "left as they were");
    }
    let disk = disk_with(None, Some(&damaged));
    let error = open(&disk).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(
        error.to_string().contains("/store/catalog.mirror"),
        "{error}"
    );
}

#[test]
fn a_missing_copy_is_restored_from_the_other() {
    for (state, whole, content) in specimens() {
        for disk in [disk_with(Some(&whole), None), disk_with(None, Some(&whole))] {
            assert!(Catalog::is_present(&*disk, Path::new(DIR)).unwrap());
            let made = Catalog::create(&disk, Path::new(DIR), identity(), 1 << 20);
            assert_eq!(kind(made), ErrorKind::AlreadyExists, "{state}");
            let reading = Catalog::open_read_only(&disk, Path::new(DIR), 1 << 20).unwrap();
            assert_eq!(everything(&reading), content, "{state}");
            let problems = reading.check_copies(&*disk, Path::new(DIR)).unwrap();
            let paths: Vec<_> = problems.into_iter().map(|(path, _)| path).collect();
            let missing = if disk.exists(&first()).unwrap() {
                mirror()
            } else {
                first()
            };
            assert_eq!(paths, [missing], "{state}");
            let catalog = open(&disk).unwrap();
            assert_eq!(everything(&catalog), content, "{state}");
            drop(catalog);
            assert!(equal(&disk), "{state}");
        }
    }
}

/// Power may fail after the first copy was synced and before the mirror was.
#[test]
fn the_copy_with_more_commits_is_opened() {
    let vfs = memory();
    let catalog = create(&vfs);
    fill(&catalog, 3);
    let (before, older) = (everything(&catalog), bytes(&vfs, &first()));
    fill_one_more(&catalog);
    let (after, newer) = (everything(&catalog), bytes(&vfs, &first()));
    assert_ne!(before, after);
    for (one, other) in [(&older, &newer), (&newer, &older)] {
        let disk = disk_with(Some(one), Some(other));
        assert_eq!(everything(&open(&disk).unwrap()), after);
        assert!(equal(&disk));
    }
    // Only the older one is left: one commit behind, and undamaged.
    let disk = disk_with(Some(&newer[..9000]), Some(&older));
    let catalog = open(&disk).unwrap();
    assert_eq!(everything(&catalog), before);
    assert_sound(&catalog);
}

fn fill_one_more(catalog: &Catalog) {
    apply(catalog, |tx| {
        tx.create_table("one more", NewTable::default())
    });
}

#[test]
fn a_check_of_an_open_catalog_names_the_damaged_copy() {
    let flip = |vfs: &Arc<dyn Vfs>, path: &Path| {
        let file = vfs.open_random(path).unwrap();
        let mut byte = [0];
        file.read_at(2, &mut byte).unwrap();
        file.write_at(2, &[byte[0] ^ 4]).unwrap();
    };
    let found = |catalog: &Catalog, vfs: &Arc<dyn Vfs>| -> Vec<(PathBuf, String)> {
        catalog.check_copies(&**vfs, Path::new(DIR)).unwrap()
    };
    let vfs = memory();
    let catalog = create(&vfs);
    fill(&catalog, 2);
    assert_eq!(found(&catalog, &vfs), []);
    flip(&vfs, &mirror());
    let [(path, message)] = &found(&catalog, &vfs)[..] else {
        panic!("one problem")
    };
    assert_eq!(*path, mirror());
    assert!(
        message.contains("damaged") && message.contains("anew"),
        "{message}"
    );
    flip(&vfs, &mirror());
    flip(&vfs, &first());
    let [(path, message)] = &found(&catalog, &vfs)[..] else {
        panic!("one problem")
    };
    assert_eq!(*path, first());
    assert!(
        message.contains("damaged") && message.contains("restores it"),
        "{message}"
    );
    flip(&vfs, &mirror());
    let both = found(&catalog, &vfs);
    let paths: Vec<_> = both.iter().map(|(path, _)| path.clone()).collect();
    assert_eq!(paths, [first(), mirror()]);
    assert!(both[0].1.contains("checkpoint"), "{}", both[0].1);
    flip(&vfs, &first());
    vfs.remove(&mirror()).unwrap();
    let [(path, message)] = &found(&catalog, &vfs)[..] else {
        panic!("one problem")
    };
    assert_eq!(*path, mirror());
    assert!(message.contains("missing"), "{message}");
}

#[test]
fn a_newer_format_is_not_replaced_by_an_older_mirror() {
    let vfs = memory();
    let catalog = create(&vfs);
    let older = bytes(&vfs, &first());
    catalog.set_format_for_test(format::CATALOG_FORMAT + 1);
    drop(catalog);
    let newer = bytes(&vfs, &first());
    let disk = disk_with(Some(&newer), Some(&older));
    assert_eq!(kind(open(&disk)), ErrorKind::NewerFormat);
    assert_eq!(bytes(&disk, &first()), newer);
}

#[test]
fn a_failed_mirror_creation_leaves_no_file() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let vfs = crate::vfs::RealVfs::shared();
    let catalog = Catalog::create(&vfs, dir, identity(), 1 << 20).unwrap();
    fill(&catalog, 2);
    let content = everything(&catalog);
    drop(catalog);
    let mirror = dir.join("catalog.mirror");
    vfs.remove(&mirror).unwrap();
    vfs.create_dir_all(&mirror).unwrap();
    let error = Catalog::open(&vfs, dir, 1 << 20).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Corruption);
    assert!(error.to_string().contains("move it away"), "{error}");
    assert!(!vfs.exists(&dir.join("catalog.mirror.new")).unwrap());
    let reading = Catalog::open_read_only(&vfs, dir, 1 << 20).unwrap();
    assert_eq!(everything(&reading), content);
    vfs.remove_dir(&mirror).unwrap();
    let catalog = Catalog::open(&vfs, dir, 1 << 20).unwrap();
    assert_eq!(everything(&catalog), content);
}

/// Whatever is in the place of the first copy, the mirror is read, and the first copy is made anew from it.
#[test]
fn something_else_in_the_place_of_the_catalog_does_not_hide_its_mirror() {
    let directory = tempfile::tempdir().unwrap();
    let dir = directory.path();
    let vfs = crate::vfs::RealVfs::shared();
    let catalog = Catalog::create(&vfs, dir, identity(), 1 << 20).unwrap();
    fill(&catalog, 2);
    let content = everything(&catalog);
    drop(catalog);
    let first = dir.join("catalog");
    let is_made_anew = |what: &str| {
        assert!(Catalog::is_present(&*vfs, dir).unwrap(), "{what}");
        let reading = Catalog::open_read_only(&vfs, dir, 1 << 20).unwrap();
        assert_eq!(everything(&reading), content, "{what}");
        drop(reading);
        let catalog = Catalog::open(&vfs, dir, 1 << 20).unwrap();
        assert_eq!(everything(&catalog), content, "{what}");
        assert_eq!(catalog.check_copies(&*vfs, dir).unwrap(), [], "{what}");
    };
    let long = "n".repeat(300);
    for (what, target) in [
        ("loop", "catalog"),
        ("dangling link", "nowhere"),
        ("link below a file", "catalog.mirror/x"),
        ("link that is too long", &*long),
    ] {
        vfs.remove(&first).unwrap();
        std::os::unix::fs::symlink(target, &first).unwrap();
        is_made_anew(what);
    }
    vfs.remove(&first).unwrap();
    vfs.create_dir_all(&first.join("inside")).unwrap();
    let reading = Catalog::open_read_only(&vfs, dir, 1 << 20).unwrap();
    assert_eq!(everything(&reading), content);
    drop(reading);
    let problems = Copies::of(&*vfs, dir).check(None).unwrap();
    assert_eq!(problems.len(), 1);
    for text in [
        problems[0].1.clone(),
        Catalog::open(&vfs, dir, 1 << 20).unwrap_err().to_string(),
    ] {
        assert!(text.contains("move it away"), "{text}");
    }
    assert!(
        vfs.exists(&first.join("inside")).unwrap(),
        "nothing is removed"
    );
    vfs.remove_dir(&first.join("inside")).unwrap();
    vfs.remove_dir(&first).unwrap();
    is_made_anew("directory moved away");
}

/// Programs that save space link equal files, and the copies are equal after a clean close.
#[test]
fn a_copy_that_is_a_hard_link_gets_a_file_of_its_own() {
    let [_, (_, whole, content)] = specimens();
    let backup = Path::new(DIR).join("backup");
    for linked in [
        [first(), mirror()],
        [first(), backup.clone()],
        [mirror(), backup],
    ] {
        let disk = disk_with(Some(&whole), Some(&whole));
        if disk.exists(&linked[1]).unwrap() {
            disk.remove(&linked[1]).unwrap();
        }
        disk.hard_link(&linked[0], &linked[1]).unwrap();
        let catalog = open(&disk).unwrap();
        assert_eq!(everything(&catalog), content, "{linked:?}");
        for path in [first(), mirror()] {
            assert!(!disk.has_other_names(&path).unwrap(), "{linked:?}");
        }
        apply(&catalog, |tx| tx.create_table("new", NewTable::default()));
        drop(catalog);
        assert!(equal(&disk), "{linked:?}");
        if linked[1].ends_with("backup") {
            assert_eq!(bytes(&disk, &linked[1]), whole, "of another owner");
        }
    }
}
