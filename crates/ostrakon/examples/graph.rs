//! A graph in a table and its transpose: neighbours in both directions are rows.
//!
//! ```text
//! alice cites: bob carl
//! carl is cited by: alice bob
//! within two steps of alice: bob carl dora
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use std::collections::BTreeSet;

use ostrakon::{Result, Store, Table};

pub(crate) fn main() -> Result<()> {
    let store = Store::in_memory()?;
    let (edges, transpose) = (store.create_table("edges")?, store.create_table("edges_T")?);
    let (mut forward, mut backward) = (edges.batch_writer(), transpose.batch_writer());
    for (from, to) in [
        ("alice", "bob"),
        ("alice", "carl"),
        ("bob", "carl"),
        ("carl", "dora"),
    ] {
        forward.put(from, ("cites", to), "1")?;
        backward.put(to, ("cites", from), "1")?;
    }
    // Dropping a writer writes too; closing it says whether that succeeded.
    forward.close()?;
    backward.close()?;

    println!(
        "alice cites: {}",
        neighbours(&edges, &["alice".into()])?.join(" ")
    );
    println!(
        "carl is cited by: {}",
        neighbours(&transpose, &["carl".into()])?.join(" ")
    );

    let mut reached = BTreeSet::new();
    let mut frontier = vec!["alice".to_owned()];
    for _ in 0..2 {
        frontier = neighbours(&edges, &frontier)?;
        frontier.retain(|name| reached.insert(name.clone()));
    }
    let reached: Vec<String> = reached.into_iter().collect();
    println!("within two steps of alice: {}", reached.join(" "));
    Ok(())
}

/// The qualifiers of these rows, read in one scan.
fn neighbours(table: &Table, of: &[String]) -> Result<Vec<String>> {
    let scan = of.iter().fold(table.scan(), ostrakon::Scan::row);
    let name = |entry: Result<ostrakon::Entry>| entry?.qualifier_str().map(str::to_owned);
    scan.into_iter().map(name).collect()
}
