//! Every edge once, from the end with fewer neighbours to the other: no vertex then has many, and
//! every triangle is found exactly once.

use crate::matrix::UndirectedGraph;

pub(super) struct OrientedGraph {
    offsets: Vec<usize>,
    /// Vertices in the order of the graph's keys.
    targets: Vec<u32>,
}

impl OrientedGraph {
    pub(super) fn new(graph: &UndirectedGraph) -> Self {
        let rank = |vertex: usize| (graph.neighbours(vertex).len(), vertex);
        let mut offsets = Vec::with_capacity(graph.vertices() + 1);
        let mut targets = Vec::with_capacity(graph.entries() / 2);
        offsets.push(0);
        for vertex in 0..graph.vertices() {
            let own = rank(vertex);
            let neighbours = graph.neighbours(vertex).iter().copied();
            targets.extend(neighbours.filter(|&other| rank(other as usize) > own));
            offsets.push(targets.len());
        }
        Self { offsets, targets }
    }

    pub(super) fn vertices(&self) -> usize {
        self.offsets.len() - 1
    }

    /// Positions of a vertex' edges.
    pub(super) fn edges_of(&self, vertex: usize) -> std::ops::Range<usize> {
        self.offsets[vertex]..self.offsets[vertex + 1]
    }

    pub(super) fn target(&self, edge: usize) -> usize {
        self.targets[edge] as usize
    }

    pub(super) fn edges(&self) -> usize {
        self.targets.len()
    }

    /// Visits every triangle whose first vertex lies in `vertices`: its three edges.
    ///
    /// `marked` is empty at first; it is passed again for the next vertices.
    pub(super) fn triangles(
        &self,
        vertices: std::ops::Range<usize>,
        marked: &mut Vec<usize>,
        mut visit: impl FnMut(usize, usize, usize),
    ) {
        // The edge to each vertex from the one under way, plus one; 0 for none.
        marked.resize(self.vertices(), 0);
        for vertex in vertices {
            for edge in self.edges_of(vertex) {
                marked[self.target(edge)] = edge + 1;
            }
            for first in self.edges_of(vertex) {
                for second in self.edges_of(self.target(first)) {
                    let third = marked[self.target(second)];
                    if third != 0 {
                        visit(first, second, third - 1);
                    }
                }
            }
            for edge in self.edges_of(vertex) {
                marked[self.target(edge)] = 0;
            }
        }
    }

    /// Keeps the edges for which `keep` is set.
    pub(super) fn retain(&mut self, keep: &[bool]) {
        let mut kept = 0;
        let mut start = 0;
        for vertex in 0..self.vertices() {
            let end = self.offsets[vertex + 1];
            self.offsets[vertex] = kept;
            for (edge, &keep) in (start..end).zip(&keep[start..end]) {
                if keep {
                    self.targets[kept] = self.targets[edge];
                    kept += 1;
                }
            }
            start = end;
        }
        if let Some(last) = self.offsets.last_mut() {
            *last = kept;
        }
        self.targets.truncate(kept);
    }
}
