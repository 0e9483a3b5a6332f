//! Commands on event types.

use std::fs::File;
use std::io::{self, Read};
use std::path::Path;

use ostrakon_cell::Authorizations;
use ostrakon_events::{
    CountPath, Epoch, EventStore, EventType, Query, infer_log, parse_moment, show_time,
};
use serde_json::json;

use super::logs::{Reading, now, shown};
use crate::args::EventsCreateArgs;
use crate::commands::confirm::confirm;
use crate::failure::{Failure, Result};
use crate::interrupt::Kept;
use crate::output::{Columns, Output, counted};

/// Prints the definition that `create` would use.
pub(super) fn print(args: &EventsCreateArgs, out: &mut Output) -> Result<()> {
    let definition = definition(args)?;
    let text = definition.to_toml()?;
    out.object(&json!({"type": definition.name, "toml": text}), || {
        text.trim_end().to_owned()
    })
}

/// Creates a type.
pub(super) fn create(store: &EventStore, definition: &EventType, out: &mut Output) -> Result<()> {
    let created = store.create(definition)?;
    let indexed: Vec<&str> = created
        .fields
        .iter()
        .filter(|field| field.indexed)
        .map(|field| field.name.as_str())
        .collect();
    let object = json!({
        "type": created.name, "time": created.time, "fields": created.fields.len(), "indexed": indexed,
    });
    out.object(&object, || {
        format!(
            "created {} with {}, time {}, indexed: {}",
            created.name,
            counted(created.fields.len() as u64, "field", "fields"),
            created.time,
            match indexed.is_empty() {
                true => "none".to_owned(),
                false => indexed.join(" "),
            }
        )
    })
}

/// Registers a type whose tables are there.
pub(super) fn adopt(store: &EventStore, definition: &EventType, out: &mut Output) -> Result<()> {
    let adopted = store.adopt(definition)?;
    let name = &adopted.name;
    let object = json!({"type": name, "fields": adopted.fields.len()});
    out.object(&object, || {
        format!(
            "adopted the tables of {name} with {}; run `ostrakon events check {name}` with authorizations for all \
             labels, and `ostrakon events repair {name}` if index or counts disagree",
            counted(adopted.fields.len() as u64, "field", "fields"),
        )
    })
}

/// Replaces the definition of a type.
pub(super) fn edit(store: &EventStore, name: &str, schema: &Path, out: &mut Output) -> Result<()> {
    let definition = read_schema(schema)?;
    if definition.name != name {
        return Err(Failure::usage("the file defines another event type")
            .with("type", name)
            .with("file defines", definition.name));
    }
    let before = store.get(name)?;
    let after = store.change(&definition)?;
    let is_changed = after != before;
    out.object(
        &json!({"type": name, "fields": after.fields.len(), "changed": is_changed}),
        || match is_changed {
            true => format!("changed {name}"),
            false => format!("unchanged {name}"),
        },
    )
}

/// Lists the types.
pub(super) fn list(store: &EventStore, out: &mut Output) -> Result<()> {
    let mut columns = Columns::new(&["type", "time", ">fields", ">indexed", ">shards", "keep"]);
    for definition in store.types()? {
        let indexed = definition
            .fields
            .iter()
            .filter(|field| field.indexed)
            .count();
        if out.is_json() {
            let object = json!({
                "type": definition.name, "time": definition.time, "fields": definition.fields.len(),
                "indexed": indexed, "shards": definition.shard_count(), "keep": definition.keep,
            });
            out.object(&object, String::new)?;
        } else {
            columns.row(vec![
                definition.name.clone(),
                definition.time.clone(),
                definition.fields.len().to_string(),
                indexed.to_string(),
                definition.shard_count().to_string(),
                definition.keep.unwrap_or_default(),
            ]);
        }
    }
    if !out.is_json() {
        columns.write(out.stream())?;
    }
    Ok(())
}

/// Prints the definition of a type.
pub(super) fn show(store: &EventStore, name: &str, out: &mut Output) -> Result<()> {
    let text = store.get(name)?.to_toml()?;
    out.object(&json!({"type": name, "toml": text}), || {
        text.trim_end().to_owned()
    })
}

/// Deletes a type.
pub(super) fn drop_type(store: &EventStore, name: &str, yes: bool, out: &mut Output) -> Result<()> {
    // A type that is not listed may have tables that an interrupted command left, so the store decides.
    confirm(
        yes,
        &format!("Delete the event type {name} with all its events?"),
        &format!("the event type {name} would be deleted with all its events"),
    )?;
    let _kept = Kept::new(
        "a part of the event type may be deleted: run the command again to delete the rest",
    );
    store.drop_type(name)?;
    out.object(&json!({"type": name}), || format!("deleted {name}"))
}

/// Removes old events.
pub(super) fn age_off(
    store: &EventStore,
    name: &str,
    before: Option<&str>,
    (authorizations, yes): (Authorizations, bool),
    out: &mut Output,
) -> Result<()> {
    let (now, before) = (now(), before.map(moment).transpose()?);
    let cut = store.age_off_moment(name, now, before)?;
    let old = Query {
        event_type: name.to_owned(),
        to: Some(cut),
        authorizations,
        ..Query::default()
    };
    let removed = store.count(&old, CountPath::Auto)?;
    let events = counted(removed, "event", "events");
    confirm(
        yes,
        &format!(
            "Remove the events before {}, whatever their label? --auths can see {events}.",
            show_time(cut)
        ),
        &format!(
            "the events before {} would be removed, whatever their label; --auths can see {events}",
            show_time(cut)
        ),
    )?;
    let _kept =
        Kept::new("some of the events may be removed: run the command again to remove the rest");
    let off = store.age_off(name, now, before)?;
    let since = show_time(off.since);
    out.object(
        &json!({"type": name, "since": since, "removed": removed}),
        || format!("removed the events before {since}; --auths could see {events}"),
    )
}

/// Reads a time from the command line.
pub(super) fn moment(text: &str) -> Result<i64> {
    parse_moment(text)
        .map_err(|error| Failure::usage(error.message().to_owned()).with("given", text))
}

/// The most bytes of a definition: 2000 fields have far fewer.
const DEFINITION_MAX: u64 = 1 << 20;

fn read_schema(path: &Path) -> Result<EventType> {
    let refuse =
        |error| Failure::io("cannot read the definition", &error).with("file", shown(path));
    let mut text = String::new();
    let file: Box<dyn Read> = match path == Path::new("-") {
        true => Box::new(io::stdin()),
        false => Box::new(File::open(path).map_err(refuse)?),
    };
    let read = file.take(DEFINITION_MAX + 1).read_to_string(&mut text);
    if read.map_err(refuse)? as u64 > DEFINITION_MAX {
        return Err(
            Failure::outcome("the definition of an event type is too long")
                .with("file", shown(path))
                .with("limit", format!("{DEFINITION_MAX} bytes")),
        );
    }
    EventType::from_toml(&text).map_err(|error| Failure::from(error).with("file", shown(path)))
}

/// The definition that `create` uses.
pub(super) fn definition(args: &EventsCreateArgs) -> Result<EventType> {
    let mut definition = match (&args.schema, &args.from) {
        (Some(schema), _) => {
            let mut definition = read_schema(schema)?;
            definition.name.clone_from(&args.name);
            definition
        }
        (None, Some(from)) => inferred(args, from)?,
        (None, None) => return Err(Failure::usage("give --from FILE or --schema FILE")),
    };
    if args.visibility.is_some() {
        definition.visibility.clone_from(&args.visibility);
    }
    if args.visibility_field.is_some() {
        definition
            .visibility_field
            .clone_from(&args.visibility_field);
    }
    if args.keep.is_some() {
        definition.keep.clone_from(&args.keep);
    }
    if let Some(equal) = args.equal_records {
        definition.equal_records = equal.into();
    }
    if let Some(count) = args.shards {
        definition.shards = vec![Epoch { from: None, count }];
    }
    definition.check()?;
    Ok(definition)
}

fn inferred(args: &EventsCreateArgs, from: &Path) -> Result<EventType> {
    let mut source = Reading::new(&args.source)?.open(from)?.into_source();
    let inferred = infer_log(&args.name, &mut *source, args.time.as_deref())
        .map_err(|error| Failure::from(error).with("file", shown(from)))?;
    // Later records may have a field that the first ones do not have.
    if let Some(unknown) = inferred.missing_of(&args.source.map) {
        let names: Vec<&str> = inferred
            .fields
            .iter()
            .map(|field| field.name.as_str())
            .collect();
        Failure::warning("--map renames a field that the first records of the file do not have")
            .with("field", unknown)
            .with("fields", names.join(", "))
            .next("check the name; if later records have the field, add it to the type")
            .warn();
    }
    Ok(inferred)
}
