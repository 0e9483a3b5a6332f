//! What an aggregation asks for, as the event store understands it.

use datafusion::arrow::datatypes::{DataType, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::Expr;
use ostrakon_events::FieldType;

use super::super::provider::EventsTable;
use super::super::values::TIME;

/// One of the expressions by which events are grouped.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Group {
    /// The multiples of a span of microseconds.
    Span(i64),
    /// The values of an indexed field.
    Field(String, FieldType),
}

impl Group {
    /// The column of the counts that has the group.
    pub(super) fn column(&self) -> &'static str {
        match self {
            Self::Span(_) => "start",
            Self::Field(..) => "value",
        }
    }
}

/// What the groups of a query are, in its order: at most one of each kind.
pub(super) fn groups(table: &EventsTable, expressions: &[Expr]) -> Option<Vec<Group>> {
    let groups: Option<Vec<Group>> = expressions
        .iter()
        .map(|expression| group(table, expression))
        .collect();
    let groups = groups?;
    let is_field = |group: &&Group| matches!(group, Group::Field(..));
    let fields = groups.iter().filter(is_field).count();
    (fields <= 1 && groups.len() - fields <= 1).then_some(groups)
}

fn group(table: &EventsTable, expression: &Expr) -> Option<Group> {
    match expression {
        Expr::Alias(alias) => group(table, &alias.expr),
        Expr::Column(column) => {
            let kind = table.indexed(&column.name)?;
            // Zeros of both signs are one value to the event store, and two to SQL.
            (kind != FieldType::F64).then(|| Group::Field(column.name.clone(), kind))
        }
        _ => {
            // Bins that the kept counts do not divide into could be as many as the events, and are the engine's to bound.
            let span = span(expression)?;
            (span % table.bin_micros == 0).then_some(Group::Span(span))
        }
    }
}

/// `count(*)`, which the parser makes the count of a constant.
pub(super) fn is_count_of_all(expression: &Expr) -> bool {
    match expression {
        Expr::Alias(alias) => is_count_of_all(&alias.expr),
        Expr::AggregateFunction(call) => {
            let of_rows = match call.params.args.as_slice() {
                [] => true,
                [Expr::Literal(value, _)] => !value.is_null(),
                _ => false,
            };
            call.func.name() == "count"
                && of_rows
                && !call.params.distinct
                && call.params.filter.is_none()
                && call.params.order_by.is_empty()
        }
        _ => false,
    }
}

/// The span of time in microseconds by whose multiples an expression groups events.
fn span(expression: &Expr) -> Option<i64> {
    let call = match expression {
        Expr::Alias(alias) => return span(&alias.expr),
        Expr::ScalarFunction(call) => call,
        _ => return None,
    };
    let [Expr::Literal(width, _), time] = call.args.as_slice() else {
        return None;
    };
    if !is_time(time) {
        return None;
    }
    let micros = match (call.func.name(), width) {
        ("date_bin", ScalarValue::IntervalMonthDayNano(Some(width))) if width.months == 0 => {
            let days = i64::from(width.days).checked_mul(86_400_000_000)?;
            let rest = width.nanoseconds;
            (rest % 1000 == 0).then(|| days.checked_add(rest / 1000))??
        }
        ("date_trunc", width) => match width.try_as_str()??.to_lowercase().as_str() {
            "second" => 1_000_000,
            "minute" => 60_000_000,
            "hour" => 3_600_000_000,
            "day" => 86_400_000_000,
            _ => return None,
        },
        _ => return None,
    };
    (micros > 0).then_some(micros)
}

/// Whether an expression is the time of the event, perhaps in another unit.
fn is_time(expression: &Expr) -> bool {
    match expression {
        Expr::Column(column) => column.name == TIME,
        Expr::Cast(cast) => {
            // A coarser unit would cut the time off before it is put into bins.
            let is_exact = matches!(
                cast.field.data_type(),
                DataType::Timestamp(TimeUnit::Microsecond | TimeUnit::Nanosecond, None)
            );
            is_exact && is_time(&cast.expr)
        }
        _ => false,
    }
}
