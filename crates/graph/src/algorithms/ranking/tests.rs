use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::tables::testing::{context, fill, plain_context, read};
use crate::{Plus, RowReduction, ValueKind, reduce_rows};

type Entries = BTreeMap<(u8, u8), u8>;

fn store(context: &crate::GraphContext, entries: &Entries) {
    fill(
        context,
        "A",
        entries.iter().map(|(&(row, column), value)| {
            (
                format!("v{row:02}"),
                format!("v{column:02}"),
                value.to_string(),
            )
        }),
    );
}

fn entries() -> impl Strategy<Value = Entries> {
    prop::collection::btree_map((0_u8..12, 0_u8..12), 1_u8..5, 1..60)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    #[test]
    fn ranks_are_those_of_dense_iteration(entries in entries(), tight in any::<bool>()) {
        let mut context = context();
        if tight {
            context.memory_bytes = 0;
        }
        store(&context, &entries);
        let mut options = PageRankOptions::new("A");
        options.tolerance = 1e-12;
        options.rounds_max = 1000;
        options.result = Some("R".into());
        let found = pagerank(&context, &options).expect("ranks");
        prop_assert!(found.converged);
        let vertices: Vec<u8> = found
            .vertices
            .iter()
            .map(|key| String::from_utf8_lossy(&key[1..]).parse().expect("a number"))
            .collect();
        let count = vertices.len() as f64;
        // The ranks must be a fixed point of the definition.
        for (at, &vertex) in vertices.iter().enumerate() {
            let mut rank = (1.0 - 0.85) / count;
            for (from, &other) in vertices.iter().enumerate() {
                let weights = vertices.iter().filter_map(|&to| entries.get(&(other, to)));
                let out: f64 = weights.map(|&weight| f64::from(weight)).sum();
                let share = if out == 0.0 {
                    1.0 / count
                } else {
                    entries.get(&(other, vertex)).map_or(0.0, |&w| f64::from(w) / out)
                };
                rank += 0.85 * found.ranks[from] * share;
            }
            prop_assert!((rank - found.ranks[at]).abs() < 1e-9);
        }
        prop_assert!((found.ranks.iter().sum::<f64>() - 1.0).abs() < 1e-9);
        prop_assert_eq!(read(&context, "R").len(), vertices.len());
    }

    #[test]
    fn words_are_weighed_by_their_documents(entries in entries()) {
        let context = plain_context();
        store(&context, &entries);
        let options = TfIdfOptions { table: "A".into(), result: None, collect: true };
        let found = tfidf(&context, &options).expect("weighs");
        let documents: BTreeSet<u8> = entries.keys().map(|(row, _)| *row).collect();
        prop_assert_eq!(found.documents, documents.len() as u64);
        let matrix = found.matrix.expect("asked for");
        let mut left = 0;
        for (&(row, column), &value) in &entries {
            let with = entries.keys().filter(|(_, other)| *other == column).count();
            let weight = f64::from(value) * (documents.len() as f64 / with as f64).ln();
            let name = |vertex: u8| format!("v{vertex:02}").into_bytes();
            let got = matrix.get(&name(row), &name(column));
            if weight == 0.0 {
                prop_assert_eq!(got, None);
            } else {
                left += 1;
                prop_assert!((got.expect("there") - weight).abs() < 1e-12);
            }
        }
        prop_assert_eq!(matrix.len(), left);
    }

    #[test]
    fn degrees_are_counts_or_sums(entries in entries(), registered in any::<bool>()) {
        let context = if registered { context() } else { plain_context() };
        store(&context, &entries);
        let sums = RowReduction::Values(Plus::Sum);
        let degrees = |reduction, column: &[u8]| {
            degree_table(&context, &"A".into(), reduction, &"D".into(), column).expect("counts")
        };
        degrees(RowReduction::Count, b"OutDeg");
        let io = degrees(sums, b"Weight");
        let reduced = reduce_rows(&context, &"A".into(), sums).expect("sums");
        prop_assert_eq!(io.entries_written, reduced.rows.len() as u64);
        for (row, column, value) in read(&context, "D") {
            let of_row = entries.iter().filter(|((from, _), _)| format!("v{from:02}") == row);
            let (count, sum) = of_row.fold((0.0, 0.0), |(count, sum), (_, &value)| {
                (count + 1.0, sum + f64::from(value))
            });
            prop_assert_eq!(value, if column == "OutDeg" { count } else { sum });
            let at = reduced.rows.find_sorted(row.as_bytes()).expect("there");
            prop_assert_eq!(reduced.values[at], sum);
        }
    }

    #[test]
    fn errors_of_factors_are_true(
        entries in entries(),
        topics in 1_usize..4,
        tight in any::<bool>(),
    ) {
        let mut context = context();
        if tight {
            context.memory_bytes = 0;
        }
        store(&context, &entries);
        let mut options = FactorsOptions::new("A", topics);
        options.documents_result = Some("W".into());
        options.words_result = Some("H".into());
        let found = nmf(&context, &options).expect("factors");
        let mut weights = found.document_topics.iter().chain(&found.word_topics);
        prop_assert!(weights.all(|weight| *weight >= 0.0));
        let mut error = 0.0;
        for (row, document) in found.documents.iter().enumerate() {
            for (column, word) in found.words.iter().enumerate() {
                let number = |key: &[u8]| -> u8 {
                    String::from_utf8_lossy(&key[1..]).parse().expect("a number")
                };
                let value = entries.get(&(number(document), number(word)));
                let value = value.map_or(0.0, |&value| f64::from(value));
                let product: f64 = (0..topics)
                    .map(|topic| {
                        found.document_topics[row * topics + topic]
                            * found.word_topics[column * topics + topic]
                    })
                    .sum();
                error += (value - product).powi(2);
            }
        }
        let said = *found.errors.last().expect("a round");
        prop_assert!((error.sqrt() - said).abs() < 1e-6, "{} {}", error.sqrt(), said);
        let square: f64 = entries.values().map(|&value| f64::from(value).powi(2)).sum();
        prop_assert!(said <= square.sqrt() * 1.01);
        let nonzero = found.document_topics.iter().filter(|weight| **weight != 0.0).count();
        prop_assert_eq!(read(&context, "W").len(), nonzero);
    }
}

#[test]
fn topics_that_are_there_are_found() {
    let context = context();
    let block = |topic: u32, documents: std::ops::Range<u32>, words: std::ops::Range<u32>| {
        documents.flat_map(move |document| {
            words.clone().map(move |word| {
                (
                    format!("d{document}"),
                    format!("w{word}"),
                    topic.to_string(),
                )
            })
        })
    };
    fill(
        &context,
        "A",
        block(2, 0..6, 0..5).chain(block(3, 6..10, 5..9)),
    );
    let found = nmf(&context, &FactorsOptions::new("A", 2)).expect("factors");
    assert!(
        *found.errors.last().expect("a round") < 0.1,
        "{:?}",
        found.errors
    );
}

#[test]
fn options_out_of_bounds_are_refused() {
    let context = context();
    fill(&context, "A", [("a", "b", "-1"), ("c", "d", "word")]);
    let mut options = PageRankOptions::new("A");
    assert!(
        pagerank(&context, &options).is_err(),
        "a word is not a number"
    );
    options.table.values = ValueKind::NumbersOrOne;
    assert!(pagerank(&context, &options).is_err(), "a negative weight");
    options.table.values = ValueKind::Ones;
    assert!(pagerank(&context, &options).is_ok());
    options.damping = 1.0;
    assert!(pagerank(&context, &options).is_err());
    assert!(nmf(&context, &FactorsOptions::new("A", 0)).is_err());
}
