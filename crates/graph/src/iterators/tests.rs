use ostrakon_cell::{
    Entry, IteratorClass, IteratorEnvironment, IteratorScope, IteratorSetting, Key,
};
use ostrakon_testkit::iterators::{IteratorCase, Seeks, examine_iterator};

use super::*;
use crate::{KeyRanges, Plus};

fn entry(row: &str, qualifier: &str, label: &str, timestamp: i64, value: &str) -> Entry {
    Entry {
        key: Key {
            visibility: label.into(),
            timestamp,
            ..Key::new(row, "", qualifier)
        },
        value: value.into(),
    }
}

fn sample() -> Vec<Entry> {
    let mut entries = Vec::new();
    for row in 0_i32..12 {
        for column in 0..row % 5 {
            for version in 0..=(row + column) % 3 {
                let label = if column == 2 { "a|b" } else { "" };
                entries.push(entry(
                    &format!("r{row:02}"),
                    &format!("c{column}"),
                    label,
                    version.into(),
                    &format!("{}", f64::from(row * 7 + column - version) / 4.0),
                ));
            }
        }
    }
    entries
}

fn examine(class: &dyn IteratorClass, setting: &IteratorSetting, seeks: Seeks) {
    for scope in [IteratorScope::Scan, IteratorScope::Majc] {
        if scope == IteratorScope::Majc && setting.class.ends_with("RowReduce") {
            continue;
        }
        let outcome = examine_iterator(IteratorCase {
            class,
            options: setting.options.clone(),
            environment: IteratorEnvironment::new(scope),
            entries: sample(),
            seeks,
        });
        assert_eq!(outcome, Ok(()), "{setting:?}");
    }
}

#[test]
fn iterators_pass_the_examiner() {
    let half = Apply {
        scalar: Scalar::Times,
        number: 0.5,
    };
    examine(
        &apply::ApplyClass,
        &half.setting(1).expect("finite"),
        Seeks::Anywhere,
    );
    let columns = KeyRanges::parse("c1,:,c2,").expect("sound");
    let filter = key_filter(1, &KeyRanges::all(), &columns, (Some(2.0), None)).expect("finite");
    examine(&filter::KeyFilterClass, &filter, Seeks::Anywhere);
    for plus in [Plus::Sum, Plus::Min, Plus::Max] {
        examine(
            &combiner::NumberCombinerClass,
            &number_combiner(1, plus),
            Seeks::Anywhere,
        );
        examine(
            &row_reduce::RowReduceClass,
            &row_reduce(1, RowReduction::Values(plus), "total"),
            Seeks::BetweenRows,
        );
    }
    examine(
        &row_reduce::RowReduceClass,
        &row_reduce(1, RowReduction::Count, "total"),
        Seeks::BetweenRows,
    );
    let examined = ["Apply", "KeyFilter", "NumberCombiner", "RowReduce"];
    assert_eq!(graph_iterators().short_names(), examined);
}

#[test]
fn options_are_checked_when_they_are_set() {
    let registry = graph_iterators();
    for (class, options) in [
        ("Apply", vec![("operation", "root")]),
        ("Apply", vec![("number", "1")]),
        ("Apply", vec![("operation", "plus"), ("number", "x")]),
        ("KeyFilter", vec![("rows", "a")]),
        ("KeyFilter", vec![("row", "61:-")]),
        ("NumberCombiner", vec![("operation", "mean")]),
        ("RowReduce", vec![]),
    ] {
        let options = options
            .into_iter()
            .map(|(name, value)| (name.to_owned(), value.to_owned()))
            .collect();
        let class = registry.get(class).expect("known");
        assert!(class.validate(&options).is_err(), "{options:?}");
    }
}
