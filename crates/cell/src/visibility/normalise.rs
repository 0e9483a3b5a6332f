//! A normal form for expressions that differ only in order, repetition, nesting and quotes.
//!
//! The order of operands is Accumulo's (`ColumnVisibility.NodeComparator`): terms, then `|` groups,
//! then `&` groups; terms by their written bytes; groups by number of operands, then operand by
//! operand. The derived order of [`Node`] is this order, so its variants must not be reordered.

use std::cmp::Ordering;

use super::parse::{Fold, Operator, is_plain, walk};

/// Recursion over nodes is at most [`MAX_DEPTH`](super::MAX_DEPTH) deep.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Node {
    /// As it will be written, with quotes only if needed.
    Term(Box<str>),
    Or(Operands),
    And(Operands),
}

/// At least two, until [`Node::sorted`] drops duplicates.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Operands(Vec<Node>);

impl Ord for Operands {
    fn cmp(&self, other: &Self) -> Ordering {
        self.0
            .len()
            .cmp(&other.0.len())
            .then_with(|| self.0.cmp(&other.0))
    }
}

impl PartialOrd for Operands {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

/// The normalised text of a valid expression.
pub(super) fn normalised(expression: &[u8]) -> String {
    let mut builder = Builder {
        operands: Vec::new(),
    };
    let walked = walk(expression, &mut builder);
    debug_assert!(walked.is_ok(), "only sound expressions are normalised");
    let mut text = String::with_capacity(expression.len());
    if let Some(root) = builder.operands.pop() {
        root.sorted().write(false, &mut text);
    }
    text
}

/// Builds the tree; the values of the walk are on its own stack.
struct Builder {
    operands: Vec<Node>,
}

impl Fold for Builder {
    type Value = ();

    fn term(&mut self, raw: &[u8]) {
        let text = String::from_utf8_lossy(raw);
        let term = if raw.iter().all(|byte| is_plain(*byte)) {
            text.into()
        } else {
            format!("\"{text}\"").into()
        };
        self.operands.push(Node::Term(term));
    }

    fn join(&mut self, operator: Operator, _left: (), _right: ()) {
        let (Some(right), Some(left)) = (self.operands.pop(), self.operands.pop()) else {
            debug_assert!(false, "a walk joins two values it has made");
            return;
        };
        // The left side is usually the level under construction: append to it.
        let mut joined = left.into_operands_of(operator);
        match right {
            Node::And(more) if operator == Operator::And => joined.extend(more.0),
            Node::Or(more) if operator == Operator::Or => joined.extend(more.0),
            operand => joined.push(operand),
        }
        self.operands.push(Node::group(operator, joined));
    }
}

impl Node {
    fn group(operator: Operator, operands: Vec<Self>) -> Self {
        match operator {
            Operator::And => Self::And(Operands(operands)),
            Operator::Or => Self::Or(Operands(operands)),
        }
    }

    /// The operands of a group of this operator; any other node is its own only operand.
    fn into_operands_of(self, operator: Operator) -> Vec<Self> {
        match (self, operator) {
            (Self::And(operands), Operator::And) | (Self::Or(operands), Operator::Or) => operands.0,
            (other, _) => vec![other],
        }
    }

    /// Sorts from the leaves up. A group with one operand left becomes that operand, which may then
    /// belong to the group around it.
    fn sorted(self) -> Self {
        let (operator, operands) = match self {
            Self::Term(_) => return self,
            Self::And(operands) => (Operator::And, operands.0),
            Self::Or(operands) => (Operator::Or, operands.0),
        };
        let mut sorted = Vec::with_capacity(operands.len());
        for operand in operands {
            match operand.sorted() {
                Self::And(more) if operator == Operator::And => sorted.extend(more.0),
                Self::Or(more) if operator == Operator::Or => sorted.extend(more.0),
                operand => sorted.push(operand),
            }
        }
        sorted.sort_unstable();
        sorted.dedup();
        if sorted.len() == 1
            && let Some(only) = sorted.pop()
        {
            return only;
        }
        Self::group(operator, sorted)
    }

    fn write(&self, inside: bool, text: &mut String) {
        let (sign, operands) = match self {
            Self::Term(term) => return text.push_str(term),
            Self::And(operands) => ('&', operands),
            Self::Or(operands) => ('|', operands),
        };
        if inside {
            text.push('(');
        }
        for (index, operand) in operands.0.iter().enumerate() {
            if index > 0 {
                text.push(sign);
            }
            operand.write(true, text);
        }
        if inside {
            text.push(')');
        }
    }
}
