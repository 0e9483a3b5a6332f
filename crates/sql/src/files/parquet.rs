//! Parquet files, of which the engine may not take floating-point columns for constant.

use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::stats::Precision;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_expr::LexOrdering;
use datafusion::physical_plan::ExecutionPlan;

/// The engine's format. The statistics of a Parquet file leave NaN out: if all other numbers of a column are equal, the
/// engine would return this number in place of each NaN.
#[derive(Debug, Default)]
pub(super) struct Parquet(ParquetFormat);

/// Removes the bounds of floating-point columns.
fn without_bounds(mut statistics: Statistics, schema: &Schema) -> Statistics {
    let columns = statistics.column_statistics.iter_mut();
    for (column, field) in columns.zip(schema.fields()) {
        if field.data_type().is_floating() {
            column.min_value = Precision::Absent;
            column.max_value = Precision::Absent;
        }
    }
    statistics
}

#[async_trait]
impl FileFormat for Parquet {
    fn get_ext(&self) -> String {
        self.0.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.0.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.0.compression_type()
    }

    async fn infer_schema(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        files: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        self.0.infer_schema(state, store, files).await
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<Statistics> {
        let found = self
            .0
            .infer_stats(state, store, Arc::clone(&schema), file)
            .await?;
        Ok(without_bounds(found, &schema))
    }

    async fn infer_ordering(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        file: &ObjectMeta,
    ) -> Result<Option<LexOrdering>> {
        self.0.infer_ordering(state, store, schema, file).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        config: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.0.create_physical_plan(state, config).await
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.0.file_source(schema)
    }
}
