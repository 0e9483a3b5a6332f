//! The dictionary of a batch's visibilities.

use std::hash::BuildHasher;

use hashbrown::{DefaultHashBuilder, HashTable};

use super::data::Span;
use crate::same_bytes;

/// Labels by id. Their bytes are in the batch's arena, which is passed to every call.
#[derive(Clone, Default)]
pub(super) struct Labels {
    /// Spans of the labels with ids 1, 2, …; id 0 is the empty label.
    spans: Vec<Span>,
    /// Ids by label; filled only once there are several.
    ids: HashTable<u32>,
    hasher: DefaultHashBuilder,
}

/// Up to this many labels a linear search beats hashing.
const LINEAR_LABELS: usize = 4;

impl Labels {
    /// Number of labels, without the empty one.
    pub(super) fn len(&self) -> usize {
        self.spans.len()
    }

    pub(super) fn clear(&mut self) {
        self.spans.clear();
        self.ids.clear();
    }

    /// Removes the labels with ids above `len`.
    pub(super) fn truncate(&mut self, len: usize) {
        if len < self.spans.len() {
            self.spans.truncate(len);
            self.ids.clear();
        }
    }

    /// Keeps only the labels with these ids, in this order.
    pub(super) fn choose(&mut self, ids: &[u32]) {
        self.spans = ids.iter().map(|&id| self.span(id)).collect();
        self.ids.clear();
    }

    /// Bytes of the label `id`.
    #[inline]
    pub(super) fn len_of(&self, id: u32) -> usize {
        if id == 0 {
            return 0;
        }
        self.spans
            .get(id as usize - 1)
            .map_or(0, |span| span.len as usize)
    }

    /// The span of label `id`, which must not be the empty label.
    pub(super) fn span(&self, id: u32) -> Span {
        self.spans[id as usize - 1]
    }

    #[inline]
    pub(super) fn get<'a>(&self, arena: &'a [u8], id: u32) -> &'a [u8] {
        if id == 0 {
            &[]
        } else {
            at(arena, self.span(id))
        }
    }

    pub(super) fn find(&mut self, arena: &[u8], label: &[u8]) -> Option<u32> {
        if let Some(&last) = self.spans.last()
            && same_bytes(at(arena, last), label)
        {
            return Some(self.spans.len() as u32);
        }
        if self.spans.len() <= LINEAR_LABELS {
            let found = self
                .spans
                .iter()
                .position(|&span| same_bytes(at(arena, span), label));
            return found.map(|place| place as u32 + 1);
        }
        if self.ids.is_empty() {
            for id in 1..=self.spans.len() as u32 {
                self.index(arena, id);
            }
        }
        let hash = self.hasher.hash_one(label);
        self.ids
            .find(hash, |&id| self.get(arena, id) == label)
            .copied()
    }

    /// Adds a label that [`find`](Self::find) did not find; returns its id.
    pub(super) fn add(&mut self, arena: &[u8], span: Span) -> u32 {
        self.spans.push(span);
        let id = self.spans.len() as u32;
        if !self.ids.is_empty() {
            self.index(arena, id);
        }
        id
    }

    fn index(&mut self, arena: &[u8], id: u32) {
        let Self { spans, ids, hasher } = self;
        let label = |id: u32| at(arena, spans[id as usize - 1]);
        let hash = hasher.hash_one(label(id));
        ids.insert_unique(hash, id, |&other| hasher.hash_one(label(other)));
    }
}

#[inline]
fn at(arena: &[u8], span: Span) -> &[u8] {
    &arena[span.start as usize..][..span.len as usize]
}
