//! `table …`: commands that change tables.

use std::path::Path;
use std::sync::Arc;

use ostrakon_cell::{
    CloneOptions, CompactOptions, ErrorKind, ImportDirectoryOptions, ImportTransfer, Source,
    TableOptions, source,
};
use ostrakon_events::check_not_of_events;
use serde_json::json;

use super::access::{find_table, find_table_within, refuse_events, suggest_table};
use super::confirm::confirm;
use super::events::Concerned;
use super::rows::rows;
use super::{table_config, table_show, table_status};
use crate::args::{
    CloneArgs, CompactArgs, CreateArgs, ImportDirectoryArgs, Property, RowBounds, TableCommand,
};
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::{Output, counted, with_bytes};

/// Runs one of the commands.
pub(super) fn run(source: &dyn Source, command: TableCommand, out: &mut Output) -> Result<()> {
    match command {
        TableCommand::Create(args) => {
            let new = NewTable::new(args)?;
            new.create(source)?;
            new.show(out)
        }
        TableCommand::Delete { tables, yes } => delete(source, &tables, yes, out),
        TableCommand::Rename { from, to } => {
            free_of_events(source, &from)?;
            let renamed = source.rename_table(&from, &to);
            renamed.map_err(|error| suggest_table(source, &from, error.into()))?;
            out.object(&json!({"table": to, "before": from}), String::new)
        }
        TableCommand::List { long } => table_show::list(source, long, out),
        TableCommand::Splits { table } => table_show::splits(source, &table, out),
        TableCommand::Tablets { table } => table_show::tablets(source, &table, out),
        TableCommand::Status { table, tried } => {
            table_status::run(source, table.as_deref(), tried, out)
        }
        TableCommand::RestoreFile { file } => {
            let restored = source.restore_file(&file).map_err(|error| {
                let unknown = error.kind() == ErrorKind::NotFound;
                let is_damaged = error.kind() == ErrorKind::Corruption;
                let failure = Failure::from(error);
                match unknown && file.exists() {
                    _ if is_damaged => failure.next(
                        "this copy is damaged, or is another file; a checkpoint on the same file system shares its \
                         files with the store, so use a copy from another disk",
                    ),
                    true => failure
                        .next("run `ostrakon check` to list the files that are damaged or missing"),
                    false if unknown => {
                        failure.next("check the name of the file in the checkpoint")
                    }
                    false => failure,
                }
            })?;
            let object = json!({
                "file": restored.file, "bytes": restored.bytes, "tables": restored.tables,
            });
            out.object(&object, || {
                format!(
                    "restored {} ({}), used by {}",
                    restored.file,
                    counted(restored.bytes, "byte", "bytes"),
                    restored.tables.join(", ")
                )
            })
        }
        TableCommand::DropFile { file, yes } => drop_file(source, &file, yes, out),
        TableCommand::AddSplits {
            table,
            rows: given,
            splits_file,
        } => {
            let added = rows(given, splits_file.as_deref())?;
            find_table(source, &table)?
                .add_splits(&added)
                .map_err(|error| about_splits(error.into()))?;
            out.object(&json!({"table": table, "rows": added.len()}), String::new)
        }
        TableCommand::Merge { table, rows } => {
            let (begin, end) = bounds(&rows)?;
            find_table(source, &table)?.merge(begin, end)?;
            let object = with_bytes(json!({"table": table}), "begin", begin);
            out.object(&with_bytes(object, "end", end), String::new)
        }
        TableCommand::Locate { table, rows } => table_show::locate(source, &table, &rows, out),
        TableCommand::Flush {
            table,
            no_wait,
            within,
        } => {
            find_table_within(source, &table, within.timeout)?.flush(!no_wait)?;
            out.object(&json!({"table": table, "done": !no_wait}), String::new)
        }
        TableCommand::Compact(args) => compact(source, args, out),
        TableCommand::ImportDirectory(args) => import_directory(source, &args, out),
        TableCommand::Clone(args) => clone(source, args, out),
        TableCommand::Config(command) => table_config::run(source, command, out),
        TableCommand::Du { tables } => table_show::du(source, &tables, out),
        TableCommand::Offline { table } => set_online(source, &table, false, out),
        TableCommand::Online { table } => set_online(source, &table, true, out),
    }
}

/// Adds what to do about a split point of the wrong length.
fn about_splits(failure: Failure) -> Failure {
    if !failure.message().contains("table.split.endrow.size.max") {
        return failure;
    }
    failure.next(
        "split at a prefix of the row, or raise the limit with table.split.endrow.size.max=BYTES",
    )
}

type End<'a> = Option<&'a [u8]>;

/// Both ends of row bounds, checked for their order.
fn bounds(rows: &RowBounds) -> Result<(End<'_>, End<'_>)> {
    let begin = rows.begin.as_ref().map(|row| row.0.as_slice());
    let end = rows.end.as_ref().map(|row| row.0.as_slice());
    source::check_row_range(begin, end)?;
    Ok((begin, end))
}

fn properties(given: Vec<Property>) -> ostrakon_cell::Properties {
    given.into_iter().map(|one| (one.name, one.value)).collect()
}

/// A table to create, with everything that was read for it.
pub(super) struct NewTable {
    name: String,
    options: TableOptions,
}

impl NewTable {
    pub(super) fn new(args: CreateArgs) -> Result<Self> {
        Ok(Self {
            options: TableOptions {
                time_type: args.time_type,
                splits: rows(args.splits, args.splits_file.as_deref())?,
                properties: properties(args.properties),
                without_default_iterators: args.no_default_iterators,
                offline: args.offline,
                ..TableOptions::default()
            },
            name: args.table,
        })
    }

    pub(super) fn create(&self, source: &dyn Source) -> Result<()> {
        source
            .create_table(&self.name, &self.options)
            .map_err(|error| {
                let failure = Failure::from(error);
                match failure.named("given") {
                    Some(_) if failure.named("property").is_none() => failure
                        .next("choose such a name, for example people or archive.people_2026"),
                    _ => about_splits(failure),
                }
            })
    }

    pub(super) fn show(&self, out: &mut Output) -> Result<()> {
        let object = json!({"table": self.name, "splits": self.options.splits.len()});
        out.object(&object, String::new)
    }
}

/// Rejects a table of an event type: its other tables would remain, and say what is not there.
fn free_of_events(source: &dyn Source, table: &str) -> Result<()> {
    check_not_of_events(source, table).map_err(|error| {
        let is_ours = error.kind() == ErrorKind::InvalidArgument;
        let failure = Failure::from(error);
        match failure.named("type").map(str::to_owned) {
            _ if !is_ours => failure,
            Some(name) => failure.next(format!(
                "run `ostrakon events drop {name}` to delete the type with all its tables"
            )),
            None => failure.next("run `ostrakon events list` to see the types"),
        }
    })
}

fn delete(source: &dyn Source, tables: &[String], yes: bool, out: &mut Output) -> Result<()> {
    // Check all names before the first table is deleted.
    for table in tables {
        find_table(source, table)?;
        free_of_events(source, table)?;
    }
    let names = tables.join("`, `");
    confirm(
        yes,
        &format!("Delete `{names}` and everything in it?"),
        &format!("`{names}` would be deleted with everything in it"),
    )?;
    for table in tables {
        source.delete_table(table)?;
        out.object(&json!({"deleted": table}), String::new)?;
    }
    Ok(())
}

fn drop_file(source: &dyn Source, file: &Path, yes: bool, out: &mut Output) -> Result<()> {
    let shown = file.display().to_string();
    // The store checks later whether it has a file of this number.
    let name = file.file_name().unwrap_or_default().to_string_lossy();
    let number = name.strip_suffix(".sorted").unwrap_or(&name);
    if number.parse::<u64>().is_err() {
        return Err(
            Failure::usage("this does not name a table file, as files/NUMBER.sorted does")
                .with("file", shown)
                .next(
                    "run `ostrakon check` to list the files that are damaged or missing; `ostrakon table delete TABLE` \
                     deletes a table",
                ),
        );
    }
    confirm(
        yes,
        &format!("Drop the table file `{shown}` and lose the entries in it?"),
        &format!("the table file `{shown}` would be dropped, and the entries in it lost"),
    )?;
    let dropped = source.drop_file(file).map_err(|error| {
        let kind = error.kind();
        let failure = Failure::from(error);
        match kind {
            ErrorKind::NotFound | ErrorKind::InvalidArgument => {
                failure.next("run `ostrakon check` to list the files that are damaged or missing")
            }
            _ => failure,
        }
    })?;
    let concerned = Concerned::by(source, &dropped.tables)?;
    let object = json!({
        "file": dropped.file, "moved_to": dropped.moved_to, "bytes": dropped.bytes,
        "entries": dropped.entries, "tables": dropped.tables, "event_types": concerned.to_json(),
    });
    out.object(&object, || {
        let moved = match &dropped.moved_to {
            Some(to) => format!("what is left of it is in {to}"),
            None => "it was missing".to_owned(),
        };
        format!(
            "dropped {} with {}, used by {}; {moved}{}",
            dropped.file,
            counted(dropped.entries, "entry", "entries"),
            dropped.tables.join(", "),
            concerned.to_text()
        )
    })
}

fn compact(source: &dyn Source, args: CompactArgs, out: &mut Output) -> Result<()> {
    let table = find_table_within(source, &args.table, args.within.timeout)?;
    // A command has the store for itself, so a compaction ends with the command that requested it.
    if args.cancel || args.no_wait {
        let what = match args.cancel {
            true => "--cancel finds no compaction: each ends with the command that requested it",
            false => "--no-wait would cancel the compaction at once: it ends with the command",
        };
        return Err(Failure::usage(what).next(match args.cancel {
            true => {
                "press Ctrl-C where it runs; programs that keep a store open call cancel_compaction"
            }
            false => "leave out --no-wait; Ctrl-C keeps the tablets that are finished",
        }));
    }
    bounds(&args.rows)?;
    if !args.iterators.is_empty() {
        // They may drop or change entries.
        refuse_events(source, &args.table)?;
    }
    let options = CompactOptions {
        start: args.rows.begin.map(|row| row.0),
        end: args.rows.end.map(|row| row.0),
        iterators: args.iterators,
        flush: !args.no_flush,
        wait: true,
    };
    let cancelled = Arc::clone(&table);
    let watch = Watch::with_call(move || {
        if let Err(error) = cancelled.cancel_compaction() {
            Failure::warning("the compaction cannot be cancelled")
                .with("reason", error.to_string())
                .next("wait until it ends")
                .warn();
        }
    });
    let done = table.compact(&options);
    watch.check("tablets that were finished stay compacted")?;
    done?;
    out.object(
        &json!({"table": args.table, "done": options.wait}),
        String::new,
    )
}

fn import_directory(
    source: &dyn Source,
    args: &ImportDirectoryArgs,
    out: &mut Output,
) -> Result<()> {
    let options = ImportDirectoryOptions {
        transfer: match (args.keep, args.copy) {
            (true, _) => ImportTransfer::Link,
            (_, true) => ImportTransfer::Copy,
            _ => ImportTransfer::Move,
        },
        verify: args.verify,
        allow_empty: args.allow_empty,
    };
    let table = find_table(source, &args.table)?;
    refuse_events(source, &args.table)?;
    let report = table
        .import_directory(&args.directory, &options)
        .map_err(|error| {
            let failure = Failure::from(error);
            match failure.is_kind(ErrorKind::Corruption) {
                true => failure.next("leave the file out, or write it again; nothing was imported"),
                false => failure,
            }
        })?;
    let object = json!({
        "table": args.table,
        "files": report.files,
        "entries": report.entries,
        "bytes": report.bytes,
        "empty_files": report.empty_files,
        "copied_files": report.copied_files,
        "files_left": report.files_left,
    });
    out.object(&object, || {
        let entries = counted(report.entries, "entry", "entries");
        format!("{entries} in {}", counted(report.files, "file", "files"))
    })
}

fn clone(source: &dyn Source, args: CloneArgs, out: &mut Output) -> Result<()> {
    let options = CloneOptions {
        flush: !args.no_flush,
        set_properties: properties(args.properties),
        exclude_properties: args.exclude,
        keep_offline: args.offline,
    };
    let cloned = source.clone_table(&args.from, &args.to, &options);
    cloned.map_err(|error| suggest_table(source, &args.from, error.into()))?;
    out.object(&json!({"table": args.to, "of": args.from}), String::new)
}

fn set_online(source: &dyn Source, table: &str, online: bool, out: &mut Output) -> Result<()> {
    let set = source.set_online(table, online);
    set.map_err(|error| suggest_table(source, table, error.into()))?;
    out.object(&json!({"table": table, "online": online}), String::new)
}
