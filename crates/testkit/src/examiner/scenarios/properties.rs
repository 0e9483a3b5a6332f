//! O: properties by Accumulo's names.

use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Table};

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
