//! The paper's figures as printed, with what a reader must know before comparing.

use super::super::plan::PaperTable;

/// The paper.
pub(in super::super) const CITATION: &str = "Fusion-io, Sqrrl: Fusion-io and Sqrrl Make Accumulo Hypersonic. White \
     paper, 2013. Accumulo on 5 nodes of one 16-core processor and 64 GB each; primary storage 12 disks, or one \
     ioScale card of 1,650 GB.";

const EMULATED: &str = "Our slow storage is emulated: each read that misses the cache, and each sync of the log, waits \
     for one of 12 places and then 12 ms. That is the paper's node: 4,759 transactions/s on 60 disks are 79 for each, 12.6 \
     ms apart. Nothing else of a disk is emulated, neither distance nor transfer.";
const BUFFERED: &str = "An update ends when the batch writer has accepted it, as in the paper; so latencies of mixes are \
     lower than those of their reads.";
const SIZE: &str = "500 M records in about 2 TB are 4 kB each; records of YCSB's default size have 1 kB, so the 2 TB \
     probably count all three replicas. The record size is not given.";
const CLUSTER: &str = "The paper's fast storage serves 5 nodes over a network; ours is one process on this machine's \
     disk, and what its cache lacks may be in the system's page cache.";

pub(super) const FIGURE_3: PaperTable = PaperTable {
    label: "Figure 3",
    what: "Throughput of a mix of half reads and half updates by 256 client threads; 500 M records (about 2 TB, 3 \
           replicas), requests uniform, so that blocks come from storage and not from 320 GB of memory.",
    columns: &[
        "Storage",
        "Transactions/s",
        "Time of one, by Little's law (ms, derived)",
    ],
    rows: &[
        &["12 disks", "4,759", "53.8"],
        &["ioMemory", "48,000", "5.3"],
        &["ratio", "10", "10"],
    ],
    caveats: &[EMULATED, BUFFERED, SIZE, CLUSTER],
};

pub(super) const FIGURE_4: PaperTable = PaperTable {
    label: "Figure 4",
    what: "Average latency over workloads A (half updates), B (5 % updates) and C (reads only) by 64 client threads.",
    columns: &[
        "Storage",
        "Average latency (ms)",
        "Transactions/s (derived)",
    ],
    rows: &[
        &["12 disks", "16", "4,000"],
        &["ioMemory", "below 2", "32,000"],
        &["ratio", "8", "8"],
    ],
    caveats: &[
        EMULATED,
        BUFFERED,
        SIZE,
        CLUSTER,
        "At 64 threads the derived rates are below those of Figure 3 at 256 threads, as they should be.",
    ],
};
