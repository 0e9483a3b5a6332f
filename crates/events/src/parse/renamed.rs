//! Fields under other names than in the file.

use super::{RecordSource, Step};
use crate::record::Record;
use crate::value::FieldType;

struct Renamed {
    source: Box<dyn RecordSource>,
    renamed: Vec<(String, String)>,
    names: Vec<String>,
}

/// The records of `source` with other names for some fields: pairs of the name in the file and the new one. Names that
/// the file does not have do nothing.
#[must_use]
pub fn rename_fields(
    source: Box<dyn RecordSource>,
    renamed: &[(String, String)],
) -> Box<dyn RecordSource> {
    if renamed.is_empty() {
        return source;
    }
    let mut renamed = Renamed {
        source,
        renamed: renamed.to_vec(),
        names: Vec::new(),
    };
    renamed.learn();
    Box::new(renamed)
}

impl Renamed {
    fn learn(&mut self) {
        for name in self.source.names().iter().skip(self.names.len()) {
            let found = self.renamed.iter().find(|(from, _)| from == name);
            let name = found.map_or(name, |(_, to)| to);
            self.names.push(name.clone());
        }
    }
}

impl RecordSource for Renamed {
    fn next(&mut self, record: &mut Record) -> ostrakon_cell::Result<Step> {
        let step = self.source.next(record)?;
        self.learn();
        Ok(step)
    }

    fn names(&self) -> &[String] {
        &self.names
    }

    fn kinds(&self) -> &[Option<FieldType>] {
        self.source.kinds()
    }

    fn line(&self) -> u64 {
        self.source.line()
    }

    fn text(&self) -> &[u8] {
        self.source.text()
    }

    fn position(&self) -> u64 {
        self.source.position()
    }

    fn start(&self) -> u64 {
        self.source.start()
    }

    fn head(&self) -> (usize, u64) {
        self.source.head()
    }

    fn is_unfinished(&self) -> bool {
        self.source.is_unfinished()
    }
}
