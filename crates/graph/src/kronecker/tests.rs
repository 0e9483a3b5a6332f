use std::collections::{BTreeMap, BTreeSet};

use super::*;

fn options(scale: u32, edges_per_vertex: f64) -> KroneckerOptions {
    KroneckerOptions {
        scale,
        edges_per_vertex,
        ..KroneckerOptions::default()
    }
}

fn edges(options: &KroneckerOptions) -> Vec<(u64, u64)> {
    let graph = Kronecker::new(options).expect("sound options");
    let mut rows = vec![0; graph.edges() as usize];
    let mut columns = rows.clone();
    graph.fill(0, &mut rows, &mut columns).expect("all of them");
    rows.into_iter().zip(columns).collect()
}

/// Within `deviations` standard deviations of a count whose variance is at most its mean.
fn near(found: usize, expected: f64, deviations: f64) -> bool {
    (found as f64 - expected).abs() <= deviations * expected.sqrt()
}

#[test]
fn expectations_are_those_computed_by_hand() {
    assert_eq!(
        expectations(&options(12, 16.0)).distinct_edges.round(),
        53_428.0
    );
    let paper = expectations(&options(17, 8.0));
    assert_eq!(paper.distinct_edges.round(), 999_716.0);
    assert_eq!(paper.largest_out_degree.round(), 9_873.0);
    assert_eq!(paper.largest_row.round(), 6_089.0);
    assert_eq!(paper.rows.round(), 64_192.0);
    assert_eq!((paper.rows_of_degree_one / 10.0).round(), 1_934.0);
}

#[test]
fn graphs_are_as_expected() {
    for (scale, each, seed, permuted) in [
        (12, 16.0, 1, false),
        (17, 8.0, 2, false),
        (15, 8.0, 3, true),
    ] {
        let options = KroneckerOptions {
            seed,
            permuted,
            ..options(scale, each)
        };
        let expected = expectations(&options);
        let edges = edges(&options);
        let distinct: BTreeSet<_> = edges.iter().copied().collect();
        let mut degrees: BTreeMap<u64, usize> = BTreeMap::new();
        for (row, _) in &edges {
            *degrees.entry(*row).or_default() += 1;
        }
        let columns: BTreeSet<u64> = edges.iter().map(|(_, column)| *column).collect();
        let (&largest, &degree) = degrees
            .iter()
            .max_by_key(|(_, degree)| **degree)
            .expect("some");
        let row = distinct.iter().filter(|(row, _)| *row == largest).count();
        let ones = degrees.values().filter(|degree| **degree == 1).count();
        assert!(
            near(distinct.len(), expected.distinct_edges, 3.0),
            "{}",
            distinct.len()
        );
        assert!(near(degrees.len(), expected.rows, 3.0), "{}", degrees.len());
        assert!(
            near(columns.len(), expected.columns, 3.0),
            "{}",
            columns.len()
        );
        assert!(near(degree, expected.largest_out_degree, 4.0), "{degree}");
        assert!(near(row, expected.largest_row, 4.0), "{row}");
        assert!(near(ones, expected.rows_of_degree_one, 4.0), "{ones}");
        assert_eq!(largest == 0, !permuted);
    }
}

#[test]
fn every_bit_falls_into_its_quadrants() {
    // Scales with one, two and three draws of unequal size, and one with many.
    for scale in [3, 7, 11, 16, 31] {
        let graph = Kronecker::new(&options(scale, 8.0)).expect("sound options");
        let count = graph.edges().min(1 << 16) as usize;
        let (mut rows, mut columns) = (vec![0; count], vec![0; count]);
        graph.fill(0, &mut rows, &mut columns).expect("in range");
        for bit in 0..scale {
            let mut quadrants = [0_usize; 4];
            for (row, column) in rows.iter().zip(&columns) {
                quadrants[((row >> bit & 1) << 1 | (column >> bit & 1)) as usize] += 1;
            }
            for (found, share) in quadrants.iter().zip([0.57, 0.19, 0.19, 0.05]) {
                assert!(
                    near(*found, share * count as f64, 4.5),
                    "scale {scale} bit {bit}: {quadrants:?}"
                );
            }
        }
    }
}

#[test]
fn parts_are_the_graph() {
    for scale in [4, 9, 13, 27] {
        let graph = Kronecker::new(&KroneckerOptions {
            permuted: scale % 2 == 1,
            ..options(scale, if scale == 27 { 1e-4 } else { 2.5 })
        })
        .expect("sound options");
        let all = graph.part(0, 1).expect("the only part");
        assert_eq!(all, 0..graph.edges());
        let fill = |from: u64, to: u64| {
            let (mut rows, mut columns) =
                (vec![0; (to - from) as usize], vec![0; (to - from) as usize]);
            graph.fill(from, &mut rows, &mut columns).expect("in range");
            rows.into_iter().zip(columns).collect::<Vec<_>>()
        };
        let whole = fill(0, graph.edges());
        let mut parts = Vec::new();
        for part in 0..7 {
            let range = graph.part(part, 7).expect("there are seven");
            parts.extend(fill(range.start, range.end));
        }
        assert_eq!(whole, parts);
    }
    let graph = Kronecker::new(&options(4, 2.5)).expect("sound options");
    assert!(graph.part(2, 2).is_err());
    assert!(graph.fill(40, &mut [0], &mut [0]).is_err());
    assert!(graph.fill(0, &mut [0, 0], &mut [0]).is_err());
}

#[test]
fn seeds_differ_and_repeat() {
    let with_seed = |seed, permuted| {
        edges(&KroneckerOptions {
            seed,
            permuted,
            ..options(8, 8.0)
        })
    };
    assert_eq!(with_seed(5, false), with_seed(5, false));
    assert_ne!(with_seed(5, false), with_seed(6, false));
    assert_ne!(with_seed(5, false), with_seed(5, true));
}

#[test]
fn options_out_of_bounds_are_refused() {
    for wrong in [
        options(0, 8.0),
        options(49, 8.0),
        options(10, -1.0),
        options(10, f64::NAN),
        options(48, 1e9),
        KroneckerOptions {
            quadrants: [0.5, 0.5, 0.5, -0.5],
            ..options(10, 8.0)
        },
        KroneckerOptions {
            quadrants: [0.5, 0.1, 0.1, 0.1],
            ..options(10, 8.0)
        },
    ] {
        assert!(Kronecker::new(&wrong).is_err(), "{wrong:?}");
    }
}
