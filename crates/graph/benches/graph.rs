//! What generating a graph and computing on one in tables costs, on a disk in memory.
//!
//! A full run has graphs of scale 14 to 17; `cargo test --bench` runs each once at scale 7.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_graph::{Kronecker, KroneckerOptions};

/// The full scale, or a tiny one when run as a test.
fn scale(full: u32) -> u32 {
    if std::env::args().any(|argument| argument == "--bench") {
        full
    } else {
        7
    }
}

fn kronecker(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("kronecker");
    for (full, permuted) in [(17, false), (17, true), (20, false), (26, false)] {
        let options = KroneckerOptions {
            scale: scale(full),
            permuted,
            ..KroneckerOptions::default()
        };
        let graph = Kronecker::new(&options).expect("sound options");
        let count = graph.edges().min(1 << 16);
        let (mut rows, mut columns) = (vec![0; count as usize], vec![0; count as usize]);
        group.throughput(Throughput::Elements(count));
        let name = format!("{full}{}", if permuted { " permuted" } else { "" });
        group.bench_function(name, |bencher| {
            bencher.iter(|| graph.fill(0, &mut rows, &mut columns).expect("in range"));
        });
    }
    group.finish();
}

criterion_group!(benches, kronecker);
criterion_main!(benches);
