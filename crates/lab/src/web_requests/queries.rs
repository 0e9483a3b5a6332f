//! The queries of the clients.

use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::{
    Batch, CompactOptions, Durability, Error, ErrorKind, Result, ScanOptions, Source,
};
use ostrakon_events::{
    Condition, CountPath, EventStore, IngestOptions, Operator, Outcome, Path, Query, Record,
};

use super::clients::Answer;
use super::generator::WebRequests;
use crate::Progress;

/// What loading came to.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
pub struct Loaded {
    /// Events.
    pub events: u64,
    /// Entries of the three tables.
    pub entries: u64,
    /// Bytes of their keys and values.
    pub bytes: u64,
    /// Until the last commit.
    pub seconds: f64,
    /// Until all tables were flushed and compacted.
    pub settled_seconds: f64,
}

/// Requests between two looks at the progress.
const REPORTED: u64 = 1024;

/// Creates the event type, ingests all requests, and compacts its tables.
///
/// # Errors
/// Those of the source; an event was rejected; the run was cancelled.
pub fn load(
    source: &Arc<dyn Source>,
    requests: &WebRequests,
    durability: Durability,
    progress: &dyn Progress,
) -> Result<Loaded> {
    let store = EventStore::new(Arc::clone(source));
    store.create(&requests.event_type())?;
    let tables = EventStore::table_names(WebRequests::TYPE);
    let level = ("table.durability".to_owned(), Some(durability.to_string()));
    for table in &tables {
        source
            .table(table)?
            .modify_properties(std::slice::from_ref(&level))?;
    }
    let started = Instant::now();
    let mut ingest = store.ingest(WebRequests::TYPE, IngestOptions::default())?;
    let (names, mut record) = (requests.names(), Record::default());
    for number in 0..requests.count() {
        if number % REPORTED == 0 && progress.cancelled() {
            return Err(Error::new(ErrorKind::Cancelled, "the load was stopped"));
        }
        requests.fill(number, &mut record);
        if let Some(reason) = ingest.add(&names, &record)? {
            return Err(Error::new(ErrorKind::Internal, "a request is not an event")
                .with("request", number)
                .with("reason", reason));
        }
    }
    let report = ingest.finish()?;
    let mut loaded = Loaded {
        events: report.events,
        entries: report.entries,
        seconds: started.elapsed().as_secs_f64(),
        ..Loaded::default()
    };
    for table in &tables {
        source.table(table)?.compact(&CompactOptions::default())?;
    }
    loaded.settled_seconds = started.elapsed().as_secs_f64();
    for table in &tables {
        let table = source.table(table)?;
        let mut scan = table.scan(&[ostrakon_cell::Range::all()], &ScanOptions::default())?;
        let mut batch = Batch::new();
        while scan.next_batch(&mut batch)? {
            loaded.bytes += batch.iter().map(|entry| size(&entry)).sum::<u64>();
        }
    }
    Ok(loaded)
}

fn size(entry: &ostrakon_cell::EntryRef<'_>) -> u64 {
    let key = entry.key;
    let parts = [
        key.row,
        key.family,
        key.qualifier,
        key.visibility,
        entry.value,
    ];
    parts.iter().map(|part| part.len() as u64).sum()
}

/// Reads all entries of the event table of a time, unfiltered, and counts them.
///
/// # Errors
/// Those of the source.
pub fn count_entries(source: &Arc<dyn Source>, (from, to): (i64, i64)) -> Result<Answer> {
    let [events, _, _] = EventStore::table_names(WebRequests::TYPE);
    let store = EventStore::new(Arc::clone(source));
    let ranges = store.time_ranges(WebRequests::TYPE, from, to)?;
    let options = ScanOptions {
        ordered: false,
        ..ScanOptions::default()
    };
    let mut scan = source.table(&events)?.scan(&ranges, &options)?;
    let (mut batch, mut answer) = (Batch::new(), Answer::default());
    while scan.next_batch(&mut batch)? {
        let received = Instant::now();
        for entry in batch.iter() {
            answer.entries += 1;
            answer.bytes += size(&entry);
            // The marker of an event has no name.
            answer.events += u64::from(entry.key.qualifier.is_empty());
        }
        answer.own_nanos += received.elapsed().as_nanos() as u64;
    }
    answer.handled = answer.entries;
    Ok(answer)
}

/// A query for requests with this value of a field, or for those that have the field.
pub(super) fn wanted(field: &str, value: Option<&str>, (from, to): (i64, i64)) -> Query {
    let operator = match value {
        None => Operator::Exists,
        Some(value) => Operator::Equal(value.as_bytes().to_vec()),
    };
    Query {
        event_type: WebRequests::TYPE.to_owned(),
        condition: Condition::test(field, operator),
        from: Some(from),
        to: Some(to),
        ..Query::default()
    }
}

/// Asks for whole events with this value of a field, or for those that have the field, and counts what comes.
///
/// # Errors
/// Those of the event store.
pub fn count_events(
    source: &Arc<dyn Source>,
    (field, value): (&str, Option<&str>),
    times: (i64, i64),
    path: Path,
) -> Result<Answer> {
    let query = Query {
        path,
        analyze: true,
        ..wanted(field, value, times)
    };
    answer(source, &query)
}

/// Asks for the sources of requests to a domain, by the index.
///
/// # Errors
/// Those of the event store.
pub fn lookup(source: &Arc<dyn Source>, domain: &str, times: (i64, i64)) -> Result<Answer> {
    let query = Query {
        path: Path::Index,
        fields: Some(vec!["source_ip".to_owned()]),
        ..wanted("domain_name", Some(domain), times)
    };
    answer(source, &query)
}

fn answer(source: &Arc<dyn Source>, query: &Query) -> Result<Answer> {
    let mut answer = Answer::default();
    let store = EventStore::new(Arc::clone(source));
    let outcome = store.query(query, |event| {
        let received = Instant::now();
        answer.events += 1;
        for (name, value) in event.fields() {
            answer.entries += 1;
            answer.bytes += (name.len() + value.len()) as u64;
        }
        answer.own_nanos += received.elapsed().as_nanos() as u64;
        Ok(true)
    })?;
    answer.handled = outcome.handled.unwrap_or_default();
    Ok(answer)
}

/// Runs a query, and drops its events.
///
/// # Errors
/// Those of the event store.
pub fn planned(source: &Arc<dyn Source>, query: &Query) -> Result<Outcome> {
    EventStore::new(Arc::clone(source)).query(query, |_| Ok(true))
}

/// Counts requests to a domain by bins of a minute, in the index. The events are those of the bins together.
///
/// # Errors
/// Those of the event store.
pub fn histogram(source: &Arc<dyn Source>, domain: &str, times: (i64, i64)) -> Result<Answer> {
    const MINUTE: i64 = 60_000_000;
    let query = wanted("domain_name", Some(domain), times);
    let store = EventStore::new(Arc::clone(source));
    let bins = store.histogram(&query, MINUTE, CountPath::Index)?;
    let events = bins.values().sum();
    Ok(Answer {
        events,
        // One entry of the index for each.
        entries: events,
        ..Answer::default()
    })
}
