//! Conditional mutations of the reference model.

use std::collections::HashSet;

use ostrakon_cell::iterator::IteratorRegistry;
use ostrakon_cell::{
    Authorizations, Condition, ConditionalMutation, ConditionalStatus, Key, MutationBatch, Range,
    Result, ScanOptions, VisibilityExpression,
};

use super::map_table::read;
use super::plain_constraints;
use super::state::{State, TableState, deleted};

/// Decides and writes a list in rounds, as a source does: a mutation whose conditions may depend on an earlier one of its
/// row waits for the next round. Each round is one batch, so its mutations share a timestamp.
pub(super) fn write(
    state: &mut State,
    table: u64,
    registry: &IteratorRegistry,
    mutations: &[ConditionalMutation],
    authorizations: &Authorizations,
    held: Option<&Authorizations>,
) -> Result<Vec<ConditionalStatus>> {
    let mut answers = vec![ConditionalStatus::Unknown; mutations.len()];
    // One time for each accepted mutation; later rounds have later ones.
    let mut times: Vec<i64> = state.given.drain(..).collect();
    times.sort_unstable();
    let mut times = times.into_iter();
    let mut open: Vec<usize> = (0..mutations.len()).collect();
    while !open.is_empty() {
        let (mut batch, mut accepted) = (MutationBatch::new(), 0);
        let (mut written, mut waiting) = (HashSet::new(), HashSet::new());
        for at in std::mem::take(&mut open) {
            let one = &mutations[at];
            let row = one.mutation.row();
            let must_see = !one.conditions.is_empty() && written.contains(row);
            if must_see || waiting.contains(row) {
                waiting.insert(row);
                open.push(at);
                continue;
            }
            let now = state.now_millis;
            let known = state.tables.get(&table).ok_or_else(deleted)?;
            let mut answer = decide(known, now, registry, one, authorizations)?;
            if answer == ConditionalStatus::Accepted {
                let mut alone = MutationBatch::new();
                alone.push(&one.mutation)?;
                let screened = plain_constraints::screen(&known.set, &alone, held);
                if screened.rejections.is_empty() {
                    batch.push(&one.mutation)?;
                    written.insert(row);
                    accepted += 1;
                } else {
                    answer = ConditionalStatus::Violated;
                }
            }
            answers[at] = answer;
        }
        if accepted > 0 {
            state.given.extend(times.next());
            times.by_ref().take(accepted - 1).for_each(drop);
            state.write(table, &batch, held)?;
        }
    }
    Ok(answers)
}

/// What becomes of one mutation, constraints apart.
fn decide(
    table: &TableState,
    now_millis: i64,
    registry: &IteratorRegistry,
    one: &ConditionalMutation,
    authorizations: &Authorizations,
) -> Result<ConditionalStatus> {
    let mut conditions = one.conditions.iter();
    if conditions.any(|condition| !may_see(authorizations, &condition.visibility)) {
        return Ok(ConditionalStatus::InvisibleVisibility);
    }
    let mut labels = one.mutation.updates().map(|update| update.visibility);
    if labels.any(|label| VisibilityExpression::parse(label).is_err()) {
        return Ok(ConditionalStatus::MalformedVisibility);
    }
    let row = one.mutation.row();
    for condition in &one.conditions {
        if !holds(table, now_millis, registry, row, condition, authorizations)? {
            return Ok(ConditionalStatus::Rejected);
        }
    }
    Ok(ConditionalStatus::Accepted)
}

/// Whether a reader may see entries with this label; a malformed one nobody sees.
fn may_see(authorizations: &Authorizations, label: &[u8]) -> bool {
    VisibilityExpression::parse(label).is_ok_and(|expression| expression.evaluate(authorizations))
}

fn holds(
    table: &TableState,
    now_millis: i64,
    registry: &IteratorRegistry,
    row: &[u8],
    condition: &Condition,
    authorizations: &Authorizations,
) -> Result<bool> {
    let options = ScanOptions {
        authorizations: authorizations.clone(),
        iterators: condition.iterators.clone(),
        ..ScanOptions::default()
    };
    // Exactly this column, and whatever comes out of the iterators first.
    let key = |timestamp: i64, deleted| Key {
        row: row.to_vec(),
        family: condition.family.clone(),
        qualifier: condition.qualifier.clone(),
        visibility: condition.visibility.clone(),
        timestamp,
        deleted,
    };
    let first = key(condition.timestamp.unwrap_or(i64::MAX), true);
    let last = key(condition.timestamp.unwrap_or(i64::MIN), false);
    let range = Range::keys(Some(first), true, Some(last), true)?;
    let found = read(table, now_millis, registry, &[range], &options)?;
    let value = found.into_iter().next().map(|entry| entry.value);
    Ok(value == condition.value)
}
