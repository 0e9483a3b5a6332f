//! Table XI.

use ostrakon_cell::Authorizations;

use super::super::plan::{Phase, Plan, RowPlan, Sizes, Writers};
use super::super::unit::Unit;

use super::paper;
use super::query::walk;
use super::tables::{Made, ingest};
use crate::continuous::{IngestOptions, LabelChoice, VerifyOptions, WalkOptions};

/// Different labels.
const LABELS: usize = 1_000;
/// Walkers draw from this many sets of authorizations; each satisfies its share of the labels.
const SETS: usize = 8;
const ENTRIES: u64 = 2_000_000;
/// The duration of walkers at scale 1.
const SECONDS: f64 = 3.0;

fn labels() -> Vec<Vec<u8>> {
    let label = |at| format!("group{at:03}&(audit|team{at:03})").into_bytes();
    (0..LABELS).map(label).collect()
}

/// The groups whose numbers `wanted` takes, and `audit`.
fn groups(wanted: impl Fn(usize) -> bool) -> Authorizations {
    let names = (0..LABELS).filter(|at| wanted(*at));
    let names = names.map(|at| format!("group{at:03}"));
    // The names are short and well formed.
    Authorizations::new(names.chain(["audit".to_owned()])).unwrap_or_default()
}

/// How the entries of a row are labelled, and who reads them.
struct Labelled {
    labels: Vec<Vec<u8>>,
    choice: LabelChoice,
    walkers: Vec<Authorizations>,
    verifier: Authorizations,
}

/// Table XI: labels.
pub(in super::super) fn table_11(sizes: Sizes) -> Plan {
    let row = |name: &str, labelled: Labelled| RowPlan {
        phases: vec![
            Phase::Ingest(
                "ingest",
                IngestOptions {
                    visibilities: labelled.labels,
                    label_choice: labelled.choice,
                    ..ingest(2, sizes.entries(ENTRIES))
                },
            ),
            Phase::Walk(WalkOptions {
                authorizations: labelled.walkers,
                ..walk(2, sizes.seconds(SECONDS))
            }),
            Phase::Verify(VerifyOptions {
                authorizations: labelled.verifier,
                threads: 1,
                memory_bytes: 512 << 20,
                ..VerifyOptions::default()
            }),
        ],
        ..Made::PreSplit.row(name, 2)
    };
    let everyone = Authorizations::new(["everyone"]).unwrap_or_default();
    Plan {
        title: "Ingest, walk and verification with and without labels",
        paper: paper::TABLE_11,
        scaling: format!(
            "One machine: {} entries from 2 clients into 32 tablets, then 2 walkers for {}, then verification by 1 \
             thread. Labels: {LABELS} expressions of three terms, one drawn for each list; a walker draws one of {SETS} \
             sets of authorizations for each list it follows, and each set satisfies one label in {SETS}. The last row is \
             the worst case of YCSB++: an expression that no other entry has.",
            sizes.entries_shown(ENTRIES),
            sizes.seconds_shown(SECONDS)
        ),
        timed: "ingest to the last acknowledgement, and until flushed and compacted; walkers by the clock; the whole \
                verification, which reads every entry",
        state: "ingest from nothing; walkers and verification on the flushed and compacted table"
            .to_owned(),
        columns: &[
            ("ingest.entries", "Entries", Unit::Count),
            ("ingest.max", "Max ingest/s", Unit::PerSecond),
            ("ingest.rate", "Ingest/s", Unit::PerSecond),
            ("ingest.settled_rate", "Ingest/s, settled", Unit::PerSecond),
            ("query.rate", "Query/s", Unit::PerSecond),
            ("query.p50_us", "Median query", Unit::Micros),
            ("query.missing", "Missing rows", Unit::Count),
            ("verify.rate", "Entries verified/s", Unit::PerSecond),
            ("verify.undefined", "Undefined", Unit::Count),
        ],
        rows: vec![
            row(
                "without labels",
                Labelled {
                    labels: Vec::new(),
                    choice: LabelChoice::Round,
                    walkers: Vec::new(),
                    verifier: Authorizations::empty(),
                },
            ),
            row(
                "a random label per list",
                Labelled {
                    labels: labels(),
                    choice: LabelChoice::List,
                    walkers: (0..SETS).map(|set| groups(|at| at % SETS == set)).collect(),
                    verifier: groups(|_| true),
                },
            ),
            row(
                "a label of its own per entry",
                Labelled {
                    labels: vec![b"everyone".to_vec()],
                    choice: LabelChoice::Entry,
                    walkers: vec![everyone.clone()],
                    verifier: everyone,
                },
            ),
        ],
        clients: "ingest clients and walkers",
        writers: Writers::Suite,
        plots: |_| Vec::new(),
    }
}
