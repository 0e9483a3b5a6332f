//! `import`

use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Source, Table, TableOptions};

use super::access::{Absent, Access, find_table, refuse_events, refuse_records};
use crate::args::ImportArgs;
use crate::failure::Result;
use crate::import::{self, Destination, Screen};
use crate::output::Output;

/// Imports into the store of `access`, which is opened for the first record. An import that has nothing
/// to write leaves nothing behind, and one that waits for a pipe does not keep the store from the program
/// that writes to the pipe.
pub(super) fn run_in(access: &Access, args: &ImportArgs, out: &mut Output) -> Result<()> {
    import::look(args)?;
    if args.dry_run && access.directory().is_err() {
        return import::run(args, Destination::Nothing(None), out);
    }
    let has_store = access.has_store()?;
    if access.is_read_only() || !(args.create || has_store) {
        return access.with_store(Absent::Refuse, |source| run(&*source, args, out));
    }
    access.rehearse(|source| Ok(source.create_table(&args.table, &TableOptions::default())?))?;
    if args.dry_run {
        let mut screen = None;
        if has_store {
            let reading = access.for_reading();
            screen = reading.with_store(Absent::Refuse, |source| {
                screen_of(find(&*source, args)?.as_deref())
            })?;
        }
        return import::run(args, Destination::Nothing(screen), out);
    }
    let absent = match args.create {
        true => Absent::Create,
        false => Absent::Refuse,
    };
    let imported = access.with_store_on_demand(absent, |open| {
        let mut table = || {
            let source = open()?;
            match find(&*source, args)? {
                Some(table) => Ok(table),
                None => create(&*source, &args.table),
            }
        };
        import::run(args, Destination::Table(&mut table), out)
    });
    imported.map_err(|failure| {
        if failure.is_kind(ErrorKind::Locked) && import::reads_pipe(args) {
            failure.next(
                "if the command that writes to the pipe uses the same store, let it write to a file and \
                 import the file; otherwise wait longer with --wait SECONDS",
            )
        } else {
            failure
        }
    })
}

/// Imports into a table, which is created for the first record if requested.
pub(super) fn run(source: &dyn Source, args: &ImportArgs, out: &mut Output) -> Result<()> {
    let found = find(source, args)?;
    if args.dry_run {
        return import::run(
            args,
            Destination::Nothing(screen_of(found.as_deref())?),
            out,
        );
    }
    let mut table = || match &found {
        Some(table) => Ok(Arc::clone(table)),
        None => create(source, &args.table),
    };
    import::run(args, Destination::Table(&mut table), out)
}

/// The constraints of a table that exists.
fn screen_of(table: Option<&dyn Table>) -> Result<Option<Screen>> {
    table.map_or(Ok(None), Screen::of)
}

/// The table; `None` if it does not exist and may be created.
fn find(source: &dyn Source, args: &ImportArgs) -> Result<Option<Arc<dyn Table>>> {
    match find_table(source, &args.table) {
        Err(failure) if args.create && failure.is_kind(ErrorKind::TableNotFound) => Ok(None),
        Err(failure) if failure.is_kind(ErrorKind::TableNotFound) => {
            let next = match failure.suggestion() {
                Some(similar) => format!("{similar} Or create the table with --create"),
                None => {
                    "create the table with --create, or run `ostrakon table list` to see the tables"
                        .into()
                }
            };
            Err(failure.next(next))
        }
        Ok(table) => {
            refuse_events(source, &args.table)?;
            if args.entries {
                return Ok(Some(table));
            }
            refuse_records(
                &*table,
                "read the file in SQL: `ostrakon sql -c \"INSERT INTO TABLE SELECT … FROM 'FILE'\"`; --entries imports \
                 what `ostrakon export` wrote",
            )?;
            Ok(Some(table))
        }
        Err(failure) => Err(failure),
    }
}

/// The table, which is created unless another process was faster.
fn create(source: &dyn Source, name: &str) -> Result<Arc<dyn Table>> {
    match source.create_table(name, &TableOptions::default()) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => find_table(source, name),
    }
}
