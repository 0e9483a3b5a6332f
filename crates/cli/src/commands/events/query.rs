//! Questions to an event type.

use std::collections::BTreeMap;
use std::io::Write as _;
use std::time::Duration;

use ostrakon_events::{
    CountPath, EventCheck, EventStore, PlannerSettings, Query, parse_condition, parse_span,
    show_span, show_time,
};
use serde_json::{Value, json};

use super::form::EventForm;
use super::logs::now;
use super::show::{actual_text, plan_json, plan_text, plot, with_empty_bins};
use super::types::moment;
use crate::args::{
    EventsPlanner, EventsQueryArgs, EventsQuestion, EventsReader, EventsRows, EventsWhen, QueryPath,
};
use crate::commands::confirm::confirm;
use crate::failure::{Failure, Result};
use crate::interrupt::{Kept, Watch};
use crate::output::{Columns, Output, counted, escape, grouped, with_bytes, write_json_line};

/// Prints events.
pub(super) fn run(store: &EventStore, args: EventsQueryArgs, out: &mut Output) -> Result<()> {
    let mut query = question(&args.question)?;
    query.path = args.path.path.into();
    query.settings = settings(&args.planner)?;
    if args.count {
        let events = store.count(&query, CountPath::Auto)?;
        hint_at_last(store, &query, &args.question.when, events == 0)?;
        return out.object(&json!({"type": query.event_type, "events": events}), || {
            counted(events, "event", "events")
        });
    }
    query.fields = (!args.fields.is_empty()).then(|| args.fields.clone());
    query.limit = args.limit;
    query.resume = args.resume;
    let rows = match args.format {
        Some(rows) => rows,
        None if out.is_json() => EventsRows::Json,
        None => EventsRows::Text,
    };
    let found = args
        .then
        .last()
        .map_or(&query.event_type, |last| &last.event_type);
    let definition = store.get(found)?;
    let watch = interruptible(&mut query);
    let mut form = EventForm::new(rows, &definition, &args.fields, out.stream());
    let (mut written, mut none) = (Ok(()), true);
    let outcome = store.query_then(&query, &args.then, |event| {
        none = false;
        written = form.event(event);
        Ok(written.is_ok())
    });
    // Also when the reader of the output has closed it, and also the events that were found before a failure.
    written?;
    match outcome.is_ok() || !none {
        true => form.finish()?,
        false => drop(form),
    }
    let outcome = match outcome {
        Err(error) if watch.stopped() => return Err(stopped(&watch, &error, rows, out)),
        outcome => outcome?,
    };
    if query.resume.is_none() && query.limit != Some(0) {
        hint_at_last(store, &query, &args.question.when, none)?;
    }
    match outcome.token {
        Some(token) if rows == EventsRows::Json => {
            Ok(write_json_line(out.stream(), &json!({"token": token}))?)
        }
        Some(token) => {
            tracing::info!("there may be more events: go on with --resume {token}");
            Ok(())
        }
        None => Ok(()),
    }
}

/// If nothing was found in the last time span, tells on stderr when the newest event is, in case all events of the reader
/// are older.
fn hint_at_last(
    store: &EventStore,
    query: &Query,
    when: &EventsWhen,
    found_nothing: bool,
) -> Result<()> {
    let (Some(last), None, Some(from)) = (&when.last, &when.now, query.from) else {
        return Ok(());
    };
    if !found_nothing {
        return Ok(());
    }
    let newest = Query {
        event_type: query.event_type.clone(),
        authorizations: query.authorizations.clone(),
        interrupt: query.interrupt.clone(),
        limit: Some(1),
        ..Query::default()
    };
    let mut time = None;
    store.query(&newest, |event| {
        time = Some(event.time);
        Ok(false)
    })?;
    let Some(time) = time.filter(|time| *time < from) else {
        return Ok(());
    };
    // The time that counts as now is after the events.
    let second = 1_000_000;
    let now = time
        .div_euclid(second)
        .saturating_add(1)
        .saturating_mul(second);
    // If stderr fails, there is no other place to report it.
    let _ = writeln!(
        std::io::stderr(),
        "note: the newest event of {} is from {}, which is before the last {last}; to count from there, use --now {}",
        query.event_type,
        show_time(time),
        show_time(now)
    );
    Ok(())
}

/// Why a query has stopped, and how to go on.
fn stopped(
    watch: &Watch,
    error: &ostrakon_cell::Error,
    rows: EventsRows,
    out: &mut Output,
) -> Failure {
    let token = error.context().iter().find(|(name, _)| *name == "token");
    let Some((_, token)) = token else {
        return watch
            .check("no event was found by then")
            .map_or_else(|failure| failure, |()| Failure::outcome("stopped"));
    };
    if rows == EventsRows::Json
        && let Err(failure) = write_json_line(out.stream(), &json!({"token": token}))
    {
        return failure.into();
    }
    let failure = watch.check("what was printed is complete up to there");
    let failure = failure.map_or_else(|failure| failure, |()| Failure::outcome("stopped"));
    failure.next(format!("go on with --resume {token}"))
}

/// Counts events by time, and plots the counts.
pub(super) fn histogram(
    store: &EventStore,
    asked: &EventsQuestion,
    by: &str,
    path: CountPath,
    out: &mut Output,
) -> Result<()> {
    let span = parse_span(by)?;
    let mut query = question(asked)?;
    let _watch = interruptible(&mut query);
    let found = store.histogram(&query, span, path)?;
    hint_at_last(store, &query, &asked.when, found.is_empty())?;
    let bins = with_empty_bins(&found, span).unwrap_or_else(|| {
        Failure::warning(
            "bins without events are left out, because there would be more than 100,000 bins",
        )
        .next("use a longer --by, or ask for less time with --from and --to")
        .warn();
        found
    });
    if !out.is_json() {
        writeln!(out.stream(), "{}", plot(&bins))?;
        return Ok(());
    }
    let bins: Vec<Value> = bins
        .iter()
        .map(|(&start, count)| json!({"time": show_time(start), "events": count}))
        .collect();
    out.object(
        &json!({"type": query.event_type, "by": show_span(span), "bins": bins}),
        String::new,
    )
}

/// Prints the most frequent values.
pub(super) fn top(
    store: &EventStore,
    name: &str,
    field: &str,
    expression: Option<&str>,
    limit: usize,
    when: &EventsWhen,
    out: &mut Output,
) -> Result<()> {
    let mut query = asked(name, expression, when)?;
    let _watch = interruptible(&mut query);
    let top = store.top(&query, field, limit, CountPath::Auto)?;
    hint_at_last(store, &query, when, top.events == 0)?;
    if out.is_json() {
        let values: Vec<Value> = top
            .values
            .iter()
            .map(|(value, count)| with_bytes(json!({"events": count}), "value", Some(value)))
            .collect();
        let object = json!({"type": name, "field": field, "distinct": top.distinct, "events": top.events, "values": values});
        return out.object(&object, String::new);
    }
    let mut columns = Columns::new(&[">events", field]);
    for (value, count) in &top.values {
        columns.row(vec![grouped(*count), escape(value).into_owned()]);
    }
    columns.write(out.stream())?;
    Ok(())
}

/// Shows how a query is answered.
pub(super) fn explain(
    store: &EventStore,
    asked: &EventsQuestion,
    (path, planner): (QueryPath, &EventsPlanner),
    analyze: bool,
    out: &mut Output,
) -> Result<()> {
    let mut query = question(asked)?;
    query.path = path.into();
    query.settings = settings(planner)?;
    if !analyze {
        let plan = store.explain(&query)?;
        return out.object(&plan_json(&plan), || plan_text(&plan));
    }
    let _watch = interruptible(&mut query);
    let (plan, outcome) = store.analyze(&query, |_| Ok(true))?;
    let mut object = plan_json(&plan);
    object["actual"] = json!({
        "events": outcome.events, "windows": outcome.windows, "looked_up": outcome.looked_up,
        "handled": outcome.handled, "sent": outcome.sent, "seconds": outcome.seconds,
        "first_seconds": outcome.first_seconds,
    });
    out.object(&object, || {
        format!("{}\n{}", plan_text(&plan), actual_text(&outcome))
    })
}

/// Measures the threshold of the planner.
pub(super) fn calibrate(
    store: &EventStore,
    name: &str,
    when: &EventsWhen,
    out: &mut Output,
) -> Result<()> {
    let measured = store.calibrate(&asked(name, None, when)?)?;
    let object = json!({
        "type": name, "scanned_per_second": measured.scanned_per_second,
        "fetched_per_second": measured.fetched_per_second, "threshold": measured.threshold,
    });
    out.object(&object, || {
        format!(
            "a scan handles {} events/s, {} events/s are fetched one by one: the index is used below {:.3} %",
            grouped(measured.scanned_per_second as u64),
            grouped(measured.fetched_per_second as u64),
            measured.threshold * 100.0
        )
    })
}

/// Deletes the events of a query.
pub(super) fn delete(
    store: &EventStore,
    asked: &EventsQuestion,
    yes: bool,
    out: &mut Output,
) -> Result<()> {
    let query = question(asked)?;
    let found = store.count(&query, CountPath::Auto)?;
    let events = counted(found, "event", "events");
    confirm(
        yes,
        &format!("Delete {events}?"),
        &format!("{events} would be deleted"),
    )?;
    let _kept =
        Kept::new("some of the events may be deleted: run the command again to delete the rest");
    let deleted = store.delete(&query)?;
    store.settle(&query.event_type)?;
    out.object(
        &json!({"type": query.event_type, "events": deleted}),
        || format!("deleted {}", counted(deleted, "event", "events")),
    )
}

/// Checks that the tables of a type agree.
pub(super) fn check(
    store: &EventStore,
    name: &str,
    reader: EventsReader,
    out: &mut Output,
) -> Result<()> {
    let check = store.check(&all_of(name, reader))?;
    let object = json!({
        "type": name, "events": check.events, "index_entries": check.index_entries, "counts": check.counts,
        "disagreements": disagreements(&check), "unknown_batches": check.unknown_batches,
    });
    out.object(&object, || {
        let mut text = format!(
            "{}, {} index entries and {} counts checked",
            counted(check.events, "event", "events"),
            grouped(check.index_entries),
            grouped(check.counts)
        );
        for wrong in &check.disagreements {
            let field = if wrong.field.is_empty() {
                "all events"
            } else {
                &wrong.field
            };
            text.push_str(&format!(
                "\n{} of {field} at {}: {} events, {} found",
                wrong.table,
                show_time(wrong.bin),
                wrong.expected,
                wrong.found
            ));
        }
        if let Some((first, last)) = check.unknown_batches {
            text.push_str(&format!(
                "\nbatches {first} to {last} are not known to `events.types`, of which a part was lost: nothing of them \
                 counts until they are repaired"
            ));
        }
        text
    })?;
    let what = match (check.disagreements.is_empty(), check.unknown_batches) {
        (true, None) => return Ok(()),
        (false, _) => "the index or the counts do not agree with the events",
        (true, Some(_)) => "there are batches of events that the registry does not know",
    };
    Err(Failure::outcome(what).with("type", name).next(format!(
        "run `ostrakon events repair {name}` with the same --auths"
    )))
}

/// Repairs what `check` finds.
pub(super) fn repair(
    store: &EventStore,
    name: &str,
    reader: EventsReader,
    out: &mut Output,
) -> Result<()> {
    let query = all_of(name, reader);
    let _kept = Kept::new(
        "some of the differences may be repaired: run the command again to repair the rest",
    );
    let taken_in = store.recover(name)?;
    let found = store.check(&query)?;
    let repaired = store.repair(&query, &found)?;
    let object = json!({
        "type": name, "added": repaired.added, "removed": repaired.removed, "counts": repaired.counts,
        "batches": taken_in,
    });
    out.object(&object, || {
        let batches = taken_in.map_or_else(String::new, |(first, last)| {
            format!("batches {first} to {last} taken in: their events and deletions count again\n")
        });
        format!(
            "{batches}{} added to the index, {} removed from it, {} corrected",
            counted(repaired.added, "entry", "entries"),
            repaired.removed,
            counted(repaired.counts, "count", "counts")
        )
    })
}

fn disagreements(check: &EventCheck) -> Vec<BTreeMap<&'static str, Value>> {
    let object = |wrong: &ostrakon_events::Disagreement| {
        BTreeMap::from([
            ("table", json!(wrong.table)),
            ("field", json!(wrong.field)),
            ("bin", json!(show_time(wrong.bin))),
            ("expected", json!(wrong.expected)),
            ("found", json!(wrong.found)),
        ])
    };
    check.disagreements.iter().map(object).collect()
}

fn settings(given: &EventsPlanner) -> Result<PlannerSettings> {
    let usual = PlannerSettings::default();
    let time = |span: &Option<String>, usual| match span {
        Some(span) => {
            let micros = parse_span(span)?;
            Ok::<_, Failure>(Duration::from_micros(micros.unsigned_abs()))
        }
        None => Ok(usual),
    };
    Ok(PlannerSettings {
        threshold: given.threshold,
        factor: given.factor.unwrap_or(usual.factor),
        first_events: given.first_events.unwrap_or(usual.first_events),
        window_events: given.window_events.unwrap_or(usual.window_events),
        short: time(&given.window_short, usual.short)?,
        long: time(&given.window_long, usual.long)?,
        growth: given.window_growth.map_or(usual.growth, i64::from),
        threads: given.threads.unwrap_or(usual.threads),
        ..usual
    })
}

fn question(question: &EventsQuestion) -> Result<Query> {
    asked(
        &question.name,
        question.expression.as_deref(),
        &question.when,
    )
}

fn asked(name: &str, expression: Option<&str>, when: &EventsWhen) -> Result<Query> {
    let now = when
        .now
        .as_deref()
        .map(moment)
        .transpose()?
        .unwrap_or_else(now);
    let from = match (&when.from, &when.last) {
        (Some(from), _) => Some(moment(from)?),
        (None, Some(last)) => Some(now.saturating_sub(parse_span(last)?)),
        (None, None) => None,
    };
    let to = match (&when.to, &when.last, &when.now) {
        (Some(to), _, _) => Some(moment(to)?),
        // With a present of its own, what comes after it is the future.
        (None, Some(_), Some(_)) => Some(now),
        (None, _, _) => None,
    };
    let query = Query {
        event_type: name.to_owned(),
        condition: parse_condition(expression.unwrap_or_default(), now)?,
        from,
        to,
        authorizations: when.reader.authorizations.clone(),
        ..Query::default()
    };
    query.check_times()?;
    Ok(query)
}

/// All events of a type that the reader sees.
fn all_of(name: &str, reader: EventsReader) -> Query {
    Query {
        event_type: name.to_owned(),
        authorizations: reader.authorizations,
        ..Query::default()
    }
}

/// Lets Ctrl-C end the query.
fn interruptible(query: &mut Query) -> Watch {
    let interrupt = ostrakon_cell::Interrupt::default();
    query.interrupt = Some(interrupt.clone());
    Watch::with_call(move || interrupt.set())
}
