//! Files of the local disk as relations: `SELECT … FROM 'visits.parquet'`.

use std::any::Any;
use std::panic::AssertUnwindSafe;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use datafusion::arrow::error::ArrowError;
use datafusion::catalog::TableProvider;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::json::JsonFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::datasource::source_as_provider;
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::logical_expr::LogicalPlan;
use datafusion::physical_plan::SendableRecordBatchStream;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::prelude::SessionContext;
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use ostrakon_cell::{Error, ErrorKind};
use parking_lot::RwLock;

use crate::error::plain;

/// What a panic becomes while a file is read.
const PANICKED: &str = "the reader of the file failed";

/// Opens files as relations.
#[derive(Debug, Default)]
pub(crate) struct FileTables(OnceLock<Weak<RwLock<SessionState>>>);

impl FileTables {
    /// Connects it with the session whose catalog it belongs to.
    pub(crate) fn connect(&self, context: &SessionContext) {
        // Connected once, right after the session was made.
        let _ = self.0.set(context.state_weak_ref());
    }

    /// The relation of a file.
    ///
    /// # Errors
    /// Another scheme than that of files, an ending without a format, or a file that cannot be read.
    pub(crate) async fn table(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        if name.contains("://") {
            return plan_err!("{name} is not a local file: give a path, such as 'visits.parquet'");
        }
        let ending = Path::new(name)
            .extension()
            .and_then(|ending| ending.to_str());
        let format: Arc<dyn FileFormat> = match ending.map(str::to_ascii_lowercase).as_deref() {
            Some("parquet") => Arc::new(ParquetFormat::default()),
            Some("csv") => Arc::new(CsvFormat::default().with_has_header(true)),
            Some("tsv") => Arc::new(
                CsvFormat::default()
                    .with_has_header(true)
                    .with_delimiter(b'\t'),
            ),
            Some("json" | "jsonl" | "ndjson") => Arc::new(JsonFormat::default()),
            _ => {
                return plan_err!(
                    "{name} is neither a table nor a file of a known kind: a file's name ends in .parquet, .csv, \
                     .tsv, .json, .jsonl or .ndjson"
                );
            }
        };
        let many = name.contains(['*', '?', '[']);
        if !many {
            check(name).map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        let state = self.0.get().and_then(Weak::upgrade);
        let state = state
            .map(|state| state.read().clone())
            .ok_or_else(|| DataFusionError::Plan("the session was closed".to_owned()))?;
        let names = [name.to_owned()];
        let options = ListingOptions::new(format).with_file_extension(
            ending
                .map(|ending| format!(".{ending}"))
                .unwrap_or_default(),
        );
        let config =
            ListingTableConfig::new(ListingTableUrl::parse(name)?).with_listing_options(options);
        // The reader of Parquet panics at some damaged files.
        let inferred = AssertUnwindSafe(config.infer_schema(&state)).catch_unwind();
        let inferred = inferred
            .await
            .unwrap_or_else(|panic| Err(panicked(&*panic)));
        let table = ListingTable::try_new(inferred.map_err(|error| named(error, &names))?)?;
        Ok(Arc::new(table))
    }
}

/// The files that a plan reads, as the statement names them.
pub(crate) fn read_by(plan: &LogicalPlan) -> Result<Vec<String>> {
    let mut files = Vec::new();
    plan.apply_with_subqueries(|node| {
        if let LogicalPlan::TableScan(scan) = node
            && source_as_provider(&scan.source)?.is::<ListingTable>()
        {
            let name = scan.table_name.table().to_owned();
            if !files.contains(&name) {
                files.push(name);
            }
        }
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(files)
}

/// The rows of a query that reads `files`; its errors name them.
pub(crate) fn naming(
    files: Vec<String>,
    rows: SendableRecordBatchStream,
) -> SendableRecordBatchStream {
    if files.is_empty() {
        return rows;
    }
    let schema = rows.schema();
    let rows = AssertUnwindSafe(rows)
        .catch_unwind()
        .map(move |rows| rows.unwrap_or_else(|panic| Err(panicked(&*panic))))
        .map_err(move |error| named(error, &files));
    Box::pin(RecordBatchStreamAdapter::new(schema, rows))
}

fn panicked(panic: &(dyn Any + Send)) -> DataFusionError {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    DataFusionError::Execution(format!("{PANICKED}: {}", message.unwrap_or("no message")))
}

/// An error of reading one of these files; other errors as they are.
fn named(error: DataFusionError, files: &[String]) -> DataFusionError {
    if !is_of_content(&error) {
        return error;
    }
    let (message, name) = match files {
        [_] => ("the file cannot be read", "file"),
        _ => ("one of the files cannot be read", "files"),
    };
    let error = Error::new(ErrorKind::Io, message)
        .with(name, files.join(", "))
        .with("reason", plain(&error.strip_backtrace()));
    DataFusionError::External(Box::new(error))
}

/// Whether other content of a file would not have caused the error.
fn is_of_content(error: &DataFusionError) -> bool {
    match error.find_root() {
        DataFusionError::ParquetError(_) | DataFusionError::ObjectStore(_) => true,
        DataFusionError::ArrowError(error, _) => matches!(
            **error,
            ArrowError::CsvError(_)
                | ArrowError::JsonError(_)
                | ArrowError::ParquetError(_)
                | ArrowError::IpcError(_)
                | ArrowError::ParseError(_)
                | ArrowError::SchemaError(_)
        ),
        // Not an error of the disk that temporary files are on.
        DataFusionError::IoError(error) => !matches!(
            error.kind(),
            std::io::ErrorKind::StorageFull | std::io::ErrorKind::QuotaExceeded
        ),
        DataFusionError::Execution(message) => message.starts_with(PANICKED),
        _ => false,
    }
}

/// Whether there is a file of this name.
fn check(name: &str) -> ostrakon_cell::Result<()> {
    let found = std::fs::metadata(name).map_err(|error| {
        let kind = match error.kind() {
            std::io::ErrorKind::NotFound => ErrorKind::NotFound,
            std::io::ErrorKind::PermissionDenied => ErrorKind::PermissionDenied,
            _ => ErrorKind::Io,
        };
        Error::new(kind, "the file cannot be read")
            .with("file", name)
            .with_source(error)
    })?;
    match found.is_dir() {
        true => Err(Error::new(
            ErrorKind::NotFound,
            "the name is that of a directory: name the files in it, such as 'logs/*.csv'",
        )
        .with("file", name)),
        false => Ok(()),
    }
}
