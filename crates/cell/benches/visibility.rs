//! The cost of a visibility check. Every figure is for one label.
//!
//! Cached: the verdict is in the cache. `one label` evaluates the same label repeatedly, as with
//! neighbours in a table; `16 labels` takes them in turn, so that each call needs a real look-up.
//! Uncached: the cache is disabled, and each call parses the label.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_cell::visibility::{
    Authorizations, VisibilityEvaluator, VisibilityExpression, evaluate, validate,
};

fn held() -> Authorizations {
    Authorizations::new([
        "A",
        "C",
        "analyst",
        "eu",
        "project:ostrakon",
        "level/3",
        "say \"hi\"",
    ])
    .expect("no empty name")
}

const TYPICAL: &[u8] = b"A&(B|C)";
const LONG: &[u8] =
    b"(analyst&level/3&(eu|us|asia))|(project:ostrakon&\"say \\\"hi\\\"\")|admin|root";

fn sixteen() -> Vec<Vec<u8>> {
    (0..16)
        .map(|i| format!("analyst&(eu|us|group-{i})").into_bytes())
        .collect()
}

fn cached(c: &mut Criterion) {
    let mut group = c.benchmark_group("cached");
    group.bench_function("one label", |b| {
        let mut evaluator = VisibilityEvaluator::new(&held());
        b.iter(|| evaluator.evaluate(black_box(TYPICAL)));
    });
    let labels = sixteen();
    group.throughput(Throughput::Elements(16));
    group.bench_function("16 labels in turn", |b| {
        let mut evaluator = VisibilityEvaluator::new(&held());
        b.iter(|| {
            labels
                .iter()
                .filter(|label| evaluator.evaluate(black_box(label)).is_visible())
                .count()
        });
    });
    group.finish();
}

fn uncached(c: &mut Criterion) {
    let mut group = c.benchmark_group("uncached");
    for (name, label) in [
        ("one term", &b"analyst"[..]),
        ("A&(B|C)", TYPICAL),
        ("nine terms", LONG),
    ] {
        group.bench_function(name, |b| {
            let mut evaluator = VisibilityEvaluator::new(&held()).with_cached_labels(0);
            b.iter(|| evaluator.evaluate(black_box(label)));
        });
    }
    group.bench_function("A&(B|C), free function", |b| {
        let held = held();
        b.iter(|| evaluate(black_box(TYPICAL), &held));
    });
    group.bench_function("A&(B|C), validate", |b| {
        b.iter(|| validate(black_box(TYPICAL)));
    });
    group.bench_function("A&(B|C), normalise", |b| {
        let label = VisibilityExpression::parse(TYPICAL).expect("sound");
        b.iter(|| black_box(&label).normalised());
    });
    group.finish();
}

/// A million distinct labels: the cache does not help and must not cost much.
fn distinct(c: &mut Criterion) {
    let labels: Vec<Vec<u8>> = (0..1_000_000)
        .map(|i| format!("A&(B|user-{i})").into_bytes())
        .collect();
    let mut group = c.benchmark_group("distinct");
    group
        .throughput(Throughput::Elements(labels.len() as u64))
        .sample_size(10);
    for (name, cached) in [("cache on", 4096), ("cache off", 0)] {
        group.bench_function(name, |b| {
            b.iter(|| {
                let mut evaluator = VisibilityEvaluator::new(&held()).with_cached_labels(cached);
                labels
                    .iter()
                    .filter(|label| evaluator.evaluate(label).is_visible())
                    .count()
            });
        });
    }
    group.finish();
}

criterion_group!(benches, cached, uncached, distinct);
criterion_main!(benches);
