//! The source contract: how any table is created, configured, written, scanned and administered.
//!
//! Code above this module does not depend on the kind of source: an embedded directory, a server,
//! or a real Accumulo cluster. The contract does not assume shared memory: batches are the unit,
//! writes are submitted and awaited separately (a remote source has many in flight), a scan may be
//! restarted, a table's tablets may move, and a source declares in its [`Capabilities`] what it
//! supports.

mod batch_writer;
mod capabilities;
mod collector;
mod conditional;
mod context;
mod options;
mod properties;
mod reader;
mod report;
mod scanner;
mod traits;

pub use batch_writer::{BatchWriter, BatchWriterConfig};
pub use capabilities::{Capabilities, Capability};
pub use conditional::{Condition, ConditionalMutation, ConditionalStatus};
pub use context::{CallContext, Principal};
pub use options::{
    CloneOptions, CompactOptions, ImportDirectoryOptions, ImportTransfer, LocalityGroups,
    ScanOptions, TableOptions, TimeType, check_row_range,
};
pub use properties::{
    Properties, PropertyChange, PropertyEffect, PropertyInfo, PropertyLevel, PropertyOwner,
    VersionedProperties,
};
pub use reader::{ReaderSource, Reserved};
pub use report::{
    Activity, CheckProblem, CheckReport, ClassInfo, ClassKind, DroppedFile, FailedExtent,
    ImportReport, NamespaceInfo, Problem, Progress, Rejection, RestoredFile, TableInfo, TabletInfo,
    TabletLocation, TabletRows, WriteOutcome,
};
pub use scanner::Scanner;
pub use traits::{BulkWriter, PendingWrite, Scan, Source, Table, Tick};
