//! A graph without directions, weights, loops and parallel edges.

use super::keys::{Keys, ranks};

/// Neighbours of every vertex, ascending; vertices are numbered in the order of their keys. Holds
/// 8 bytes per edge and direction while it is built, 4 afterwards.
#[derive(Debug, Default)]
pub(crate) struct UndirectedGraph {
    pub(crate) names: Keys,
    offsets: Vec<usize>,
    neighbours: Vec<u32>,
}

impl UndirectedGraph {
    /// The graph of these edges between positions in `names`; either direction, any order, loops
    /// and repetitions are skipped.
    pub(crate) fn new(names: &Keys, edges: &[(u32, u32)]) -> Self {
        let order = names.sorted_positions();
        let ranks = ranks(&order);
        let mut offsets = vec![0_usize; order.len() + 1];
        let each = |visit: &mut dyn FnMut(u32, u32)| {
            for &(a, b) in edges {
                let (a, b) = (ranks[a as usize], ranks[b as usize]);
                if a != b {
                    visit(a, b);
                    visit(b, a);
                }
            }
        };
        each(&mut |a, _| offsets[a as usize + 1] += 1);
        for at in 1..offsets.len() {
            offsets[at] += offsets[at - 1];
        }
        let mut next = offsets.clone();
        let mut placed = vec![0_u32; offsets.last().copied().unwrap_or(0)];
        each(&mut |a, b| {
            let slot = &mut next[a as usize];
            placed[*slot] = b;
            *slot += 1;
        });
        let mut kept = 0;
        let mut start = 0;
        for vertex in 0..order.len() {
            let end = offsets[vertex + 1];
            placed[start..end].sort_unstable();
            offsets[vertex] = kept;
            let mut last = None;
            for at in start..end {
                if last != Some(placed[at]) {
                    last = Some(placed[at]);
                    placed[kept] = placed[at];
                    kept += 1;
                }
            }
            start = end;
        }
        if let Some(last) = offsets.last_mut() {
            *last = kept;
        }
        placed.truncate(kept);
        placed.shrink_to_fit();
        Self {
            names: names.pick(&order),
            offsets,
            neighbours: placed,
        }
    }

    pub(crate) fn vertices(&self) -> usize {
        self.names.len()
    }

    /// Entries: twice the edges.
    pub(crate) fn entries(&self) -> usize {
        self.neighbours.len()
    }

    pub(crate) fn neighbours(&self, vertex: usize) -> &[u32] {
        &self.neighbours[self.offsets[vertex]..self.offsets[vertex + 1]]
    }

    /// Where the neighbours of a vertex begin among all.
    pub(crate) fn offset(&self, vertex: usize) -> usize {
        self.offsets[vertex]
    }

    /// Keeps the entries for which `keep` is set, by position.
    pub(crate) fn retain(&mut self, keep: &[bool]) {
        let mut kept = 0;
        let mut start = 0;
        for vertex in 0..self.vertices() {
            let end = self.offsets[vertex + 1];
            self.offsets[vertex] = kept;
            for (at, &keep) in (start..end).zip(&keep[start..end]) {
                if keep {
                    self.neighbours[kept] = self.neighbours[at];
                    kept += 1;
                }
            }
            start = end;
        }
        if let Some(last) = self.offsets.last_mut() {
            *last = kept;
        }
        self.neighbours.truncate(kept);
    }
}
