//! Figures 3 and 4.

use std::collections::BTreeMap;
use std::time::Duration;

use super::super::plan::{Phase, Plan, RowPlan, Sizes, Writers, YcsbMix, YcsbStep};
use super::super::record::{Plot, PlotSeries, Row};
use super::super::rig::DiskModel;
use super::super::unit::Unit;
use super::paper;

/// A disk array as the paper's: see the caveat on emulation.
const DISKS: DiskModel = DiskModel {
    latency: Duration::from_millis(12),
    queue_depth: 12,
};

/// Records of ten fields of 100 bytes at scale 1, several times the memory.
const RECORDS: u64 = 300_000;
/// Memory of the store.
const MEMORY_BYTES: u64 = 64 << 20;
/// How long each workload runs at scale 1.
const SECONDS: f64 = 3.0;
/// Client threads; small runs take the first and the last two.
const THREADS: [usize; 5] = [1, 4, 16, 64, 256];

const WORKLOAD_A: YcsbMix = YcsbMix {
    name: "a",
    reads: 0.5,
    compaction: false,
};
const WORKLOAD_B: YcsbMix = YcsbMix {
    name: "b",
    reads: 0.95,
    compaction: false,
};
const WORKLOAD_C: YcsbMix = YcsbMix {
    name: "c",
    reads: 1.0,
    compaction: false,
};
const WORKLOAD_A_COMPACTING: YcsbMix = YcsbMix {
    name: "busy",
    compaction: true,
    ..WORKLOAD_A
};

fn rows(sizes: Sizes, mixes: &[YcsbMix]) -> Vec<RowPlan> {
    let few = sizes.0 < 0.1;
    let threads = THREADS
        .into_iter()
        .filter(|&threads| !few || threads == 1 || threads > 16);
    let row = |storage: &str, threads: usize, disks| RowPlan {
        name: format!("{storage}, {threads} threads"),
        clients: threads,
        phases: [
            YcsbStep::Load {
                records: sizes.entries(RECORDS),
                memory_bytes: MEMORY_BYTES,
            },
            YcsbStep::Storage(disks),
        ]
        .into_iter()
        .chain(mixes.iter().map(|mix| YcsbStep::Run {
            mix: *mix,
            records: sizes.entries(RECORDS),
            threads,
            duration: sizes.seconds(SECONDS),
        }))
        .chain([YcsbStep::Storage(None)])
        .map(Phase::Ycsb)
        .collect(),
        ..RowPlan::default()
    };
    threads
        .flat_map(|threads| {
            [
                row("this machine", threads, None),
                row("emulated disks", threads, Some(DISKS)),
            ]
        })
        .collect()
}

fn scaling(sizes: Sizes) -> String {
    format!(
        "One machine, no replicas: {} records of ten fields of 100 bytes, a store with 64 MiB of memory, requests uniform; \
         each workload for {} on this machine's storage and on emulated disks.",
        sizes.entries_shown(RECORDS),
        sizes.seconds_shown(SECONDS)
    )
}

const TIMED: &str =
    "operations by the clock, without the load; latency from the start of an operation to its end";
const STATE: &str = "each row loads a new table, flushed and compacted; a workload begins with what the last one left in \
     the cache";

/// Figure 3: throughput of the mix.
pub(in super::super) fn figure_3(sizes: Sizes) -> Plan {
    Plan {
        title: "Half reads, half updates, on fast and on slow storage",
        paper: paper::FIGURE_3,
        scaling: scaling(sizes),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("a.rate", "Transactions/s", Unit::PerSecond),
            ("a.mean_us", "Mean latency", Unit::Micros),
            ("a.p99_us", "99 % of operations", Unit::Micros),
            ("busy.rate", "Transactions/s, compacting", Unit::PerSecond),
            ("busy.mean_us", "Mean latency, compacting", Unit::Micros),
            ("busy.compactions", "Compactions meanwhile", Unit::Count),
        ],
        rows: rows(sizes, &[WORKLOAD_A, WORKLOAD_A_COMPACTING]),
        clients: "client threads",
        writers: Writers::Ycsb,
        plots: |rows| {
            vec![
                sweep(rows, "Transactions per second", "a.rate"),
                ratio(rows, "Fast over slow storage", "a.rate"),
            ]
        },
    }
}

/// Figure 4: latency of all workloads.
pub(in super::super) fn figure_4(sizes: Sizes) -> Plan {
    Plan {
        title: "Latency of workloads A, B and C on fast and on slow storage",
        paper: paper::FIGURE_4,
        scaling: scaling(sizes),
        timed: TIMED,
        state: STATE.to_owned(),
        columns: &[
            ("all.mean_us", "Mean latency of A, B and C", Unit::Micros),
            ("a.mean_us", "Mean, A", Unit::Micros),
            ("b.mean_us", "Mean, B", Unit::Micros),
            ("c.mean_us", "Mean, C", Unit::Micros),
            ("c.p99_us", "99 % of reads, C", Unit::Micros),
            ("a.rate", "A, operations/s", Unit::PerSecond),
            ("b.rate", "B, operations/s", Unit::PerSecond),
            ("c.rate", "C, operations/s", Unit::PerSecond),
        ],
        rows: rows(sizes, &[WORKLOAD_A, WORKLOAD_B, WORKLOAD_C]),
        clients: "client threads",
        writers: Writers::Ycsb,
        plots: |rows| {
            vec![
                sweep(rows, "Mean latency, in microseconds", "all.mean_us"),
                ratio(rows, "Slow over fast storage", "all.mean_us"),
            ]
        },
    }
}

/// A number against threads, by storage.
fn series<'a>(rows: &'a [Row], key: &str) -> BTreeMap<&'a str, Vec<(f64, f64)>> {
    let mut series: BTreeMap<&str, Vec<(f64, f64)>> = BTreeMap::new();
    for row in rows {
        let storage = row.name.split(',').next().unwrap_or_default();
        if let Some(spread) = row.metrics.get(key) {
            let points = series.entry(storage).or_default();
            points.push((row.clients as f64, spread.mean));
        }
    }
    series
}

fn sweep(rows: &[Row], y: &str, key: &str) -> Plot {
    let all = series(rows, key).into_iter();
    Plot {
        title: format!("{y} against client threads"),
        x: "client threads".to_owned(),
        y: y.to_owned(),
        log: true,
        series: all
            .map(|(name, points)| PlotSeries {
                hollow: false,
                name: name.to_owned(),
                points,
                lines: true,
            })
            .collect(),
        spy: None,
    }
}

/// The larger of both storages over the smaller, against threads.
fn ratio(rows: &[Row], y: &str, key: &str) -> Plot {
    let mut all = series(rows, key).into_values();
    let (first, second) = (
        all.next().unwrap_or_default(),
        all.next().unwrap_or_default(),
    );
    let points = first
        .into_iter()
        .zip(second)
        .filter(|(a, b)| a.1 > 0.0 && b.1 > 0.0)
        .map(|(a, b)| (a.0, (a.1 / b.1).max(b.1 / a.1)));
    Plot {
        title: format!("{y} against client threads"),
        x: "client threads".to_owned(),
        y: format!("{y}, ratio"),
        log: true,
        series: vec![PlotSeries {
            hollow: false,
            name: "ratio".to_owned(),
            points: points.collect(),
            lines: true,
        }],
        spy: None,
    }
}
