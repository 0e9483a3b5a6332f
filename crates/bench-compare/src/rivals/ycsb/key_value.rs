//! Engines of keys and values: a record is one value.

use ostrakon_cell::Result;
use ostrakon_lab::ycsb::{Database, FieldValues, Fields, Records, Status};

use super::BATCH_RECORDS;

/// What a record needs of an engine.
pub(super) trait KeyValue {
    /// Passes the value of a key to `visit`; whether there is one.
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool>;

    /// Passes the values from a key on to `visit`, until it returns false.
    fn from(&self, start: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()>;

    /// Writes records with one sync.
    fn write(&self, records: &[(Vec<u8>, Vec<u8>)]) -> Result<()>;
}

impl<T: KeyValue + ?Sized> KeyValue for &T {
    fn get(&self, key: &[u8], visit: &mut dyn FnMut(&[u8])) -> Result<bool> {
        (**self).get(key, visit)
    }

    fn from(&self, start: &[u8], visit: &mut dyn FnMut(&[u8]) -> bool) -> Result<()> {
        (**self).from(start, visit)
    }

    fn write(&self, records: &[(Vec<u8>, Vec<u8>)]) -> Result<()> {
        (**self).write(records)
    }
}

/// A client thread. Inserts wait for a full batch; updates are written at once.
pub(super) struct RecordClient<E> {
    engine: E,
    batch: Vec<(Vec<u8>, Vec<u8>)>,
}

impl<E: KeyValue> RecordClient<E> {
    pub(super) fn new(engine: E) -> Self {
        Self {
            engine,
            batch: Vec::with_capacity(BATCH_RECORDS),
        }
    }
}

/// Appends a field: the lengths of its name and of its value, then both.
fn encode(record: &mut Vec<u8>, name: &[u8], value: &[u8]) {
    for part in [name, value] {
        record.extend_from_slice(&(part.len() as u32).to_le_bytes());
    }
    record.extend_from_slice(name);
    record.extend_from_slice(value);
}

/// The fields of a record; ends at the first that is damaged.
fn decode(mut record: &[u8]) -> impl Iterator<Item = (&[u8], &[u8])> {
    std::iter::from_fn(move || {
        let (name, rest) = record.split_first_chunk()?;
        let (value, rest) = rest.split_first_chunk()?;
        let (name, rest) = rest.split_at_checked(u32::from_le_bytes(*name) as usize)?;
        let (value, rest) = rest.split_at_checked(u32::from_le_bytes(*value) as usize)?;
        record = rest;
        Some((name, value))
    })
}

fn add(record: &[u8], fields: Fields<'_>, found: &mut Records) {
    found.begin();
    for (name, value) in decode(record) {
        let wanted = match fields {
            Fields::All => true,
            Fields::Named(names) => names.iter().any(|one| one.as_bytes() == name),
        };
        if wanted {
            found.field(name, value);
        }
    }
}

impl<E: KeyValue> Database for RecordClient<E> {
    fn insert(&mut self, key: &[u8], values: &FieldValues) -> Result<Status> {
        let mut record = Vec::with_capacity(values.byte_len() + values.len() * 8);
        for (name, value) in values.iter() {
            encode(&mut record, name, value);
        }
        self.batch.push((key.to_vec(), record));
        if self.batch.len() >= BATCH_RECORDS {
            self.cleanup()?;
        }
        Ok(Status::BatchedOk)
    }

    fn update(&mut self, key: &[u8], values: &FieldValues) -> Result<Status> {
        let mut record = Vec::new();
        let there = self.engine.get(key, &mut |old| {
            for (name, value) in decode(old) {
                let new = values.iter().find(|one| one.0 == name);
                encode(&mut record, name, new.map_or(value, |one| one.1));
            }
        })?;
        if !there {
            return Ok(Status::NotFound);
        }
        self.engine.write(&[(key.to_vec(), record)])?;
        Ok(Status::Ok)
    }

    fn read(&mut self, key: &[u8], fields: Fields<'_>, found: &mut Records) -> Result<Status> {
        let there = self
            .engine
            .get(key, &mut |record| add(record, fields, found))?;
        Ok(if there { Status::Ok } else { Status::NotFound })
    }

    fn scan(
        &mut self,
        start: &[u8],
        count: usize,
        fields: Fields<'_>,
        found: &mut Records,
    ) -> Result<Status> {
        self.engine.from(start, &mut |record| {
            let wanted = found.len() < count;
            if wanted {
                add(record, fields, found);
            }
            wanted
        })?;
        Ok(Status::Ok)
    }

    fn cleanup(&mut self) -> Result<()> {
        self.engine.write(&self.batch)?;
        self.batch.clear();
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn records_come_back_as_they_were_encoded() {
        let mut record = Vec::new();
        encode(&mut record, b"field0", b"one");
        encode(&mut record, b"field1", b"");
        let fields: Vec<_> = decode(&record).collect();
        assert_eq!(fields, [(&b"field0"[..], &b"one"[..]), (b"field1", b"")]);
        record.pop();
        assert_eq!(decode(&record).count(), 1);
    }
}
