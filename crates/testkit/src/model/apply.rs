//! Does an operation to a source.

use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorScope, IteratorSetting};
use ostrakon_cell::{
    Authorizations, Batch, CloneOptions, ColumnUpdate, CompactOptions, Condition,
    ConditionalMutation, Key, Mutation, MutationBatch, Properties, Range, Result, Source, Table,
    TableOptions, TimeType,
};

use super::generate::summing;
use super::operation::{Change, Expected, Guarded, Operation, PROBE, Style};
use crate::reference_model::MapSource;

/// Authorizations that show every label of a run.
pub(super) fn all_authorizations() -> Authorizations {
    Authorizations::parse("a,b,c").unwrap_or_default()
}

fn mutation_of(changes: &[Change]) -> Result<Mutation> {
    let row = changes.first().map_or("", |change| change.row.as_str());
    let mut encoded = Mutation::new(row);
    for change in changes {
        encoded.update(ColumnUpdate {
            family: change.family.as_bytes(),
            qualifier: change.qualifier.as_bytes(),
            visibility: change.label.as_bytes(),
            timestamp: change.timestamp,
            value: change.value.as_deref().map(str::as_bytes),
        })?;
    }
    Ok(encoded)
}

pub(super) fn batch_of(changes: &[Change]) -> Result<MutationBatch> {
    let mut batch = MutationBatch::new();
    for mutation in changes.chunk_by(|a, b| a.row == b.row && !b.apart) {
        batch.push(&mutation_of(mutation)?)?;
    }
    Ok(batch)
}

/// The exact column of a condition in `row`.
pub(super) fn column_of(condition: &Condition, row: &str) -> Result<Range> {
    let key = |timestamp: i64, deleted: bool| Key {
        visibility: condition.visibility.clone(),
        timestamp,
        deleted,
        ..Key::new(row, condition.family.clone(), condition.qualifier.clone())
    };
    let (newest, oldest) = match condition.timestamp {
        Some(timestamp) => (timestamp, timestamp),
        None => (i64::MAX, i64::MIN),
    };
    Range::keys(
        Some(key(newest, true)),
        true,
        Some(key(oldest, false)),
        true,
    )
}

/// The entries of one file of an import, sorted; of equal keys the last one changed comes first.
pub(super) fn sorted(changes: &[Change]) -> Result<Batch> {
    let mut entries: Vec<(Key, &str)> = changes
        .iter()
        .map(|change| {
            let key = Key {
                visibility: change.label.into(),
                timestamp: change.timestamp.unwrap_or_default(),
                deleted: change.value.is_none(),
                ..Key::new(
                    change.row.as_str(),
                    change.family,
                    change.qualifier.as_str(),
                )
            };
            (key, change.value.as_deref().unwrap_or_default())
        })
        .rev()
        .collect();
    entries.sort_by(|a, b| a.0.cmp(&b.0));
    let mut batch = Batch::new();
    for (key, value) in &entries {
        batch.push(key.as_ref(), value.as_bytes())?;
    }
    Ok(batch)
}

fn import(table: &dyn Table, changes: &[Change]) -> Result<u64> {
    let mut writer = table.bulk_writer()?;
    writer.append(&sorted(changes)?)?;
    writer.finish()
}

impl Guarded {
    /// The condition.
    pub(super) fn condition(&self) -> Condition {
        let newest = |versions: &u32| {
            IteratorSetting::new(40, "newest", "VersioningIterator")
                .with("maxVersions", versions.to_string())
        };
        Condition {
            family: self.family.as_bytes().to_vec(),
            qualifier: self.qualifier.as_bytes().to_vec(),
            visibility: self.label.as_bytes().to_vec(),
            timestamp: self.timestamp,
            value: match &self.expected {
                Expected::Value(value) => Some(value.as_bytes().to_vec()),
                Expected::Absent | Expected::Current => None,
            },
            iterators: self.versions.iter().map(newest).collect(),
        }
    }
}

fn table_options(style: Style, extra: &Properties) -> TableOptions {
    let mut properties = extra.clone();
    properties.insert("table.group.left".to_owned(), "f,g".to_owned());
    properties.insert("table.group.right".to_owned(), PROBE.to_owned());
    if style.summed {
        properties.extend(IteratorScope::ALL.into_iter().flat_map(summing));
    }
    if let Some(versions @ 2..) = style.versions {
        for scope in IteratorScope::ALL {
            let name = format!("table.iterator.{}.vers.opt.maxVersions", scope.as_str());
            properties.insert(name, versions.to_string());
        }
    }
    TableOptions {
        time_type: if style.logical {
            TimeType::Logical
        } else {
            TimeType::Millis
        },
        splits: if style.split {
            vec![b"r01".to_vec(), b"r05".to_vec(), b"r25".to_vec()]
        } else {
            Vec::new()
        },
        properties,
        without_default_iterators: style.versions.is_none(),
        offline: false,
        ..TableOptions::default()
    }
}

fn bytes(row: Option<&String>) -> Option<&[u8]> {
    row.map(String::as_bytes)
}

/// Does it, and says in a word what came of it.
pub(super) fn apply(
    source: &dyn Source,
    operation: &Operation,
    extra: &Properties,
) -> Result<String> {
    let done = || "done".to_owned();
    let open = |table: u8| -> Result<Arc<dyn Table>> { source.table(&Operation::name_of(table)) };
    match operation {
        Operation::Create { table, style } => {
            let options = table_options(*style, extra);
            source.create_table(&Operation::name_of(*table), &options)?;
        }
        Operation::Delete { table } => source.delete_table(&Operation::name_of(*table))?,
        Operation::Rename { from, to } => {
            source.rename_table(&Operation::name_of(*from), &Operation::name_of(*to))?;
        }
        Operation::Clone { from, to } => {
            let (from, to) = (Operation::name_of(*from), Operation::name_of(*to));
            source.clone_table(&from, &to, &CloneOptions::default())?;
        }
        Operation::Online { table, online } => {
            source.set_online(&Operation::name_of(*table), *online)?;
        }
        Operation::Write {
            table,
            changes,
            durability,
        } => {
            let outcome = open(*table)?
                .submit(batch_of(changes)?, *durability)?
                .wait()?;
            return Ok(format!("{} refused", outcome.rejections.len()));
        }
        Operation::Conditional { table, list } => {
            let mut mutations = Vec::with_capacity(list.len());
            for one in list {
                mutations.push(ConditionalMutation {
                    mutation: mutation_of(&one.changes)?,
                    conditions: vec![one.condition()],
                });
            }
            let answers =
                open(*table)?.write_conditionally(mutations, &all_authorizations(), None)?;
            let words: Vec<String> = answers.iter().map(|one| format!("{one:?}")).collect();
            return Ok(words.join(" "));
        }
        Operation::Bulk { table, changes } => {
            return Ok(format!("{} imported", import(&*open(*table)?, changes)?));
        }
        Operation::DeleteRows { table, start, end } => {
            open(*table)?.delete_rows(bytes(start.as_ref()), bytes(end.as_ref()))?;
        }
        Operation::Flush { table, wait } => open(*table)?.flush(*wait)?,
        Operation::Compact {
            table,
            start,
            end,
            flush,
            wait,
        } => open(*table)?.compact(&CompactOptions {
            start: start.as_ref().map(|row| row.clone().into_bytes()),
            end: end.as_ref().map(|row| row.clone().into_bytes()),
            flush: *flush,
            wait: *wait,
            ..CompactOptions::default()
        })?,
        Operation::Split { table, rows } => {
            let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.clone().into_bytes()).collect();
            open(*table)?.add_splits(&rows)?;
        }
        Operation::Merge { table, start, end } => {
            open(*table)?.merge(bytes(start.as_ref()), bytes(end.as_ref()))?;
        }
        Operation::Property { table, changes } => open(*table)?.modify_properties(changes)?,
        Operation::Import { .. }
        | Operation::Maintain
        | Operation::Look { .. }
        | Operation::Reopen
        | Operation::Crash(_)
        | Operation::Trouble(_) => {}
    }
    Ok(done())
}

/// Does it to the model.
pub(super) fn apply_to_model(model: &MapSource, operation: &Operation) -> Result<String> {
    match operation {
        Operation::Import { table, files } => {
            let files: Vec<Batch> = files
                .iter()
                .map(|file| sorted(file))
                .collect::<Result<_>>()?;
            let count = model.import_files(&Operation::name_of(*table), &files)?;
            Ok(format!("{count} imported"))
        }
        _ => apply(model, operation, &Properties::new()),
    }
}

/// Lets the model's table stamp a write that was lost afterwards.
pub(super) fn stamp_only(model: &MapSource, operation: &Operation) {
    if let Operation::Write { table, changes, .. } = operation
        && let Ok(batch) = batch_of(changes)
    {
        model.stamp_only(&Operation::name_of(*table), &batch);
    }
}
