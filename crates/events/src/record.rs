//! A record as it was read: names by number, and bytes.

/// The fields of one record. Reused from record to record.
#[derive(Debug, Clone, Default)]
pub struct Record {
    bytes: Vec<u8>,
    /// The number of the name, and where the value ends.
    fields: Vec<(u32, usize)>,
    /// The line that it was read from; 0 if that is not known.
    line: u64,
}

impl Record {
    /// Empties the record and keeps its memory.
    pub fn clear(&mut self) {
        self.bytes.clear();
        self.fields.clear();
    }

    /// Sets the line that it was read from, for messages.
    #[must_use]
    pub fn at_line(mut self, line: u64) -> Self {
        self.line = line;
        self
    }

    pub(crate) fn line(&self) -> u64 {
        self.line
    }

    /// Appends a field; `name` is its position in [`RecordSource::names`](crate::RecordSource::names).
    pub fn push(&mut self, name: u32, value: &[u8]) {
        self.bytes.extend_from_slice(value);
        self.fields.push((name, self.bytes.len()));
    }

    /// The fields in the order in which they were added.
    pub fn fields(&self) -> impl Iterator<Item = (u32, &[u8])> {
        let mut start = 0;
        self.fields.iter().map(move |&(name, end)| {
            let value = self.bytes.get(start..end).unwrap_or_default();
            start = end;
            (name, value)
        })
    }

    /// The value of a field.
    #[must_use]
    pub fn get(&self, name: u32) -> Option<&[u8]> {
        self.fields()
            .find(|field| field.0 == name)
            .map(|field| field.1)
    }

    /// Whether there is no field.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.fields.is_empty()
    }
}
