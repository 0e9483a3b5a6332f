//! Events, plots and plans as text and as JSON.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_events::{Event, Explanation, Outcome, show_time};
use serde_json::{Value, json};

use crate::output::{BASE64_SUFFIX, counted, escape_label, escape_part, grouped, with_bytes};

/// The most bins of a histogram with those without events between others, as in Python.
const BINS_MAX: i64 = 100_000;
const BAR_WIDTH: u64 = 50;

/// An event as a line of text, with its fields in the order of `fields` if there are any. A value with a blank or a quote
/// in it, and an empty one, is in quotes, so that it is clear where the next field begins. The field `time` is what the
/// line begins with, and is shown again only if it is one of `fields`.
pub(super) fn event_text(event: &Event, time: &str, fields: &[String]) -> String {
    let mut line = show_time(event.time);
    if !event.label().is_empty() {
        line.push_str(&format!(" [{}]", escape_label(event.label())));
    }
    let place = |name: &str| fields.iter().position(|field| field == name);
    let is_asked_for = place(time).is_some();
    let shown = event
        .fields()
        .filter(|(name, _)| is_asked_for || *name != time);
    let mut shown: Vec<_> = shown.collect();
    shown.sort_by_key(|(name, _)| place(name));
    for (name, value) in shown {
        let text = escape_part(value, "\"");
        match value.is_empty() || value.contains(&b' ') || value.contains(&b'"') {
            true => line.push_str(&format!(" {name}=\"{text}\"")),
            false => line.push_str(&format!(" {name}={text}")),
        }
    }
    line
}

/// An event as an object.
pub(super) fn event_json(event: &Event) -> Value {
    let is_text = |value: &[u8]| std::str::from_utf8(value).is_ok();
    let mut fields = json!({});
    // A field may itself be called NAME_base64. Text is never encoded, so that its name is its own.
    let mut names: BTreeSet<&str> = BTreeSet::new();
    for (name, value) in event.fields().filter(|(_, value)| is_text(value)) {
        names.insert(name);
        fields = with_bytes(fields, name, Some(value));
    }
    for (name, value) in event.fields().filter(|(_, value)| !is_text(value)) {
        let mut free = name.to_owned();
        while names.contains(format!("{free}{BASE64_SUFFIX}").as_str()) {
            free.push_str(BASE64_SUFFIX);
        }
        fields = with_bytes(fields, &free, Some(value));
    }
    let object = json!({"time": show_time(event.time), "fields": fields});
    with_bytes(object, "label", Some(event.label()))
}

/// Adds the bins without events between others; `None` if there were too many bins.
pub(super) fn with_empty_bins(bins: &BTreeMap<i64, u64>, span: i64) -> Option<BTreeMap<i64, u64>> {
    let (Some((&first, _)), Some((&last, _))) = (bins.first_key_value(), bins.last_key_value())
    else {
        return Some(BTreeMap::new());
    };
    let more = last.checked_sub(first)? / span;
    if more >= BINS_MAX {
        return None;
    }
    let starts = (0..=more).map(|at| first + at * span);
    Some(
        starts
            .map(|start| (start, bins.get(&start).copied().unwrap_or(0)))
            .collect(),
    )
}

/// A plot of counts by time: a bar per line.
pub(super) fn plot(bins: &BTreeMap<i64, u64>) -> String {
    if bins.is_empty() {
        return "no events".into();
    }
    let most = bins.values().copied().max().unwrap_or(1).max(1);
    let digits = grouped(most).len();
    let bar = |start: i64, count: u64| {
        let eighths = (count * BAR_WIDTH * 8).div_ceil(most);
        let mut bar = "█".repeat((eighths / 8) as usize);
        bar.push_str(
            ["", "▏", "▎", "▍", "▌", "▋", "▊", "▉"]
                .get((eighths % 8) as usize)
                .unwrap_or(&""),
        );
        format!("{}  {:>digits$}  {bar}", show_time(start), grouped(count))
            .trim_end()
            .to_owned()
    };
    let lines: Vec<String> = bins
        .iter()
        .map(|(&start, &count)| bar(start, count))
        .collect();
    lines.join("\n")
}

/// A plan as text.
pub(super) fn plan_text(plan: &Explanation) -> String {
    let mut lines = vec![
        format!("path       {}", plan.path),
        format!("because    {}", plan.reason),
        match plan.times.0 == "unbounded" && plan.times.1 == "unbounded" {
            true => "times      all".to_owned(),
            false => format!("times      {} to {}", plan.times.0, plan.times.1),
        },
        format!(
            "events     {} in these times, about {} to read",
            grouped(plan.total),
            grouped(plan.estimate)
        ),
    ];
    for test in &plan.tests {
        let count = test.events.map_or_else(
            || "too many values to count".to_owned(),
            |events| format!("about {}", counted(events, "event", "events")),
        );
        let used = match (test.used, plan.path) {
            (true, _) => "looked up in the index",
            (false, "index") => "tested on the events found",
            (false, _) => "tested while scanning",
        };
        lines.push(format!("test       {} ({count}; {used})", test.test));
    }
    let of = match plan.path {
        "index" => "of the index",
        _ => "one per shard",
    };
    lines.push(format!(
        "ranges     {}, {of}, for each window of time",
        grouped(plan.ranges)
    ));
    lines.push(format!("condition  {}", plan.condition));
    lines.join("\n")
}

/// A plan as an object.
pub(super) fn plan_json(plan: &Explanation) -> Value {
    let tests: Vec<Value> = plan
        .tests
        .iter()
        .map(|test| json!({"test": test.test, "events": test.events, "used": test.used}))
        .collect();
    json!({
        "path": plan.path, "reason": plan.reason, "from": plan.times.0, "to": plan.times.1, "events": plan.total,
        "estimate": plan.estimate, "threshold": plan.threshold, "tests": tests, "ranges": plan.ranges,
        "condition": plan.condition,
    })
}

/// What a query read, as text.
pub(super) fn actual_text(outcome: &Outcome) -> String {
    let mut lines = vec![
        format!(
            "found      {} in {}",
            counted(outcome.events, "event", "events"),
            counted(outcome.windows, "time window", "time windows")
        ),
        format!(
            "read       {}, returned {}",
            counted(outcome.handled.unwrap_or(0), "entry", "entries"),
            counted(outcome.sent, "event", "events")
        ),
        format!("took       {:.1} ms", outcome.seconds * 1e3),
    ];
    if outcome.looked_up > 0 {
        lines.insert(
            1,
            format!(
                "looked up  {} in the index",
                counted(outcome.looked_up, "event", "events")
            ),
        );
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn plots_show_gaps_and_scale_to_the_longest_bar() {
        let hour = 3_600_000_000;
        let bins = BTreeMap::from([(0, 100), (2 * hour, 1)]);
        let text = plot(&with_empty_bins(&bins, hour).expect("few"));
        let lines: Vec<&str> = text.lines().collect();
        assert_eq!(lines.len(), 3);
        assert_eq!(
            lines[0],
            format!("1970-01-01T00:00:00Z  100  {}", "█".repeat(50))
        );
        assert_eq!(lines[1], "1970-01-01T01:00:00Z    0");
        assert_eq!(lines[2], "1970-01-01T02:00:00Z    1  ▌");
        assert_eq!(plot(&BTreeMap::new()), "no events");
        let far = |at| BTreeMap::from([(0, 1), (at * hour, 1)]);
        let counted = with_empty_bins(&far(BINS_MAX - 1), hour).map(|all| all.len());
        assert_eq!(counted, Some(100_000));
        assert_eq!(with_empty_bins(&far(BINS_MAX), hour), None);
    }
}
