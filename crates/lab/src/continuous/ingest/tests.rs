use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Authorizations, Entry, Scanner, Source};
use ostrakon_testkit::reference_model::MapSource;
use parking_lot::Mutex;

use super::super::layout::parse_entry;
use super::*;
use crate::{NoProgress, Progress};

fn source() -> Arc<dyn Source> {
    Arc::new(MapSource::new())
}

fn entries(source: &Arc<dyn Source>) -> Vec<Entry> {
    Scanner::new(source.table("ci").unwrap())
        .authorizations(Authorizations::parse("A,B").unwrap())
        .entries()
        .unwrap()
}

/// Row to the row it points to.
fn links(entries: &[Entry]) -> BTreeMap<u64, Option<u64>> {
    entries
        .iter()
        .map(|entry| parse_entry(&entry.as_ref()).unwrap())
        .map(|link| (link.row, link.previous))
        .collect()
}

#[test]
fn a_whole_round_is_one_list() {
    let source = source();
    let (width, depth) = (40, 5);
    let total = width * (depth + 1) + width - 1;
    let figures = run_ingest(
        &source,
        &IngestOptions {
            entries: Some(total),
            flush_interval: Some(width),
            max_depth: depth as u32,
            ..IngestOptions::default()
        },
        &NoProgress,
    )
    .unwrap();
    assert_eq!((figures.entries, figures.rewritten), (total, width - 1));
    let links = links(&entries(&source));
    assert_eq!(links.len() as u64, total - (width - 1));
    // From the one row no entry points to, every row is reached once, and the end points to nothing.
    let pointed: std::collections::BTreeSet<u64> = links.values().filter_map(|to| *to).collect();
    let heads: Vec<u64> = links
        .keys()
        .copied()
        .filter(|row| !pointed.contains(row))
        .collect();
    assert_eq!(heads.len(), 1);
    let (mut at, mut met) = (heads[0], 1);
    while let Some(next) = links[&at] {
        at = next;
        met += 1;
    }
    assert_eq!(met, links.len());
}

#[test]
fn short_runs_scale_the_flush_interval_down() {
    let of = |entries, writers, given| {
        IngestOptions {
            entries,
            writers,
            flush_interval: given,
            ..IngestOptions::default()
        }
        .flush_interval()
    };
    assert_eq!(of(None, 1, None), 1_000_000);
    assert_eq!(of(Some(100_000_000), 2, None), 1_000_000);
    assert_eq!(of(Some(2_700_000), 2, None), 50_000);
    assert_eq!(of(Some(3), 2, None), 1);
    assert_eq!(of(Some(3), 2, Some(500)), 500);
}

#[test]
fn writers_share_the_entries_and_have_names_of_their_own() {
    let source = source();
    let options = IngestOptions {
        entries: Some(1_001),
        writers: 3,
        splits: 4,
        checksum: false,
        visibilities: vec![b"A".to_vec(), b"A|B".to_vec()],
        ..IngestOptions::default()
    };
    let figures = run_ingest(&source, &options, &NoProgress).unwrap();
    assert_eq!((figures.entries, figures.writers), (1_001, 3));
    assert_eq!((figures.tablets_before, figures.tablets), (5, 5));
    assert!(figures.entries_per_second > 0.0 && figures.settled_seconds >= figures.seconds);
    assert_eq!(figures.samples.last().unwrap().done, 1_001);
    let entries = entries(&source);
    assert_eq!(entries.len() as u64, 1_001 - figures.rewritten);
    let mut writers = BTreeMap::new();
    for entry in &entries {
        assert!(!entry.key.visibility.is_empty());
        let link = parse_entry(&entry.as_ref()).unwrap();
        *writers.entry(link.writer).or_insert(0) += 1;
    }
    assert_eq!(writers.len(), 3);
    let bytes: usize = entries
        .iter()
        .map(|entry| entry.key.as_ref().byte_len() + entry.value.len())
        .sum();
    assert!(figures.bytes >= bytes as u64 && figures.bytes < bytes as u64 * 2);
}

#[test]
fn labels_are_shared_by_a_list_or_by_no_entry() {
    for (choice, different) in [
        (LabelChoice::List, 2..=4),
        (LabelChoice::Entry, 800..=1_000),
    ] {
        let source = source();
        let options = IngestOptions {
            entries: Some(1_000),
            flush_interval: Some(30),
            max_depth: 5,
            visibilities: ["A", "B", "A|B", "B|A"]
                .map(|label| label.as_bytes().to_vec())
                .into(),
            label_choice: choice,
            seed: Some(4),
            ..IngestOptions::default()
        };
        run_ingest(&source, &options, &NoProgress).unwrap();
        let entries = entries(&source);
        let labels: BTreeMap<Vec<u8>, Vec<u8>> = entries
            .iter()
            .map(|entry| (entry.key.row.clone(), entry.key.visibility.clone()))
            .collect();
        let distinct: std::collections::BTreeSet<_> = labels.values().collect();
        assert!(
            different.contains(&distinct.len()),
            "{choice:?} {}",
            distinct.len()
        );
        for entry in &entries {
            let link = parse_entry(&entry.as_ref()).unwrap();
            if let (LabelChoice::List, Some(previous)) = (choice, link.previous) {
                let row = crate::continuous::format_row(previous);
                assert_eq!(
                    labels[&row[..]],
                    entry.key.visibility,
                    "a list has one label"
                );
            }
        }
    }
}

#[test]
fn deleted_lists_leave_no_link_behind() {
    let source = source();
    let options = IngestOptions {
        entries: Some(3_000),
        flush_interval: Some(20),
        max_depth: 4,
        delete_probability: 0.5,
        seed: Some(7),
        ..IngestOptions::default()
    };
    let figures = run_ingest(&source, &options, &NoProgress).unwrap();
    assert!(figures.deleted > 500, "{}", figures.deleted);
    let links = links(&entries(&source));
    assert_eq!(
        links.len() as u64,
        figures.entries - figures.rewritten - figures.deleted
    );
    assert!(links.values().flatten().all(|to| links.contains_key(to)));
}

/// Remembers what it is told, and cancels.
#[derive(Default)]
struct Listener {
    flushed: Mutex<BTreeMap<usize, u64>>,
    lines: Mutex<Vec<String>>,
    cancel_after_flushes: Option<usize>,
    flushes: Mutex<Vec<usize>>,
}

impl Progress for Listener {
    fn flushed(&self, writer: usize, entries: u64) {
        self.flushed.lock().insert(writer, entries);
        self.flushes.lock().push(writer);
    }
    fn line(&self, text: &str) {
        self.lines.lock().push(text.to_owned());
    }
    fn cancelled(&self) -> bool {
        self.cancel_after_flushes
            .is_some_and(|most| self.flushes.lock().len() >= most)
    }
}

#[test]
fn flushes_are_told_and_a_wish_to_stop_is_heard() {
    let source = source();
    let listener = Listener {
        cancel_after_flushes: Some(3),
        ..Listener::default()
    };
    let options = IngestOptions {
        flush_interval: Some(2_000),
        stats_seconds: Some(0.1),
        settle: Settle::No,
        ..IngestOptions::default()
    };
    let figures = run_ingest(&source, &options, &listener).unwrap();
    assert!(
        (6_000..20_000).contains(&figures.entries),
        "{}",
        figures.entries
    );
    assert_eq!(listener.flushed.lock()[&0], figures.entries);
    let last = figures.flushes.last().unwrap();
    assert_eq!((last.writer, last.entries), (0, figures.entries));
    assert_eq!(figures.flushes.len(), listener.flushes.lock().len());
    let sum: f64 = figures.flushes.iter().map(|flush| flush.since_last).sum();
    assert!((sum - last.seconds).abs() < 1e-6);
    assert_eq!(entries(&source).len() as u64, figures.entries);
    let lines = listener.lines.lock();
    assert!(
        lines.iter().any(|line| line.starts_with("STATS ")),
        "{lines:?}"
    );
}

#[test]
fn a_time_limit_ends_the_run() {
    let source = source();
    let options = IngestOptions {
        duration: Some(Duration::from_millis(100)),
        ..IngestOptions::default()
    };
    let figures = run_ingest(&source, &options, &NoProgress).unwrap();
    assert!(figures.entries > 0 && figures.seconds < 5.0);
    assert_eq!(entries(&source).len() as u64, figures.entries);
}

#[test]
fn nonsense_is_refused() {
    for options in [
        IngestOptions {
            writers: 0,
            ..IngestOptions::default()
        },
        IngestOptions {
            flush_interval: Some(0),
            ..IngestOptions::default()
        },
        IngestOptions {
            delete_probability: 1.5,
            ..IngestOptions::default()
        },
    ] {
        assert!(run_ingest(&source(), &options, &NoProgress).is_err());
    }
}
