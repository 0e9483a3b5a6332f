//! Files that are read by a call, as in `FROM read_csv('visits.txt', header = false)`: what the call says is part of the
//! name by which the catalog opens the file.

use serde::{Deserialize, Serialize};

/// Ends the path in such a name. No path has this character.
const END: char = '\0';

/// A file and how it is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Called {
    /// The path, or a pattern of paths.
    pub(crate) path: String,
    pub(crate) content: CalledContent,
}

/// What the files of a call have in them, whatever their names end in.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) enum CalledContent {
    Parquet,
    Json,
    Csv(CsvOptions),
}

/// How delimited text is read.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct CsvOptions {
    /// Whether the first line has no record. Default: it has the names of the columns.
    pub(crate) header: Option<bool>,
    /// What is between two fields. Default: what the first line has.
    pub(crate) delimiter: Option<u8>,
    /// A text that stands for NULL, beside the empty one.
    pub(crate) null: Option<String>,
    /// Names in the order of the file, in place of those in its first line.
    pub(crate) names: Option<Vec<String>>,
    /// Types in the order of the names, as [`ColumnType::as_str`](crate::ColumnType::as_str) has them. Default: those
    /// that the first records have.
    pub(crate) types: Option<Vec<String>>,
    /// Whether all columns are text.
    pub(crate) all_text: bool,
}

impl Called {
    /// The name for the catalog.
    pub(crate) fn name(&self) -> String {
        // Texts, numbers and truth values can always be written as JSON.
        let content = serde_json::to_string(&self.content).unwrap_or_default();
        format!("{}{END}{content}", self.path)
    }

    /// The call with this name; `None` for the name of a table or a file.
    pub(crate) fn of_name(name: &str) -> Option<Self> {
        let (path, content) = name.split_once(END)?;
        Some(Self {
            path: path.to_owned(),
            content: serde_json::from_str(content).ok()?,
        })
    }

    /// Whether a name is that of a call.
    pub(crate) fn is_name(name: &str) -> bool {
        name.contains(END)
    }
}

impl CsvOptions {
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
        let call = Called {
            path: "a.csv".to_owned(),
            content: CalledContent::Csv(CsvOptions {
                header: Some(false),
                delimiter: Some(b'|'),
                null: Some("N\"A".to_owned()),
                names: Some(vec!["ä".to_owned()]),
                types: Some(vec!["int".to_owned()]),
                all_text: true,
            }),
        };
        assert_eq!(Called::of_name(&call.name()), Some(call));
        assert_eq!(Called::of_name("a.csv"), None);
    }
}
