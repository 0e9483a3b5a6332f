//! Entries of which the contract leaves open whether they show, and how an answer found settles it.
//!
//! Two things depend on when a source compacts, and no two sources need to agree on them:
//!
//! * A put at or below a delete marker that was written before it is hidden until a compaction of
//!   the whole tablet drops the marker.
//! * A version behind as many as compactions keep may be dropped, and is missed when more are asked
//!   for later. Where a combiner runs in compactions, an old version may also become part of a newer
//!   one before a delete that covers the old one alone.
//!
//! The model holds one belief about each such entry. When a scan of everything contradicts it, the
//! nearest beliefs that explain the scan are looked for; without any the source is wrong.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Bound;
use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorRegistry, IteratorScope, IteratorSetting};
use ostrakon_cell::{Entry, Key, KeyPart, Range, ScanOptions};

use super::content::{Content, Fate, Markers, first_of_column};
use super::map_table::read;
use super::state::TableState;

/// Entries in doubt of one column for which every combination is tried.
const TRY_ALL: usize = 10;

/// A column of a row: all its versions have the key but for timestamp and marker.
type ColumnKey = Key;

type Place = (Key, Reverse<u64>);

pub(super) struct Reconciling<'a> {
    pub(super) now_millis: i64,
    /// The last place in the order.
    pub(super) place: u64,
    pub(super) registry: &'a IteratorRegistry,
    /// A reader who may see everything.
    pub(super) options: ScanOptions,
}

impl Reconciling<'_> {
    /// Makes `table` agree with what a scan found. Returns whether beliefs changed.
    pub(super) fn run(&self, table: &mut TableState, found: &[Entry]) -> Result<bool, String> {
        mark_weak(table);
        let expected = self.read(table)?;
        if expected == found {
            return Ok(false);
        }
        let (found, expected) = (by_column(found), by_column(&expected));
        let columns: BTreeSet<&ColumnKey> = found.keys().chain(expected.keys()).collect();
        for column in columns {
            let (found, expected) = (found.get(column), expected.get(column));
            if found == expected {
                continue;
            }
            let found = found.map_or(&[][..], Vec::as_slice);
            self.explain(table, column, found)?;
        }
        Ok(true)
    }

    fn read(&self, table: &TableState) -> Result<Vec<Entry>, String> {
        let everything = [Range::all()];
        read(
            table,
            self.now_millis,
            self.registry,
            &everything,
            &self.options,
        )
        .map_err(|error| format!("the model cannot be read: {error:?}"))
    }

    /// Looks for beliefs about one column that explain `found`, and takes them over.
    fn explain(
        &self,
        table: &mut TableState,
        column: &ColumnKey,
        found: &[Entry],
    ) -> Result<(), String> {
        let mut alone = table.clone();
        let content: Content = column_of(&table.content, column)
            .map(|(key, stored)| (key.clone(), stored.clone()))
            .collect();
        alone.content = Arc::new(content);
        let doubts = doubts(table, column);
        let nearest = as_sum(&doubts, &alone.content, found);
        let nearest = nearest
            .into_iter()
            .chain([as_found(&doubts, &alone.content, found)]);
        for flips in nearest.chain(candidates(doubts.len())) {
            let mut tried = (*alone.content).clone();
            let flipped = doubts.iter().zip(&flips).filter(|(_, flip)| **flip);
            for ((place, shows), _) in flipped {
                if let Some(stored) = tried.get_mut(place) {
                    if *shows {
                        stored.gone = true;
                    } else {
                        stored.gone = false;
                        stored.confirmed = self.place;
                    }
                }
            }
            let trial = TableState {
                content: Arc::new(tried),
                ..alone.clone()
            };
            if self.read(&trial)? == found {
                let content = Arc::make_mut(&mut table.content);
                content.extend(trial.content.iter().map(|(a, b)| (a.clone(), b.clone())));
                return Ok(());
            }
        }
        let expected = self.read(&alone)?;
        Err(format!(
            "column {}: found [{}], expected [{}] ({} entries in doubt)\n  history: {}",
            column,
            shown(found),
            shown(&expected),
            doubts.len(),
            history(&alone.content),
        ))
    }
}

fn shown(entries: &[Entry]) -> String {
    let one = |entry: &Entry| {
        let value = String::from_utf8_lossy(&entry.value);
        let value = value.trim_start_matches('0');
        format!("{}={value}", entry.key.timestamp)
    };
    entries.iter().map(one).collect::<Vec<_>>().join(" ")
}

/// Everything written to a column, in the order of writing.
fn history(content: &Content) -> String {
    let mut lines: Vec<(u64, String)> = content
        .iter()
        .map(|((key, Reverse(place)), stored)| {
            let what = if key.deleted {
                "delete".to_owned()
            } else {
                let value = String::from_utf8_lossy(&stored.value);
                format!("={}", value.trim_start_matches('0'))
            };
            let who = if stored.by_table { "" } else { "!" };
            (*place, format!("{}{who} {what}", key.timestamp))
        })
        .collect();
    lines.sort();
    let lines: Vec<String> = lines.into_iter().map(|(_, line)| line).collect();
    lines.join(", ")
}

fn column_key(key: &Key) -> ColumnKey {
    Key {
        timestamp: 0,
        deleted: false,
        ..key.clone()
    }
}

fn by_column(entries: &[Entry]) -> BTreeMap<ColumnKey, Vec<Entry>> {
    let mut columns: BTreeMap<ColumnKey, Vec<Entry>> = BTreeMap::new();
    for entry in entries {
        columns
            .entry(column_key(&entry.key))
            .or_default()
            .push(entry.clone());
    }
    columns
}

fn column_of<'a>(
    content: &'a Content,
    column: &'a ColumnKey,
) -> impl Iterator<Item = (&'a Place, &'a super::content::Stored)> {
    let from = Bound::Included((first_of_column(column), Reverse(u64::MAX)));
    content
        .range((from, Bound::Unbounded))
        .take_while(|((key, _), _)| key.as_ref().same(column.as_ref(), KeyPart::Visibility))
}

/// The entries of a column that may show or not, and whether they are believed to, in the order of
/// writing.
fn doubts(table: &TableState, column: &ColumnKey) -> Vec<(Place, bool)> {
    let combined = is_combined(table);
    let entries: Vec<_> = column_of(&table.content, column).collect();
    let mut markers = Markers::default();
    let mut found = Vec::new();
    for ((key, Reverse(place)), stored) in &entries {
        if key.deleted {
            markers.add(key, *place, stored);
            continue;
        }
        let fate = markers.fate(*place, stored);
        // Whether it may have become part of a version above the marker before the marker came.
        let may_have_joined = || {
            markers.later(*place, stored).all(|marker| {
                entries.iter().any(|((above, Reverse(older)), _)| {
                    !above.deleted && *older < marker.place && above.timestamp > marker.timestamp
                })
            })
        };
        let open = match fate {
            Fate::Live => stored.weak,
            Fate::Covered => true,
            Fate::Deleted => combined && may_have_joined(),
        };
        if open {
            let shows = fate == Fate::Live && !stored.gone;
            found.push(((key.clone(), Reverse(*place)), shows));
        }
    }
    found.sort_by_key(|((_, Reverse(place)), _)| *place);
    found
}

fn number(value: &[u8]) -> Option<i64> {
    std::str::from_utf8(value).ok()?.parse().ok()
}

/// Believes those of the doubts that make up the sum found, if it is one: the ways to do so.
fn as_sum(doubts: &[(Place, bool)], content: &Content, found: &[Entry]) -> Vec<Vec<bool>> {
    let [found] = found else {
        return Vec::new();
    };
    sums(doubts, content, found).unwrap_or_default()
}

/// The ways to sum up to `found`; `None` if its value or a part of it is not a number. Values are powers of two: taking
/// the largest that fits finds a way where there is one. The time of a sum is that of its newest part, so each doubt of
/// that time is taken first in one of the ways.
fn sums(doubts: &[(Place, bool)], content: &Content, found: &Entry) -> Option<Vec<Vec<bool>>> {
    let mut markers = Markers::default();
    let mut whole = number(&found.value)?;
    for (place, stored) in content {
        let (key, Reverse(at)) = place;
        if key.deleted {
            markers.add(key, *at, stored);
        } else if markers.fate(*at, stored) == Fate::Live
            && !doubts.iter().any(|(doubt, _)| doubt == place)
        {
            whole -= number(&stored.value)?;
        }
    }
    let mut parts: Vec<(i64, bool, usize)> = Vec::with_capacity(doubts.len());
    for (at, (place, _)) in doubts.iter().enumerate() {
        let time = place.0.timestamp;
        if time <= found.key.timestamp {
            let value = number(&content.get(place)?.value)?;
            parts.push((value, time == found.key.timestamp, at));
        }
    }
    parts.sort_unstable_by(|a, b| b.cmp(a));
    let newest = parts.iter().filter(|(_, is_newest, _)| *is_newest);
    let first: Vec<Option<usize>> = newest.map(|(.., at)| Some(*at)).chain([None]).collect();
    let mut ways = Vec::new();
    for first in first {
        let mut rest = whole;
        let mut taken = vec![false; doubts.len()];
        let (begin, others): (Vec<_>, Vec<_>) =
            parts.iter().partition(|(.., at)| Some(*at) == first);
        for (value, _, at) in begin.into_iter().chain(others) {
            if value <= rest {
                rest -= value;
                taken[at] = true;
            }
        }
        if rest == 0 {
            let both = doubts.iter().zip(taken);
            ways.push(both.map(|((_, shows), taken)| *shows != taken).collect());
        }
    }
    Some(ways)
}

/// Believes of each doubt whether `found` has its entry. Values repeat in long runs, so each entry found stands for one
/// that was written: first for those that show for certain, then for the newest in doubt.
fn as_found(doubts: &[(Place, bool)], content: &Content, found: &[Entry]) -> Vec<bool> {
    let mut left: Vec<&Entry> = found.iter().collect();
    let mut take = |place: &Place| {
        let at = content.get(place).and_then(|stored| {
            left.iter().position(|entry| {
                entry.key.timestamp == place.0.timestamp && entry.value == stored.value
            })
        });
        at.map(|at| left.remove(at)).is_some()
    };
    let mut markers = Markers::default();
    for (place, stored) in content {
        let (key, Reverse(at)) = place;
        if key.deleted {
            markers.add(key, *at, stored);
        } else if markers.fate(*at, stored) == Fate::Live
            && !doubts.iter().any(|(doubt, _)| doubt == place)
        {
            take(place);
        }
    }
    let mut flips = vec![false; doubts.len()];
    // The last doubt was written last.
    for ((place, shows), flip) in doubts.iter().zip(&mut flips).rev() {
        *flip = *shows != take(place);
    }
    flips
}

/// Which of the doubts to give up, the likeliest first.
fn candidates(doubts: usize) -> Vec<Vec<bool>> {
    let mut all: Vec<Vec<bool>> = Vec::new();
    // A compaction drops a marker for everything written after some moment.
    for from in (0..doubts).rev() {
        all.push((0..doubts).map(|at| at >= from).collect());
    }
    if doubts <= TRY_ALL {
        let mut masks: Vec<u32> = (1..1_u32 << doubts).collect();
        masks.sort_by_key(|mask| mask.count_ones());
        all.extend(
            masks
                .into_iter()
                .map(|mask| (0..doubts).map(|at| mask & 1 << at != 0).collect()),
        );
    } else {
        for a in 0..doubts {
            for b in a..doubts {
                all.push((0..doubts).map(|at| at == a || at == b).collect());
                all.push((0..doubts).map(|at| at >= a && at <= b).collect());
            }
        }
    }
    all
}

/// Whether a combiner makes one entry of a column's versions.
fn is_combined(table: &TableState) -> bool {
    table
        .set
        .values()
        .any(|value| value.ends_with("SummingCombiner"))
}

/// The versions that every compaction keeps; `None` for all.
fn kept_versions(table: &TableState) -> Option<usize> {
    [IteratorScope::Minc, IteratorScope::Majc]
        .into_iter()
        .filter_map(|scope| {
            let settings = IteratorSetting::from_properties(&table.set, scope).ok()?;
            let versions = settings
                .iter()
                .find(|setting| setting.class.ends_with("VersioningIterator"))?;
            let most = versions.options.get("maxVersions");
            Some(most.and_then(|most| most.parse().ok()).unwrap_or(1))
        })
        .min()
}

/// Notes which entries a compaction may drop under the properties as they are.
pub(super) fn mark_weak(table: &mut TableState) {
    let Some(kept) = kept_versions(table) else {
        return;
    };
    let mut markers = Markers::default();
    let mut rank = 0;
    let mut column: Option<Key> = None;
    for ((key, Reverse(place)), stored) in Arc::make_mut(&mut table.content) {
        let same = |column: &Key| column.as_ref().same(key.as_ref(), KeyPart::Visibility);
        if !column.as_ref().is_some_and(same) {
            column = Some(key.clone());
            markers.clear();
            rank = 0;
        }
        if key.deleted {
            markers.add(key, *place, stored);
        } else if markers.fate(*place, stored) != Fate::Deleted {
            rank += 1;
            stored.weak |= rank > kept;
        }
    }
}

/// Whether some column of a row has entries in doubt.
pub(super) fn is_row_in_doubt(table: &TableState, row: &[u8]) -> bool {
    let rows = Range::row(row);
    let columns: BTreeSet<ColumnKey> = table
        .content
        .keys()
        .filter(|(key, _)| rows.contains(key.as_ref()))
        .map(|(key, _)| column_key(key))
        .collect();
    columns
        .iter()
        .any(|column| doubts(table, column).iter().any(|(_, shows)| !shows))
}
