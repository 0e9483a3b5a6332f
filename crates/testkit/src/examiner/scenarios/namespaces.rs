//! G: namespaces, the groups of tables.

use ostrakon_cell::{CloneOptions, ErrorKind, TableOptions};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, read_all, write,
};

/// The id of a namespace, by its name.
fn id_of(bench: &Bench<'_>, name: &str) -> Check<Option<String>> {
    let all = bench.source.namespaces()?;
    Ok(all
        .into_iter()
        .find(|one| one.name == name)
        .map(|one| one.id))
}

/// The id of a table's namespace.
fn namespace_of(bench: &Bench<'_>, table: &str) -> Check<Option<String>> {
    let all = bench.source.tables()?;
    let found = all.into_iter().find(|one| one.name == table);
    Ok(found.map(|one| one.namespace_id))
}

pub(in crate::examiner) fn namespaces_come_and_go(bench: &Bench<'_>) -> Check {
    let source = &bench.source;
    let (old, new) = (bench.free_namespace("old")?, bench.free_namespace("new")?);
    for (name, id) in [("", "+default"), ("accumulo", "+accumulo")] {
        expect_equal(id_of(bench, name)?.as_deref(), Some(id), "always there")?;
    }
    source.create_namespace(&old)?;
    let id = id_of(bench, &old)?;
    ensure(id.is_some(), || "the namespace is not listed".to_owned())?;
    let (table_old, table_new) = (format!("{old}.t"), format!("{new}.t"));
    source.create_table(&table_old, &TableOptions::default())?;
    let table = source.table(&table_old)?;
    write(&table, &[entry("r", "f", 1, "v")])?;
    expect_equal(namespace_of(bench, &table_old)?, id.clone(), "of its table")?;
    let plain = bench.table()?;
    let default = Some("+default".to_owned());
    expect_equal(
        namespace_of(bench, &plain.name())?,
        default,
        "of a table without",
    )?;
    // A rename takes the tables along; id and handle stay.
    source.rename_namespace(&old, &new)?;
    expect_equal(id_of(bench, &new)?, id.clone(), "the id after a rename")?;
    expect_equal(id_of(bench, &old)?, None, "the old name")?;
    expect_equal(table.name(), table_new.clone(), "the handle's name")?;
    expect_equal(namespace_of(bench, &table_new)?, id.clone(), "of the table")?;
    ensure(!bench.lists(&table_old)?, || {
        "the old name is listed".to_owned()
    })?;
    expect_values(&read_all(&source.table(&table_new)?)?, &["v"], "the table")?;
    // The old name may be used anew, and is another namespace.
    source.create_namespace(&old)?;
    ensure(id_of(bench, &old)? != id, || {
        "an id was given twice".to_owned()
    })?;
    source.create_table(&table_old, &TableOptions::default())?;
    expect_values(&read_all(&source.table(&table_old)?)?, &[], "the new table")?;
    // Tables stay in their namespace, but for clones.
    expect_refused(
        source.rename_table(&table_new, &format!("{old}.u")),
        &[ErrorKind::InvalidArgument],
        "renaming into another namespace",
    )?;
    source.rename_table(&table_new, &format!("{new}.u"))?;
    if source.capabilities().has(ostrakon_cell::Capability::Clone) {
        let to = format!("{old}.u");
        source.clone_table(&format!("{new}.u"), &to, &CloneOptions::default())?;
        expect_equal(
            namespace_of(bench, &to)?,
            id_of(bench, &old)?,
            "of the clone",
        )?;
        source.delete_table(&to)?;
    }
    source.delete_table(&table_old)?;
    source.delete_table(&format!("{new}.u"))?;
    source.delete_namespace(&old)?;
    source.delete_namespace(&new)?;
    expect_equal(id_of(bench, &new)?, None, "a namespace that was deleted")
}

pub(in crate::examiner) fn names_are_checked(bench: &Bench<'_>) -> Check {
    let source = &bench.source;
    let invalid = &[ErrorKind::InvalidArgument];
    for name in ["", "a b", "a.b", "\u{e9}", "accumulo"] {
        expect_refused(
            source.create_namespace(name),
            &[ErrorKind::InvalidArgument, ErrorKind::AlreadyExists],
            &format!("the name {name:?}"),
        )?;
    }
    expect_refused(
        source.create_table("accumulo.mine", &TableOptions::default()),
        invalid,
        "a table among those of the system",
    )?;
    let name = bench.free_namespace("ns")?;
    let absent = &[ErrorKind::NamespaceNotFound];
    let table = format!("{name}.t");
    expect_refused(
        source.create_table(&table, &TableOptions::default()),
        absent,
        "a table in no namespace",
    )?;
    expect_refused(source.delete_namespace(&name), absent, "deleting none")?;
    expect_refused(source.rename_namespace(&name, "x"), absent, "renaming none")?;
    source.create_namespace(&name)?;
    let taken = &[ErrorKind::AlreadyExists];
    expect_refused(source.create_namespace(&name), taken, "a taken name")?;
    let other = bench.free_namespace("other")?;
    source.create_namespace(&other)?;
    expect_refused(
        source.rename_namespace(&other, &name),
        taken,
        "a taken name",
    )?;
    for fixed in ["", "accumulo"] {
        expect_refused(
            source.delete_namespace(fixed),
            invalid,
            "deleting a fixed one",
        )?;
        let renamed = source.rename_namespace(fixed, "examiner_g2_x");
        expect_refused(renamed, invalid, "renaming a fixed one")?;
    }
    expect_refused(
        source.rename_namespace(&other, "accumulo"),
        &[ErrorKind::InvalidArgument, ErrorKind::AlreadyExists],
        "renaming to the reserved name",
    )?;
    source.delete_namespace(&other)?;
    Ok(source.delete_namespace(&name)?)
}

pub(in crate::examiner) fn full_ones_stay(bench: &Bench<'_>) -> Check {
    let source = &bench.source;
    let name = bench.free_namespace("ns")?;
    source.create_namespace(&name)?;
    let table = format!("{name}.t");
    source.create_table(&table, &TableOptions::default())?;
    expect_refused(
        source.delete_namespace(&name),
        &[ErrorKind::NotEmpty],
        "deleting a namespace with a table",
    )?;
    ensure(bench.lists(&table)?, || "the table is gone".to_owned())?;
    source.delete_table(&table)?;
    source.delete_namespace(&name)?;
    expect_equal(id_of(bench, &name)?, None, "the namespace")
}
