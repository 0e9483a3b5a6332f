//! The paper's figures in numbers, as far as its text gives them, with what a reader must know before comparing.

use super::super::plan::PaperTable;

/// The paper.
pub(in super::super) const CITATION: &str = "J. Kepner and others: Achieving 100,000,000 database inserts per second \
     using Accumulo and D4M. IEEE High Performance Extreme Computing Conference, 2014. Accumulo 1.5 on 1 to 216 \
     servers (32 cores, 128 GB, RAID 5, 10-gigabit Ethernet), 1 to 7 ingest processes each, write-ahead log off, no \
     replication.";

const GENERATED: &str = "The paper counts generated edges. Equal edges of a base graph are one entry of the table (an \
     associative array holds one value for a row and a column), so 4.7 % fewer entries are stored than counted at \
     SCALE 17. Ours shows both rates.";

const NO_ARRAYS: &str = "The paper times D4M programs, which make associative arrays and put them. Ours times batch writers and \
     bulk imports in Rust: no associative array is inside the timer.";

const EIGHT: &str =
    "Eight edges a vertex, as the paper says; Graph500 and D4M's own examples take 16.";

pub(super) const FIGURE_3: PaperTable = PaperTable {
    label: "Figure 3",
    what: "The adjacency matrix of a Graph500 graph of SCALE 17 (131,072 vertices, 1,048,576 edges), with about 10 % of \
           the edges shown. Vertices are renumbered at random, so that the power law does not show; the diagonal is \
           edges from a vertex to itself, which some applications keep.",
    columns: &["SCALE", "Vertices", "Edges", "Shown"],
    rows: &[&["17", "131,072", "1,048,576", "about 10 %"]],
    caveats: &[
        "The caption says that vertices are renumbered. The generator of D4M's examples (KronGraph500NoPerm) does not \
         renumber them. Ours shows both.",
        EIGHT,
        "The paper's picture shows a diagonal line. A Kronecker graph has few edges on the diagonal, and \
         renumbering leaves them there: a line in the picture needs more of them, or a thicker pen.",
    ],
};

pub(super) const FIGURE_4: PaperTable = PaperTable {
    label: "Figure 4",
    what: "How many vertices of the graph of Figure 3 have how many edges, both axes logarithmic.",
    columns: &["Vertices of degree 1", "Largest degree", "Slope"],
    rows: &[&["18,884", "447", "−0.62"]],
    caveats: &[
        "A graph of SCALE 17 with 8 edges a vertex has about 19,340 rows with one edge, which fits the paper's 18,884; \
         but its largest row has about 9,870 edges to 6,090 different vertices. A part of the edges brings the largest \
         degree down, and the vertices of degree 1 with it: our sample of one edge in twenty has about 500 and 9,500. \
         No single sample of this generator gives both of the paper's numbers; how the figure was made is not said.",
        "A line of slope −0.62 from 18,884 vertices of degree 1 reaches 430 vertices at degree 447, not one; from end \
         to end the slope is −1.61. The chart shows the two points and the line of −0.62. Ours gives the slope from end to end and the one fitted to all points.",
        EIGHT,
    ],
};

pub(super) const FIGURE_5: PaperTable = PaperTable {
    label: "Figure 5",
    what: "Ingest against time on Accumulo's monitor page: about 300 seconds, at full rate almost from the start. The \
           rise and the fall are those of the monitor's averaging window.",
    columns: &["Run", "Entries a process", "Rate a process"],
    rows: &[&["about 300 s", "33.55 M (derived)", "100,000/s on average"]],
    caveats: &[
        GENERATED,
        NO_ARRAYS,
        "Ours samples the writers' own count ten times a second and averages nothing: pauses show.",
    ],
};

const FIGURE_6_COLUMNS: &[&str] = &["Servers", "Processes", "Entries/s", "Each"];

pub(super) const FIGURE_6: PaperTable = PaperTable {
    label: "Figure 6",
    what: "Ingest rate against the number of ingest processes, one line for each number of servers (1, 2, 4, … 128, \
           216), 1 to 7 processes a server. Each process makes one graph of SCALE 17 and inserts it 32 times, each time \
           with the rows of another of its 32 tablets, in blocks of 500 kB. \"Linear performance across all the \
           dimensions.\"",
    columns: FIGURE_6_COLUMNS,
    rows: &[
        &["1", "1 to 7", "≤ 500,000", "100,000"],
        &["216", "1,296", "115 M", "88,700"],
    ],
    caveats: &[
        GENERATED,
        NO_ARRAYS,
        "The paper has 32 cores a server and adds servers. Ours is one machine: more writers than processors show how it \
         bears crowding, not scaling.",
        "The paper ran without a write-ahead log, which it says brought about 30 %. Ours is durable: an acknowledged \
         write survives loss of power.",
        "500,000/s a server is the maximum by the text; 115 M / 216 is 532,000. 100,000/s a process is the average over \
         all runs; 88,700 is 115 M / 1,296.",
        "\"Ranks\" are processes that sort their own part and hand it over in one bulk import; the paper inserted through \
         batch writers only. Nothing of an import is visible before all of it is.",
    ],
};

pub(super) const FIGURE_7: PaperTable = PaperTable {
    label: "Figure 7",
    what: "Published maxima of several databases against the number of nodes, different workloads and hardware: \
           \"specific comparisons must be made with care\".",
    columns: &["Published", "Workload", "Nodes", "Inserts/s"],
    rows: &[
        &["MIT 2014", "Graph500", "216", "115 M"],
        &["MIT 2012", "network data", "–", "–"],
        &[
            "BAH 2013",
            "continuous test",
            "1000",
            "108 M (average; 173 M at most)",
        ],
        &["Google 2014", "random data", "–", "1 M"],
        &["Oracle 2013", "TPC-C", "–", "–"],
    ],
    caveats: &[
        "MIT and BAH ran Accumulo, Google Cassandra. Numbers are those of the texts: MIT 2014 is this paper; \
         BAH 2013 is the average of its Table I, and its maximum is one sample of a run of 26 hours; the rate of Google 2014 is that of the title of the \
         cited page (\"one million writes per second\"). Its nodes, MIT 2012 and Oracle 2013 are in the picture \
         alone, which is not read off.",
        GENERATED,
        NO_ARRAYS,
        "Ours has a solid point for the rate until everything is in files, and a hollow one for the burst until the last \
         acknowledgement, which fits in memory. Both last a second or so, against the paper's 300 s.",
        "Different entries (ours 12 to 18 bytes, BAH's 79 or more), durability, replication and hardware (the paper's \
         servers have 32 cores). The chart shows orders of magnitude, no ranking.",
    ],
};

pub(super) const WRITE_AHEAD_LOG: PaperTable = PaperTable {
    label: "Section IV.A",
    what: "\"Accumulo was run with the write-ahead log turned off throughout these performance measurements which \
           increased performance by ∼30 %.\"",
    columns: &["Write-ahead log", "Rate"],
    rows: &[&["on", "100 %"], &["off", "about 130 %"]],
    caveats: &[
        "Off (durability none), everything since the last flush is lost when the process dies. The paper could afford it \
         because a database was checkpointed and ingest could be repeated.",
        GENERATED,
        NO_ARRAYS,
    ],
};
