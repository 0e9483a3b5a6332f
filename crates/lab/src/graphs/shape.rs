//! Pictures of a base graph: the positions of its edges, and its distribution of degrees.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::base::BaseGraph;

/// How many vertices have how many edges.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DegreeCurve {
    /// Degree, and how many vertices have it; ascending.
    pub counts: Vec<(u64, u64)>,
}

impl DegreeCurve {
    /// Outgoing edges of each row: all that were generated, or distinct neighbours.
    #[must_use]
    pub fn of_rows(base: &BaseGraph, distinct: bool) -> Self {
        let mut counts = BTreeMap::new();
        let mut present: Option<(u64, u64)> = None;
        for (row, _, count) in base.iter() {
            let count = if distinct { 1 } else { u64::from(count) };
            present = match present {
                Some((same, degree)) if same == row => Some((row, degree + count)),
                other => {
                    if let Some((_, degree)) = other {
                        *counts.entry(degree).or_default() += 1;
                    }
                    Some((row, count))
                }
            };
        }
        if let Some((_, degree)) = present {
            *counts.entry(degree).or_default() += 1;
        }
        Self {
            counts: counts.into_iter().collect(),
        }
    }

    /// Vertices with one edge.
    #[must_use]
    pub fn of_degree_one(&self) -> u64 {
        self.counts
            .first()
            .map_or(0, |&(degree, count)| if degree == 1 { count } else { 0 })
    }

    /// The largest degree.
    #[must_use]
    pub fn largest(&self) -> u64 {
        self.counts.last().map_or(0, |&(degree, _)| degree)
    }

    /// Vertices with an edge.
    #[must_use]
    pub fn vertices(&self) -> u64 {
        self.counts.iter().map(|(_, count)| count).sum()
    }

    /// The slope of the line between the two ends of the curve, both axes logarithmic: from the vertices of degree one
    /// to the vertex of the largest degree.
    #[must_use]
    pub fn slope_of_ends(&self) -> f64 {
        let (one, largest) = (self.of_degree_one() as f64, self.largest() as f64);
        if one < 1.0 || largest <= 1.0 {
            return 0.0;
        }
        -one.ln() / largest.ln()
    }

    /// The slope of the line of least squares through all points, both axes logarithmic.
    #[must_use]
    pub fn slope_fitted(&self) -> f64 {
        let points = || {
            self.counts
                .iter()
                .map(|&(degree, count)| ((degree as f64).ln(), (count as f64).ln()))
        };
        let number = (self.counts.len() as f64).max(1.0);
        let (x, y) = points().fold((0.0, 0.0), |sum, point| (sum.0 + point.0, sum.1 + point.1));
        let (x, y) = (x / number, y / number);
        let (over, under) = points().fold((0.0, 0.0), |sum, point| {
            (
                sum.0 + (point.0 - x) * (point.1 - y),
                sum.1 + (point.0 - x).powi(2),
            )
        });
        if under > 0.0 { over / under } else { 0.0 }
    }
}

/// A sparse matrix as a picture: edges counted in the cells of a grid.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Spy {
    /// Vertices along each side.
    pub vertices: u64,
    /// Edges shown.
    pub shown: u64,
    /// One text a row of the grid, from the top; one character a cell: the number of edges in it, `9` for more, a
    /// space for none.
    pub cells: Vec<String>,
}

impl Spy {
    /// A picture of `side` × `side` cells.
    #[must_use]
    pub fn of(base: &BaseGraph, vertices: u64, side: usize) -> Self {
        let mut counts = vec![0_u64; side * side];
        let mut shown = 0;
        let place = |vertex: u64| (vertex as u128 * side as u128 / u128::from(vertices)) as usize;
        for (row, column, count) in base.iter() {
            counts[place(row) * side + place(column)] += u64::from(count);
            shown += u64::from(count);
        }
        let cell = |count: &u64| match count {
            0 => ' ',
            1..9 => char::from(b'0' + *count as u8),
            _ => '9',
        };
        Self {
            vertices,
            shown,
            cells: counts
                .chunks(side)
                .map(|row| row.iter().map(cell).collect())
                .collect(),
        }
    }
}
