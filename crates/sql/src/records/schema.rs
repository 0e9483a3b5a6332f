//! The schema of a table: a property, in the form that the Python package writes too (docs/decisions/0034).

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use datafusion::arrow::datatypes::{Field, Schema, SchemaRef};
use ostrakon_cell::{Error, Result, Table};
use serde::de::{Deserialize, Deserializer, MapAccess, Visitor};
use serde::ser::{Serialize, SerializeMap, Serializer};

use super::ColumnType;
use super::present::Cell;

/// The property that holds the schema as JSON.
pub(crate) const PROPERTY: &str = "table.custom.ostrakon.schema";

/// The types of a table's rows and columns.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordSchema {
    /// What the row consists of; at least one part.
    pub(crate) keys: Vec<(String, ColumnType)>,
    pub(crate) columns: Vec<RecordColumn>,
    /// The column of the relation that has the labels of records.
    pub(crate) label: Option<String>,
    /// The columns of the relation in the order of CREATE TABLE, by their places among [`names`](Self::names).
    pub(crate) order: Vec<usize>,
}

/// A column of a table with a schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RecordColumn {
    pub(crate) name: String,
    pub(crate) family: Vec<u8>,
    pub(crate) qualifier: Vec<u8>,
    pub(crate) kind: ColumnType,
}

impl RecordColumn {
    /// The column of that name: the qualifier, or `family:qualifier`.
    pub(crate) fn new(name: &str, kind: ColumnType) -> Self {
        let (family, qualifier) = name.rsplit_once(':').unwrap_or(("", name));
        Self {
            name: name.to_owned(),
            family: family.into(),
            qualifier: qualifier.into(),
            kind,
        }
    }

    /// Whether a cell is one of this column.
    pub(super) fn is_of(&self, cell: &Cell) -> bool {
        self.family == cell.family && self.qualifier == cell.qualifier
    }
}

impl RecordSchema {
    /// The schema of a table, if it has one.
    ///
    /// # Errors
    /// Those of the table; the property is not a schema.
    pub(crate) fn of(table: &dyn Table) -> Result<Option<Self>> {
        let properties = table.properties()?;
        let Some(text) = properties.get(PROPERTY) else {
            return Ok(None);
        };
        Self::from_json(text).map(Some).map_err(|error| {
            Error::invalid("the schema of the table cannot be read: set it again, or read the entries with `cells`")
                .with("table", table.name())
                .with("property", PROPERTY)
                .with_source(error)
        })
    }

    /// Reads the property.
    ///
    /// # Errors
    /// Not a schema.
    pub(crate) fn from_json(text: &str) -> Result<Self> {
        let stored: Stored = serde_json::from_str(text).map_err(|error| {
            Error::invalid("the property is not a valid schema of records").with_source(error)
        })?;
        let typed = |(name, kind): (String, String)| match ColumnType::named(&kind) {
            Some(kind) => Ok((name, kind)),
            None => Err(
                Error::invalid("the schema names a type that columns cannot have")
                    .with("type", kind),
            ),
        };
        let keys = stored
            .row
            .0
            .into_iter()
            .map(typed)
            .collect::<Result<Vec<_>>>()?;
        let columns = stored.columns.0.into_iter().map(typed);
        let columns = columns.map(|typed| typed.map(|(name, kind)| RecordColumn::new(&name, kind)));
        let mut schema = Self {
            keys,
            columns: columns.collect::<Result<_>>()?,
            label: stored.label,
            order: Vec::new(),
        };
        schema.check()?;
        schema.order = match stored.order {
            Some(names) => schema.places(&names)?,
            None => (0..schema.names().count()).collect(),
        };
        Ok(schema)
    }

    /// The places of columns among [`names`](Self::names).
    ///
    /// # Errors
    /// The names are not those of all columns.
    pub(crate) fn places(&self, names: &[String]) -> Result<Vec<usize>> {
        let differs = || Error::invalid("the order of the schema does not name each column once");
        let places = names
            .iter()
            .map(|name| self.names().position(|other| other == name));
        let places: Vec<usize> = places.collect::<Option<_>>().ok_or_else(differs)?;
        let mut sorted = places.clone();
        sorted.sort_unstable();
        match sorted.into_iter().eq(0..self.names().count()) {
            true => Ok(places),
            false => Err(differs()),
        }
    }

    /// Checks what needs no table.
    ///
    /// # Errors
    /// No key; a name that is empty, or occurs twice; two columns in one cell, or one in the cell of
    /// records without values.
    pub(crate) fn check(&self) -> Result<()> {
        if self.keys.is_empty() {
            return Err(Error::invalid("the schema has no key"));
        }
        let mut names: Vec<String> = self.names().map(str::to_owned).collect();
        names.sort_unstable();
        if names.first().is_some_and(String::is_empty) {
            return Err(Error::invalid("a column has an empty name"));
        }
        if let Some(pair) = names.windows(2).find(|pair| pair.first() == pair.last()) {
            return Err(Error::invalid("two columns have the same name")
                .with("column", pair.first().cloned().unwrap_or_default()));
        }
        let mut cells: HashMap<(&[u8], &[u8]), &str> = HashMap::new();
        for column in &self.columns {
            let cell = (column.family.as_slice(), column.qualifier.as_slice());
            if cell == (&[], &[]) {
                return Err(Error::invalid(
                    "a column has neither a family nor a qualifier: rename it",
                )
                .with("column", &column.name));
            }
            if let Some(other) = cells.insert(cell, &column.name) {
                return Err(Error::invalid(
                    "two columns are kept in one cell, since what stands before the first colon is \
                     the family: rename one",
                )
                .with("columns", format!("{other}, {}", column.name)));
            }
        }
        Ok(())
    }

    /// The text of the property.
    ///
    /// # Errors
    /// [`Internal`](ostrakon_cell::ErrorKind::Internal).
    pub(crate) fn to_json(&self) -> Result<String> {
        let pair = |name: &str, kind: ColumnType| (name.to_owned(), kind.as_str().to_owned());
        let stored = Stored {
            row: Pairs(
                self.keys
                    .iter()
                    .map(|(name, kind)| pair(name, *kind))
                    .collect(),
            ),
            columns: Pairs(
                self.columns
                    .iter()
                    .map(|column| pair(&column.name, column.kind))
                    .collect(),
            ),
            label: self.label.clone(),
            order: (!self.order.is_sorted()).then(|| self.ordered().map(str::to_owned).collect()),
        };
        serde_json::to_string(&stored).map_err(|error| {
            Error::new(
                ostrakon_cell::ErrorKind::Internal,
                "the schema cannot be written",
            )
            .with_source(error)
        })
    }

    /// The names of the parts of the row, the columns, and the label.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let keys = self.keys.iter().map(|(name, _)| name.as_str());
        let columns = self.columns.iter().map(|column| column.name.as_str());
        keys.chain(columns).chain(self.label.as_deref())
    }

    /// The same names in the order of CREATE TABLE.
    pub(crate) fn ordered(&self) -> impl Iterator<Item = &str> {
        let names: Vec<&str> = self.names().collect();
        let order = self.order.iter();
        order.filter_map(move |place| names.get(*place).copied())
    }

    /// The place among [`names`](Self::names) of a column of the relation. What comes after its columns stays there.
    pub(crate) fn place(&self, at: usize) -> usize {
        self.order.get(at).copied().unwrap_or(at)
    }

    /// The columns of the relation, in the order of [`names`](Self::names).
    pub(crate) fn stored(&self) -> SchemaRef {
        let keys = self
            .keys
            .iter()
            .map(|(name, kind)| Field::new(name, kind.data_type(), false));
        let columns = self.columns.iter();
        let columns = columns.map(|column| Field::new(&column.name, column.kind.data_type(), true));
        let label = self
            .label
            .iter()
            .map(|name| Field::new(name, ColumnType::Text.data_type(), true));
        Arc::new(Schema::new(
            keys.chain(columns).chain(label).collect::<Vec<_>>(),
        ))
    }
}

/// The property as JSON.
#[derive(serde::Deserialize, serde::Serialize)]
struct Stored {
    row: Pairs,
    columns: Pairs,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    label: Option<String>,
    /// The names in the order of CREATE TABLE, unless it is that of the others: keys, columns, label.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    order: Option<Vec<String>>,
}

/// An object of names and types in their order, or one type, which is that of `row`.
struct Pairs(Vec<(String, String)>);

impl Serialize for Pairs {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, kind) in &self.0 {
            map.serialize_entry(name, kind)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Pairs {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_any(PairsVisitor)
    }
}

struct PairsVisitor;

impl<'de> Visitor<'de> for PairsVisitor {
    type Value = Pairs;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("names and types")
    }

    fn visit_str<E>(self, kind: &str) -> Result<Pairs, E> {
        Ok(Pairs(vec![("row".to_owned(), kind.to_owned())]))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Pairs, A::Error> {
        let mut pairs = Vec::new();
        while let Some(pair) = map.next_entry()? {
            pairs.push(pair);
        }
        Ok(Pairs(pairs))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_property_of_the_python_package_is_read_and_written() {
        let text = r#"{"row":{"sensor":"text","at":"datetime"},"columns":{"z:celsius":"float","ok":"bool"}}"#;
        let schema = RecordSchema::from_json(text).expect("a schema");
        let keys: Vec<&str> = schema.keys.iter().map(|(name, _)| name.as_str()).collect();
        assert_eq!(keys, ["sensor", "at"]);
        let column = schema.columns.first().expect("a column");
        assert_eq!(
            (column.family.as_slice(), column.qualifier.as_slice()),
            (&b"z"[..], &b"celsius"[..])
        );
        assert_eq!(schema.to_json().expect("json"), text);
        let short = RecordSchema::from_json(r#"{"row":"int","columns":{}}"#).expect("a schema");
        assert_eq!(short.keys, [("row".to_owned(), ColumnType::Int)]);
    }

    #[test]
    fn the_order_of_columns_is_kept() {
        let text = r#"{"row":{"k":"int"},"columns":{"v":"int","w":"int"},"label":"l","order":["l","v","k","w"]}"#;
        let schema = RecordSchema::from_json(text).expect("a schema");
        let ordered: Vec<&str> = schema.ordered().collect();
        assert_eq!(ordered, ["l", "v", "k", "w"]);
        assert_eq!([0, 1, 2, 3, 4].map(|at| schema.place(at)), [3, 1, 0, 2, 4]);
        assert_eq!(schema.to_json().expect("json"), text);
    }

    #[test]
    fn what_is_not_a_schema_is_refused() {
        for text in [
            "",
            "{}",
            r#"{"row":"number","columns":{}}"#,
            r#"{"row":{},"columns":{}}"#,
            r#"{"row":{"a":"int"},"columns":{"a":"int"}}"#,
            r#"{"row":{"a":"int"},"columns":{"b":"int"},"label":"b"}"#,
            r#"{"row":{"a":"int"},"columns":{"":"int"}}"#,
            r#"{"row":{"a":"int"},"columns":{"b":"int"},"order":["b"]}"#,
            r#"{"row":{"a":"int"},"columns":{"b":"int"},"order":["b","b"]}"#,
            r#"{"row":{"a":"int"},"columns":{"b":"int"},"order":["b","c"]}"#,
        ] {
            assert!(RecordSchema::from_json(text).is_err(), "{text}");
        }
    }
}
