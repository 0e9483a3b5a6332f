//! The rows of a query.

use std::collections::VecDeque;
use std::sync::mpsc::{Receiver, RecvTimeoutError, SyncSender, sync_channel};
use std::thread;
use std::time::Duration;

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use ostrakon_cell::{Error, ErrorKind, Interrupt, Result};
use ostrakon_events::EventStore;
use ostrakon_sql::{EventRows, Step};

use super::question::Asked;
use crate::rows::RowSource;

/// Events of the first record batch, which is there soon, and of the largest.
const FIRST_EVENTS: usize = 128;
const BATCH_EVENTS: usize = 8192;
/// Record batches that wait to be read.
const WAITING: usize = 2;

/// A batch, or `None` at the end.
type Sent = Result<Option<RecordBatch>>;

/// A query that runs on a thread of its own, because the planner calls for each event.
pub(super) struct EventReader {
    sent: Receiver<Sent>,
    interrupt: Interrupt,
    over: bool,
}

impl EventReader {
    /// Starts a query; returns its columns, too.
    pub(super) fn start(store: EventStore, asked: Asked) -> Result<(Self, SchemaRef)> {
        let returned = asked.then.last().map(|step| &step.event_type);
        let definition = store.get(returned.unwrap_or(&asked.query.event_type))?;
        let rows = EventRows::new(&definition, asked.query.fields.as_deref())?;
        let (schema, interrupt) = (rows.schema(), asked.interrupt.clone());
        let (sender, sent) = sync_channel(WAITING);
        thread::Builder::new()
            .name("ostrakon-events".into())
            .spawn(move || {
                let outcome = run(&store, &asked, rows, &sender);
                // If there is no reader any more, nothing is lost.
                let _ = sender.send(outcome.map(|()| None));
            })
            .map_err(|error| {
                Error::new(ErrorKind::Io, "the thread of a query cannot be started")
                    .with_source(error)
            })?;
        let reader = Self {
            sent,
            interrupt,
            over: false,
        };
        Ok((reader, schema))
    }
}

fn run(
    store: &EventStore,
    asked: &Asked,
    mut rows: EventRows,
    sender: &SyncSender<Sent>,
) -> Result<()> {
    let mut wanted = FIRST_EVENTS;
    store.query_then(&asked.query, &asked.then, |event| {
        rows.push(event);
        if rows.len() < wanted {
            return Ok(true);
        }
        wanted = (wanted * 2).min(BATCH_EVENTS);
        Ok(sender.send(rows.take().map(Some)).is_ok())
    })?;
    if !rows.is_empty() {
        let _ = sender.send(rows.take().map(Some));
    }
    Ok(())
}

impl RowSource for EventReader {
    fn next_within(&mut self, wait: Duration) -> Result<Step> {
        if self.over {
            return Ok(Step::End);
        }
        let step = match self.sent.recv_timeout(wait) {
            Ok(Ok(Some(batch))) => return Ok(Step::Rows(batch)),
            Err(RecvTimeoutError::Timeout) => return Ok(Step::Waiting),
            Ok(Ok(None)) => Ok(Step::End),
            Ok(Err(error)) => Err(error),
            Err(RecvTimeoutError::Disconnected) => Err(Error::new(
                ErrorKind::Internal,
                "the query ended without an outcome",
            )),
        };
        self.over = true;
        step
    }
}

impl Drop for EventReader {
    fn drop(&mut self) {
        self.interrupt.set();
    }
}

/// Events that were read.
pub(super) struct ReadEvents {
    batches: VecDeque<RecordBatch>,
    pub(super) schema: SchemaRef,
    /// Where another query goes on, if the limit ended this one.
    pub(super) token: Option<String>,
}

impl ReadEvents {
    /// All events of a query.
    pub(super) fn read(store: &EventStore, asked: &Asked) -> Result<Self> {
        let returned = asked.then.last().map(|step| &step.event_type);
        let definition = store.get(returned.unwrap_or(&asked.query.event_type))?;
        let mut rows = EventRows::new(&definition, asked.query.fields.as_deref())?;
        let (schema, mut batches) = (rows.schema(), VecDeque::new());
        let outcome = store.query_then(&asked.query, &asked.then, |event| {
            rows.push(event);
            if rows.len() >= BATCH_EVENTS {
                batches.push_back(rows.take()?);
            }
            Ok(true)
        })?;
        if !rows.is_empty() {
            batches.push_back(rows.take()?);
        }
        Ok(Self {
            batches,
            schema,
            token: outcome.token,
        })
    }
}

impl RowSource for ReadEvents {
    fn next_within(&mut self, _wait: Duration) -> Result<Step> {
        Ok(self.batches.pop_front().map_or(Step::End, Step::Rows))
    }
}
