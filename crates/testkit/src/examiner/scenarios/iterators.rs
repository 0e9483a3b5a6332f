//! I: iterators, given with a scan or set on the table.

use ostrakon_cell::iterator::{IteratorScope, IteratorSetting};
use ostrakon_cell::{ClassKind, CompactOptions, ErrorKind, Range, ScanOptions, TableOptions};

use crate::examiner::bench::{
    Bench, Check, ensure, entry, expect_equal, expect_refused, expect_values, read_all, read_with,
    write,
};

fn newest(count: usize) -> IteratorSetting {
    IteratorSetting::new(30, "newest", "VersioningIterator").with("maxVersions", count.to_string())
}

pub(in crate::examiner) fn a_scan_may_bring_iterators(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    for at in 1..=4 {
        write(&table, &[entry("r", "f:q", at, &at.to_string())])?;
    }
    let with = |iterators: Vec<IteratorSetting>| {
        let options = ScanOptions {
            iterators,
            ..ScanOptions::default()
        };
        read_with(&table, &[Range::all()], &options)
    };
    expect_values(&with(vec![newest(2)])?, &["4", "3"], "the two newest")?;
    let full = IteratorSetting::new(
        7,
        "full",
        "org.apache.accumulo.core.iterators.user.VersioningIterator",
    );
    expect_values(&with(vec![full.clone()])?, &["4"], "a full class name")?;
    expect_values(&with(vec![newest(3), full])?, &["4"], "two iterators")?;
    expect_values(
        &read_all(&table)?,
        &["4", "3", "2", "1"],
        "the next scan is without",
    )
}

pub(in crate::examiner) fn table_iterators_are_live(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    for at in 1..=4 {
        write(&table, &[entry("r", "f:q", at, &at.to_string())])?;
    }
    let set = |setting: &IteratorSetting, on: bool| {
        let changes: Vec<(String, Option<String>)> = setting
            .to_properties(&[IteratorScope::Scan])
            .into_iter()
            .map(|(name, value)| (name, on.then_some(value)))
            .collect();
        table.modify_properties(&changes)
    };
    set(&newest(3), true)?;
    expect_values(&read_all(&table)?, &["4", "3", "2"], "set")?;
    set(&newest(1), true)?;
    expect_values(&read_all(&table)?, &["4"], "changed")?;
    set(&newest(1), false)?;
    expect_values(&read_all(&table)?, &["4", "3", "2", "1"], "removed")
}

pub(in crate::examiner) fn unknown_classes_are_refused_at_once(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    write(&table, &[entry("r", "f:q", 1, "x")])?;
    let kinds = &[ErrorKind::ClassNotFound, ErrorKind::InvalidArgument];
    let unknown = IteratorSetting::new(40, "odd", "NoSuchIterator");
    let before = table.properties()?;
    let set = |properties: std::collections::BTreeMap<String, String>| {
        let changes: Vec<_> = properties
            .into_iter()
            .map(|(name, value)| (name, Some(value)))
            .collect();
        table.modify_properties(&changes)
    };
    let error = expect_refused(
        set(unknown.to_properties(&IteratorScope::ALL)),
        kinds,
        "setting an unknown class",
    )?;
    ensure(error.to_string().contains("NoSuchIterator"), || {
        format!("the error does not name the class: {error}")
    })?;
    let bad_option = newest(1).with("maxVersions", "many");
    let only_invalid = &[ErrorKind::InvalidArgument];
    expect_refused(
        set(bad_option.to_properties(&[IteratorScope::Majc])),
        only_invalid,
        "a malformed option",
    )?;
    let no_priority = [(
        "table.iterator.scan.x".to_owned(),
        "0,VersioningIterator".to_owned(),
    )];
    expect_refused(set(no_priority.into()), only_invalid, "a priority of 0")?;
    expect_equal(table.properties()?, before, "the properties after refusals")?;
    let options = TableOptions {
        properties: unknown.to_properties(&[IteratorScope::Minc]),
        ..TableOptions::default()
    };
    let name = bench.free_name("odd")?;
    expect_refused(
        bench.source.create_table(&name, &options),
        kinds,
        "a table with an unknown class",
    )?;
    ensure(!bench.lists(&name)?, || {
        "the refused table is there".to_owned()
    })?;
    let options = ScanOptions {
        iterators: vec![unknown.clone()],
        ..ScanOptions::default()
    };
    expect_refused(
        table.scan(&[Range::all()], &options).map(drop),
        kinds,
        "a scan with an unknown class",
    )?;
    let options = CompactOptions {
        iterators: vec![unknown],
        ..CompactOptions::default()
    };
    expect_refused(
        table.compact(&options),
        kinds,
        "a compaction with an unknown class",
    )?;
    expect_values(&read_all(&table)?, &["x"], "the table afterwards")
}

pub(in crate::examiner) fn sums_stay_right_through_files(bench: &Bench<'_>) -> Check {
    let sum = IteratorSetting::new(10, "sum", "SummingCombiner")
        .with("all", "true")
        .with("type", "STRING");
    let table = bench.table_with(&TableOptions {
        without_default_iterators: true,
        properties: sum.to_properties(&IteratorScope::ALL),
        ..TableOptions::default()
    })?;
    let mut total = 0;
    for round in 1..=10 {
        let text = round.to_string();
        write(
            &table,
            &[
                entry("r", "f:q", round, &text),
                entry("r", "f:q", round, &text),
            ],
        )?;
        total += 2 * round;
        expect_values(&read_all(&table)?, &[&total.to_string()], "written")?;
        match round % 3 {
            0 => table.compact(&CompactOptions::default())?,
            1 => table.flush(true)?,
            _ => {}
        }
        expect_values(&read_all(&table)?, &[&total.to_string()], "settled")?;
    }
    Ok(())
}

pub(in crate::examiner) fn equal_priorities_run_by_name(bench: &Bench<'_>) -> Check {
    let table = bench.table_of_all_versions()?;
    write(
        &table,
        &[entry("r", "f:q", 1, "1"), entry("r", "f:q", 2, "2")],
    )?;
    // The newest version alone, or the sum of both: what runs first decides.
    let versions = "20,VersioningIterator".to_owned();
    let sum = "20,SummingCombiner".to_owned();
    let set = |name: &str, value: &str| {
        (
            format!("table.iterator.scan.{name}"),
            Some(value.to_owned()),
        )
    };
    let options = |name: &str| {
        [
            set(&format!("{name}.opt.all"), "true"),
            set(&format!("{name}.opt.type"), "STRING"),
        ]
    };
    let mut changes = options("a").to_vec();
    changes.extend([set("a", &sum), set("b", &versions)]);
    table.modify_properties(&changes)?;
    expect_values(&read_all(&table)?, &["3"], "the sum first")?;
    let mut changes: Vec<_> = changes.into_iter().map(|(name, _)| (name, None)).collect();
    changes.extend(options("b"));
    changes.extend([set("a", &versions), set("b", &sum)]);
    table.modify_properties(&changes)?;
    expect_values(&read_all(&table)?, &["2"], "the newest version first")
}

pub(in crate::examiner) fn a_scan_may_bring_options(bench: &Bench<'_>) -> Check {
    let table = bench.table()?;
    let three = [1, 2, 3].map(|at| entry("r", "f:q", at, &at.to_string()));
    write(&table, &three)?;
    let read = |name: &str, value: &str| {
        let given = [("maxVersions".to_owned(), value.to_owned())].into();
        let options = ScanOptions {
            iterator_options: [(name.to_owned(), given)].into(),
            ..ScanOptions::default()
        };
        read_with(&table, &[Range::all()], &options)
    };
    expect_values(
        &read("vers", "2")?,
        &["3", "2"],
        "an option for the table's iterator",
    )?;
    expect_values(&read("other", "2")?, &["3"], "an option for none")?;
    expect_values(&read_all(&table)?, &["3"], "the next scan")?;
    ensure(read("vers", "many").is_err(), || {
        "a wrong option was accepted".to_owned()
    })
}

pub(in crate::examiner) fn classes_are_looked_up(bench: &Bench<'_>) -> Check {
    let source = &bench.source;
    let long = "org.apache.accumulo.core.iterators.user.VersioningIterator";
    for class in [long, "VersioningIterator"] {
        let found = source.find_class(ClassKind::Iterator, class)?;
        let name = found.map(|found| found.name);
        ensure(
            name.as_deref()
                .is_some_and(|name| name.ends_with("VersioningIterator")),
            || format!("{class} is {name:?}"),
        )?;
    }
    let constraint = source.find_class(ClassKind::Constraint, "NoDeleteConstraint")?;
    ensure(constraint.is_some(), || "no constraint is known".to_owned())?;
    for kind in [ClassKind::Iterator, ClassKind::Constraint] {
        let none = source.find_class(kind, "org.example.NoSuchClass")?;
        expect_equal(none, None, "a class that does not exist")?;
    }
    // A class is looked up among those of its kind.
    let other = source.find_class(ClassKind::Constraint, long)?;
    expect_equal(other, None, "an iterator among constraints")
}
