//! The event types of a store.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use ostrakon_cell::{Capability, Error, ErrorKind, Interrupt, Result};
use ostrakon_events::{
    Epoch, EqualRecords, EventStore, EventType, Explanation, Outcome, parse_span, show_span,
};
use pyo3::prelude::*;
use pyo3::types::{PyBytes, PyDict};

use super::files::FilesArgument;
use super::ingest::{Ingested, Rejected, Unlike, Wanted, ingest};
use super::question::{Asked, Question, count_path, moment};
use super::reading::{EventReader, ReadEvents};
use crate::errors::IntoPython;
use crate::logs::now;
use crate::rows::NativeRows;
use crate::signals::run;
use crate::tables::NativeStore;

/// The event types of a store, used by `ostrakon.Events`.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeEvents {
    store: Py<NativeStore>,
}

/// What a type says besides its fields, as Python passes it.
#[derive(FromPyObject)]
struct TypeArgument {
    #[pyo3(item)]
    visibility: Option<String>,
    #[pyo3(item)]
    visibility_field: Option<String>,
    #[pyo3(item)]
    keep: Option<String>,
    #[pyo3(item)]
    equal_records: Option<String>,
    #[pyo3(item)]
    shards: Option<u16>,
}

impl TypeArgument {
    fn apply(self, definition: &mut EventType) -> Result<()> {
        if self.visibility.is_some() {
            definition.visibility = self.visibility;
        }
        if self.visibility_field.is_some() {
            definition.visibility_field = self.visibility_field;
        }
        if self.keep.is_some() {
            definition.keep = self.keep;
        }
        if let Some(name) = &self.equal_records {
            definition.equal_records = EqualRecords::named(name).ok_or_else(|| {
                Error::invalid("`equal_records` is merge or keep").with("given", name)
            })?;
        }
        if let Some(count) = self.shards {
            definition.shards = vec![Epoch { from: None, count }];
        }
        definition.check()
    }
}

/// Events, duplicates, those of them that came twice, entries, rejected lines, the first of these, and files of which most
/// fields are not fields of the type.
type Report = (u64, u64, u64, u64, u64, Vec<Rejected>, Vec<Unlike>);

/// The span of a bin in microseconds and as text, and the bins with events: start and number.
type Bins = (i64, String, Vec<(i64, u64)>);

/// The most frequent values, the number of different ones, and the number of events.
type Top<'py> = (Vec<(Bound<'py, PyBytes>, u64)>, u64, u64);

/// The first and the last of some batches.
type Batches = Option<(i64, i64)>;

/// Events, index entries and counts read, where they disagree (table, field, bin, expected, found), and the batches that
/// the registry does not know.
type Checked = (
    u64,
    u64,
    u64,
    Vec<(&'static str, String, i64, i64, i64)>,
    Batches,
);

/// Index entries added and removed, counts corrected, and batches taken in.
type Repaired = (u64, u64, u64, Batches);

impl NativeEvents {
    fn events(&self) -> Result<EventStore> {
        Ok(EventStore::new(self.store.get().lend_store()?))
    }

    /// Runs `work` on a query. Ctrl-C ends it.
    fn ask<T: Send + 'static>(
        &self,
        py: Python<'_>,
        question: Question,
        work: impl FnOnce(&EventStore, Asked) -> Result<T> + Send + 'static,
    ) -> PyResult<T> {
        let asked = question.into_asked(self.store.get())?;
        let store = self.events().into_python()?;
        let interrupt: Interrupt = asked.interrupt.clone();
        run(py, || interrupt.set(), move || work(&store, asked))?.into_python()
    }
}

#[pymethods]
impl NativeEvents {
    /// The event types of a store.
    #[new]
    fn new(store: Py<NativeStore>) -> Self {
        Self { store }
    }

    /// The names of the types.
    fn types(&self, py: Python<'_>) -> PyResult<Vec<String>> {
        let types = py.detach(|| self.events()?.types()).into_python()?;
        Ok(types
            .into_iter()
            .map(|definition| definition.name)
            .collect())
    }

    /// The definition of a type as TOML.
    fn toml(&self, py: Python<'_>, name: &str) -> PyResult<String> {
        py.detach(|| self.events()?.get(name)?.to_toml())
            .into_python()
    }

    /// The fields of a type: name, type, whether indexed.
    fn fields(&self, py: Python<'_>, name: &str) -> PyResult<Vec<(String, &'static str, bool)>> {
        let definition = py.detach(|| self.events()?.get(name)).into_python()?;
        let fields = definition.fields.into_iter();
        Ok(fields
            .map(|field| (field.name, field.kind.as_str(), field.indexed))
            .collect())
    }

    /// The definition, as TOML, of the type whose events a file holds.
    fn infer(
        &self,
        py: Python<'_>,
        name: String,
        file: PathBuf,
        files: FilesArgument,
        more: TypeArgument,
        time: Option<String>,
    ) -> PyResult<String> {
        let infer = move || {
            let mut definition = files.open()?.infer(&name, &file, time.as_deref())?;
            more.apply(&mut definition)?;
            definition.to_toml()
        };
        run(py, || {}, infer)?.into_python()
    }

    /// Creates a type from a definition; its name may be another one.
    /// With `adopt`, the tables of the type are there, and its definition was lost.
    fn create(
        &self,
        py: Python<'_>,
        name: String,
        toml: &str,
        more: TypeArgument,
        adopt: bool,
    ) -> PyResult<()> {
        let create = || {
            let mut definition = EventType::from_toml(toml)?;
            definition.name = name;
            more.apply(&mut definition)?;
            let events = self.events()?;
            match adopt {
                true => events.adopt(&definition).map(drop),
                false => events.create(&definition).map(drop),
            }
        };
        py.detach(create).into_python()
    }

    /// Replaces the definition of a type.
    fn change(&self, py: Python<'_>, name: String, toml: &str) -> PyResult<()> {
        let change = || {
            let mut definition = EventType::from_toml(toml)?;
            definition.name = name;
            self.events()?.change(&definition).map(drop)
        };
        py.detach(change).into_python()
    }

    /// Deletes a type with its events.
    fn drop_type(&self, py: Python<'_>, name: &str) -> PyResult<()> {
        py.detach(|| self.events()?.drop_type(name)).into_python()
    }

    /// Ingests files.
    fn ingest(
        &self,
        py: Python<'_>,
        name: String,
        paths: Vec<PathBuf>,
        files: FilesArgument,
        batch_events: Option<usize>,
        rejects: Option<PathBuf>,
    ) -> PyResult<Report> {
        let store = self.events().into_python()?;
        let stopped = Arc::new(AtomicBool::new(false));
        let stop = stopped.clone();
        let wanted = Wanted {
            batch_events,
            rejects,
        };
        let work = move || {
            let files = files.open()?;
            ingest(&store, &name, (&files, paths), wanted, &stopped)
        };
        let done = run(py, || stop.store(true, Ordering::Relaxed), work)?.into_python()?;
        let Ingested {
            events,
            duplicates,
            repeated,
            entries,
            rejected,
            reasons,
            unlike,
        } = done;
        Ok((
            events, duplicates, repeated, entries, rejected, reasons, unlike,
        ))
    }

    /// The events of a query, newest first.
    fn query(&self, py: Python<'_>, question: Question) -> PyResult<NativeRows> {
        let asked = question.into_asked(self.store.get())?;
        let gate = self.store.get().gate().clone();
        let start = || EventReader::start(self.events()?, asked);
        let (reader, schema) = py.detach(start).into_python()?;
        Ok(NativeRows::new(Box::new(reader), schema, gate))
    }

    /// The events of a query, read as a whole, and the token with which another query goes on.
    fn page(&self, py: Python<'_>, question: Question) -> PyResult<(NativeRows, Option<String>)> {
        let gate = self.store.get().gate().clone();
        let mut read = self.ask(py, question, |store, asked| ReadEvents::read(store, &asked))?;
        let (schema, token) = (read.schema.clone(), read.token.take());
        Ok((NativeRows::new(Box::new(read), schema, gate), token))
    }

    /// The number of events of a query.
    fn count(&self, py: Python<'_>, question: Question, count_by: &str) -> PyResult<u64> {
        let path = count_path(count_by).into_python()?;
        self.ask(py, question, move |store, asked| {
            store.count(&asked.query, path)
        })
    }

    /// The span of each bin in microseconds, the span as text, and the bins that have events, by their start.
    fn histogram(
        &self,
        py: Python<'_>,
        question: Question,
        by: &str,
        count_by: &str,
    ) -> PyResult<Bins> {
        let path = count_path(count_by).into_python()?;
        let span = parse_span(by)
            .map_err(|error| error.with("argument", "by"))
            .into_python()?;
        let bins = self.ask(py, question, move |store, asked| {
            store.histogram(&asked.query, span, path)
        })?;
        Ok((span, show_span(span), bins.into_iter().collect()))
    }

    /// The most frequent values of a field.
    fn top<'py>(
        &self,
        py: Python<'py>,
        question: Question,
        field: String,
        limit: usize,
        count_by: &str,
    ) -> PyResult<Top<'py>> {
        let path = count_path(count_by).into_python()?;
        let top = self.ask(py, question, move |store, asked| {
            store.top(&asked.query, &field, limit, path)
        })?;
        let values = top.values.iter();
        let values = values.map(|(value, count)| (PyBytes::new(py, value), *count));
        Ok((values.collect(), top.distinct, top.events))
    }

    /// How a query is answered; with `analyze`, it is run.
    fn explain<'py>(
        &self,
        py: Python<'py>,
        question: Question,
        analyze: bool,
    ) -> PyResult<Bound<'py, PyDict>> {
        let (plan, actual) = self.ask(py, question, move |store, asked| {
            if !analyze {
                return Ok((store.explain(&asked.query)?, None));
            }
            let (plan, outcome) = store.analyze(&asked.query, |_| Ok(true))?;
            Ok((plan, Some(outcome)))
        })?;
        let described = described(py, &plan)?;
        if let Some(outcome) = actual {
            described.set_item("actual", actual_of(py, &outcome)?)?;
        }
        Ok(described)
    }

    /// Deletes the events of a query, with their index entries and counts.
    fn delete(&self, py: Python<'_>, question: Question) -> PyResult<u64> {
        self.ask(py, question, |store, asked| {
            let deleted = store.delete(&asked.query)?;
            match store.settle(&asked.query.event_type) {
                // A handle that is restricted to a reader's authorizations does not compact. The events are deleted
                // without that; compacting only drops their entries early.
                Err(error) if error.kind() == ErrorKind::PermissionDenied => {}
                outcome => outcome?,
            }
            Ok(deleted)
        })
    }

    /// Removes old events of all labels; returns the time from which on events are kept.
    fn age_off(&self, py: Python<'_>, name: String, before: Option<&str>) -> PyResult<i64> {
        let before = before.map(|text| moment("before", text)).transpose();
        let before = before.into_python()?;
        let store = self.store.get().lend_store().into_python()?;
        if !store.capabilities().has(Capability::Namespaces) {
            return Err(Error::new(
                ErrorKind::PermissionDenied,
                "old events are removed whatever their labels: use a store that was opened without `auths`",
            )
            .with("type", name))
            .into_python();
        }
        let store = EventStore::new(store);
        let work = move || store.age_off(&name, now(), before);
        run(py, || {}, work)?.into_python().map(|off| off.since)
    }

    /// Compares index and counts with the events that a reader sees; with `repair`, corrects them.
    fn check(
        &self,
        py: Python<'_>,
        question: Question,
        repair: bool,
    ) -> PyResult<(Checked, Option<Repaired>)> {
        let (check, repaired) = self.ask(py, question, move |store, asked| {
            let taken_in = match repair {
                true => store.recover(&asked.query.event_type)?,
                false => None,
            };
            let check = store.check(&asked.query)?;
            let repaired = match repair {
                true => Some((store.repair(&asked.query, &check)?, taken_in)),
                false => None,
            };
            Ok((check, repaired))
        })?;
        let wrong = check.disagreements.into_iter();
        let wrong = wrong.map(|one| (one.table, one.field, one.bin, one.expected, one.found));
        let checked = (
            check.events,
            check.index_entries,
            check.counts,
            wrong.collect(),
            check.unknown_batches,
        );
        let repaired = repaired
            .map(|(repair, taken_in)| (repair.added, repair.removed, repair.counts, taken_in));
        Ok((checked, repaired))
    }

    /// Measures when the index is faster: events scanned and fetched per second, and the threshold, which is kept.
    fn calibrate(&self, py: Python<'_>, question: Question) -> PyResult<(f64, f64, f64)> {
        let measured = self.ask(py, question, |store, asked| store.calibrate(&asked.query))?;
        Ok((
            measured.scanned_per_second,
            measured.fetched_per_second,
            measured.threshold,
        ))
    }
}

fn described<'py>(py: Python<'py>, plan: &Explanation) -> PyResult<Bound<'py, PyDict>> {
    let tests = plan.tests.iter();
    let tests: Vec<(&str, Option<u64>, bool)> = tests
        .map(|test| (test.test.as_str(), test.events, test.used))
        .collect();
    let dict = PyDict::new(py);
    dict.set_item("path", plan.path)?;
    dict.set_item("reason", &plan.reason)?;
    dict.set_item("from", &plan.times.0)?;
    dict.set_item("to", &plan.times.1)?;
    dict.set_item("events", plan.total)?;
    dict.set_item("estimate", plan.estimate)?;
    dict.set_item("threshold", plan.threshold)?;
    dict.set_item("tests", tests)?;
    dict.set_item("ranges", plan.ranges)?;
    dict.set_item("condition", &plan.condition)?;
    Ok(dict)
}

fn actual_of<'py>(py: Python<'py>, outcome: &Outcome) -> PyResult<Bound<'py, PyDict>> {
    let dict = PyDict::new(py);
    dict.set_item("events", outcome.events)?;
    dict.set_item("windows", outcome.windows)?;
    dict.set_item("looked_up", outcome.looked_up)?;
    dict.set_item("handled", outcome.handled)?;
    dict.set_item("sent", outcome.sent)?;
    dict.set_item("seconds", outcome.seconds)?;
    dict.set_item("first_seconds", outcome.first_seconds)?;
    Ok(dict)
}
