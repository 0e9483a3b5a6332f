//! What an experiment says in one sentence: how a rate changes here, beside how it changed in the paper.

mod hive;
mod requests;
mod rows;
mod storage;
#[cfg(test)]
mod tests;

use super::record::Record;
use rows::{Rows, percent};

/// The sentences about a record; `all` are the records of the same report.
#[must_use]
pub fn verdicts(record: &Record, all: &[Record]) -> Vec<String> {
    let found = sentences(record, all).unwrap_or_default();
    found.into_iter().flatten().collect()
}

/// The sentences of an experiment, `None` where a row they need was not measured. A name without sentences is that of an
/// experiment of another version: a test asks for those of every experiment.
fn sentences(record: &Record, all: &[Record]) -> Option<Vec<Option<String>>> {
    let rows = Rows(&record.rows);
    Some(match record.experiment.as_str() {
        "sen2013-table-1" => vec![
            rows.growth("1 client", "2 clients", "ingest.rate", "ingest"),
            rows.growth("1 client", "4 clients", "ingest.rate", "ingest"),
            rows.settled(),
            said("The paper: from 300 to 1000 nodes (3.4 times the servers) 2.9 times the rate."),
        ],
        "sen2013-table-2" => vec![rows.splitting()],
        "sen2013-table-3" | "sen2013-table-5" => vec![
            rows.growth("1 walker", "2 walkers", "query.rate", "query"),
            rows.little_memory("2 walkers"),
            against_pre_split(record, all, "sen2013-table-3"),
        ],
        "sen2013-table-4" | "sen2013-table-6" => vec![
            rows.batches(),
            rows.little_memory("2 batch walkers"),
            against_pre_split(record, all, "sen2013-table-4"),
        ],
        "sen2013-table-7" => vec![rows.mix(
            "The paper, against Tables I and III: ingest −38, −58 and −49 %, queries −90, −72 and −36 %.",
        )],
        "sen2013-table-8" => vec![rows.mix(
            "The paper, against Tables I and III: ingest −68 and −73 %, queries −59 and +18 %, with a third of the \
             ingest clients.",
        )],
        "sen2013-table-9" | "sen2013-table-10" => vec![rows.mix(
            "The paper has no walkers alone on a table that splits while they run; its query rates fell to 70 a second \
             or less, from 713 or more in Table V.",
        )],
        "sen2013-table-11" => vec![
            rows.labels("ingest.rate", "ingest", "; the paper +13.6 % and −14.6 %"),
            rows.labels("query.rate", "queries", ""),
            rows.labels("verify.rate", "verification", ""),
            rows.nothing_undefined(),
        ],
        "sen2013-table-12" => vec![
            rows.growth("1 thread", "2 threads", "verify.rate", "verification"),
            rows.change("2 threads", "2 threads, 16 MiB", "verify.rate", "16 MiB of memory for links"),
            rows.nothing_undefined(),
        ],
        "sen2013-figure-5" => vec![
            rows.growth("1 client", "2 clients", "ingest.rate", "ingest"),
            rows.growth("1 client", "2 clients", "query.rate", "query"),
            said("The paper: 3.4 times the servers, 2.9 times the ingest and 2.3 times the queries."),
        ],
        "sawyer2013-figure-4" => vec![
            rows.growth("1 client", "2 clients", "scan.rate", "scan"),
            rows.scan_limit(),
        ],
        "sawyer2013-figure-5" => vec![rows.handled(), rows.crossover(), rows.threshold()],
        "sawyer2013-figure-6" => vec![
            rows.best_speedup("all.speedup", "8 hours"),
            rows.best_speedup("hour.speedup", "1 hour"),
            said("The paper: for 8 hours the speed-up rises up to 5 clients."),
        ],
        "sawyer2013-figure-7" => vec![rows.lookups()],
        "fusionio2013-figure-3" => vec![
            rows.faster_storage("a.rate", "", "; the paper 10 times (48,000 against 4,759)"),
            rows.faster_storage("busy.rate", " while it compacts", ""),
        ],
        "fusionio2013-figure-4" => vec![rows.lower_latency()],
        "ivanov2014-table-14" => vec![
            rows.query_rates(),
            rows.slower_query("as 240 GB", "0.81 times (Table 17)"),
        ],
        "ivanov2014-table-15" => vec![rows.bytes_of_rows()],
        "ivanov2014-table-16" => vec![rows.growth_of_load()],
        "ivanov2014-table-17" => vec![
            rows.growth_of_time("aggregation", "+88.95 %"),
            rows.growth_of_time("join", "+78.05 %"),
            rows.slower_query("as 440 GB", "0.76 times"),
        ],
        "sawyer2013-planner" => vec![rows.windows("frequent"), rows.windows("rare"), rows.paths()],
        "kepner2014-figure-3" => vec![rows.expected_edges()],
        "kepner2014-figure-4" => vec![rows.degrees()],
        "kepner2014-figure-5" => vec![rows.run_of_writers()],
        "kepner2014-figure-6" => vec![
            rows.growth("1 writer × 32 tablets", "2 writers × 32 tablets", "ingest.rate", "ingest"),
            rows.growth("1 rank × 32 tablets", "2 ranks × 32 tablets", "ingest.rate", "import"),
            rows.each_writer(),
        ],
        "kepner2014-figure-7" => rows.maxima(record),
        "kepner2014-write-ahead-log" => vec![rows.log()],
        _ => return None,
    })
}

fn said(text: &str) -> Option<String> {
    Some(text.to_owned())
}

/// Rates on a table that split, against those of the same experiment on a pre-split one.
fn against_pre_split(record: &Record, all: &[Record], pre_split: &str) -> Option<String> {
    let other = all.iter().find(|one| one.experiment == pre_split)?;
    if other.experiment == record.experiment || other.conditions.scale != record.conditions.scale {
        return None;
    }
    let row = record.rows.iter().find(|row| row.name.starts_with("2 "))?;
    let (here, there) = (
        row.metrics.get("query.rate")?.mean,
        Rows(&other.rows).of(&row.name, "query.rate")?,
    );
    if there <= 0.0 {
        return None;
    }
    let paper = match pre_split {
        "sen2013-table-3" => "−23, −1 and −88 %",
        _ => "−15, −53 and −11 %",
    };
    Some(format!(
        "{} against {}: the paper {paper}, here {}.",
        row.name,
        other.paper.label,
        percent(here / there)
    ))
}
