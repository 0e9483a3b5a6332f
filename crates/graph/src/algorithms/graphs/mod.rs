//! Algorithms on undirected graphs: triangles, trusses, Jaccard, components.

mod components;
mod jaccard;
mod oriented;
#[cfg(test)]
mod tests;
mod triangles;
mod truss;

pub use components::{ComponentsResult, connected_components};
pub use jaccard::{JaccardOptions, JaccardResult, jaccard};
pub use triangles::{TriangleResult, triangle_count};
pub use truss::{TrussOptions, TrussResult, k_truss_adjacency, k_truss_incidence};
