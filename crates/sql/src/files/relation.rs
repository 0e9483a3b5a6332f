//! The relation of files, none of which may be missing.
//!
//! The engine lists the files again when it plans a scan, and leaves those out that are gone or empty by then. A query would
//! take them for files without rows, and `DELETE … WHERE k NOT IN (SELECT k FROM 'file')` would delete everything.

use std::fs;
use std::io;
use std::path::Path;
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::SchemaRef;
use datafusion::catalog::{ScanArgs, ScanResult, Session, TableProvider};
use datafusion::common::Result;
use datafusion::datasource::listing::ListingTable;
use datafusion::error::DataFusionError;
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use ostrakon_cell::{Error, ErrorKind};

use super::naming::{named, shown};
use super::pattern::Found;

/// Files that were found for a name.
#[derive(Debug)]
pub(super) struct FileRelation {
    pub(super) table: ListingTable,
    pub(super) found: Vec<Found>,
    /// The name in the query.
    pub(super) name: String,
}

#[async_trait]
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

    async fn scan(
        &self,
        state: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        limit: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let args = ScanArgs::default()
            .with_projection(projection.map(Vec::as_slice))
            .with_filters(Some(filters))
            .with_limit(limit);
        Ok(self.scan_with_args(state, args).await?.into_inner())
    }

    async fn scan_with_args<'a>(
        &self,
        state: &dyn Session,
        args: ScanArgs<'a>,
    ) -> Result<ScanResult> {
        let scan = self.table.scan_with_args(state, args).await;
        let scan = scan.map_err(|error| named(error, &self.name))?;
        // After the list was made: a file that is there now was there then.
        self.found.iter().try_for_each(still_there)?;
        Ok(scan)
    }
}

/// Fails if a file that had content is gone or empty.
pub(super) fn still_there(found: &Found) -> Result<()> {
    let now = fs::metadata(&found.path);
    let is_lost = match &now {
        Ok(now) => found.bytes > 0 && now.len() == 0,
        Err(_) => true,
    };
    match (is_lost, now) {
        (false, _) => Ok(()),
        (true, Err(error)) if error.kind() != io::ErrorKind::NotFound => {
            Err(lost(&found.path, "the file cannot be read any more").context(error.to_string()))
        }
        (true, _) => Err(lost(
            &found.path,
            "the file was removed or emptied while the query began: run the query again once the file is complete",
        )),
    }
}

/// The error about a file that was changed under a query.
pub(super) fn lost(path: &Path, what: &'static str) -> DataFusionError {
    let error = Error::new(ErrorKind::NotFound, what).with("file", shown(path));
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
        // Logs grow.
        still_there(&found(2)).unwrap();
        fs::write(&path, "").unwrap();
        still_there(&found(0)).unwrap();
        let error = still_there(&found(4)).unwrap_err().to_string();
        assert!(
            error.contains("emptied") && error.contains("a.csv"),
            "{error}"
        );
    }
}
