//! Directories that are not stores, or that another process has open.

use std::fs;
use std::process::{Command, Stdio};

use ostrakon_cell::{ErrorKind, Source, TableOptions};
use ostrakon_store::{Store, StoreOptions};

fn existing() -> StoreOptions {
    StoreOptions {
        create: false,
        ..StoreOptions::default()
    }
}

#[test]
fn a_directory_with_something_else_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("letter.txt"), "dear").unwrap();
    for options in [StoreOptions::default(), existing()] {
        let error = Store::open(folder.path(), options).unwrap_err();
        assert!(
            matches!(
                error.kind(),
                ErrorKind::InvalidArgument | ErrorKind::NotFound
            ),
            "{error:?}"
        );
    }
    let mut names: Vec<_> = fs::read_dir(folder.path())
        .unwrap()
        .map(|entry| entry.unwrap().file_name())
        .collect();
    names.retain(|name| name != "LOCK");
    assert_eq!(names, ["letter.txt"]);
}

#[test]
fn nothing_is_created_where_nothing_may_be_written() {
    let folder = tempfile::tempdir().unwrap();
    let absent = folder.path().join("absent");
    let error = Store::open(&absent, existing()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::NotFound, "{error:?}");
    assert!(!absent.exists());
}

#[test]
fn a_file_is_refused_where_a_directory_is_expected() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("file");
    fs::write(&file, "not a directory").unwrap();
    let error = Store::open(&file, StoreOptions::default()).unwrap_err();
    assert_ne!(error.kind(), ErrorKind::Internal, "{error:?}");
    assert_eq!(fs::read(&file).unwrap(), b"not a directory");
}

#[test]
fn the_holder_of_the_lock_is_named() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    let error = Store::open(folder.path(), StoreOptions::default()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Locked, "{error:?}");
    let me = std::process::id().to_string();
    assert!(error.to_string().contains(&me), "{error}");
    // The same from another process, which runs this test and only tries to open the store.
    let tried = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "openings::only_tries_to_open", "--nocapture"])
        .env("OSTRAKON_TRY_TO_OPEN", folder.path())
        .stdout(Stdio::piped())
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&tried.stdout).into_owned();
    assert!(said.contains("locked") && said.contains(&me), "{said}");
    drop(store);
    Store::open(folder.path(), StoreOptions::default()).unwrap();
}

/// The second process of the test above; alone it does nothing.
#[test]
fn only_tries_to_open() {
    if let Ok(directory) = std::env::var("OSTRAKON_TRY_TO_OPEN") {
        let outcome = Store::open(directory, StoreOptions::default());
        println!("{outcome:?}");
    }
}

#[test]
fn a_copied_lock_file_does_not_block_an_opening() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    store.create_table("t", &TableOptions::default()).unwrap();
    drop(store);
    fs::write(folder.path().join("LOCK"), "99999999 somebody").unwrap();
    let store = Store::open(folder.path(), StoreOptions::default()).unwrap();
    assert_eq!(store.tables().unwrap().len(), 1);
}
