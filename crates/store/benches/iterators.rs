//! What the iterators of a stack cost, entry by entry.
//!
//! Entries are those of the continuous test: 16 hexadecimal digits of row, 4 bytes of family and
//! qualifier each, 71 bytes of value. Sources are batches filled beforehand and copied out in one
//! piece, which is about what decoding a block costs; `source` shows that cost alone. `merge/N`
//! spreads random rows over N sources; `merge/runs` gives each source its own stretch of rows.
//! `look-up` seeks one row in five sources that know the answer: one has an entry, four have none.

#![allow(
    missing_docs,
    reason = "criterion's macros write undocumented functions"
)]

use std::hint::black_box;
use std::sync::Arc;

use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};
use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, BoxedIterator, Column, ColumnSelection, Error,
    IteratorEnvironment, IteratorScope, Key, Range, SortedKeyValueIterator,
};
use ostrakon_store::iterator::MergeIterator;
use ostrakon_store::iterator::system::{SystemOptions, system_stack};
use ostrakon_store::iterator::user::VersioningIterator;

const ENTRIES: usize = 400_000;

/// One sorted batch, handed out by copying its bytes in stretches.
struct BatchSource {
    batch: Arc<Batch>,
    at: usize,
    end: usize,
}

impl SortedKeyValueIterator for BatchSource {
    fn seek(&mut self, range: &Range, _: &ColumnSelection) -> Result<(), Error> {
        let first = |past: &dyn Fn(usize) -> bool| {
            let (mut low, mut high) = (0, self.batch.len());
            while low < high {
                let middle = usize::midpoint(low, high);
                if past(middle) {
                    high = middle;
                } else {
                    low = middle + 1;
                }
            }
            low
        };
        self.at = match range.start() {
            None => 0,
            Some(_) => first(&|at| !range.before_start(self.batch.key(at))),
        };
        self.end = match range.end() {
            None => self.batch.len(),
            Some(_) => first(&|at| range.after_end(self.batch.key(at))),
        };
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool, Error> {
        let room = limit.entries.saturating_sub(out.len());
        let bytes = limit.bytes.saturating_sub(out.content_len());
        let slots = self.batch.slots();
        let rest = &slots[self.at..self.end.min(self.at + room.min(bytes / 95 + 1))];
        let (Some(first), Some(last)) = (rest.first(), rest.last()) else {
            return Ok(self.at < self.end);
        };
        let from = first.row.start;
        let len = last.value.start + last.value.len - from;
        let to = out.push_bytes(self.batch.bytes(ostrakon_cell::Span { start: from, len }))?;
        let shift = to.start.wrapping_sub(from);
        out.reserve(rest.len(), 0);
        // All entries share the family, which stands in front of the stretch.
        let family = out.push_bytes(self.batch.bytes(first.family))?;
        let labels: Vec<u32> = (1..self.batch.visibility_count() as u32)
            .map(|id| out.intern_visibility(self.batch.visibility(id)))
            .collect::<Result<_, _>>()?;
        for slot in rest {
            let mut slot = *slot;
            slot.row.start = slot.row.start.wrapping_add(shift);
            slot.family = family;
            slot.qualifier.start = slot.qualifier.start.wrapping_add(shift);
            slot.value.start = slot.value.start.wrapping_add(shift);
            if slot.visibility > 0 {
                slot.visibility = labels[slot.visibility as usize - 1];
            }
            out.push_slot(slot);
        }
        self.at += rest.len();
        Ok(self.at < self.end)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            batch: Arc::clone(&self.batch),
            at: 0,
            end: 0,
        })
    }
}

/// A fixed scramble: neighbours become strangers, and every run sees the same rows.
fn scramble(number: u64) -> u64 {
    let mut mixed = number.wrapping_add(0x9e37_79b9_7f4a_7c15);
    mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ (mixed >> 31)
}

fn batch(mut rows: Vec<u64>, labels: usize) -> Arc<Batch> {
    rows.sort_unstable();
    let labels: Vec<String> = (0..labels).map(|i| format!("A&(B|group-{i})")).collect();
    let mut batch = Batch::new();
    for row in rows {
        let mut key = Key::new(format!("{row:016x}"), "fami", "qual");
        key.timestamp = 1;
        if !labels.is_empty() {
            key.visibility = labels[row as usize % labels.len()].clone().into();
        }
        batch.push(key.as_ref(), &[b'v'; 71]).expect("below 4 GiB");
    }
    Arc::new(batch)
}

fn boxed(batch: &Arc<Batch>) -> BoxedIterator {
    Box::new(BatchSource {
        batch: Arc::clone(batch),
        at: 0,
        end: 0,
    })
}

fn random(sources: usize, labels: usize) -> Vec<Arc<Batch>> {
    let mut rows = vec![Vec::new(); sources];
    for i in 0..ENTRIES as u64 {
        rows[scramble(i) as usize % sources].push(scramble(i * 31 + 7));
    }
    rows.into_iter().map(|rows| batch(rows, labels)).collect()
}

fn boxes(batches: &[Arc<Batch>]) -> Vec<BoxedIterator> {
    batches.iter().map(boxed).collect()
}

fn drain(iterator: &mut dyn SortedKeyValueIterator, out: &mut Batch) -> usize {
    iterator
        .seek(&Range::all(), &ColumnSelection::all())
        .expect("seeks");
    let mut entries = 0;
    loop {
        out.clear();
        let more = iterator
            .next_batch(out, BatchLimit::default())
            .expect("reads");
        entries += black_box(&*out).len();
        if !more {
            return entries;
        }
    }
}

fn merge(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("merge");
    group.throughput(Throughput::Elements(ENTRIES as u64));
    group.sample_size(10);
    let mut out = Batch::new();
    let mut measure = |name: &str, mut iterator: BoxedIterator| {
        group.bench_function(BenchmarkId::from_parameter(name), |bencher| {
            bencher.iter(|| assert_eq!(drain(&mut *iterator, &mut out), ENTRIES));
        });
    };
    let one = random(1, 0);
    measure("source", boxed(&one[0]));
    measure("1", Box::new(MergeIterator::new(boxes(&one))));
    for sources in [2, 8, 32, 1000] {
        let iterator = MergeIterator::new(boxes(&random(sources, 0)));
        measure(&sources.to_string(), Box::new(iterator));
    }
    let mut rows: Vec<u64> = (0..ENTRIES as u64).map(scramble).collect();
    rows.sort_unstable();
    let stretches: Vec<_> = rows
        .chunks(ENTRIES / 8)
        .map(|rows| batch(rows.to_vec(), 0))
        .collect();
    measure("runs", Box::new(MergeIterator::new(boxes(&stretches))));
}

fn stack(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("stack");
    group.throughput(Throughput::Elements(ENTRIES as u64));
    group.sample_size(10);
    let mut environment = IteratorEnvironment::new(IteratorScope::Scan);
    environment.authorizations = Arc::new(Authorizations::new(["A", "B"]).expect("names"));
    let mut out = Batch::new();
    for (name, sources, labels) in [
        ("1 source", 1, 0),
        ("1 source, 16 labels", 1, 16),
        ("8 sources, 16 labels", 8, 16),
    ] {
        let batches = random(sources, labels);
        let system = system_stack(boxes(&batches), &environment, &SystemOptions::default());
        let mut iterator = VersioningIterator::new(system, 1);
        group.bench_function(name, |bencher| {
            bencher.iter(|| assert_eq!(drain(&mut iterator, &mut out), ENTRIES));
        });
    }
}

fn look_up(criterion: &mut Criterion) {
    let mut group = criterion.benchmark_group("look-up");
    let sources = || -> Vec<BoxedIterator> {
        (0..5)
            .map(|i| batch(if i == 3 { vec![7] } else { Vec::new() }, 0))
            .map(|batch| -> BoxedIterator { Box::new(Ready { batch, given: true }) })
            .collect()
    };
    let range = Range::row(format!("{:016x}", 7));
    let environment = IteratorEnvironment::new(IteratorScope::Scan);
    let columns = ColumnSelection::all();
    let one_column = ColumnSelection::new([Column::new("fami", "qual")]);
    let mut out = Batch::new();
    let mut measure = |name: &str, columns: &ColumnSelection, mut iterator: BoxedIterator| {
        group.bench_function(name, |bencher| {
            bencher.iter(|| {
                iterator.seek(black_box(&range), columns).expect("seeks");
                out.clear();
                while iterator
                    .next_batch(&mut out, BatchLimit::default())
                    .expect("reads")
                {}
                assert_eq!(out.len(), 1);
            });
        });
    };
    measure(
        "five sources one by one",
        &columns,
        Box::new(Each(sources())),
    );
    measure(
        "merge of five",
        &columns,
        Box::new(MergeIterator::new(sources())),
    );
    let stack = || {
        let system = system_stack(sources(), &environment, &SystemOptions::default());
        Box::new(VersioningIterator::new(system, 1))
    };
    measure("whole stack", &columns, stack());
    measure("whole stack, one column", &one_column, stack());
}

/// Gives its batch after every seek, wherever that leads.
struct Ready {
    batch: Arc<Batch>,
    given: bool,
}

impl SortedKeyValueIterator for Ready {
    fn seek(&mut self, _: &Range, _: &ColumnSelection) -> Result<(), Error> {
        self.given = false;
        Ok(())
    }

    fn next_batch(&mut self, out: &mut Batch, _: BatchLimit) -> Result<bool, Error> {
        if !std::mem::replace(&mut self.given, true) {
            for entry in self.batch.iter() {
                out.push(entry.key, entry.value)?;
            }
        }
        Ok(false)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self {
            batch: Arc::clone(&self.batch),
            given: true,
        })
    }
}

/// The sources' own cost: all of them sought and read, nothing merged.
struct Each(Vec<BoxedIterator>);

impl SortedKeyValueIterator for Each {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<(), Error> {
        self.0
            .iter_mut()
            .try_for_each(|source| source.seek(range, columns))
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool, Error> {
        for source in &mut self.0 {
            while source.next_batch(out, limit)? {}
        }
        Ok(false)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self(self.0.iter().map(BoxedIterator::deep_copy).collect()))
    }
}

criterion_group!(benches, merge, stack, look_up);
criterion_main!(benches);
