//! An import of records: batch after batch is written to files, and all of them become part of the
//! tables at the end.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, ScopedJoinHandle};
use std::time::{SystemTime, UNIX_EPOCH};

use ostrakon_cell::{Error, ErrorKind, Result, Table};
use parking_lot::Mutex;
use pyo3::prelude::*;

use super::argument::{Records, RecordsArgument};
use super::write::{Shared, Written, degrees, fields, main, texts, transpose};
use crate::errors::IntoPython;
use crate::signals::run;
use crate::tables::arguments::Text;
use crate::tables::gate::Gate;
use crate::tables::table::NativeTable;

/// The tables, in the order in which they are published: a search that finds no degree ends, and a
/// degree that is too high does not change what a search finds.
#[derive(Clone)]
struct Tables {
    degrees: Arc<dyn Table>,
    fields: Arc<dyn Table>,
    main: Arc<dyn Table>,
    transpose: Arc<dyn Table>,
    texts: Arc<dyn Table>,
}

/// Files that wait to be published; `None` after the end.
type Waiting = Arc<Mutex<Option<Vec<Written>>>>;

/// An import, used by `ostrakon.d4m.Records.ingest`. What was not published when it is dropped is
/// deleted.
#[pyclass(frozen, module = "ostrakon._native")]
pub(crate) struct NativeRecordImport {
    tables: Tables,
    family: Vec<u8>,
    waiting: Waiting,
    gate: Gate,
}

#[pymethods]
impl NativeRecordImport {
    #[new]
    fn new(
        main: &NativeTable,
        transpose: &NativeTable,
        degrees: &NativeTable,
        fields: &NativeTable,
        texts: &NativeTable,
        family: Text,
    ) -> PyResult<Self> {
        let open = |table: &NativeTable| table.open_table().cloned();
        let tables = || {
            Ok(Tables {
                degrees: open(degrees)?,
                fields: open(fields)?,
                main: open(main)?,
                transpose: open(transpose)?,
                texts: open(texts)?,
            })
        };
        Ok(Self {
            tables: tables().into_python()?,
            family: family.into_bytes(),
            waiting: Arc::new(Mutex::new(Some(Vec::new()))),
            gate: main.gate(),
        })
    }

    /// Writes a batch to files; returns the number of entries.
    fn add(&self, py: Python<'_>, records: RecordsArgument<'_>) -> PyResult<u64> {
        self.gate.check().into_python()?;
        let records = records.read()?.into_python()?;
        let (tables, family) = (self.tables.clone(), self.family.clone());
        let stop = Arc::new(AtomicBool::new(false));
        let stopped = stop.clone();
        let made = run(
            py,
            || stop.store(true, Ordering::Relaxed),
            move || write(&tables, &records, &family, &stopped),
        )?
        .into_python()?;
        let entries = made.iter().map(|(_, entries)| entries).sum();
        match self.waiting.lock().as_mut() {
            Some(waiting) => waiting.extend(made),
            None => return Err(ended()).into_python(),
        }
        Ok(entries)
    }

    /// Makes everything added so far part of the tables.
    fn publish(&self, py: Python<'_>) -> PyResult<()> {
        self.gate.check().into_python()?;
        let Some(files) = self.waiting.lock().replace(Vec::new()) else {
            return Err(ended()).into_python();
        };
        let publish = move || -> Result<()> {
            for (file, _) in files {
                file.finish()?;
            }
            Ok(())
        };
        run(py, || {}, publish)?.into_python()
    }

    /// Deletes what was not published, and ends the import.
    fn close(&self, py: Python<'_>) {
        let files = self.waiting.lock().take();
        py.detach(|| drop(files));
    }
}

fn ended() -> Error {
    Error::new(ErrorKind::Closed, "the import has ended")
}

fn write(
    tables: &Tables,
    records: &Records,
    family: &[u8],
    stopped: &AtomicBool,
) -> Result<Vec<Written>> {
    let now = SystemTime::now().duration_since(UNIX_EPOCH);
    let shared = Shared {
        family,
        timestamp: now.map_or(0, |since| since.as_millis() as i64),
        stopped,
    };
    thread::scope(|scope| {
        let main = scope.spawn(|| main(&*tables.main, records, &shared));
        let texts = scope.spawn(|| texts(&*tables.texts, records, &shared));
        let transpose = transpose(&*tables.transpose, records, &shared);
        let degrees = degrees(&*tables.degrees, records, &shared);
        let fields = fields(&*tables.fields, records, &shared);
        let (main, texts) = (joined(main), joined(texts));
        let mut files = vec![degrees?, fields?, main?, transpose?];
        files.extend(texts?);
        Ok(files)
    })
}

fn joined<T>(thread: ScopedJoinHandle<'_, T>) -> T {
    match thread.join() {
        Ok(made) => made,
        Err(panic) => std::panic::resume_unwind(panic),
    }
}
