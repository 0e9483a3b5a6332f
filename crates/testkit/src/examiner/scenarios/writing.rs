//! W: what is written is read back, byte for byte.

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, Durability, Entry, ErrorKind, Key, Mutation,
    MutationBatch,
};

use crate::examiner::bench::{
    Bench, Check, auths, ensure, entry, expect_entries, expect_equal, expect_refused,
    expect_values, read_all, read_with, sorted, submit, write, write_now,
};

/// Byte strings that have broken encoders before.
const ODD: &[&[u8]] = &[
    b"",
    b"\0",
    b"\0\0",
    b"\x01",
    b"a",
    b"a\0",
    b"a\0b",
    b"a\x01",
    b"A",
    b"\x7f",
    b"\x80",
    b"\xc3\xa9",
    b"\xff",
    b"\xff\0",
    b"\xff\xff",
    b",\"\\\n\t",
];

pub(in crate::examiner) fn all_key_parts_come_back(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let mut entries = Vec::new();
    for (at, row) in ODD.iter().enumerate() {
        for (to, other) in ODD.iter().enumerate() {
            let key = Key {
                row: row.to_vec(),
                family: other.to_vec(),
                qualifier: ODD[(at + to) % ODD.len()].to_vec(),
                visibility: [&b""[..], b"a", b"\"\xc3\xa9 x\"|a"][(at + to) % 3].to_vec(),
                timestamp: (at as i64 - 7) * 1_000_003 + to as i64,
                deleted: false,
            };
            let value = [ODD[to], ODD[at]].concat();
            entries.push(Entry { key, value });
        }
    }
    write(&table, &entries)?;
    let expected = sorted(entries);
    let options = ostrakon_cell::ScanOptions {
        authorizations: auths("a"),
        ..Default::default()
    };
    let all = [ostrakon_cell::Range::all()];
    let found = read_with(&table, &all, &options)?;
    expect_entries(&found, &expected, "from memory")?;
    table.flush(true)?;
    let found = read_with(&table, &all, &options)?;
    expect_entries(&found, &expected, "after a flush")
}

pub(in crate::examiner) fn batches_apply_in_order(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let mut pending = Vec::new();
    for number in 0..200 {
        let mut batch = MutationBatch::new();
        let value = number.to_string();
        batch.push(Mutation::new("r").put("f", "q", &value)?)?;
        batch.push(Mutation::new(format!("r{number:03}")).put("f", "q", &value)?)?;
        pending.push(table.submit(batch, None)?);
    }
    for write in pending {
        write.wait()?;
    }
    let found = read_all(&table)?;
    expect_equal(found.len(), 201, "entries of 200 batches")?;
    // Equal timestamps are likely here: then the batch submitted last must win.
    expect_values(&found[..1], &["199"], "the last of 200 batches")?;
    // The same inside one batch, where timestamps are equal for certain.
    write_now(
        &table,
        &[entry("s", "f", 0, "first"), entry("s", "f", 0, "second")],
    )?;
    let last = read_all(&table)?.pop();
    let last: Vec<Entry> = last.into_iter().collect();
    expect_values(&last, &["second"], "the later of two puts in one batch")?;
    table.flush(true)?;
    let last: Vec<Entry> = read_all(&table)?.pop().into_iter().collect();
    expect_values(&last, &["second"], "the same after a flush")?;
    write(&table, &[entry("t", "f", 7, "in a file")])?;
    table.flush(true)?;
    write(&table, &[entry("t", "f", 7, "in memory")])?;
    let last: Vec<Entry> = read_all(&table)?.pop().into_iter().collect();
    expect_values(&last, &["in memory"], "an equal key written after a flush")
}

pub(in crate::examiner) fn a_mutation_carries_many_updates(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("r", "gone", 1, "x")])?;
    let mut mutation = Mutation::new("r");
    for number in 0..1_000 {
        mutation.put("f", format!("{number:04}"), number.to_string())?;
    }
    mutation.delete("gone", "")?;
    let mut batch = MutationBatch::new();
    batch.push(&mutation)?;
    submit(&table, batch)?;
    let found = read_all(&table)?;
    expect_equal(found.len(), 1_000, "updates of one mutation")?;
    ensure(
        (0..).zip(&found).all(|(number, entry)| {
            entry.key.qualifier == format!("{number:04}").as_bytes()
                && entry.value == number.to_string().as_bytes()
        }),
        || "updates of one mutation came back changed".to_owned(),
    )
}

pub(in crate::examiner) fn the_batch_writer_tells_what_failed(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    let bad_label = ColumnUpdate {
        visibility: b"a&",
        value: Some(b"x"),
        ..ColumnUpdate::default()
    };
    let invalid = &[ErrorKind::InvalidArgument];
    expect_refused(writer.put(b"r", bad_label), invalid, "a malformed label")?;
    let long = vec![b'x'; ostrakon_cell::MAX_KEY_BYTES + 1];
    let value = ColumnUpdate {
        value: Some(b"x"),
        ..ColumnUpdate::default()
    };
    expect_refused(writer.put(&long, value), invalid, "a row that is too long")?;
    writer.put(b"good", value)?;
    writer.flush()?;
    expect_values(
        &read_all(&table)?,
        &["x"],
        "the good one beside two bad ones",
    )?;
    // What fails only later is told at the next flush, and by every call after it.
    writer.put(b"late", value)?;
    bench.source.delete_table(&table.name())?;
    expect_refused(
        writer.flush(),
        &[ErrorKind::TableNotFound, ErrorKind::Offline],
        "a flush to a deleted table",
    )?;
    ensure(
        writer
            .put(b"later", value)
            .and_then(|()| writer.flush())
            .is_err(),
        || "a writer forgot that it had failed".to_owned(),
    )
}

pub(in crate::examiner) fn large_keys_and_values_fit(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let bytes = |len: usize, seed: usize| -> Vec<u8> {
        (0..len).map(|at| ((at * 31 + seed) % 251) as u8).collect()
    };
    let mut entries = Vec::new();
    for (seed, len) in [1_000, 70_000, 1_000_000, 3_000_000]
        .into_iter()
        .enumerate()
    {
        entries.push(Entry {
            key: Key {
                timestamp: 1,
                ..Key::new(format!("v{seed}"), "f", "q")
            },
            value: bytes(len, seed),
        });
    }
    for (seed, len) in [300, 40_000, ostrakon_cell::MAX_KEY_BYTES - 1]
        .into_iter()
        .enumerate()
    {
        entries.push(Entry {
            key: Key {
                timestamp: 1,
                ..Key::new([b"k".to_vec(), bytes(len, seed)].concat(), "", "")
            },
            value: bytes(10, seed),
        });
    }
    write(&table, &entries)?;
    let expected = sorted(entries);
    expect_entries(&read_all(&table)?, &expected, "from memory")?;
    table.flush(true)?;
    expect_entries(&read_all(&table)?, &expected, "after a flush")
}

pub(in crate::examiner) fn many_small_writes_all_arrive(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    std::thread::scope(|scope| {
        let writers: Vec<_> = (0..4)
            .map(|number| {
                let table = table.clone();
                scope.spawn(move || -> Check {
                    let config = BatchWriterConfig {
                        batch_bytes: 2_000,
                        ..BatchWriterConfig::default()
                    };
                    let mut writer = BatchWriter::new(table, config);
                    for row in 0..2_500 {
                        let row = format!("{row:05}{number}");
                        writer.add(Mutation::new(row.as_str()).put("f", "q", &row)?)?;
                    }
                    Ok(writer.close()?)
                })
            })
            .collect();
        writers
            .into_iter()
            .try_for_each(|writer| match writer.join() {
                Ok(outcome) => outcome,
                Err(_) => ensure(false, || "a writer panicked".to_owned()),
            })
    })?;
    let found = read_all(&table)?;
    expect_equal(found.len(), 10_000, "entries of four writers")?;
    ensure(
        found.iter().all(|entry| entry.key.row == entry.value),
        || "values came to other rows".to_owned(),
    )
}

pub(in crate::examiner) fn durability_may_be_chosen_per_write(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let levels = [
        Durability::None,
        Durability::Log,
        Durability::Flush,
        Durability::Sync,
    ];
    for level in levels {
        let mut batch = MutationBatch::new();
        batch.push(Mutation::new(level.as_str()).put("f", "q", level.as_str())?)?;
        table.submit(batch, Some(level))?.wait()?;
    }
    let expected = ["flush", "log", "none", "sync"];
    expect_values(&read_all(&table)?, &expected, "one write of each level")
}
