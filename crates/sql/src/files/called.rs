//! Files that are read by a call, as in `FROM read_csv('visits.txt', header = false)`. The catalog opens them by a name that
//! says all of the call: `read_csv("visits.txt",{"header":false})`.

use serde::{Deserialize, Serialize};

/// The functions, as they stand in such names.
const CSV: &str = "read_csv";
const JSON: &str = "read_json";
const PARQUET: &str = "read_parquet";

/// A file and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    /// The path, or a pattern of paths.
    pub(crate) path: String,
    pub(crate) content: CalledContent,
}

/// What the files of a call have in them, whatever their names end in.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum CalledContent {
    Parquet,
    Json,
    Csv(CsvOptions),
}

/// How delimited text is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub(crate) struct CsvOptions {
    /// Whether the first line has the names of the columns, which is the default, or a record.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) header: Option<bool>,
    /// What is between two fields. Default: what the first line has.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) delimiter: Option<u8>,
    /// A text that stands for NULL, beside the empty one.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) null: Option<String>,
    /// Names in the order of the file, in place of those in its first line.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) names: Option<Vec<String>>,
    /// Types in the order of the names, as [`ColumnType::as_str`](crate::ColumnType::as_str) has them. Default: those
    /// that the first records have.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(crate) types: Option<Vec<String>>,
    /// Whether all columns are text.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub(crate) all_text: bool,
}

impl Called {
    /// The name for the catalog.
    pub(crate) fn name(&self) -> String {
        // Texts, numbers and truth values can always be written as JSON.
        let path = serde_json::to_string(&self.path).unwrap_or_default();
        match &self.content {
            CalledContent::Csv(options) => {
                let options = serde_json::to_string(options).unwrap_or_default();
                format!("{CSV}({path},{options})")
            }
            CalledContent::Json => format!("{JSON}({path})"),
            CalledContent::Parquet => format!("{PARQUET}({path})"),
        }
    }

    /// The call with this name; `None` for the name of a table or a file.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (function, inside) = name.strip_suffix(')')?.split_once('(')?;
        let (path, content) = match function {
            CSV => {
                let (path, options): (_, CsvOptions) =
                    serde_json::from_str(&format!("[{inside}]")).ok()?;
                (path, CalledContent::Csv(options.valid()?))
            }
            JSON => (serde_json::from_str(inside).ok()?, CalledContent::Json),
            PARQUET => (serde_json::from_str(inside).ok()?, CalledContent::Parquet),
            _ => return None,
        };
        Some(Self { path, content })
    }
}

/// The most bytes of a text that stands for NULL.
pub(crate) const NULL_BYTES: usize = 1000;

/// Whether a byte can stand between fields.
pub(crate) fn is_delimiter(byte: u8) -> bool {
    byte.is_ascii() && !matches!(byte, b'"' | b'\n' | b'\r' | 0)
}

impl CsvOptions {
    /// The options, unless someone wrote a name of a call with others than a call can have.
    fn valid(self) -> Option<Self> {
        let has_types = self.types.as_ref().is_none_or(|types| {
            let names = self.names.as_ref().map(Vec::len);
            names == Some(types.len()) && !types.is_empty() && !self.all_text
        });
        let is_valid = has_types
            && self.delimiter.is_none_or(is_delimiter)
            && self
                .null
                .as_ref()
                .is_none_or(|null| null.len() <= NULL_BYTES)
            && (self.names.is_none() || self.header.is_some());
        is_valid.then_some(self)
    }

    /// Whether the first line has no record.
    pub(crate) fn has_header(&self) -> bool {
        self.header != Some(false)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_name_has_all_of_a_call() {
        let csv = |options| CalledContent::Csv(options);
        let all = CsvOptions {
            header: Some(false),
            delimiter: Some(b'|'),
            null: Some("N\"A".to_owned()),
            names: Some(vec!["ä".to_owned()]),
            types: Some(vec!["int".to_owned()]),
            all_text: false,
        };
        for (content, name) in [
            (csv(CsvOptions::default()), "read_csv(\"a (1).csv\",{})"),
            (CalledContent::Json, "read_json(\"a (1).csv\")"),
            (CalledContent::Parquet, "read_parquet(\"a (1).csv\")"),
            (csv(all), ""),
        ] {
            let path = "a (1).csv".to_owned();
            let call = Called { path, content };
            assert!(name.is_empty() || call.name() == name, "{}", call.name());
            assert_eq!(Called::of_name(&call.name()), Some(call));
        }
        for name in [
            "a.csv",
            "read_csv",
            "read_csv(a.csv)",
            "other(\"a.csv\")",
            "read_csv(\"a.csv\",{\"delimiter\":10})",
            "read_csv(\"a.csv\",{\"header\":true,\"names\":[\"a\"],\"types\":[]})",
        ] {
            assert_eq!(Called::of_name(name), None);
        }
    }
}
