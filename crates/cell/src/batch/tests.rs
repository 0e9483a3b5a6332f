use super::*;
use crate::Key;

fn labelled(row: &str, label: &str) -> Key {
    Key {
        visibility: label.into(),
        ..Key::new(row, "f", "q")
    }
}

#[test]
fn pushed_entries_read_back() {
    let mut batch = Batch::new();
    for at in 0..100_u32 {
        let key = labelled(&format!("row{:03}", at / 3), &format!("label{}", at % 7));
        batch.push(key.as_ref(), &at.to_le_bytes()).expect("fits");
    }
    assert_eq!(batch.len(), 100);
    assert_eq!(
        batch.visibility_count(),
        8,
        "seven labels and the empty one"
    );
    for at in 0..100_u32 {
        let key = labelled(&format!("row{:03}", at / 3), &format!("label{}", at % 7));
        assert_eq!(batch.key(at as usize), key.as_ref());
        assert_eq!(batch.value(at as usize), at.to_le_bytes());
    }
    assert_eq!(
        batch.slots()[1].row,
        batch.slots()[0].row,
        "equal rows share their bytes"
    );
}

#[test]
fn copying_between_batches_translates_labels() {
    let mut from = Batch::new();
    for at in 0..40 {
        from.push(labelled("r", &format!("l{at:02}")).as_ref(), b"v")
            .expect("fits");
    }
    let mut to = Batch::new();
    to.push(labelled("q", "other").as_ref(), b"w")
        .expect("fits");
    let mut labels = LabelMap::default();
    for at in (0..40).rev() {
        to.push_from(&from, at, &mut labels).expect("fits");
        to.push_from(&from, at, &mut labels).expect("fits");
    }
    assert_eq!(to.visibility_count(), 42);
    for at in 0..80 {
        assert_eq!(to.key(at + 1), from.key(39 - at / 2));
    }
}

#[test]
fn retaining_keeps_order_and_earlier_entries() {
    let mut batch = Batch::new();
    for at in 0..10 {
        batch
            .push(Key::new(format!("{at}"), "", "").as_ref(), b"")
            .expect("fits");
    }
    batch.retain_from(4, |batch, at| batch.row(at)[0] % 2 == 0);
    let rows: Vec<&[u8]> = (0..batch.len()).map(|at| batch.row(at)).collect();
    assert_eq!(rows, [b"0", b"1", b"2", b"3", b"4", b"6", b"8"]);
}

/// Entries of 100 bytes each, with one of four labels.
fn filled(entries: usize) -> Batch {
    let mut batch = Batch::new();
    for at in 0..entries {
        let key = labelled(&format!("{at:05}"), ["", "A", "B", "C"][at % 4]);
        batch.push(key.as_ref(), &[b'v'; 93]).expect("fits");
    }
    batch
}

#[test]
fn an_empty_batch_is_never_full() {
    let limit = BatchLimit {
        entries: 10,
        bytes: 1000,
    };
    let mut batch = filled(50);
    assert!(batch.is_full(limit));
    batch.retain_from(0, |_, _| false);
    assert!(!batch.is_full(limit) && batch.is_empty());
    let mut batch = filled(50);
    batch.truncate(0);
    assert!(!batch.is_full(limit));
    let mut batch = filled(50);
    batch.drain_front(50);
    assert!(!batch.is_full(limit));
}

#[test]
fn content_counts_present_entries() {
    let expected = |batch: &Batch| -> usize {
        let entries = batch.iter();
        entries
            .map(|entry| entry.key.byte_len() + entry.value.len())
            .sum()
    };
    let mut batch = filled(100);
    assert_eq!(batch.content_len(), expected(&batch));
    batch.retain_from(3, |_, at| at % 3 == 0);
    assert_eq!(batch.content_len(), expected(&batch));
    batch.drain_front(4);
    batch.truncate(20);
    batch.set_value(3, b"short").expect("fits");
    batch.set_value(4, &[b'l'; 500]).expect("fits");
    assert_eq!(batch.content_len(), expected(&batch));
    let copy = batch.clone();
    batch.extend_slots(&copy.slots()[..5]);
    assert_eq!(batch.content_len(), expected(&batch));
    batch.clear();
    assert_eq!(batch.content_len(), 0);
}

#[test]
fn bytes_of_dropped_entries_are_freed() {
    let mut batch = Batch::new();
    batch
        .push(labelled("first", "L").as_ref(), b"kept")
        .expect("fits");
    for at in 0..100_000 {
        let label = format!("label{at}");
        let key = labelled(&format!("row{at}"), &label);
        batch.push(key.as_ref(), &[b'v'; 100]).expect("fits");
        batch.retain_from(1, |_, _| false);
    }
    assert!(batch.byte_len() < 100 << 10, "{}", batch.byte_len());
    assert!(batch.memory() < 300 << 10, "{}", batch.memory());
    for _ in 0..100_000 {
        batch.set_value(0, &[b'w'; 50]).expect("fits");
    }
    assert!(batch.byte_len() < 100 << 10, "{}", batch.byte_len());
    assert_eq!(batch.key(0), labelled("first", "L").as_ref());
    assert_eq!(batch.value(0), [b'w'; 50]);
}

#[test]
fn retain_since_leaves_no_trace_of_dropped_entries() {
    for before in [0, 1, 7] {
        for (way, secret) in [(0, "A"), (1, "B"), (2, "none")] {
            let mut batch = filled(before);
            let mark = batch.mark();
            let all = filled(40);
            let mut labels = LabelMap::default();
            for at in 0..40 {
                batch.push_from(&all, at, &mut labels).expect("fits");
            }
            if way == 1 {
                // Another filter drops some entries without changing the mark.
                batch.retain_from(before, |batch, at| batch.key(at).visibility != b"C");
            }
            batch
                .retain_since(mark, |batch, at| {
                    batch.key(at).visibility != secret.as_bytes()
                })
                .expect("fits");
            let kept: Vec<_> = (0..40)
                .map(|at| all.key(at))
                .filter(|key| key.visibility != secret.as_bytes())
                .filter(|key| way != 1 || key.visibility != b"C")
                .collect();
            let found: Vec<_> = (before..batch.len()).map(|at| batch.key(at)).collect();
            assert_eq!(found, kept);
            let standing = filled(before);
            for at in 0..before {
                assert_eq!(batch.entry(at), standing.entry(at));
            }
            let arena = batch.bytes(Span {
                start: 0,
                len: batch.byte_len() as u32,
            });
            for at in (0..40).filter(|&at| !kept.contains(&all.key(at))) {
                let row = all.row(at);
                let stands = standing.iter().any(|entry| entry.key.row == row);
                assert!(stands || !arena.windows(5).any(|window| window == row));
            }
            let known: Vec<&[u8]> = (0..batch.visibility_count() as u32)
                .map(|id| batch.visibility(id))
                .collect();
            let gone = before == 0 && way < 2;
            assert!(!gone || !known.contains(&secret.as_bytes()), "{known:?}");
        }
    }
}

#[test]
fn entries_beyond_the_limit_move_with_their_labels() {
    let mut batch = filled(2);
    let mark = batch.mark();
    for (row, label) in [("x1", "P"), ("x2", "Q"), ("x3", "P"), ("x4", "R")] {
        batch
            .push(labelled(row, label).as_ref(), b"v")
            .expect("fits");
    }
    let mut rest = Batch::new();
    let limit = BatchLimit {
        entries: 4,
        bytes: usize::MAX,
    };
    batch.move_beyond(limit, mark, &mut rest).expect("fits");
    assert_eq!((batch.len(), rest.len()), (4, 2));
    assert_eq!(rest.key(0), labelled("x3", "P").as_ref());
    assert_eq!(rest.key(1), labelled("x4", "R").as_ref());
    let known: Vec<&[u8]> = (0..batch.visibility_count() as u32)
        .map(|id| batch.visibility(id))
        .collect();
    assert_eq!(known, [&b""[..], b"A", b"P", b"Q"]);
    let one = BatchLimit {
        entries: 100,
        bytes: 1,
    };
    let (mut batch, mut rest) = (filled(3), Batch::new());
    batch
        .move_beyond(one, Mark::default(), &mut rest)
        .expect("fits");
    assert_eq!((batch.len(), rest.len()), (1, 2), "one entry always goes");
}

#[test]
fn order_labels_sorts_the_dictionary_by_first_use() {
    let labels = ["C", "", "A", "B", "A", "C", "D"];
    for dropped in 0..(1 << labels.len()) {
        let (mut batch, mut wanted) = (Batch::new(), Batch::new());
        for (at, label) in labels.iter().enumerate() {
            let key = labelled(&format!("{at}"), label);
            batch.push(key.as_ref(), b"v").expect("fits");
            if dropped >> at & 1 == 0 {
                wanted.push(key.as_ref(), b"v").expect("fits");
            }
        }
        batch.retain_from(0, |_, at| dropped >> at & 1 == 0);
        batch.order_labels();
        let all = |batch: &Batch| -> Vec<Vec<u8>> {
            let ids = 0..batch.visibility_count() as u32;
            ids.map(|id| batch.visibility(id).to_vec()).collect()
        };
        assert_eq!(all(&batch), all(&wanted));
        assert!(batch.iter().eq(wanted.iter()));
        batch.push(labelled("z", "D").as_ref(), b"v").expect("fits");
        assert_eq!(batch.key(batch.len() - 1).visibility, b"D");
    }
}
