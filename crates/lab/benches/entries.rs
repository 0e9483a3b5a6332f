//! What making and reading one entry of the continuous test costs: ingest spends the first on every
//! entry, verify the second.

use std::hint::black_box;

use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_cell::{Batch, KeyRef};
use ostrakon_lab::continuous::{Generator, GeneratorOptions, parse_entry};

fn generator(checksum: bool) -> Generator {
    let options = GeneratorOptions {
        checksum,
        ..GeneratorOptions::default()
    };
    Generator::new(options).expect("the options are the defaults")
}

fn entries(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("entry");
    group.throughput(Throughput::Elements(1));
    for (name, checksum) in [("plain", false), ("checksum", true)] {
        let mut making = generator(checksum);
        let mut previous = None;
        group.bench_function(format!("make/{name}"), |bencher| {
            bencher.iter(|| {
                let place = making.draw_place();
                black_box(making.make(place, previous));
                previous = Some(place.row);
            });
        });
        let mut batch = Batch::new();
        for _ in 0..1000 {
            let place = making.draw_place();
            let (row, update) = making.make(place, Some(place.row));
            let key = KeyRef {
                row,
                family: update.family,
                qualifier: update.qualifier,
                visibility: update.visibility,
                timestamp: 0,
                deleted: false,
            };
            let value = update.value.unwrap_or_default();
            batch.push(key, value).expect("a thousand entries fit");
        }
        let mut at = 0;
        group.bench_function(format!("read/{name}"), |bencher| {
            bencher.iter(|| {
                at = (at + 1) % batch.len();
                black_box(parse_entry(&batch.entry(at)))
            });
        });
    }
    group.finish();
}

criterion_group!(benches, entries);
criterion_main!(benches);
