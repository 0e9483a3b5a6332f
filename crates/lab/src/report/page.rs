//! The page: the first screen, the contents, then a section for each experiment.

use std::path::{Path, PathBuf};

use ostrakon_cell::{Error, ErrorKind, Result};
use serde::Serialize;

use super::first::first_screen;
use super::records::{Records, read_records};
use super::runs;
use super::section::section;
use super::text::escape;
use crate::experiments::Record;

/// What was written.
#[derive(Debug, Clone, Default, Serialize)]
pub struct ReportSummary {
    /// The page.
    pub file: PathBuf,
    /// Records it shows.
    pub records: usize,
}

/// Settings of [`write_report`].
#[derive(Debug, Clone, Default)]
pub struct ReportOptions {
    /// The page. `None`, the default, is `report.html` in the directory of the records.
    pub file: Option<PathBuf>,
    /// A directory of earlier records: rates are shown with their change against them. Default: none.
    pub baseline: Option<PathBuf>,
}

const STYLE: &str = include_str!("style.css");

/// Writes the page for all records in `directory`: of experiments, the newest of each; of the continuous test, all.
///
/// # Errors
/// There is no record, a file is not a record (the error names it), or the page cannot be written.
pub fn write_report(directory: &Path, options: &ReportOptions) -> Result<ReportSummary> {
    let records = read_some(directory)?;
    let baseline = options.baseline.as_deref().map(read_some).transpose()?;
    let file = options
        .file
        .clone()
        .unwrap_or_else(|| directory.join("report.html"));
    let page = page(&records, &baseline.unwrap_or_default())?;
    std::fs::write(&file, page).map_err(|error| {
        Error::new(ErrorKind::Io, "the report cannot be written")
            .with("file", file.display())
            .with_source(error)
    })?;
    Ok(ReportSummary {
        file,
        records: records.len(),
    })
}

fn read_some(directory: &Path) -> Result<Records> {
    let records = read_records(directory)?;
    if records.len() == 0 {
        return Err(Error::not_found(
            "the directory has no record; `lab run NAME --out DIR` and `lab continuous … --record DIR` make one",
        )
        .with("directory", directory.display()));
    }
    Ok(records)
}

fn page(records: &Records, baseline: &Records) -> Result<String> {
    let mut sections = runs::section(&records.runs)?;
    for record in &records.experiments {
        let before = baseline
            .experiments
            .iter()
            .find(|one| one.experiment == record.experiment);
        sections += &section(record, &records.experiments, before)?;
    }
    Ok(format!(
        "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\
         <title>Ostrakon: measurements</title><style>{STYLE}</style></head><body>\
         {}{}\n{sections}</body></html>\n",
        first_screen(records),
        contents(records),
    ))
}

/// `Sen 2013` of `sen2013-table-1`; the name as it is if it has another form.
pub(super) fn paper_name(experiment: &str) -> String {
    let paper = experiment.split('-').next().unwrap_or(experiment);
    let year_at = paper.find(|character: char| character.is_ascii_digit());
    let Some((author, year)) = year_at.and_then(|at| paper.split_at_checked(at)) else {
        return experiment.to_owned();
    };
    let mut letters = author.chars();
    let first = letters.next().map(|letter| letter.to_ascii_uppercase());
    let author: String = first.into_iter().chain(letters).collect();
    format!("{author} {year}")
}

/// One list for each paper.
fn contents(records: &Records) -> String {
    let mut lists: Vec<(String, &str, String)> = Vec::new();
    for record in &records.experiments {
        let name = paper_name(&record.experiment);
        let item = link(record, &name);
        match lists.iter_mut().find(|(paper, ..)| *paper == name) {
            Some((.., items)) => items.push_str(&item),
            None => lists.push((name, &record.paper.citation, item)),
        }
    }
    let lists: String = lists
        .iter()
        .map(|(name, citation, items)| {
            format!(
                "<h3>{}</h3><p class=\"lead\">{}</p><ul>{items}</ul>",
                escape(name),
                escape(citation)
            )
        })
        .collect();
    let runs = match records.runs.is_empty() {
        true => "",
        false => {
            "<ul><li><a href=\"#continuous\">The continuous test on this machine</a></li></ul>"
        }
    };
    format!("<nav><h2>Contents</h2>{runs}{lists}</nav>")
}

fn link(record: &Record, paper: &str) -> String {
    format!(
        "<li><a href=\"#{}\">{}, {}</a>: {}</li>",
        escape(&record.experiment),
        escape(paper),
        escape(&record.paper.label),
        escape(&record.title)
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::experiments::RECORD_VERSION;

    #[test]
    fn contents_are_grouped_by_paper() {
        let record = |experiment: &str, label: &str| {
            let mut record = Record {
                experiment: experiment.to_owned(),
                ..Record::default()
            };
            label.clone_into(&mut record.paper.label);
            record
        };
        let records = Records {
            experiments: vec![
                record("sen2013-table-1", "Table I"),
                record("kepner2014-figure-6", "Figure 6"),
                record("sen2013-table-2", "Table II"),
            ],
            runs: Vec::new(),
        };
        let list = contents(&records);
        assert_eq!(list.matches("<h3>").count(), 2, "{list}");
        for expected in [
            "<h3>Sen 2013</h3>",
            ">Sen 2013, Table II</a>",
            ">Kepner 2014, Figure 6</a>",
        ] {
            assert!(list.contains(expected), "{list}");
        }
        assert!(list.find("Table II<") < list.find("Figure 6"), "{list}");
        assert_eq!(paper_name("other"), "other");
    }

    #[test]
    fn a_directory_without_records_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let error = write_report(folder.path(), &ReportOptions::default()).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::NotFound);
        let record = Record {
            record_version: RECORD_VERSION,
            experiment: "sen2013-table-1".to_owned(),
            ..Record::default()
        };
        let json = serde_json::to_vec(&record).unwrap();
        std::fs::write(folder.path().join("x.json"), json).unwrap();
        let empty = tempfile::tempdir().unwrap();
        let options = ReportOptions {
            baseline: Some(empty.path().to_path_buf()),
            ..ReportOptions::default()
        };
        assert!(write_report(folder.path(), &options).is_err());
        let made = write_report(folder.path(), &ReportOptions::default()).unwrap();
        assert_eq!(made.records, 1);
    }
}
