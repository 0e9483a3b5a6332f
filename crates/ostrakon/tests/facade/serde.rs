//! The forms of values in JSON and in a binary format.

use ostrakon::cell::{self, Key, VisibilityExpression};
use ostrakon::{Authorizations, Entry, Mutation, Range, Store};
use serde_json::{from_str, json, to_string, to_value};

fn key(row: &[u8]) -> Key {
    Key {
        visibility: b"hr|self".to_vec(),
        timestamp: -7,
        ..Key::new(row, b"f\xff".as_slice(), "q")
    }
}

/// Through JSON and through postcard.
fn round_trip<T>(value: &T)
where
    T: serde_core::Serialize + serde_core::de::DeserializeOwned + PartialEq + std::fmt::Debug,
{
    let text = to_string(value).unwrap();
    assert_eq!(&from_str::<T>(&text).unwrap(), value, "{text}");
    let bytes = postcard::to_stdvec(value).unwrap();
    assert_eq!(&postcard::from_bytes::<T>(&bytes).unwrap(), value);
}

#[test]
fn plain_values_come_back_from_json_and_from_a_binary_format() {
    let every_byte: Vec<u8> = (0..=255).collect();
    for row in [
        &b""[..],
        b"alice",
        "Zo\u{eb}\n\u{0}".as_bytes(),
        &every_byte,
    ] {
        round_trip(&key(row));
        round_trip(&Key {
            deleted: true,
            ..key(row)
        });
        round_trip(&cell::Entry {
            key: key(row),
            value: row.to_vec(),
        });
        round_trip(&Range::row(row));
        round_trip(&Range::row_prefix(row));
    }
    for range in [
        Range::all(),
        Range::rows("a"..="b"),
        Range::rows("a"..),
        Range::rows("b".."a"),
    ] {
        round_trip(&range);
    }
    for names in [&[][..], &["eu", "a b"], &["!AUTH1:"]] {
        round_trip(&Authorizations::new(names).unwrap());
    }
    round_trip(&Authorizations::new([&b"\xff"[..], b"eu"]).unwrap());
    round_trip(&VisibilityExpression::parse("a&(b|\"x y\")").unwrap());
    let mut mutation = cell::Mutation::new(every_byte.as_slice());
    mutation.put("f", "q", "").unwrap();
    mutation
        .put("f", every_byte.as_slice(), every_byte.as_slice())
        .unwrap();
    mutation.delete("f", "q").unwrap();
    round_trip(&mutation);
}

#[test]
fn an_entry_is_json_as_the_program_prints_it() {
    let table = Store::in_memory().unwrap().create_table("t").unwrap();
    let column = ("f", "q");
    let write = table.put("r", column, b"\xff\"").label("a|b").timestamp(7);
    write.commit().unwrap();
    let entry = table.scan().auths(["a"]).first().unwrap().unwrap();
    assert_eq!(
        to_string(&entry).unwrap(),
        r#"{"row":"r","family":"f","qualifier":"q","visibility":"a|b","timestamp":7,"value_base64":"/yI="}"#
    );
    round_trip(&entry);
}

#[test]
fn a_mutation_keeps_labels_timestamps_and_deletes() {
    let mutation = Mutation::new("alice")
        .put(("contact", "mail"), b"\xff")
        .label("hr|self")
        .delete(("contact", "fax"))
        .timestamp(9);
    let object = json!({"row": "alice", "updates": [
        {"family": "contact", "qualifier": "mail", "visibility": "hr|self", "value_base64": "/w=="},
        {"family": "contact", "qualifier": "fax", "visibility": "", "timestamp": 9, "deleted": true},
    ]});
    assert_eq!(to_value(&mutation).unwrap(), object);
    let again: Mutation = serde_json::from_value(object.clone()).unwrap();
    assert_eq!(to_value(&again).unwrap(), object);
    let bytes = postcard::to_stdvec(&mutation).unwrap();
    let again: Mutation = postcard::from_bytes(&bytes).unwrap();
    assert_eq!(to_value(&again).unwrap(), object);

    let malformed = Mutation::new("alice").put(("f", "q"), "").label("a&");
    assert!(to_string(&malformed).is_err());
}

#[test]
fn a_field_that_is_missing_or_malformed_is_an_error() {
    let good = json!({"row": "r", "family": "f", "qualifier": "q", "visibility": "a", "timestamp": 7, "value": "v"});
    assert!(serde_json::from_value::<Entry>(good.clone()).is_ok());
    for field in [
        "row",
        "family",
        "qualifier",
        "visibility",
        "timestamp",
        "value",
    ] {
        let mut object = good.clone();
        object.as_object_mut().unwrap().remove(field);
        let error = serde_json::from_value::<Entry>(object).unwrap_err();
        assert_eq!(error.to_string(), format!("missing field `{field}`"));
    }
    let mut both = good.clone();
    both["row_base64"] = json!("cg==");
    let error = serde_json::from_value::<Entry>(both).unwrap_err();
    assert_eq!(error.to_string(), "duplicate field `row`");

    let update = |more: serde_json::Value| {
        let mut update = json!({"family": "f", "qualifier": "q", "visibility": ""});
        let fields = update.as_object_mut().unwrap();
        fields.extend(more.as_object().unwrap().clone());
        serde_json::from_value::<Mutation>(json!({"row": "r", "updates": [update]}))
    };
    assert!(update(json!({"value": ""})).is_ok());
    for (more, message) in [
        (json!({}), "missing field `value`"),
        (
            json!({"deleted": true, "value": "v"}),
            "`deleted` and `value`: use one of them",
        ),
        (
            json!({"value_base64": "/w"}),
            "value_base64: invalid base64 at byte 2",
        ),
        (
            json!({"value": "", "visibility": "a&"}),
            "visibility expression, byte 1: nothing follows the operator; write a term after it or remove it",
        ),
    ] {
        assert_eq!(update(more).unwrap_err().to_string(), message);
    }
    assert!(from_str::<Authorizations>(r#"["eu",""]"#).is_err());
    let listed: Authorizations = from_str(r#""eu, hr""#).unwrap();
    assert_eq!(listed, Authorizations::new(["eu", "hr"]).unwrap());
}
