//! YCSB: its core workloads on tables, with its property names, key and value sequences, and output.
//!
//! * [`WorkloadProperties`]: YCSB's property files and names, and workloads A to F.
//! * [`CoreWorkload`]: the operations, keys and values. Given the same draws, the sequences are those of YCSB core;
//!   `peers/ycsb` is the program they are compared with.
//! * [`Database`]: what a workload asks of a system; [`TableClient`] asks a table.
//! * [`run_ycsb`]: client threads, throttle, measurements; [`YcsbReport`] prints them as YCSB does.

mod client;
mod database;
mod generators;
mod measurements;
mod naming;
mod properties;
mod random;
mod report;
mod run;
mod table;
mod workload;

pub use database::{Database, FieldValues, Fields, Records, Status};
pub use measurements::{
    Interval, Key, Kind, MeasurementOptions, Measurements, Metric, RawTime, Times,
};
pub use naming::{KeyNames, fnv_hash};
pub use properties::WorkloadProperties;
pub use random::JavaRandom;
pub use report::{OperationFigures, YcsbFigures, YcsbReport};
pub use run::{YcsbOptions, YcsbPhase, check_ycsb, run_ycsb};
pub use table::{TableAccess, TableClient, Writes};
pub use workload::{CoreWorkload, Operation, Session};
