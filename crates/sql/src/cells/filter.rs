//! Conditions on entries, evaluated before an entry becomes a row.

use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use ostrakon_cell::{Column, ColumnSelection, EntryRef};

use crate::scan::{ByteSet, Encoding, after, bytes, encoded};

/// The columns of the relation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Part {
    Row,
    Family,
    Qualifier,
    Visibility,
    Timestamp,
    Value,
}

impl Part {
    pub(super) const ALL: [Self; 6] = [
        Self::Row,
        Self::Family,
        Self::Qualifier,
        Self::Visibility,
        Self::Timestamp,
        Self::Value,
    ];

    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Row => "row",
            Self::Family => "family",
            Self::Qualifier => "qualifier",
            Self::Visibility => "visibility",
            Self::Timestamp => "timestamp",
            Self::Value => "value",
        }
    }
}

impl Encoding for Part {
    fn cut(&self, value: &ScalarValue) -> Option<(Vec<u8>, Vec<u8>)> {
        let encoded = match (self, value) {
            (Self::Timestamp, ScalarValue::Int64(Some(value))) => of_time(*value).to_vec(),
            (Self::Timestamp, _) => return None,
            (_, value) => bytes(value)?.to_vec(),
        };
        let next = after(&encoded);
        Some((encoded, next))
    }

    fn prefix(&self, prefix: &str) -> Option<ByteSet> {
        (*self != Self::Timestamp).then(|| ByteSet::prefix(prefix.as_bytes()))
    }
}

/// A timestamp as bytes that sort as timestamps do.
fn of_time(timestamp: i64) -> [u8; 8] {
    (timestamp.cast_unsigned() ^ (1 << 63)).to_be_bytes()
}

/// Columns that a selection may name. With more, entries are filtered after the scan.
const SELECTED_MAX: usize = 1000;

/// What a scan returns.
#[derive(Debug, Clone)]
pub(super) struct Filter {
    /// By part of the entry; `None` if every value is wanted.
    wanted: [Option<ByteSet>; 6],
}

impl Filter {
    /// The filter for conditions that all hold.
    pub(super) fn of(conditions: &[Expr]) -> Self {
        let mut wanted = [const { None }; 6];
        for condition in conditions {
            if let Some((part, set, _)) = understood(condition)
                && let Some(before) = wanted.get_mut(part as usize)
            {
                *before = Some(match before.take() {
                    Some(before) => set.intersect(&before),
                    None => set,
                });
            }
        }
        Self { wanted }
    }

    pub(super) fn wanted(&self, part: Part) -> Option<&ByteSet> {
        self.wanted.get(part as usize)?.as_ref()
    }

    /// The rows to read.
    pub(super) fn rows(&self) -> ByteSet {
        self.wanted(Part::Row).cloned().unwrap_or_else(ByteSet::all)
    }

    /// The columns to read: those that the conditions name one by one.
    pub(super) fn columns(&self) -> ColumnSelection {
        let points = |part| self.wanted(part).and_then(ByteSet::points);
        let Some(families) = points(Part::Family) else {
            return ColumnSelection::all();
        };
        let columns: Vec<Column> = match points(Part::Qualifier) {
            Some(qualifiers) if families.len() * qualifiers.len() <= SELECTED_MAX => families
                .iter()
                .flat_map(|family| {
                    let column = |qualifier: &&[u8]| Column::new(*family, *qualifier);
                    qualifiers.iter().map(column)
                })
                .collect(),
            _ => families
                .iter()
                .map(|family| Column::family(*family))
                .collect(),
        };
        match columns.is_empty() || columns.len() > SELECTED_MAX {
            true => ColumnSelection::all(),
            false => ColumnSelection::new(columns),
        }
    }

    /// The number of parts, besides the row, that are tested.
    pub(super) fn tests(&self) -> usize {
        let parts = Part::ALL.into_iter().skip(1);
        parts.filter(|part| self.wanted(*part).is_some()).count()
    }

    /// Whether no entry can pass.
    pub(super) fn is_empty(&self) -> bool {
        let none =
            |set: &Option<ByteSet>| set.as_ref().is_some_and(|set| set.intervals().is_empty());
        self.wanted.iter().any(none)
    }

    /// Whether an entry of a wanted row passes.
    pub(super) fn passes(&self, entry: EntryRef<'_>) -> bool {
        let [_, family, qualifier, visibility, timestamp, value] = &self.wanted;
        let wants = |set: &Option<ByteSet>, bytes: &[u8]| {
            set.as_ref().is_none_or(|set| set.contains(bytes))
        };
        wants(family, entry.key.family)
            && wants(qualifier, entry.key.qualifier)
            && wants(visibility, entry.key.visibility)
            && (timestamp.is_none() || wants(timestamp, &of_time(entry.key.timestamp)))
            && wants(value, entry.value)
    }

    /// The conditions besides those on rows, for an explanation.
    pub(super) fn describe(&self) -> Option<String> {
        let shown = Part::ALL.into_iter().skip(1).filter_map(|part| {
            let set = self.wanted(part)?;
            Some(match part {
                Part::Timestamp => format!("timestamp in {}", times(set)),
                part => format!("{} in {set}", part.name()),
            })
        });
        let shown: Vec<String> = shown.collect();
        (!shown.is_empty()).then(|| shown.join(" and "))
    }
}

/// The part that a condition is about, the values for which it may hold, and whether it holds for exactly these.
pub(super) fn understood(condition: &Expr) -> Option<(Part, ByteSet, bool)> {
    Part::ALL.into_iter().find_map(|part| {
        let (set, exact) = encoded(condition, part.name(), &part)?;
        Some((part, set, exact))
    })
}

/// Timestamps as numbers.
fn times(set: &ByteSet) -> String {
    let number = |bytes: &[u8]| {
        let first = bytes
            .get(..8)
            .and_then(|bytes| <[u8; 8]>::try_from(bytes).ok());
        first.map(|bytes| (u64::from_be_bytes(bytes) ^ (1 << 63)).cast_signed())
    };
    let interval = |interval: &crate::scan::Interval| {
        // A start of nine bytes excludes the number, and an end of nine bytes includes it.
        let start = number(&interval.start).map(|number| match interval.start.len() {
            9 => number.saturating_add(1).to_string(),
            _ => number.to_string(),
        });
        let end = interval.end.as_ref().and_then(|end| {
            let number = number(end)?;
            Some(match end.len() {
                9 => number.to_string(),
                _ => number.saturating_sub(1).to_string(),
            })
        });
        format!(
            "{}..={}",
            start.unwrap_or_default(),
            end.unwrap_or_default()
        )
    };
    let shown: Vec<String> = set.intervals().iter().take(4).map(interval).collect();
    shown.join(" or ")
}
