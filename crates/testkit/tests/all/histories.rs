//! Histories of the store: conditional writes and administration from several threads at once, each checked against
//! an order in which one thread could have asked. `OSTRAKON_HISTORIES=N` makes N of each.

use std::sync::Arc;

use ostrakon_cell::Source;
use ostrakon_store::StoreOptions;
use ostrakon_testkit::disk::FaultyVfs;
use ostrakon_testkit::history::{
    Registers, Tables, administration_history, check, histories_wanted, register_history,
};

use crate::harness::open;

fn store() -> Arc<dyn Source> {
    open(&FaultyVfs::new(1), &StoreOptions::default()).unwrap()
}

#[test]
fn conditional_writes_are_linearizable() {
    let store = store();
    for seed in 0..histories_wanted(40) {
        for mut events in register_history(&store, "t", seed).unwrap() {
            if let Err(violation) = check(&Registers, &mut events) {
                panic!("seed {seed}: {violation}");
            }
        }
    }
}

#[test]
fn administration_is_linearizable() {
    let store = store();
    for seed in 0..histories_wanted(60) {
        let mut events = administration_history(&store, "t", seed).unwrap();
        if let Err(violation) = check(&Tables, &mut events) {
            panic!("seed {seed}: {violation}");
        }
    }
}
