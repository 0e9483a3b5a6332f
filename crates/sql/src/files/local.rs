//! Files that are read here and not by the engine, one file by one thread.

use std::fmt::Debug;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::arrow::record_batch::RecordBatch;
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::listing::PartitionedFile;
use datafusion::datasource::physical_plan::{
    FileOpenFuture, FileOpener, FileScanConfig, FileSource,
};
use datafusion::datasource::projection::{ProjectionOpener, SplitProjection};
use datafusion::datasource::source::DataSourceExec;
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as Place;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::projection::ProjectionExprs;
use datafusion::physical_plan::metrics::ExecutionPlanMetricsSet;
use datafusion::physical_plan::{ExecutionPlan, apply_expression_roots};
use futures_util::StreamExt;
use futures_util::stream::try_unfold;
use tokio::task::spawn_blocking;

use super::naming::{named, path_of, shown};
use super::panics::caught;

/// Records that decide about the types of the columns.
const RECORDS: usize = 20_000;

/// How files of a kind are read.
pub(super) trait Reads: Debug + Send + Sync {
    /// The kind, for an explanation.
    fn kind(&self) -> &'static str;

    /// How much larger the content of a file usually is than the file.
    fn growth(&self) -> usize;

    /// The columns of a file, according to at most so many first records, and the number of records that were read.
    fn columns(&self, file: &Path, records: usize) -> Result<(Schema, usize)>;

    /// The columns of a relation, made of those of its first files.
    ///
    /// # Errors
    /// The types of a column differ too much.
    fn settled(&self, schemas: Vec<Schema>) -> Result<Schema> {
        Ok(Schema::try_merge(schemas)?)
    }

    /// Begins to read a file.
    fn open(&self, file: &Path, wanted: Wanted) -> Result<Box<dyn ReadsRows>>;
}

/// What is wanted of a file.
#[derive(Debug)]
pub(super) struct Wanted {
    /// The columns of all files of the relation.
    pub(super) schema: SchemaRef,
    /// Those that are returned.
    pub(super) columns: Vec<usize>,
    /// The most rows of a batch.
    pub(super) rows: usize,
    /// The bytes that the file had when the query was planned. It may have grown.
    pub(super) bytes: u64,
}

/// A file that is being read.
pub(super) trait ReadsRows: Send {
    /// The next rows; `None` at the end.
    fn next(&mut self) -> Result<Option<RecordBatch>>;
}

/// The path of a file on the local disk.
pub(super) fn path_at(place: &Place) -> PathBuf {
    let path = LocalFileSystem::new().path_to_filesystem(place);
    path.unwrap_or_else(|_| PathBuf::from(format!("/{place}")))
}

/// Runs a step that waits for the disk, so that its errors and panics name the file.
async fn step<T: Send + 'static>(
    file: PathBuf,
    run: impl FnOnce(&Path) -> Result<T> + Send + 'static,
) -> Result<T> {
    spawn_blocking(move || {
        let outcome = caught(|| run(&file)).and_then(|outcome| outcome);
        outcome.map_err(|error| named(error, &shown(&file)))
    })
    .await
    .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))?
}

/// The format of such files.
#[derive(Debug)]
pub(super) struct LocalFormat(pub(super) Arc<dyn Reads>);

#[async_trait]
impl FileFormat for LocalFormat {
    fn get_ext(&self) -> String {
        self.0.kind().to_owned()
    }

    fn get_ext_with_compression(&self, _: &FileCompressionType) -> Result<String> {
        Ok(self.get_ext())
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        None
    }

    async fn infer_schema(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let (mut schemas, mut left) = (Vec::new(), RECORDS);
        for object in objects {
            let reads = self.0.clone();
            let columns = move |file: &Path| reads.columns(file, left);
            let (schema, read) = step(path_at(&object.location), columns).await?;
            schemas.push(schema);
            left = left.saturating_sub(read);
            if left == 0 {
                break;
            }
        }
        Ok(Arc::new(self.0.settled(schemas)?))
    }

    async fn infer_stats(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        // An estimate, by which the smaller side of a join is told.
        let bytes = usize::try_from(object.size).unwrap_or(usize::MAX);
        let bytes = bytes.saturating_mul(self.0.growth());
        Ok(Statistics::new_unknown(&schema).with_total_byte_size(Precision::Inexact(bytes)))
    }

    async fn create_physical_plan(
        &self,
        _: &dyn Session,
        scan: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(DataSourceExec::from_data_source(scan))
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        Arc::new(LocalSource {
            reads: self.0.clone(),
            projection: SplitProjection::unprojected(&schema),
            schema,
            metrics: ExecutionPlanMetricsSet::new(),
            rows: 8192,
        })
    }
}

/// Reads such files in a plan.
#[derive(Clone)]
struct LocalSource {
    reads: Arc<dyn Reads>,
    schema: TableSchema,
    projection: SplitProjection,
    metrics: ExecutionPlanMetricsSet,
    /// The most rows of a batch.
    rows: usize,
}

impl FileSource for LocalSource {
    fn create_file_opener(
        &self,
        _: Arc<dyn ObjectStore>,
        scan: &FileScanConfig,
        _: usize,
    ) -> Result<Arc<dyn FileOpener>> {
        let opener = Opener {
            reads: self.reads.clone(),
            schema: self.schema.file_schema().clone(),
            columns: self.projection.file_indices.clone(),
            // What a LIMIT leaves out is neither read nor checked.
            rows: self.rows.min(scan.limit.unwrap_or(usize::MAX)).max(1),
        };
        ProjectionOpener::try_new(
            self.projection.clone(),
            Arc::new(opener),
            self.schema.file_schema(),
        )
    }

    fn table_schema(&self) -> &TableSchema {
        &self.schema
    }

    fn with_batch_size(&self, rows: usize) -> Arc<dyn FileSource> {
        Arc::new(Self {
            rows,
            ..self.clone()
        })
    }

    fn projection(&self) -> Option<&ProjectionExprs> {
        Some(&self.projection.source)
    }

    fn try_pushdown_projection(
        &self,
        projection: &ProjectionExprs,
    ) -> Result<Option<Arc<dyn FileSource>>> {
        let merged = self.projection.source.try_merge(projection)?;
        Ok(Some(Arc::new(Self {
            projection: SplitProjection::new(self.schema.file_schema(), &merged),
            ..self.clone()
        })))
    }

    fn metrics(&self) -> &ExecutionPlanMetricsSet {
        &self.metrics
    }

    fn file_type(&self) -> &str {
        self.reads.kind()
    }

    fn supports_repartitioning(&self) -> bool {
        false
    }

    fn apply_expressions(
        &self,
        f: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        apply_expression_roots(self.projection.source.iter(), f)
    }
}

/// Opens the files of a plan.
struct Opener {
    reads: Arc<dyn Reads>,
    schema: SchemaRef,
    columns: Vec<usize>,
    rows: usize,
}

impl FileOpener for Opener {
    fn open(&self, file: PartitionedFile) -> Result<FileOpenFuture> {
        let bytes = file.object_meta.size;
        let file = path_of(&file);
        let reads = self.reads.clone();
        let wanted = Wanted {
            schema: self.schema.clone(),
            columns: self.columns.clone(),
            rows: self.rows,
            bytes,
        };
        Ok(Box::pin(async move {
            let open = move |file: &Path| reads.open(file, wanted);
            let reader = step(file.clone(), open).await?;
            let rows = try_unfold((file, reader), |(file, mut reader)| async move {
                // A thread is taken for one batch.
                let next = move |_: &Path| Ok(reader.next()?.map(|batch| (batch, reader)));
                let next = step(file.clone(), next).await?;
                Ok(next.map(|(batch, reader)| (batch, (file, reader))))
            });
            Ok(rows.boxed())
        }))
    }
}
