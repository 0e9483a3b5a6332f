//! Files of the local disk as relations: `SELECT … FROM 'visits.parquet'`.

mod arrow;
mod called;
mod kind;
mod local;
mod naming;
mod panics;
mod parquet;
mod pattern;
mod relation;
mod structs;
mod text;

use std::collections::HashMap;
use std::path::Path;
use std::sync::{Arc, OnceLock, Weak};

use datafusion::arrow::datatypes::{Schema, SchemaRef};
use datafusion::catalog::TableProvider;
use datafusion::common::{Result, plan_err};
use datafusion::datasource::file_format::FileFormat;
use datafusion::datasource::listing::{
    ListingOptions, ListingTable, ListingTableConfig, ListingTableUrl,
};
use datafusion::error::DataFusionError;
use datafusion::execution::SessionState;
use datafusion::object_store::ObjectStoreExt;
use datafusion::prelude::SessionContext;
use ostrakon_cell::Error;
use parking_lot::{Mutex, RwLock};
use url::Url;

use arrow::Arrow;
use kind::{Content, Kind};
use local::LocalFormat;
use parquet::Parquet;
use relation::FileRelation;
use text::Text;

pub(crate) use called::{Called, CalledContent, CsvOptions, NULL_BYTES, is_delimiter};
pub(crate) use naming::name_files;
pub(crate) use relation::has_own_nulls;

/// Whether a name in FROM is that of a file. The name of a table has neither dots nor slashes.
pub(crate) fn is_file(name: &str) -> bool {
    name.contains(['.', '/', ':']) || Called::of_name(name).is_some()
}

tokio::task_local! {
    /// The files of the statement that is planned.
    static OPENED: Mutex<HashMap<String, Arc<dyn TableProvider>>>;
}

/// Plans a statement whose files are opened once, however often it is planned: what is read to find their columns is read
/// once, and is the same for each plan.
pub(crate) async fn once<T>(planning: impl Future<Output = T>) -> T {
    OPENED.scope(Mutex::default(), planning).await
}

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

    /// The relation of a file. Within [`once`], it is opened the first time only.
    ///
    /// # Errors
    /// Another scheme than that of files, an ending without a format, or a file that cannot be read.
    pub(crate) async fn table(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        if let Ok(Some(opened)) = OPENED.try_with(|opened| opened.lock().get(name).cloned()) {
            return Ok(opened);
        }
        let relation = self.open(name).await?;
        let _ = OPENED.try_with(|opened| opened.lock().insert(name.to_owned(), relation.clone()));
        Ok(relation)
    }

    async fn open(&self, name: &str) -> Result<Arc<dyn TableProvider>> {
        let called = Called::of_name(name);
        let name = called.as_ref().map_or(name, |called| &called.path);
        let content = called.as_ref().map(|called| &called.content);
        if name.contains("://") {
            return plan_err!("{name} is not a local file: give a path, such as 'visits.parquet'");
        }
        let (kind, ending) = match content {
            None => Kind::of(name)?,
            // The call names the content, and the files may have any ending.
            Some(content) => (Kind::of_call(name, content)?, ""),
        };
        let limit = self.record_limit;
        let format: Arc<dyn FileFormat> = match (kind.content, kind.packing) {
            (Content::Parquet, _) => Arc::new(Parquet::default()),
            (Content::Arrow, _) => Arc::new(LocalFormat(Arc::new(Arrow::new(limit)))),
            (Content::Delimited(delimiter), packing) => {
                let mut text = Text::delimited(delimiter, packing, limit);
                if let Some(CalledContent::Csv(options)) = content {
                    text = text.with_options(options);
                }
                Arc::new(LocalFormat(Arc::new(text)))
            }
            (Content::Json, packing) => Arc::new(LocalFormat(Arc::new(Text::json(packing, limit)))),
        };
        let found = pattern::found(name).map_err(external)?;
        // The engine takes an empty file for one without rows, which in these formats is a file that was cut off.
        let has_end = matches!(kind.content, Content::Parquet | Content::Arrow);
        if let Some(empty) = found.iter().find(|file| has_end && file.bytes == 0) {
            let error = Error::invalid("the file is empty: it was not completely written")
                .with("file", naming::shown(&empty.path))
                .with("data", "a file");
            return Err(external(error));
        }
        let state = self.state.get().and_then(Weak::upgrade);
        let state = state
            .map(|state| state.read().clone())
            .ok_or_else(|| DataFusionError::Plan("the session was closed".to_owned()))?;
        let options = ListingOptions::new(format).with_file_extension(ending);
        let places: Vec<_> = found
            .iter()
            .map(|file| place(&file.path))
            .collect::<Result<_>>()?;
        let inferred = panics::Caught::new(columns(&state, &options, &places, kind.content)).await;
        let (schema, has_own_nulls) = inferred.map_err(|error| naming::named(error, name))?;
        // Their types were those of other content.
        found.iter().try_for_each(relation::still_there)?;
        let config = ListingTableConfig::new_with_multi_paths(places)
            .with_listing_options(options)
            .with_schema(schema);
        Ok(Arc::new(FileRelation {
            table: ListingTable::try_new(config)?,
            found,
            name: name.to_owned(),
            has_own_nulls: has_own_nulls && kind.content == Content::Parquet,
        }))
    }
}

/// The columns of files, and whether their structs have the same types in all files.
async fn columns(
    state: &SessionState,
    options: &ListingOptions,
    places: &[ListingTableUrl],
    content: Content,
) -> Result<(SchemaRef, bool)> {
    let Some(first) = places.first() else {
        return Ok((Arc::new(Schema::empty()), true));
    };
    let store = state.runtime_env().object_store(first)?;
    let mut files = Vec::with_capacity(places.len());
    for place in places {
        let file = store.head(place.prefix()).await?;
        // An empty file of text has no columns.
        if file.size > 0 {
            files.push(file);
        }
    }
    let columns = options.format.infer_schema(state, &store, &files).await?;
    // Types in text are found by reading it, and all of its fields may be NULL.
    let is_text = !matches!(content, Content::Parquet | Content::Arrow);
    if is_text || files.len() < 2 {
        return Ok((columns, true));
    }
    let mut of_files = Vec::with_capacity(files.len());
    for file in &files {
        let file = std::slice::from_ref(file);
        of_files.push(options.format.infer_schema(state, &store, file).await?);
    }
    let are_alike = structs::are_alike(&columns, &of_files);
    let columns = structs::with_missing(&columns, &of_files);
    Ok((Arc::new(columns), are_alike))
}

/// Where the engine finds a file.
fn place(path: &Path) -> Result<ListingTableUrl> {
    // What a name has of a pattern, or of a URL, is part of the name.
    match Url::from_file_path(path).map(|url| ListingTableUrl::try_new(url, None)) {
        Ok(Ok(place)) => Ok(place),
        Ok(Err(_)) | Err(()) => Err(external(
            Error::invalid(match path.to_str() {
                None => "the name of the file is not UTF-8: rename the file, or link to it",
                Some(_) => {
                    "the name of the file has control characters: rename the file, or link to it"
                }
            })
            .with("file", path.display()),
        )),
    }
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}
