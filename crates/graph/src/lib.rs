//! Graphs in tables: D4M's schema, the Kronecker generator, and algorithms that run over tables.
//!
//! * **Making graphs**: [`Kronecker`], the workload of the published experiments.
//! * **Writing them**: [`AdjacencyWriter`], [`IncidenceWriter`], [`SingleTableWriter`], and
//!   [`RecordWriter`] for records in the D4M 2.0 schema.
//! * **Computing on them**: [`table_mult`], [`elementwise`], [`transform`], [`reduce_rows`],
//!   [`degree_table`]; [`bfs`], [`jaccard`], [`k_truss_adjacency`], [`k_truss_incidence`],
//!   [`triangle_count`], [`connected_components`], [`pagerank`], [`tfidf`], [`nmf`].
//!
//! An algorithm gets a [`GraphContext`]: a source of tables, the reader's authorizations, the label of
//! its results, and a memory bound. It reads nothing that the reader may not see. Its documentation says
//! what it holds in memory, and its result says what it wrote ([`WriteCount::relative_io`]).
//!
//! Not here: associative arrays, plots, files.
//!
//! ```
//! use ostrakon_graph::{
//!     AdjacencyTables, AdjacencyWriter, BfsOptions, GraphContext, TableMultOptions, bfs,
//!     register_graph_iterators, table_mult,
//! };
//! use ostrakon_store::vfs::MemoryVfs;
//! use ostrakon_store::{Components, Store, StoreOptions};
//!
//! let mut components = Components { vfs: MemoryVfs::shared(), ..Components::default() };
//! register_graph_iterators(&mut components.iterators);
//! let store = Store::open_with(components, "/graphs", StoreOptions::default())?;
//! let context = GraphContext::new(store);
//!
//! let mut writer = AdjacencyWriter::new(&context, &AdjacencyTables::named("Tadj"))?;
//! for (from, to) in [("alice", "bob"), ("alice", "carl"), ("bob", "carl"), ("carl", "alice")] {
//!     writer.add(from.as_bytes(), to.as_bytes(), 1.0)?;
//! }
//! writer.close()?;
//!
//! // Who is one step from alice?
//! let found = bfs(&context, &BfsOptions::adjacency("Tadj", ["alice"], 1))?;
//! assert_eq!(found.levels, [0, 1, 1]);
//!
//! // Which two are cited by the same one, and how often?
//! let mut product = TableMultOptions::new("Tadj", "Tadj");
//! product.result = Some("Tcited".into());
//! product.collect = true;
//! let outcome = table_mult(&context, &product)?;
//! assert_eq!(outcome.matrix.and_then(|cited| cited.get(b"bob", b"carl")), Some(1.0));
//! assert_eq!(outcome.io.relative_io(), 1.0);
//! # Ok::<(), ostrakon_cell::Error>(())
//! ```

mod algorithms;
mod iterators;
mod key_ranges;
mod kronecker;
mod matrix;
mod number;
mod schema;
mod semiring;
mod tables;

pub use algorithms::{
    BfsOptions, BfsResult, ComponentsResult, DegreeLimit, Elementwise, ElementwiseOptions,
    ElementwiseResult, FactorsOptions, FactorsResult, GraphForm, JaccardOptions, JaccardResult,
    PageRankOptions, PageRankResult, Part, ReduceResult, TableMultOptions, TableMultResult,
    TfIdfOptions, TfIdfResult, TransformOptions, TransformResult, TriangleResult, TrussOptions,
    TrussResult, bfs, connected_components, degree_table, elementwise, jaccard, k_truss_adjacency,
    k_truss_incidence, nmf, pagerank, reduce_rows, table_mult, tfidf, transform, triangle_count,
};
pub use iterators::{
    Apply, RowReduction, Scalar, key_filter, number_combiner, register_graph_iterators, row_reduce,
};
pub use key_ranges::KeyRanges;
pub use kronecker::{DegreeExpectations, Kronecker, KroneckerOptions, SCALE_MAX, expectations};
pub use matrix::{Keys, SparseMatrix};
pub use number::{format_number, parse_number};
pub use schema::{
    AdjacencyTables, AdjacencyWriter, IncidenceTables, IncidenceWriter, RecordTables, RecordWriter,
    SingleTableWriter, edge_id, flip, reversed_millis,
};
pub use semiring::{Plus, Semiring, Times};
pub use tables::{GraphContext, Interrupt, MatrixTable, ResultTable, ValueKind, WriteCount};
