//! Every stock iterator before the examiner, and the examiner before iterators that are broken.

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, Entry, EntryRef, Error, IteratorClass,
    IteratorEnvironment, IteratorOptions, IteratorScope, Key, KeyPart, Range,
    SortedKeyValueIterator,
};
use ostrakon_store::iterator::user::{encode_row, stock_iterators};
use ostrakon_testkit::iterators::{
    IteratorCase, Seeks, examine_iterator, examine_iterator_against,
};

/// Rows with several columns, labels, versions, repeated keys and delete markers.
fn entries() -> Vec<Entry> {
    let mut entries = Vec::new();
    for row in 0..5 {
        for column in 0..3 {
            for label in ["", "A&B"] {
                for version in 0..(row + column) % 4 {
                    let key = Key {
                        visibility: label.into(),
                        timestamp: 10 - version,
                        ..Key::new(
                            format!("row{row}"),
                            ["deg", "edge", "edge"][column as usize],
                            format!("q{column}"),
                        )
                    };
                    let value = format!("{}", row * 100 + column * 10 + version).into_bytes();
                    if version == 1 {
                        let (key, value) = (key.clone(), b"7".to_vec());
                        entries.push(Entry { key, value });
                    }
                    entries.push(Entry { key, value });
                }
            }
        }
    }
    entries
}

/// What a compaction sees: the newest marker of a column behind newer puts.
fn with_markers() -> Vec<Entry> {
    let mut entries = entries();
    for row in ["row1", "row3", "row9"] {
        for timestamp in [11, 2] {
            let mut key = Key::new(row, if timestamp == 2 { "edge" } else { "gone" }, "q1");
            key.timestamp = timestamp;
            key.deleted = true;
            entries.push(Entry {
                key,
                value: Vec::new(),
            });
        }
    }
    entries
}

fn examine(
    class: &dyn IteratorClass,
    options: &[(&str, &str)],
    seeks: Seeks,
    scope: IteratorScope,
) -> Result<(), String> {
    let map: IteratorOptions = options
        .iter()
        .map(|(name, value)| ((*name).into(), (*value).into()))
        .collect();
    let entries = match scope {
        IteratorScope::Scan => entries(),
        _ => with_markers(),
    };
    let case = IteratorCase {
        class,
        options: map,
        environment: IteratorEnvironment::new(scope),
        entries,
        seeks,
    };
    let name = class.names()[0].rsplit('.').next().unwrap_or_default();
    if model(name, options, &[]).is_none() {
        return examine_iterator(case);
    }
    examine_iterator_against(case, &|entries| {
        model(name, options, entries).unwrap_or_default()
    })
}

/// What a stock iterator makes of sorted entries, an entry at a time and without batches.
fn model(class: &str, options: &[(&str, &str)], entries: &[Entry]) -> Option<Vec<Entry>> {
    let option = |name: &str| options.iter().find(|(known, _)| *known == name);
    let text = |bytes: &[u8]| String::from_utf8_lossy(bytes).into_owned();
    let kept = |keep: &dyn Fn(&Entry) -> bool| {
        let kept = entries
            .iter()
            .filter(|entry| entry.key.deleted || keep(entry));
        Some(kept.cloned().collect())
    };
    match class {
        "VersioningIterator" => {
            let max = option("maxVersions").map_or(1, |(_, max)| max.parse().expect("a number"));
            let mut passed = 0;
            let mut kept: Vec<Entry> = Vec::new();
            let mut last: Option<Key> = None;
            for entry in entries {
                let same = last.as_ref().is_some_and(|last| {
                    last.as_ref().same(entry.key.as_ref(), KeyPart::Visibility)
                });
                passed = if same { passed } else { 0 };
                if entry.key.deleted || passed < max {
                    kept.push(entry.clone());
                    passed += usize::from(!entry.key.deleted);
                }
                last = Some(entry.key.clone());
            }
            Some(kept)
        }
        "WholeRowIterator" => {
            let rows = entries.chunk_by(|a, b| a.key.row == b.key.row);
            Some(
                rows.map(|row| Entry {
                    key: Key {
                        timestamp: i64::MAX,
                        ..Key::new(row[0].key.row.as_slice(), "", "")
                    },
                    value: encode_row(row.iter().map(Entry::as_ref)),
                })
                .collect(),
            )
        }
        "SummingCombiner" | "MinCombiner" if option("all").is_some() => {
            let mut combined: Vec<Entry> = Vec::new();
            let mut open = false;
            for entry in entries {
                let number = |entry: &Entry| text(&entry.value).parse::<i64>().unwrap_or(0);
                match combined.last_mut() {
                    Some(last)
                        if open
                            && !entry.key.deleted
                            && last
                                .key
                                .as_ref()
                                .same(entry.key.as_ref(), KeyPart::Visibility) =>
                    {
                        let (a, b) = (number(last), number(entry));
                        let both = if class == "MinCombiner" {
                            a.min(b)
                        } else {
                            a + b
                        };
                        last.value = both.to_string().into_bytes();
                    }
                    _ => combined.push(entry.clone()),
                }
                open = !entry.key.deleted;
            }
            Some(combined)
        }
        "AgeOffFilter" => kept(&|entry| entry.key.timestamp >= 12 - 3),
        "RegExFilter" => kept(&|entry| {
            let (row, value) = (text(&entry.key.row), text(&entry.value));
            ["row1", "row2", "row3"].contains(&row.as_str())
                && value.len() > 1
                && value.ends_with(['0', '2'])
        }),
        "GrepIterator" => kept(&|entry| {
            let key = &entry.key;
            [&key.row, &key.family, &key.qualifier, &entry.value]
                .iter()
                .all(|part| !text(part).contains('1'))
        }),
        "ReqVisFilter" => kept(&|entry| !entry.key.visibility.is_empty()),
        _ => None,
    }
}

#[test]
fn stock_iterators_keep_the_contract() {
    let registry = stock_iterators();
    let mut examined: Vec<&str> = Vec::new();
    let mut pass = |class: &'static str, options: &[(&str, &str)]| {
        let seeks = if class == "WholeRowIterator" {
            Seeks::BetweenRows
        } else {
            Seeks::Anywhere
        };
        for scope in IteratorScope::ALL {
            let sound = registry.get(class).unwrap();
            if scope != IteratorScope::Scan && sound.scans_only() {
                continue;
            }
            let outcome = examine(&**registry.get(class).unwrap(), options, seeks, scope);
            assert_eq!(outcome, Ok(()), "{class} {options:?} {scope:?}");
        }
        examined.push(class);
    };
    pass("VersioningIterator", &[]);
    pass("VersioningIterator", &[("maxVersions", "2")]);
    pass("WholeRowIterator", &[("maxBufferSize", "1M")]);
    pass(
        "SummingCombiner",
        &[
            ("type", "STRING"),
            ("columns", "edge:q1,deg"),
            ("lossy", "true"),
        ],
    );
    pass("SummingCombiner", &[("type", "STRING"), ("all", "true")]);
    pass("MinCombiner", &[("type", "STRING"), ("all", "true")]);
    pass(
        "MaxCombiner",
        &[("type", "VARLEN"), ("all", "true"), ("lossy", "true")],
    );
    pass("AgeOffFilter", &[("ttl", "3"), ("currentTime", "12")]);
    pass(
        "RegExFilter",
        &[("rowRegex", "row[1-3]"), ("valueRegex", r"\d+[02]")],
    );
    pass("GrepIterator", &[("term", "1"), ("negate", "true")]);
    pass("ReqVisFilter", &[]);
    examined.sort_unstable();
    examined.dedup();
    assert_eq!(examined, registry.short_names(), "a class was not examined");
}

/// What is wrong with an iterator.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Fault {
    None,
    CountsFromTheSeek,
    ForgetsColumns,
    ClearsTheBatch,
    SwallowsErrors,
    CopiesItsPlace,
    OneTooMany,
    Backwards,
    TakesEmptyForTheEnd,
    TakesShortForTheEnd,
    PassesTheLimit,
    UnfilteredAfterErrors,
    StopsAtTheEnd,
}

/// Keeps the first entry of each row, in a faulty way.
struct FirstOfRow(Fault);

struct Faulty {
    fault: Fault,
    source: BoxedIterator,
    last_row: Option<Vec<u8>>,
    skip_to: Range,
}

impl SortedKeyValueIterator for Faulty {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<(), Error> {
        if self.fault != Fault::CopiesItsPlace {
            self.last_row = None;
        }
        self.skip_to = range.clone();
        let start = range
            .start()
            .map(|start| Key::first_of_row(start.row.as_slice()));
        let wide = Range::keys(start, true, range.end().cloned(), range.end_inclusive())?;
        let all = ColumnSelection::all();
        match self.fault {
            Fault::CountsFromTheSeek => self.source.seek(range, columns),
            Fault::ForgetsColumns => self.source.seek(&wide, &all),
            _ => self.source.seek(&wide, columns),
        }
    }

    fn next_batch(&mut self, out: &mut Batch, limit: BatchLimit) -> Result<bool, Error> {
        if self.fault == Fault::ClearsTheBatch {
            out.clear();
        }
        let first = out.len();
        let limit = match self.fault {
            Fault::PassesTheLimit => BatchLimit {
                entries: usize::MAX,
                ..limit
            },
            _ => limit,
        };
        let read = self.source.next_batch(out, limit);
        let failed = read.as_ref().err().map(Error::duplicate);
        let more = match read {
            Err(_) if self.fault == Fault::SwallowsErrors => false,
            Err(error) if self.fault == Fault::UnfilteredAfterErrors => return Err(error),
            outcome => outcome.unwrap_or(true),
        };
        let more = match self.fault {
            Fault::TakesEmptyForTheEnd => more && out.len() > first,
            Fault::TakesShortForTheEnd => more && out.is_full(limit),
            _ => more,
        };
        if self.fault == Fault::OneTooMany && !more && out.len() == first {
            out.push(Key::new("zzz", "", "").as_ref(), b"")?;
        }
        if self.fault == Fault::Backwards {
            let mut entries: Vec<Entry> = out.iter().skip(first).map(EntryRef::to_entry).collect();
            out.truncate(first);
            entries.reverse();
            for entry in entries {
                out.push(entry.key.as_ref(), &entry.value)?;
            }
            return failed.map_or(Ok(more), Err);
        }
        let (last_row, skip_to) = (&mut self.last_row, &self.skip_to);
        out.retain_from(first, |batch, at| {
            let new = last_row.as_deref() != Some(batch.row(at));
            *last_row = Some(batch.row(at).to_vec());
            new && skip_to.contains(batch.key(at))
        });
        if self.fault == Fault::StopsAtTheEnd && !more {
            // What came with the end is lost.
            out.truncate(first);
        }
        match failed {
            Some(error) if self.fault != Fault::SwallowsErrors => Err(error),
            _ => Ok(more),
        }
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Faulty {
            fault: self.fault,
            source: self.source.deep_copy(),
            last_row: self.last_row.clone(),
            skip_to: Range::all(),
        })
    }
}

impl IteratorClass for FirstOfRow {
    fn names(&self) -> &[&str] {
        &["FirstOfRow"]
    }

    fn describe(&self) -> &str {
        "Keeps the first entry of each row."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<(), Error> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        _: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator, Error> {
        Ok(Box::new(Faulty {
            fault: self.0,
            source,
            last_row: None,
            skip_to: Range::all(),
        }))
    }
}

#[test]
fn the_examiner_finds_each_fault() {
    for (fault, complaint) in [
        (Fault::CountsFromTheSeek, "Range"),
        (Fault::ForgetsColumns, "alone"),
        (Fault::ClearsTheBatch, "held an entry"),
        (Fault::SwallowsErrors, "swallows"),
        (Fault::CopiesItsPlace, "copy"),
        (Fault::OneTooMany, "entry"),
        (Fault::Backwards, "not sorted"),
        (Fault::TakesEmptyForTheEnd, "idle"),
        (Fault::TakesShortForTheEnd, "the end"),
        (Fault::PassesTheLimit, "at most"),
        (Fault::UnfilteredAfterErrors, "before a failure"),
        (Fault::StopsAtTheEnd, "the end"),
    ] {
        let outcome = examine(
            &FirstOfRow(fault),
            &[],
            Seeks::Anywhere,
            IteratorScope::Scan,
        );
        let found = outcome.expect_err(&format!("{fault:?} passed"));
        assert!(found.contains(complaint), "{fault:?}: {found}");
    }
    let sound = examine(
        &FirstOfRow(Fault::None),
        &[],
        Seeks::Anywhere,
        IteratorScope::Scan,
    );
    assert_eq!(sound, Ok(()));
}
