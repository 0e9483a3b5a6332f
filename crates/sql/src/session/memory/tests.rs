//! What operators get of the memory.

use super::*;

fn operator(pool: &Arc<dyn MemoryPool>, name: &str, spills: bool) -> MemoryReservation {
    let consumer = MemoryConsumer::new(name).with_can_spill(spills);
    consumer.register(pool)
}

/// How much more it gets, in steps of one.
fn more(operator: &MemoryReservation) -> usize {
    (0..).take_while(|_| operator.try_grow(1).is_ok()).count()
}

#[test]
fn operators_that_cannot_spill_have_room_beside_those_that_can() {
    // Without those of exchanges, 1600.
    let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(1828, 2));
    let groups = ["a", "b"].map(|name| operator(&pool, name, true));
    // Two share three quarters.
    assert_eq!(groups.each_ref().map(more), [600, 600]);
    let join = operator(&pool, "join", false);
    assert_eq!(more(&join), 400);
    let error = join.try_grow(1).unwrap_err().to_string();
    assert!(error.contains("join needs 1 more bytes; 0 of"), "{error}");
    // It may have more, and they less then.
    let [first, second] = groups;
    second.shrink(600);
    assert_eq!(more(&join), 600);
    assert_eq!(more(&second), 0);
    drop(first);
    assert_eq!(more(&second), 600);
    let exchanges = [0, 1].map(|at| operator(&pool, &format!("RepartitionExec[{at}]"), true));
    assert_eq!(exchanges.each_ref().map(more), [228, 0]);
    assert_eq!(pool.reserved(), 1828);
    drop((second, join, exchanges));
    assert_eq!(pool.reserved(), 0);
    // The merge of sorted parts in an exchange cannot spill.
    assert_eq!(
        more(&operator(&pool, "RepartitionExec[Merge 0]", false)),
        1600
    );
}

#[test]
fn windows_have_room_beside_all_others() {
    let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(1828, 2));
    let window = operator(&pool, WINDOW, false);
    let groups = operator(&pool, "a", true);
    let join = operator(&pool, "join", false);
    assert_eq!([more(&groups), more(&join)], [1200, 200]);
    assert_eq!(more(&window), 200);
    // They take more if it is there, and leave the rest to others when they have ended.
    groups.shrink(300);
    assert_eq!([more(&window), more(&groups)], [300, 0]);
    drop(window);
    assert_eq!(more(&join), 500);
}

#[test]
fn aggregations_before_an_exchange_leave_the_memory_to_those_after_it() {
    let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(18_285, 2));
    let parts = |name: &str| {
        let name = |at| format!("{name}HashAggregateStream[{at}]");
        [0, 1].map(|at| operator(&pool, &name(at), true))
    };
    let (before, after) = (parts("Partial"), parts("Final"));
    assert_eq!(before.each_ref().map(more), [1000, 1000]);
    // Three quarters, as if there were no others.
    assert_eq!(after.each_ref().map(more), [6000, 6000]);
    assert_eq!(more(&operator(&pool, "join", false)), 2000);
}

#[test]
fn any_number_of_bytes_is_a_limit() {
    for limit in [0, 1, usize::MAX] {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(limit, 2));
        for name in [
            "ExternalSorter[0]",
            "ExternalSorterMerge[0]",
            "join",
            "RepartitionExec[0]",
        ] {
            let fits = operator(&pool, name, name != "join").try_grow(1000).is_ok();
            assert_eq!(fits, limit == usize::MAX, "{name} {limit}");
        }
    }
}

#[test]
fn sorts_leave_room_to_merge_all_that_they_hold() {
    for threads in 1..9 {
        let pool: Arc<dyn MemoryPool> = Arc::new(QueryMemory::new(16_000, threads));
        let part = |name: &str, spills| {
            let parts = 0..threads;
            let parts = parts.map(|at| operator(&pool, &format!("{name}[{at}]"), spills));
            parts.collect::<Vec<_>>()
        };
        let (sorts, merges) = (
            part("ExternalSorter", true),
            part("ExternalSorterMerge", false),
        );
        let sorted: Vec<usize> = sorts.iter().map(more).collect();
        let merged: Vec<usize> = merges.iter().map(more).collect();
        for (sorted, merged) in sorted.iter().zip(&merged) {
            assert!(*sorted > 0 && merged >= sorted, "{sorted} {merged}");
        }
        assert!(more(&operator(&pool, "last", false)) > 500);
    }
}
