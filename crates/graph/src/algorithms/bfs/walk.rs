//! The search: frontiers, steps, and the state of each vertex.

use std::sync::Arc;

use ostrakon_cell::{Range, Result, Table};

use super::adjacency::{Pairs, RowForm};
use super::degrees::Degrees;
use super::incidence::Edges;
use super::output::Output;
use super::{BfsOptions, BfsResult, GraphForm};
use crate::matrix::Interner;
use crate::tables::GraphContext;

/// Entries a scan reads in the time of one point read.
const LOOK_UP_ENTRIES: u64 = 40;

/// The number of point reads up to which a scan of a table of unknown size is never cheaper.
const LOOK_UPS_FEW: u64 = 4096;

const UNSEEN: u32 = u32::MAX;

/// Searches a graph breadth first; see [`BfsOptions`].
///
/// Held in memory: the keys of all vertices seen and a few bytes for each; the edges, if they are to
/// be returned, or when a step reads the whole table anyway and 16 bytes for each fit `memory_bytes`:
/// the steps that follow then read nothing. For incidence tables the keys of the edges of one step, too,
/// when they are looked up.
///
/// # Errors
/// A missing table; a degree that is not a number; edges that do not fit `memory_bytes`.
pub fn bfs(context: &GraphContext, options: &BfsOptions) -> Result<BfsResult> {
    let mut walk = Walk::new(context, options)?;
    let mut degrees = match &options.degrees {
        Some(limit) => Some(Degrees::new(context, limit)?),
        None => None,
    };
    let mut expander = match &options.form {
        GraphForm::Adjacency { table } => {
            Expander::Pairs(Pairs::new(context, table, RowForm::Vertex)?)
        }
        GraphForm::SingleTable {
            table,
            edge_column,
            separator,
        } => Expander::Pairs(Pairs::new(
            context,
            table,
            RowForm::Joined {
                column: edge_column.clone(),
                separator: *separator,
            },
        )?),
        GraphForm::Incidence {
            edges,
            transpose,
            start_prefixes,
            end_prefixes,
        } => Expander::Edges(Edges::new(
            context,
            edges,
            transpose.as_deref(),
            start_prefixes,
            end_prefixes,
        )?),
    };
    for step in 1..=options.steps {
        let mut frontier = std::mem::take(&mut walk.next);
        if let Some(degrees) = &mut degrees {
            degrees.keep(context, &walk.names, &mut frontier)?;
            walk.entries_read += degrees.take_entries_read();
        }
        if frontier.is_empty() {
            break;
        }
        walk.begin(step, &frontier);
        match &mut expander {
            Expander::Pairs(pairs) => pairs.expand(context, &mut walk, &frontier)?,
            Expander::Edges(edges) => edges.expand(context, &mut walk, &frontier)?,
        }
    }
    walk.finish()
}

enum Expander {
    Pairs(Pairs),
    Edges(Edges),
}

/// The state of a search.
pub(super) struct Walk<'a> {
    options: &'a BfsOptions,
    pub(super) names: Interner,
    /// The step in which each vertex was reached first.
    levels: Vec<u32>,
    /// The last step that each vertex was put into the next frontier, or expanded in.
    queued: Vec<u32>,
    expanded: Vec<u32>,
    next: Vec<u32>,
    step: u32,
    pub(super) edges: u64,
    pub(super) entries_read: u64,
    pub(super) output: Output<'a>,
}

impl<'a> Walk<'a> {
    fn new(context: &'a GraphContext, options: &'a BfsOptions) -> Result<Self> {
        let mut walk = Self {
            options,
            names: Interner::default(),
            levels: Vec::new(),
            queued: Vec::new(),
            expanded: Vec::new(),
            next: Vec::new(),
            step: 0,
            edges: 0,
            entries_read: 0,
            output: Output::new(context, options)?,
        };
        for vertex in options.start.iter() {
            walk.reach(vertex)?;
        }
        Ok(walk)
    }

    fn begin(&mut self, step: u32, frontier: &[u32]) {
        self.step = step;
        for &vertex in frontier {
            self.expanded[vertex as usize] = step;
        }
        let last = step == self.options.steps;
        self.output.begin_step(last || self.options.union);
    }

    /// The number of a vertex that is expanded in this step.
    #[inline]
    pub(super) fn in_frontier(&self, key: &[u8]) -> Option<u32> {
        let vertex = self.names.find(key)?;
        (self.expanded[vertex as usize] == self.step).then_some(vertex)
    }

    /// Whether a vertex is expanded in this step.
    pub(super) fn expands(&self, vertex: u32) -> bool {
        self.expanded[vertex as usize] == self.step
    }

    /// The number of a vertex, reached or not.
    #[inline]
    pub(super) fn number(&mut self, key: &[u8]) -> Result<u32> {
        let vertex = self.names.intern(key)?;
        if vertex as usize == self.levels.len() {
            self.levels.push(UNSEEN);
            self.queued.push(UNSEEN);
            self.expanded.push(UNSEEN);
        }
        Ok(vertex)
    }

    /// An edge ends here.
    #[inline]
    pub(super) fn reach(&mut self, key: &[u8]) -> Result<()> {
        let vertex = self.number(key)?;
        self.reach_number(vertex);
        Ok(())
    }

    /// An edge ends at a vertex that has a number.
    #[inline]
    pub(super) fn reach_number(&mut self, vertex: u32) {
        let at = vertex as usize;
        if self.levels[at] == UNSEEN {
            self.levels[at] = self.step;
        } else if !self.options.revisit {
            return;
        }
        if self.queued[at] != self.step {
            self.queued[at] = self.step;
            self.next.push(vertex);
        }
    }

    /// Whether steps follow the one under way, and none of them puts edges out: then the graph may
    /// be kept in memory.
    pub(super) fn goes_on_silently(&self) -> bool {
        self.step < self.options.steps && !self.output.is_used()
    }

    fn finish(self) -> Result<BfsResult> {
        let mut order = self.names.keys().sorted_positions();
        // A graph kept in memory has vertices that were not reached.
        order.retain(|&vertex| self.levels[vertex as usize] != UNSEEN);
        let mut ranks = vec![0; self.levels.len()];
        for (rank, &vertex) in order.iter().enumerate() {
            ranks[vertex as usize] = rank as u32;
        }
        let mut last: Vec<u32> = Vec::new();
        if self.step == self.options.steps {
            last.extend(self.next.iter().map(|&vertex| ranks[vertex as usize]));
            last.sort_unstable();
        }
        let (io, matrix) = self.output.finish()?;
        Ok(BfsResult {
            vertices: self.names.keys().pick(&order),
            levels: order.iter().map(|&at| self.levels[at as usize]).collect(),
            last,
            edges: self.edges,
            entries_read: self.entries_read,
            io,
            matrix,
        })
    }
}

/// The size of a table as far as it is known, which decides between point reads and a scan.
pub(super) struct Size {
    entries: u64,
}

impl Size {
    pub(super) fn of(table: &Arc<dyn Table>) -> Self {
        // A source that does not tell is looked up in, as a small number of rows always is.
        let tablets = table.tablets().unwrap_or_default();
        Self {
            entries: tablets.iter().map(|tablet| tablet.entries).sum(),
        }
    }

    /// Whether scanning everything is cheaper than this number of point reads.
    pub(super) fn prefers_scan(&self, look_ups: usize) -> bool {
        let least = self.entries.max(LOOK_UPS_FEW * LOOK_UP_ENTRIES);
        look_ups as u64 * LOOK_UP_ENTRIES >= least
    }

    /// A scan has shown how many there are.
    pub(super) fn learn(&mut self, entries: u64) {
        self.entries = entries;
    }
}

/// Ranges of these vertices' rows, in order.
pub(super) fn ranges_of(
    names: &Interner,
    vertices: &[u32],
    range: impl Fn(&[u8]) -> Range,
) -> Vec<Range> {
    let mut keys: Vec<&[u8]> = vertices
        .iter()
        .map(|&vertex| names.keys().get(vertex as usize))
        .collect();
    keys.sort_unstable();
    keys.into_iter().map(range).collect()
}
