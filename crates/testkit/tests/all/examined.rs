//! The store under the examiner for table sources.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::Source;
use ostrakon_store::{Store, StoreOptions};
use ostrakon_testkit::disk::FaultyVfs;
use ostrakon_testkit::examiner::Examination;

use crate::harness::{open, tiny};

fn open_copy(directory: &Path) -> ostrakon_cell::Result<Arc<dyn Source>> {
    Ok(Store::open(directory, StoreOptions::default())?)
}

#[test]
fn a_store_in_memory_passes() {
    let make = || -> Arc<dyn Source> { Store::in_memory().unwrap() };
    Examination::new("store in memory", &make)
        .run()
        .assert_passed();
}

#[test]
fn a_store_in_a_directory_passes() {
    let folder = tempfile::tempdir().unwrap();
    let store = Store::open(folder.path().join("store"), StoreOptions::default()).unwrap();
    let make = || -> Arc<dyn Source> { store.clone() };
    Examination::new("store in a directory", &make)
        .with_open_copy(&open_copy)
        .run()
        .assert_passed();
}

#[test]
fn a_store_with_very_little_memory_passes() {
    let make = || -> Arc<dyn Source> { open(&FaultyVfs::new(1), &tiny()).unwrap() };
    Examination::new("store with next to no memory", &make)
        .run()
        .assert_passed();
}
