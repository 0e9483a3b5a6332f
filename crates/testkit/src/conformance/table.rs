//! Operations on whole tables, their tablets and their properties.

use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorScope, IteratorSetting};
use ostrakon_cell::{
    CloneOptions, CompactOptions, Properties, Source, Table, TableOptions, TimeType,
};

use super::bytes;
use super::player::{Failure, Outcome, ok};
use super::profile::Restless;
use super::script::{Operation, Words};

pub(super) fn named(source: &dyn Source, operation: &Operation) -> Result<Arc<dyn Table>, Failure> {
    Ok(source.table(operation.head.word(0)?)?)
}

pub(super) fn create(source: &dyn Source, operation: &Operation, restless: &Restless) -> Outcome {
    let head = &operation.head;
    let mut options = TableOptions {
        time_type: match head.option("time") {
            Some("logical") => TimeType::Logical,
            _ => TimeType::Millis,
        },
        without_default_iterators: head.is("bare"),
        offline: head.is("offline"),
        properties: restless.properties.clone(),
        ..TableOptions::default()
    };
    for row in head.all("split") {
        options.splits.push(bytes::parse(row)?);
    }
    for detail in &operation.details {
        match detail.verb.as_str() {
            "prop" => {
                options.properties.insert(detail.text(0)?, detail.text(1)?);
            }
            "iterator" => options.properties.extend(attached(detail, 0)?),
            _ => return Err(detail.unknown("create").into()),
        }
    }
    source.create_table(head.word(0)?, &options)?;
    Ok(ok())
}

pub(super) fn drop(source: &dyn Source, operation: &Operation) -> Outcome {
    source.delete_table(operation.head.word(0)?)?;
    Ok(ok())
}

pub(super) fn rename(source: &dyn Source, operation: &Operation) -> Outcome {
    source.rename_table(operation.head.word(0)?, operation.head.word(1)?)?;
    Ok(ok())
}

pub(super) fn clone(source: &dyn Source, operation: &Operation) -> Outcome {
    let head = &operation.head;
    let mut options = CloneOptions {
        flush: head.option("flush") != Some("no"),
        keep_offline: head.is("offline"),
        ..CloneOptions::default()
    };
    for detail in &operation.details {
        match detail.verb.as_str() {
            "prop" => {
                options
                    .set_properties
                    .insert(detail.text(0)?, detail.text(1)?);
            }
            "exclude" => options.exclude_properties.push(detail.text(0)?),
            _ => return Err(detail.unknown("clone").into()),
        }
    }
    source.clone_table(head.word(0)?, head.word(1)?, &options)?;
    Ok(ok())
}

pub(super) fn list(source: &dyn Source) -> Outcome {
    let mut names: Vec<String> = source.tables()?.into_iter().map(|info| info.name).collect();
    names.sort();
    names.insert(0, "tables".to_owned());
    Ok(names)
}

pub(super) fn set_online(source: &dyn Source, operation: &Operation, online: bool) -> Outcome {
    source.set_online(operation.head.word(0)?, online)?;
    Ok(ok())
}

pub(super) fn flush(source: &dyn Source, operation: &Operation) -> Outcome {
    named(source, operation)?.flush(true)?;
    Ok(ok())
}

pub(super) fn compact(source: &dyn Source, operation: &Operation) -> Outcome {
    let head = &operation.head;
    let options = CompactOptions {
        start: head.option_bytes("start")?,
        end: head.option_bytes("end")?,
        iterators: operation
            .details
            .iter()
            .map(setting)
            .collect::<Result<_, _>>()?,
        flush: head.option("flush") != Some("no"),
        wait: true,
    };
    named(source, operation)?.compact(&options)?;
    Ok(ok())
}

pub(super) fn split(source: &dyn Source, operation: &Operation) -> Outcome {
    let rows: Vec<Vec<u8>> = (1..operation.head.count())
        .map(|at| operation.head.bytes(at))
        .collect::<Result<_, _>>()?;
    named(source, operation)?.add_splits(&rows)?;
    Ok(ok())
}

pub(super) fn splits(source: &dyn Source, operation: &Operation) -> Outcome {
    let tablets = named(source, operation)?.tablets()?;
    let mut lines = vec!["splits".to_owned()];
    lines.extend(
        tablets
            .iter()
            .filter_map(|tablet| Some(bytes::show(tablet.end.as_deref()?))),
    );
    Ok(lines)
}

pub(super) fn merge(source: &dyn Source, operation: &Operation) -> Outcome {
    let (start, end) = rows(&operation.head)?;
    named(source, operation)?.merge(start.as_deref(), end.as_deref())?;
    Ok(ok())
}

pub(super) fn delete_rows(source: &dyn Source, operation: &Operation) -> Outcome {
    let (start, end) = rows(&operation.head)?;
    named(source, operation)?.delete_rows(start.as_deref(), end.as_deref())?;
    Ok(ok())
}

type Rows = (Option<Vec<u8>>, Option<Vec<u8>>);

fn rows(head: &Words) -> Result<Rows, String> {
    Ok((head.option_bytes("start")?, head.option_bytes("end")?))
}

pub(super) fn set(source: &dyn Source, operation: &Operation) -> Outcome {
    let change = (operation.head.text(1)?, Some(operation.head.text(2)?));
    named(source, operation)?.modify_properties(&[change])?;
    Ok(ok())
}

pub(super) fn unset(source: &dyn Source, operation: &Operation) -> Outcome {
    let change = (operation.head.text(1)?, None);
    named(source, operation)?.modify_properties(&[change])?;
    Ok(ok())
}

pub(super) fn attach(source: &dyn Source, operation: &Operation) -> Outcome {
    let changes: Vec<(String, Option<String>)> = attached(&operation.head, 1)?
        .into_iter()
        .map(|(name, value)| (name, Some(value)))
        .collect();
    named(source, operation)?.modify_properties(&changes)?;
    Ok(ok())
}

/// Takes an iterator off every scope.
pub(super) fn detach(source: &dyn Source, operation: &Operation) -> Outcome {
    let name = operation.head.text(1)?;
    let table = named(source, operation)?;
    let goes = |property: &str| {
        IteratorScope::ALL.into_iter().any(|scope| {
            let base = format!("table.iterator.{}.{name}", scope.as_str());
            property
                .strip_prefix(base.as_str())
                .is_some_and(|rest| rest.is_empty() || rest.starts_with(".opt."))
        })
    };
    let changes: Vec<(String, Option<String>)> = table
        .properties()?
        .into_keys()
        .filter(|property| goes(property))
        .map(|property| (property, None))
        .collect();
    table.modify_properties(&changes)?;
    Ok(ok())
}

/// Replaces all locality groups: `groups T group=NAME,FAMILY,FAMILY …`.
pub(super) fn groups(source: &dyn Source, operation: &Operation) -> Outcome {
    let mut names = Vec::new();
    let mut changes = Vec::new();
    for group in operation.head.all("group") {
        let (name, families) = group.split_once(',').unwrap_or((group, ""));
        names.push(name.to_owned());
        // The words of families are escaped as the property wants them, but for the empty one.
        let families = families.replace("\\e", "");
        changes.push((format!("table.group.{name}"), Some(families)));
    }
    let enabled = (!names.is_empty()).then(|| names.join(","));
    changes.push(("table.groups.enabled".to_owned(), enabled));
    named(source, operation)?.modify_properties(&changes)?;
    Ok(ok())
}

/// What is set for the table itself.
pub(super) fn properties(source: &dyn Source, operation: &Operation) -> Outcome {
    let own = named(source, operation)?.own_properties()?.properties;
    Ok(shown(own, &operation.head.text(1)?))
}

/// What is in force for the table, inherited properties included.
pub(super) fn in_force(source: &dyn Source, operation: &Operation) -> Outcome {
    let all = named(source, operation)?.properties()?;
    Ok(shown(all, &operation.head.text(1)?))
}

/// Those whose names begin with a prefix.
pub(super) fn shown(properties: Properties, wanted: &str) -> Vec<String> {
    let mut lines = vec!["properties".to_owned()];
    for (name, value) in properties {
        if name.starts_with(wanted) {
            let [name, value] = [name, value].map(|text| bytes::show(text.as_bytes()));
            lines.push(format!("{name} {value}"));
        }
    }
    lines
}

/// The properties of `NAME PRIORITY CLASS SCOPES option=value …`.
fn attached(words: &Words, first: usize) -> Result<Vec<(String, String)>, String> {
    let scopes: Vec<IteratorScope> = words
        .word(first + 3)?
        .split(',')
        .map(|scope| scope.parse().map_err(|_| format!("no such scope: {scope}")))
        .collect::<Result<_, String>>()?;
    let setting = named_setting(words, first)?;
    Ok(setting.to_properties(&scopes).into_iter().collect())
}

/// An iterator of a scan, a compaction or a condition: `iterator NAME PRIORITY CLASS option=value …`.
pub(super) fn setting(words: &Words) -> Result<IteratorSetting, String> {
    if words.verb != "iterator" {
        return Err(format!("line {}: an iterator is expected", words.line));
    }
    named_setting(words, 0)
}

fn named_setting(words: &Words, first: usize) -> Result<IteratorSetting, String> {
    let priority = words
        .word(first + 1)?
        .parse()
        .map_err(|_| format!("line {}: a priority is a number", words.line))?;
    let class = class_name(words.text(first + 2)?);
    let mut setting = IteratorSetting::new(priority, words.text(first)?, class);
    setting.options.extend(words.texts()?);
    Ok(setting)
}

/// A name without a dot is a class of Accumulo's own.
fn class_name(name: String) -> String {
    if name.contains('.') {
        name
    } else {
        format!("org.apache.accumulo.core.iterators.user.{name}")
    }
}
