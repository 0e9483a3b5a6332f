//! Catalogs, schemas, tables and columns, as far as the reader may know of them.

use std::collections::HashMap;

use adbc_core::error::Result;
use adbc_core::options::ObjectDepth;
use adbc_core::schemas::GET_OBJECTS_SCHEMA;
use arrow_array::cast::AsArray;
use arrow_array::{Array, RecordBatch};
use arrow_cast::cast;
use arrow_json::ReaderBuilder;
use arrow_schema::{ArrowError, DataType};
use ostrakon_sql::SqlSession;
use serde::Serialize;

use crate::cancel::Watch;
use crate::rows::{Rows, only};

/// What is asked for. Names are patterns of LIKE.
pub(crate) struct Asked<'a> {
    pub(crate) depth: ObjectDepth,
    pub(crate) catalog: Option<&'a str>,
    pub(crate) db_schema: Option<&'a str>,
    pub(crate) table_name: Option<&'a str>,
    pub(crate) table_type: Option<Vec<&'a str>>,
    pub(crate) column_name: Option<&'a str>,
}

#[derive(Serialize)]
struct Catalog {
    catalog_name: String,
    catalog_db_schemas: Option<Vec<DbSchema>>,
}

#[derive(Serialize)]
struct DbSchema {
    db_schema_name: String,
    db_schema_tables: Option<Vec<Table>>,
}

#[derive(Serialize)]
struct Table {
    table_name: String,
    table_type: String,
    table_columns: Option<Vec<Column>>,
}

#[derive(Serialize)]
struct Column {
    column_name: String,
    ordinal_position: i32,
    xdbc_type_name: String,
    xdbc_is_nullable: String,
}

/// A row of texts; NULL is empty.
type Texts<const N: usize> = [String; N];

/// All rows of a query, whose columns can be text.
fn texts<const N: usize>(
    session: &SqlSession,
    watch: &Watch,
    query: &str,
) -> Result<Vec<Texts<N>>> {
    let mut rows = Rows::start(session, only(query)?, watch.again())?;
    let mut found = Vec::new();
    while let Some(batch) = rows.read()? {
        let columns = batch.columns().iter();
        let columns = columns.map(|column| cast(column, &DataType::LargeUtf8));
        let columns = columns.collect::<std::result::Result<Vec<_>, ArrowError>>()?;
        for at in 0..batch.num_rows() {
            found.push(std::array::from_fn(|column| {
                let column = columns.get(column).map(AsArray::as_string::<i64>);
                let column = column.filter(|column| !column.is_null(at));
                column.map_or_else(String::new, |column| column.value(at).to_owned())
            }));
        }
    }
    Ok(found)
}

/// The objects that are asked for, in their order.
pub(crate) fn objects(
    session: &SqlSession,
    watch: &Watch,
    asked: &Asked<'_>,
) -> Result<RecordBatch> {
    let with_schemas = !matches!(asked.depth, ObjectDepth::Catalogs);
    let with_tables = with_schemas && !matches!(asked.depth, ObjectDepth::Schemas);
    let with_columns = with_tables && !matches!(asked.depth, ObjectDepth::Tables);
    let schemas: Vec<Texts<2>> = texts(
        session,
        watch,
        "SELECT DISTINCT catalog_name, schema_name FROM information_schema.schemata ORDER BY 1, 2",
    )?;
    let tables: Vec<Texts<4>> = match with_tables {
        true => texts(
            session,
            watch,
            "SELECT table_catalog, table_schema, table_name, table_type FROM information_schema.tables ORDER BY 1, 2, 3",
        )?,
        false => Vec::new(),
    };
    let columns: Vec<Texts<7>> = match with_columns {
        true => texts(
            session,
            watch,
            "SELECT table_catalog, table_schema, table_name, column_name, ordinal_position, data_type, is_nullable \
             FROM information_schema.columns ORDER BY 1, 2, 3, 5",
        )?,
        false => Vec::new(),
    };
    let columns_of_table = grouped(&columns, |[catalog, schema, table, ..]| {
        [catalog, schema, table]
    });
    let tables_of_schema = grouped(&tables, |[catalog, schema, ..]| [catalog, schema]);
    let columns_of = |place: [&String; 3]| {
        let found = columns_of_table.get(&place).into_iter().flatten();
        let found = found.filter(|column| is_like(asked.column_name, &column[3]));
        let found = found.enumerate().map(|(at, column)| Column {
            column_name: column[3].clone(),
            ordinal_position: column[4].parse().unwrap_or(at as i32) + 1,
            xdbc_type_name: column[5].clone(),
            xdbc_is_nullable: column[6].clone(),
        });
        found.collect()
    };
    let tables_of = |place: [&String; 2]| {
        let found = tables_of_schema.get(&place).into_iter().flatten();
        let found = found.filter(|table| {
            let types = asked.table_type.as_ref();
            is_like(asked.table_name, &table[2])
                && types.is_none_or(|types| types.contains(&table[3].as_str()))
        });
        let found = found.map(|table| Table {
            table_name: table[2].clone(),
            table_type: table[3].clone(),
            table_columns: with_columns.then(|| columns_of([&table[0], &table[1], &table[2]])),
        });
        found.collect()
    };
    let mut catalogs: Vec<Catalog> = Vec::new();
    for [catalog, schema] in &schemas {
        if !is_like(asked.catalog, catalog) {
            continue;
        }
        if catalogs
            .last()
            .is_none_or(|last| last.catalog_name != *catalog)
        {
            catalogs.push(Catalog {
                catalog_name: catalog.clone(),
                catalog_db_schemas: with_schemas.then(Vec::new),
            });
        }
        let listed = catalogs
            .last_mut()
            .and_then(|last| last.catalog_db_schemas.as_mut());
        if let Some(listed) = listed.filter(|_| is_like(asked.db_schema, schema)) {
            listed.push(DbSchema {
                db_schema_name: schema.clone(),
                db_schema_tables: with_tables.then(|| tables_of([catalog, schema])),
            });
        }
    }
    let schema = GET_OBJECTS_SCHEMA.clone();
    let mut decoder = ReaderBuilder::new(schema.clone()).build_decoder()?;
    decoder.serialize(&catalogs)?;
    Ok(decoder
        .flush()?
        .unwrap_or_else(|| RecordBatch::new_empty(schema)))
}

/// Rows by what they belong to, in their order.
fn grouped<'a, const N: usize, const K: usize>(
    rows: &'a [Texts<N>],
    place: impl Fn(&'a Texts<N>) -> [&'a String; K],
) -> HashMap<[&'a String; K], Vec<&'a Texts<N>>> {
    let mut groups: HashMap<_, Vec<_>> = HashMap::new();
    for row in rows {
        groups.entry(place(row)).or_default().push(row);
    }
    groups
}

/// Whether a name is like a pattern, in which `%` stands for any text and `_` for any character. Without one, any is.
fn is_like(pattern: Option<&str>, name: &str) -> bool {
    let Some(pattern) = pattern else {
        return true;
    };
    let (pattern, name): (Vec<char>, Vec<char>) =
        (pattern.chars().collect(), name.chars().collect());
    // Where the last `%` stood, and how much of the name it stands for.
    let (mut at, mut place, mut wild) = (0, 0, None);
    while place < name.len() {
        match pattern.get(at) {
            Some('%') => {
                wild = Some((at, place));
                at += 1;
            }
            Some(one) if *one == '_' || Some(one) == name.get(place) => {
                at += 1;
                place += 1;
            }
            _ => match wild {
                Some((star, taken)) => {
                    wild = Some((star, taken + 1));
                    at = star + 1;
                    place = taken + 1;
                }
                None => return false,
            },
        }
    }
    pattern
        .get(at..)
        .is_none_or(|rest| rest.iter().all(|one| *one == '%'))
}
