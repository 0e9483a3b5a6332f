//! YCSB's properties: from files, from the command line, and the six core workloads.

use std::collections::BTreeMap;
use std::path::Path;
use std::str::FromStr;

use ostrakon_cell::{Error, ErrorKind, Result};

/// Properties by name. Later ones replace earlier ones.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct WorkloadProperties(BTreeMap<String, String>);

/// Every property that has an effect here.
const KNOWN: &[&str] = &[
    "core_workload_insertion_keep_going_on_error",
    "core_workload_insertion_retry_interval",
    "core_workload_insertion_retry_limit",
    "dataintegrity",
    "exponential.frac",
    "exponential.percentile",
    "fieldcount",
    "fieldlength",
    "fieldlengthdistribution",
    "fieldlengthhistogram",
    "fieldnameprefix",
    "hdrhistogram.percentiles",
    "hotspotdatafraction",
    "hotspotopnfraction",
    "insertcount",
    "insertorder",
    "insertproportion",
    "insertstart",
    "label",
    "maxexecutiontime",
    "maxscanlength",
    "measurement.interval",
    "measurement.raw.no_summary",
    "measurement.raw.output_file",
    "measurementtype",
    "minfieldlength",
    "minscanlength",
    "operationcount",
    "readallfields",
    "readallfieldsbyname",
    "readmodifywriteproportion",
    "readproportion",
    "recordcount",
    "requestdistribution",
    "scanlengthdistribution",
    "scanproportion",
    "status.interval",
    "table",
    "target",
    "threadcount",
    "timeseries.granularity",
    "updateproportion",
    "workload",
    "writeallfields",
    "zeropadding",
];

/// The core workloads: what differs from the defaults. `recordcount` and `operationcount` are placeholders of 1,000, as
/// in the files of YCSB.
const CORE: &[(&str, &[(&str, &str)])] = &[
    (
        "workloada",
        &[
            ("readproportion", "0.5"),
            ("updateproportion", "0.5"),
            ("requestdistribution", "zipfian"),
        ],
    ),
    (
        "workloadb",
        &[
            ("readproportion", "0.95"),
            ("updateproportion", "0.05"),
            ("requestdistribution", "zipfian"),
        ],
    ),
    (
        "workloadc",
        &[
            ("readproportion", "1"),
            ("updateproportion", "0"),
            ("requestdistribution", "zipfian"),
        ],
    ),
    (
        "workloadd",
        &[
            ("readproportion", "0.95"),
            ("updateproportion", "0"),
            ("insertproportion", "0.05"),
            ("requestdistribution", "latest"),
        ],
    ),
    (
        "workloade",
        &[
            ("readproportion", "0"),
            ("updateproportion", "0"),
            ("scanproportion", "0.95"),
            ("insertproportion", "0.05"),
            ("requestdistribution", "zipfian"),
            ("maxscanlength", "100"),
            ("scanlengthdistribution", "uniform"),
        ],
    ),
    (
        "workloadf",
        &[
            ("readproportion", "0.5"),
            ("updateproportion", "0"),
            ("readmodifywriteproportion", "0.5"),
            ("requestdistribution", "zipfian"),
        ],
    ),
];

impl WorkloadProperties {
    /// Adds a core workload, `workloada` to `workloadf` (also as the path of YCSB's file, if there is no such file), or
    /// a property file.
    ///
    /// # Errors
    /// Neither a core workload nor a readable file.
    pub fn add_workload(&mut self, name_or_file: &Path) -> Result<()> {
        let core = || {
            let name = name_or_file.file_name()?.to_str()?;
            CORE.iter().find(|one| one.0 == name)
        };
        match std::fs::read(name_or_file) {
            Ok(bytes) => self.add_text(&String::from_utf8_lossy(&bytes)),
            Err(error) => {
                let Some((_, properties)) = core() else {
                    return Err(Error::new(
                        ErrorKind::Io,
                        "neither a core workload (workloada to workloadf) nor a readable property file",
                    )
                    .with("workload", name_or_file.display())
                    .with_source(error));
                };
                self.set("recordcount", "1000");
                self.set("operationcount", "1000");
                for (name, value) in *properties {
                    self.set(name, value);
                }
            }
        }
        Ok(())
    }

    /// Adds the text of a property file of Java.
    pub fn add_text(&mut self, text: &str) {
        let mut lines = text.lines();
        while let Some(line) = lines.next() {
            let mut line = line.trim_start().to_owned();
            if line.is_empty() || line.starts_with(['#', '!']) {
                continue;
            }
            while continues(&line) {
                line.pop();
                match lines.next() {
                    Some(next) => line.push_str(next.trim_start()),
                    None => break,
                }
            }
            let (name, value) = split(&line);
            self.0.insert(name, value);
        }
    }

    /// Sets one property.
    pub fn set(&mut self, name: &str, value: &str) {
        self.0.insert(name.to_owned(), value.to_owned());
    }

    /// The value of a property, if it is set.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.get(name).map(|value| value.trim())
    }

    /// The value of a property, or its default.
    ///
    /// # Errors
    /// The value is malformed.
    pub fn parse<T: FromStr>(&self, name: &str, default: T) -> Result<T> {
        let Some(value) = self.get(name) else {
            return Ok(default);
        };
        value.parse().map_err(|_| {
            Error::invalid("a property of the workload has a malformed value")
                .with("property", name)
                .with("value", value)
        })
    }

    /// A property that is a number of at least 0.
    pub(super) fn count(&self, name: &str, default: i64) -> Result<i64> {
        let count = self.parse(name, default)?;
        if count >= 0 {
            return Ok(count);
        }
        Err(Error::invalid("a property of the workload is negative")
            .with("property", name)
            .with("value", count))
    }

    /// As [`count`](Self::count), and at most `most`.
    pub(super) fn count_to(&self, name: &str, default: i64, most: i64) -> Result<i64> {
        let count = self.count(name, default)?;
        if count <= most {
            return Ok(count);
        }
        Err(Error::invalid("a property of the workload is too large")
            .with("property", name)
            .with("value", count)
            .with("limit", most))
    }

    /// A property that is a finite number of at least 0.
    pub(super) fn amount(&self, name: &str, default: f64) -> Result<f64> {
        let amount: f64 = self.parse(name, default)?;
        if amount.is_finite() && amount >= 0.0 {
            return Ok(amount);
        }
        Err(
            Error::invalid("a property of the workload is negative, or not a finite number")
                .with("property", name)
                .with("value", amount),
        )
    }

    /// A property that is a number from 0 to 1.
    pub(super) fn share(&self, name: &str, default: f64) -> Result<f64> {
        let share: f64 = self.parse(name, default)?;
        if (0.0..=1.0).contains(&share) {
            return Ok(share);
        }
        Err(
            Error::invalid("a property of the workload is not a number from 0 to 1")
                .with("property", name)
                .with("value", share),
        )
    }

    /// Whether a property is `true`, in any case; everything else is false, as in YCSB.
    pub(super) fn flag(&self, name: &str) -> bool {
        self.get(name)
            .is_some_and(|value| value.eq_ignore_ascii_case("true"))
    }

    /// The properties that are set and have no effect here. Files written for YCSB contain properties of its bindings.
    pub fn unknown(&self) -> impl Iterator<Item = &str> {
        let names = self.0.keys().map(String::as_str);
        names.filter(|name| !KNOWN.contains(name))
    }

    /// The properties that have an effect.
    pub fn known() -> impl Iterator<Item = &'static str> {
        KNOWN.iter().copied()
    }
}

/// Whether a line ends with an odd number of backslashes.
fn continues(line: &str) -> bool {
    (line.len() - line.trim_end_matches('\\').len()) % 2 == 1
}

/// Splits at the first `=`, `:` or white space that no backslash precedes, and removes backslashes.
fn split(line: &str) -> (String, String) {
    let (mut name, mut rest) = (String::new(), line.chars());
    let mut separated = false;
    while let Some(next) = rest.next() {
        match next {
            '\\' => name.extend(rest.next()),
            '=' | ':' => {
                separated = true;
                break;
            }
            space if space.is_whitespace() => break,
            other => name.push(other),
        }
    }
    let mut rest = rest.as_str().trim_start();
    if !separated {
        rest = rest.strip_prefix(['=', ':']).unwrap_or(rest).trim_start();
    }
    let (mut value, mut rest) = (String::new(), rest.chars());
    while let Some(next) = rest.next() {
        match next {
            '\\' => value.extend(rest.next().map(|escaped| match escaped {
                't' => '\t',
                'n' => '\n',
                'r' => '\r',
                other => other,
            })),
            other => value.push(other),
        }
    }
    (name, value)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn property_files_are_read_as_java_reads_them() {
        let mut properties = WorkloadProperties::default();
        properties.add_text(
            "# a comment\n! another\n\nrecordcount = 1000\noperationcount:20\n  fieldcount 3 \n\
             table=user\\\n   table\nlabel=a\\:b\\\\\n",
        );
        for (name, value) in [
            ("recordcount", "1000"),
            ("operationcount", "20"),
            ("fieldcount", "3"),
            ("table", "usertable"),
            ("label", "a:b\\"),
        ] {
            assert_eq!(properties.get(name), Some(value), "{name}");
        }
        assert_eq!(properties.parse("recordcount", 0).unwrap(), 1000);
        let error = properties.parse::<i64>("table", 0).unwrap_err().to_string();
        assert!(
            error.contains("table") && error.contains("usertable"),
            "{error}"
        );
    }

    #[test]
    fn core_workloads_are_built_in_and_later_properties_win() {
        let mut properties = WorkloadProperties::default();
        properties
            .add_workload(Path::new("workloads/workloade"))
            .unwrap();
        properties.set("recordcount", "5");
        assert_eq!(properties.get("scanproportion"), Some("0.95"));
        assert_eq!(properties.get("recordcount"), Some("5"));
        assert_eq!(properties.unknown().next(), None);
        assert!(properties.add_workload(Path::new("workloadx")).is_err());
        properties.set("recordcont", "5");
        assert_eq!(properties.unknown().collect::<Vec<_>>(), ["recordcont"]);
    }
}
