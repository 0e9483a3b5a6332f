//! How found events are printed: lines of text, aligned columns, CSV or JSON lines.

use std::io::Write;

use ostrakon_events::{Event, EventType, FieldType, show_time};

use super::show::{event_json, event_text};
use crate::args::EventsRows;
use crate::failure::Result;
use crate::output::{TableRows, escape_controls, escape_part, of_csv, write_json_line};

/// The most characters of a value in a table, without quotes.
const CLIPPED: usize = 60;
/// What follows a value that is clipped. In a value it is escaped.
const CUT: char = '…';

/// Prints events.
pub(super) enum EventForm<'a> {
    Text(Lines<'a>),
    Table(TableRows<'a>, Vec<Column>),
    Csv(Box<CsvRows<'a>>),
    Json(&'a mut (dyn Write + Send)),
}

/// Lines of text.
pub(super) struct Lines<'a> {
    out: &'a mut (dyn Write + Send),
    fields: &'a [String],
    /// The field that holds the time.
    time: String,
}

/// Records of CSV. The header is written with the first of them, so that a query that fails leaves none.
pub(super) struct CsvRows<'a> {
    writer: csv::Writer<&'a mut (dyn Write + Send)>,
    columns: Vec<Column>,
    has_head: bool,
}

/// What a column shows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Column {
    Time,
    Field(String, FieldType),
    Label,
}

/// The columns of events: those that they have in SQL and in Python. `fields` are chosen; none stands for all.
fn columns(definition: &EventType, fields: &[String]) -> Vec<Column> {
    let is_time = |name: &str| {
        name == "time" && (definition.time == "time" || definition.field("time").is_none())
    };
    let names: Vec<&str> = match fields {
        [] => {
            let all = definition.fields.iter().map(|field| field.name.as_str());
            all.filter(|name| *name != definition.time).collect()
        }
        fields => fields.iter().map(String::as_str).collect(),
    };
    let mut columns = vec![Column::Time];
    for name in names {
        let column = Column::Field(name.to_owned(), definition.kind_of(name));
        if !is_time(name) && !columns.contains(&column) {
            columns.push(column);
        }
    }
    // A field of that name stands for itself, and hides the label.
    let hidden = |column: &Column| column.name() == Column::Label.name();
    if !columns.iter().any(hidden) {
        columns.push(Column::Label);
    }
    columns
}

impl Column {
    fn name(&self) -> &str {
        match self {
            Self::Time => "time",
            Self::Field(name, _) => name,
            Self::Label => "visibility",
        }
    }

    /// The heading in a table: numbers are aligned to the right.
    fn head(&self) -> String {
        match self {
            Self::Field(name, FieldType::I64 | FieldType::U64 | FieldType::F64) => {
                format!(">{name}")
            }
            other => other.name().to_owned(),
        }
    }

    /// The text in a table. An event without the field has none.
    fn cell(&self, event: &Event) -> String {
        match self {
            Self::Time => show_time(event.time),
            Self::Field(name, _) => event.get(name).map_or_else(String::new, clipped),
            // An empty label is not an empty value.
            Self::Label if event.label().is_empty() => String::new(),
            Self::Label => clipped(event.label()),
        }
    }
}

/// A value in a table: in quotes if it is empty or contains a space or a quote, so that its end is clear. A long value is
/// cut, and followed by a mark that no complete value contains.
fn clipped(value: &[u8]) -> String {
    let quoted = value.is_empty() || value.contains(&b' ') || value.contains(&b'"');
    let text = escape_part(value, "\"");
    let text = match text.contains(CUT) {
        true => text.replace(CUT, "\\xe2\\x80\\xa6"),
        false => text.into_owned(),
    };
    let shown = beginning(&text);
    let quote = if quoted { "\"" } else { "" };
    match shown.len() == text.len() {
        true => format!("{quote}{shown}{quote}"),
        false => format!("{quote}{shown}{quote}{CUT}"),
    }
}

/// The first characters of an escaped text, with no part of an escape at the end.
fn beginning(text: &str) -> &str {
    let (mut end, mut characters) = (0, 0);
    while let Some(rest) = text.get(end..)
        && let Some(first) = rest.chars().next()
    {
        let (bytes, more) = match first {
            '\\' if rest.starts_with("\\x") => (4, 4),
            '\\' => (2, 2),
            other => (other.len_utf8(), 1),
        };
        characters += more;
        if characters > CLIPPED {
            return text.get(..end).unwrap_or(text);
        }
        end += bytes;
    }
    text
}

impl CsvRows<'_> {
    fn write_head(&mut self) -> Result<()> {
        if !self.has_head {
            let names = self.columns.iter().map(Column::name);
            self.writer.write_record(names).map_err(of_csv)?;
            self.has_head = true;
        }
        Ok(())
    }

    fn row(&mut self, event: &Event) -> Result<()> {
        self.write_head()?;
        for column in &self.columns {
            let written = match column {
                Column::Time => self.writer.write_field(show_time(event.time)),
                Column::Label => self.writer.write_field(event.label()),
                Column::Field(name, FieldType::Bytes) => {
                    let value = event.get(name).unwrap_or_default();
                    self.writer.write_field(escape_controls(value).as_bytes())
                }
                Column::Field(name, _) => {
                    self.writer.write_field(event.get(name).unwrap_or_default())
                }
            };
            written.map_err(of_csv)?;
        }
        self.writer.write_record(None::<&[u8]>).map_err(of_csv)
    }

    fn finish(mut self) -> Result<()> {
        self.write_head()?;
        Ok(self.writer.flush()?)
    }
}

impl<'a> EventForm<'a> {
    /// Prints events of a type, with these fields, or with all if there are none.
    pub(super) fn new(
        rows: EventsRows,
        definition: &EventType,
        fields: &'a [String],
        out: &'a mut (dyn Write + Send),
    ) -> Self {
        match rows {
            EventsRows::Text => Self::Text(Lines {
                out,
                fields,
                time: definition.time.clone(),
            }),
            EventsRows::Json => Self::Json(out),
            EventsRows::Table => {
                let columns = columns(definition, fields);
                let head = columns.iter().map(Column::head).collect();
                Self::Table(TableRows::new(head, out), columns)
            }
            EventsRows::Csv => {
                let columns = columns(definition, fields);
                Self::Csv(Box::new(CsvRows {
                    writer: csv::Writer::from_writer(out),
                    columns,
                    has_head: false,
                }))
            }
        }
    }

    /// Prints an event.
    pub(super) fn event(&mut self, event: &Event) -> Result<()> {
        match self {
            Self::Text(lines) => {
                let text = event_text(event, &lines.time, lines.fields);
                writeln!(lines.out, "{text}")?;
            }
            Self::Json(out) => write_json_line(*out, &event_json(event))?,
            Self::Table(rows, columns) => {
                rows.row(columns.iter().map(|column| column.cell(event)).collect())?;
            }
            Self::Csv(rows) => rows.row(event)?,
        }
        Ok(())
    }

    /// Prints what is left, and the heading if there was no event.
    pub(super) fn finish(self) -> Result<()> {
        match self {
            Self::Table(rows, _) => Ok(rows.finish()?),
            Self::Csv(rows) => rows.finish(),
            Self::Text(_) | Self::Json(_) => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clipped_value_is_unlike_every_whole_one() {
        let long = "x".repeat(CLIPPED);
        assert_eq!(clipped(long.as_bytes()), long);
        let longer = format!("{long}y");
        assert_eq!(clipped(longer.as_bytes()), format!("{long}…"));
        let whole = format!("{}…", "x".repeat(3));
        assert_eq!(clipped(whole.as_bytes()), "xxx\\xe2\\x80\\xa6");
        let blank = format!("a {long}");
        let rest = |from| long.get(from..).expect("ASCII");
        assert_eq!(clipped(blank.as_bytes()), format!("\"a {}\"…", rest(2)));
        // No part of an escape.
        let end = format!("{}\x01z", rest(3));
        assert_eq!(clipped(end.as_bytes()), format!("{}…", rest(3)));
        let end = format!("{}\x01", rest(4));
        assert_eq!(clipped(end.as_bytes()), format!("{}\\x01", rest(4)));
        assert_eq!(clipped(b""), "\"\"");
        assert_eq!(clipped(b"\xff"), "\\xff");
        assert_eq!(clipped(b"a\"b"), "\"a\\x22b\"");
    }
}
