//! Names the file in errors of reading it.

use std::any::Any;
use std::fmt;
use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;

use datafusion::arrow::error::ArrowError;
use datafusion::common::Result;
use datafusion::common::tree_node::{Transformed, TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::error::DataFusionError;
use datafusion::execution::TaskContext;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{
    DisplayAs, DisplayFormatType, ExecutionPlan, PlanProperties, SendableRecordBatchStream,
};
use futures_util::{FutureExt, StreamExt, TryStreamExt};
use ostrakon_cell::{Error, ErrorKind};

use crate::error::plain;

/// What a panic becomes while a file is read.
const PANICKED: &str = "the reader of the file failed";

/// Files that an error names before it counts the rest.
const SHOWN: usize = 3;

/// The plan with names of files in the errors of its scans of files. An error names the file where
/// it arises: what other nodes make of the values is not a fault of a file.
///
/// # Errors
/// None known.
pub(crate) fn name_files(plan: Arc<dyn ExecutionPlan>) -> Result<Arc<dyn ExecutionPlan>> {
    let named = plan.transform_up(|node| {
        let files = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>())
            .map(files_of);
        Ok(match files {
            Some(files) => {
                let scan: Arc<dyn ExecutionPlan> = Arc::new(NamedScan { scan: node, files });
                Transformed::yes(scan)
            }
            None => Transformed::no(node),
        })
    });
    Ok(named?.data)
}

/// The names of the files of a scan, as they are below the current directory.
fn files_of(scan: &FileScanConfig) -> Arc<str> {
    let below = std::env::current_dir().unwrap_or_default();
    let name = |file: &PartitionedFile| {
        let path = PathBuf::from(format!("/{}", file.object_meta.location));
        let name = path.strip_prefix(&below).unwrap_or(&path);
        name.display().to_string()
    };
    let files = scan.file_groups.iter().flat_map(FileGroup::iter);
    let mut names: Vec<String> = files.map(name).collect();
    // A file may be read in several parts.
    names.sort_unstable();
    names.dedup();
    let more = names.len().saturating_sub(SHOWN);
    names.truncate(SHOWN);
    let shown = names.join(", ");
    match more {
        0 => shown.into(),
        more => format!("{shown} or {more} more").into(),
    }
}

/// A scan of files whose errors name them.
#[derive(Debug)]
struct NamedScan {
    scan: Arc<dyn ExecutionPlan>,
    files: Arc<str>,
}

impl ExecutionPlan for NamedScan {
    fn name(&self) -> &'static str {
        "FileScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        self.scan.properties()
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        vec![&self.scan]
    }

    fn maintains_input_order(&self) -> Vec<bool> {
        vec![true]
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn with_new_children(
        self: Arc<Self>,
        mut children: Vec<Arc<dyn ExecutionPlan>>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let scan = children.pop().ok_or_else(|| {
            DataFusionError::Internal("a scan of files without its source".to_owned())
        })?;
        let files = self.files.clone();
        Ok(Arc::new(Self { scan, files }))
    }

    fn execute(
        &self,
        partition: usize,
        context: Arc<TaskContext>,
    ) -> Result<SendableRecordBatchStream> {
        let files = self.files.clone();
        let rows = self.scan.execute(partition, context);
        let rows = rows.map_err(|error| named(error, &files))?;
        let schema = rows.schema();
        let rows = AssertUnwindSafe(rows)
            .catch_unwind()
            .map(|rows| rows.unwrap_or_else(|panic| Err(panicked(&*panic))))
            .map_err(move |error| named(error, &files));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

impl DisplayAs for NamedScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileScan: files={}", self.files)
    }
}

/// What a future comes to. The reader of Parquet panics at some damaged files.
pub(super) async fn caught<T>(future: impl Future<Output = Result<T>>) -> Result<T> {
    let outcome = AssertUnwindSafe(future).catch_unwind().await;
    outcome.unwrap_or_else(|panic| Err(panicked(&*panic)))
}

fn panicked(panic: &(dyn Any + Send)) -> DataFusionError {
    let message = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied());
    DataFusionError::Execution(format!("{PANICKED}: {}", message.unwrap_or("no message")))
}

/// An error of reading files; other errors as they are.
pub(super) fn named(error: DataFusionError, files: &str) -> DataFusionError {
    let (kind, message) = match kind_of(&error) {
        Some(ErrorKind::Io) => (ErrorKind::Io, "the file cannot be read"),
        Some(kind) => (
            kind,
            "the file has content that cannot be read: correct it, or leave the file out",
        ),
        None => return error,
    };
    let reason = plain(&error.strip_backtrace());
    let error = Error::new(kind, message)
        .with("file", files)
        .with("reason", reason);
    let error = match kind {
        ErrorKind::Io => error,
        _ => error.with("data", "a file"),
    };
    DataFusionError::External(Box::new(error))
}

/// Whether an error is due to the content of a file, or to the disk. The engine evaluates some
/// conditions and expressions within the scan; their errors are due to neither.
fn kind_of(error: &DataFusionError) -> Option<ErrorKind> {
    let is_of_content = match error.find_root() {
        DataFusionError::ParquetError(_) => true,
        DataFusionError::ArrowError(error, _) => match &**error {
            ArrowError::CsvError(_)
            | ArrowError::JsonError(_)
            | ArrowError::ParquetError(_)
            | ArrowError::IpcError(_)
            | ArrowError::SchemaError(_) => true,
            // A cast has errors of this kind, too; this is what the reader of CSV says.
            ArrowError::ParseError(message) => message.starts_with("Error while parsing value"),
            _ => false,
        },
        DataFusionError::Execution(message) => message.starts_with(PANICKED),
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => {
            return Some(ErrorKind::Io);
        }
        _ => false,
    };
    is_of_content.then_some(ErrorKind::InvalidArgument)
}
