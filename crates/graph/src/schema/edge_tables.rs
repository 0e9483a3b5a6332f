//! Writes edges, their transpose and the sums of their degrees together.

use ostrakon_cell::Result;

use super::degrees::Sums;
use super::writers::{Same, Writer};
use crate::tables::GraphContext;

/// Names of the three tables; those that are `None` are not kept.
pub(super) struct EdgeTableNames<'a> {
    pub(super) edges: &'a str,
    pub(super) transpose: Option<&'a str>,
    pub(super) degrees: Option<&'a str>,
}

/// The three tables of a graph, with `N` columns of degrees.
pub(super) struct EdgeTables<const N: usize> {
    edges: Writer,
    transpose: Option<Writer>,
    degrees: Option<Writer>,
    sums: Sums<N>,
}

impl<const N: usize> EdgeTables<N> {
    /// Opens or makes the tables. `same` is what becomes of equal edges; degrees are added up.
    pub(super) fn open(
        context: &GraphContext,
        names: &EdgeTableNames<'_>,
        same: Same,
        degree_columns: [&'static [u8]; N],
    ) -> Result<Self> {
        let open = |name: Option<&str>, same| {
            name.map(|name| Writer::open(context, name, same))
                .transpose()
        };
        Ok(Self {
            edges: Writer::open(context, names.edges, same)?,
            transpose: open(names.transpose, same)?,
            degrees: open(names.degrees, Same::Summed)?,
            sums: Sums::new(degree_columns),
        })
    }

    /// The label of what is written from here on. Degrees are kept for each label apart: those so far are
    /// written under the label before.
    pub(super) fn set_label(&mut self, label: &[u8]) -> Result<()> {
        self.write_degrees()?;
        for writer in self.others_mut() {
            writer.set_label(label);
        }
        self.edges.set_label(label);
        Ok(())
    }

    /// Writes an edge and its mirror.
    pub(super) fn put(&mut self, row: &[u8], column: &[u8], value: &[u8]) -> Result<()> {
        self.edges.put(row, column, value)?;
        match &mut self.transpose {
            Some(transpose) => transpose.put(column, row, value),
            None => Ok(()),
        }
    }

    /// Adds to a degree, if degrees are kept.
    pub(super) fn count(&mut self, key: &[u8], degree_column: usize, weight: f64) -> Result<()> {
        match self.degrees {
            Some(_) => self.sums.add(key, degree_column, weight),
            None => Ok(()),
        }
    }

    /// Writes the degrees when there are too many of them to keep. Call it after each edge.
    pub(super) fn spill(&mut self) -> Result<()> {
        if self.sums.is_full() {
            self.write_degrees()?;
        }
        Ok(())
    }

    fn write_degrees(&mut self) -> Result<()> {
        match &mut self.degrees {
            Some(degrees) => self.sums.write(degrees),
            None => Ok(()),
        }
    }

    fn others_mut(&mut self) -> impl Iterator<Item = &mut Writer> {
        self.degrees.iter_mut().chain(&mut self.transpose)
    }

    /// Writes what is collected and waits until it is acknowledged; edges come last.
    pub(super) fn flush(&mut self) -> Result<()> {
        self.write_degrees()?;
        for writer in self.others_mut() {
            writer.flush()?;
        }
        self.edges.flush()
    }

    /// Entries written to all tables.
    pub(super) fn written(&self) -> u64 {
        let others = self.transpose.iter().chain(&self.degrees);
        self.edges.written + others.map(|writer| writer.written).sum::<u64>()
    }
}
