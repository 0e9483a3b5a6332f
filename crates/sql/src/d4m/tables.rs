//! Which tables of a source belong together, and which relation each of them is.
//!
//! D4M's names tell: `T` has edges, `TT` is its transpose, and `TDeg` has its degrees.

use std::sync::Arc;

use datafusion::catalog::TableProvider;
use ostrakon_cell::{Authorizations, ErrorKind, Properties, Result, Source, Table};

use super::provider::{D4mTable, Form};
use crate::catalog::is_closed;

/// What a table's columns have between field and value, unless it is `|`.
const SEPARATOR: &str = "table.custom.ostrakon.separator";
/// The name of a table's transpose, unless it is that of the table and `T`. An empty one says that there is none.
const TRANSPOSE: &str = "table.custom.ostrakon.transpose";

/// Who reads.
pub(crate) struct Reader {
    pub(crate) authorizations: Arc<Authorizations>,
    /// Whether the reader may see into how many parts a table is divided.
    pub(crate) sees_layout: bool,
}

/// The relation of a table.
///
/// # Errors
/// Those of the source.
pub(crate) fn relation(
    source: &dyn Source,
    table: Arc<dyn Table>,
    reader: Reader,
) -> Result<Arc<dyn TableProvider>> {
    let name = table.name();
    let opened = |name: &str| opened(source, name, reader.sees_layout);
    let of = |ending: &str| name.strip_suffix(ending).filter(|base| !base.is_empty());
    let (form, table, transpose) = if let Some(edges) = of("Deg").map(opened).transpose()?.flatten()
    {
        let separator = separator(&edges.properties()?);
        (Form::Degrees, (table, separator), None)
    } else {
        let edges = match of("T").map(opened).transpose()?.flatten() {
            Some(edges) if transpose_name(&*edges)?.as_ref() == Some(&name) => edges,
            _ => table,
        };
        let transpose = match transpose_name(&*edges)? {
            Some(transpose) => opened(&transpose)?,
            None => None,
        };
        let separator = separator(&edges.properties()?);
        (Form::Edges, (edges, separator), transpose)
    };
    Ok(Arc::new(D4mTable {
        form,
        table: table.0,
        separator: table.1,
        transpose,
        reader,
    }))
}

/// A table that the session reads, if there is one of this name.
fn opened(source: &dyn Source, name: &str, sees_layout: bool) -> Result<Option<Arc<dyn Table>>> {
    if is_closed(source, sees_layout, name) {
        return Ok(None);
    }
    match source.table(name) {
        Ok(table) => Ok(Some(table)),
        Err(error) if error.kind() == ErrorKind::TableNotFound => Ok(None),
        Err(error) => Err(error),
    }
}

fn separator(properties: &Properties) -> Arc<[u8]> {
    let set = properties.get(SEPARATOR).filter(|set| !set.is_empty());
    set.map_or(&b"|"[..], |set| set.as_bytes()).into()
}

fn transpose_name(edges: &dyn Table) -> Result<Option<String>> {
    Ok(match edges.properties()?.get(TRANSPOSE) {
        Some(name) if name.is_empty() => None,
        Some(name) => Some(name.to_owned()),
        None => Some(format!("{}T", edges.name())),
    })
}
