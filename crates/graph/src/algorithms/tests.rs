//! `transform`, `reduce_rows` and `elementwise` against maps.

use std::collections::BTreeMap;

use ostrakon_cell::{
    BatchWriter, BatchWriterConfig, ColumnUpdate, ErrorKind, Result, TableOptions,
};
use proptest::prelude::*;

use super::*;
use crate::iterators::{Apply, RowReduction, Scalar};
use crate::matrix::SparseMatrix;
use crate::tables::testing::{context, fill, plain_context, read};
use crate::tables::{GraphContext, MatrixTable, ValueKind};
use crate::{KeyRanges, Plus, Times};

/// What a table holds: an entry per row, column and family.
type Cells = BTreeMap<(String, String, &'static str), i32>;
/// A matrix as a map.
type Matrix = BTreeMap<(String, String), f64>;

fn cells() -> impl Strategy<Value = Cells> {
    let family = prop_oneof![Just(""), Just("other")];
    prop::collection::btree_map(("[a-d]{1,2}", "[p-s]{1,2}", family), -9..10, 0..40)
}

fn plus() -> impl Strategy<Value = Plus> {
    prop_oneof![Just(Plus::Sum), Just(Plus::Min), Just(Plus::Max)]
}

fn store(context: &GraphContext, name: &str, cells: &Cells) {
    context
        .source
        .create_table(name, &TableOptions::default())
        .expect("new");
    let table = context.table(name).expect("made");
    let mut writer = BatchWriter::new(table, BatchWriterConfig::default());
    for ((row, column, family), value) in cells {
        let value = value.to_string();
        let update = ColumnUpdate {
            family: family.as_bytes(),
            qualifier: column.as_bytes(),
            value: Some(value.as_bytes()),
            ..ColumnUpdate::default()
        };
        writer.put(row.as_bytes(), update).expect("fits");
    }
    writer.close().expect("written");
}

/// Entries of one place combined.
fn combined(
    entries: impl IntoIterator<Item = (String, String, f64)>,
    plus: impl Fn(f64, f64) -> f64,
) -> Matrix {
    let mut matrix = Matrix::new();
    for (row, column, value) in entries {
        matrix
            .entry((row, column))
            .and_modify(|known| *known = plus(*known, value))
            .or_insert(value);
    }
    matrix
}

fn added(cells: &Cells) -> Matrix {
    let entries = cells
        .iter()
        .map(|((row, column, _), &value)| (row.clone(), column.clone(), f64::from(value)));
    combined(entries, |a, b| a + b)
}

fn map_of(matrix: &SparseMatrix) -> Matrix {
    let text = |bytes: &[u8]| String::from_utf8(bytes.to_vec()).expect("text");
    matrix
        .iter()
        .map(|(row, column, value)| ((text(row), text(column)), value))
        .collect()
}

/// The content of a table, which must have one entry per place.
fn stored(context: &GraphContext, name: &str, transposed: bool) -> Matrix {
    let entries = read(context, name);
    let count = entries.len();
    let matrix: Matrix = entries
        .into_iter()
        .map(|(row, column, value)| {
            let place = if transposed {
                (column, row)
            } else {
                (row, column)
            };
            (place, value)
        })
        .collect();
    assert_eq!(matrix.len(), count, "one entry a place in {name}");
    matrix
}

fn apply_plus(plus: Plus) -> impl Fn(f64, f64) -> f64 {
    move |a, b| match plus {
        Plus::Sum => a + b,
        Plus::Min => a.min(b),
        Plus::Max => a.max(b),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    #[test]
    fn a_transformed_table_is_a_filtered_and_mapped_map(
        cells in cells(),
        row_range in prop::option::of(("[a-d]", "[a-d]")),
        column_range in prop::option::of(("[p-s]", "[p-s]")),
        least in prop::option::of(-9..10),
        most in prop::option::of(-9..10),
        scalar in prop::option::of((0_usize..6, -5..6)),
        ones in any::<bool>(),
        plus in plus(),
        registered in any::<bool>(),
    ) {
        let context = if registered { context() } else { plain_context() };
        store(&context, "from", &cells);
        let ranges = |range: &Option<(String, String)>| match range {
            None => KeyRanges::default(),
            Some((from, to)) => KeyRanges::parse(&format!("{from},:,{to},")).expect("a range"),
        };
        let inside = |key: &str, range: &Option<(String, String)>| match range {
            None => true,
            Some((from, to)) => from.as_str() <= key && key <= to.as_str(),
        };
        let (from, to) = row_range.clone().unwrap_or_default();
        let (first, last) = column_range.clone().unwrap_or_default();
        prop_assume!(from <= to && first <= last);
        let apply = scalar.map(|(which, number)| Apply {
            scalar: [
                Scalar::Plus,
                Scalar::Times,
                Scalar::Min,
                Scalar::Max,
                Scalar::Set,
                Scalar::Absolute,
            ][which],
            number: f64::from(number),
        });
        let function = |value: f64| {
            let Some((which, number)) = scalar else { return value };
            let number = f64::from(number);
            match which {
                0 => value + number,
                1 => value * number,
                2 => if value < number { value } else { number },
                3 => if value > number { value } else { number },
                4 => number,
                _ => value.abs(),
            }
        };
        let kept: Vec<(String, String, f64)> = cells
            .iter()
            .filter(|((row, column, _), value)| {
                inside(row, &row_range)
                    && inside(column, &column_range)
                    && least.is_none_or(|least| least <= **value)
                    && most.is_none_or(|most| **value <= most)
            })
            .map(|((row, column, _), &value)| {
                let value = if ones { 1.0 } else { function(f64::from(value)) };
                (row.clone(), column.clone(), value)
            })
            .collect();
        let mut part = MatrixTable::from("from");
        part.rows = ranges(&row_range);
        part.columns = ranges(&column_range);
        part.least = least.map(f64::from);
        part.most = most.map(f64::from);
        part.apply = apply;
        if ones {
            part.values = ValueKind::Ones;
        }
        let done = transform(&context, &TransformOptions {
            from: part,
            result: Some("to".into()),
            result_transpose: Some("toT".into()),
            plus,
            collect: true,
        }).expect("transforms");
        prop_assert_eq!(done.entries_read, kept.len() as u64);
        let expected = combined(kept, apply_plus(plus));
        prop_assert_eq!(&map_of(&done.matrix.expect("asked for")), &expected);
        prop_assert_eq!(&stored(&context, "to", false), &expected);
        prop_assert_eq!(&stored(&context, "toT", true), &expected);
    }

    #[test]
    fn elementwise_sums_and_products_are_those_of_maps(
        left in cells(),
        right in cells(),
        plus in plus(),
        times in 0_usize..7,
        is_sum in any::<bool>(),
        registered in any::<bool>(),
    ) {
        let context = if registered { context() } else { plain_context() };
        store(&context, "left", &left);
        store(&context, "right", &right);
        let (a, b) = (added(&left), added(&right));
        let times_of = [
            Times::Times,
            Times::Plus,
            Times::Min,
            Times::Max,
            Times::First,
            Times::Second,
            Times::Pair,
        ];
        let operation = if is_sum {
            Elementwise::Sum(plus)
        } else {
            Elementwise::Multiply(times_of[times])
        };
        let both = |a: f64, b: f64| match times {
            0 => a * b,
            1 => a + b,
            2 => a.min(b),
            3 => a.max(b),
            4 => a,
            5 => b,
            _ => 1.0,
        };
        let expected: Matrix = if is_sum {
            let entries = a.iter().chain(&b);
            combined(
                entries.map(|((row, column), &value)| (row.clone(), column.clone(), value)),
                apply_plus(plus),
            )
        } else {
            a.iter()
                .filter_map(|(place, &a)| Some((place.clone(), both(a, *b.get(place)?))))
                .collect()
        };
        let mut options = ElementwiseOptions::new("left", "right", operation);
        options.result = Some("to".into());
        options.result_transpose = Some("toT".into());
        options.collect = true;
        let done = elementwise(&context, &options).expect("combines");
        prop_assert_eq!(done.entries_read, (left.len() + right.len()) as u64);
        prop_assert_eq!(done.entries, expected.len() as u64);
        prop_assert_eq!(&map_of(&done.matrix.expect("asked for")), &expected);
        prop_assert_eq!(&stored(&context, "to", false), &expected);
        prop_assert_eq!(&stored(&context, "toT", true), &expected);
    }

    #[test]
    fn reduced_rows_are_those_of_a_map(cells in cells(), registered in any::<bool>()) {
        let context = if registered { context() } else { plain_context() };
        store(&context, "from", &cells);
        let mut sums: BTreeMap<&str, (f64, f64)> = BTreeMap::new();
        for ((row, _, _), &value) in &cells {
            let (sum, count) = sums.entry(row).or_default();
            *sum += f64::from(value);
            *count += 1.0;
        }
        for (reduction, of) in [(RowReduction::Values(Plus::Sum), 0), (RowReduction::Count, 1)] {
            let found = reduce_rows(&context, &"from".into(), reduction).expect("reduces");
            let rows: Vec<&[u8]> = found.rows.iter().collect();
            let expected: Vec<&[u8]> = sums.keys().map(|row| row.as_bytes()).collect();
            prop_assert_eq!(rows, expected);
            let values: Vec<f64> = sums.values().map(|pair| [pair.0, pair.1][of]).collect();
            prop_assert_eq!(found.values, values);
        }
    }
}

#[test]
fn an_interrupt_ends_every_algorithm() {
    let context = context();
    fill(
        &context,
        "T",
        [("a", "b", "1"), ("b", "c", "1"), ("c", "a", "1")],
    );
    let table = MatrixTable::from("T");
    let works: [(&str, &dyn Fn() -> Result<()>); 9] = [
        ("bfs", &|| {
            bfs(&context, &BfsOptions::adjacency("T", ["a"], 2)).map(|_| ())
        }),
        ("table_mult", &|| {
            table_mult(&context, &TableMultOptions::new("T", "T")).map(|_| ())
        }),
        ("elementwise", &|| {
            let operation = Elementwise::Sum(Plus::Sum);
            elementwise(&context, &ElementwiseOptions::new("T", "T", operation)).map(|_| ())
        }),
        ("triangle_count", &|| {
            triangle_count(&context, &table).map(|_| ())
        }),
        ("connected_components", &|| {
            connected_components(&context, &table, None).map(|_| ())
        }),
        ("pagerank", &|| {
            pagerank(&context, &PageRankOptions::new("T")).map(|_| ())
        }),
        ("nmf", &|| {
            nmf(&context, &FactorsOptions::new("T", 2)).map(|_| ())
        }),
        ("jaccard", &|| {
            let options = JaccardOptions {
                table: table.clone(),
                ..JaccardOptions::default()
            };
            jaccard(&context, &options).map(|_| ())
        }),
        ("k_truss", &|| {
            let options = TrussOptions {
                table: table.clone(),
                k: 3,
                ..TrussOptions::default()
            };
            k_truss_adjacency(&context, &options).map(|_| ())
        }),
    ];
    for (name, work) in works {
        work().unwrap_or_else(|error| panic!("{name}: {error}"));
    }
    context.interrupt.clone().raise();
    for (name, work) in works {
        let kind = work().map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::Cancelled), "{name}");
    }
}
