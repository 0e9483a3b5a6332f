//! Turns of the statements that change the records of one table.
//!
//! A record replaces the cells that its key has, so that they are read before it is written. If two statements did both
//! at once, each would miss the cells of the other, and a reader would find a record that neither has written. So a
//! statement has its turn for each batch. It need not wait until the batch is stored: the statement that has the next
//! turn does, if it is another one.
//!
//! UPDATE and DELETE choose records by what these contain. They reserve the table before they read it: no other statement
//! has a turn until they are done, so that no record changes between its reading and its change. Statements wait for that
//! without a thread, in the order in which they came: whoever has the table needs threads to read and write it.

use std::collections::HashMap;
use std::sync::{Arc, LazyLock, Weak};
use std::time::Duration;

use ostrakon_cell::{BatchWriter, Error, Interrupt, Result, Table};
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::{OwnedRwLockReadGuard, OwnedRwLockWriteGuard, RwLock};

/// By the process and the ids of tables. Tables of two stores may have the same id, and take turns then without need. A
/// process that was forked has turns of its own: nobody would end those that its parent had at that time.
static TABLES: LazyLock<Mutex<Tables>> = LazyLock::new(Mutex::default);

type Tables = HashMap<(u32, String), Weak<Turns>>;

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
    /// Written to by the statement that has reserved the table, and read by those that have a turn.
    table: Arc<RwLock<()>>,
}

/// A table that is reserved for a statement.
pub(crate) struct Reserved {
    _table: OwnedRwLockWriteGuard<()>,
}

/// A table that nobody has reserved.
pub(crate) struct Shared {
    _table: OwnedRwLockReadGuard<()>,
}

impl Turns {
    pub(super) fn of(table: &dyn Table) -> Arc<Self> {
        let mut tables = TABLES.lock();
        let id = (std::process::id(), table.id());
        if let Some(turns) = tables.get(&id).and_then(Weak::upgrade) {
            return turns;
        }
        tables.retain(|_, turns| turns.strong_count() > 0);
        let turns = Arc::new(Self::default());
        tables.insert(id, Arc::downgrade(&turns));
        turns
    }

    /// Waits until the table can be reserved for a statement, and reserves it.
    pub(super) fn reserve(&self) -> impl Future<Output = Reserved> + Send + use<> {
        let table = Arc::clone(&self.table);
        async move {
            Reserved {
                _table: table.write_owned().await,
            }
        }
    }

    /// Waits until no statement has reserved the table.
    pub(super) fn share(&self) -> impl Future<Output = Shared> + Send + use<> {
        let table = Arc::clone(&self.table);
        async move {
            Shared {
                _table: table.read_owned().await,
            }
        }
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

    /// A table, and what two statements have written to it.
    fn two_statements() -> (Arc<Turns>, [Arc<Mutex<Pending>>; 2]) {
        let source: Arc<dyn Source> = Store::in_memory().expect("a store");
        let options = TableOptions::default();
        source.create_table("t", &options).expect("a table");
        let table = source.table("t").expect("a table");
        let pending = || {
            let writer = BatchWriter::new(table.clone(), BatchWriterConfig::default());
            Pending::new(table.clone(), writer)
        };
        (Turns::of(&*table), [pending(), pending()])
    }

    #[test]
    fn a_statement_that_waits_for_its_turn_can_be_interrupted() {
        let (turns, [first, second]) = two_statements();
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

    #[tokio::test]
    async fn a_reserved_table_is_free_once_its_statement_is_dropped() {
        use futures_util::FutureExt;
        let (turns, _) = two_statements();
        let reserved = turns.reserve().await;
        assert!(turns.share().now_or_never().is_none());
        assert!(turns.reserve().now_or_never().is_none());
        drop(reserved);
        let (one, other) = (turns.share().await, turns.share().await);
        assert!(turns.reserve().now_or_never().is_none());
        drop((one, other));
        assert!(turns.reserve().now_or_never().is_some());
    }
}
