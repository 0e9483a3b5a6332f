//! A: nobody ever sees half a mutation.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{
    Batch, BatchLimit, Entry, EntryRef, Mutation, MutationBatch, Range, ScanOptions, Table,
};

use crate::examiner::bench::{Bench, Check, ensure, submit};

const ROWS: u64 = 6;
const COLUMNS: u64 = 40;
const ROUNDS: u64 = 50;

/// Each mutation writes one number to all columns of a row.
fn rewrite_rows(table: &Arc<dyn Table>, writer: u64) -> Check {
    for round in 0..ROUNDS {
        let mut batch = MutationBatch::new();
        for row in 0..ROWS {
            let mut mutation = Mutation::new(format!("row {row}"));
            let value = (round * 100 + writer).to_string();
            for column in 0..COLUMNS {
                mutation.put("f", format!("{column:03}"), &value)?;
            }
            batch.push(&mutation)?;
        }
        submit(table, batch)?;
        if round % 16 == 8 {
            table.flush(false)?;
        }
    }
    Ok(())
}

fn check_rows(entries: &[Entry]) -> Check {
    for row in entries.chunk_by(|a, b| a.key.row == b.key.row) {
        let whole = row.len() as u64 == COLUMNS && row.iter().all(|one| one.value == row[0].value);
        ensure(whole, || {
            let mut values: Vec<_> = row
                .iter()
                .map(|entry| String::from_utf8_lossy(&entry.value).into_owned())
                .collect();
            values.dedup();
            format!(
                "half a mutation: {} columns of {COLUMNS}, values {values:?}",
                row.len()
            )
        })?;
    }
    Ok(())
}

fn read_until(table: &Arc<dyn Table>, done: &AtomicBool, options: &ScanOptions) -> Check {
    let mut batch = Batch::new();
    let mut scan = table.scan(&[Range::all()], options)?;
    loop {
        let last = done.load(Ordering::Acquire);
        let mut entries = Vec::new();
        while scan.next_batch(&mut batch)? {
            entries.extend(batch.iter().map(EntryRef::to_entry));
        }
        check_rows(&entries)?;
        if last {
            return ensure(entries.len() as u64 == ROWS * COLUMNS, || {
                format!("{} entries at the end", entries.len())
            });
        }
        scan.restart(&[Range::all()])?;
    }
}

pub(in crate::examiner) fn mutations_are_seen_whole(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let done = AtomicBool::new(false);
    let isolated = ScanOptions {
        isolated: true,
        ..ScanOptions::default()
    };
    let in_small_batches = ScanOptions {
        batch: BatchLimit {
            entries: 7,
            bytes: 1 << 20,
        },
        ..isolated.clone()
    };
    std::thread::scope(|scope| {
        let readers: Vec<_> = [isolated, in_small_batches]
            .into_iter()
            .map(|options| {
                let (table, done) = (&table, &done);
                scope.spawn(move || read_until(table, done, &options))
            })
            .collect();
        let writers: Vec<_> = (0..3)
            .map(|writer| {
                let table = &table;
                scope.spawn(move || rewrite_rows(table, writer))
            })
            .collect();
        let mut outcomes: Vec<_> = writers
            .into_iter()
            .map(std::thread::ScopedJoinHandle::join)
            .collect();
        done.store(true, Ordering::Release);
        outcomes.extend(readers.into_iter().map(std::thread::ScopedJoinHandle::join));
        outcomes.into_iter().try_for_each(|outcome| match outcome {
            Ok(outcome) => outcome,
            Err(_) => ensure(false, || "a thread panicked".to_owned()),
        })
    })
}
