//! Scans in key order and batch scans.

use ostrakon_cell::{
    Authorizations, Batch, Column, ColumnSelection, EntryRef, ErrorKind, IteratorSetting, Key,
    Range, ScanOptions, Source, Table,
};

use super::bytes;
use super::player::{Failure, Outcome};
use super::script::{Operation, Words};
use super::table::{named, setting};

/// Times from here on were set by the source: they differ from run to run, and are shown as `now`.
const SERVER_TIMES: i64 = 1_000_000_000_000;

pub(super) fn scan(source: &dyn Source, operation: &Operation, ordered: bool) -> Outcome {
    let mut options = ScanOptions {
        authorizations: authorizations(&operation.head)?,
        isolated: operation.head.is("isolated"),
        ordered,
        threads: if ordered { 0 } else { 2 },
        ..ScanOptions::default()
    };
    let mut ranges = Vec::new();
    let mut columns = Vec::new();
    for detail in &operation.details {
        match detail.verb.as_str() {
            "range" => ranges.push(range(detail)?),
            "column" if detail.count() == 1 => columns.push(Column::family(detail.bytes(0)?)),
            "column" => columns.push(Column::new(detail.bytes(0)?, detail.bytes(1)?)),
            "iterator" => options.iterators.push(setting(detail)?),
            "options" => options
                .iterator_options
                .entry(detail.text(0)?)
                .or_default()
                .extend(detail.texts()?),
            _ => return Err(detail.unknown("a scan").into()),
        }
    }
    if ordered && ranges.len() > 1 {
        return Err(Failure::Script(format!(
            "line {}: a scan has one range; batch-scan takes several",
            operation.head.line
        )));
    }
    if ranges.is_empty() {
        ranges.push(Range::all());
    }
    options.columns = ColumnSelection::new(columns);
    let table = named(source, operation)?;
    let times = operation.head.option("times") != Some("no");
    // The client of a cluster refuses these, its servers what follows.
    let twice = IteratorSetting::check_distinct(&options.iterators).is_err();
    let mut lines =
        read(&*table, &ranges, &options, times).map_err(|error| match error.kind() {
            // When an iterator refuses its options or its input is not compared.
            ErrorKind::Offline => Failure::from(error),
            _ if twice => Failure::from(error),
            ErrorKind::TableNotFound => Failure::from(error),
            _ => Failure::Refused("Failed", error),
        })?;
    if !ordered {
        lines.sort();
    }
    lines.insert(0, format!("entries {}", lines.len()));
    Ok(lines)
}

fn read(
    table: &dyn Table,
    ranges: &[Range],
    options: &ScanOptions,
    times: bool,
) -> ostrakon_cell::Result<Vec<String>> {
    let mut scan = table.scan(ranges, options)?;
    let mut batch = Batch::new();
    let mut lines = Vec::new();
    while scan.next_batch(&mut batch)? {
        lines.extend(batch.iter().map(|entry| show(entry, times)));
    }
    Ok(lines)
}

fn show(entry: EntryRef<'_>, times: bool) -> String {
    let key = entry.key;
    let time = if !times {
        "-".to_owned()
    } else if key.timestamp >= SERVER_TIMES && key.timestamp != i64::MAX {
        "now".to_owned()
    } else {
        key.timestamp.to_string()
    };
    let [row, family, qualifier, label, value] = [
        key.row,
        key.family,
        key.qualifier,
        key.visibility,
        entry.value,
    ]
    .map(bytes::show);
    format!("{row} {family} {qualifier} {label} {time} {value}")
}

/// The authorizations `auths=A,B`; none without.
pub(super) fn authorizations(head: &Words) -> Result<Authorizations, Failure> {
    let names: Vec<Vec<u8>> = head
        .option("auths")
        .into_iter()
        .flat_map(|words| words.split(','))
        .map(bytes::parse)
        .collect::<Result<_, _>>()?;
    Authorizations::new(names).map_err(|error| Failure::Script(error.to_string()))
}

fn range(words: &Words) -> Result<Range, Failure> {
    let (from, after) = (words.option("from"), words.option("after"));
    let (to, before) = (words.option("to"), words.option("before"));
    match words.word(0)? {
        "all" => Ok(Range::all()),
        "prefix" => Ok(Range::row_prefix(&words.bytes(1)?)),
        "exact" => match words.count() {
            2 => Ok(Range::row(words.bytes(1)?)),
            3 => Ok(Range::row_family(words.bytes(1)?, words.bytes(2)?)),
            _ => Ok(Range::row_column(
                words.bytes(1)?,
                words.bytes(2)?,
                words.bytes(3)?,
            )),
        },
        "rows" => {
            let [from, after, to, before] =
                [from, after, to, before].map(|word| word.map(bytes::parse));
            rows(
                from.transpose()?,
                after.transpose()?,
                to.transpose()?,
                before.transpose()?,
            )
        }
        "keys" => {
            let start = from.or(after).map(key).transpose()?;
            let end = to.or(before).map(key).transpose()?;
            Ok(Range::keys(start, after.is_none(), end, before.is_none())?)
        }
        other => Err(Failure::Script(format!(
            "line {}: no such range {other}",
            words.line
        ))),
    }
}

type Row = Option<Vec<u8>>;

fn rows(from: Row, after: Row, to: Row, before: Row) -> Result<Range, Failure> {
    use std::ops::Bound::{Excluded, Included, Unbounded};
    let start = match (from, after) {
        (Some(row), _) => Included(row),
        (None, Some(row)) => Excluded(row),
        (None, None) => Unbounded,
    };
    let end = match (to, before) {
        (Some(row), _) => Included(row),
        (None, Some(row)) => Excluded(row),
        (None, None) => Unbounded,
    };
    if let (Included(start) | Excluded(start), Included(end) | Excluded(end)) = (&start, &end)
        && start > end
    {
        return Err(ostrakon_cell::Error::invalid("the range starts after its end").into());
    }
    Ok(Range::rows((start, end)))
}

/// Up to five parts with commas between: row, family, qualifier, label, time.
fn key(word: &str) -> Result<Key, String> {
    let mut parts = word.split(',');
    let mut next = || parts.next().map_or(Ok(Vec::new()), bytes::parse);
    let (row, family, qualifier, visibility) = (next()?, next()?, next()?, next()?);
    let timestamp = match parts.next() {
        Some(time) => time
            .parse()
            .map_err(|_| format!("a time is a number: {time}"))?,
        None => i64::MAX,
    };
    Ok(Key {
        row,
        family,
        qualifier,
        visibility,
        timestamp,
        deleted: false,
    })
}
