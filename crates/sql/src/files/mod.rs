//! Files of the local disk as relations: `SELECT … FROM 'visits.parquet'`.

mod arrow;
mod kind;
mod local;
mod naming;
mod panics;
mod text;

use std::sync::{Arc, OnceLock, Weak};

use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::file_format::parquet::ParquetFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::prelude::SessionContext;
use ostrakon_cell::{Error, ErrorKind};
use parking_lot::RwLock;

use arrow::Arrow;
use kind::{Content, Kind};
use local::LocalFormat;
use text::Text;

pub(crate) use naming::name_files;

/// Opens files as relations.
#[derive(Debug)]
pub(crate) struct FileTables {
    state: OnceLock<Weak<RwLock<SessionState>>>,
    /// The most bytes of a record of text, or of a batch of Arrow.
    record_limit: usize,
}

impl FileTables {
    pub(crate) fn new(record_limit: usize) -> Self {
        Self {
            state: OnceLock::new(),
            record_limit,
        }
    }

    /// Connects it with the session whose catalog it belongs to.
    pub(crate) fn connect(&self, context: &SessionContext) {
        // Connected once, right after the session was made.
        let _ = self.state.set(context.state_weak_ref());
    }

    /// The relation of a file.
    ///
    /// # Errors
    /// Another scheme than that of files, an ending without a format, or a file that cannot be read.
    pub(crate) async fn table(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        if name.contains("://") {
            return plan_err!("{name} is not a local file: give a path, such as 'visits.parquet'");
        }
        let (kind, ending) = Kind::of(name)?;
        let limit = self.record_limit;
        let format: Arc<dyn FileFormat> = match (kind.content, kind.packing) {
            (Content::Parquet, _) => Arc::new(ParquetFormat::default()),
            (Content::Arrow, _) => Arc::new(LocalFormat(Arc::new(Arrow::new(limit)))),
            (Content::Delimited(delimiter), packing) => {
                let text = Text::delimited(delimiter, packing, limit);
                Arc::new(LocalFormat(Arc::new(text)))
            }
            (Content::Json, packing) => Arc::new(LocalFormat(Arc::new(Text::json(packing, limit)))),
        };
        let many = name.contains(['*', '?', '[']);
        if !many {
            check(name).map_err(|error| DataFusionError::External(Box::new(error)))?;
        }
        let state = self.state.get().and_then(Weak::upgrade);
        let state = state
            .map(|state| state.read().clone())
            .ok_or_else(|| DataFusionError::Plan("the session was closed".to_owned()))?;
        let options = ListingOptions::new(format).with_file_extension(ending);
        let config =
            ListingTableConfig::new(ListingTableUrl::parse(name)?).with_listing_options(options);
        let inferred = panics::Caught::new(config.infer_schema(&state)).await;
        let named = |error: DataFusionError| match error.strip_backtrace().contains(NO_FILES) {
            true => DataFusionError::External(Box::new(
                Error::new(ErrorKind::NotFound, "no file matches the pattern").with("file", name),
            )),
            false => naming::named(error, name),
        };
        let table = ListingTable::try_new(inferred.map_err(named)?)?;
        Ok(Arc::new(table))
    }
}

/// What the engine says of a pattern that names nothing.
const NO_FILES: &str = "No files found at";

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
