//! The relation of files, none of which may be missing.
//!
//! The engine lists the files again when it plans a scan, and leaves those out that are gone or empty by then. A query would
//! take them for files without rows, and `DELETE … WHERE k NOT IN (SELECT k FROM 'file')` would delete everything.

use std::collections::HashSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::Result;
use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::datasource::listing::ListingTable;
use datafusion::datasource::physical_plan::{FileGroup, FileScanConfig};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::source_as_provider;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableSource, TableType};
use datafusion::physical_plan::ExecutionPlan;
use futures_util::TryFutureExt;
use futures_util::future::BoxFuture;
use ostrakon_cell::{Error, ErrorKind};

use super::naming::{named, path_of, shown};
use super::pattern::{Found, unreadable};
use crate::scan::planned_scan;

/// Files that were found for a name.
#[derive(Debug)]
pub(super) struct FileRelation {
    pub(super) table: ListingTable,
    pub(super) found: Vec<Found>,
    /// The name in the query.
    pub(super) name: String,
    pub(super) has_own_nulls: bool,
}

/// Whether those fields of a relation's structs that may be NULL are NULL where the struct is. So it is in one Parquet file,
/// which has no values there, and in several in which the same fields may be NULL.
pub(crate) fn has_own_nulls(source: &Arc<dyn TableSource>) -> bool {
    let provider = source_as_provider(source);
    provider.is_ok_and(|provider| {
        let files = provider.downcast_ref::<FileRelation>();
        files.is_some_and(|files| files.has_own_nulls)
    })
}

impl FileRelation {
    /// The plan of a scan.
    fn plan<'a>(
        &'a self,
        state: &'a dyn Session,
        projection: Option<&'a Vec<usize>>,
        filters: &'a [Expr],
        limit: Option<usize>,
    ) -> BoxFuture<'a, Result<Arc<dyn ExecutionPlan>>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Box::pin(self.plan_with(state, args).map_ok(ScanResult::into_inner))
    }

    /// The plan of a scan with these arguments. A method without bounds, as `scan/planned.rs` explains.
    fn plan_with<'a>(
        &'a self,
        state: &'a dyn Session,
        args: ScanArgs<'a>,
    ) -> BoxFuture<'a, Result<ScanResult>> {
        Box::pin(async move {
            // With a limit, the first files may have enough rows.
            let has_all = args.limit().is_none();
            let scan = self.table.scan_with_args(state, args).await;
            let scan = scan.map_err(|error| named(error, &self.name))?;
            // After the list was made, so that a file which is gone now is missed.
            self.found.iter().try_for_each(still_there)?;
            let listed = listed(scan.plan())?;
            let mut wanted = self.found.iter().filter(|found| found.bytes > 0);
            match wanted.find(|found| has_all && !listed.contains(&found.path)) {
                Some(missing) => Err(lost(&missing.path, CHANGED)),
                None => Ok(scan),
            }
        })
    }
}

impl TableProvider for FileRelation {
    fn schema(&self) -> SchemaRef {
        self.table.schema()
    }

    fn table_type(&self) -> TableType {
        self.table.table_type()
    }

    fn supports_filters_pushdown(
        &self,
        filters: &[&Expr],
    ) -> Result<Vec<TableProviderFilterPushDown>> {
        self.table.supports_filters_pushdown(filters)
    }

    planned_scan!(std::convert::identity);

    fn scan_with_args<'args, 'table, 'state, 'plan>(
        &'table self,
        state: &'state dyn Session,
        args: ScanArgs<'args>,
    ) -> BoxFuture<'plan, Result<ScanResult>>
    where
        'args: 'plan,
        'table: 'plan,
        'state: 'plan,
        Self: 'plan,
    {
        self.plan_with(state, args)
    }
}

/// Why files of a query are missing.
const CHANGED: &str = "the file was removed, emptied or cut off while the query began: run the query again once the file is complete";

/// The files that a plan reads.
fn listed(plan: &Arc<dyn ExecutionPlan>) -> Result<HashSet<PathBuf>> {
    let mut files = HashSet::new();
    plan.apply(|node| {
        let scan = node
            .downcast_ref::<DataSourceExec>()
            .and_then(|scan| scan.data_source().downcast_ref::<FileScanConfig>());
        // A file may be read in several parts.
        let groups = scan.map_or(&[][..], |scan| &scan.file_groups);
        files.extend(groups.iter().flat_map(FileGroup::iter).map(path_of));
        Ok(TreeNodeRecursion::Continue)
    })?;
    Ok(files)
}

/// Fails if a file is gone, or has less content than it had. Logs grow.
pub(super) fn still_there(found: &Found) -> Result<()> {
    match fs::metadata(&found.path) {
        Ok(now) if now.len() >= found.bytes => Ok(()),
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            let error = unreadable(&found.path, error);
            Err(DataFusionError::External(Box::new(error)))
        }
        _ => Err(lost(&found.path, CHANGED)),
    }
}

/// The error about a file that was changed under a query.
pub(super) fn lost(path: &Path, what: &'static str) -> DataFusionError {
    let error = Error::new(ErrorKind::ConcurrentModification, what).with("file", shown(path));
    DataFusionError::External(Box::new(error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn files_that_are_gone_or_emptied_are_missed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let found = |bytes| Found {
            path: path.clone(),
            bytes,
        };
        assert!(still_there(&found(0)).is_err());
        fs::write(&path, "a\n1\n").unwrap();
        still_there(&found(4)).unwrap();
        still_there(&found(2)).unwrap();
        assert!(still_there(&found(5)).is_err());
        fs::write(&path, "").unwrap();
        still_there(&found(0)).unwrap();
        let error = still_there(&found(4)).unwrap_err().to_string();
        assert!(
            error.contains("emptied") && error.contains("a.csv"),
            "{error}"
        );
    }
}
