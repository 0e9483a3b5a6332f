//! Reads the records in a directory.

use std::collections::BTreeMap;
use std::path::Path;

use ostrakon_cell::{Error, ErrorKind, Result};
use serde::de::DeserializeOwned;

use crate::continuous::{RUN_RECORD_VERSION, RunRecord};
use crate::experiments::{RECORD_VERSION, Record, experiments};

/// What a page is made of.
#[derive(Debug, Default)]
pub(super) struct Records {
    /// The newest record of each experiment, in the order of the list; unknown ones at the end.
    pub(super) experiments: Vec<Record>,
    /// Runs of the continuous test, the oldest first.
    pub(super) runs: Vec<RunRecord>,
}

impl Records {
    pub(super) fn len(&self) -> usize {
        self.experiments.len() + self.runs.len()
    }
}

pub(super) fn read_records(directory: &Path) -> Result<Records> {
    let refuse = |error: std::io::Error| {
        Error::new(ErrorKind::Io, "the directory of records cannot be read")
            .with("directory", directory.display())
            .with_source(error)
    };
    let (mut experiments, mut runs) = (Vec::new(), Vec::new());
    for item in std::fs::read_dir(directory).map_err(refuse)? {
        let file = item.map_err(refuse)?.path();
        if file.extension().is_none_or(|ending| ending != "json") {
            continue;
        }
        let text = std::fs::read(&file).map_err(|error| {
            Error::new(ErrorKind::Io, "the record cannot be read")
                .with("file", file.display())
                .with_source(error)
        })?;
        let value: serde_json::Value = parsed(serde_json::from_slice(&text), &file)?;
        let version = value["record_version"].as_u64().unwrap_or_default();
        let is_run = value.get("continuous").is_some();
        let known = if is_run {
            RUN_RECORD_VERSION
        } else {
            RECORD_VERSION
        };
        if version > u64::from(known) {
            return Err(Error::new(
                ErrorKind::NewerFormat,
                "the record was written by a newer version: use that one for the report",
            )
            .with("file", file.display()));
        }
        if is_run {
            runs.push(parsed(serde_json::from_value(value), &file)?);
        } else {
            experiments.push(parsed(serde_json::from_value(value), &file)?);
        }
    }
    runs.sort_by_key(|run: &RunRecord| run.ended_ms);
    Ok(Records {
        experiments: newest(experiments),
        runs,
    })
}

fn parsed<T: DeserializeOwned>(of: serde_json::Result<T>, file: &Path) -> Result<T> {
    of.map_err(|error| {
        Error::new(
            ErrorKind::InvalidArgument,
            "the file is not a record of the lab: move it elsewhere",
        )
        .with("file", file.display())
        .with_source(error)
    })
}

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
    fn a_file_that_is_not_a_record_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("x.json");
        for text in ["[1]", "{\"continuous\": 5}", "{"] {
            std::fs::write(&file, text).unwrap();
            let error = read_records(folder.path()).unwrap_err();
            assert!(error.to_string().contains("x.json"), "{error}");
        }
        for newer in [
            format!("{{\"record_version\": {}}}", RECORD_VERSION + 1),
            format!(
                "{{\"continuous\": \"walk\", \"record_version\": {}}}",
                RUN_RECORD_VERSION + 1
            ),
        ] {
            std::fs::write(&file, newer).unwrap();
            let error = read_records(folder.path()).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::NewerFormat);
        }
    }
}
