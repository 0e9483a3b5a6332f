//! The command line as plain data.
//!
//! Every command is one struct whose comments are its help; a parser here validates what can be
//! judged without looking at a store, and opens nothing. Help, man pages and completions come from
//! these definitions.

mod cli;
mod entries;
mod events;
mod import;
mod lab;
mod levels;
mod refuse;
#[cfg(feature = "sql")]
mod sql;
mod store;
mod table;
mod values;
mod ycsb;

pub(crate) use cli::{Cli, Command, StoreCommand, parse};
pub(crate) use entries::{
    CellArgs, DeleteArgs, DeleteManyArgs, DeleteRowsArgs, ExportArgs, ExportFormat, PutArgs,
    ScanArgs, Selection,
};
pub(crate) use events::{
    EventsCommand, EventsCreateArgs, EventsIngestArgs, EventsPlanner, EventsQueryArgs,
    EventsQuestion, EventsReader, EventsRows, EventsSource, EventsWhen, QueryPath,
};
pub(crate) use import::{FieldType, ImportArgs, ImportFormat};
pub(crate) use lab::{
    AgitateArgs, BatchWalkArgs, ContinuousCommand, IngestArgs, KeepArgs, LabCommand, MoruArgs,
    Place, RankArgs, ReaderArgs, RunArgs, ScanTestArgs, SettleChoice, StatsArgs, VerifyHow,
    WalkArgs, WriterArgs,
};
pub(crate) use levels::{Level, LevelCommand, NamespaceCommand};
pub(crate) use refuse::refuse;
#[cfg(feature = "sql")]
pub(crate) use sql::{SqlArgs, SqlFormat};
pub(crate) use store::{CheckpointArgs, CompletionsArgs, IteratorsArgs, ManArgs, RepairLogArgs};
pub(crate) use table::{
    CloneArgs, CompactArgs, ConfigCommand, CreateArgs, ImportDirectoryArgs, RowBounds, TableCommand,
};
pub(crate) use values::{Bytes, Property};
pub(crate) use ycsb::{WritesChoice, YcsbArgs, YcsbCommand};
