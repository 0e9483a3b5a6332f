//! What generating a graph and computing on one in tables costs, on a disk in memory.
//!
//! A full run has graphs of scale 12 to 26; `cargo test --bench` runs each once at scale 7.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]

use criterion::{BatchSize, Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_graph::{
    AdjacencyTables, AdjacencyWriter, BfsOptions, DegreeLimit, FactorsOptions, GraphContext,
    JaccardOptions, Kronecker, KroneckerOptions, MatrixTable, PageRankOptions, TableMultOptions,
    TrussOptions, bfs, connected_components, jaccard, k_truss_adjacency, nmf, pagerank,
    register_graph_iterators, table_mult, triangle_count,
};
use ostrakon_store::vfs::MemoryVfs;
use ostrakon_store::{Components, Store, StoreOptions};

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

/// A store in memory with one Kronecker graph in adjacency tables, flushed.
fn stored_graph(full: u32) -> GraphContext {
    let mut components = Components {
        vfs: MemoryVfs::shared(),
        ..Components::default()
    };
    register_graph_iterators(&mut components.iterators);
    let options = StoreOptions {
        memory_budget_bytes: 4 << 30,
        ..StoreOptions::default()
    };
    let store = Store::open_with(components, "/graphs", options).expect("opens");
    let context = GraphContext::new(store);
    let graph = Kronecker::new(&KroneckerOptions {
        scale: scale(full),
        ..KroneckerOptions::default()
    })
    .expect("sound options");
    let count = graph.edges() as usize;
    let (mut rows, mut columns) = (vec![0; count], vec![0; count]);
    graph.fill(0, &mut rows, &mut columns).expect("in range");
    let tables = AdjacencyTables::named("T");
    let mut writer = AdjacencyWriter::new(&context, &tables).expect("opens");
    for (row, column) in rows.iter().zip(&columns) {
        let (row, column) = (row.to_string(), column.to_string());
        writer
            .add(row.as_bytes(), column.as_bytes(), 1.0)
            .expect("fits");
    }
    writer.close().expect("written");
    for name in ["T", "TT", "TDeg"] {
        let table = context.table(name).expect("made");
        table.flush(true).expect("flushed");
    }
    context
}

/// `C += TᵀT` into a new table: partial products per second, writing C included.
fn multiply(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("table_mult");
    group.sample_size(10);
    for full in [12, 13, 14] {
        let context = stored_graph(full);
        let mut options = TableMultOptions::new("T", "T");
        let counted = table_mult(&context, &options).expect("multiplies");
        group.throughput(Throughput::Elements(counted.partial_products));
        group.bench_function(format!("{full} counted"), |bencher| {
            bencher.iter(|| table_mult(&context, &options).expect("multiplies"));
        });
        options.result = Some("C".into());
        group.bench_function(format!("{full} written"), |bencher| {
            bencher.iter_batched(
                || {
                    let _ = context.source.delete_table("C");
                },
                |()| table_mult(&context, &options).expect("multiplies"),
                BatchSize::PerIteration,
            );
        });
        // A part of what the inputs take.
        let memory = match full {
            12 => Some(200_000),
            14 => Some(2_000_000),
            _ => None,
        };
        if let Some(memory_bytes) = memory {
            let mut tight = context.clone();
            tight.memory_bytes = memory_bytes;
            group.bench_function(
                format!("{full} written in several collections"),
                |bencher| {
                    bencher.iter_batched(
                        || {
                            let _ = context.source.delete_table("C");
                        },
                        |()| table_mult(&tight, &options).expect("multiplies"),
                        BatchSize::PerIteration,
                    );
                },
            );
        }
    }
    group.finish();
}

/// Three steps from a hundred vertices: edges taken per second.
fn search(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("bfs");
    group.sample_size(10);
    for full in [14, 17] {
        let context = stored_graph(full);
        let start: Vec<String> = (0..100).map(|at| (at * 3).to_string()).collect();
        let mut options = BfsOptions::adjacency("T", &start, 3);
        let name = |limited| {
            let limited = if limited { " degrees limited" } else { "" };
            format!("{full}{limited}")
        };
        for limited in [false, true] {
            options.degrees = limited.then(|| DegreeLimit {
                table: "TDeg".into(),
                column: b"OutDeg".to_vec(),
                prefix: Vec::new(),
                least: 1.0,
                most: 1000.0,
            });
            let found = bfs(&context, &options).expect("searches");
            group.throughput(Throughput::Elements(found.edges));
            group.bench_function(name(limited), |bencher| {
                bencher.iter(|| bfs(&context, &options).expect("searches"));
            });
        }
    }
    group.finish();
}

/// The other algorithms at scale 14: entries of the table per second.
fn others(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("scale 14");
    group.sample_size(10);
    let context = stored_graph(14);
    let table = MatrixTable::from("T");
    let read = triangle_count(&context, &table).expect("counts");
    group.throughput(Throughput::Elements(read.entries_read));
    group.bench_function("triangle_count", |bencher| {
        bencher.iter(|| triangle_count(&context, &table).expect("counts"));
    });
    group.bench_function("k_truss 4", |bencher| {
        let options = TrussOptions {
            table: table.clone(),
            k: 4,
            ..TrussOptions::default()
        };
        bencher.iter(|| k_truss_adjacency(&context, &options).expect("finds"));
    });
    group.bench_function("jaccard", |bencher| {
        let options = JaccardOptions {
            table: table.clone(),
            ..JaccardOptions::default()
        };
        bencher.iter(|| jaccard(&context, &options).expect("compares"));
    });
    group.bench_function("connected_components", |bencher| {
        bencher.iter(|| connected_components(&context, &table, None).expect("finds"));
    });
    group.bench_function("pagerank", |bencher| {
        let options = PageRankOptions::new("T");
        bencher.iter(|| pagerank(&context, &options).expect("ranks"));
    });
    group.bench_function("nmf 4", |bencher| {
        let options = FactorsOptions::new("T", 4);
        bencher.iter(|| nmf(&context, &options).expect("factors"));
    });
    group.finish();
}

criterion_group!(benches, kronecker, multiply, search, others);
criterion_main!(benches);
