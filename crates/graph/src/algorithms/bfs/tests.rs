use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::tables::testing::{context, plain_context, read};
use crate::{
    AdjacencyTables, AdjacencyWriter, GraphContext, IncidenceTables, IncidenceWriter, Keys,
    Kronecker, KroneckerOptions, SingleTableWriter,
};

type Graph = BTreeSet<(u8, u8)>;
type Levels = BTreeMap<u8, u32>;
type Taken = BTreeMap<(u8, u8), u32>;

fn name(vertex: u8) -> String {
    format!("v{vertex:02}")
}

/// The graph in all three forms.
fn store(context: &GraphContext, graph: &Graph) -> Vec<(GraphForm, DegreeLimit)> {
    let mut adjacency = AdjacencyWriter::new(context, &AdjacencyTables::named("A")).expect("opens");
    let mut incidence = IncidenceWriter::new(context, &IncidenceTables::named("E")).expect("opens");
    let mut single = SingleTableWriter::new(context, "S", b'|').expect("opens");
    for (number, &(from, to)) in graph.iter().enumerate() {
        let (from, to) = (name(from), name(to));
        adjacency
            .add(from.as_bytes(), to.as_bytes(), 1.0)
            .expect("fits");
        incidence
            .add(number as u64, from.as_bytes(), to.as_bytes(), 1.0)
            .expect("fits");
        single
            .add(from.as_bytes(), to.as_bytes(), 1.0)
            .expect("fits");
    }
    adjacency.close().expect("written");
    incidence.close().expect("written");
    single.close().expect("written");
    let limit = |table: &str, column: &str, prefix: &str| DegreeLimit {
        table: table.into(),
        column: column.into(),
        prefix: prefix.into(),
        least: 0.0,
        most: 3.0,
    };
    let incidence = |transpose: Option<&str>| GraphForm::Incidence {
        edges: "E".into(),
        transpose: transpose.map(Into::into),
        start_prefixes: vec![b"Out|".to_vec()],
        end_prefixes: vec![b"In|".to_vec()],
    };
    vec![
        (
            GraphForm::Adjacency { table: "A".into() },
            limit("ADeg", "OutDeg", ""),
        ),
        (incidence(Some("ET")), limit("EDeg", "Degree", "Out|")),
        (incidence(None), limit("EDeg", "Degree", "Out|")),
        (
            GraphForm::SingleTable {
                table: "S".into(),
                edge_column: b"edge".to_vec(),
                separator: b'|',
            },
            limit("S", "OutDeg", ""),
        ),
    ]
}

/// Levels, edges taken with how often, and the last step's vertices, by the book.
fn slow(
    graph: &Graph,
    start: &BTreeSet<u8>,
    steps: u32,
    most: Option<usize>,
    revisit: bool,
    union: bool,
) -> (Levels, Taken, BTreeSet<u8>) {
    let mut levels: BTreeMap<u8, u32> = start.iter().map(|&vertex| (vertex, 0)).collect();
    let mut taken = BTreeMap::new();
    let mut frontier = start.clone();
    let mut last = if steps == 0 {
        start.clone()
    } else {
        BTreeSet::new()
    };
    for step in 1..=steps {
        let mut next = BTreeSet::new();
        let degree = |vertex: u8| graph.iter().filter(|(from, _)| *from == vertex).count();
        frontier.retain(|&vertex| most.is_none_or(|most| degree(vertex) <= most));
        for &(from, to) in graph {
            if frontier.contains(&from) {
                if union || step == steps {
                    *taken.entry((from, to)).or_insert(0) += 1;
                }
                if revisit || !levels.contains_key(&to) {
                    next.insert(to);
                }
            }
        }
        for &vertex in &next {
            levels.entry(vertex).or_insert(step);
        }
        if step == steps && !frontier.is_empty() {
            last.clone_from(&next);
        }
        frontier = next;
    }
    (levels, taken, last)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]
    #[test]
    fn searches_find_what_a_slow_one_finds(
        graph in prop::collection::btree_set((0_u8..24, 0_u8..24), 0..70),
        start in prop::collection::btree_set(0_u8..24, 0..3),
        steps in 0_u32..5,
        limited in any::<bool>(),
        revisit in any::<bool>(),
        union in any::<bool>(),
        registered in any::<bool>(),
    ) {
        let context = if registered { context() } else { plain_context() };
        for (form, limit) in store(&context, &graph) {
            let most = limited.then_some(3);
            let (levels, taken, last) = slow(&graph, &start, steps, most, revisit, union);
            let start: Keys = start.iter().map(|&vertex| name(vertex)).collect();
            let mut options = BfsOptions::new(form.clone(), start, steps);
            options.degrees = limited.then_some(limit);
            options.revisit = revisit;
            options.union = union;
            options.collect = true;
            let found = bfs(&context, &options).expect("searches");
            let found_levels: BTreeMap<String, u32> = found
                .vertices
                .iter()
                .map(|key| String::from_utf8_lossy(key).into_owned())
                .zip(found.levels.iter().copied())
                .collect();
            let expected: BTreeMap<String, u32> =
                levels.into_iter().map(|(vertex, level)| (name(vertex), level)).collect();
            prop_assert_eq!(found_levels, expected, "{:?}", form);
            let found_last: BTreeSet<Vec<u8>> =
                found.last.iter().map(|&at| found.vertices.get(at as usize).to_vec()).collect();
            let expected: BTreeSet<Vec<u8>> =
                last.into_iter().map(|vertex| name(vertex).into_bytes()).collect();
            prop_assert_eq!(found_last, expected, "{:?}", form);
            if let GraphForm::Adjacency { .. } = form {
                let matrix = found.matrix.expect("asked for");
                let edges: BTreeMap<(Vec<u8>, Vec<u8>), u32> = matrix
                    .iter()
                    .map(|(row, column, value)| ((row.to_vec(), column.to_vec()), value as u32))
                    .collect();
                let expected: BTreeMap<(Vec<u8>, Vec<u8>), u32> = taken
                    .into_iter()
                    .map(|((from, to), count)| {
                        ((name(from).into_bytes(), name(to).into_bytes()), count)
                    })
                    .collect();
                prop_assert_eq!(edges, expected);
            }
        }
    }
}

#[test]
fn edges_are_written_with_their_labels() {
    use ostrakon_cell::{Authorizations, ColumnUpdate, Scanner, TableOptions};
    let context = GraphContext {
        authorizations: Authorizations::new(["a"]).expect("sound"),
        ..context()
    };
    context
        .source
        .create_table("A", &TableOptions::default())
        .expect("new");
    let mut writer = ostrakon_cell::BatchWriter::new(
        context.table("A").expect("made"),
        ostrakon_cell::BatchWriterConfig::default(),
    );
    for (row, column, label) in [("x", "y", "a"), ("x", "z", "b"), ("y", "w", "")] {
        let update = ColumnUpdate {
            qualifier: column.as_bytes(),
            visibility: label.as_bytes(),
            value: Some(b"1"),
            ..ColumnUpdate::default()
        };
        writer.put(row.as_bytes(), update).expect("fits");
    }
    writer.close().expect("written");
    let mut options = BfsOptions::adjacency("A", ["x"], 3);
    options.result = Some("R".into());
    options.result_transpose = Some("RT".into());
    let found = bfs(&context, &options).expect("searches");
    assert_eq!(found.vertices.len(), 3, "z is not seen");
    assert_eq!(found.io.entries_written, 4);
    let all = Scanner::new(context.table("R").expect("made"))
        .authorizations(context.authorizations.clone())
        .entries()
        .expect("reads");
    let shown: Vec<String> = all.iter().map(|entry| entry.key.to_string()).collect();
    assert_eq!(shown.len(), 2);
    assert!(shown[0].contains("x :y [a]"), "{shown:?}");
    assert!(shown[1].contains("y :w []"), "{shown:?}");
}

/// A result must not be readable by more readers than its source, nor than its writer allowed.
#[test]
fn labels_of_edges_and_of_the_context_are_conjoined() {
    use ostrakon_cell::{Authorizations, ColumnUpdate, Scanner, TableOptions};
    let context = GraphContext {
        authorizations: Authorizations::new(["a", "b", "c", "x"]).expect("sound"),
        visibility: Some(b"x".to_vec()),
        ..context()
    };
    context
        .source
        .create_table("A", &TableOptions::default())
        .expect("new");
    let mut writer = ostrakon_cell::BatchWriter::new(
        context.table("A").expect("made"),
        ostrakon_cell::BatchWriterConfig::default(),
    );
    for (column, label) in [
        ("p", ""),
        ("q", "a"),
        ("r", "a|b"),
        ("s", "b&c"),
        ("t", "x"),
    ] {
        let update = ColumnUpdate {
            qualifier: column.as_bytes(),
            visibility: label.as_bytes(),
            value: Some(b"1"),
            ..ColumnUpdate::default()
        };
        writer.put(b"start", update).expect("fits");
    }
    writer.close().expect("written");
    let mut options = BfsOptions::adjacency("A", ["start"], 1);
    options.result = Some("R".into());
    options.result_transpose = Some("RT".into());
    bfs(&context, &options).expect("searches");
    let seen_by = |table: &str, held: &[&str]| -> Vec<String> {
        let scanner = Scanner::new(context.table(table).expect("made"))
            .authorizations(Authorizations::new(held.iter().copied()).expect("sound"));
        let entries = scanner.entries().expect("reads");
        let vertex = |entry: &ostrakon_cell::Entry| {
            let (row, column) = (&entry.key.row, &entry.key.qualifier);
            let vertex = if row.as_slice() == b"start" {
                column
            } else {
                row
            };
            String::from_utf8_lossy(vertex).into_owned()
        };
        entries.iter().map(vertex).collect()
    };
    for table in ["R", "RT"] {
        assert!(seen_by(table, &["a", "b", "c"]).is_empty(), "{table}");
        assert_eq!(seen_by(table, &["x"]), ["p", "t"], "{table}");
        assert_eq!(seen_by(table, &["x", "a"]), ["p", "q", "r", "t"], "{table}");
        assert_eq!(seen_by(table, &["x", "b"]), ["p", "r", "t"], "{table}");
        let all = seen_by(table, &["x", "b", "c"]);
        assert_eq!(all, ["p", "r", "s", "t"], "{table}");
    }
}

#[test]
fn many_vertices_are_found_by_one_scan_and_few_by_look_ups() {
    let context = context();
    let graph = Kronecker::new(&KroneckerOptions {
        scale: 14,
        permuted: true,
        ..KroneckerOptions::default()
    })
    .expect("sound");
    let count = graph.edges() as usize;
    let (mut rows, mut columns) = (vec![0; count], vec![0; count]);
    graph.fill(0, &mut rows, &mut columns).expect("in range");
    let mut writer = AdjacencyWriter::new(&context, &AdjacencyTables::named("A")).expect("opens");
    let mut slow: BTreeMap<u64, BTreeSet<u64>> = BTreeMap::new();
    for (&row, &column) in rows.iter().zip(&columns) {
        slow.entry(row).or_default().insert(column);
        writer
            .add(
                row.to_string().as_bytes(),
                column.to_string().as_bytes(),
                1.0,
            )
            .expect("fits");
    }
    writer.close().expect("written");
    context
        .table("A")
        .expect("made")
        .flush(true)
        .expect("flushed");
    let entries = read(&context, "A").len() as u64;
    let start = rows[0].to_string();
    let one = bfs(&context, &BfsOptions::adjacency("A", [&start], 1)).expect("searches");
    assert_eq!(one.entries_read, slow[&rows[0]].len() as u64, "looked up");
    let all = bfs(&context, &BfsOptions::adjacency("A", [&start], 6)).expect("searches");
    assert!(all.entries_read >= entries, "scanned at least once");
    let mut levels = BTreeMap::from([(rows[0], 0)]);
    let mut frontier = vec![rows[0]];
    for step in 1..=6 {
        let mut next = Vec::new();
        for vertex in frontier {
            for &to in slow.get(&vertex).into_iter().flatten() {
                levels.entry(to).or_insert_with(|| {
                    next.push(to);
                    step
                });
            }
        }
        frontier = next;
    }
    let found: BTreeMap<u64, u32> = all
        .vertices
        .iter()
        .map(|key| String::from_utf8_lossy(key).parse().expect("a number"))
        .zip(all.levels.iter().copied())
        .collect();
    assert_eq!(found, levels);
    // Kept in memory after the first scan, or too large for it, or not kept since the edges go out:
    // the same search.
    for revisit in [false, true] {
        let mut options = BfsOptions::adjacency("A", [&start], 4);
        options.revisit = revisit;
        let kept = bfs(&context, &options).expect("searches");
        let tight = GraphContext {
            memory_bytes: 500_000,
            ..context.clone()
        };
        let scanned = bfs(&tight, &options).expect("searches");
        options.collect = true;
        let put_out = bfs(&context, &options).expect("searches");
        assert!(scanned.entries_read > kept.entries_read, "kept once");
        for other in [scanned, put_out] {
            assert_eq!(kept.vertices, other.vertices);
            assert_eq!((&kept.levels, &kept.last), (&other.levels, &other.last));
            assert_eq!(kept.edges, other.edges);
        }
    }
}
