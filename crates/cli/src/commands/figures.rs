//! The figures of a workload: one object for machines, a short list for people.

use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize};
use serde_json::Value;

use crate::failure::{Failure, Result};
use crate::output::{Output, grouped};

/// Shows any figures.
pub(super) fn show(out: &mut Output, figures: &impl Serialize) -> Result<()> {
    let refuse = |error: serde_json::Error| {
        Failure::bug("cannot show the figures").with("reason", error.to_string())
    };
    let text = serde_json::to_string(figures).map_err(refuse)?;
    let fields: Fields = serde_json::from_str(&text).map_err(refuse)?;
    out.object(figures, || describe(&fields.0))
}

/// The fields of an object in the order in which the struct has them.
struct Fields(Vec<(String, Value)>);

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Collect;

        impl<'de> Visitor<'de> for Collect {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Vec::new();
                while let Some(field) = map.next_entry()? {
                    fields.push(field);
                }
                Ok(Fields(fields))
            }
        }

        deserializer.deserialize_map(Collect)
    }
}

/// Plain numbers and texts, one per line; series and nested figures appear only in JSON.
fn describe(fields: &[(String, Value)]) -> String {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    let mut lines = Vec::new();
    for (name, value) in fields {
        let name = name.replace('_', " ");
        match value {
            // A seed is meant to be typed again, so its digits are not grouped.
            Value::Number(number) if name == "seed" => {
                lines.push(format!("{name:width$}  {number}"));
            }
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
        let figures = r#"{"seconds": 0.5, "entries": 1234567, "rate": 2469134.2, "seed": 1234567,
            "samples": [{"seconds": 1}], "undefined_examples": [{"row": "a"}], "durability": "sync"}"#;
        let fields: Fields = serde_json::from_str(figures).expect("json");
        assert_eq!(
            describe(&fields.0)
                .lines()
                .map(str::trim_end)
                .collect::<Vec<_>>(),
            [
                "seconds             0.500",
                "entries             1,234,567",
                "rate                2,469,134",
                "seed                1234567",
                "undefined examples  {\"row\":\"a\"}",
                "durability          sync",
            ]
        );
    }
}
