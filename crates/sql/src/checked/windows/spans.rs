//! RANGE frames between two spans of time on one side of a row, such as `BETWEEN INTERVAL '36 hours' PRECEDING AND INTERVAL
//! '1 day' PRECEDING`. The engine compares months, days and hours one after the other, as if a day were longer than any
//! number of hours. So it refuses this frame, and fails inside for the frame with the two exchanged.

use datafusion::arrow::array::types::IntervalMonthDayNano;
use datafusion::arrow::datatypes::{DataType, IntervalUnit};
use datafusion::common::{Result, ScalarValue, plan_err};
use datafusion::logical_expr::{WindowFrame, WindowFrameBound};

use super::ranges::offset;

const DAY: i128 = 86_400 * 1_000_000_000;

/// What was found of two spans.
#[derive(PartialEq, Eq)]
pub(super) enum Spans {
    Kept,
    Changed,
    /// The frame ends before it begins.
    Empty,
}

/// Writes the two spans so that the engine compares them rightly.
///
/// # Errors
/// Spans that cannot be compared, and negative ones.
pub(super) fn compare_spans(frame: &mut WindowFrame, key: &DataType) -> Result<Spans> {
    let spans = [span(&frame.start_bound), span(&frame.end_bound)];
    let is_negative =
        |span: &IntervalMonthDayNano| span.months < 0 || span.days < 0 || span.nanoseconds < 0;
    if spans.iter().flatten().any(is_negative) {
        return plan_err!("the spans of time of a RANGE frame cannot be negative");
    }
    let [Some(start), Some(end)] = spans else {
        return Ok(Spans::Kept);
    };
    let (longer, shorter) = match (&frame.start_bound, &frame.end_bound) {
        (WindowFrameBound::Preceding(_), WindowFrameBound::Preceding(_)) => (start, end),
        (WindowFrameBound::Following(_), WindowFrameBound::Following(_)) => (end, start),
        _ => return Ok(Spans::Kept),
    };
    let months = i128::from(longer.months) - i128::from(shorter.months);
    let rest = without_months(longer) - without_months(shorter);
    // A month has 28 to 31 days.
    let (least, most) = match months {
        0.. => (months * 28 * DAY + rest, months * 31 * DAY + rest),
        _ => (months * 31 * DAY + rest, months * 28 * DAY + rest),
    };
    if most < 0 {
        return Ok(Spans::Empty);
    }
    if least < 0 {
        return plan_err!(
            "the spans of time of the RANGE frame cannot be compared, because months differ in length"
        );
    }
    // Where clocks are changed, a day is not 24 hours.
    if months != 0 || !matches!(key, DataType::Timestamp(_, None)) {
        return Ok(Spans::Kept);
    }
    let (Some(start), Some(end)) = (in_nanoseconds(start), in_nanoseconds(end)) else {
        return Ok(Spans::Kept);
    };
    for (bound, span) in [(&mut frame.start_bound, start), (&mut frame.end_bound, end)] {
        if let WindowFrameBound::Preceding(offset) | WindowFrameBound::Following(offset) = bound {
            *offset = ScalarValue::IntervalMonthDayNano(Some(span));
        }
    }
    Ok(Spans::Changed)
}

/// Whether a bound has a part of a day.
pub(super) fn has_hours(frame: &WindowFrame) -> bool {
    let spans = [span(&frame.start_bound), span(&frame.end_bound)];
    spans.iter().flatten().any(|span| span.nanoseconds != 0)
}

/// The span of time of a bound, which is text until the engine makes the types equal. `None` for other bounds; what is no
/// span is left to the engine.
fn span(bound: &WindowFrameBound) -> Option<IntervalMonthDayNano> {
    let kind = DataType::Interval(IntervalUnit::MonthDayNano);
    let value = match offset(bound)? {
        ScalarValue::Utf8(Some(text)) => ScalarValue::try_from_string(text.clone(), &kind).ok()?,
        other => other.clone(),
    };
    match value {
        ScalarValue::IntervalMonthDayNano(span) => span,
        _ => None,
    }
}

fn without_months(span: IntervalMonthDayNano) -> i128 {
    i128::from(span.days) * DAY + i128::from(span.nanoseconds)
}

/// The span with its days as nanoseconds; `None` if they are too many.
fn in_nanoseconds(span: IntervalMonthDayNano) -> Option<IntervalMonthDayNano> {
    let nanoseconds = i64::try_from(without_months(span)).ok()?;
    Some(IntervalMonthDayNano::new(span.months, 0, nanoseconds))
}
