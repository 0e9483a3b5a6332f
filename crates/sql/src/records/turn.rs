//! Turns of the statements that change the records of one table.
//!
//! A record replaces the cells that its key has, so that they are read before it is written. If two statements did both
//! at once, each would miss the cells of the other, and a reader would find a record that neither has written. So a
//! statement has its turn for each batch. It need not wait until the batch is stored: the statement that has the next
//! turn does, if it is another one.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use ostrakon_cell::{BatchWriter, Error, Interrupt, Result, Table};
use parking_lot::{Mutex, MutexGuard};

/// By the ids of tables. Tables of two stores may have the same id, and take turns then without need.
static TABLES: LazyLock<Mutex<HashMap<String, Weak<Turns>>>> = LazyLock::new(Mutex::default);

/// Where the records of a statement are collected.
pub(super) struct Pending {
    pub(super) writer: BatchWriter,
    /// Whether it has written records that it does not see. What another statement writes later has to be newer.
    pub(super) has_unseen: bool,
    table: Arc<dyn Table>,
    /// Why what it wrote could not be stored, if another statement waited for that.
    failure: Option<Error>,
}

impl Pending {
    pub(super) fn new(table: Arc<dyn Table>, writer: BatchWriter) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self {
            writer,
            has_unseen: false,
            table,
            failure: None,
        }))
    }

    /// Stores what was written, and fails if that failed before.
    pub(super) fn flush(&mut self) -> Result<()> {
        match self.failure.take() {
            Some(error) => Err(error),
            None => self.writer.flush(),
        }
    }

    /// Stores what was written before another statement has its turn.
    fn pass_on(&mut self) {
        let stored = self.writer.flush();
        let later = match self.has_unseen {
            true => self.table.advance_time(),
            false => Ok(()),
        };
        if let Err(error) = stored.and(later) {
            self.failure.get_or_insert(error);
        }
    }
}

/// The turns of a table.
#[derive(Default)]
pub(super) struct Turns {
    /// The statement that had the last one.
    last: Mutex<Weak<Mutex<Pending>>>,
}

impl Turns {
    pub(super) fn of(table: &dyn Table) -> Arc<Self> {
        let mut tables = TABLES.lock();
        let id = table.id();
        if let Some(turns) = tables.get(&id).and_then(Weak::upgrade) {
            return turns;
        }
        tables.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Self::default());
        tables.insert(id, Arc::downgrade(&turns));
        turns
    }

    /// Waits for the turn of a statement, and until everything that others have written can be read. The turn ends when
    /// the result is dropped.
    ///
    /// # Errors
    /// The statement is interrupted while it waits, or what it wrote before could not be stored.
    pub(super) fn begin<'a>(
        &'a self,
        pending: &'a Arc<Mutex<Pending>>,
        interrupt: &Interrupt,
    ) -> Result<Turn<'a>> {
        let mut last = locked(&self.last, interrupt)?;
        if !std::ptr::eq(last.as_ptr(), Arc::as_ptr(pending)) {
            if let Some(other) = last.upgrade() {
                locked(&other, interrupt)?.pass_on();
            }
            *last = Arc::downgrade(pending);
        }
        let mut own = pending.lock();
        match own.failure.take() {
            Some(error) => Err(error),
            None => Ok(Turn {
                pending: own,
                _last: last,
            }),
        }
    }
}

/// Locks what another statement may hold while it passes over any number of cells.
fn locked<'a, T>(mutex: &'a Mutex<T>, interrupt: &Interrupt) -> Result<MutexGuard<'a, T>> {
    const CHECKED_EVERY: Duration = Duration::from_millis(20);
    loop {
        match mutex.try_lock_for(CHECKED_EVERY) {
            Some(locked) => return Ok(locked),
            None => interrupt.check()?,
        }
    }
}

/// The turn of a statement.
pub(super) struct Turn<'a> {
    pub(super) pending: MutexGuard<'a, Pending>,
    _last: MutexGuard<'a, Weak<Mutex<Pending>>>,
}

#[cfg(test)]
mod tests {
    use ostrakon_cell::{BatchWriterConfig, ErrorKind, Source, TableOptions};
    use ostrakon_store::Store;

    use super::*;

    #[test]
    fn a_statement_that_waits_for_its_turn_can_be_interrupted() {
        let source: Arc<dyn Source> = Store::in_memory().expect("a store");
        let options = TableOptions::default();
        source.create_table("t", &options).expect("a table");
        let table = source.table("t").expect("a table");
        let turns = Turns::of(&*table);
        let pending = || {
            let writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
            Pending::new(table.clone(), writer)
        };
        let (first, second) = (pending(), pending());
        let going_on = Interrupt::default();
        let turn = turns.begin(&first, &going_on).expect("a turn");
        let interrupt = Interrupt::default();
        interrupt.set();
        let waited = turns.begin(&second, &interrupt).map(|_| ());
        assert_eq!(
            waited.map_err(|error| error.kind()),
            Err(ErrorKind::Cancelled)
        );
        drop(turn);
        assert!(turns.begin(&second, &going_on).is_ok());
    }
}
