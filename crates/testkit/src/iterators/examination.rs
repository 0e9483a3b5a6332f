//! The examination itself.

use std::sync::Arc;

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, Column, ColumnSelection, Entry, EntryRef, Error,
    IteratorClass, IteratorEnvironment, IteratorOptions, Key, KeyPart, Range,
    SortedKeyValueIterator,
};

use super::source::{EntrySource, Hostility};

/// Where an iterator may be sought.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Seeks {
    /// Anywhere: it must go on as a scan from the start would.
    Anywhere,
    /// At the start of rows, and behind keys it returned itself: an iterator that packs a range's
    /// entries packs others for another range.
    BetweenRows,
}

/// An iterator to examine, and what to try it on.
pub struct IteratorCase<'a> {
    /// The class.
    pub class: &'a dyn IteratorClass,
    /// Its options.
    pub options: IteratorOptions,
    /// Where it runs.
    pub environment: IteratorEnvironment,
    /// The entries below it, in any order.
    pub entries: Vec<Entry>,
    /// Where it may be sought.
    pub seeks: Seeks,
}

/// Tries everything the contract asks. What the iterator gives in one plain scan from the start is
/// right by definition, and every other way of reading must give the same.
///
/// # Errors
/// What went wrong first, in words.
pub fn examine_iterator(case: IteratorCase<'_>) -> Result<(), String> {
    Examination::new(case)?.run()
}

/// As [`examine_iterator`]; a plain scan must give what `model` makes of the sorted entries.
///
/// # Errors
/// What went wrong first, in words.
pub fn examine_iterator_against(
    case: IteratorCase<'_>,
    model: &dyn Fn(&[Entry]) -> Vec<Entry>,
) -> Result<(), String> {
    let examination = Examination::new(case)?;
    let wanted = model(&examination.entries);
    same(&wanted, &examination.expected, "a plain scan, by the model")?;
    examination.run()
}

struct Examination<'a> {
    case: IteratorCase<'a>,
    entries: Arc<[Entry]>,
    /// What a plain scan gives.
    expected: Vec<Entry>,
}

const WIDE: BatchLimit = BatchLimit {
    entries: usize::MAX,
    bytes: usize::MAX,
};

type Outcome = Result<(), String>;

impl<'a> Examination<'a> {
    fn new(mut case: IteratorCase<'a>) -> Result<Self, String> {
        case.class
            .validate(&case.options)
            .map_err(|error| format!("the options are refused: {error}"))?;
        case.entries.sort_by(|a, b| a.key.cmp(&b.key));
        let entries: Arc<[Entry]> = std::mem::take(&mut case.entries).into();
        let mut examination = Self {
            case,
            entries,
            expected: Vec::new(),
        };
        let mut plain = examination.make(usize::MAX)?;
        examination.expected = read(&mut plain, &Range::all(), &ColumnSelection::all(), WIDE)?;
        Ok(examination)
    }

    fn make(&self, step: usize) -> Result<BoxedIterator, String> {
        self.make_on(EntrySource::over(
            Arc::clone(&self.entries),
            Hostility::steps(step),
        ))
    }

    fn make_on(&self, source: EntrySource) -> Result<BoxedIterator, String> {
        self.case
            .class
            .init(Box::new(source), &self.case.options, &self.case.environment)
            .map_err(|error| format!("options that were valid are refused: {error}"))
    }

    fn run(&self) -> Outcome {
        self.is_sorted()?;
        self.batch_sizes_do_not_matter()?;
        self.what_stands_in_the_batch_stays()?;
        self.copies_are_independent()?;
        self.seeks_go_on_as_a_scan_would()?;
        self.columns_reach_the_source()?;
        self.a_failure_is_handed_on_and_forgotten()?;
        self.sources_may_be_hostile()
    }

    fn is_sorted(&self) -> Outcome {
        match self
            .expected
            .windows(2)
            .find(|pair| pair[0].key > pair[1].key)
        {
            None => Ok(()),
            Some(pair) => Err(format!(
                "not sorted: {} before {}",
                pair[0].key, pair[1].key
            )),
        }
    }

    fn batch_sizes_do_not_matter(&self) -> Outcome {
        for step in [1, 2, 3, 7, 1000] {
            for entries in [1, 2, 5, 1000] {
                for bytes in [1, 300, usize::MAX] {
                    let limit = BatchLimit { entries, bytes };
                    let found = read(
                        &mut self.make(step)?,
                        &Range::all(),
                        &ColumnSelection::all(),
                        limit,
                    )?;
                    same(
                        &self.expected,
                        &found,
                        &format!("source batches of {step}, {limit:?}"),
                    )?;
                }
            }
        }
        Ok(())
    }

    /// Whatever a source is allowed to do with its batches must change nothing.
    fn sources_may_be_hostile(&self) -> Outcome {
        for hostility in Hostility::all() {
            for limit in [
                BatchLimit::default(),
                WIDE,
                BatchLimit { entries: 1, ..WIDE },
                BatchLimit {
                    entries: 3,
                    bytes: 70,
                },
            ] {
                let source = EntrySource::over(Arc::clone(&self.entries), hostility);
                let mut iterator = self.make_on(source)?;
                let all = (Range::all(), ColumnSelection::all());
                let how = format!("{hostility:?}, {limit:?}");
                let found = read(&mut iterator, &all.0, &all.1, limit)
                    .map_err(|error| format!("{how}: {error}"))?;
                same(&self.expected, &found, &how)?;
                // Sought again from the middle of what was just read.
                iterator
                    .seek(&all.0, &all.1)
                    .and_then(|()| iterator.next_batch(&mut Batch::new(), limit))
                    .map_err(|error| error.to_string())?;
                let found = filled(&mut iterator, &all.0, limit)
                    .map_err(|error| format!("{how}: {error}"))?;
                same(&self.expected, &found, &format!("{how}, batches filled up"))?;
            }
        }
        Ok(())
    }

    fn what_stands_in_the_batch_stays(&self) -> Outcome {
        let mut iterator = self.make(2)?;
        let mut batch = Batch::new();
        let standing = Entry {
            key: Key {
                visibility: b"someone".to_vec(),
                ..Key::new("a row", "of", "before")
            },
            value: b"stays".to_vec(),
        };
        let failed = |error: Error| error.to_string();
        batch
            .push(standing.key.as_ref(), &standing.value)
            .map_err(failed)?;
        iterator
            .seek(&Range::all(), &ColumnSelection::all())
            .map_err(failed)?;
        let mut calls = 0;
        while iterator.next_batch(&mut batch, WIDE).map_err(failed)? {
            calls += 1;
            if calls > 10 * self.entries.len() + 100 {
                return Err("does not come to an end".into());
            }
        }
        let mut wanted = vec![standing];
        wanted.extend_from_slice(&self.expected);
        let found: Vec<Entry> = batch.iter().map(EntryRef::to_entry).collect();
        same(&wanted, &found, "one batch that held an entry already")?;
        match iterator.next_batch(&mut batch, WIDE).map_err(failed)? {
            false if batch.len() == wanted.len() => Ok(()),
            _ => Err("goes on behind its end".into()),
        }
    }

    fn copies_are_independent(&self) -> Outcome {
        for advance in [0, 1, 4] {
            let mut first = self.make(2)?;
            let mut head = Vec::new();
            let all = (Range::all(), ColumnSelection::all());
            first
                .seek(&all.0, &all.1)
                .map_err(|error| error.to_string())?;
            let one = BatchLimit { entries: 1, ..WIDE };
            let mut more = true;
            for _ in 0..advance {
                more = more && take(&mut first, one, &mut head)?;
            }
            let mut copy = first.deep_copy();
            let found = read(&mut copy, &all.0, &all.1, one)?;
            same(&self.expected, &found, "a copy made in the middle")?;
            while more {
                more = take(&mut first, one, &mut head)?;
            }
            same(
                &self.expected,
                &head,
                "the original, after its copy was read",
            )?;
        }
        Ok(())
    }

    fn seeks_go_on_as_a_scan_would(&self) -> Outcome {
        let mut reused = self.make(3)?;
        for range in self.ranges() {
            let wanted: Vec<Entry> = self
                .expected
                .iter()
                .filter(|entry| range.contains(entry.key.as_ref()))
                .cloned()
                .collect();
            let all = ColumnSelection::all();
            let found = read(&mut reused, &range, &all, WIDE)?;
            same(&wanted, &found, &format!("{range:?}"))?;
            let found = read(
                &mut self.make(1)?,
                &range,
                &all,
                BatchLimit { entries: 1, ..WIDE },
            )?;
            same(&wanted, &found, &format!("a fresh iterator, {range:?}"))?;
            // Leave the reused one somewhere in the middle.
            reused
                .seek(&Range::all(), &all)
                .and_then(|()| {
                    reused.next_batch(&mut Batch::new(), BatchLimit { entries: 2, ..WIDE })
                })
                .map_err(|error| error.to_string())?;
        }
        Ok(())
    }

    fn ranges(&self) -> Vec<Range> {
        let mut ranges = vec![Range::rows("b".."b"), Range::rows("\u{10ffff}"..)];
        let between = |from: Option<Key>, inclusive, to: Option<Key>, to_inclusive| {
            Range::keys(from, inclusive, to, to_inclusive).ok()
        };
        for returned in &self.expected {
            ranges.extend(between(Some(returned.key.clone()), false, None, false));
        }
        for entry in self.entries.iter() {
            ranges.push(Range::row(entry.key.row.as_slice()));
            ranges.push(Range::rows(entry.key.row.as_slice()..));
            if self.case.seeks == Seeks::BetweenRows {
                continue;
            }
            let key = || Some(entry.key.clone());
            for inclusive in [true, false] {
                ranges.extend(between(key(), inclusive, None, false));
                ranges.extend(between(None, true, key(), inclusive));
                ranges.extend(between(key(), inclusive, key(), inclusive));
            }
            for part in [KeyPart::Family, KeyPart::Visibility, KeyPart::Timestamp] {
                let next = entry.key.following(part);
                ranges.extend(between(Some(next.clone()), true, None, false));
                ranges.extend(between(key(), true, Some(next), false));
            }
        }
        ranges
    }

    fn columns_reach_the_source(&self) -> Outcome {
        let mut columns: Vec<Column> = self
            .entries
            .iter()
            .flat_map(|entry| {
                let key = &entry.key;
                [
                    Column::family(key.family.as_slice()),
                    Column::new(key.family.as_slice(), key.qualifier.as_slice()),
                ]
            })
            .collect();
        columns.sort();
        columns.dedup();
        columns.push(Column::family("in no entry"));
        for column in columns {
            let selection = ColumnSelection::new([column]);
            let left: Arc<[Entry]> = self
                .entries
                .iter()
                .filter(|entry| selection.contains_key(entry.key.as_ref()))
                .cloned()
                .collect();
            let mut on_the_rest = self.make_on(EntrySource::over(left, Hostility::steps(2)))?;
            let wanted = read(
                &mut on_the_rest,
                &Range::all(),
                &ColumnSelection::all(),
                WIDE,
            )?;
            let found = read(&mut self.make(2)?, &Range::all(), &selection, WIDE)?;
            same(&wanted, &found, &format!("{:?} alone", selection.columns()))?;
        }
        Ok(())
    }

    fn a_failure_is_handed_on_and_forgotten(&self) -> Outcome {
        let all = (Range::all(), ColumnSelection::all());
        for fails_at in 0..self.entries.len() {
            for step in [1, 2, usize::MAX] {
                let mut source =
                    EntrySource::over(Arc::clone(&self.entries), Hostility::steps(step));
                source.fails_at = Some(fails_at);
                let mut iterator = self.make_on(source)?;
                let mut given = Batch::new();
                let outcome = iterator.seek(&all.0, &all.1).and_then(|()| {
                    while iterator.next_batch(&mut given, WIDE)? {}
                    Ok(())
                });
                if outcome.is_ok() {
                    return Err(format!("swallows a failure at entry {fails_at}"));
                }
                let given: Vec<Entry> = given.iter().map(EntryRef::to_entry).collect();
                let how = format!("given out before a failure at entry {fails_at}");
                let wanted = self.expected.iter().take(given.len());
                same(&wanted.cloned().collect::<Vec<_>>(), &given, &how)?;
                let found = read(&mut iterator, &all.0, &all.1, WIDE)?;
                same(&self.expected, &found, "a second seek after a failure")?;
            }
        }
        Ok(())
    }
}

/// One call; `false` at the end.
fn take(
    iterator: &mut BoxedIterator,
    limit: BatchLimit,
    into: &mut Vec<Entry>,
) -> Result<bool, String> {
    let mut batch = Batch::new();
    let more = iterator
        .next_batch(&mut batch, limit)
        .map_err(|error| error.to_string())?;
    within(&batch, limit)?;
    into.extend(batch.iter().map(EntryRef::to_entry));
    Ok(more)
}

/// Whether a batch keeps the limit of entries.
fn within(batch: &Batch, limit: BatchLimit) -> Outcome {
    if batch.len() > limit.entries {
        return Err(format!(
            "{} entries in a batch of at most {}",
            batch.len(),
            limit.entries
        ));
    }
    Ok(())
}

/// Reads everything into batches that are asked to be filled until they are full, as scans do.
fn filled(
    iterator: &mut BoxedIterator,
    range: &Range,
    limit: BatchLimit,
) -> Result<Vec<Entry>, String> {
    let failed = |error: Error| error.to_string();
    iterator
        .seek(range, &ColumnSelection::all())
        .map_err(failed)?;
    let mut found = Vec::new();
    let mut batch = Batch::new();
    let mut more = true;
    while more {
        batch.clear();
        let mut idle = 0;
        while more && !batch.is_full(limit) {
            let before = batch.len();
            more = iterator.next_batch(&mut batch, limit).map_err(failed)?;
            within(&batch, limit)?;
            idle = if batch.len() == before { idle + 1 } else { 0 };
            if idle > 100_000 {
                return Err("gives nothing and does not end".into());
            }
        }
        found.extend(batch.iter().map(EntryRef::to_entry));
    }
    Ok(found)
}

fn read(
    iterator: &mut BoxedIterator,
    range: &Range,
    columns: &ColumnSelection,
    limit: BatchLimit,
) -> Result<Vec<Entry>, String> {
    iterator
        .seek(range, columns)
        .map_err(|error| error.to_string())?;
    let mut found = Vec::new();
    let mut idle = 0;
    loop {
        let before = found.len();
        if !take(iterator, limit, &mut found)? {
            return Ok(found);
        }
        idle = if found.len() == before { idle + 1 } else { 0 };
        if idle > 100_000 {
            return Err(format!("gives nothing and does not end, {limit:?}"));
        }
    }
}

fn same(wanted: &[Entry], found: &[Entry], how: &str) -> Outcome {
    if wanted == found {
        return Ok(());
    }
    let at = wanted.iter().zip(found).take_while(|(a, b)| a == b).count();
    let show = |entries: &[Entry]| match entries.get(at) {
        None => "the end".to_owned(),
        Some(entry) => format!(
            "{} = {:?}",
            entry.key,
            String::from_utf8_lossy(&entry.value)
        ),
    };
    Err(format!(
        "{how}: entry {at} is {} and should be {}",
        show(found),
        show(wanted)
    ))
}
