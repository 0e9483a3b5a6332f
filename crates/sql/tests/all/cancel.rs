//! Rows that are dropped end their query.

use std::sync::Arc;
use std::time::{Duration, Instant};

use ostrakon_cell::{
    Batch, BatchLimit, BoxedIterator, ColumnSelection, IteratorClass, IteratorEnvironment,
    IteratorOptions, Range, Result, SortedKeyValueIterator, Source,
};
use ostrakon_sql::{SqlStatement, Step, parse_statements};
use ostrakon_store::{Components, Store, StoreOptions};

use super::kit::{rows, session, store};

#[test]
fn a_statement_can_be_left_while_it_is_planned() {
    let source = store();
    let session = session(&source);
    // The optimizer takes more than a second for this many relations.
    let mut text = "SELECT count(*) FROM (VALUES (1)) t0(k)".to_owned();
    for n in 1..150 {
        text += &format!(" JOIN (VALUES (1)) t{n}(k) ON t{n}.k = t{}.k", n - 1);
    }
    let statement = only(&text);
    let mut start = session.start(statement.clone()).unwrap();
    assert!(start.within(Duration::from_millis(1)).unwrap().is_none());
    drop(start);
    assert_eq!(rows(&session, "SELECT 7"), ["7"]);
    let mut start = session.start(only("SELECT 8")).unwrap();
    let answer = loop {
        if let Some(answer) = start.within(Duration::from_millis(10)).unwrap() {
            break answer;
        }
    };
    assert_eq!(
        answer.map(|batch| batch.unwrap().num_rows()).sum::<usize>(),
        1
    );
    let failed = session.execute_blocking(only("SELECT nothing FROM nowhere"));
    assert!(failed.is_err());
}

fn only(text: &str) -> SqlStatement {
    parse_statements(text).unwrap().pop().unwrap()
}

#[test]
fn dropped_rows_end_their_query() {
    let source = store();
    let session = session(&source);
    rows(&session, "CREATE TABLE n (k BIGINT, PRIMARY KEY (k))");
    rows(
        &session,
        "INSERT INTO n SELECT value FROM generate_series(1, 30000)",
    );
    // Three tables joined on nothing are years of work. If it went on, the two threads of the session would not be free
    // for what follows.
    for _ in 0..3 {
        let query =
            "SELECT count(*) FROM n a CROSS JOIN n b CROSS JOIN n c WHERE a.k + b.k + c.k = 1";
        let mut running = session.query_blocking(query).unwrap();
        let step = running.next_within(Duration::from_millis(20)).unwrap();
        assert!(matches!(step, Step::Waiting));
    }
    for _ in 0..3 {
        let mut some = session.query_blocking("SELECT k FROM n").unwrap();
        assert!(some.next().unwrap().unwrap().num_rows() > 0);
    }
    assert_eq!(
        rows(&session, "SELECT count(*), max(k) FROM n"),
        ["30000|30000"]
    );
}

/// Reads on without end, as over cells that the reader does not see, until its source says to stop.
struct Endless(BoxedIterator, Arc<()>);

impl SortedKeyValueIterator for Endless {
    fn seek(&mut self, range: &Range, columns: &ColumnSelection) -> Result<()> {
        self.0.seek(range, columns)
    }

    fn next_batch(&mut self, _: &mut Batch, _: BatchLimit) -> Result<bool> {
        std::thread::sleep(Duration::from_millis(1));
        Ok(true)
    }

    fn deep_copy(&self) -> BoxedIterator {
        Box::new(Self(self.0.deep_copy(), self.1.clone()))
    }
}

/// The iterators hold what the class holds, so that they can be counted.
struct EndlessClass(Arc<()>);

impl IteratorClass for EndlessClass {
    fn names(&self) -> &[&str] {
        &["test.Endless"]
    }

    fn describe(&self) -> &'static str {
        "Returns nothing, without end."
    }

    fn validate(&self, _: &IteratorOptions) -> Result<()> {
        Ok(())
    }

    fn init(
        &self,
        source: BoxedIterator,
        _: &IteratorOptions,
        _: &IteratorEnvironment,
    ) -> Result<BoxedIterator> {
        Ok(Box::new(Endless(source, self.0.clone())))
    }
}

#[test]
fn a_change_that_is_left_ends_its_search_for_present_cells() {
    let held = Arc::new(());
    let mut components = Components::default();
    let class = Arc::new(EndlessClass(held.clone()));
    components.iterators.register(class);
    let running = || Arc::strong_count(&held) - 2;
    let dir = tempfile::tempdir().unwrap();
    let options = StoreOptions {
        background: false,
        ..StoreOptions::default()
    };
    let source: Arc<dyn Source> = Store::open_with(components, dir.path(), options).unwrap();
    let session = session(&source);
    rows(&session, "CREATE TABLE n (k BIGINT, PRIMARY KEY (k))");
    rows(&session, "INSERT INTO n VALUES (1)");
    let endless = Some("50,test.Endless".to_owned());
    let changes = [("table.iterator.scan.endless".to_owned(), endless)];
    let table = source.table("n").unwrap();
    table.modify_properties(&changes).unwrap();
    let mut change = session
        .query_blocking("INSERT INTO n VALUES (1), (2)")
        .unwrap();
    let wait_until = |many: usize| {
        let begun = Instant::now();
        while running() != many {
            let waited = begun.elapsed();
            assert!(
                waited < Duration::from_mins(1),
                "{} run, not {many}",
                running()
            );
            std::thread::sleep(Duration::from_millis(5));
        }
    };
    let step = change.next_within(Duration::from_millis(20)).unwrap();
    assert!(matches!(step, Step::Waiting));
    wait_until(1);
    drop(change);
    wait_until(0);
}
