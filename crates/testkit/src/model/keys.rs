//! The keys of a run: few, so that writes meet.

use ostrakon_store::clock::Random;

/// Where the clock of a run starts, in milliseconds since 1970.
pub(super) const START_MILLIS: i64 = 1_700_000_000_000;

const FAMILIES: [&str; 4] = ["f", "", "g", "h\u{ff}"];
const LABELS: [&str; 5] = ["", "a", "b", "a&b", "a|(b&c)"];

/// How many rows and columns there are.
#[derive(Debug, Clone, Copy)]
pub(super) struct Keys {
    /// Before every row.
    prefix: &'static str,
    rows: u64,
    families: u64,
    qualifiers: u64,
    labels: u64,
}

impl Keys {
    pub(super) fn new(random: &mut Random) -> Self {
        Self {
            prefix: "",
            rows: [4, 10, 40][random.below(3) as usize],
            families: 1 + random.below(4),
            qualifiers: 1 + random.below(3),
            labels: 1 + random.below(5),
        }
    }

    /// The same keys in rows that begin with `prefix`.
    pub(super) fn below(self, prefix: &'static str) -> Self {
        Self { prefix, ..self }
    }

    pub(super) fn row(self, random: &mut Random) -> String {
        let row = match random.below(24) {
            0 => String::new(),
            1 => "r\0".to_owned(),
            2 => format!("long {}", "x".repeat(random.below(300) as usize)),
            _ => format!("r{:02}", random.below(self.rows)),
        };
        format!("{}{row}", self.prefix)
    }

    /// Conditional mutations of one list often meet in a row.
    pub(super) fn conditional_row(self, random: &mut Random) -> String {
        format!("r{:02}", random.below(3))
    }

    /// Family, qualifier and label.
    pub(super) fn column(self, random: &mut Random) -> (&'static str, String, &'static str) {
        (
            FAMILIES[random.below(self.families) as usize],
            format!("q{}", random.below(self.qualifiers)),
            LABELS[random.below(self.labels) as usize],
        )
    }
}
