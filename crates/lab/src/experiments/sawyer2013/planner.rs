//! The planner: index or scan, windows of time or all at once.

use super::super::plan::{Plan, RequestQuery, Sizes, Writers};
use super::super::unit::Unit;
use super::figures::{CLIENTS, STATE, asking, loading, scaling};
use super::paper;

/// Time to the first and the last result.
pub(in super::super) fn planner(sizes: Sizes) -> Plan {
    let mut rows = vec![loading(sizes)];
    for (frequency, domain) in [("frequent", 0), ("medium", 9), ("rare", 999)] {
        for index in [false, true] {
            for windows in [true, false] {
                let name = format!(
                    "{frequency}, {}, {}",
                    if index { "index" } else { "scan" },
                    if windows { "in windows" } else { "at once" }
                );
                let query = RequestQuery::Planned {
                    domain,
                    index,
                    windows,
                };
                rows.push(asking(sizes, name, 1, vec![query]));
            }
        }
    }
    Plan {
        title: "Index or scan, in windows of time or at once",
        paper: paper::PLANNER,
        scaling: scaling(
            sizes,
            "Whole requests to the domain of rank 1 (about a tenth), 10 (a hundredth) and 1000 (one in ten thousand).",
        ),
        timed: "one query after one that fills the caches; first: until the first event is passed on",
        state: STATE.to_owned(),
        columns: &[
            ("load.seconds", "Load", Unit::Seconds),
            ("planned.events", "Events", Unit::Exact),
            ("planned.windows", "Windows", Unit::Exact),
            ("planned.first_seconds", "First result", Unit::Seconds),
            ("planned.seconds", "All results", Unit::Seconds),
        ],
        rows,
        clients: CLIENTS,
        writers: Writers::Events,
        plots: |_| Vec::new(),
    }
}
