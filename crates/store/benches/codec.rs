//! Checksums, integers and block compression on blocks like those of the continuous test.
//!
//! `cargo bench -p ostrakon-store --bench codec`. One thread; rates are of raw bytes.

#![allow(
    missing_docs,
    clippy::unwrap_used,
    reason = "criterion's macros write undocumented functions; a benchmark fails by panicking"
)]

use std::hint::black_box;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_store::clock::Random;
use ostrakon_store::codec::{
    Checksum, Compression, Compressor, Decompressor, Lanes, checksum, common_prefix_len, lanes,
    varint,
};

/// Prefix-coded entries: a short rest of a row, a timestamp, and a value that begins with the id of
/// its writer, goes on with a count, and ends with a random row.
fn block(len: usize) -> Vec<u8> {
    let mut random = Random::from_seed(1);
    let mut bytes = Vec::with_capacity(len + 100);
    while bytes.len() < len {
        let row = format!("{:07x}", random.below(1 << 28));
        let link = format!("{:09x}:{:016x}", random.below(5_000_000), random.next_u64());
        bytes.extend_from_slice(&[9, 7]);
        bytes.extend_from_slice(row.as_bytes());
        bytes.extend_from_slice(&(1_700_000_000_000 + random.below(256)).to_le_bytes());
        bytes.extend_from_slice(b"3e1a9c4f-77aa-4c11-9d07-0c2b1b5d8a10:");
        bytes.extend_from_slice(link.as_bytes());
    }
    bytes.truncate(len);
    bytes
}

fn checksums(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("checksum");
    for len in [64, 4096, 65_536, 1 << 20] {
        let bytes = block(len);
        group.throughput(Throughput::Bytes(len as u64));
        group.bench_with_input(BenchmarkId::new("whole", len), &bytes, |bencher, bytes| {
            bencher.iter(|| checksum(black_box(bytes)));
        });
        group.bench_with_input(BenchmarkId::new("pieces", len), &bytes, |bencher, bytes| {
            bencher.iter(|| {
                let mut state = Checksum::new();
                for piece in black_box(bytes).chunks(16_384) {
                    state.update(piece);
                }
                state.value()
            });
        });
    }
    group.finish();
}

fn compression(criterion: &mut Criterion) {
    let settings = [
        Compression::None,
        Compression::Lz4,
        Compression::Zstd(-1),
        Compression::Zstd(1),
    ];
    for len in [25_000, 50_000, 100_000] {
        let raw = block(len);
        let mut group = criterion.benchmark_group(format!("block of {len} bytes"));
        group.throughput(Throughput::Bytes(len as u64));
        for setting in settings {
            let mut compressor = Compressor::new(setting).unwrap();
            let mut stored = Vec::new();
            group.bench_function(BenchmarkId::new("compress", setting), |bencher| {
                bencher.iter(|| {
                    stored.clear();
                    compressor.compress(black_box(&raw), &mut stored).unwrap()
                });
            });
            stored.clear();
            let codec = compressor.compress(&raw, &mut stored).unwrap();
            let mut decompressor = Decompressor::new();
            let mut out = Vec::new();
            decompressor
                .decompress(codec, &stored, len, &mut out)
                .unwrap();
            assert_eq!(out, raw);
            group.bench_function(BenchmarkId::new("decompress", setting), |bencher| {
                bencher.iter(|| {
                    decompressor
                        .decompress(codec, black_box(&stored), len, &mut out)
                        .unwrap();
                });
            });
        }
        group.finish();
    }
}

fn integers(criterion: &mut Criterion) {
    let mut random = Random::from_seed(2);
    let values: Vec<u32> = (0..1000).map(|_| random.below(50_000) as u32).collect();
    let mut group = criterion.benchmark_group("1000 integers");
    group.throughput(Throughput::Elements(values.len() as u64));

    let mut packed = Vec::new();
    let width = lanes::pack_u32(&values, &mut packed);
    let mut again = Vec::new();
    group.bench_function("lanes, packed", |bencher| {
        bencher.iter(|| {
            again.clear();
            lanes::pack_u32(black_box(&values), &mut again)
        });
    });
    group.bench_function("lanes, one by one", |bencher| {
        bencher.iter(|| {
            let (lanes, _) = Lanes::split_from(black_box(&packed), width, values.len()).unwrap();
            (0..lanes.count())
                .map(|index| lanes.get(index).unwrap())
                .sum::<u64>()
        });
    });
    let mut unpacked = Vec::new();
    group.bench_function("lanes, all", |bencher| {
        bencher.iter(|| {
            let (lanes, _) = Lanes::split_from(black_box(&packed), width, values.len()).unwrap();
            lanes.unpack_u32(&mut unpacked).unwrap();
        });
    });

    let mut encoded = Vec::new();
    for value in &values {
        varint::put_u32(&mut encoded, *value);
    }
    let mut again = Vec::new();
    group.bench_function("varints, put", |bencher| {
        bencher.iter(|| {
            again.clear();
            for value in black_box(&values) {
                varint::put_u32(&mut again, *value);
            }
        });
    });
    group.bench_function("varints, get", |bencher| {
        bencher.iter(|| {
            let mut rest = black_box(&encoded[..]);
            let mut sum = 0;
            while let Some((value, len)) = varint::get_u32(rest) {
                sum += u64::from(value);
                rest = &rest[len..];
            }
            sum
        });
    });
    group.finish();
}

fn prefixes(criterion: &mut Criterion) {
    let keys: Vec<Vec<u8>> = (0..1000_u64)
        .map(|row| format!("row{:016x}family{}", row * 7919, row % 3).into_bytes())
        .collect();
    let mut group = criterion.benchmark_group("1000 keys");
    group.throughput(Throughput::Elements(keys.len() as u64));
    group.bench_function("common prefixes", |bencher| {
        bencher.iter(|| {
            let pairs = black_box(&keys).windows(2);
            pairs
                .map(|pair| common_prefix_len(&pair[0], &pair[1]))
                .sum::<usize>()
        });
    });
    group.finish();
}

criterion_group!(benches, checksums, compression, integers, prefixes);
criterion_main!(benches);
