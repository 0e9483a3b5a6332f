//! Matrices against a map from place to value.
#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;
use crate::keys::{Keys, MISSING, Text};

type Map = BTreeMap<(u32, u32), i64>;
const SIDE: usize = 7;

fn triples() -> impl Strategy<Value = Vec<(u32, u32, i64)>> {
    prop::collection::vec((0..SIDE as u32, 0..SIDE as u32, -2..3_i64), 0..40)
}

fn chosen() -> impl Strategy<Value = Vec<u32>> {
    prop::sample::subsequence((0..SIDE as u32).collect::<Vec<_>>(), 0..=SIDE)
}

/// Puts a condensed matrix back where its rows and columns came from.
fn places(condensed: &Condensed<i64>) -> Map {
    let view = condensed.matrix.view();
    View::new(view.starts, view.columns, view.values, view.width).unwrap();
    let mut map = Map::new();
    for row in 0..view.height() {
        assert!(!view.row(row).is_empty(), "an empty row was kept");
        for entry in view.row(row) {
            let column = view.columns[entry] as usize;
            let place = (
                condensed.rows.as_ref().map_or(row as u32, |rows| rows[row]),
                condensed
                    .columns
                    .as_ref()
                    .map_or(column as u32, |columns| columns[column]),
            );
            assert_eq!(
                map.insert(place, view.values[entry]),
                None,
                "a place stands twice"
            );
        }
    }
    map
}

fn fold(triples: &[(u32, u32, i64)], fold: fn(i64, i64) -> i64) -> Map {
    let mut map = Map::new();
    for (row, column, value) in triples {
        map.entry((*row, *column))
            .and_modify(|old| *old = fold(*old, *value))
            .or_insert(*value);
    }
    map.retain(|_, value| *value != 0);
    map
}

fn parts(triples: &[(u32, u32, i64)]) -> (Vec<u32>, Vec<u32>, Vec<i64>) {
    let rows = triples.iter().map(|triple| triple.0).collect();
    let columns = triples.iter().map(|triple| triple.1).collect();
    (
        rows,
        columns,
        triples.iter().map(|triple| triple.2).collect(),
    )
}

fn condensed(triples: &[(u32, u32, i64)], collision: Collision) -> Condensed<i64> {
    let (rows, columns, values) = parts(triples);
    let triples = Triples {
        rows: &rows,
        columns: &columns,
        shape: (SIDE, SIDE),
    };
    Csr::from_triples(&triples, &values, collision, 2).unwrap()
}

/// The matrix in the full shape.
fn full(map: &Map) -> Csr<i64> {
    let mut matrix = Csr {
        starts: vec![0],
        columns: vec![],
        values: vec![],
        width: SIDE,
    };
    for row in 0..SIDE as u32 {
        for ((_, column), value) in map.range((row, 0)..(row + 1, 0)) {
            matrix.columns.push(*column);
            matrix.values.push(*value);
        }
        matrix.starts.push(matrix.columns.len() as u32);
    }
    matrix
}

proptest! {
    #[test]
    fn collisions(triples in triples()) {
        for (collision, judge) in [
            (Collision::Min, Ord::min as fn(i64, i64) -> i64),
            (Collision::Max, Ord::max),
            (Collision::Sum, |a, b| a + b),
            (Collision::Product, |a, b| a * b),
            (Collision::First, |a, _| a),
            (Collision::Last, |_, b| b),
        ] {
            prop_assert_eq!(places(&condensed(&triples, collision)), fold(&triples, judge));
        }
    }

    #[test]
    fn groups_keep_input_order(triples in triples()) {
        let (rows, columns, _) = parts(&triples);
        let places = Triples { rows: &rows, columns: &columns, shape: (SIDE, SIDE) };
        let grouped = group(&places, 1).unwrap();
        let mut judge: BTreeMap<(u32, u32), Vec<u32>> = BTreeMap::new();
        for (at, (row, column, _)) in triples.iter().enumerate() {
            judge.entry((*row, *column)).or_default().push(at as u32);
        }
        let found: Vec<_> = grouped.groups.windows(2)
            .map(|pair| grouped.order[pair[0] as usize..pair[1] as usize].to_vec())
            .collect();
        let places = row_numbers(&grouped.starts).into_iter().zip(grouped.columns);
        prop_assert!(places.eq(judge.keys().copied()));
        prop_assert_eq!(found, judge.into_values().collect::<Vec<_>>());
    }

    #[test]
    fn place_by_place(left in triples(), right in triples()) {
        // Both sides are condensed, so their maps into the common shape are those they report.
        let (a, b) = (condensed(&left, Collision::Sum), condensed(&right, Collision::Sum));
        let (left, right) = (places(&a), places(&b));
        let one = Aligned::new(a.matrix.view(), a.rows.as_deref(), a.columns.as_deref()).unwrap();
        let two = Aligned::new(b.matrix.view(), b.rows.as_deref(), b.columns.as_deref()).unwrap();
        for (operation, judge) in [
            (Elementwise::Add, (|a, b| a + b) as fn(i64, i64) -> i64),
            (Elementwise::Subtract, |a, b| a - b),
            (Elementwise::Multiply, |a, b| a * b),
            (Elementwise::Min, Ord::min),
            (Elementwise::Max, Ord::max),
            (Elementwise::First, |a, _| a),
            (Elementwise::Pair, |_, _| 1),
        ] {
            let mut both = Map::new();
            let mut all = left.clone();
            for (place, theirs) in &right {
                let negated = operation == Elementwise::Subtract;
                let alone = if negated { -theirs } else { *theirs };
                let value = left.get(place).map_or(alone, |mine| judge(*mine, *theirs));
                all.insert(*place, value);
                if let Some(mine) = left.get(place) {
                    both.insert(*place, judge(*mine, *theirs));
                }
            }
            both.retain(|_, value| *value != 0);
            all.retain(|_, value| *value != 0);
            let shape = (SIDE, SIDE);
            prop_assert_eq!(places(&union(&one, &two, shape, operation, true).unwrap()), all);
            let found = intersection(&one, &two, shape, operation, true).unwrap();
            prop_assert_eq!(places(&found), both);
        }
        let matched = matched_union(&one, &two, (SIDE, SIDE)).unwrap();
        for (at, row) in row_numbers(&matched.starts).into_iter().enumerate() {
            let place = (row, matched.columns[at]);
            let mine = a.matrix.values.get(matched.left[at] as usize);
            let theirs = b.matrix.values.get(matched.right[at] as usize);
            prop_assert_eq!((mine, theirs), (left.get(&place), right.get(&place)));
            prop_assert!(mine.is_some() || theirs.is_some());
        }
        let matched = matched_intersection(&one, &two, (SIDE, SIDE)).unwrap();
        let common = left.keys().filter(|place| right.contains_key(place)).count();
        prop_assert_eq!(matched.columns.len(), common);
        prop_assert!(!matched.left.contains(&MISSING) && !matched.right.contains(&MISSING));
    }

    #[test]
    fn products(
        left in triples(),
        right in triples(),
        holes in prop::collection::vec(any::<bool>(), SIDE),
    ) {
        let (left, right) = (fold(&left, |a, b| a + b), fold(&right, |a, b| a + b));
        let (a, b) = (full(&left), full(&right));
        let inner = holes.iter().zip(0..).map(|(hole, at)| if *hole { MISSING } else { at });
        let inner: Vec<u32> = inner.collect();
        let mut meetings: BTreeMap<(u32, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for ((row, middle), mine) in &left {
            for ((_, column), theirs) in right.range((*middle, 0)..(*middle + 1, 0)) {
                if !holes[*middle as usize] {
                    meetings.entry((*row, *column)).or_default().push((*mine, *theirs));
                }
            }
        }
        type Op = fn(i64, i64) -> i64;
        let adds: [(Add, Op); 4] = [
            (Add::Plus, |a, b| a + b),
            (Add::Min, Ord::min),
            (Add::Max, Ord::max),
            (Add::Any, |a, _| a),
        ];
        let multiplies: [(Multiply, Op); 7] = [
            (Multiply::Times, |a, b| a * b),
            (Multiply::Plus, |a, b| a + b),
            (Multiply::Min, Ord::min),
            (Multiply::Max, Ord::max),
            (Multiply::First, |a, _| a),
            (Multiply::Second, |_, b| b),
            (Multiply::Pair, |_, _| 1),
        ];
        for (add, plus) in adds {
            for (multiply, times) in multiplies {
                let mut judge: Map = meetings.iter().map(|(place, met)| {
                    (*place, met.iter().map(|(a, b)| times(*a, *b)).reduce(plus).unwrap())
                }).collect();
                judge.retain(|_, value| *value != 0);
                let semiring = (add, multiply);
                let found = product(&a.view(), Some(&inner), &b.view(), semiring, 2).unwrap();
                prop_assert_eq!(places(&found), judge);
            }
        }
        let pairs = expand(&a.view(), Some(&inner), &b.view(), 1000).unwrap();
        let mut found: BTreeMap<(u32, u32), Vec<(i64, i64)>> = BTreeMap::new();
        for at in 0..pairs.rows.len() {
            let (mine, theirs) = (pairs.left[at] as usize, pairs.right[at] as usize);
            let place = (pairs.rows[at], pairs.columns[at]);
            found.entry(place).or_default().push((a.values[mine], b.values[theirs]));
        }
        prop_assert_eq!(&found, &meetings);
        let size = product_size(&a.view(), Some(&inner), &b.view()).unwrap();
        prop_assert_eq!(size.products, pairs.rows.len() as u64);
        let places = product_entries(&a.view(), Some(&inner), &b.view(), u64::MAX).unwrap();
        prop_assert_eq!(places, meetings.len() as u64);
        prop_assert!(places <= size.most_entries && size.most_entries <= size.products);
        prop_assert!(size.least_entries <= places);
        prop_assert_eq!(size.least_entries > 0, places > 0);
        if places > 0 {
            prop_assert!(product_entries(&a.view(), Some(&inner), &b.view(), 0).unwrap() > 0);
        }
    }

    #[test]
    fn parts_and_transpose(triples in triples(), rows in chosen(), columns in chosen()) {
        let map = fold(&triples, |a, b| a + b);
        let matrix = full(&map);
        let (rows, columns) = (rows.as_slice(), columns.as_slice());
        for (rows, columns) in [
            (Some(rows), Some(columns)),
            (Some(rows), None),
            (None, Some(columns)),
            (None, None),
        ] {
            let found = select(&matrix.view(), rows, columns).unwrap();
            let mut judge = map.clone();
            judge.retain(|(row, column), _| {
                rows.is_none_or(|rows| rows.contains(row))
                    && columns.is_none_or(|columns| columns.contains(column))
            });
            prop_assert_eq!(places(&found), judge);
        }
        let marks: Vec<bool> = matrix.values.iter().map(|value| *value > 0).collect();
        let mut judge = map.clone();
        judge.retain(|_, value| *value > 0);
        prop_assert_eq!(places(&filter(&matrix.view(), &marks).unwrap()), judge);
        let turned = map.iter().map(|((row, column), value)| ((*column, *row), *value));
        let turned: Map = turned.collect();
        prop_assert_eq!(transpose(&matrix.view()), full(&turned));
    }
}

#[test]
fn large_inputs_are_shared_between_threads() {
    let count = 1 << 18;
    let mut state = 1_u32;
    let mut random = || {
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        state >> 18
    };
    let rows: Vec<u32> = (0..count).map(|_| random()).collect();
    let columns: Vec<u32> = (0..count).map(|_| random()).collect();
    let triples = Triples {
        rows: &rows,
        columns: &columns,
        shape: (1 << 14, 1 << 14),
    };
    let ones = vec![1_i64; count];
    let one = Csr::from_triples(&triples, &ones, Collision::Sum, 1).unwrap();
    let four = Csr::from_triples(&triples, &ones, Collision::Sum, 4).unwrap();
    assert_eq!(one, four);
    assert_eq!(one.matrix.values.iter().sum::<i64>(), count as i64);
    let view = one.matrix.view();
    let semiring = (Add::Plus, Multiply::Times);
    let turned = transpose(&view);
    let single = product(&view, None, &turned.view(), semiring, 1).unwrap();
    let several = product(&view, None, &turned.view(), semiring, 3).unwrap();
    assert_eq!(single, several);
}

#[test]
fn wide_products_are_sorted() {
    // Beyond the width of a dense row.
    let width = 1 << 23;
    let right = [9_u32, 4_000_000, 8_000_000, 9, 8_000_000];
    let left = View::new(&[0, 2], &[0, 1], &[2_i64, 3], 2).unwrap();
    let right = View::new(&[0, 3, 5], &right, &[1_i64, 1, 3, 1, -2], width).unwrap();
    let found = product(&left, None, &right, (Add::Plus, Multiply::Times), 1).unwrap();
    assert_eq!(found.matrix.values, [5, 2]);
    assert_eq!(found.columns, Some(vec![9, 4_000_000]));
}

#[test]
fn text_products_tell_what_met() {
    let keys = Keys::from_text(&Text::from_strs(["k1", "k2"])).unwrap();
    let values = Keys::from_text(&Text::from_strs(["u", "v"])).unwrap();
    let left = View::new(&[0, 2, 3], &[0, 1, 1], &[0_u32, 1, 0], 2).unwrap();
    let right = View::new(&[0, 1, 3], &[1, 0, 1], &[1_u32, 0, 1], 2).unwrap();
    let write = CatText::Keys {
        keys: &keys,
        delimiter: b";",
    };
    assert_eq!(cat_bytes(&left, None, &right, write), Ok(15));
    let (starts, columns, text) = cat_product(&left, None, &right, write).unwrap();
    assert_eq!((starts, columns), (vec![0, 2, 4], vec![0, 1, 0, 1]));
    assert_eq!(text, Text::from_strs(["k2;", "k1;k2;", "k2;", "k2;"]));
    let write = CatText::Values {
        left: &values,
        right: &values,
        pair_delimiter: b",",
        delimiter: b";",
    };
    assert_eq!(cat_bytes(&left, None, &right, write), Ok(25));
    let text = cat_product(&left, None, &right, write).unwrap().2;
    assert_eq!(text.bytes().len(), 25);
    assert_eq!(
        text,
        Text::from_strs(["v,u,;", "u,v,;v,v,;", "u,u,;", "u,v,;"])
    );
}

#[test]
fn bad_parts_are_refused() {
    let refused = |starts: &[u32], columns: &[u32], values: &[i64]| {
        View::new(starts, columns, values, 2).is_err()
    };
    assert!(refused(&[0, 1], &[0], &[]));
    assert!(refused(&[0, 2], &[0], &[1]));
    assert!(refused(&[1, 1], &[0], &[1]));
    assert!(refused(&[0, 1], &[2], &[1]));
    assert!(refused(&[], &[], &[]));
    let view = View::new(&[0, 1], &[0], &[1_i64], 2).unwrap();
    assert!(Aligned::new(view, Some(&[0, 1]), None).is_err());
    assert!(product(&view, Some(&[0]), &view, (Add::Plus, Multiply::Times), 1).is_err());
    assert!(product(&view, Some(&[0, 1]), &view, (Add::Plus, Multiply::Times), 1).is_err());
    assert!(select(&view, Some(&[1]), None).is_err());
    assert!(filter(&view, &[]).is_err());
    assert!(expand(&view, Some(&[0, 0]), &view, 0).is_err());
    let triples = Triples {
        rows: &[2],
        columns: &[0],
        shape: (2, 2),
    };
    assert!(Csr::from_triples(&triples, &[1_i64], Collision::Sum, 1).is_err());
}
