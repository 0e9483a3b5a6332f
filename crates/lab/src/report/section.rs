//! One experiment on the page: what the paper did, its rows next to ours, charts, conditions.

use ostrakon_cell::Result;

use super::plots::plots;
use super::text::{escape, moment, spread};
use crate::experiments::{Conditions, Record, Unit, short};

pub(super) fn section(record: &Record) -> Result<String> {
    let paper = &record.paper;
    let caveats: String = paper
        .caveats
        .iter()
        .map(|caveat| format!("<li>{}</li>", escape(caveat)))
        .collect();
    Ok(format!(
        "<section id=\"{id}\"><h2>{label}: {title}</h2>\
         <p class=\"meta\"><code>{id}</code> · run {when}, {seconds:.0} s in all{scale}</p>\
         <div class=\"pair\"><div><h3>The paper</h3><p>{what}</p>{theirs}</div>\
         <div><h3>Here</h3><p>{scaling}</p>{ours}</div></div>\
         <div class=\"caveats\"><h3>Before comparing</h3><ul>{caveats}</ul></div>\
         <div class=\"charts\">{plots}</div>\
         <details><summary>Conditions</summary>{conditions}</details></section>\n",
        id = escape(&record.experiment),
        label = escape(&paper.label),
        title = escape(&record.title),
        when = moment(record.started_ms),
        seconds = record.seconds,
        scale = scale(&record.conditions),
        what = escape(&paper.what),
        theirs = paper_table(record),
        scaling = escape(&record.scaling),
        ours = our_table(record),
        plots = plots(record)?,
        conditions = conditions(record),
    ))
}

/// The text of an experiment names the sizes it ran with; the page says when they are not the usual ones.
fn scale(conditions: &Conditions) -> String {
    if conditions.scale == 1.0 {
        return String::new();
    }
    format!(" · at scale {}", short(conditions.scale))
}

/// Processors that others kept busy meanwhile: what a reader needs to believe the numbers.
fn others(record: &Record) -> String {
    let repetitions = record.rows.iter().flat_map(|row| &row.repetitions);
    let busy: Vec<f64> = repetitions
        .flat_map(|repetition| &repetition.host)
        .map(|sample| (sample.machine_processors - sample.processors).max(0.0))
        .collect();
    format!(
        "{} processors on average, of {}",
        short(crate::measure::spread(&busy).mean),
        record.conditions.host.processors
    )
}

fn table(heads: impl Iterator<Item = String>, rows: impl Iterator<Item = Vec<String>>) -> String {
    let heads: String = heads
        .map(|head| format!("<th scope=\"col\">{head}</th>"))
        .collect();
    let rows: String = rows
        .map(|cells| {
            let mut cells = cells.into_iter();
            let first = cells.next().unwrap_or_default();
            let rest: String = cells.map(|cell| format!("<td>{cell}</td>")).collect();
            format!("<tr><th scope=\"row\">{first}</th>{rest}</tr>")
        })
        .collect();
    format!(
        "<div class=\"scroll\"><table><thead><tr>{heads}</tr></thead><tbody>{rows}</tbody></table></div>"
    )
}

fn paper_table(record: &Record) -> String {
    let rows = record.paper.rows.iter();
    table(
        record.paper.columns.iter().map(|head| escape(head)),
        rows.map(|row| row.iter().map(|cell| escape(cell)).collect()),
    )
}

fn our_table(record: &Record) -> String {
    let heads = record.columns.iter().map(|column| escape(&column.label));
    let rows = record.rows.iter().map(|row| {
        let cells = record.columns.iter().map(|column| {
            row.metrics
                .get(&column.key)
                .map_or_else(|| "–".to_owned(), |value| spread(value, column.unit))
        });
        std::iter::once(escape(&row.name)).chain(cells).collect()
    });
    table(std::iter::once(String::new()).chain(heads), rows)
}

fn conditions(record: &Record) -> String {
    let conditions = &record.conditions;
    let (source, host) = (&conditions.source, &conditions.host);
    let or_unknown = |text: &str| {
        if text.is_empty() {
            "not stated".to_owned()
        } else {
            escape(text)
        }
    };
    let stored = if conditions.stored_bytes_per_entry > 0.0 {
        format!("{:.1} bytes per entry", conditions.stored_bytes_per_entry)
    } else {
        "not known".to_owned()
    };
    let items = [
        (
            "Source",
            format!("{} {}", escape(&source.source), escape(&source.version)),
        ),
        ("Reached", or_unknown(&source.reached)),
        ("Storage", or_unknown(&source.storage)),
        ("Durability", escape(&conditions.durability)),
        (
            "Entry",
            format!("{:.1} bytes of key and value", conditions.entry_bytes),
        ),
        ("On disk at the end", stored),
        ("Block compression", or_unknown(&conditions.codec)),
        (
            "Memory budget",
            Unit::Bytes.show(source.memory_budget_bytes as f64),
        ),
        (
            "Largest table",
            format!(
                "{}, {} of the memory budget",
                Unit::Bytes.show(conditions.data_bytes as f64),
                short(conditions.data_to_memory)
            ),
        ),
        (
            "Writers",
            format!(
                "batches of {}, at most {} in flight each",
                Unit::Bytes.show(conditions.batch_bytes as f64),
                Unit::Bytes.show(conditions.buffer_bytes as f64)
            ),
        ),
        ("Inside the timer", escape(&conditions.timed)),
        ("State", escape(&conditions.state)),
        (
            "Machine",
            format!(
                "{} processors ({}, {}), {} of memory, Linux {}",
                host.processors,
                or_unknown(&host.processor_model),
                escape(&host.architecture),
                Unit::Bytes.show(host.memory_bytes as f64),
                or_unknown(&host.kernel)
            ),
        ),
        ("Busy with others meanwhile", others(record)),
        (
            "Run",
            format!(
                "scale {}, {} repetitions of each row, data deleted and made anew for each; lab {}",
                short(conditions.scale),
                conditions.repetitions,
                escape(&conditions.lab_version)
            ),
        ),
    ];
    let items: String = items
        .iter()
        .map(|(name, value)| format!("<dt>{name}</dt><dd>{value}</dd>"))
        .collect();
    format!("<dl>{items}</dl>")
}
