//! Parsers of single arguments: bytes with escapes, columns, properties, iterators, sizes.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{
    PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use clap_complete::engine::{ArgValueCandidates, CompletionCandidate};
use ostrakon_cell::{
    Authorizations, Column, Durability, IteratorSetting, TimeType, VisibilityExpression,
};
use ostrakon_lab::experiments::experiments;

use crate::output::{unescape, unescape_label};

/// Why an argument is rejected; clap shows it after the argument's name.
type Refusal = String;

/// An argument that stands for bytes.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Bytes(pub(crate) Vec<u8>);

impl FromStr for Bytes {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match unescape(text.as_bytes()) {
            Ok(bytes) => Ok(Self(bytes.into_owned())),
            Err(error) => Err(error.to_string()),
        }
    }
}

/// The most bytes of a table's name.
const MAX_TABLE_NAME_BYTES: usize = 1024;

/// The name of a new table; the store checks its characters.
pub(crate) fn new_table(text: &str) -> Result<String, Refusal> {
    short_name(text, MAX_TABLE_NAME_BYTES)
}

/// The name of a new namespace; the store checks its characters.
pub(crate) fn new_namespace(text: &str) -> Result<String, Refusal> {
    short_name(text, MAX_TABLE_NAME_BYTES / 2)
}

fn short_name(text: &str, most: usize) -> Result<String, Refusal> {
    match text.len() <= most {
        true => Ok(text.to_owned()),
        false => Err(format!(
            "the name has {} bytes, and at most {most} are allowed",
            text.len()
        )),
    }
}

/// One byte: itself, `\xNN`, or `\t` for a tab. A single backslash is a backslash.
pub(crate) fn byte(text: &str) -> Result<u8, Refusal> {
    match text {
        "\\" => return Ok(b'\\'),
        "\\t" => return Ok(b'\t'),
        _ => {}
    }
    match text.parse::<Bytes>()?.0.as_slice() {
        &[byte] => Ok(byte),
        _ => Err("expected one byte; a tab is \\t or \\x09".into()),
    }
}

/// A length of time in seconds, with or without a fraction.
pub(crate) fn duration(text: &str) -> Result<Duration, Refusal> {
    let seconds: Option<f64> = text.parse().ok();
    let duration = seconds.and_then(|seconds| Duration::try_from_secs_f64(seconds).ok());
    match duration {
        Some(duration) if !duration.is_zero() => Ok(duration),
        _ => Err("expected a number of seconds greater than 0".into()),
    }
}

/// `NAME=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) value: String,
}

impl FromStr for Property {
    type Err = Refusal;

    fn from_str(text: &str) -> Result<Self, Refusal> {
        match text.split_once('=') {
            Some((name, value)) if !name.is_empty() => Ok(Self {
                name: name.to_owned(),
                value: value.to_owned(),
            }),
            _ => Err("a property is written NAME=VALUE, such as table.split.threshold=64M".into()),
        }
    }
}

/// A property of a workload.
pub(crate) fn workload_property(text: &str) -> Result<Property, Refusal> {
    let wrong = "write -p NAME=VALUE, such as -p recordcount=1000; a file of properties is given with -P FILE";
    text.parse().map_err(|_| wrong.into())
}

/// `FAMILY` or `FAMILY:QUALIFIER`; a colon inside a name is written `\x3a`.
pub(crate) fn column(text: &str) -> Result<Column, Refusal> {
    let (family, qualifier) = match text.split_once(':') {
        Some((family, qualifier)) => (family, Some(qualifier.parse::<Bytes>()?)),
        None => (text, None),
    };
    Ok(Column {
        family: family.parse::<Bytes>()?.0,
        qualifier: qualifier.map(|bytes| bytes.0),
    })
}

/// A family. A colon is not accepted, because `FAMILY:QUALIFIER` would be read as a family that no entry has.
pub(crate) fn family(text: &str) -> Result<Bytes, Refusal> {
    if text.contains(':') {
        return Err(
            "write the family and the qualifier as two arguments, or --column FAMILY:QUALIFIER; a colon inside a family \
             is written \\x3a"
                .into(),
        );
    }
    text.parse()
}

/// A valid visibility expression.
pub(crate) fn label(text: &str) -> Result<VisibilityExpression, Refusal> {
    let label = unescape_label(text.as_bytes());
    VisibilityExpression::parse(&label).map_err(|error| error.to_string())
}

/// Comma-separated authorizations. A character that a label has only in quotes is written `\xNN`, so that an
/// expression or a quoted name is not taken for a strange name, which no label requires.
pub(crate) fn authorizations(text: &str) -> Result<Authorizations, Refusal> {
    if text.trim().is_empty() {
        return Ok(Authorizations::empty());
    }
    let mut names = Vec::new();
    for name in text.split(',').map(str::trim) {
        let odd = |c: &char| c.is_ascii() && !c.is_ascii_alphanumeric() && !"_-.:/\\".contains(*c);
        match name.chars().find(odd) {
            None => names.push(name.parse::<Bytes>()?.0),
            Some('"' | '\'') => {
                return Err(
                    "write names without quotes, even if a label has them in quotes".into(),
                );
            }
            Some('|' | '&' | '(' | ')') => {
                return Err(
                    "authorizations are names separated by commas, such as hr,self; \
                            expressions with | and & are labels"
                        .into(),
                );
            }
            Some(odd) => {
                return Err(format!(
                    "names are separated by commas; inside a name `{odd}` is written \\x{:02x}",
                    odd as u32
                ));
            }
        }
    }
    Authorizations::new(names).map_err(|_| "there is no name before or after a comma".into())
}

/// `PRIORITY,CLASS[,OPTION=VALUE…]`; a comma inside a value is written `\x2c`.
pub(crate) fn iterator(text: &str) -> Result<IteratorSetting, Refusal> {
    const FORM: &str = "an iterator is written PRIORITY,CLASS[,OPTION=VALUE…], such as \
                        30,RegExFilter,rowRegex=a.*";
    let mut parts = text.split(',');
    let priority = parts
        .next()
        .and_then(|part| part.trim().parse::<u32>().ok());
    let class = parts
        .next()
        .map(str::trim)
        .filter(|class| !class.is_empty());
    let (Some(priority), Some(class)) = (priority.filter(|priority| *priority > 0), class) else {
        return Err(FORM.into());
    };
    // The name must be unique in the stack; the priority is.
    let mut setting = IteratorSetting::new(priority, format!("iterator{priority}"), class);
    for part in parts {
        let (name, value) = part.split_once('=').ok_or_else(|| {
            format!("`{part}` is not an option NAME=VALUE; write a comma in a value as \\x2c")
        })?;
        // Options are text; only commas need the escape, and a pattern keeps its backslashes.
        setting = setting.with(name, value.replace("\\x2c", ","));
    }
    Ok(setting)
}

/// A number of bytes with an optional unit of 1024: `65536`, `512M`, `2GiB`.
pub(crate) fn size(text: &str) -> Result<u64, Refusal> {
    let digits = text
        .find(|c: char| !c.is_ascii_digit())
        .unwrap_or(text.len());
    let (number, unit) = text.split_at(digits);
    let shift = match unit.trim_start().to_ascii_lowercase().as_str() {
        "" | "b" => 0,
        "k" | "kb" | "kib" => 10,
        "m" | "mb" | "mib" => 20,
        "g" | "gb" | "gib" => 30,
        "t" | "tb" | "tib" => 40,
        _ => return Err("a size is a number and a unit of 1024, such as 65536, 512M or 2G".into()),
    };
    number
        .parse::<u64>()
        .ok()
        .and_then(|number| number.checked_mul(1 << shift))
        .ok_or_else(|| "a size is a number and a unit of 1024, such as 65536, 512M or 2G".into())
}

/// The least memory that a store is opened with here; the largest value must fit.
const LEAST_MEMORY: u64 = 16 << 20;

/// The memory of a store.
pub(crate) fn memory(text: &str) -> Result<u64, Refusal> {
    match size(text)? {
        bytes if bytes < LEAST_MEMORY => Err("a store needs at least 16M".into()),
        bytes => Ok(bytes),
    }
}

/// A number of entries with an optional unit of 1000: `1000`, `20M`, `1B`.
pub(crate) fn count(text: &str) -> Result<u64, Refusal> {
    let plain = text.replace(['_', ','], "");
    let (number, factor) = match plain.as_bytes().last() {
        Some(b'k' | b'K') => (plain.get(..plain.len() - 1), 1_000),
        Some(b'm' | b'M') => (plain.get(..plain.len() - 1), 1_000_000),
        Some(b'b' | b'B' | b'g' | b'G') => (plain.get(..plain.len() - 1), 1_000_000_000),
        _ => (Some(plain.as_str()), 1),
    };
    number
        .and_then(|number| number.parse::<u64>().ok())
        .and_then(|number| number.checked_mul(factor))
        .ok_or_else(|| "a count is an integer, such as 1000, 20M or 1B".into())
}

/// A timestamp: milliseconds since 1970 in most tables, any number in those with logical time.
pub(crate) fn timestamp(text: &str) -> Result<i64, Refusal> {
    text.parse()
        .map_err(|_| "a timestamp is an integer, usually milliseconds since 1970".into())
}

/// A time in seconds, at least 0.
pub(crate) fn seconds(text: &str) -> Result<f64, Refusal> {
    match text.parse::<f64>() {
        Ok(seconds) if seconds.is_finite() && seconds >= 0.0 => Ok(seconds),
        _ => Err("a time is a number of seconds, such as 10 or 0.5".into()),
    }
}

/// A number of which 0 makes no sense.
pub(crate) fn at_least_one(text: &str) -> Result<usize, Refusal> {
    let given = text.parse().ok().filter(|number| *number > 0);
    given.ok_or_else(|| format!("`{text}` is not a number, 1 or more"))
}

/// How long to wait, in seconds.
pub(crate) fn wait(text: &str) -> Result<Duration, Refusal> {
    let given = text.parse::<f64>().ok();
    given
        .and_then(|seconds| Duration::try_from_secs_f64(seconds).ok())
        .ok_or_else(|| format!("`{text}` is not a number of seconds, 0 or more"))
}

/// How long a command may take.
#[derive(Debug, Clone, Copy, Default, clap::Args)]
pub(crate) struct Timeout {
    /// Fail if the command takes longer than this [default: no limit]
    #[arg(long, value_name = "SECONDS", value_parser = duration)]
    pub(crate) timeout: Option<Duration>,
}

/// Lets the shell complete the names of the tables of the store that the command line names.
pub(crate) fn table_names() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        crate::commands::table_names()
            .into_iter()
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// Lets the shell complete the names of the event types of the store that the command line names.
pub(crate) fn event_types() -> ArgValueCandidates {
    ArgValueCandidates::new(|| {
        crate::commands::event_types()
            .into_iter()
            .map(CompletionCandidate::new)
            .collect()
    })
}

/// Parser of the durability levels, which also lists them in help and completions.
pub(crate) fn durability() -> impl TypedValueParser<Value = Durability> {
    PossibleValuesParser::new(["none", "log", "flush", "sync"])
        .try_map(|text| text.parse::<Durability>())
}

/// Parser of files that are not written to stdout.
pub(crate) fn named_file() -> impl TypedValueParser<Value = PathBuf> {
    PathBufValueParser::new().try_map(|path| match path == Path::new("-") {
        true => Err("stdout is not supported here; write ./- for a file of this name"),
        false => Ok(path),
    })
}

/// Parser of the time types.
pub(crate) fn time_type() -> impl TypedValueParser<Value = TimeType> {
    PossibleValuesParser::new(["millis", "logical"]).try_map(|text| text.parse::<TimeType>())
}

/// Accepts any text; help and completions list the experiments. An unknown name is rejected later,
/// by code that can suggest the nearest one.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ExperimentNames;

impl TypedValueParser for ExperimentNames {
    type Value = String;

    fn parse_ref(
        &self,
        command: &clap::Command,
        argument: Option<&clap::Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let experiments = experiments()
            .iter()
            .map(|one| PossibleValue::new(one.name).help(one.description));
        let all = PossibleValue::new("all").help("every experiment, one after the other");
        Some(Box::new(experiments.chain([all])))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_take_escapes_on_both_sides_of_the_colon() {
        assert_eq!(column("edge"), Ok(Column::family("edge")));
        assert_eq!(column("a\\x3ab:\\xff"), Ok(Column::new("a:b", b"\xff")));
        assert_eq!(column("f:"), Ok(Column::new("f", "")));
        assert!(column("f:\\q").is_err());
    }

    #[test]
    fn authorizations_are_names_and_no_expressions() {
        let parsed = authorizations("hr, self,Ü,a\\x20b,x:y/z").expect("names");
        for name in ["hr", "self", "Ü", "a b", "x:y/z"] {
            assert!(parsed.contains(name.as_bytes()), "{name}");
        }
        assert_eq!(authorizations(" "), Ok(Authorizations::empty()));
        for (bad, reason) in [
            ("\"Ü\"", "without quotes"),
            ("hr it", "\\x20"),
            ("hr|self", "labels"),
            ("hr,(self)", "labels"),
            ("a\\q", "position 2"),
            ("a,,b", "comma"),
            ("a,", "comma"),
        ] {
            let refused = authorizations(bad).expect_err(bad);
            assert!(refused.contains(reason), "{bad}: {refused}");
        }
    }

    #[test]
    fn a_store_needs_some_memory() {
        assert_eq!(memory("16M"), Ok(16 << 20));
        assert!(memory("1").is_err() && memory("1K").is_err());
    }

    #[test]
    fn iterators_carry_their_options() {
        let setting = iterator("30,RegExFilter,rowRegex=a\\.b\\x2cc=d").expect("valid");
        assert_eq!(
            (setting.priority, setting.class.as_str()),
            (30, "RegExFilter")
        );
        assert_eq!(
            setting.options.get("rowRegex").map(String::as_str),
            Some("a\\.b,c=d")
        );
        for bad in ["RegExFilter", "0,X", "30", "30,", "30,X,option"] {
            assert!(iterator(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn a_byte_is_written_in_several_ways() {
        for (text, expected) in [(";", b';'), ("\\", b'\\'), ("\\\\", b'\\'), ("\\t", b'\t')] {
            assert_eq!(byte(text), Ok(expected), "{text}");
        }
        assert_eq!(byte("\\x1f"), Ok(0x1f));
        for bad in ["", ";;", "ü", "\\n", "\\x1"] {
            assert!(byte(bad).is_err(), "{bad}");
        }
    }

    #[test]
    fn sizes_and_counts_have_units() {
        assert_eq!(size("512M"), Ok(512 << 20));
        assert_eq!(size("2 GiB"), Ok(2 << 30));
        assert_eq!(count("20M"), Ok(20_000_000));
        assert_eq!(count("1_000"), Ok(1000));
        assert_eq!(seconds("0.5"), Ok(0.5));
        for bad in ["", "-1", "inf", "NaN", "1s"] {
            assert!(seconds(bad).is_err(), "{bad}");
        }
        for bad in ["", "M", "-1", "1.5G", "99999999999T", "ä"] {
            assert!(size(bad).is_err() && count(bad).is_err(), "{bad}");
        }
    }
}
