//! Random conditions, their text, and their values in three-valued logic.

use ostrakon_store::clock::Random;

/// True, false or NULL.
pub(crate) type Truth = Option<bool>;

pub(crate) fn not(a: Truth) -> Truth {
    a.map(|a| !a)
}

pub(crate) fn and(all: impl IntoIterator<Item = Truth>) -> Truth {
    let mut result = Some(true);
    for one in all {
        match one {
            Some(false) => return one,
            Some(true) => {}
            None => result = None,
        }
    }
    result
}

pub(crate) fn or(all: impl IntoIterator<Item = Truth>) -> Truth {
    not(and(all.into_iter().map(not)))
}

/// A row of the table.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) k: i64,
    pub(super) x: Option<i64>,
    pub(super) y: Option<i64>,
    pub(super) b: Truth,
}

#[derive(Clone, Copy)]
pub(super) enum Side {
    X,
    Y,
    K,
}

impl Side {
    fn of(self, row: &Row) -> Option<i64> {
        match self {
            Self::X => row.x,
            Self::Y => row.y,
            Self::K => Some(row.k),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::X => "x",
            Self::Y => "y",
            Self::K => "k",
        }
    }
}

/// What a column is compared with.
#[derive(Clone, Copy)]
pub(super) enum Item {
    Number(i64),
    /// The same as a computed constant.
    Computed(i64),
    Null,
    Column(Side),
}

impl Item {
    fn of(self, row: &Row) -> Option<i64> {
        match self {
            Self::Number(value) | Self::Computed(value) => Some(value),
            Self::Null => None,
            Self::Column(side) => side.of(row),
        }
    }

    fn text(self) -> String {
        match self {
            Self::Number(value) => value.to_string(),
            Self::Computed(value) => format!("{}+1", value - 1),
            Self::Null => "CAST(NULL AS BIGINT)".to_owned(),
            Self::Column(side) => side.name().to_owned(),
        }
    }
}

/// An operator and what it computes.
pub(crate) type Comparison = (&'static str, fn(i64, i64) -> bool);

pub(crate) const COMPARISONS: [Comparison; 6] = [
    ("=", |a, b| a == b),
    ("<>", |a, b| a != b),
    ("<", |a, b| a < b),
    ("<=", |a, b| a <= b),
    (">", |a, b| a > b),
    (">=", |a, b| a >= b),
];

/// A condition on a row.
pub(super) enum Condition {
    In(Side, Vec<Item>, bool),
    Compared {
        side: Side,
        operator: usize,
        item: Item,
        is_swapped: bool,
    },
    Between(Side, i64, i64, bool),
    IsNull(Side),
    Flag,
    All(Vec<Self>),
    Any(Vec<Self>),
    Not(Box<Self>),
    Unknown(Box<Self>),
    IsTrue(Box<Self>),
    Same(Box<Self>, Box<Self>),
    Within(Box<Self>),
    Case(Box<Self>, Box<Self>),
}

pub(crate) fn number(random: &mut Random, below: u64) -> usize {
    usize::try_from(random.below(below)).unwrap()
}

fn some_side(random: &mut Random) -> Side {
    match random.below(5) {
        0 | 1 => Side::X,
        2 | 3 => Side::Y,
        _ => Side::K,
    }
}

fn some_item(random: &mut Random) -> Item {
    let value = 1 + i64::try_from(random.below(4)).unwrap();
    match random.below(12) {
        0..8 => Item::Number(value),
        8 | 9 => Item::Computed(value),
        10 => Item::Null,
        _ => Item::Column(some_side(random)),
    }
}

impl Condition {
    /// A condition of some depth. Few numbers and columns, so that parts of it meet.
    pub(super) fn some(random: &mut Random, depth: u32) -> Self {
        if depth == 0 || random.below(100) < 15 {
            return Self::some_leaf(random);
        }
        let below = depth - 1;
        let count = 2 + number(random, 2);
        let inner = |random: &mut Random| Box::new(Self::some(random, below));
        match random.below(100) {
            0..35 => Self::All((0..count).map(|_| Self::some(random, below)).collect()),
            35..65 => Self::Any((0..count).map(|_| Self::some(random, below)).collect()),
            65..82 => Self::Not(inner(random)),
            82..86 => Self::Unknown(inner(random)),
            86..89 => Self::IsTrue(inner(random)),
            89..93 => Self::Same(inner(random), inner(random)),
            93..96 => Self::Within(inner(random)),
            _ => Self::Case(inner(random), inner(random)),
        }
    }

    fn some_leaf(random: &mut Random) -> Self {
        let side = some_side(random);
        match random.below(100) {
            0..40 => {
                let count = 1 + number(random, 5);
                let items = (0..count).map(|_| some_item(random)).collect();
                Self::In(side, items, random.below(2) == 0)
            }
            40..65 => Self::Compared {
                side,
                operator: number(random, 2),
                item: some_item(random),
                is_swapped: random.below(2) == 0,
            },
            65..82 => Self::Compared {
                side,
                operator: number(random, 6),
                item: some_item(random),
                is_swapped: random.below(2) == 0,
            },
            82..88 => Self::IsNull(side),
            88..94 => Self::Flag,
            _ => {
                let low = 1 + i64::try_from(random.below(3)).unwrap();
                let high = low + i64::try_from(random.below(2)).unwrap();
                Self::Between(side, low, high, random.below(2) == 0)
            }
        }
    }

    /// Its value.
    pub(super) fn of(&self, row: &Row) -> Truth {
        match self {
            Self::In(side, items, negated) => {
                let equals = |item: &Item| Some(side.of(row)? == item.of(row)?);
                let found = or(items.iter().map(equals));
                if *negated { not(found) } else { found }
            }
            Self::Compared {
                side,
                operator,
                item,
                is_swapped,
            } => {
                let (mut left, mut right) = (side.of(row)?, item.of(row)?);
                if *is_swapped {
                    std::mem::swap(&mut left, &mut right);
                }
                Some(COMPARISONS[*operator].1(left, right))
            }
            Self::Between(side, low, high, negated) => {
                let value = side.of(row)?;
                Some((*low <= value && value <= *high) != *negated)
            }
            Self::IsNull(side) => Some(side.of(row).is_none()),
            Self::Flag => row.b,
            Self::All(parts) => and(parts.iter().map(|part| part.of(row))),
            Self::Any(parts) => or(parts.iter().map(|part| part.of(row))),
            Self::Not(inner) => not(inner.of(row)),
            Self::Unknown(inner) => Some(inner.of(row).is_none()),
            Self::IsTrue(inner) => Some(inner.of(row) == Some(true)),
            Self::Same(a, b) => Some(a.of(row)? == b.of(row)?),
            Self::Within(inner) => inner.of(row),
            Self::Case(when, then) => match when.of(row) {
                Some(true) => then.of(row),
                _ => row.b,
            },
        }
    }

    pub(super) fn text(&self) -> String {
        let joined = |parts: &[Self], word: &str| {
            let parts: Vec<String> = parts.iter().map(Self::text).collect();
            format!("({})", parts.join(word))
        };
        let negation = |negated: &bool| if *negated { "NOT " } else { "" };
        match self {
            Self::In(side, items, negated) => {
                let items: Vec<String> = items.iter().map(|item| item.text()).collect();
                let (side, not) = (side.name(), negation(negated));
                format!("{side} {not}IN ({})", items.join(", "))
            }
            Self::Compared {
                side,
                operator,
                item,
                is_swapped,
            } => {
                let (left, right) = (side.name().to_owned(), item.text());
                let operator = COMPARISONS[*operator].0;
                match is_swapped {
                    false => format!("{left} {operator} {right}"),
                    true => format!("{right} {operator} {left}"),
                }
            }
            Self::Between(side, low, high, negated) => {
                format!(
                    "{} {}BETWEEN {low} AND {high}",
                    side.name(),
                    negation(negated)
                )
            }
            Self::IsNull(side) => format!("{} IS NULL", side.name()),
            Self::Flag => "b".to_owned(),
            Self::All(parts) => joined(parts, " AND "),
            Self::Any(parts) => joined(parts, " OR "),
            Self::Not(inner) => format!("(NOT {})", inner.text()),
            Self::Unknown(inner) => format!("({} IS NULL)", inner.text()),
            Self::IsTrue(inner) => format!("({} IS TRUE)", inner.text()),
            Self::Same(a, b) => format!("(({}) = ({}))", a.text(), b.text()),
            Self::Within(inner) => format!("(({}) BETWEEN true AND true)", inner.text()),
            Self::Case(when, then) => {
                format!(
                    "(CASE WHEN {} THEN {} ELSE b END)",
                    when.text(),
                    then.text()
                )
            }
        }
    }
}
