use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::tables::testing::{context, fill, plain_context, read};
use crate::{GraphContext, KeyRanges, Plus, Semiring, Times, ValueKind};

type Dense = BTreeMap<(String, String), f64>;

fn table(context: &GraphContext, name: &str, entries: &[(u8, u8, i32)]) -> Dense {
    let mut dense = Dense::new();
    for &(row, column, value) in entries {
        // The last value written is the one the table keeps.
        dense.insert(
            (format!("k{row}"), format!("{name}{column}")),
            f64::from(value),
        );
    }
    fill(
        context,
        name,
        dense
            .iter()
            .map(|((row, column), value)| (row, column, value.to_string())),
    );
    dense
}

fn slow(a: &Dense, b: &Dense, semiring: Semiring) -> (Dense, u64) {
    let (mut product, mut count) = (Dense::new(), 0);
    for ((row, out), left) in a {
        for ((other, into), right) in b {
            if row == other {
                count += 1;
                let value = semiring.times.apply(*left, *right);
                product
                    .entry((out.clone(), into.clone()))
                    .and_modify(|so_far| *so_far = semiring.plus.apply(*so_far, value))
                    .or_insert(value);
            }
        }
    }
    (product, count)
}

fn dense(matrix: &crate::SparseMatrix) -> Dense {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    matrix
        .iter()
        .map(|(row, column, value)| ((text(row), text(column)), value))
        .collect()
}

fn stored(context: &GraphContext, name: &str) -> Dense {
    read(context, name)
        .into_iter()
        .map(|(row, column, value)| ((row, column), value))
        .collect()
}

fn entries() -> impl Strategy<Value = Vec<(u8, u8, i32)>> {
    prop::collection::vec((0_u8..8, 0_u8..70, -5..6), 0..80)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]
    #[test]
    fn products_are_those_of_a_slow_one(
        left in entries(),
        right in entries(),
        semiring in prop::sample::select(vec!["plus.times", "min.plus", "max.min", "plus.pair"]),
        tight in any::<bool>(),
        registered in any::<bool>(),
    ) {
        let mut context = if registered { context() } else { plain_context() };
        // So little memory that nearly every match is a separate collection.
        context.memory_bytes = if tight { 100 } else { 1 << 20 };
        let (a, b) = (table(&context, "a", &left), table(&context, "b", &right));
        let mut options = TableMultOptions::new("a", "b");
        options.semiring = semiring.parse().expect("sound");
        options.result = Some("c".into());
        options.result_transpose = Some("ct".into());
        options.collect = !tight;
        let outcome = table_mult(&context, &options).expect("multiplies");
        let (expected, count) = slow(&a, &b, options.semiring);
        prop_assert_eq!(outcome.partial_products, count);
        prop_assert_eq!(&stored(&context, "c"), &expected);
        let turn = |((row, column), value): (&(String, String), &f64)| {
            ((column.clone(), row.clone()), *value)
        };
        let turned: Dense = expected.iter().map(turn).collect();
        prop_assert_eq!(stored(&context, "ct"), turned);
        prop_assert_eq!(outcome.io.result_entries, 2 * expected.len() as u64);
        if tight {
            prop_assert!(outcome.io.relative_io() >= 1.0 || expected.is_empty());
        } else {
            prop_assert_eq!(outcome.io.entries_written, 2 * expected.len() as u64);
            prop_assert_eq!(dense(outcome.matrix.as_ref().expect("asked for")), expected);
        }
    }
}

/// Two tables in which all rows match: 40 rows of 60 entries each, 144,000 partial products.
fn crowded(context: &GraphContext) -> (Dense, Dense) {
    let of = |seed: u32| -> Vec<(u8, u8, i32)> {
        let cell = |at: u32| {
            let column = (at * 11 + seed * at / 60 % 5) % 70;
            ((at / 60) as u8, column as u8, (at % 9) as i32 - 4)
        };
        (0..2400).map(cell).collect()
    };
    (table(context, "a", &of(1)), table(context, "b", &of(3)))
}

#[test]
fn blocks_write_each_entry_once_and_stay_within_memory() {
    for registered in [true, false] {
        let mut context = if registered {
            context()
        } else {
            plain_context()
        };
        let (a, b) = crowded(&context);
        let mut options = TableMultOptions::new("a", "b");
        options.result = Some("c".into());
        options.result_transpose = Some("ct".into());
        for part in [Part::All, Part::Upper, Part::OffDiagonal] {
            options.part = part;
            options.right = if part == Part::All { "b" } else { "a" }.into();
            let mut outcomes = Vec::new();
            for memory in [1 << 20, 40_000, 20_000] {
                let _ = context.source.delete_table("c");
                let _ = context.source.delete_table("ct");
                context.memory_bytes = memory;
                let outcome = table_mult(&context, &options).expect("multiplies");
                assert_eq!(outcome.io.relative_io(), 1.0, "{memory} bytes");
                outcomes.push((outcome, stored(&context, "c"), stored(&context, "ct")));
            }
            let (one, c, ct) = &outcomes[0];
            assert_eq!(one.collections, 1);
            if part == Part::All {
                assert_eq!(
                    (c, one.partial_products),
                    (
                        &slow(&a, &b, options.semiring).0,
                        slow(&a, &b, options.semiring).1
                    )
                );
            }
            for (several, again, turned) in &outcomes[1..] {
                assert!(several.collections >= 3, "{}", several.collections);
                assert_eq!((again, turned), (c, ct));
                assert_eq!(several.partial_products, one.partial_products);
                assert_eq!(several.rows_matched, one.rows_matched);
                assert_eq!(several.io, one.io);
            }
        }
    }
}

#[test]
fn a_result_written_to_its_own_input_uses_the_entries_before_it() {
    let mut wide = context();
    let (a, _) = crowded(&wide);
    let mut options = TableMultOptions::new("a", "a");
    options.collect = true;
    let outcome = table_mult(&wide, &options).expect("multiplies");
    let expected = dense(outcome.matrix.as_ref().expect("asked for"));
    // The same again, into the table itself and with too little memory for one collection.
    let sums = crate::tables::TableWriter::open(&wide, &"sums".into(), Plus::Sum);
    assert!(sums.expect("made").fresh);
    fill(
        &wide,
        "sums",
        a.iter()
            .map(|((row, column), value)| (row, column, value.to_string())),
    );
    wide.memory_bytes = 40_000;
    let mut options = TableMultOptions::new("sums", "sums");
    options.result = Some("sums".into());
    let outcome = table_mult(&wide, &options).expect("multiplies");
    assert!(outcome.collections > 1, "{}", outcome.collections);
    let mut all = a;
    all.extend(expected);
    assert_eq!(stored(&wide, "sums"), all);
}

#[test]
fn a_second_product_is_added_to_the_first() {
    for context in [context(), plain_context()] {
        fill(&context, "a", [("k", "x", "2"), ("k", "y", "3")]);
        let mut options = TableMultOptions::new("a", "a");
        options.result = Some("c".into());
        table_mult(&context, &options).expect("multiplies");
        let again = table_mult(&context, &options).expect("multiplies");
        assert_eq!(stored(&context, "c")[&("x".into(), "y".into())], 12.0);
        assert_eq!((again.io.entries_written, again.io.result_entries), (4, 4));
    }
}

#[test]
fn parts_filters_and_functions_are_honoured() {
    let context = context();
    let entries = [
        ("k1", "x", "2"),
        ("k1", "y", "3"),
        ("k2", "x", "5"),
        ("k2", "z", "word"),
    ];
    fill(&context, "a", entries);
    let mut options = TableMultOptions::new("a", "a");
    options.collect = true;
    assert!(
        table_mult(&context, &options).is_err(),
        "a word is not a number"
    );
    options.left.values = ValueKind::NumbersOrOne;
    options.right.values = ValueKind::NumbersOrOne;
    let product = |options: &TableMultOptions| {
        let outcome = table_mult(&context, options).expect("multiplies");
        let shown: Vec<String> = dense(&outcome.matrix.expect("asked for"))
            .into_iter()
            .map(|((row, column), value)| format!("{row}{column}{value}"))
            .collect();
        shown.join(" ")
    };
    assert_eq!(product(&options), "xx29 xy6 xz5 yx6 yy9 zx5 zz1");
    options.part = Part::OffDiagonal;
    assert_eq!(product(&options), "xy6 xz5 yx6 zx5");
    options.part = Part::Upper;
    assert_eq!(product(&options), "xy6 xz5");
    options.right.columns = KeyRanges::parse("y,").expect("sound");
    options.left.rows = KeyRanges::parse(":,k1,").expect("sound");
    assert_eq!(product(&options), "xy6");
    options.semiring = Semiring::new(Plus::Max, Times::Custom(|a, b| a - b));
    assert_eq!(product(&options), "xy-1");
    options.right.least = Some(4.0);
    assert_eq!(product(&options), "");
}

#[test]
fn fractions_need_the_combiner_that_knows_them() {
    for (context, works) in [(context(), true), (plain_context(), false)] {
        fill(&context, "a", [("k", "x", "0.5")]);
        let mut options = TableMultOptions::new("a", "a");
        options.result = Some("c".into());
        let outcome = table_mult(&context, &options);
        assert_eq!(outcome.is_ok(), works);
        if works {
            assert_eq!(read(&context, "c")[0].2, 0.25);
        } else {
            let text = outcome.expect_err("whole numbers only").to_string();
            assert!(text.contains("register"), "{text}");
        }
    }
}

#[test]
fn a_large_product_is_imported_in_bulk_and_complete() {
    let context = context();
    // One row of 700: 490,000 products, half for each of two threads.
    let columns: Vec<String> = (0..700).map(|at| format!("c{at:03}")).collect();
    fill(
        &context,
        "a",
        columns.iter().map(|column| ("k", column, "2")),
    );
    let mut options = TableMultOptions::new("a", "a");
    options.result = Some("c".into());
    let outcome = table_mult(&context, &options).expect("multiplies");
    assert_eq!(outcome.partial_products, 490_000);
    let stored = stored(&context, "c");
    assert_eq!(stored.len(), 490_000);
    assert!(stored.values().all(|value| *value == 4.0));
    assert_eq!(outcome.io.relative_io(), 1.0);
}

#[test]
fn a_product_that_does_not_fit_is_not_returned() {
    let mut context = context();
    context.memory_bytes = 4096;
    let columns: Vec<String> = (0..100).map(|at| format!("c{at}")).collect();
    fill(
        &context,
        "a",
        columns.iter().map(|column| ("k", column, "2")),
    );
    let mut options = TableMultOptions::new("a", "a");
    options.collect = true;
    let error = table_mult(&context, &options).expect_err("too large");
    assert!(error.to_string().contains("memory_bytes"), "{error}");
}
