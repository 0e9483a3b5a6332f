//! A caller whose time is over stops waiting for flushes and compactions; the work goes on.

use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{CallContext, ErrorKind, Result, Table};
use ostrakon_store::clock::ManualClock;

use super::compacting::{ENDLESS, Rig, all, open, table, wait_for_the_end, write};

/// A rig, and the clock of its store.
struct Timed {
    rig: Rig,
    clock: Arc<ManualClock>,
}

impl Timed {
    fn new() -> Self {
        let clock = Arc::new(ManualClock::new(1_000_000));
        let rig = Rig::of(|mut components| {
            components.clock = clock.clone();
            let store = open(&components);
            let table = table(&store);
            write(&table, 0..100, Some("value"));
            (store, table)
        });
        Self { rig, clock }
    }

    /// Flushes of the table run the iterator that does not end.
    fn with_slow_flushes() -> Self {
        let timed = Self::new();
        let changes = [
            ("table.iterator.minc.endless", format!("30,{ENDLESS}")),
            ("table.iterator.minc.endless.opt.readsOn", "true".to_owned()),
        ];
        let changes = changes.map(|(name, value)| (name.to_owned(), Some(value)));
        timed.rig.table.modify_properties(&changes).unwrap();
        timed
    }

    /// What `call` says on a handle of which the time ends while its iterators run.
    fn late(&self, call: impl FnOnce(&dyn Table) -> Result<()> + Send) -> Result<()> {
        let context = CallContext {
            timeout: Some(Duration::from_secs(60)),
            trace: Some("work-7".to_owned()),
            ..CallContext::default()
        };
        let handle = self.rig.table.within(&context).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || call(&*handle));
            self.rig.wait_until_started();
            self.clock.advance(Duration::from_secs(61));
            waiting.join().unwrap()
        })
    }
}

/// The call says that its time is over, whose work it was, and of which table.
fn expect_late(outcome: Result<()>) {
    let error = outcome.unwrap_err();
    assert_eq!(error.kind(), ErrorKind::TimedOut, "{error:?}");
    let names = |name: &str, value: &str| {
        let mut context = error.context().iter();
        context.any(|(known, held)| *known == name && held == value)
    };
    assert!(names("trace", "work-7") && names("table", "t"), "{error:?}");
}

#[test]
fn a_compaction_goes_on_without_its_caller() {
    let readers_on = Timed::new();
    let readers_on = Timed {
        rig: readers_on.rig.reads_on(),
        ..readers_on
    };
    for timed in [Timed::new(), readers_on] {
        let rig = &timed.rig;
        expect_late(timed.late(|table| table.compact(rig.options())));
        assert_eq!(rig.store.metrics().compactions, 0);
        rig.let_go();
        // Another one waits for the tablets that the first one has.
        rig.table.compact(rig.options()).unwrap();
        wait_for_the_end(rig);
        assert!(rig.store.metrics().compactions > 0);
        assert_eq!(all(&rig.table).len(), 100);
    }
}

#[test]
fn repeated_calls_start_one_compaction() {
    let timed = Timed::new();
    let rig = &timed.rig;
    expect_late(timed.late(|table| table.compact(rig.options())));
    for _ in 0..4 {
        let context = CallContext {
            timeout: Some(Duration::from_secs(60)),
            ..CallContext::default()
        };
        let handle = rig.table.within(&context).unwrap();
        std::thread::scope(|scope| {
            let waiting = scope.spawn(move || handle.compact(rig.options()));
            // Long enough to start another one, if that were possible.
            std::thread::sleep(Duration::from_millis(50));
            timed.clock.advance(Duration::from_secs(61));
            let error = waiting.join().unwrap().unwrap_err();
            assert_eq!(error.kind(), ErrorKind::TimedOut, "{error:?}");
        });
    }
    rig.let_go();
    wait_for_the_end(rig);
    assert_eq!(rig.store.metrics().compactions, 1);
    assert_eq!(all(&rig.table).len(), 100);
}

#[test]
fn a_flush_goes_on_without_its_caller() {
    let timed = Timed::with_slow_flushes();
    let rig = &timed.rig;
    expect_late(timed.late(|table| table.flush(true)));
    assert_eq!(rig.store.metrics().flushes, 0);
    rig.let_go();
    rig.table.flush(true).unwrap();
    assert_eq!(rig.store.metrics().flushes, 1, "the one that went on");
    assert_eq!(all(&rig.table).len(), 100);
}

#[test]
fn closing_ends_what_went_on() {
    let timed = Timed::new();
    let rig = &timed.rig;
    expect_late(timed.late(|table| table.compact(rig.options())));
    rig.store.close().unwrap();
    assert_eq!(rig.store.metrics().compactions_running, 0);
    let error = rig.table.compact(rig.options()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::Closed);
}
