//! `import`

use ostrakon_cell::{ErrorKind, Source, TableOptions};

use super::access::find_table;
use crate::args::ImportArgs;
use crate::failure::Result;
use crate::import;
use crate::output::Output;

/// Imports into a table, which is created first if requested.
pub(super) fn run(source: &dyn Source, args: &ImportArgs, out: &mut Output) -> Result<()> {
    let table = match find_table(source, &args.table) {
        Err(failure) if args.create && failure.is_kind(ErrorKind::TableNotFound) => {
            if args.dry_run {
                return import::run(args, None, out);
            }
            source.create_table(&args.table, &TableOptions::default())?;
            find_table(source, &args.table)?
        }
        Err(failure) if failure.is_kind(ErrorKind::TableNotFound) => {
            return Err(failure.with("option", "--create creates the table"));
        }
        found => found?,
    };
    import::run(args, (!args.dry_run).then_some(table), out)
}

/// Checks the files before the store is opened or created.
pub(super) fn look(args: &ImportArgs) -> Result<()> {
    import::look(args)
}

/// Checks the files without a store.
pub(super) fn dry_run(args: &ImportArgs, out: &mut Output) -> Result<()> {
    import::run(args, None, out)
}
