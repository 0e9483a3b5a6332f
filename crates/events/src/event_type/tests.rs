use super::check::is_field_name;
use super::{Epoch, EventType, Field, check_type_name, field_name};
use crate::value::FieldType;

fn sample() -> EventType {
    EventType::from_toml(
        "name = 'web'\ntime = 'ts'\n[[shards]]\ncount = 2\n\
         [[fields]]\nname = 'ts'\ntype = 'time'\n\
         [[fields]]\nname = 'host'\ntype = 'text'\nindexed = true\n",
    )
    .expect("valid")
}

#[test]
fn names_are_limited() {
    for name in ["web", "a_1", "web_request"] {
        check_type_name(name).expect("a name");
    }
    for name in [
        "",
        "Web",
        "1a",
        "a.b",
        "a/b",
        "web_index",
        "types",
        "a\0",
        "é",
        &"a".repeat(49),
    ] {
        assert!(check_type_name(name).is_err(), "{name}");
    }
    for name in ["id.orig_h", "user-agent", "@timestamp", "a/b"] {
        assert!(is_field_name(name), "{name}");
    }
    for name in ["", "a b", "1a", "-a", "a'", "a\n", &"a".repeat(129)] {
        assert!(!is_field_name(name), "{name}");
        assert!(is_field_name(&field_name(name)), "{name}");
    }
}

#[test]
fn toml_makes_the_round_trip_and_unknown_keys_are_refused() {
    let mut web = sample();
    web.assign_ids(None);
    assert_eq!(web.field("host").and_then(|field| field.id), Some(2));
    let text = web.to_toml().expect("written");
    assert_eq!(EventType::from_toml(&text).expect("read"), web);
    let error = EventType::from_toml(&format!("colour = 'red'\n{text}")).expect_err("unknown");
    assert!(
        std::error::Error::source(&error).is_some_and(|cause| cause.to_string().contains("colour"))
    );
}

#[test]
fn a_type_that_cannot_work_is_refused() {
    let with = |change: fn(&mut EventType)| {
        let mut web = sample();
        change(&mut web);
        web.check().expect_err("refused").to_string()
    };
    assert!(with(|web| web.time = "host".into()).contains("time field"));
    assert!(with(|web| web.shards.clear()).contains("shards"));
    assert!(with(|web| web.bin = "never".into()).contains("span"));
    assert!(with(|web| web.resolution = "year".into()).contains("resolution"));
    assert!(with(|web| web.visibility = Some("a&".into())).contains("visibility"));
    assert!(with(|web| web.fields.push(web.fields[1].clone())).contains("twice"));
}

#[test]
fn types_evolve_but_stored_keys_stay_readable() {
    let mut before = sample();
    before.assign_ids(None);
    let change = |change: fn(&mut EventType)| {
        let mut after = before.clone();
        change(&mut after);
        after.assign_ids(Some(&before));
        after.check_change(&before, true).map(|()| after)
    };
    let added = change(|web| {
        let name = "extra".into();
        web.fields.insert(
            0,
            Field {
                name,
                kind: FieldType::I64,
                indexed: false,
                id: None,
            },
        );
    });
    assert_eq!(added.expect("allowed").fields[0].id, Some(3));
    let shards = change(|web| {
        web.shards.push(Epoch {
            from: Some("2030-01-01".into()),
            count: 8,
        });
    });
    assert_eq!(shards.expect("allowed").shard_count(), 8);
    assert!(change(|web| drop(web.fields.pop())).is_err());
    assert!(change(|web| web.fields[1].kind = FieldType::Ip).is_err());
    assert!(change(|web| web.fields[1].indexed = false).is_err());
    assert!(change(|web| web.bin = "1d".into()).is_err());
    assert!(change(|web| web.shards[0].count = 3).is_err());
    assert!(change(|web| web.visibility_field = Some("hots".into())).is_err());
    assert!(change(|web| web.visibility_field = Some("host".into())).is_ok());
}
