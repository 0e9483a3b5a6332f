//! Events in tables: typed log records with an index and counts, and a planner for conditions over time.
//!
//! * **Types**: [`EventType`], inferred from records or written as TOML; [`EventStore`] keeps them in a table.
//! * **Ingest**: [`EventStore::ingest`] writes three tables per type, exactly once.
//! * **Reading logs**: [`detect`], [`unpack`], [`open_log`], [`rename_fields`], [`enrich`].
//! * **Queries**: [`parse_condition`], [`EventStore::query`], [`query_then`](EventStore::query_then),
//!   [`explain`](EventStore::explain),
//!   [`histogram`](EventStore::histogram), [`top`](EventStore::top), [`calibrate`](EventStore::calibrate).
//! * **Upkeep**: [`delete`](EventStore::delete), [`age_off`](EventStore::age_off), [`check`](EventStore::check),
//!   [`repair`](EventStore::repair).
//! * **After a loss**: [`types_concerned`], [`recover`](EventStore::recover),
//!   [`adopt`](EventStore::adopt).
//!
//! Not here: JSON, plots, directories.

mod condition;
mod event_type;
mod ingest;
mod iterators;
mod layout;
mod ledger;
mod lost;
mod parse;
mod query;
mod record;
mod rejects;
mod similar;
mod store;
mod time;
mod upkeep;
mod value;

pub use condition::{Condition, Operator, parse_condition};
pub use event_type::{
    Epoch, EqualRecords, EventType, Field, UnlikeFields, check_type_name, field_name, infer,
    infer_log,
};
pub use ingest::{
    BEGINNING_BYTES, Ingest, IngestOptions, IngestReport, LogPart, LogReader, LogRest, LogText,
    RejectedLine,
};
pub use iterators::register_event_iterators;
pub use lost::{ConcernedType, types_concerned};
pub use parse::{
    Directives, Lines, LogFormat, LookupTable, RecordSource, Step, detect, enrich, open_log,
    rename_fields, unpack, wide_encoding,
};
pub use query::{
    Calibration, CountPath, Event, Explanation, FollowUp, Outcome, Path, PlannerSettings, Query,
    TestDensity, TopValues, ValueCount,
};
pub use record::Record;
pub use rejects::{REJECTS_HEADER, takes_rejects};
pub use store::{
    EventStore, check_entries_not_of_events, check_inherited_by_events,
    check_namespace_not_of_events, check_not_of_events, has_batch_numbers, may_change_entries,
    reserved_to_events,
};
pub use time::{parse_moment, parse_span, parse_time, show_span, show_time};
pub use upkeep::{AgeOff, Disagreement, EventCheck, Repair};
pub use value::FieldType;
