//! The figures of a workload: one object for machines, a short list for people.

use serde::Serialize;
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::output::{Output, grouped};

/// Shows any figures.
pub(super) fn show(out: &mut Output, figures: &impl Serialize) -> Result<()> {
    let value = serde_json::to_value(figures).map_err(|error| {
        Failure::outcome("the figures cannot be shown").with("reason", error.to_string())
    })?;
    // The struct itself goes to machines: its fields have an order.
    out.object(figures, || describe(&value))
}

/// Plain numbers and texts, one a line; series and nested figures are for machines.
fn describe(value: &Value) -> String {
    let Some(fields) = value.as_object() else {
        return value.to_string();
    };
    let width = fields.keys().map(String::len).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = name.replace('_', " ");
        match value {
            Value::Number(number) => lines.push(format!("{name:width$}  {}", shown(number))),
            Value::String(text) => lines.push(format!("{name:width$}  {text}")),
            Value::Bool(yes) => lines.push(format!("{name:width$}  {yes}")),
            Value::Array(items) => {
                for item in items {
                    match item {
                        Value::String(text) => lines.push(format!("{name:width$}  {text}")),
                        Value::Object(_) if name.ends_with("examples") => {
                            lines.push(format!("{name:width$}  {item}"));
                        }
                        _ => {}
                    }
                }
            }
            Value::Null | Value::Object(_) => {}
        }
    }
    lines.join("\n")
}

fn shown(number: &serde_json::Number) -> String {
    match (number.as_u64(), number.as_f64()) {
        (Some(whole), _) => grouped(whole),
        (None, Some(number)) if number.abs() >= 1000.0 => grouped(number.round() as u64),
        (None, Some(number)) => format!("{number:.3}"),
        _ => number.to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn people_see_numbers_and_examples_and_no_series() {
        let figures = serde_json::json!({
            "entries": 1_234_567, "seconds": 0.5, "rate": 2_469_134.2,
            "samples": [{"seconds": 1}], "undefined_examples": [{"row": "a"}], "durability": "sync",
        });
        let text = describe(&figures);
        assert!(text.contains("entries             1,234,567\n"), "{text}");
        assert!(text.contains("2,469,134") && text.contains("0.500") && text.contains("sync"));
        assert!(text.contains("{\"row\":\"a\"}") && !text.contains("samples"));
    }
}
