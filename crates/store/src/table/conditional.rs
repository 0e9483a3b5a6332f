//! Conditional mutations: check and write in one step.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;

use ostrakon_cell::{
    Authorizations, Batch, Column, ColumnSelection, Condition, ConditionalMutation,
    ConditionalStatus, Durability, KeyRef, MutationBatch, Range, Scan, ScanOptions,
    VisibilityEvaluator,
};

use super::core::TableCore;
use super::scan::SerialScan;
use crate::error::{Error, StoreResult};

impl TableCore {
    /// Checks and writes mutations one after another. Conditional writers of the same row wait for
    /// each other; plain writers do not, as in Accumulo.
    pub(super) fn write_if(
        self: &Arc<Self>,
        mutations: Vec<ConditionalMutation>,
        authorizations: &Authorizations,
        durability: Option<Durability>,
    ) -> StoreResult<Vec<ConditionalStatus>> {
        let mut visible = VisibilityEvaluator::new(authorizations);
        mutations
            .iter()
            .map(|mutation| self.write_one_if(mutation, authorizations, &mut visible, durability))
            .collect()
    }

    fn write_one_if(
        self: &Arc<Self>,
        conditional: &ConditionalMutation,
        authorizations: &Authorizations,
        visible: &mut VisibilityEvaluator,
        durability: Option<Durability>,
    ) -> StoreResult<ConditionalStatus> {
        for condition in &conditional.conditions {
            if !visible.evaluate(&condition.visibility).is_visible() {
                return Ok(ConditionalStatus::InvisibleVisibility);
            }
        }
        for update in conditional.mutation.updates() {
            ostrakon_cell::visibility::validate(update.visibility).map_err(|error| {
                Error::invalid("the visibility is no expression; nothing was written")
                    .with_source(error)
            })?;
        }
        let row = conditional.mutation.row();
        let mut hasher = DefaultHasher::new();
        row.hash(&mut hasher);
        let stripe = hasher.finish() as usize % self.row_locks.len();
        let _row = self.row_locks[stripe].lock();
        for condition in &conditional.conditions {
            if !self.holds(row, condition, authorizations)? {
                return Ok(ConditionalStatus::Rejected);
            }
        }
        let mut batch = MutationBatch::new();
        batch.push(&conditional.mutation)?;
        // The row stays locked until the write can be seen.
        let outcome = self.submit_batch(batch, durability)?.wait()?;
        Ok(if outcome.rejections.is_empty() {
            ConditionalStatus::Accepted
        } else {
            ConditionalStatus::Violated
        })
    }

    fn holds(
        self: &Arc<Self>,
        row: &[u8],
        condition: &Condition,
        authorizations: &Authorizations,
    ) -> StoreResult<bool> {
        let options = ScanOptions {
            columns: ColumnSelection::new([Column::new(
                condition.family.clone(),
                condition.qualifier.clone(),
            )]),
            authorizations: authorizations.clone(),
            iterators: condition.iterators.clone(),
            ..ScanOptions::default()
        };
        let range = Range::row_column(row, condition.family.clone(), condition.qualifier.clone());
        let mut scan = SerialScan::new(self.clone(), &[range], &options)?;
        let mut batch = Batch::new();
        let meant = |key: KeyRef<'_>| {
            key.visibility == condition.visibility
                && condition
                    .timestamp
                    .is_none_or(|timestamp| key.timestamp == timestamp)
        };
        while scan.next_batch(&mut batch)? {
            if let Some(entry) = batch.iter().find(|entry| meant(entry.key)) {
                return Ok(condition.value.as_deref() == Some(entry.value));
            }
        }
        Ok(condition.value.is_none())
    }
}
