//! T: tables come, change their names, and go.

use ostrakon_cell::{BatchWriter, BatchWriterConfig, CloneOptions, ErrorKind, Mutation, Range};
use ostrakon_cell::{MutationBatch, PendingWrite, ScanOptions, TableOptions, TimeType};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, read_all, write,
};

pub(in crate::examiner) fn created_tables_are_listed(bench: &Bench<'_>) -> Check {
    let names = [bench.free_name("a")?, bench.free_name("b")?];
    let options = TableOptions {
        time_type: TimeType::Logical,
        ..TableOptions::default()
    };
    bench.source.create_table(&names[1], &options)?;
    bench
        .source
        .create_table(&names[0], &TableOptions::default())?;
    let all = bench.source.tables()?;
    ensure(all.is_sorted_by(|a, b| a.name < b.name), || {
        "tables are not listed by name".to_owned()
    })?;
    let mut ids = Vec::new();
    for (name, time_type) in names.iter().zip([TimeType::Millis, TimeType::Logical]) {
        let info = all.iter().find(|info| info.name == *name);
        let Some(info) = info else {
            return ensure(false, || format!("{name} was created and is not listed"));
        };
        expect_equal((info.online, info.time_type), (true, time_type), name)?;
        ids.push(info.id.clone());
    }
    ensure(ids[0] != ids[1] && !ids[0].is_empty(), || {
        format!("two tables have the ids {ids:?}")
    })?;
    for name in names {
        bench.source.delete_table(&name)?;
        ensure(!bench.lists(&name)?, || {
            format!("{name} was deleted and is listed")
        })?;
    }
    Ok(())
}

pub(in crate::examiner) fn names_are_checked(bench: &Bench<'_>) -> Check {
    let (taken, missing) = (bench.free_name("taken")?, bench.free_name("missing")?);
    let (source, defaults) = (&bench.source, TableOptions::default());
    source.create_table(&taken, &defaults)?;
    let exists = &[ErrorKind::AlreadyExists];
    expect_refused(
        source.create_table(&taken, &defaults),
        exists,
        "a taken name",
    )?;
    for name in ["", "a b", "a/b", "a.b.c", "\u{e9}"] {
        expect_refused(
            source.create_table(name, &defaults),
            &[ErrorKind::InvalidArgument],
            &format!("the name {name:?}"),
        )?;
    }
    let absent = &[ErrorKind::TableNotFound];
    expect_refused(source.table(&missing), absent, "a handle to no table")?;
    expect_refused(source.delete_table(&missing), absent, "deleting no table")?;
    expect_refused(
        source.rename_table(&missing, "examiner_x"),
        absent,
        "renaming no table",
    )?;
    expect_refused(
        source.set_online(&missing, true),
        absent,
        "no table on-line",
    )?;
    let options = CloneOptions::default();
    expect_refused(
        source.clone_table(&missing, "examiner_x", &options),
        absent,
        "cloning no table",
    )?;
    let other = bench.free_name("other")?;
    source.create_table(&other, &defaults)?;
    expect_refused(
        source.rename_table(&other, &taken),
        exists,
        "renaming to a taken name",
    )?;
    expect_refused(
        source.clone_table(&other, &taken, &options),
        exists,
        "cloning to a taken name",
    )?;
    Ok(())
}

pub(in crate::examiner) fn handles_follow_a_rename(bench: &Bench<'_>) -> Check {
    let (old, new) = (bench.free_name("old")?, bench.free_name("new")?);
    bench.source.create_table(&old, &TableOptions::default())?;
    let table = bench.source.table(&old)?;
    write(&table, &[entry("a", "f", 1, "before")])?;
    bench.source.rename_table(&old, &new)?;
    write(&table, &[entry("b", "f", 1, "after")])?;
    expect_equal(table.name(), new.clone(), "the handle's name")?;
    ensure(!bench.lists(&old)?, || {
        "the old name is still listed".to_owned()
    })?;
    expect_values(&read_all(&table)?, &["before", "after"], "the old handle")?;
    let again = bench.source.table(&new)?;
    expect_values(&read_all(&again)?, &["before", "after"], "a new handle")
}

pub(in crate::examiner) fn deleted_tables_are_gone(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("a", "f", 1, "old")])?;
    table.flush(true)?;
    write(&table, &[entry("b", "f", 1, "old")])?;
    let name = table.name();
    bench.source.delete_table(&name)?;
    let gone = &[ErrorKind::TableNotFound];
    expect_refused(
        table.scan(&[Range::all()], &ScanOptions::default()),
        gone,
        "a scan of a deleted table",
    )?;
    let mut batch = MutationBatch::new();
    batch.push(Mutation::new("c").put("f", "", "lost")?)?;
    let written = table.submit(batch, None).and_then(PendingWrite::wait);
    expect_refused(written, gone, "a write to a deleted table")?;
    bench.source.create_table(&name, &TableOptions::default())?;
    let again = bench.source.table(&name)?;
    expect_values(&read_all(&again)?, &[], "a new table of the same name")?;
    let stale = table.scan(&[Range::all()], &ScanOptions::default());
    expect_refused(stale, gone, "the old handle after the name was given again").map(drop)
}

pub(in crate::examiner) fn clones_go_their_own_way(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        splits: vec![b"m".to_vec()],
        properties: [
            ("table.file.max".to_owned(), "9".to_owned()),
            ("table.custom.left".to_owned(), "out".to_owned()),
        ]
        .into(),
        ..TableOptions::default()
    })?;
    write(
        &table,
        &[
            entry("a", "f", 1, "flushed"),
            entry("t", "f", 1, "flushed too"),
        ],
    )?;
    table.flush(true)?;
    write(&table, &[entry("b", "f", 1, "fresh")])?;
    let name = bench.free_name("clone")?;
    let options = CloneOptions {
        // What is set and left out is left out.
        set_properties: ["table.custom.new", "table.custom.left"]
            .map(|name| (name.to_owned(), "1".to_owned()))
            .into(),
        exclude_properties: vec!["table.custom.left".to_owned()],
        ..CloneOptions::default()
    };
    bench.source.clone_table(&table.name(), &name, &options)?;
    let clone = bench.source.table(&name)?;
    let both = ["flushed", "fresh", "flushed too"];
    expect_values(&read_all(&clone)?, &both, "a fresh clone")?;
    expect_equal(clone.tablets()?.len(), 2, "the tablets of a clone")?;
    let properties = clone.properties()?;
    let of_clone = |name: &str| properties.get(name).map(String::as_str);
    expect_equal(
        of_clone("table.file.max"),
        Some("9"),
        "a property taken over",
    )?;
    expect_equal(of_clone("table.custom.new"), Some("1"), "a property set")?;
    expect_equal(of_clone("table.custom.left"), None, "a property left out")?;
    write(&table, &[entry("c", "f", 1, "original only")])?;
    write(
        &clone,
        &[
            entry("d", "f", 1, "clone only"),
            entry("a", "f", 2, "changed"),
        ],
    )?;
    table.delete_rows(None, Some(b"a"))?;
    table.compact(&ostrakon_cell::CompactOptions::default())?;
    let of_original = ["fresh", "original only", "flushed too"];
    expect_values(&read_all(&table)?, &of_original, "the original")?;
    let of_clone = ["changed", "fresh", "clone only", "flushed too"];
    expect_values(&read_all(&clone)?, &of_clone, "the clone")?;
    bench.source.delete_table(&table.name())?;
    clone.compact(&ostrakon_cell::CompactOptions::default())?;
    expect_values(
        &read_all(&clone)?,
        &of_clone,
        "the clone without its original",
    )
}

pub(in crate::examiner) fn ids_belong_to_tables(bench: &Bench<'_>) -> Check {
    let (one, other) = (bench.free_name("one")?, bench.free_name("other")?);
    let (source, defaults) = (&bench.source, TableOptions::default());
    source.create_table(&one, &defaults)?;
    let table = source.table(&one)?;
    let id = table.id();
    let listed = source.tables()?;
    let listed = listed.iter().find(|info| info.name == one);
    expect_equal(
        listed.map(|info| info.id.as_str()),
        Some(id.as_str()),
        "the listed id",
    )?;
    source.rename_table(&one, &other)?;
    expect_equal(table.id(), id.clone(), "the id after a rename")?;
    source.create_table(&one, &defaults)?;
    let second = source.table(&one)?.id();
    ensure(second != id, || {
        format!("a new table under the old name has the id {id} too")
    })?;
    source.delete_table(&other)?;
    expect_equal(table.id(), id.clone(), "the id of a deleted table")?;
    source.create_table(&other, &defaults)?;
    let third = source.table(&other)?.id();
    ensure(third != id && third != second, || {
        format!("an id was given again: {third}")
    })
}

pub(in crate::examiner) fn clones_of_offline_tables_are_exact(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("a", "f", 1, "flushed")])?;
    table.flush(true)?;
    write(&table, &[entry("b", "f", 1, "fresh")])?;
    let (name, clone) = (table.name(), bench.free_name("clone")?);
    bench.source.set_online(&name, false)?;
    bench
        .source
        .clone_table(&name, &clone, &CloneOptions::default())?;
    let clone = bench.source.table(&clone)?;
    expect_values(
        &read_all(&clone)?,
        &["flushed", "fresh"],
        "the clone of an off-line table",
    )?;
    bench.source.set_online(&name, true)?;
    Ok(())
}

pub(in crate::examiner) fn offline_tables_answer_offline(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("a", "f", 1, "kept")])?;
    let name = table.name();
    bench.source.set_online(&name, false)?;
    let info = bench.source.tables()?;
    let online = info.iter().find(|info| info.name == name);
    expect_equal(online.map(|info| info.online), Some(false), "the listing")?;
    let offline = &[ErrorKind::Offline];
    let scan = table
        .scan(&[Range::all()], &ScanOptions::default())
        .and_then(|mut scan| scan.next_batch(&mut ostrakon_cell::Batch::new()));
    expect_refused(scan, offline, "a scan of an off-line table")?;
    let mut writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
    writer.add(Mutation::new("b").put("f", "", "lost")?)?;
    expect_refused(writer.flush(), offline, "a write to an off-line table")?;
    bench.source.set_online(&name, true)?;
    bench.source.set_online(&name, true)?;
    write(&table, &[entry("c", "f", 1, "later")])?;
    expect_values(&read_all(&table)?, &["kept", "later"], "back on-line")?;
    let asleep = bench.free_name("asleep")?;
    let options = TableOptions {
        offline: true,
        ..TableOptions::default()
    };
    bench.source.create_table(&asleep, &options)?;
    let table = bench.source.table(&asleep)?;
    let scan = table.scan(&[Range::all()], &ScanOptions::default());
    expect_refused(scan.map(drop), offline, "a scan of a table made off-line").map(drop)
}
