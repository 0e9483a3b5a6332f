//! Histories of the store: conditional writes, administration and changes of properties from several threads at once,
//! each checked against an order in which one thread could have asked. `OSTRAKON_HISTORIES=N` makes the first N of each,
//! `OSTRAKON_HISTORIES=FIRST..LAST` those of these seeds, without the last.

use std::sync::Arc;

use ostrakon_cell::{Result, Source};
use ostrakon_store::StoreOptions;
use ostrakon_testkit::disk::{Crash, FaultyVfs};
use ostrakon_testkit::history::{
    Registers, Tables, administration_history, check, histories_wanted, property_history,
    register_history,
};

use crate::harness::open;

fn store(disk: &FaultyVfs) -> Result<Arc<dyn Source>> {
    let store: Arc<dyn Source> = open(disk, &StoreOptions::default())?;
    Ok(store)
}

/// Between the parts of a history the store is closed and opened again, or loses its power.
#[test]
fn conditional_writes_are_linearizable() {
    let disk = FaultyVfs::new(1);
    let mut source = store(&disk).unwrap();
    let mut openings = 0;
    let mut reopen = |before: Arc<dyn Source>| {
        openings += 1;
        if openings % 2 == 0 {
            disk.crash(Crash::PowerLost);
        }
        drop(before);
        store(&disk)
    };
    let seeds = histories_wanted(40);
    let many = seeds.end - seeds.start >= 20;
    for seed in seeds {
        let (open, rows) = register_history(source, "t", seed, &mut reopen).unwrap();
        source = open;
        for mut events in rows {
            if let Err(violation) = check(&Registers, &mut events) {
                panic!(
                    "seed {seed} (OSTRAKON_HISTORIES={seed}..{}): {violation}",
                    seed + 1
                );
            }
        }
    }
    assert!(openings > 5 || !many, "opened again {openings} times");
}

#[test]
fn administration_is_linearizable() {
    let store = store(&FaultyVfs::new(1)).unwrap();
    for seed in histories_wanted(60) {
        let mut events = administration_history(&store, "t", seed).unwrap();
        if let Err(violation) = check(&Tables, &mut events) {
            panic!(
                "seed {seed} (OSTRAKON_HISTORIES={seed}..{}): {violation}",
                seed + 1
            );
        }
    }
}

#[test]
fn changes_of_properties_are_linearizable() {
    let store = store(&FaultyVfs::new(1)).unwrap();
    for seed in histories_wanted(40) {
        for (start, mut events) in property_history(&store, "t", seed).unwrap() {
            if let Err(violation) = check(&start, &mut events) {
                panic!(
                    "seed {seed} (OSTRAKON_HISTORIES={seed}..{}): {violation}",
                    seed + 1
                );
            }
        }
    }
}
