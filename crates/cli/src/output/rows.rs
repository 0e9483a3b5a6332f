//! Rows without end: aligned columns block by block, and errors of CSV.

use std::io::{self, Write};

use super::Columns;
use crate::failure::Failure;

/// Rows that are aligned with one another.
const ALIGNED: usize = 1000;

/// Aligned columns of any number of rows. After so many rows the header is written again.
pub(crate) struct TableRows<'a> {
    out: &'a mut (dyn Write + Send),
    head: Vec<String>,
    columns: Columns,
    waiting: usize,
    written: bool,
}

impl<'a> TableRows<'a> {
    /// Rows with these column names, as [`Columns`] takes them.
    pub(crate) fn new(head: Vec<String>, out: &'a mut (dyn Write + Send)) -> Self {
        Self {
            out,
            columns: Columns::new(&head),
            head,
            waiting: 0,
            written: false,
        }
    }

    /// Adds a row: one text for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) -> io::Result<()> {
        self.columns.row(cells);
        self.waiting += 1;
        match self.waiting == ALIGNED {
            true => self.flush(),
            false => Ok(()),
        }
    }

    /// Writes what is left; without any row, the header.
    pub(crate) fn finish(mut self) -> io::Result<()> {
        let empty = self.head.is_empty() || (self.waiting == 0 && self.written);
        match empty {
            true => Ok(()),
            false => self.flush(),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        let columns = std::mem::replace(&mut self.columns, Columns::new(&self.head));
        columns.write(self.out)?;
        self.waiting = 0;
        self.written = true;
        Ok(())
    }
}

/// The failure of rows that are written as CSV.
pub(crate) fn of_csv(error: csv::Error) -> Failure {
    match error.into_kind() {
        csv::ErrorKind::Io(error) => error.into(),
        other => Failure::outcome("the rows cannot be written as CSV")
            .with("reason", format!("{other:?}")),
    }
}
