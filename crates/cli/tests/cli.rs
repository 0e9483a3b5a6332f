//! The real program: exit codes, streams, signals, and every command on a store in a directory.
#![allow(
    clippy::unwrap_used,
    clippy::print_stderr,
    missing_docs,
    reason = "tests fail by panicking, say what they skip, and need no manual"
)]

#[path = "cli/advice.rs"]
mod advice;
#[path = "cli/changes.rs"]
mod changes;
#[path = "cli/codes.rs"]
mod codes;
#[path = "cli/completions.rs"]
mod completions;
#[path = "cli/entries.rs"]
mod entries;
#[path = "cli/event_files.rs"]
mod event_files;
#[path = "cli/event_losses.rs"]
mod event_losses;
#[path = "cli/event_messages.rs"]
mod event_messages;
#[path = "cli/event_names.rs"]
mod event_names;
#[path = "cli/event_types.rs"]
mod event_types;
#[path = "cli/events.rs"]
mod events;
#[path = "cli/exact.rs"]
mod exact;
#[path = "cli/follow.rs"]
mod follow;
#[path = "cli/formats.rs"]
mod formats;
#[path = "cli/help.rs"]
mod help;
#[path = "cli/import.rs"]
mod import;
#[path = "cli/import_entries.rs"]
mod import_entries;
#[path = "cli/kills.rs"]
mod kills;
#[path = "cli/lab.rs"]
mod lab;
#[path = "cli/lab_queries.rs"]
mod lab_queries;
#[path = "cli/lab_ycsb.rs"]
mod lab_ycsb;
#[path = "cli/leftovers.rs"]
mod leftovers;
#[path = "cli/lending.rs"]
mod lending;
#[path = "cli/logs.rs"]
mod logs;
#[path = "cli/memory.rs"]
mod memory;
#[path = "cli/mistakes.rs"]
mod mistakes;
#[path = "cli/noninterference.rs"]
mod noninterference;
#[path = "cli/packages.rs"]
mod packages;
#[path = "cli/pages.rs"]
mod pages;
#[path = "cli/resident.rs"]
mod resident;
#[path = "cli/run.rs"]
mod run;
#[path = "cli/shell.rs"]
mod shell;
#[path = "cli/signals.rs"]
mod signals;
#[cfg(feature = "sql")]
#[path = "cli/sql.rs"]
mod sql;
#[cfg(feature = "sql")]
#[path = "cli/sql_csv.rs"]
mod sql_csv;
#[path = "cli/sql_files.rs"]
mod sql_files;
#[path = "cli/store.rs"]
mod store;
#[path = "cli/streams.rs"]
mod streams;
#[path = "cli/system_calls.rs"]
mod system_calls;
#[path = "cli/table.rs"]
mod table;
#[path = "cli/targets.rs"]
mod targets;
