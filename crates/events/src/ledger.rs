//! The state of a type that readers and writers agree on, in one cell of the registry.
//!
//! A batch writes to three tables, and no commit spans tables. Therefore every entry carries the number of its batch,
//! and the cell says which batches count: `committed=7 begun=8 aborted=3-3 since=…`. A reader reads the cell first and
//! ignores all other batches; a writer changes it by compare and set. A writer that finds a batch begun and not
//! committed marks it as aborted: its writer is dead, or will fail when it commits.
//!
//! A second cell says up to which batch and time the tables were rewritten by `Settle`, which sums counts and drops
//! deleted events. It is written before the tables are. A reader whose snapshot is older looks at it once it has read:
//! its answer counts only if nothing newer than its snapshot was settled.

use ostrakon_cell::{
    Authorizations, Column, Condition, ConditionalMutation, ConditionalStatus, Error, ErrorKind,
    Mutation, Range, Result, Scanner, Table,
};
use std::collections::BTreeMap;
use std::sync::Arc;

use crate::iterators::Snapshot;

pub(crate) const FAMILY: &[u8] = b"type";
pub(crate) const STATE: &[u8] = b"state";
pub(crate) const SETTLED: &[u8] = b"settled";
/// The family of notes.
pub(crate) const NOTE_FAMILY: &[u8] = b"note";
/// Settlements that a reader may meet one after another before it gives up.
const READ_TRIES: usize = 8;

/// The state.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct State {
    pub(crate) snapshot: Snapshot,
    /// The last batch that was begun.
    pub(crate) begun: i64,
}

impl State {
    pub(crate) fn new() -> Self {
        Self {
            snapshot: Snapshot {
                committed: 0,
                aborted: Vec::new(),
                since: i64::MIN,
            },
            begun: 0,
        }
    }

    pub(crate) fn to_text(&self) -> String {
        format!(
            "committed={} begun={} aborted={} since={}",
            self.snapshot.committed,
            self.begun,
            self.snapshot.aborted_text(),
            self.snapshot.since
        )
    }

    fn read(text: &str) -> Option<Self> {
        let mut state = Self::new();
        for pair in text.split(' ') {
            let (name, value) = pair.split_once('=')?;
            match name {
                "committed" => state.snapshot.committed = value.parse().ok()?,
                "begun" => state.begun = value.parse().ok()?,
                "aborted" => state.snapshot.aborted = Snapshot::read_aborted(value)?,
                "since" => state.snapshot.since = value.parse().ok()?,
                _ => return None,
            }
        }
        Some(state)
    }

    /// The state once another batch has begun, whose number is `begun`.
    pub(crate) fn with_batch_begun(&self) -> Self {
        let mut next = self.with_open_batch_aborted();
        next.begun += 1;
        next
    }

    /// The state in which a batch that was begun and not committed can no longer be committed.
    pub(crate) fn with_open_batch_aborted(&self) -> Self {
        let mut next = self.clone();
        let committed = next.snapshot.committed;
        if next.begun > committed {
            // Batches are begun one after another: all these are new to the list.
            next.snapshot.aborted.push((committed + 1, next.begun));
            next.snapshot.committed = next.begun;
            next.snapshot.join();
        }
        next
    }

    /// The state once the batch that has begun is committed.
    pub(crate) fn with_batch_committed(&self) -> Self {
        let mut next = self.clone();
        next.snapshot.committed = next.begun;
        next
    }
}

impl Snapshot {
    /// Joins neighbouring ranges of aborted batches.
    fn join(&mut self) {
        let mut joined: Vec<(i64, i64)> = Vec::new();
        for &(first, last) in &self.aborted {
            match joined.last_mut() {
                Some(before) if before.1 + 1 == first => before.1 = last,
                _ => joined.push((first, last)),
            }
        }
        self.aborted = joined;
    }
}

/// Reads the state of a type.
pub(crate) fn read(registry: &Arc<dyn Table>, name: &str) -> Result<State> {
    let entries = Scanner::new(registry.clone())
        .range(Range::row_column(name, FAMILY, STATE))
        .entries()?;
    let text = entries
        .first()
        .map(|entry| String::from_utf8_lossy(&entry.value));
    let text = text.ok_or_else(|| Error::not_found("no such event type").with("type", name))?;
    State::read(&text).ok_or_else(|| {
        Error::corruption("the state of the event type is malformed").with("type", name)
    })
}

/// Notes that writers keep with a type, by key.
pub(crate) type Notes = BTreeMap<Vec<u8>, Vec<u8>>;

/// The notes of a type.
pub(crate) fn notes(registry: &Arc<dyn Table>, name: &str) -> Result<Notes> {
    let entries = Scanner::new(registry.clone())
        .range(Range::row(name))
        .column(Column::family(NOTE_FAMILY))
        .entries()?;
    Ok(entries
        .into_iter()
        .map(|entry| (entry.key.qualifier, entry.value))
        .collect())
}

/// Replaces the state if it is still `before`, and writes notes in the same step; `false` if it is not.
pub(crate) fn replace(
    registry: &Arc<dyn Table>,
    name: &str,
    (before, after): (&State, &State),
    notes: &Notes,
) -> Result<bool> {
    let mut mutation = Mutation::new(name);
    mutation.put(FAMILY, STATE, after.to_text())?;
    for (key, value) in notes {
        mutation.put(NOTE_FAMILY, key, value)?;
    }
    let unchanged = (STATE, Some(before.to_text().into_bytes()));
    write_if(registry, mutation, &[unchanged])
}

/// Up to which batch and time the tables of a type were settled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Settled {
    committed: i64,
    since: i64,
}

impl Settled {
    fn to_text(self) -> String {
        format!("committed={} since={}", self.committed, self.since)
    }

    fn read(text: &str) -> Option<Self> {
        let (committed, since) = text.strip_prefix("committed=")?.split_once(" since=")?;
        Some(Self {
            committed: committed.parse().ok()?,
            since: since.parse().ok()?,
        })
    }
}

/// The cell as it is, and what it says.
fn settled(registry: &Arc<dyn Table>, name: &str) -> Result<Option<(Vec<u8>, Settled)>> {
    let mut entries = Scanner::new(registry.clone())
        .range(Range::row_column(name, FAMILY, SETTLED))
        .entries()?;
    let Some(entry) = entries.pop() else {
        return Ok(None);
    };
    let known = Settled::read(&String::from_utf8_lossy(&entry.value)).ok_or_else(|| {
        Error::corruption("the registry does not say up to where the event type is settled")
            .with("type", name)
    })?;
    Ok(Some((entry.value, known)))
}

/// The batch and the time up to which the tables of a type may be settled.
pub(crate) fn settled_up_to(registry: &Arc<dyn Table>, name: &str) -> Result<(i64, i64)> {
    let known = settled(registry, name)?.map(|(_, known)| (known.committed, known.since));
    Ok(known.unwrap_or((0, i64::MIN)))
}

/// Announces that the tables are about to be settled as of `snapshot`.
pub(crate) fn announce_settling(
    registry: &Arc<dyn Table>,
    name: &str,
    snapshot: &Snapshot,
) -> Result<()> {
    loop {
        let before = settled(registry, name)?;
        let known = before.as_ref().map(|(_, known)| *known);
        let after = Settled {
            committed: known.map_or(snapshot.committed, |known| {
                known.committed.max(snapshot.committed)
            }),
            since: known.map_or(snapshot.since, |known| known.since.max(snapshot.since)),
        };
        if known == Some(after) {
            break;
        }
        let mut mutation = Mutation::new(name);
        mutation.put(FAMILY, SETTLED, after.to_text())?;
        let unchanged = (SETTLED, before.map(|(text, _)| text));
        if write_if(registry, mutation, &[unchanged])? {
            break;
        }
    }
    // Settled tables do not fit an older state: sums would not count, and deleted events would be missing. In a file,
    // the state does not go back when a part of the log is lost.
    registry.flush(true)
}

/// Whether the tables were settled as of a newer state than `snapshot`, so that what was read of them may be incomplete.
fn is_settled_beyond(registry: &Arc<dyn Table>, name: &str, snapshot: &Snapshot) -> Result<bool> {
    Ok(settled(registry, name)?.is_some_and(|(_, known)| {
        known.committed > snapshot.committed || known.since > snapshot.since
    }))
}

/// Runs `read`, which gives an answer and the snapshot that it stands for, until the tables were not settled beyond that
/// snapshot meanwhile.
///
/// # Errors
/// Those of `read`; [`Unavailable`](ErrorKind::Unavailable) if the tables are settled again and again.
pub(crate) fn read_unsettled<T>(
    name: &str,
    mut read: impl FnMut() -> Result<(T, Arc<dyn Table>, Snapshot)>,
) -> Result<T> {
    for _ in 0..READ_TRIES {
        let (answer, registry, snapshot) = read()?;
        if !is_settled_beyond(&registry, name, &snapshot)? {
            return Ok(answer);
        }
    }
    Err(Error::new(
        ErrorKind::Unavailable,
        "the tables of the event type were rewritten again and again while they were read: repeat this later",
    )
    .with("type", name))
}

/// Writes to the row of a type if each of these columns of it has this value, or does not exist; `false` if not.
pub(crate) fn write_if(
    registry: &Arc<dyn Table>,
    mutation: Mutation,
    columns: &[(&[u8], Option<Vec<u8>>)],
) -> Result<bool> {
    let name = String::from_utf8_lossy(mutation.row()).into_owned();
    let conditions = columns.iter().map(|(qualifier, value)| Condition {
        family: FAMILY.to_vec(),
        qualifier: qualifier.to_vec(),
        value: value.clone(),
        ..Condition::default()
    });
    let conditional = ConditionalMutation {
        mutation,
        conditions: conditions.collect(),
    };
    let statuses =
        registry.write_conditionally(vec![conditional], &Authorizations::default(), None)?;
    match statuses.first() {
        Some(ConditionalStatus::Accepted) => Ok(true),
        Some(ConditionalStatus::Rejected) => Ok(false),
        other => Err(Error::new(
            ErrorKind::Unavailable,
            "the entry of the event type in the registry could not be changed",
        )
        .with("type", name)
        .with("status", format!("{other:?}"))),
    }
}

/// The error of a writer whose place another has taken.
pub(crate) fn overtaken(name: &str) -> Error {
    Error::new(
        ErrorKind::ConcurrentModification,
        "another writer of this event type has started; nothing of the last batch counts. Let one writer end before \
         the next starts, then ingest the same files again: events that are stored already are skipped",
    )
    .with("type", name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn settlements_make_the_round_trip() {
        let known = Settled {
            committed: 7,
            since: -5,
        };
        assert_eq!(Settled::read(&known.to_text()), Some(known));
        assert_eq!(Settled::read("committed=7"), None);
    }

    #[test]
    fn states_make_the_round_trip() {
        let mut state = State::new();
        assert_eq!(State::read(&state.to_text()), Some(state.clone()));
        state.snapshot.aborted = vec![(2, 3), (9, 9)];
        state.snapshot.since = -5;
        assert_eq!(State::read(&state.to_text()), Some(state));
        assert_eq!(State::read("committed=x"), None);
    }

    #[test]
    fn batches_that_were_begun_and_not_committed_never_count() {
        let first = State::new().with_batch_begun();
        assert_eq!((first.begun, first.snapshot.committed), (1, 0));
        assert!(!first.snapshot.sees(1));
        // The writer dies; the next begins, dies, and another commits.
        let third = first.with_batch_begun().with_batch_begun();
        assert_eq!(third.begun, 3);
        let done = third.with_batch_committed();
        assert_eq!(done.snapshot.aborted, [(1, 2)]);
        let seen: Vec<bool> = (1..=4).map(|batch| done.snapshot.sees(batch)).collect();
        assert_eq!(seen, [false, false, true, false]);
        assert_eq!(done.with_open_batch_aborted(), done);
        let aborted = done.with_batch_begun().with_open_batch_aborted();
        assert_eq!(aborted.snapshot.aborted, [(1, 2), (4, 4)]);
        assert_eq!(aborted.with_batch_begun().begun, 5);
    }
}
