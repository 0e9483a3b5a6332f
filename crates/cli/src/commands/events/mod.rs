//! `events …`: typed log records with an index and counts.

mod ingest;
mod json;
mod logs;
mod query;
mod show;
mod types;

use ostrakon_events::EventStore;

use super::access::{Absent, Access};
use crate::args::EventsCommand;
use crate::failure::Result;
use crate::output::Output;

/// Runs one of the commands.
pub(super) fn run(access: &Access, command: EventsCommand, out: &mut Output) -> Result<()> {
    if let EventsCommand::Create(args) = &command
        && args.print
    {
        return types::print(args, out);
    }
    let absent = match &command {
        EventsCommand::Create(_) => Absent::Create,
        _ => Absent::Refuse,
    };
    let access = match reads_only(&command) {
        true => access.for_reading(),
        false => access.clone(),
    };
    access.with_store(absent, |source| {
        on_store(&EventStore::new(source), command, out)
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

fn on_store(store: &EventStore, command: EventsCommand, out: &mut Output) -> Result<()> {
    match command {
        EventsCommand::Create(args) => types::create(store, &args, out),
        EventsCommand::Edit { name, schema } => types::edit(store, &name, &schema, out),
        EventsCommand::List => types::list(store, out),
        EventsCommand::Show { name } => types::show(store, &name, out),
        EventsCommand::Drop { name, yes } => types::drop_type(store, &name, yes, out),
        EventsCommand::Ingest(args) => ingest::run(store, &args, out),
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
        EventsCommand::Explain { question, analyze } => {
            query::explain(store, &question, analyze, out)
        }
        EventsCommand::Calibrate { name, when } => query::calibrate(store, &name, &when, out),
        EventsCommand::Delete { question, yes } => query::delete(store, &question, yes, out),
        EventsCommand::AgeOff { name, before } => {
            types::age_off(store, &name, before.as_deref(), out)
        }
        EventsCommand::Check { name, when } => query::check(store, &name, &when, out),
        EventsCommand::Repair { name, when } => query::repair(store, &name, &when, out),
    }
}
