//! Exact expected values of such a graph, shown next to a picture of one graph.

use super::KroneckerOptions;

/// Expected numbers of a Kronecker graph.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct DegreeExpectations {
    /// Distinct edges: entries of the adjacency matrix.
    pub distinct_edges: f64,
    /// Vertices with at least one outgoing edge: non-empty rows.
    pub rows: f64,
    /// Vertices with at least one incoming edge: non-empty columns.
    pub columns: f64,
    /// Outgoing edges of the vertex that has most, equal ones counted each.
    pub largest_out_degree: f64,
    /// Distinct ends of its outgoing edges.
    pub largest_row: f64,
    /// Vertices with exactly one outgoing edge, equal ones counted each.
    pub rows_of_degree_one: f64,
}

/// The expectations for the graphs of these options.
///
/// ```
/// use ostrakon_graph::{KroneckerOptions, expectations};
/// let expected = expectations(&KroneckerOptions { scale: 17, ..KroneckerOptions::default() });
/// assert_eq!(expected.distinct_edges.round(), 999_716.0);
/// assert_eq!(expected.largest_out_degree.round(), 9_873.0);
/// ```
#[must_use]
pub fn expectations(options: &KroneckerOptions) -> DegreeExpectations {
    let [a, b, c, d] = options.quadrants;
    let scale = options.scale as usize;
    let edges = (options.edges_per_vertex * f64::powi(2.0, options.scale as i32)).round();
    // A row whose number has `ones` bits set gets a share of (A+B)^zeros (C+D)^ones of the edges.
    let hit = |share: f64| 1.0 - f64::exp(edges * f64::ln_1p(-share.min(1.0)));
    let vertices = |zero: f64, one: f64| -> f64 {
        (0..=scale)
            .map(|ones| {
                let share = zero.powi((scale - ones) as i32) * one.powi(ones as i32);
                binomial(scale, ones) * hit(share)
            })
            .sum()
    };
    let mut distinct_edges = 0.0;
    for in_c_or_d in 0..=scale {
        let upper = scale - in_c_or_d;
        for in_b in 0..=upper {
            for in_d in 0..=in_c_or_d {
                let share = a.powi((upper - in_b) as i32)
                    * b.powi(in_b as i32)
                    * c.powi((in_c_or_d - in_d) as i32)
                    * d.powi(in_d as i32);
                let cells =
                    binomial(scale, in_c_or_d) * binomial(upper, in_b) * binomial(in_c_or_d, in_d);
                distinct_edges += cells * hit(share);
            }
        }
    }
    // The fullest row is all zeros or all ones.
    let (out, stays, leaves) = if a + b >= c + d {
        (a + b, a, b)
    } else {
        (c + d, c, d)
    };
    let largest_row = (0..=scale)
        .map(|ones| {
            let share = stays.powi((scale - ones) as i32) * leaves.powi(ones as i32);
            binomial(scale, ones) * hit(share)
        })
        .sum();
    let rows_of_degree_one = (0..=scale)
        .map(|ones| {
            let share = (a + b).powi((scale - ones) as i32) * (c + d).powi(ones as i32);
            let others = f64::exp((edges - 1.0) * f64::ln_1p(-share.min(1.0)));
            binomial(scale, ones) * edges * share * others
        })
        .sum();
    DegreeExpectations {
        distinct_edges,
        rows: vertices(a + b, c + d),
        columns: vertices(a + c, b + d),
        largest_out_degree: edges * out.powi(options.scale as i32),
        largest_row,
        rows_of_degree_one,
    }
}

fn binomial(of: usize, take: usize) -> f64 {
    (0..take).fold(1.0, |so_far, at| {
        so_far * (of - at) as f64 / (at + 1) as f64
    })
}
