use std::collections::BTreeSet;
use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Source};

use super::broken::{Torn, TornSource};
use super::runs::seeds_of;
use super::{
    AdminAnswer, AdminCall, Event, RegisterAnswer, RegisterCall, Registers, Tables,
    administration_history, check, property_history, register_history,
};
use crate::reference_model::MapSource;

fn event<C, A>(thread: usize, (begun, ended): (u64, u64), call: C, answer: A) -> Event<C, A> {
    Event {
        thread,
        call,
        answer,
        begun,
        ended,
    }
}

#[test]
fn calls_that_overlap_may_be_in_any_order_and_others_not() {
    use RegisterAnswer::{Done, Refused, Value};
    use RegisterCall::{CompareAndSet, Read, Write};
    let history = |read: (u64, u64), value| {
        vec![
            event(0, (0, 1), Write(1), Done),
            event(0, (2, 5), Write(2), Done),
            event(1, read, Read, Value(value)),
        ]
    };
    // Beside the second write both values are right, after it only its own.
    for value in [Some(1), Some(2)] {
        check(&Registers, &mut history((3, 6), value)).unwrap();
    }
    check(&Registers, &mut history((6, 7), Some(2))).unwrap();
    let stale = check(&Registers, &mut history((6, 7), Some(1))).unwrap_err();
    assert_eq!(stale.explained, 2, "{stale}");
    check(&Registers, &mut history((3, 6), None)).unwrap_err();
    // A lock that two hold.
    let mut both = vec![
        event(0, (0, 3), CompareAndSet(None, 1), Done),
        event(1, (1, 2), CompareAndSet(None, 2), Done),
    ];
    check(&Registers, &mut both).unwrap_err();
    both[0].answer = Refused;
    check(&Registers, &mut both).unwrap();
}

#[test]
fn a_name_means_one_table_at_a_time() {
    use AdminAnswer::{Done, Id, Refused, Rows};
    let id = |id: &str| Id(id.to_owned());
    let renames = |second: AdminAnswer| {
        vec![
            event(0, (0, 1), AdminCall::Create('a'), Done),
            event(0, (2, 4), AdminCall::Rename('a', 'b'), Done),
            event(1, (3, 5), AdminCall::Rename('a', 'c'), second),
        ]
    };
    check(&Tables, &mut renames(Refused(ErrorKind::TableNotFound))).unwrap();
    check(&Tables, &mut renames(Done)).unwrap_err();
    let mut handle = vec![
        event(0, (0, 1), AdminCall::Create('a'), Done),
        event(0, (2, 3), AdminCall::Open('a'), id("1")),
        event(0, (4, 5), AdminCall::Put("1".to_owned(), 7), Done),
        event(
            0,
            (6, 7),
            AdminCall::Clone('a', 'b', BTreeSet::from([7])),
            Done,
        ),
        event(0, (8, 9), AdminCall::Open('b'), id("2")),
        event(0, (10, 11), AdminCall::Delete('a'), Done),
        event(0, (12, 13), AdminCall::Create('a'), Done),
        event(0, (14, 15), AdminCall::Scan("2".to_owned()), Rows(vec![7])),
        event(
            0,
            (16, 17),
            AdminCall::Scan("1".to_owned()),
            Refused(ErrorKind::TableNotFound),
        ),
    ];
    check(&Tables, &mut handle).unwrap();
    // A handle that reaches the new table of the name, and a clone that lacks a write.
    handle[8].answer = Rows(Vec::new());
    check(&Tables, &mut handle).unwrap_err();
    handle.pop();
    handle[7].answer = Rows(Vec::new());
    check(&Tables, &mut handle).unwrap_err();
}

/// The kinds of histories.
#[derive(Debug, Clone, Copy, PartialEq)]
enum Kind {
    Rows,
    Names,
    Properties,
}

/// Whether no order explains one of some histories.
fn is_violated(source: &Arc<dyn Source>, histories: u64, kind: Kind) -> bool {
    (0..histories).any(|seed| match kind {
        Kind::Names => {
            let mut events = administration_history(source, "h", seed).unwrap();
            check(&Tables, &mut events).is_err()
        }
        Kind::Rows => {
            let (_, rows) = register_history(source.clone(), "h", seed, &mut Ok).unwrap();
            rows.into_iter()
                .any(|mut events| check(&Registers, &mut events).is_err())
        }
        Kind::Properties => {
            let levels = property_history(source, "h", seed).unwrap();
            levels
                .into_iter()
                .any(|(start, mut events)| check(&start, &mut events).is_err())
        }
    })
}

#[test]
fn the_reference_model_is_linearizable() {
    let model: Arc<dyn Source> = Arc::new(MapSource::new());
    for kind in [Kind::Rows, Kind::Names, Kind::Properties] {
        assert!(!is_violated(&model, 20, kind), "{kind:?}");
    }
}

#[test]
fn torn_calls_are_found() {
    for (torn, kind) in [
        (Torn::ConditionalWrites, Kind::Rows),
        (Torn::Names, Kind::Names),
        (Torn::Clones, Kind::Names),
        (Torn::Properties, Kind::Properties),
    ] {
        let source = TornSource::shared(torn);
        assert!(is_violated(&source, 200, kind), "{torn:?} got through");
    }
}

#[test]
fn a_reopening_that_loses_a_write_is_found() {
    let model: Arc<dyn Source> = Arc::new(MapSource::new());
    let mut lose = |source: Arc<dyn Source>| {
        source.table("h")?.delete_rows(None, None)?;
        Ok(source)
    };
    let found = (0..50).any(|seed| {
        let (_, rows) = register_history(model.clone(), "h", seed, &mut lose).unwrap();
        rows.into_iter()
            .any(|mut events| check(&Registers, &mut events).is_err())
    });
    assert!(found, "lost writes got through");
}

#[test]
fn a_text_names_seeds() {
    assert_eq!(seeds_of("7"), Some(0..7));
    assert_eq!(seeds_of("100..250"), Some(100..250));
    for wrong in ["", "0", "5..5", "9..3", "a", "1..", "..4", "1..2..3"] {
        assert_eq!(seeds_of(wrong), None, "{wrong}");
    }
}
