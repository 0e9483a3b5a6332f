//! The generator.

use std::ops::Range;

use ostrakon_cell::{Error, Result};

use super::alias::{AliasTable, LEVELS_MAX};
use super::permutation::Permutation;

/// Largest scale: vertex numbers stay exact as 64-bit floats and the count of edges in 64 bits.
pub const SCALE_MAX: u32 = 48;

/// What graph to make.
#[derive(Debug, Clone, PartialEq)]
pub struct KroneckerOptions {
    /// The graph has 2^scale vertex numbers; 1 to [`SCALE_MAX`]. Default: 12.
    pub scale: u32,
    /// Edges per vertex number. Default: 8, as in the paper of 100 million inserts; Graph500 and
    /// D4M's examples take 16.
    pub edges_per_vertex: f64,
    /// Decides everything random. Default: 1.
    pub seed: u64,
    /// Renumbers the vertices at random. Default: no, as D4M's examples; then vertex 0 has the
    /// largest degree and the picture of the matrix shows its blocks. Graph500 renumbers.
    pub permuted: bool,
    /// Probabilities of the quadrants A, B, C and D. Default: 0.57, 0.19, 0.19, 0.05, Graph500's.
    pub quadrants: [f64; 4],
}

impl Default for KroneckerOptions {
    fn default() -> Self {
        Self {
            scale: 12,
            edges_per_vertex: 8.0,
            seed: 1,
            permuted: false,
            quadrants: [0.57, 0.19, 0.19, 0.05],
        }
    }
}

/// A Kronecker graph: a list of edges that can be generated from anywhere.
///
/// ```
/// use ostrakon_graph::{Kronecker, KroneckerOptions};
/// let graph = Kronecker::new(&KroneckerOptions { scale: 10, ..KroneckerOptions::default() })?;
/// assert_eq!((graph.vertices(), graph.edges()), (1024, 8192));
///
/// // Two processes make half of it each.
/// let (first, second) = (graph.part(0, 2)?, graph.part(1, 2)?);
/// assert_eq!(first.end, second.start);
/// let (mut rows, mut columns) = (vec![0; 4096], vec![0; 4096]);
/// graph.fill(second.start, &mut rows, &mut columns)?;
/// assert!(rows.iter().chain(&columns).all(|&vertex| vertex < 1024));
/// # Ok::<(), ostrakon_cell::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Kronecker {
    vertices: u64,
    edges: u64,
    key: u64,
    /// Tables for as many bits as the scale has, the largest first.
    tables: Vec<AliasTable>,
    permutation: Option<Permutation>,
}

impl Kronecker {
    /// Prepares the tables; generates nothing yet.
    ///
    /// # Errors
    /// A scale outside 1 to [`SCALE_MAX`], a negative or too large number of edges per vertex, or
    /// quadrants that are not probabilities adding up to 1.
    pub fn new(options: &KroneckerOptions) -> Result<Self> {
        if !(1..=SCALE_MAX).contains(&options.scale) {
            return Err(Error::invalid(format!(
                "the scale must be a number from 1 to {SCALE_MAX}"
            ))
            .with("scale", options.scale));
        }
        let vertices = 1_u64 << options.scale;
        let edges = (options.edges_per_vertex * vertices as f64).round();
        if !(0.0..=1e18).contains(&edges) {
            return Err(Error::invalid(
                "the edges per vertex must be a positive number, and the graph must not have more than 10^18 edges",
            )
            .with("edges per vertex", options.edges_per_vertex));
        }
        let sum: f64 = options.quadrants.iter().sum();
        if options
            .quadrants
            .iter()
            .any(|part| !(0.0..=1.0).contains(part))
            || (sum - 1.0).abs() > 1e-9
        {
            return Err(Error::invalid(
                "the four quadrants' probabilities must lie between 0 and 1 and add up to 1",
            )
            .with("given", format!("{:?}", options.quadrants)));
        }
        // As few draws as possible, of about equal size.
        let draws = options.scale.div_ceil(LEVELS_MAX);
        let tables = (0..draws)
            .map(|draw| options.scale / draws + u32::from(draw < options.scale % draws))
            .map(|levels| AliasTable::new(levels, options.quadrants))
            .collect();
        Ok(Self {
            vertices,
            edges: edges as u64,
            key: mix(options.seed, 0x6b72_6f6e),
            tables,
            permutation: options
                .permuted
                .then(|| Permutation::new(options.scale, mix(options.seed, 0x7065_726d))),
        })
    }

    /// Number of vertex numbers, N = 2^scale. About half of them have an outgoing edge.
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.vertices
    }

    /// Number of edges, M; some of them are equal.
    #[must_use]
    pub fn edges(&self) -> u64 {
        self.edges
    }

    /// The edges that part `part` of `parts` generates: consecutive, disjoint, as equal as can be.
    ///
    /// # Errors
    /// No such part.
    pub fn part(&self, part: u64, parts: u64) -> Result<Range<u64>> {
        if part >= parts {
            return Err(
                Error::invalid("parts are numbered from 0 to one less than their count")
                    .with("part", part)
                    .with("parts", parts),
            );
        }
        let border = |at: u64| (u128::from(self.edges) * u128::from(at) / u128::from(parts)) as u64;
        Ok(border(part)..border(part + 1))
    }

    /// Fills both slices with the ends of the edges from number `first` on: rows (where an edge
    /// begins) and columns (where it ends), numbered from 0.
    ///
    /// # Errors
    /// The slices differ in length, or there are not that many edges.
    pub fn fill(&self, first: u64, rows: &mut [u64], columns: &mut [u64]) -> Result<()> {
        if rows.len() != columns.len() {
            return Err(Error::invalid("rows and columns have different lengths")
                .with("rows", rows.len())
                .with("columns", columns.len()));
        }
        let end = first.checked_add(rows.len() as u64);
        if end.is_none_or(|end| end > self.edges) {
            return Err(Error::invalid("the graph has no edges there")
                .with("first", first)
                .with("count", rows.len())
                .with("edges", self.edges));
        }
        // A constant number of draws lets the compiler unroll the inner loop.
        match self.tables.as_slice() {
            [a] => self.fill_by([a], first, rows, columns),
            [a, b] => self.fill_by([a, b], first, rows, columns),
            [a, b, c] => self.fill_by([a, b, c], first, rows, columns),
            [a, b, c, d] => self.fill_by([a, b, c, d], first, rows, columns),
            [a, b, c, d, e] => self.fill_by([a, b, c, d, e], first, rows, columns),
            many => {
                let draws = many.len() as u64;
                for (at, (row, column)) in rows.iter_mut().zip(&mut *columns).enumerate() {
                    let word = (first + at as u64).wrapping_mul(draws);
                    (*row, *column) = draw_all(many.iter(), self.key, word);
                }
            }
        }
        if let Some(permutation) = &self.permutation {
            for vertex in rows.iter_mut().chain(columns) {
                *vertex = permutation.apply(*vertex);
            }
        }
        Ok(())
    }

    fn fill_by<const DRAWS: usize>(
        &self,
        tables: [&AliasTable; DRAWS],
        first: u64,
        rows: &mut [u64],
        columns: &mut [u64],
    ) {
        for (at, (row, column)) in rows.iter_mut().zip(columns).enumerate() {
            let word = (first + at as u64).wrapping_mul(DRAWS as u64);
            (*row, *column) = draw_all(tables.into_iter(), self.key, word);
        }
    }
}

#[inline(always)]
fn draw_all<'a>(
    tables: impl Iterator<Item = &'a AliasTable>,
    key: u64,
    first_word: u64,
) -> (u64, u64) {
    let (mut row, mut column) = (0, 0);
    for (at, table) in tables.enumerate() {
        let (out, into) = table.draw(mix(key, first_word.wrapping_add(at as u64)));
        row = row << table.levels() | out;
        column = column << table.levels() | into;
    }
    (row, column)
}

/// Word number `at` of the stream `key`: `SplitMix64` (G. L. Steele, D. Lea and C. H. Flood, 2014), of which
/// every word can be computed by itself.
#[inline(always)]
pub(crate) fn mix(key: u64, at: u64) -> u64 {
    let mut word = key.wrapping_add(at.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15));
    word = (word ^ word >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    word = (word ^ word >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    word ^ word >> 31
}
