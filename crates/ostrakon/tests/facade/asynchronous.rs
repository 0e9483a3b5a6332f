//! Writes as futures and scans as streams.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use futures_util::future::try_join_all;
use futures_util::{FutureExt as _, StreamExt as _, TryStreamExt as _};
use ostrakon::cell::Interrupt;
use ostrakon::{Condition, ErrorKind, Mutation, Store, Table, unblock};

fn run<T>(work: impl Future<Output = T>) -> T {
    let runtime = tokio::runtime::Builder::new_current_thread()
        .build()
        .unwrap();
    runtime.block_on(work)
}

fn table_of(rows: usize) -> Table {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    let mut writer = table.batch_writer();
    for row in 0..rows {
        writer.put(format!("{row:08}"), ("f", "q"), "v").unwrap();
    }
    writer.close().unwrap();
    table
}

#[test]
fn commits_that_are_awaited_together_are_all_written_and_survive() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("s");
    let store = Store::open(&path).unwrap();
    let table = store.create_table("t").unwrap();
    run(async {
        let writes =
            (0..2000).map(|n| table.put(format!("{n:04}"), ("f", "q"), "v").commit_async());
        try_join_all(writes).await.unwrap();
    });
    drop(table);
    store.close().unwrap();
    let table = Store::open(&path).unwrap().table("t").unwrap();
    assert_eq!(table.scan().count().unwrap(), 2000);
}

#[test]
fn a_commit_that_is_dropped_before_it_is_polled_writes_nothing() {
    let table = table_of(0);
    drop(table.put("a", ("f", "q"), "v").commit_async());
    drop(table.write_async(Mutation::new("b").put(("f", "q"), "v")));
    assert_eq!(table.scan().count().unwrap(), 0);
    run(table.write_async(Mutation::new("b").put(("f", "q"), "v"))).unwrap();
    run(table.write_async(Mutation::new("c"))).unwrap();
    assert_eq!(table.scan().count().unwrap(), 1);
}

#[test]
fn errors_reach_the_task_that_awaits() {
    let table = table_of(0);
    let malformed = table.put("a", ("f", "q"), "v").label("a&").commit_async();
    let error = run(malformed).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidArgument);
    let scan = table.scan().auths([""]).stream();
    let seen: Vec<_> = run(scan.collect());
    assert_eq!(seen.len(), 1, "the error, and the end");
    assert!(seen[0].is_err());
}

#[test]
fn a_condition_is_checked_and_written_in_one_step() {
    let table = table_of(0);
    let column = ("lock", "holder");
    let taken = run(async {
        let attempts = (0..20).map(|n| {
            table
                .put("job", column, format!("worker-{n}"))
                .only_if(Condition::absent(column))
                .commit_async()
        });
        try_join_all(attempts).await.unwrap()
    });
    assert_eq!(taken.into_iter().filter(|taken| *taken).count(), 1);
}

#[test]
fn a_stream_has_what_a_scan_has() {
    let table = table_of(5000);
    let scan = table.scan().rows("00000100"..).limit(3000);
    let expected = scan.clone().collect().unwrap();
    let streamed: Vec<_> = run(scan.clone().stream().try_collect()).unwrap();
    assert_eq!(streamed, expected);
    let batches: Vec<_> = run(scan.stream_batches().try_collect()).unwrap();
    assert!(batches.len() > 1);
    let entries: usize = batches.iter().map(ostrakon::Batch::len).sum();
    assert_eq!(entries, expected.len());
}

#[test]
fn a_stream_that_panicked_has_ended() {
    let table = table_of(10);
    let mut batches = table.scan().filter(|_| panic!("expected")).stream_batches();
    let first = run(std::panic::AssertUnwindSafe(batches.next()).catch_unwind());
    // A panic of an iterator may be an error of the scan instead.
    assert!(!matches!(first, Ok(Some(Ok(_)) | None)));
    assert!(run(batches.next()).is_none());
}

#[test]
fn a_stream_reads_one_batch_ahead() {
    let table = table_of(20_000);
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    let scan = table.scan().options(|options| options.batch.entries = 500);
    let mut batches = scan
        .filter(move |_| {
            counted.fetch_add(1, Ordering::SeqCst);
            true
        })
        .stream_batches();
    assert_eq!(read.load(Ordering::SeqCst), 0, "not started");
    assert_eq!(run(batches.next()).unwrap().unwrap().len(), 500);
    let begun = Instant::now();
    while read.load(Ordering::SeqCst) < 1000 {
        assert!(
            begun.elapsed() < Duration::from_secs(60),
            "nothing is read ahead"
        );
        std::thread::yield_now();
    }
    std::thread::sleep(Duration::from_millis(100));
    assert_eq!(read.load(Ordering::SeqCst), 1000, "one batch, and no more");
    assert_eq!(run(batches.next()).unwrap().unwrap().len(), 500);
}

#[test]
fn a_stream_that_is_dropped_ends_its_scan() {
    let table = table_of(20_000);
    let read = Arc::new(AtomicUsize::new(0));
    let counted = read.clone();
    // Finds no entry, so that one batch takes the whole table: ten seconds.
    let scan = table.scan().filter(move |_| {
        counted.fetch_add(1, Ordering::SeqCst);
        std::thread::sleep(Duration::from_micros(500));
        false
    });
    let mut stream = scan.stream();
    assert!(stream.next().now_or_never().is_none());
    let begun = Instant::now();
    while read.load(Ordering::SeqCst) == 0 {
        assert!(begun.elapsed() < Duration::from_secs(60), "never started");
        std::thread::yield_now();
    }
    drop(stream);
    let weak = read;
    while Arc::strong_count(&weak) > 1 {
        assert!(begun.elapsed() < Duration::from_secs(60), "never ended");
        std::thread::sleep(Duration::from_millis(5));
    }
    let seen = weak.load(Ordering::SeqCst);
    assert!(seen < 20_000, "the scan ran to its end");
}

#[test]
fn a_stream_obeys_the_interrupt_of_its_scan() {
    let table = table_of(5000);
    let stop = Interrupt::default();
    let given = stop.clone();
    let mut stream = table
        .scan()
        .options(|options| options.interrupt = Some(given))
        .stream_batches();
    run(stream.next()).unwrap().unwrap();
    stop.set();
    let rest: Vec<_> = run(stream.collect());
    let error = rest.into_iter().find_map(Result::err).expect("interrupted");
    assert_eq!(error.kind(), ErrorKind::Cancelled);
}

#[test]
fn futures_and_streams_can_move_between_threads() {
    fn moves<T: Send + 'static>(value: T) -> T {
        value
    }
    let table = table_of(10);
    let runtime = tokio::runtime::Builder::new_multi_thread()
        .worker_threads(2)
        .build()
        .unwrap();
    let count = runtime.block_on(async {
        let write = moves(table.put("x", ("f", "q"), "v").commit_async());
        runtime.spawn(write).await.unwrap().unwrap();
        let stream = moves(table.scan().stream());
        let counted = runtime.spawn(stream.try_fold(0, |count, _| async move { Ok(count + 1) }));
        counted.await.unwrap().unwrap()
    });
    assert_eq!(count, 11);
    assert_eq!(run(unblock(move || table.scan().count())).unwrap(), 11);
}
