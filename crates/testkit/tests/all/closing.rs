//! After a store is closed, no part of it writes, even if handles to it still exist.

use ostrakon_cell::{
    CompactOptions, ErrorKind, Mutation, MutationBatch, Scanner, Source, TableOptions,
};
use ostrakon_testkit::disk::FaultyVfs;

use crate::harness::{open, tiny};

#[test]
fn handles_and_compactions_may_outlive_a_store() {
    let disk = FaultyVfs::new(1);
    for round in 0..20_u32 {
        let store = open(&disk, &tiny()).unwrap();
        if round == 0 {
            store.create_table("t", &TableOptions::default()).unwrap();
        }
        let table = store.table("t").unwrap();
        for part in 0..4_u32 {
            let mut batch = MutationBatch::new();
            for row in 0..200 {
                let mut mutation = Mutation::new(format!("{row:03}{part}"));
                mutation.put("f", "q", format!("{round}")).unwrap();
                batch.push(&mutation).unwrap();
            }
            table.submit(batch, None).unwrap().wait().unwrap();
            table.flush(true).unwrap();
        }
        let nobody_waits = CompactOptions {
            wait: false,
            ..CompactOptions::default()
        };
        table.compact(&nobody_waits).unwrap();
        drop(store);
        // The next store has the directory to itself, although the old table handle still exists.
        let next = open(&disk, &tiny()).unwrap();
        next.create_table(&format!("round{round}"), &TableOptions::default())
            .unwrap();
        let refused = table.flush(true).unwrap_err();
        assert_eq!(refused.kind(), ErrorKind::Closed, "{refused:?}");
        drop(table);
        let entries = Scanner::new(next.table("t").unwrap()).entries().unwrap();
        assert_eq!(entries.len(), 800, "round {round}");
        assert!(
            entries
                .iter()
                .all(|entry| entry.value == round.to_string().as_bytes())
        );
        let report = next.check(&mut |_, _| true).unwrap();
        assert!(
            report.problems.is_empty(),
            "round {round}: {:?}",
            report.problems
        );
    }
    let store = open(&disk, &tiny()).unwrap();
    assert_eq!(store.tables().unwrap().len(), 21);
}
