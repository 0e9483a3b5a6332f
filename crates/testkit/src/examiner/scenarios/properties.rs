//! O: properties by Accumulo's names.

use std::sync::Arc;

use ostrakon_cell::{
    ErrorKind, Properties, PropertyEffect, PropertyLevel, PropertyOwner, Table, TableOptions,
};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, read_all, write,
};

fn set(table: &Arc<dyn Table>, changes: &[(&str, Option<&str>)]) -> ostrakon_cell::Result<()> {
    let changes: Vec<(String, Option<String>)> = changes
        .iter()
        .map(|(name, value)| ((*name).to_owned(), value.map(str::to_owned)))
        .collect();
    table.modify_properties(&changes)
}

fn value(table: &Arc<dyn Table>, name: &str) -> Check<Option<String>> {
    Ok(table.properties()?.remove(name))
}

pub(in crate::examiner) fn properties_are_set_and_removed(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let defaults = table.properties()?;
    for name in [
        "table.split.threshold",
        "table.durability",
        "table.compaction.major.ratio",
        "table.file.compress.type",
        "table.bloom.enabled",
        "table.iterator.scan.vers",
        "table.iterator.minc.vers",
        "table.iterator.majc.vers.opt.maxVersions",
    ] {
        ensure(defaults.contains_key(name), || {
            format!("{name} has no default")
        })?;
    }
    set(
        &table,
        &[
            ("table.split.threshold", Some("64M")),
            ("table.bloom.enabled", Some("true")),
            ("table.custom.colour", Some("red, or not")),
            ("table.group.left", Some("a,b")),
            ("table.groups.enabled", Some("left")),
        ],
    )?;
    let is = |name: &str, expected: Option<&str>, what: &str| -> Check {
        expect_equal(value(&table, name)?, expected.map(str::to_owned), what)
    };
    is("table.split.threshold", Some("64M"), "a changed property")?;
    is(
        "table.custom.colour",
        Some("red, or not"),
        "a property of the user's",
    )?;
    is("table.group.left", Some("a,b"), "a locality group")?;
    write(
        &table,
        &[entry("r", "a:q", 1, "a"), entry("r", "c:q", 1, "c")],
    )?;
    table.flush(true)?;
    expect_values(
        &read_all(&table)?,
        &["a", "c"],
        "entries under live changes",
    )?;
    set(
        &table,
        &[
            ("table.split.threshold", None),
            ("table.custom.colour", None),
            ("table.custom.never", None),
        ],
    )?;
    is("table.custom.colour", None, "a property removed")?;
    let default = defaults.get("table.split.threshold").map(String::as_str);
    is(
        "table.split.threshold",
        default,
        "a property back at its default",
    )
}

pub(in crate::examiner) fn wrong_properties_change_nothing(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let before = table.properties()?;
    let good = ("table.custom.good", Some("1"));
    let error = expect_refused(
        set(&table, &[good, ("table.spilt.threshold", Some("1G"))]),
        &[ErrorKind::NotFound, ErrorKind::InvalidArgument],
        "an unknown property",
    )?;
    ensure(error.to_string().contains("table.split.threshold"), || {
        format!("no suggestion in: {error}")
    })?;
    for (name, value) in [
        ("table.split.threshold", "large"),
        ("table.durability", "maybe"),
        ("table.bloom.enabled", "2"),
        ("table.iterator.scan.x", "VersioningIterator"),
        ("table.security.scan.visibility.default", "a&"),
    ] {
        expect_refused(
            set(&table, &[good, (name, Some(value))]),
            &[ErrorKind::InvalidArgument],
            &format!("{name} = {value}"),
        )?;
    }
    expect_equal(table.properties()?, before, "the properties after refusals")
}

pub(in crate::examiner) fn durability_changes_live(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let levels = ["none", "log", "flush", "sync"];
    for (level, number) in levels.iter().chain(levels.iter().rev()).zip(1_i64..) {
        set(&table, &[("table.durability", Some(level))])?;
        let found = value(&table, "table.durability")?;
        expect_equal(found.as_deref(), Some(*level), "the property")?;
        write(&table, &[entry("r", "f:q", number, level)])?;
        expect_values(&read_all(&table)?, &[level], "a write at this level")?;
        if number % 3 == 0 {
            table.flush(true)?;
        }
    }
    Ok(())
}

pub(in crate::examiner) fn own_properties_are_told_apart(bench: &Bench<'_>) -> Check {
    let table = bench.table_with(&TableOptions {
        without_default_iterators: true,
        without_default_constraint: true,
        ..TableOptions::default()
    })?;
    let empty = table.own_properties()?;
    expect_equal(empty.properties, Properties::new(), "a table of its own")?;
    set(&table, &[("table.file.max", Some("7"))])?;
    let own = table.own_properties()?;
    let expected: Properties = [("table.file.max".to_owned(), "7".to_owned())].into();
    expect_equal(own.properties, expected, "what is set for the table")?;
    ensure(own.version > empty.version, || {
        format!("the version is {} after a change", own.version)
    })?;
    let all = table.describe_properties()?;
    expect_equal(
        all.iter()
            .map(|(name, info)| (name.clone(), info.value.clone()))
            .collect::<Properties>(),
        table.properties()?,
        "the properties described",
    )?;
    let level = |name: &str| all.get(name).map(|info| info.level);
    expect_equal(
        [level("table.file.max"), level("table.split.threshold")],
        [Some(PropertyLevel::Table), Some(PropertyLevel::Default)],
        "levels",
    )
}

pub(in crate::examiner) fn one_of_two_changes_succeeds(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let read = table.own_properties()?.version;
    let change = |value: &str| [("table.custom.n".to_owned(), Some(value.to_owned()))];
    let next = table.change_properties(Some(read), &change("first"))?;
    expect_equal(
        table.own_properties()?.version,
        next,
        "the version answered",
    )?;
    expect_refused(
        table.change_properties(Some(read), &change("second")),
        &[ErrorKind::ConcurrentModification],
        "a change of an old version",
    )?;
    let found = value(&table, "table.custom.n")?;
    expect_equal(found.as_deref(), Some("first"), "after the refusal")?;
    table.change_properties(Some(next), &change("third"))?;
    // Many threads count in a property: none of the steps may be lost.
    let steps = 8;
    let counted = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..2)
            .map(|_| scope.spawn(|| (0..steps).try_for_each(|_| count_on(&table))))
            .collect();
        threads
            .into_iter()
            .all(|thread| matches!(thread.join(), Ok(Ok(()))))
    });
    ensure(counted, || "counting in a property failed".to_owned())?;
    let found = value(&table, "table.custom.count")?;
    expect_equal(found, Some((2 * steps).to_string()), "the count")
}

/// Adds one to a property.
fn count_on(table: &Arc<dyn Table>) -> ostrakon_cell::Result<()> {
    let name = "table.custom.count";
    loop {
        let own = table.own_properties()?;
        let count = own
            .properties
            .get(name)
            .and_then(|text| text.parse::<u64>().ok());
        let next = (count.unwrap_or_default() + 1).to_string();
        match table.change_properties(Some(own.version), &[(name.to_owned(), Some(next))]) {
            Err(error) if error.kind() == ErrorKind::ConcurrentModification => {}
            outcome => return outcome.map(drop),
        }
    }
}

pub(in crate::examiner) fn tables_inherit_properties(bench: &Bench<'_>) -> Check {
    let source = &bench.source;
    let namespace = bench.free_namespace("ns")?;
    source.create_namespace(&namespace)?;
    let name = format!("{namespace}.t");
    source.create_table(&name, &TableOptions::default())?;
    let (table, outside) = (source.table(&name)?, bench.table()?);
    let of_namespace = PropertyOwner::Namespace(&namespace);
    let change = |owner, name: &str, value: Option<&str>| {
        source.change_properties(owner, None, &[(name.to_owned(), value.map(str::to_owned))])
    };
    let file_max = "table.file.max";
    let clean = || change(PropertyOwner::System, file_max, None);
    clean()?;
    let default = value(&table, file_max)?;
    let is = |table: &Arc<dyn Table>, expected: Option<&str>, level, what: &str| -> Check {
        let found = table.describe_properties()?.remove(file_max);
        let found = found.map(|info| (info.value, info.level));
        let described = expected.map(|value| (value.to_owned(), level));
        expect_equal(found, described, what)?;
        expect_equal(value(table, file_max)?.as_deref(), expected, what)
    };
    change(PropertyOwner::System, file_max, Some("31"))?;
    is(&table, Some("31"), PropertyLevel::System, "of the source")?;
    is(&outside, Some("31"), PropertyLevel::System, "of the source")?;
    change(of_namespace, file_max, Some("32"))?;
    is(
        &table,
        Some("32"),
        PropertyLevel::Namespace,
        "of the namespace",
    )?;
    is(
        &outside,
        Some("31"),
        PropertyLevel::System,
        "of another namespace",
    )?;
    set(&table, &[(file_max, Some("33"))])?;
    is(&table, Some("33"), PropertyLevel::Table, "of the table")?;
    set(&table, &[(file_max, None)])?;
    is(
        &table,
        Some("32"),
        PropertyLevel::Namespace,
        "removed from the table",
    )?;
    // What is inherited is no more than that: the table's own properties do not have it.
    ensure(
        !table.own_properties()?.properties.contains_key(file_max),
        || "an inherited property is the table's own".to_owned(),
    )?;
    let version = source.own_properties(of_namespace)?.version;
    source.change_properties(of_namespace, Some(version), &[(file_max.to_owned(), None)])?;
    expect_refused(
        source.change_properties(of_namespace, Some(version), &[(file_max.to_owned(), None)]),
        &[ErrorKind::ConcurrentModification],
        "a change of an old version of a namespace",
    )?;
    // Live, and for what decides what is read: two versions of a column.
    write(
        &table,
        &[entry("r", "f:q", 1, "old"), entry("r", "f:q", 2, "new")],
    )?;
    let newest = "table.iterator.scan.vers";
    set(
        &table,
        &[
            (newest, None),
            ("table.iterator.scan.vers.opt.maxVersions", None),
        ],
    )?;
    expect_values(&read_all(&table)?, &["new", "old"], "without the iterator")?;
    change(of_namespace, newest, Some("20,VersioningIterator"))?;
    expect_values(&read_all(&table)?, &["new"], "an inherited iterator")?;
    change(of_namespace, newest, None)?;
    expect_refused(
        change(of_namespace, "table.file.max", Some("many")),
        &[ErrorKind::InvalidArgument],
        "a malformed value for a namespace",
    )?;
    expect_refused(
        change(
            PropertyOwner::Namespace("examiner_nowhere"),
            file_max,
            Some("7"),
        ),
        &[ErrorKind::NamespaceNotFound],
        "properties of no namespace",
    )?;
    // Properties of Accumulo's servers are for the source alone.
    let server = "tserver.compaction.major.service.cs1.planner";
    change(PropertyOwner::System, server, Some("x"))?;
    ensure(!table.properties()?.contains_key(server), || {
        "a table has a property of servers".to_owned()
    })?;
    change(PropertyOwner::System, server, None)?;
    clean()?;
    expect_equal(value(&table, file_max)?, default, "back at the default")?;
    source.delete_table(&name)?;
    Ok(source.delete_namespace(&namespace)?)
}

pub(in crate::examiner) fn properties_without_effect_are_kept(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let kept = [
        ("table.balancer", "org.example.Balancer"),
        ("table.file.ec.policy", "RS-6-3-64K"),
        ("table.majc.compaction.strategy", "org.example.Strategy"),
        ("table.classpath.context", "here"),
        ("table.file.summary.maxSize", "128K"),
        ("table.suspend.duration", "5s"),
    ];
    for (name, value) in kept {
        set(&table, &[(name, Some(value))])?;
        let described = table.describe_properties()?.remove(name);
        expect_equal(
            described.map(|info| (info.value, info.level, info.effect)),
            Some((value.to_owned(), PropertyLevel::Table, PropertyEffect::None)),
            name,
        )?;
    }
    // Java's default codec. A source that has it not says which it uses.
    let codec = "table.file.compress.type";
    set(&table, &[(codec, Some("gz"))])?;
    expect_equal(value(&table, codec)?.as_deref(), Some("gz"), "the codec")?;
    write(&table, &[entry("r", "f:q", 1, "v")])?;
    table.flush(true)?;
    expect_values(&read_all(&table)?, &["v"], "an entry under that codec")
}

pub(in crate::examiner) fn groups_are_set_one_after_another(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    // As Accumulo's client does it: families first, the list of groups last, the next time with other families.
    let java = |groups: [(&str, &str); 2]| -> Check {
        for (group, families) in groups {
            set(&table, &[(&format!("table.group.{group}"), Some(families))])?;
        }
        Ok(set(&table, &[("table.groups.enabled", Some("g1,g2"))])?)
    };
    java([("g1", "a"), ("g2", "b")])?;
    write(
        &table,
        &[entry("r", "a:q", 1, "a"), entry("r", "b:q", 1, "b")],
    )?;
    table.flush(true)?;
    java([("g1", "b"), ("g2", "a")])?;
    expect_values(
        &read_all(&table)?,
        &["a", "b"],
        "after groups changed places",
    )?;
    // A list before its groups is unfinished, not wrong.
    set(&table, &[("table.groups.enabled", Some("g1,g2,g3"))])?;
    set(&table, &[("table.group.g3", Some("c"))])?;
    expect_values(&read_all(&table)?, &["a", "b"], "with a third group")
}
