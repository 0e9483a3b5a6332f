use super::*;
use crate::Key;

fn labelled(row: &str, label: &str) -> Key {
    Key {
        visibility: label.into(),
        ..Key::new(row, "f", "q")
    }
}

#[test]
fn pushing_gives_back_what_went_in() {
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
fn retaining_keeps_order_and_what_stood_before() {
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
