//! One client thread: asks the workload what to do, does it, and measures.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Error, Result};
use parking_lot::Mutex;

use super::database::{Database, FieldValues, Fields, Records, Status};
use super::measurements::{Measured, Measurements, Metric};
use super::workload::{CoreWorkload, Operation, Session};

/// How often a failed insert of a load is tried again, and after how long.
#[derive(Debug, Clone, Copy)]
pub(super) struct Retry {
    pub(super) limit: u32,
    pub(super) after: Duration,
    /// Whether a load goes on without a record that could not be inserted.
    pub(super) keep_going: bool,
}

/// A client thread.
pub(super) struct Client<'a> {
    pub(super) workload: &'a CoreWorkload,
    pub(super) session: Session<'a>,
    pub(super) database: &'a mut dyn Database,
    pub(super) measurements: &'a Mutex<Measurements>,
    /// The first error of the database, for the end of the run.
    pub(super) error: &'a Mutex<Option<Error>>,
    pub(super) retry: Retry,
    pub(super) key: Vec<u8>,
    pub(super) values: FieldValues,
    pub(super) found: Records,
}

/// When an operation began, and when it should have begun.
#[derive(Clone, Copy)]
struct Began {
    at: Instant,
    intended: Instant,
}

impl Client<'_> {
    /// Inserts one record of a load. `wait` pauses before another try; it returns whether the run goes on.
    pub(super) fn load(
        &mut self,
        intended: Option<Instant>,
        mut wait: impl FnMut(Duration) -> bool,
    ) -> Result<()> {
        self.session.next_load(&mut self.key);
        self.session.next_record(&self.key, &mut self.values);
        let mut tries = 0;
        loop {
            let began = Began::now(intended);
            let done = self.database.insert(&self.key, &self.values);
            let status = done.as_ref().map_or(Status::Error, |status| *status);
            self.measure(Metric::Insert, status, began)?;
            if status.is_ok() {
                return Ok(());
            }
            tries += 1;
            // The clock is enough to keep threads apart; draws of the session would change the sequence.
            let spread = 0.8 + (now_ms() % 400) as f64 / 1e3;
            if tries > self.retry.limit || !wait(self.retry.after.mul_f64(spread)) {
                if self.retry.keep_going {
                    self.keep(done.err());
                    return Ok(());
                }
                return Err(match done {
                    Err(error) => error,
                    Ok(status) => Error::invalid("a record could not be inserted")
                        .with("status", status.name()),
                });
            }
        }
    }

    /// Does one operation of a run.
    pub(super) fn transaction(&mut self, intended: Option<Instant>) -> Result<()> {
        let operation = self.session.next_operation();
        match operation {
            Operation::Read => {
                self.session.next_key(&mut self.key);
                let fields = self.session.next_fields(operation);
                self.read(fields, intended)?;
                self.verify()
            }
            Operation::Update => {
                self.session.next_key(&mut self.key);
                self.session.next_update(&self.key, &mut self.values);
                self.update(intended)
            }
            Operation::Insert => {
                let record = self.session.next_insert(&mut self.key);
                self.session.next_record(&self.key, &mut self.values);
                let began = Began::now(intended);
                let done = self.database.insert(&self.key, &self.values);
                self.end(Metric::Insert, done, began)?;
                self.workload.acknowledge(record)
            }
            Operation::Scan => {
                self.session.next_key(&mut self.key);
                let count = self.session.next_scan_length();
                let fields = self.session.next_fields(operation);
                self.found.clear();
                let began = Began::now(intended);
                let done = self
                    .database
                    .scan(&self.key, count, fields, &mut self.found);
                self.end(Metric::Scan, done, began)
            }
            Operation::ReadModifyWrite => {
                self.session.next_key(&mut self.key);
                let fields = self.session.next_fields(operation);
                // The values are drawn before the timer starts; reading draws nothing.
                self.session.next_update(&self.key, &mut self.values);
                let began = Began::now(intended);
                self.read(fields, intended)?;
                self.update(intended)?;
                self.measure(Metric::ReadModifyWrite, Status::Ok, began)?;
                self.verify()
            }
        }
    }

    fn read(&mut self, fields: Fields<'_>, intended: Option<Instant>) -> Result<()> {
        self.found.clear();
        let began = Began::now(intended);
        let done = self.database.read(&self.key, fields, &mut self.found);
        self.end(Metric::Read, done, began)
    }

    fn update(&mut self, intended: Option<Instant>) -> Result<()> {
        let began = Began::now(intended);
        let done = self.database.update(&self.key, &self.values);
        self.end(Metric::Update, done, began)
    }

    /// Compares what was read with what was written, where values allow it.
    fn verify(&mut self) -> Result<()> {
        if !self.workload.data_integrity() {
            return Ok(());
        }
        let began = Began::now(None);
        let status = if self.found.field_count() == 0 {
            Status::Error
        } else if self.session.verify(&self.key, self.found.all_fields()) {
            Status::Ok
        } else {
            Status::UnexpectedState
        };
        self.measure(Metric::Verify, status, began)
    }

    /// Ends the thread: everything accepted is done afterwards.
    pub(super) fn cleanup(&mut self) -> Result<()> {
        let began = Began::now(None);
        let done = self.database.cleanup();
        let status = if done.is_ok() {
            Status::Ok
        } else {
            Status::Error
        };
        self.measure(Metric::Cleanup, status, began)?;
        done
    }

    /// Measures an operation. An error of the database is counted, and the run goes on.
    fn end(&mut self, metric: Metric, done: Result<Status>, began: Began) -> Result<()> {
        let status = done.as_ref().map_or(Status::Error, |status| *status);
        self.measure(metric, status, began)?;
        self.keep(done.err());
        Ok(())
    }

    fn keep(&self, error: Option<Error>) {
        if let Some(error) = error {
            self.error.lock().get_or_insert(error);
        }
    }

    fn measure(&self, metric: Metric, status: Status, began: Began) -> Result<()> {
        let now = Instant::now();
        let measured = Measured {
            metric,
            status,
            time: now - began.at,
            intended: now.saturating_duration_since(began.intended),
            now_ms: now_ms(),
        };
        self.measurements.lock().record(&measured)
    }
}

impl Began {
    fn now(intended: Option<Instant>) -> Self {
        let at = Instant::now();
        Self {
            at,
            intended: intended.unwrap_or(at),
        }
    }
}

/// Milliseconds since 1970.
pub(super) fn now_ms() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |time| time.as_millis() as u64)
}
