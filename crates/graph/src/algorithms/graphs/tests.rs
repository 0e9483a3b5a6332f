use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::tables::testing::{context, fill, plain_context, read};
use crate::{GraphContext, IncidenceTables, IncidenceWriter, KeyRanges, MatrixTable, SparseMatrix};

type Graph = BTreeSet<(u8, u8)>;

fn name(vertex: u8) -> String {
    format!("v{vertex:02}")
}

fn store(context: &GraphContext, graph: &Graph) {
    fill(
        context,
        "A",
        graph
            .iter()
            .map(|&(from, to)| (name(from), name(to), "edge")),
    );
}

/// Both directions, no loops.
fn undirected(graph: &Graph) -> Graph {
    graph
        .iter()
        .flat_map(|&(a, b)| [(a, b), (b, a)])
        .filter(|(a, b)| a != b)
        .collect()
}

fn neighbours(graph: &Graph, vertex: u8) -> BTreeSet<u8> {
    graph
        .range((vertex, 0)..=(vertex, 255))
        .map(|(_, to)| *to)
        .collect()
}

fn slow_truss(graph: &Graph, k: u32) -> Graph {
    let mut left = undirected(graph);
    loop {
        let next: Graph = left
            .iter()
            .copied()
            .filter(|&(a, b)| {
                let (a, b) = (neighbours(&left, a), neighbours(&left, b));
                a.intersection(&b).count() + 2 >= k as usize
            })
            .collect();
        if next == left {
            return left;
        }
        left = next;
    }
}

fn edges(matrix: &SparseMatrix) -> BTreeMap<(String, String), f64> {
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    matrix
        .iter()
        .map(|(row, column, value)| ((text(row), text(column)), value))
        .collect()
}

fn graphs() -> impl Strategy<Value = Graph> {
    prop::collection::btree_set((0_u8..16, 0_u8..16), 0..90)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(32))]

    #[test]
    fn triangles_are_all_counted(graph in graphs()) {
        let context = context();
        store(&context, &graph);
        let all = undirected(&graph);
        let mut expected = 0;
        for &(a, b) in &all {
            for c in neighbours(&all, b) {
                expected += u64::from(a < b && b < c && all.contains(&(a, c)));
            }
        }
        let found = triangle_count(&context, &"A".into()).expect("counts");
        prop_assert_eq!(found.triangles, expected);
        prop_assert_eq!(found.edges, all.len() as u64 / 2);
    }

    #[test]
    fn trusses_are_those_of_the_definition(graph in graphs(), k in 2_u32..6) {
        let context = plain_context();
        store(&context, &graph);
        let expected: BTreeMap<(String, String), f64> = slow_truss(&graph, k)
            .into_iter()
            .map(|(a, b)| ((name(a), name(b)), 1.0))
            .collect();
        let options = TrussOptions {
            table: "A".into(),
            k,
            result: Some("R".into()),
            collect: true,
        };
        let found = k_truss_adjacency(&context, &options).expect("finds");
        prop_assert_eq!(found.edges * 2, expected.len() as u64);
        prop_assert_eq!(&edges(found.matrix.as_ref().expect("asked for")), &expected);
        let stored: BTreeMap<(String, String), f64> = read(&context, "R")
            .into_iter()
            .map(|(row, column, value)| ((row, column), value))
            .collect();
        prop_assert_eq!(stored, expected);
    }

    #[test]
    fn edges_in_incidence_tables_stay_as_in_adjacency_tables(graph in graphs(), k in 2_u32..6) {
        let context = context();
        let mut writer = IncidenceWriter::new(&context, &IncidenceTables::named("E")).expect("opens");
        for (number, &(from, to)) in graph.iter().enumerate() {
            writer.add(number as u64, name(from).as_bytes(), name(to).as_bytes(), 1.0).expect("fits");
        }
        writer.close().expect("written");
        let truss = slow_truss(&graph, k);
        let expected = graph.iter().filter(|edge| truss.contains(edge)).count();
        let options = TrussOptions {
            table: "E".into(),
            k,
            result: Some("R".into()),
            collect: true,
        };
        let found = k_truss_incidence(&context, &options, b'|').expect("finds");
        prop_assert_eq!(found.edges, expected as u64);
        prop_assert_eq!(found.matrix.expect("asked for").len(), 2 * expected);
        prop_assert_eq!(read(&context, "R").len(), 2 * expected);
    }

    #[test]
    fn similarities_are_those_of_the_definition(graph in graphs()) {
        let context = context();
        store(&context, &graph);
        let all = undirected(&graph);
        let vertices: BTreeSet<u8> = all.iter().map(|(a, _)| *a).collect();
        let mut expected = BTreeMap::new();
        for &a in &vertices {
            for &b in vertices.range(a + 1..) {
                let (of_a, of_b) = (neighbours(&all, a), neighbours(&all, b));
                let common = of_a.intersection(&of_b).count();
                if common > 0 {
                    let either = of_a.union(&of_b).count();
                    expected.insert((name(a), name(b)), common as f64 / either as f64);
                }
            }
        }
        let options = JaccardOptions {
            table: "A".into(),
            result: Some("R".into()),
            collect: true,
        };
        let found = jaccard(&context, &options).expect("compares");
        prop_assert_eq!(found.pairs, expected.len() as u64);
        prop_assert_eq!(edges(found.matrix.as_ref().expect("asked for")), expected);
        prop_assert_eq!(read(&context, "R").len() as u64, found.pairs);
        prop_assert_eq!(found.io.entries_written, found.pairs);
    }

    #[test]
    fn components_hold_what_is_connected(
        graph in prop::collection::btree_set((0_u8..40, 0_u8..40), 0..40),
    ) {
        let context = context();
        store(&context, &graph);
        let all = undirected(&graph);
        let found = connected_components(&context, &"A".into(), Some(&"R".into())).expect("finds");
        let mut count = BTreeSet::new();
        for (vertex, &representative) in found.vertices.iter().zip(&found.representatives) {
            let vertex: u8 = String::from_utf8_lossy(&vertex[1..]).parse().expect("a number");
            let mut reached = BTreeSet::from([vertex]);
            let mut frontier = vec![vertex];
            while let Some(at) = frontier.pop() {
                frontier.extend(neighbours(&all, at).into_iter().filter(|to| reached.insert(*to)));
            }
            let smallest = name(*reached.first().expect("itself"));
            prop_assert_eq!(found.vertices.get(representative as usize), smallest.as_bytes());
            count.insert(smallest);
        }
        prop_assert_eq!(found.components, count.len() as u64);
        prop_assert_eq!(found.io.entries_written, found.vertices.len() as u64);
    }
}

#[test]
fn filters_choose_the_graph_and_a_small_memory_is_respected() {
    let mut context = context();
    let graph: Graph = [(1, 2), (2, 3), (1, 3), (3, 4), (2, 4)].into();
    store(&context, &graph);
    let mut table: MatrixTable = "A".into();
    assert_eq!(
        triangle_count(&context, &table).expect("counts").triangles,
        2
    );
    table.columns = KeyRanges::parse(":,v03,").expect("sound");
    assert_eq!(
        triangle_count(&context, &table).expect("counts").triangles,
        1
    );
    context.memory_bytes = 10;
    let error = triangle_count(&context, &table).expect_err("too large");
    assert!(error.to_string().contains("memory_bytes"), "{error}");
    assert!(triangle_count(&context, &"missing".into()).is_err());
}

/// The filter of columns dropped everything from a batch, whose arena stayed full: the scan took the
/// full, empty batch for its end, and vertices after the first 256 KiB were missing.
#[test]
fn columns_far_apart_are_all_found() {
    for context in [context(), plain_context()] {
        let other = (0..6000).map(|at| {
            let row = format!("m{at:05}");
            (row, format!("x{:060}", at), "edge")
        });
        fill(&context, "A", other);
        fill(&context, "A", [("a", "b1", "edge"), ("z", "b2", "edge")]);
        let mut part = MatrixTable::from("A");
        part.columns = KeyRanges::parse("b*,").expect("sound");
        let found = connected_components(&context, &part, None).expect("runs");
        let vertices: Vec<&[u8]> = found.vertices.iter().collect();
        assert_eq!(vertices, [&b"a"[..], b"b1", b"b2", b"z"]);
    }
}
