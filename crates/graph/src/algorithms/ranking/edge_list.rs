//! Entries that are read many times: from memory if they fit, otherwise from the table.

use ostrakon_cell::{Error, ErrorKind, Result};

use crate::matrix::Interner;
use crate::tables::{GraphContext, MatrixTable};

const BYTES: usize = 16;

pub(super) struct EdgeList<'a> {
    context: &'a GraphContext,
    part: MatrixTable,
    pub(super) rows: Interner,
    /// Unused when rows and columns are the same kind of thing: then all are in `rows`.
    pub(super) columns: Interner,
    one_kind: bool,
    /// `None` when there are too many.
    cached: Option<Vec<(u32, u32, f64)>>,
    pub(super) entries_read: u64,
}

impl<'a> EdgeList<'a> {
    /// Reads the entries once. With `one_kind` rows and columns share their numbers.
    pub(super) fn read(
        context: &'a GraphContext,
        part: &MatrixTable,
        one_kind: bool,
    ) -> Result<Self> {
        let mut list = Self {
            context,
            part: part.clone(),
            rows: Interner::default(),
            columns: Interner::default(),
            one_kind,
            cached: Some(Vec::new()),
            entries_read: 0,
        };
        let mut stream = part.stream(context)?;
        while stream.advance()? {
            let row = list.rows.intern(stream.row())?;
            stream.visit(|column, value| {
                let names = if one_kind {
                    &mut list.rows
                } else {
                    &mut list.columns
                };
                let column = names.intern(column)?;
                if let Some(cached) = &mut list.cached {
                    cached.push((row, column, value));
                }
                Ok(())
            })?;
            if let Some(cached) = &list.cached
                && cached.len() * BYTES > context.memory_bytes
            {
                list.cached = None;
            }
        }
        list.entries_read = stream.entries();
        Ok(list)
    }

    /// Visits every entry: row, column, value.
    pub(super) fn each(&mut self, mut visit: impl FnMut(usize, usize, f64)) -> Result<()> {
        if let Some(cached) = &self.cached {
            for &(row, column, value) in cached {
                visit(row as usize, column as usize, value);
            }
            return Ok(());
        }
        let mut stream = self.part.stream(self.context)?;
        let columns = if self.one_kind {
            &self.rows
        } else {
            &self.columns
        };
        while stream.advance()? {
            let row = self.rows.find(stream.row()).ok_or_else(changed)?;
            stream.visit(|column, value| {
                let column = columns.find(column).ok_or_else(changed)?;
                visit(row as usize, column as usize, value);
                Ok(())
            })?;
        }
        self.entries_read += stream.entries();
        Ok(())
    }
}

fn changed() -> Error {
    Error::new(
        ErrorKind::Cancelled,
        "the table got new keys while it was read several times: clone it, or raise memory_bytes so \
         that it is read once",
    )
}
