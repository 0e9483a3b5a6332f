//! Deletes events, in all three tables alike.

use ostrakon_cell::{Error, Result};

use crate::ingest::{Change, ChangeWriter, write_counts};
use crate::layout::EventRow;
use crate::ledger::State;
use crate::query::{Event, Query};
use crate::store::{EventStore, HIDDEN_ARE_LOST, Tables, keep_registry_readable};
use crate::time::parse_span;

/// Events of one batch of deletions.
const BATCH_EVENTS: usize = 8192;

/// What became of old events.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AgeOff {
    /// Events before this moment are gone; a multiple of the type's bin.
    pub since: i64,
}

impl EventStore {
    /// Deletes the events of a query that the reader may see; returns their number. They are hidden at once, and
    /// leave the files when [`settle`](Self::settle) runs.
    ///
    /// # Errors
    /// Those of [`query`](Self::query) and of the tables; another writer of the type has started.
    pub fn delete(&self, query: &Query) -> Result<u64> {
        let query = Query {
            fields: None,
            ..query.clone()
        };
        let tables = self.tables_to_write(&query.event_type)?;
        let (mut held, mut deleted) = (Vec::new(), 0);
        self.query(&query, |event| {
            held.push(event.clone());
            if held.len() >= BATCH_EVENTS {
                deleted += write_deletions(&tables, std::mem::take(&mut held))?;
            }
            Ok(true)
        })?;
        if !held.is_empty() {
            deleted += write_deletions(&tables, held)?;
        }
        Ok(deleted)
    }

    /// Removes events older than the type keeps them, or than `before`, and rewrites the tables without them. The
    /// moment is rounded down to a multiple of the bin, so that counts stay exact.
    ///
    /// # Errors
    /// No such type; neither the type nor the caller says what is old; those of the tables; `PermissionDenied` for a
    /// source that is restricted to a reader.
    pub fn age_off(&self, name: &str, now: i64, before: Option<i64>) -> Result<AgeOff> {
        self.check_unrestricted(name, HIDDEN_ARE_LOST)?;
        keep_registry_readable(&*self.source)?;
        let cut = self.age_off_moment(name, now, before)?;
        let tables = self.tables(name)?;
        let mut state = tables.state()?;
        if cut > state.snapshot.since {
            let mut after = state.clone();
            after.snapshot.since = cut;
            tables.replace(&state, &after)?;
            state = after;
        }
        tables.settle(&state.snapshot)?;
        Ok(AgeOff {
            since: state.snapshot.since,
        })
    }

    /// The moment before which [`age_off`](Self::age_off) would remove events.
    ///
    /// # Errors
    /// No such type; neither the type nor the caller says what is old.
    pub fn age_off_moment(&self, name: &str, now: i64, before: Option<i64>) -> Result<i64> {
        let tables = self.tables(name)?;
        let keep = tables
            .definition
            .keep
            .as_deref()
            .map(parse_span)
            .transpose()?;
        let cut = before.or(keep.map(|keep| now.saturating_sub(keep))).ok_or_else(|| {
            Error::invalid("the event type does not say how long events are kept: set `keep`, or give a time")
                .with("type", name)
        })?;
        let bin = tables.definition.bin_micros()?;
        Ok(cut.saturating_sub(cut.rem_euclid(bin)))
    }

    /// Rewrites the tables of a type without what no reader sees: batches that were never committed, deleted events,
    /// old events.
    ///
    /// # Errors
    /// No such type; those of the tables.
    pub fn settle(&self, name: &str) -> Result<()> {
        let tables = self.tables_to_write(name)?;
        let state = tables.state()?;
        tables.settle(&state.snapshot)
    }
}

/// Runs `write` with the state that has a new batch begun, and commits the batch.
pub(super) fn in_batch<T>(tables: &Tables, write: impl FnOnce(&State) -> Result<T>) -> Result<T> {
    let begun = tables.begin()?;
    let written = write(&begun)?;
    tables.replace(&begun, &begun.with_batch_committed())?;
    Ok(written)
}

fn write_deletions(tables: &Tables, mut events: Vec<Event>) -> Result<u64> {
    let bin = tables.definition.bin_micros()?;
    events.sort_unstable_by_key(|event| event.row);
    let rows: Vec<EventRow> = events.iter().map(|event| event.row).collect();
    in_batch(tables, |state| {
        // Another program may have deleted some since they were read: their counts are subtracted already.
        let labels = events.iter().map(Event::label);
        let stored = tables.stored(&state.snapshot, &rows, labels)?;
        let mut writer = ChangeWriter::new(tables, bin, state.begun);
        let mut deleted = 0;
        for (event, _) in events
            .iter()
            .zip(stored)
            .filter(|(_, stored)| stored.is_some())
        {
            deleted += 1;
            let fields = event
                .fields()
                .map(|(name, value)| (name.as_bytes(), value, tables.definition.index_of(name)));
            writer.event(
                Change::Delete,
                &event.row,
                event.time,
                event.label(),
                fields,
            )?;
        }
        let (_, counts) = writer.close()?;
        write_counts(tables, counts, state.begun)?;
        Ok(deleted)
    })
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use ostrakon_cell::Source;
    use ostrakon_store::vfs::MemoryVfs;
    use ostrakon_store::{Components, Store, StoreOptions};

    use super::*;
    use crate::{CountPath, EventType, IngestOptions, Record, register_event_iterators};

    #[test]
    fn events_that_two_programs_delete_are_subtracted_once() {
        let mut components = Components {
            vfs: MemoryVfs::shared(),
            ..Components::default()
        };
        register_event_iterators(&mut components.iterators);
        let options = StoreOptions {
            background: false,
            ..StoreOptions::default()
        };
        let source: Arc<dyn Source> =
            Store::open_with(components, "/store", options).expect("opens");
        let store = EventStore::new(source);
        let definition = EventType::from_toml(
            "name='t'\ntime='ts'\n[[shards]]\ncount=1\n[[fields]]\nname='ts'\ntype='time'\n",
        );
        store.create(&definition.expect("valid")).expect("created");
        let mut ingest = store.ingest("t", IngestOptions::default()).expect("a type");
        for second in 0..9 {
            let mut record = Record::default();
            record.push(0, format!("{second}").as_bytes());
            ingest.add(&["ts".to_owned()], &record).expect("held");
        }
        ingest.finish().expect("committed");
        let query = Query {
            event_type: "t".into(),
            ..Query::default()
        };
        // Both have read the events before one of them deletes.
        let events = store.events(&query).expect("read");
        let (one, other) = (events[..5].to_vec(), events[3..7].to_vec());
        let tables = store.tables("t").expect("there");
        assert_eq!(write_deletions(&tables, one).expect("deleted"), 5);
        assert_eq!(write_deletions(&tables, other).expect("deleted"), 2);
        for path in [CountPath::Aggregates, CountPath::Scan] {
            assert_eq!(store.count(&query, path).expect("counted"), 2);
        }
        let check = store.check(&query).expect("checked");
        assert_eq!(check.disagreements, []);
    }
}
