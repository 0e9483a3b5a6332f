//! The paper's figures in numbers, as far as its text gives them, with what a reader must know before comparing.

use super::super::plan::PaperTable;

/// The paper.
pub(in super::super) const CITATION: &str = "S. M. Sawyer, B. D. O'Gwynn, A. Tran, T. Yu: Understanding Query \
     Performance in Accumulo. IEEE High Performance Extreme Computing Conference, 2013. Accumulo 1.4 on 8 servers, \
     clients on 8 others; each two 12-core processors, 64 GB, 12 TB RAID, 10-gigabit Ethernet.";

const CURVES: &str = "The paper's curves are printed without numbers. The rows have what its text says; where only the end \
     of an axis is known, they say so.";
const ONE_PROCESS: &str = "The paper's clients are processes on machines of their own, reached over Thrift. Ours are \
     threads of the process that has the store, on the same processors: an embedded store belongs to one process. There is no \
     network, and no second machine to move work to.";
const PROCESSORS: &str = "The processors of client threads are told apart by the scheduler's clock; the others are those of the \
     rest of the process. An embedded scan of cached data runs mostly on the thread that asks: reading, filtering and \
     decoding included. So these figures separate threads, not tablet servers from clients as in the paper. The share of \
     counting is what a client does with what it has received.";
const CACHED: &str = "Ours reads data that the caches hold, after one round that is not measured; the paper read disks at \
     80 to 160 MB/s.";

pub(super) const FIGURE_4: PaperTable = PaperTable {
    label: "Figure 4",
    what: "Query 1: all entries of a range of time, unfiltered, to clients that count them. The rate grows with the clients \
           and approaches 500,000 entries/s; the processors of a client's machine stall at 2.0 of 24, those of the servers \
           grow with the clients.",
    columns: &[
        "Clients",
        "Entries/s, all clients",
        "Processors, a client's machine",
        "Network (average)",
    ],
    rows: &[
        &["12", "–", "2.0", "29.8 Mbps"],
        &["many (axis to 35)", "about 500,000", "–", "–"],
    ],
    caveats: &[
        CURVES,
        ONE_PROCESS,
        PROCESSORS,
        CACHED,
        "29.8 Mbps are 3.7 MB/s. For all clients together, at up to 500,000 entries/s, that would be down to 7.5 bytes per \
         entry, less than a key has; so it is probably the average of one machine, of eight.",
    ],
};

pub(super) const FIGURE_5: PaperTable = PaperTable {
    label: "Figure 5",
    what: "Query 2: a filter at the tablet servers with a chosen acceptance rate, 1, 4 and 8 clients. Above about 1 % the \
           rate is bound by what clients receive; below, by what servers read: then the entries handled do not depend on \
           the clients.",
    columns: &[
        "Acceptance",
        "Entries sent/s",
        "Entries handled/s",
        "Bound by",
    ],
    rows: &[
        &[
            "0.0001 to 0.01",
            "falls with the acceptance",
            "up to 11 to 12 M (read from the plot)",
            "server: disk, 80 to 160 MB/s",
        ],
        &["about 0.01", "–", "–", "crossover"],
        &[
            "0.01 to 1",
            "at most 250,000 (end of the axis)",
            "falls",
            "client",
        ],
    ],
    caveats: &[
        CURVES,
        ONE_PROCESS,
        PROCESSORS,
        CACHED,
        "The paper filters entries; ours filters events, whose fields are tested and sent together. Entries sent are the \
         fields of the events accepted; entries handled are counted next to the data.",
        "The paper's recommendation, to use an index below 1 %, is for one site. The rows named index fetch the same events \
         by the index, so the crossover is measured here; the planner's own threshold comes from `ostrakon events \
         calibrate`.",
    ],
};

pub(super) const FIGURE_6: PaperTable = PaperTable {
    label: "Figure 6",
    what: "Query 3: a histogram of the requests to one domain, from the index alone, with bins computed by the clients. For 8 \
           hours the speed-up rises up to 5 clients, then clients contend for the index table.",
    columns: &["Time", "Clients", "Speed-up"],
    rows: &[
        &["8 hours", "5", "highest (axis to 3)"],
        &["8 hours", "14", "lower"],
        &["1 hour", "1 to 14", "below that of 8 hours"],
    ],
    caveats: &[
        CURVES,
        ONE_PROCESS,
        CACHED,
        "As in the paper, the sum of the clients' counts is outside the timer; here it is a few additions.",
        "Our index lies in one order of value and time, as the paper's: all clients read neighbouring rows of one tablet.",
    ],
};

pub(super) const FIGURE_7: PaperTable = PaperTable {
    label: "Figure 7",
    what: "Query 4: the index names the requests to a domain, then their source addresses are fetched from the event table. \
           More clients are slower than one; the index takes 1 to 2 % of the time.",
    columns: &["Clients", "Speed-up", "Index step"],
    rows: &[
        &["1", "1", "–"],
        &["2", "below 1", "1 to 2 %"],
        &["4", "below 1", "1 to 2 %"],
    ],
    caveats: &[
        CURVES,
        ONE_PROCESS,
        CACHED,
        "Ours divides the time among the clients, so that their rows are disjoint and spread over all shards. Each client \
         fetches its rows in order of the key. The index step is measured alone, by counting in the index.",
    ],
};

pub(super) const PLANNER: PaperTable = PaperTable {
    label: "Planner",
    what: "Time to the first result and to the last, for a value that is frequent, medium and rare; by scan and by index; in \
           windows of time, newest first, and at once. The paper recommends an index below 1 % acceptance, and has no \
           numbers for windows; a later paper of the group (S. M. Sawyer, B. D. O'Gwynn, 2014) describes them.",
    columns: &["Question", "The paper's answer"],
    rows: &[
        &["index or scan?", "index below about 1 % (this site)"],
        &["newest first?", "reversed times in the rows"],
    ],
    caveats: &[
        ONE_PROCESS,
        CACHED,
        "This experiment has no figure in the paper. At once means one window for the whole time, which holds all results \
         in memory before the first is shown.",
    ],
};

#[cfg(test)]
mod tests {
    #[test]
    fn the_network_carried_less_than_a_key() {
        let bytes_per_second = 29.8e6 / 8.0;
        assert_eq!(format!("{:.2}", bytes_per_second / 500e3), "7.45");
        // "more than 300x below the network capacity"
        assert_eq!(format!("{:.0}", 10e9 / 29.8e6), "336");
    }
}
