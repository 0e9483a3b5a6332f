//! `import`

use std::sync::Arc;

use ostrakon_cell::{ErrorKind, Source, Table, TableOptions};

use super::access::{Absent, Access, find_table};
use crate::args::ImportArgs;
use crate::failure::Result;
use crate::import;
use crate::output::Output;

/// Imports into the store of `access`. With `--create`, a store or table that is not there is created
/// for the first record: an import that has nothing to write leaves nothing behind.
pub(super) fn run_in(access: &Access, args: &ImportArgs, out: &mut Output) -> Result<()> {
    import::look(args)?;
    if args.dry_run && access.directory().is_err() {
        return import::run(args, None, out);
    }
    if !args.create || access.is_read_only() || access.has_store()? {
        return access.with_store(Absent::Refuse, |source| run(&*source, args, out));
    }
    access.rehearse(|source| Ok(source.create_table(&args.table, &TableOptions::default())?))?;
    if args.dry_run {
        return import::run(args, None, out);
    }
    access.with_store_on_demand(|open| {
        let mut table = || create(&*open()?, &args.table);
        import::run(args, Some(&mut table), out)
    })
}

/// Imports into a table, which is created first if requested.
pub(super) fn run(source: &dyn Source, args: &ImportArgs, out: &mut Output) -> Result<()> {
    let found = match find_table(source, &args.table) {
        Err(failure) if args.create && failure.is_kind(ErrorKind::TableNotFound) => None,
        Err(failure) if failure.is_kind(ErrorKind::TableNotFound) => {
            let next = match failure.suggestion() {
                Some(similar) => format!("{similar} Or create the table with --create"),
                None => {
                    "create the table with --create, or run `ostrakon table list` to see the tables"
                        .into()
                }
            };
            return Err(failure.next(next));
        }
        found => Some(found?),
    };
    if args.dry_run {
        return import::run(args, None, out);
    }
    let mut table = || match &found {
        Some(table) => Ok(Arc::clone(table)),
        None => create(source, &args.table),
    };
    import::run(args, Some(&mut table), out)
}

/// The table, which is created unless another process was faster.
fn create(source: &dyn Source, name: &str) -> Result<Arc<dyn Table>> {
    match source.create_table(name, &TableOptions::default()) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error.into()),
        _ => find_table(source, name),
    }
}
