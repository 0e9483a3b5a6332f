//! The list of experiments.

use ostrakon_cell::{Error, Result};

#[cfg(feature = "sql")]
use super::ivanov2014;
use super::plan::{Plan, Sizes};
use super::{fusionio2013, kepner2014, sawyer2013, sen2013};

/// One experiment that can be run.
#[derive(Debug, Clone, Copy)]
pub struct Experiment {
    /// Its name on the command line.
    pub name: &'static str,
    /// One line: what it measures.
    pub description: &'static str,
    pub(super) citation: &'static str,
    pub(super) plan: fn(Sizes) -> Plan,
}

const EXPERIMENTS: &[Experiment] = &[
    Experiment {
        name: "sen2013-table-1",
        description: "ingest into a pre-split table, 1 to 4 clients and a longer run",
        citation: sen2013::CITATION,
        plan: sen2013::table_1,
    },
    Experiment {
        name: "sen2013-table-2",
        description: "ingest into a table that splits while it grows, against a pre-split one",
        citation: sen2013::CITATION,
        plan: sen2013::table_2,
    },
    Experiment {
        name: "sen2013-table-3",
        description: "walkers on a pre-split table: query rate and latency",
        citation: sen2013::CITATION,
        plan: sen2013::table_3,
    },
    Experiment {
        name: "sen2013-table-4",
        description: "batch walkers on a pre-split table: query rate and latency",
        citation: sen2013::CITATION,
        plan: sen2013::table_4,
    },
    Experiment {
        name: "sen2013-table-5",
        description: "walkers on a table that split while it grew",
        citation: sen2013::CITATION,
        plan: sen2013::table_5,
    },
    Experiment {
        name: "sen2013-table-6",
        description: "batch walkers on a table that split while it grew",
        citation: sen2013::CITATION,
        plan: sen2013::table_6,
    },
    Experiment {
        name: "sen2013-table-7",
        description: "as many ingest clients as walkers at once, pre-split",
        citation: sen2013::CITATION,
        plan: sen2013::table_7,
    },
    Experiment {
        name: "sen2013-table-8",
        description: "a third as many ingest clients as walkers at once, pre-split",
        citation: sen2013::CITATION,
        plan: sen2013::table_8,
    },
    Experiment {
        name: "sen2013-table-9",
        description: "as many ingest clients as walkers at once, on a table that splits",
        citation: sen2013::CITATION,
        plan: sen2013::table_9,
    },
    Experiment {
        name: "sen2013-table-10",
        description: "a third as many ingest clients as walkers at once, on a table that splits",
        citation: sen2013::CITATION,
        plan: sen2013::table_10,
    },
    Experiment {
        name: "sen2013-table-11",
        description: "ingest, walk and verification with and without labels",
        citation: sen2013::CITATION,
        plan: sen2013::table_11,
    },
    Experiment {
        name: "sen2013-table-12",
        description: "verification of the whole table, with much memory and with little",
        citation: sen2013::CITATION,
        plan: sen2013::table_12,
    },
    Experiment {
        name: "sen2013-figure-5",
        description: "ingest and query rates against the number of clients",
        citation: sen2013::CITATION,
        plan: sen2013::figure_5,
    },
    Experiment {
        name: "sawyer2013-figure-4",
        description: "unfiltered scans of web requests by parallel clients",
        citation: sawyer2013::CITATION,
        plan: sawyer2013::figure_4,
    },
    Experiment {
        name: "sawyer2013-figure-5",
        description: "filters next to the data by acceptance rate, and where the index is faster",
        citation: sawyer2013::CITATION,
        plan: sawyer2013::figure_5,
    },
    Experiment {
        name: "sawyer2013-figure-6",
        description: "histograms from the index by parallel clients",
        citation: sawyer2013::CITATION,
        plan: sawyer2013::figure_6,
    },
    Experiment {
        name: "sawyer2013-figure-7",
        description: "index lookup followed by reading the events, by parallel clients",
        citation: sawyer2013::CITATION,
        plan: sawyer2013::figure_7,
    },
    Experiment {
        name: "sawyer2013-planner",
        description: "time to the first and the last result: index or scan, in windows or at once",
        citation: sawyer2013::CITATION,
        plan: sawyer2013::planner,
    },
    Experiment {
        name: "fusionio2013-figure-3",
        description: "YCSB, half reads and half updates, on this machine's storage and on emulated disks",
        citation: fusionio2013::CITATION,
        plan: fusionio2013::figure_3,
    },
    Experiment {
        name: "fusionio2013-figure-4",
        description: "YCSB, latency of workloads A, B and C on this machine's storage and on emulated disks",
        citation: fusionio2013::CITATION,
        plan: fusionio2013::figure_4,
    },
    #[cfg(feature = "sql")]
    Experiment {
        name: "ivanov2014-table-14",
        description: "aggregation and join of HiBench in SQL, at one size",
        citation: ivanov2014::CITATION,
        plan: ivanov2014::table_14,
    },
    #[cfg(feature = "sql")]
    Experiment {
        name: "ivanov2014-table-15",
        description: "pages and visits of HiBench: bytes of a row",
        citation: ivanov2014::CITATION,
        plan: ivanov2014::table_15,
    },
    #[cfg(feature = "sql")]
    Experiment {
        name: "ivanov2014-table-16",
        description: "pages and visits of HiBench in the paper's three proportions: the load",
        citation: ivanov2014::CITATION,
        plan: ivanov2014::table_16,
    },
    #[cfg(feature = "sql")]
    Experiment {
        name: "ivanov2014-table-17",
        description: "aggregation and join of HiBench in the paper's three proportions",
        citation: ivanov2014::CITATION,
        plan: ivanov2014::table_17,
    },
    Experiment {
        name: "kepner2014-figure-3",
        description: "the adjacency matrix of a Kronecker graph, renumbered and not",
        citation: kepner2014::CITATION,
        plan: kepner2014::figure_3,
    },
    Experiment {
        name: "kepner2014-figure-4",
        description: "degree distribution of a Kronecker graph",
        citation: kepner2014::CITATION,
        plan: kepner2014::figure_4,
    },
    Experiment {
        name: "kepner2014-figure-5",
        description: "ingest of stacked graphs against time",
        citation: kepner2014::CITATION,
        plan: kepner2014::figure_5,
    },
    Experiment {
        name: "kepner2014-figure-6",
        description: "ingest of stacked graphs against writers, tablets and processes that sort their part",
        citation: kepner2014::CITATION,
        plan: kepner2014::figure_6,
    },
    Experiment {
        name: "kepner2014-figure-7",
        description: "published maxima of several databases, and ours",
        citation: kepner2014::CITATION,
        plan: kepner2014::figure_7,
    },
    Experiment {
        name: "kepner2014-write-ahead-log",
        description: "ingest of stacked graphs with the write-ahead log on and off",
        citation: kepner2014::CITATION,
        plan: kepner2014::write_ahead_log,
    },
];

/// All experiments, in the order of the papers.
#[must_use]
pub fn experiments() -> &'static [Experiment] {
    EXPERIMENTS
}

/// The experiment of that name.
#[must_use]
pub fn experiment(name: &str) -> Option<&'static Experiment> {
    EXPERIMENTS.iter().find(|one| one.name == name)
}

/// The experiment of that name, or an error that says which name is nearest.
pub(super) fn find(name: &str) -> Result<&'static Experiment> {
    experiment(name).ok_or_else(|| {
        let likeness = |one: &&Experiment| strsim::jaro_winkler(one.name, name);
        let nearest = EXPERIMENTS
            .iter()
            .max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
            .map_or("", |one| one.name);
        Error::not_found("no experiment has this name; `lab list` shows those there are")
            .with("name", name)
            .with("did you mean", nearest)
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_found_and_near_misses_suggested() {
        let sql = if cfg!(feature = "sql") { 4 } else { 0 };
        assert_eq!(EXPERIMENTS.len(), 26 + sql);
        for one in EXPERIMENTS {
            assert_eq!(find(one.name).unwrap().name, one.name);
            assert!(!one.description.is_empty());
        }
        let error = find("sen2013-tabel-12").unwrap_err();
        assert!(
            error
                .to_string()
                .ends_with("did you mean: sen2013-table-12)"),
            "{error}"
        );
    }
}
