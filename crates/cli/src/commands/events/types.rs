//! Commands on event types.

use std::path::Path;

use ostrakon_events::{
    Epoch, EventStore, EventType, Record, Step, field_name, infer, parse_time, show_time,
};
use serde_json::json;

use super::logs::{self, now, shown};
use crate::args::EventsCreateArgs;
use crate::commands::confirm::confirm;
use crate::failure::{Failure, Result};
use crate::output::{Columns, Output, counted};

/// Records from which a type is inferred.
const SAMPLE: usize = 1000;

/// Prints the definition that `create` would use.
pub(super) fn print(args: &EventsCreateArgs, out: &mut Output) -> Result<()> {
    let definition = definition(args)?;
    let text = definition.to_toml()?;
    out.object(&json!({"type": definition.name, "toml": text}), || {
        text.trim_end().to_owned()
    })
}

/// Creates a type.
pub(super) fn create(store: &EventStore, args: &EventsCreateArgs, out: &mut Output) -> Result<()> {
    let created = store.create(&definition(args)?)?;
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
            indexed.join(" ")
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
    let changed = store.change(&definition)?;
    out.object(
        &json!({"type": name, "fields": changed.fields.len()}),
        || format!("changed {name}"),
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
    store.get(name)?;
    confirm(
        yes,
        &format!("delete the event type {name} with all its events?"),
    )?;
    store.drop_type(name)?;
    out.object(&json!({"type": name}), || format!("deleted {name}"))
}

/// Removes old events.
pub(super) fn age_off(
    store: &EventStore,
    name: &str,
    before: Option<&str>,
    out: &mut Output,
) -> Result<()> {
    let before = before.map(moment).transpose()?;
    let off = store.age_off(name, now(), before)?;
    let since = show_time(off.since);
    out.object(&json!({"type": name, "since": since}), || {
        format!("events before {since} are removed")
    })
}

/// Reads a time from the command line.
pub(super) fn moment(text: &str) -> Result<i64> {
    parse_time(text.as_bytes()).ok_or_else(|| {
        Failure::usage("not a time")
            .with("given", text)
            .next("write 2015-05-17 or 2015-05-17T10:05:03Z")
    })
}

fn read_schema(path: &Path) -> Result<EventType> {
    let text = std::fs::read_to_string(path).map_err(|error| {
        Failure::io("cannot read the definition", &error).with("file", shown(path))
    })?;
    EventType::from_toml(&text).map_err(|error| Failure::from(error).with("file", shown(path)))
}

fn definition(args: &EventsCreateArgs) -> Result<EventType> {
    let mut definition = match (&args.schema, &args.from) {
        (Some(schema), _) => {
            let mut definition = read_schema(schema)?;
            definition.name.clone_from(&args.name);
            definition
        }
        (None, Some(from)) => inferred(args, from)?,
        (None, None) => return Err(Failure::usage("give --from or --schema")),
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
    if let Some(count) = args.shards {
        definition.shards = vec![Epoch { from: None, count }];
    }
    definition.check()?;
    Ok(definition)
}

fn inferred(args: &EventsCreateArgs, from: &Path) -> Result<EventType> {
    let mut source = logs::open(from, args.format.map(Into::into))?.source;
    let (mut record, mut records) = (Record::default(), Vec::new());
    while records.len() < SAMPLE {
        match source.next(&mut record)? {
            Step::End => break,
            Step::Record => records.push(record.clone()),
            Step::Rejected(_) => {}
        }
    }
    let names: Vec<String> = source.names().iter().map(|name| field_name(name)).collect();
    infer(&args.name, &names, source.kinds(), &records)
        .map_err(|error| Failure::from(error).with("file", shown(from)))
}
