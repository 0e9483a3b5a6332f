//! `events …`: typed log records with an index and counts.

mod concerned;
mod directory;
mod follow;
mod followed;
mod form;
mod ingest;
mod logs;
#[cfg(feature = "parquet")]
mod parquet;
mod query;
mod show;
mod types;

pub(super) use concerned::Concerned;
use ostrakon_events::{EventStore, EventType};

use super::access::{Absent, Access};
use crate::args::EventsCommand;
use crate::failure::Result;
use crate::output::Output;

/// Runs one of the commands.
pub(super) fn run(access: &Access, command: EventsCommand, out: &mut Output) -> Result<()> {
    match &command {
        EventsCommand::Create(args) if args.print => return types::print(args, out),
        EventsCommand::Create(args) if args.adopt => {
            let definition = types::definition(args)?;
            return access.with_store(Absent::Refuse, |source| {
                types::adopt(&EventStore::new(source), &definition, out)
            });
        }
        EventsCommand::Create(args) => return create(access, &types::definition(args)?, out),
        EventsCommand::Ingest(args) if args.follow.is_some() => {
            let access = Access {
                restricted: true,
                ..access.clone()
            };
            return follow::run(&access, args, out);
        }
        EventsCommand::Ingest(args) => {
            let access = Access {
                restricted: true,
                ..access.clone()
            };
            return ingest::run(&access, args, out);
        }
        _ => {}
    }
    let access = Access {
        reads: reads_only(&command),
        restricted: is_restricted(&command),
        ..access.clone()
    };
    access.with_store(Absent::Refuse, |source| {
        on_store(&EventStore::new(source), command, out)
    })
}

/// Creates a type; a failure leaves no new store behind.
fn create(access: &Access, definition: &EventType, out: &mut Output) -> Result<()> {
    access.rehearse_shared(|source| {
        EventStore::new(source)
            .create(definition)
            .map(drop)
            .map_err(Into::into)
    })?;
    access.with_store(Absent::Create, |source| {
        types::create(&EventStore::new(source), definition, out)
    })
}

/// Whether a command changes nothing.
fn reads_only(command: &EventsCommand) -> bool {
    matches!(
        command,
        EventsCommand::List
            | EventsCommand::Show { .. }
            | EventsCommand::Query(_)
            | EventsCommand::Histogram { .. }
            | EventsCommand::Top { .. }
            | EventsCommand::Explain { .. }
            | EventsCommand::Check { .. }
    )
}

/// Whether a command is for readers of events. What the store does meanwhile counts the events that they do not see.
/// Those that create, change and drop types are for administrators.
fn is_restricted(command: &EventsCommand) -> bool {
    !matches!(
        command,
        EventsCommand::Create(_) | EventsCommand::Edit { .. } | EventsCommand::Drop { .. }
    )
}

fn on_store(store: &EventStore, command: EventsCommand, out: &mut Output) -> Result<()> {
    match command {
        // `run` has taken them.
        EventsCommand::Create(_) | EventsCommand::Ingest(_) => Ok(()),
        EventsCommand::Edit { name, schema } => types::edit(store, &name, &schema, out),
        EventsCommand::List => types::list(store, out),
        EventsCommand::Show { name } => types::show(store, &name, out),
        EventsCommand::Drop { name, yes } => types::drop_type(store, &name, yes, out),
        EventsCommand::Query(args) => query::run(store, args, out),
        EventsCommand::Histogram {
            question,
            by,
            count_by,
        } => query::histogram(store, &question, &by, count_by.into(), out),
        EventsCommand::Top {
            name,
            field,
            expression,
            limit,
            when,
        } => query::top(
            store,
            &name,
            &field,
            expression.as_deref(),
            limit,
            &when,
            out,
        ),
        EventsCommand::Explain {
            question,
            path,
            analyze,
            planner,
        } => query::explain(store, &question, (path.path, &planner), analyze, out),
        EventsCommand::Calibrate { name, when } => query::calibrate(store, &name, &when, out),
        EventsCommand::Delete { question, yes } => query::delete(store, &question, yes, out),
        EventsCommand::AgeOff {
            name,
            before,
            authorizations,
            yes,
        } => types::age_off(store, &name, before.as_deref(), (authorizations, yes), out),
        EventsCommand::Check { name, reader } => query::check(store, &name, reader, out),
        EventsCommand::Repair { name, reader } => query::repair(store, &name, reader, out),
    }
}
