//! Fields of records as columns of text, as they are read from a file.

/// The values of one field: item `i` is of record `records[i]`.
#[derive(Default)]
pub(super) struct Gathered {
    pub(super) name: String,
    pub(super) bytes: Vec<u8>,
    /// Where the texts begin, and one for the end.
    pub(super) offsets: Vec<i64>,
    pub(super) records: Vec<u32>,
}

impl Gathered {
    pub(super) fn new(name: &str) -> Self {
        Self {
            name: name.to_owned(),
            offsets: vec![0],
            ..Self::default()
        }
    }

    /// Adds a value. An empty one is a value that the record does not have.
    pub(super) fn push(&mut self, record: u32, value: &str) {
        if value.is_empty() {
            return;
        }
        self.bytes.extend_from_slice(value.as_bytes());
        self.offsets.push(self.bytes.len() as i64);
        self.records.push(record);
    }
}

/// Some records of a file.
#[derive(Default)]
pub(super) struct Batch {
    pub(super) count: u32,
    pub(super) fields: Vec<Gathered>,
    /// Bytes of all values.
    pub(super) bytes: usize,
    /// The lines as they came, and where they begin.
    pub(super) lines: Option<(Vec<u8>, Vec<i64>)>,
}
