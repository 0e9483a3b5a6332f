//! CSV and TSV files with a header line.

use std::fs::File;
use std::io::BufReader;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use async_trait::async_trait;
use datafusion::arrow::csv::reader::Format;
use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::Session;
use datafusion::common::{Result, Statistics};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::csv::CsvFormat;
use datafusion::datasource::file_format::file_compression_type::FileCompressionType;
use datafusion::datasource::physical_plan::{FileScanConfig, FileSource};
use datafusion::datasource::table_schema::TableSchema;
use datafusion::error::DataFusionError;
use datafusion::object_store::local::LocalFileSystem;
use datafusion::object_store::path::Path as Place;
use datafusion::object_store::{ObjectMeta, ObjectStore};
use datafusion::physical_plan::ExecutionPlan;
use tokio::task::spawn_blocking;

use super::ahead::Ahead;

/// Records that decide about the types of the columns.
const RECORDS: usize = 1000;

/// The engine's format, except for how the types of the columns are found. The engine reads pieces of the file for that,
/// and cuts some of them at line ends in values.
#[derive(Debug)]
pub(super) struct DelimitedFormat {
    delimiter: u8,
    inner: CsvFormat,
    /// The most bytes of a record.
    limit: usize,
}

impl DelimitedFormat {
    pub(super) fn new(delimiter: u8, limit: usize) -> Self {
        let inner = CsvFormat::default()
            .with_has_header(true)
            // So no file is divided among threads.
            .with_newlines_in_values(true)
            .with_delimiter(delimiter);
        Self {
            delimiter,
            inner,
            limit,
        }
    }
}

/// The path of a file on the local disk.
pub(super) fn path_at(place: &Place) -> PathBuf {
    let path = LocalFileSystem::new().path_to_filesystem(place);
    path.unwrap_or_else(|_| PathBuf::from(format!("/{place}")))
}

/// The columns of a file, according to its first records, and their number.
fn columns(file: &Path, delimiter: u8, records: usize, limit: usize) -> Result<(Schema, usize)> {
    Ahead::new(vec![file.to_path_buf()], delimiter, limit).advance(records)?;
    let format = Format::default()
        .with_header(true)
        .with_delimiter(delimiter);
    let reader = BufReader::new(File::open(file)?);
    Ok(format.infer_schema(reader, Some(records))?)
}

#[async_trait]
impl FileFormat for DelimitedFormat {
    fn get_ext(&self) -> String {
        self.inner.get_ext()
    }

    fn get_ext_with_compression(&self, compression: &FileCompressionType) -> Result<String> {
        self.inner.get_ext_with_compression(compression)
    }

    fn compression_type(&self) -> Option<FileCompressionType> {
        self.inner.compression_type()
    }

    async fn infer_schema(
        &self,
        _: &dyn Session,
        _: &Arc<dyn ObjectStore>,
        objects: &[ObjectMeta],
    ) -> Result<SchemaRef> {
        let (delimiter, limit) = (self.delimiter, self.limit);
        let files: Vec<PathBuf> = objects.iter().map(|one| path_at(&one.location)).collect();
        let schemas = spawn_blocking(move || {
            let (mut schemas, mut left) = (Vec::new(), RECORDS);
            for file in &files {
                let (schema, read) = columns(file, delimiter, left, limit)?;
                schemas.push(schema);
                left = left.saturating_sub(read);
                if left == 0 {
                    break;
                }
            }
            Ok::<_, DataFusionError>(schemas)
        });
        let schemas = schemas
            .await
            .map_err(|error| DataFusionError::ExecutionJoin(Box::new(error)))??;
        Ok(Arc::new(Schema::try_merge(schemas)?))
    }

    async fn infer_stats(
        &self,
        state: &dyn Session,
        store: &Arc<dyn ObjectStore>,
        schema: SchemaRef,
        object: &ObjectMeta,
    ) -> Result<Statistics> {
        self.inner.infer_stats(state, store, schema, object).await
    }

    async fn create_physical_plan(
        &self,
        state: &dyn Session,
        scan: FileScanConfig,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        self.inner.create_physical_plan(state, scan).await
    }

    fn file_source(&self, schema: TableSchema) -> Arc<dyn FileSource> {
        self.inner.file_source(schema)
    }
}
