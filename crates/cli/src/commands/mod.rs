//! The commands. Each works on a source of tables, and shows its result.

mod access;
mod activity;
mod complete;
mod confirm;
mod damage;
mod delete;
mod dispatch;
mod events;
mod export;
mod figures;
mod import;
mod itself;
mod lab;
mod lab_progress;
mod lab_rank;
mod lab_rig;
mod lab_storage;
mod lab_summary;
mod lab_ycsb;
mod levels;
mod put;
mod rows;
mod scan;
#[cfg(feature = "sql")]
mod sql;
mod store;
mod table;
mod table_config;
mod table_show;
mod table_status;

#[cfg(test)]
mod syncs_tests;
#[cfg(test)]
mod tests;

pub(crate) use complete::{event_types, table_names};
pub(crate) use dispatch::run;
