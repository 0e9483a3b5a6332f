//! What scenarios work with: tables of their own, short ways to write and read, and checks that say
//! what went wrong.

use std::fmt::Debug;
use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, ColumnUpdate, Entry, EntryRef, Error, ErrorKind, Key, MutationBatch,
    Range, Result, ScanOptions, Source, Table, TableOptions,
};

/// Opens the copy that a checkpoint wrote.
pub(super) type OpenCopy<'a> = &'a dyn Fn(&Path) -> Result<Arc<dyn Source>>;

/// Why a scenario failed.
#[derive(Debug)]
pub(super) struct Failure(pub(super) String);

/// The outcome of a scenario.
pub(super) type Check<T = ()> = std::result::Result<T, Failure>;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        Self(format!("an error where none was due: {error:?}"))
    }
}

pub(super) struct Bench<'a> {
    pub(super) source: Arc<dyn Source>,
    id: &'static str,
    open_copy: Option<OpenCopy<'a>>,
}

impl<'a> Bench<'a> {
    pub(super) fn new(
        source: Arc<dyn Source>,
        id: &'static str,
        open_copy: Option<OpenCopy<'a>>,
    ) -> Self {
        Self {
            source,
            id,
            open_copy,
        }
    }

    /// A table name that belongs to this scenario; a table that has it is dropped first.
    pub(super) fn free_name(&self, suffix: &str) -> Check<String> {
        let name = format!("examiner_{}_{suffix}", self.id.to_ascii_lowercase());
        if self.lists(&name)? {
            self.source.delete_table(&name)?;
        }
        Ok(name)
    }

    /// As [`free_name`](Self::free_name), for a namespace and its tables.
    pub(super) fn free_namespace(&self, suffix: &str) -> Check<String> {
        let name = format!("examiner_{}_{suffix}", self.id.to_ascii_lowercase());
        let taken = self.source.namespaces()?.iter().any(|one| one.name == name);
        if taken {
            for table in self.source.tables()? {
                if table.name.starts_with(&format!("{name}.")) {
                    self.source.delete_table(&table.name)?;
                }
            }
            self.source.delete_namespace(&name)?;
        }
        Ok(name)
    }

    pub(super) fn lists(&self, name: &str) -> Check<bool> {
        Ok(self.source.tables()?.iter().any(|table| table.name == name))
    }

    /// A fresh table with Accumulo's defaults.
    pub(super) fn table(&self) -> Check<Arc<dyn Table>> {
        self.table_with(&TableOptions::default())
    }

    /// A fresh table that shows every version.
    pub(super) fn table_of_all_versions(&self) -> Check<Arc<dyn Table>> {
        self.table_with(&TableOptions {
            without_default_iterators: true,
            ..TableOptions::default()
        })
    }

    pub(super) fn table_with(&self, options: &TableOptions) -> Check<Arc<dyn Table>> {
        let name = self.free_name("t")?;
        self.source.create_table(&name, options)?;
        Ok(self.source.table(&name)?)
    }

    /// Opens a checkpoint, if the examination knows how.
    pub(super) fn open_copy(&self, directory: &Path) -> Check<Option<Arc<dyn Source>>> {
        Ok(self.open_copy.map(|open| open(directory)).transpose()?)
    }
}

/// An entry at an explicit timestamp.
pub(super) fn entry(row: &str, column: &str, timestamp: i64, value: &str) -> Entry {
    let (family, qualifier) = column.split_once(':').unwrap_or((column, ""));
    Entry {
        key: Key {
            timestamp,
            ..Key::new(row, family, qualifier)
        },
        value: value.as_bytes().to_vec(),
    }
}

/// The same entry with a label.
pub(super) fn labelled(mut entry: Entry, label: &str) -> Entry {
    entry.key.visibility = label.as_bytes().to_vec();
    entry
}

/// A delete marker at an explicit timestamp.
pub(super) fn marker(row: &str, column: &str, timestamp: i64) -> Entry {
    let mut marker = entry(row, column, timestamp, "");
    marker.key.deleted = true;
    marker
}

fn update_of(entry: &Entry, timestamp: Option<i64>) -> ColumnUpdate<'_> {
    ColumnUpdate {
        family: &entry.key.family,
        qualifier: &entry.key.qualifier,
        visibility: &entry.key.visibility,
        timestamp,
        value: (!entry.key.deleted).then_some(entry.value.as_slice()),
    }
}

/// Writes entries and delete markers at the timestamps they carry, as one batch.
pub(super) fn write(table: &Arc<dyn Table>, entries: &[Entry]) -> Check {
    let mut batch = MutationBatch::new();
    for entry in entries {
        batch.put(&entry.key.row, update_of(entry, Some(entry.key.timestamp)))?;
    }
    submit(table, batch)
}

/// Writes entries and delete markers at timestamps the table sets, as one batch.
pub(super) fn write_now(table: &Arc<dyn Table>, entries: &[Entry]) -> Check {
    let mut batch = MutationBatch::new();
    for entry in entries {
        batch.put(&entry.key.row, update_of(entry, None))?;
    }
    submit(table, batch)
}

pub(super) fn submit(table: &Arc<dyn Table>, batch: MutationBatch) -> Check {
    let outcome = table.submit(batch, None)?.wait()?;
    ensure(outcome.rejections.is_empty(), || {
        format!("the write was refused: {:?}", outcome.rejections)
    })
}

/// Everything a scan gives, in the order given; also checks what every scan owes.
pub(super) fn read_with(
    table: &Arc<dyn Table>,
    ranges: &[Range],
    options: &ScanOptions,
) -> Check<Vec<Entry>> {
    let mut scan = table.scan(ranges, options)?;
    let mut batch = Batch::new();
    let mut entries = Vec::new();
    while scan.next_batch(&mut batch)? {
        ensure(!batch.is_empty(), || {
            "a scan said there was more and gave nothing".to_owned()
        })?;
        entries.extend(batch.iter().map(EntryRef::to_entry));
    }
    ensure(batch.is_empty(), || {
        "a scan that is over left entries in the batch".to_owned()
    })?;
    if options.ordered {
        ensure(entries.is_sorted_by(|a, b| a.key <= b.key), || {
            format!("an ordered scan came out of order: {}", show(&entries))
        })?;
    }
    Ok(entries)
}

pub(super) fn read(table: &Arc<dyn Table>, ranges: &[Range]) -> Check<Vec<Entry>> {
    read_with(table, ranges, &ScanOptions::default())
}

pub(super) fn read_all(table: &Arc<dyn Table>) -> Check<Vec<Entry>> {
    read(table, &[Range::all()])
}

pub(super) fn auths(list: &str) -> Authorizations {
    Authorizations::parse(list).unwrap_or_default()
}

/// The values as text, for short comparisons.
pub(super) fn values(entries: &[Entry]) -> Vec<String> {
    entries
        .iter()
        .map(|entry| String::from_utf8_lossy(&entry.value).into_owned())
        .collect()
}

pub(super) fn expect_values(entries: &[Entry], expected: &[&str], what: &str) -> Check {
    let found = values(entries);
    ensure(found == expected, || {
        format!("{what}: expected the values {expected:?}, found {found:?}")
    })
}

pub(super) fn expect_entries(found: &[Entry], expected: &[Entry], what: &str) -> Check {
    let differ = found.iter().zip(expected).position(|(a, b)| a != b);
    let at = match differ {
        Some(at) => at,
        None if found.len() == expected.len() => return Ok(()),
        None => found.len().min(expected.len()),
    };
    let name = |entry: Option<&Entry>| entry.map_or("nothing".to_owned(), show_one);
    Err(Failure(format!(
        "{what}: {} entries where {} were expected; entry {at} is {} and should be {}",
        found.len(),
        expected.len(),
        name(found.get(at)),
        name(expected.get(at))
    )))
}

pub(super) fn expect_equal<T: PartialEq + Debug>(found: T, expected: T, what: &str) -> Check {
    ensure(found == expected, || {
        format!("{what}: expected {expected:?}, found {found:?}")
    })
}

pub(super) fn ensure(holds: bool, otherwise: impl FnOnce() -> String) -> Check {
    if holds {
        Ok(())
    } else {
        Err(Failure(otherwise()))
    }
}

/// Checks that a call was refused, with an error of one of these kinds.
pub(super) fn expect_refused<T>(
    result: Result<T>,
    kinds: &[ErrorKind],
    what: &str,
) -> Check<Error> {
    match result {
        Ok(_) => Err(Failure(format!("{what} was accepted"))),
        Err(error) if kinds.contains(&error.kind()) => Ok(error),
        Err(error) => Err(Failure(format!(
            "{what} was refused as {:?}, expected one of {kinds:?}: {error}",
            error.kind()
        ))),
    }
}

/// Sorted as a table sorts.
pub(super) fn sorted(mut entries: Vec<Entry>) -> Vec<Entry> {
    entries.sort_by(|a, b| a.key.cmp(&b.key));
    entries
}

fn show_one(entry: &Entry) -> String {
    let value = entry.value.get(..32).unwrap_or(&entry.value);
    format!("{} = {}", entry.key, ostrakon_cell::Escaped(value))
}

fn show(entries: &[Entry]) -> String {
    let shown: Vec<String> = entries.iter().take(20).map(show_one).collect();
    shown.join("; ")
}
