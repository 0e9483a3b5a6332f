//! Runs the command that the command line names.

use ostrakon_cell::{ErrorKind, Source};
use tracing_subscriber::EnvFilter;

use super::access::{Absent, Access};
use super::table::NewTable;
use super::{delete, events, export, import, itself, lab, levels, put, scan, store, table};
use crate::args::{
    Cli, Command, ConfigCommand, LevelCommand, NamespaceCommand, StoreCommand, TableCommand,
};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Runs the command line.
pub(crate) fn run(cli: Cli) -> Result<()> {
    start_log(cli.verbose)?;
    let access = access(&cli);
    let mut out = Output::stdout(cli.json);
    let outcome = dispatch(&access, cli.command, &mut out);
    // Show partial results even after a failure; report the first failure.
    let shown = out.finish();
    outcome.and(shown)
}

/// How to open the store, according to the command line.
pub(super) fn access(cli: &Cli) -> Access {
    Access {
        data: cli.data.clone(),
        memory: cli.memory,
        read_only: cli.read_only,
        allow_damage: cli.allow_damage,
        accept_log_loss: false,
        wait: cli.wait,
        reads: false,
        restricted: false,
    }
}

/// How to open the store for one command.
pub(super) fn access_of(access: &Access, command: &StoreCommand) -> Access {
    Access {
        reads: reads_only(command),
        restricted: matches!(
            command,
            StoreCommand::Scan(_)
                | StoreCommand::Get(_)
                | StoreCommand::Export(_)
                | StoreCommand::DeleteMany(_)
        ),
        // `check` must open a damaged store to report the damage.
        allow_damage: access.allow_damage || matches!(command, StoreCommand::Check),
        ..access.clone()
    }
}

fn dispatch(access: &Access, command: Command, out: &mut Output) -> Result<()> {
    match command {
        Command::Store(StoreCommand::Import(args)) => import::run_in(access, &args, out),
        Command::Store(StoreCommand::Table(TableCommand::Create(args))) => {
            let new = NewTable::new(args)?;
            access.create(|source| new.create(source))?;
            new.show(out)
        }
        Command::Store(StoreCommand::Namespace(NamespaceCommand::Create { name })) => {
            access.create(|source| Ok(source.create_namespace(&name)?))?;
            levels::show_created(&name, out)
        }
        Command::Store(command) => {
            let access = access_of(access, &command);
            let deletes = matches!(
                command,
                StoreCommand::Table(TableCommand::Delete { .. }) | StoreCommand::DeleteRows(_)
            );
            if let StoreCommand::DeleteRows(args) = &command {
                delete::check_rows(args)?;
            }
            access
                .with_store(absent(&command), |source| on_source(&*source, command, out))
                .map_err(|failure| {
                    if deletes {
                        room_to_delete(failure)
                    } else {
                        failure
                    }
                })
        }
        Command::Events(command) => events::run(access, command, out),
        #[cfg(feature = "sql")]
        Command::Sql(args) => super::sql::run(access, &args, out),
        #[cfg(not(feature = "sql"))]
        Command::Sql { .. } => Err(Failure::usage("this program was built without SQL")
            .next("build it with its default features: `cargo install ostrakon-cli`")),
        Command::Lab(command) => lab::run(access, command, out),
        Command::RepairLog(args) => store::repair_log(access, &args, out),
        Command::Completions(args) => itself::completions(&args, out),
        Command::Man(args) => itself::man(&args, out),
    }
}

/// Says what to do if a deletion finds the disk full.
fn room_to_delete(failure: Failure) -> Failure {
    match failure.is_kind(ErrorKind::OutOfSpace) {
        true => failure.next(
            "free 1 MiB outside of the store, such as a log or an old export, and run the command again: the log and \
             the catalog need room to record a deletion",
        ),
        false => failure,
    }
}

/// Whether a command changes nothing, whatever its options.
fn reads_only(command: &StoreCommand) -> bool {
    match command {
        StoreCommand::Scan(_)
        | StoreCommand::Get(_)
        | StoreCommand::Tables { .. }
        | StoreCommand::Export(_)
        | StoreCommand::Check
        | StoreCommand::Iterators(_)
        | StoreCommand::Namespace(NamespaceCommand::List)
        | StoreCommand::Config(LevelCommand::Get { .. }) => true,
        StoreCommand::Table(command) => matches!(
            command,
            TableCommand::List { .. }
                | TableCommand::Splits { .. }
                | TableCommand::Tablets { .. }
                | TableCommand::Locate { .. }
                | TableCommand::Du { .. }
                | TableCommand::Status { tried: false, .. }
                | TableCommand::Config(ConfigCommand::Get { .. })
        ),
        _ => false,
    }
}

/// Only commands that create tables create a store.
pub(super) fn absent(command: &StoreCommand) -> Absent {
    match command {
        StoreCommand::Table(TableCommand::Create(_))
        | StoreCommand::Namespace(NamespaceCommand::Create { .. }) => Absent::Create,
        _ => Absent::Refuse,
    }
}

/// Runs a command on any source.
pub(super) fn on_source(
    source: &dyn Source,
    command: StoreCommand,
    out: &mut Output,
) -> Result<()> {
    match command {
        StoreCommand::Table(command) => table::run(source, command, out),
        StoreCommand::Namespace(command) => levels::namespace(source, command, out),
        StoreCommand::Config(command) => levels::config(source, command, out),
        StoreCommand::Put(args) => put::run(source, &args, out),
        StoreCommand::Delete(args) => delete::cell(source, &args, out),
        StoreCommand::DeleteMany(args) => delete::many(source, args, out),
        StoreCommand::DeleteRows(args) => delete::rows(source, &args, out),
        StoreCommand::Scan(args) => scan::run(source, *args, out),
        StoreCommand::Get(args) => scan::run(source, args.into(), out),
        StoreCommand::Tables { long } => table::run(source, TableCommand::List { long }, out),
        StoreCommand::Import(args) => import::run(source, &args, out),
        StoreCommand::Export(args) => export::run(source, *args, out),
        StoreCommand::Checkpoint(args) => store::checkpoint(source, &args, out),
        StoreCommand::Check => store::check(source, out),
        StoreCommand::Iterators(args) => store::iterators(source, &args, out),
    }
}

/// Starts logging to stderr, filtered by `OSTRAKON_LOG` if set, else by the number of `-v`.
fn start_log(verbose: u8) -> Result<()> {
    let filter = match std::env::var("OSTRAKON_LOG") {
        Ok(filter) => EnvFilter::try_new(&filter).map_err(|error| {
            Failure::usage("OSTRAKON_LOG is not a valid filter")
                .with("reason", error.to_string())
                .next(
                    "use a level (warn, info, debug), or a list such as ostrakon_store=debug,warn",
                )
        })?,
        Err(_) => EnvFilter::new(match verbose {
            0 => "warn",
            1 => "info",
            _ => "debug",
        }),
    };
    let plain = std::env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let colours = !plain && std::io::IsTerminal::is_terminal(&std::io::stderr());
    let log = tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .with_writer(std::io::stderr);
    // Logging that was already started (in tests) stays.
    let _ = log.try_init();
    Ok(())
}
