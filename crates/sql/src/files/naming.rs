//! Names the file in errors of reading it.

use std::fmt;
use std::path::{Path, PathBuf};
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
use futures_util::TryStreamExt;
use ostrakon_cell::{Error, ErrorKind};

use super::local::path_at;
use super::panics::{Caught, PANICKED};
use super::text::DAMAGED;
use crate::error::plain;

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

/// The path of a file of a scan.
pub(super) fn path_of(file: &PartitionedFile) -> PathBuf {
    path_at(&file.object_meta.location)
}

/// A file as it is below the current directory.
pub(super) fn shown(path: &Path) -> String {
    let below = std::env::current_dir().unwrap_or_default();
    let name = path.strip_prefix(&below).unwrap_or(path);
    name.display().to_string()
}

/// The names of the files of a scan.
fn files_of(scan: &FileScanConfig) -> Arc<str> {
    let files = scan.file_groups.iter().flat_map(FileGroup::iter);
    let mut names: Vec<String> = files.map(|file| shown(&path_of(file))).collect();
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
        Ok(Arc::new(Self {
            scan,
            files: self.files.clone(),
        }))
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
        let rows = Caught::new(rows).map_err(move |error| named(error, &files));
        Ok(Box::pin(RecordBatchStreamAdapter::new(schema, rows)))
    }
}

impl DisplayAs for NamedScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "FileScan: files={}", self.files)
    }
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
    let reason = in_words(plain(&error.strip_backtrace()));
    let error = Error::new(kind, message)
        .with("file", files)
        .with("reason", reason);
    let error = match kind {
        ErrorKind::Io => error,
        _ => error.with("data", "a file"),
    };
    DataFusionError::External(Box::new(error))
}

/// What the readers of text files say, in words that a user of the file knows.
fn in_words(reason: String) -> String {
    const FIELDS: &str =
        "Csv error: Encountered unequal lengths between records on CSV file. Expected ";
    const OBJECTS: &str = "Json error: Not valid JSON: ";
    let fields = reason.strip_prefix(FIELDS).and_then(|rest| {
        let (wanted, rest) = rest.split_once(" records, found ")?;
        let (found, line) = rest.split_once(" records at line ")?;
        Some(format!(
            "line {line} has the wrong number of fields: {found} instead of {wanted}"
        ))
    });
    let objects = || {
        let rest = reason.strip_prefix(OBJECTS)?;
        Some(format!("a line is not one JSON object: {rest}"))
    };
    fields.or_else(objects).unwrap_or(reason)
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
            ArrowError::ParseError(message) => {
                ["Error while parsing value", "Error parsing column"]
                    .iter()
                    .any(|start| message.starts_with(start))
            }
            _ => false,
        },
        DataFusionError::Execution(message) => message == PANICKED || message.starts_with(DAMAGED),
        DataFusionError::ObjectStore(_) | DataFusionError::IoError(_) => {
            return Some(ErrorKind::Io);
        }
        _ => false,
    };
    is_of_content.then_some(ErrorKind::InvalidArgument)
}
