//! The algorithms on real edges: flights between airports, as OpenFlights lists them. The licence of
//! the data (ODbL) has conditions that a copy here would not meet, so the tests run only on request, with a
//! folder `OSTRAKON_TEST_DATA` that has OpenFlights' `routes.dat` as `openflights-routes.dat`.

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::path::Path;

use super::*;
use crate::schema::{AdjacencyTables, AdjacencyWriter};
use crate::tables::GraphContext;
use crate::tables::testing::context;

/// Airports and where one flies to from them.
type Flights = BTreeMap<String, BTreeSet<String>>;

/// Lines are airline, its number, from, its number, to, …
fn flights() -> Flights {
    let folder = std::env::var_os("OSTRAKON_TEST_DATA").expect("OSTRAKON_TEST_DATA names a folder");
    let path = Path::new(&folder).join("openflights-routes.dat");
    let text = std::fs::read_to_string(path).expect("a file of routes");
    let mut flights = Flights::new();
    for line in text.lines() {
        let fields: Vec<&str> = line.split(',').collect();
        let (from, to) = (fields[2].to_owned(), fields[4].to_owned());
        flights.entry(to.clone()).or_default();
        flights.entry(from).or_default().insert(to);
    }
    assert!(flights.len() > 1000, "{} airports", flights.len());
    flights
}

fn stored(flights: &Flights) -> GraphContext {
    let context = context();
    let mut writer = AdjacencyWriter::new(&context, &AdjacencyTables::named("T")).expect("made");
    for (from, tos) in flights {
        for to in tos {
            writer
                .add(from.as_bytes(), to.as_bytes(), 1.0)
                .expect("fits");
        }
    }
    writer.close().expect("written");
    context
}

/// Both directions, without flights to the same airport.
fn undirected(flights: &Flights) -> Flights {
    let mut both = Flights::new();
    for (from, tos) in flights {
        for to in tos.iter().filter(|to| *to != from) {
            both.entry(from.clone()).or_default().insert(to.clone());
            both.entry(to.clone()).or_default().insert(from.clone());
        }
    }
    both
}

/// Flights needed to each airport that can be reached.
fn distances(flights: &Flights, start: &str) -> BTreeMap<String, u32> {
    let mut distances = BTreeMap::from([(start.to_owned(), 0)]);
    let mut queue = VecDeque::from([start.to_owned()]);
    while let Some(airport) = queue.pop_front() {
        let next = distances[&airport] + 1;
        for to in flights.get(&airport).into_iter().flatten() {
            if !distances.contains_key(to) {
                distances.insert(to.clone(), next);
                queue.push_back(to.clone());
            }
        }
    }
    distances
}

#[test]
#[ignore = "needs real data: OSTRAKON_TEST_DATA=FOLDER cargo test -p ostrakon-graph -- --ignored"]
fn searches_find_the_fewest_flights() {
    let flights = flights();
    let context = stored(&flights);
    for start in ["GKA", "FRA", "ULZ"] {
        let expected = distances(&flights, start);
        let found = bfs(&context, &BfsOptions::adjacency("T", [start], 20)).expect("searches");
        let found: BTreeMap<String, u32> = found
            .vertices
            .iter()
            .map(|name| String::from_utf8(name.to_vec()).expect("text"))
            .zip(found.levels.iter().copied())
            .collect();
        assert_eq!(found, expected, "from {start}");
    }
}

#[test]
#[ignore = "needs real data: OSTRAKON_TEST_DATA=FOLDER cargo test -p ostrakon-graph -- --ignored"]
fn components_and_triangles_are_those_of_the_plain_way() {
    let flights = flights();
    let context = stored(&flights);
    let both = undirected(&flights);
    let mut corners = 0;
    for (a, neighbours) in &both {
        for b in neighbours.range(a.clone()..) {
            corners += neighbours
                .range(b.clone()..)
                .filter(|c| *c != b && both[b].contains(*c))
                .count() as u64;
        }
    }
    let counted = triangle_count(&context, &"T".into()).expect("counts");
    assert_eq!(counted.triangles, corners);
    let mut left: BTreeSet<String> = flights
        .iter()
        .flat_map(|(from, tos)| tos.iter().chain((!tos.is_empty()).then_some(from)))
        .cloned()
        .collect();
    let mut count = 0;
    while let Some(start) = left.first().cloned() {
        for reached in distances(&both, &start).keys() {
            left.remove(reached);
        }
        count += 1;
    }
    let found = connected_components(&context, &"T".into(), None).expect("finds");
    assert_eq!(found.components, count);
}
