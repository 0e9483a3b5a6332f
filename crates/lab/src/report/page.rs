//! The page: reads the records, takes the newest of each experiment, puts the sections together.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use ostrakon_cell::{Error, ErrorKind, Result};
use serde::Serialize;

use super::section::section;
use super::text::escape;
use crate::experiments::{RECORD_VERSION, Record, experiments};

/// What was written.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReportSummary {
    /// The page.
    pub file: PathBuf,
    /// Records it shows.
    pub records: usize,
}

const STYLE: &str = include_str!("style.css");

/// Writes the page for all records in `directory` to `file`, or to `directory/report.html`. Of
/// several records of one experiment the newest is shown.
///
/// # Errors
/// There is no record, a file is not a record (the error names it), or the page cannot be written.
pub fn write_report(directory: &Path, file: Option<&Path>) -> Result<ReportSummary> {
    let records = newest(read_records(directory)?);
    if records.is_empty() {
        return Err(Error::not_found(
            "the directory has no record of an experiment; `lab run NAME --out DIR` makes one",
        )
        .with("directory", directory.display()));
    }
    let file = file.map_or_else(|| directory.join("report.html"), Path::to_path_buf);
    std::fs::write(&file, page(&records)?).map_err(|error| {
        Error::new(ErrorKind::Io, "the report cannot be written")
            .with("file", file.display())
            .with_source(error)
    })?;
    Ok(ReportSummary {
        file,
        records: records.len(),
    })
}

fn read_records(directory: &Path) -> Result<Vec<Record>> {
    let refuse = |error: std::io::Error| {
        Error::new(ErrorKind::Io, "the directory of records cannot be read")
            .with("directory", directory.display())
            .with_source(error)
    };
    let mut records = Vec::new();
    for item in std::fs::read_dir(directory).map_err(refuse)? {
        let file = item.map_err(refuse)?.path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let no_record = |message: &'static str| {
            Error::new(ErrorKind::InvalidArgument, message).with("file", file.display())
        };
        let text = std::fs::read(&file)
            .map_err(|error| no_record("the record cannot be read").with_source(error))?;
        let record: Record = serde_json::from_slice(&text).map_err(|error| {
            no_record("the file is not a record of an experiment: move it elsewhere")
                .with_source(error)
        })?;
        if record.record_version > RECORD_VERSION {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                "the record was written by a newer version: use that one for the report",
            )
            .with("file", file.display()));
        }
        records.push(record);
    }
    Ok(records)
}

/// The newest record of each experiment, in the order of the list; unknown ones at the end.
fn newest(records: Vec<Record>) -> Vec<Record> {
    let mut by_place: BTreeMap<(usize, String), Record> = BTreeMap::new();
    for record in records {
        let known = experiments();
        let place = known
            .iter()
            .position(|one| one.name == record.experiment)
            .unwrap_or(known.len());
        let place = (place, record.experiment.clone());
        match by_place.get(&place) {
            Some(other) if other.started_ms >= record.started_ms => {}
            _ => {
                by_place.insert(place, record);
            }
        }
    }
    by_place.into_values().collect()
}

fn page(records: &[Record]) -> Result<String> {
    let mut sections = String::new();
    let mut contents = String::new();
    for record in records {
        sections += &section(record)?;
        contents += &format!(
            "<li><a href=\"#{}\">{}</a>: {}</li>",
            escape(&record.experiment),
            escape(&record.paper.label),
            escape(&record.title)
        );
    }
    let mut papers: Vec<&str> = Vec::new();
    for record in records {
        if !papers.contains(&record.paper.citation.as_str()) {
            papers.push(&record.paper.citation);
        }
    }
    let citations: String = papers
        .iter()
        .map(|paper| format!("<p class=\"lead\">{}</p>", escape(paper)))
        .collect();
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Ostrakon: published experiments, rerun</title><style>{STYLE}</style></head><body>\
         <header><h1>Published experiments, rerun</h1>\
         {citations}\
         <p>A paper's rows are next to ours. A paper's numbers are of a cluster, ours of one \
         machine: compare shapes (what splitting costs, what a mix costs, how rates grow), not sizes. \
         Ours are means over repetitions with the standard deviation in percent; each repetition \
         begins with newly made data.</p></header>\
         <nav><h3>Contents</h3><ol>{contents}</ol></nav>\n{sections}</body></html>\n",
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(experiment: &str, started_ms: u64) -> Record {
        Record {
            record_version: RECORD_VERSION,
            experiment: experiment.to_owned(),
            started_ms,
            ..Record::default()
        }
    }

    #[test]
    fn the_newest_of_each_comes_in_the_order_of_the_list() {
        let records = newest(vec![
            record("sen2013-table-10", 5),
            record("other", 1),
            record("sen2013-table-2", 7),
            record("sen2013-table-10", 9),
            record("sen2013-table-10", 6),
        ]);
        let got: Vec<(&str, u64)> = records
            .iter()
            .map(|record| (record.experiment.as_str(), record.started_ms))
            .collect();
        assert_eq!(
            got,
            [
                ("sen2013-table-2", 7),
                ("sen2013-table-10", 9),
                ("other", 1)
            ]
        );
    }

    #[test]
    fn what_is_no_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_report(folder.path(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        std::fs::write(folder.path().join("x.json"), "[1]").unwrap();
        let error = write_report(folder.path(), None).unwrap_err();
        assert!(error.to_string().contains("x.json"), "{error}");
        let newer = Record {
            record_version: RECORD_VERSION + 1,
            ..Record::default()
        };
        let json = serde_json::to_vec(&newer).unwrap();
        std::fs::write(folder.path().join("x.json"), json).unwrap();
        let error = write_report(folder.path(), None).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NewerFormat);
    }
}
