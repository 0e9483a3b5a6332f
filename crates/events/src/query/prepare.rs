//! A query with everything that it needs to be planned and run.

use ostrakon_cell::lexicoder::decode_i64;
use ostrakon_cell::{Column, ColumnSelection, Error, Result};
use std::ops::Bound;

use super::Query;
use crate::condition::{Condition, Filter, Forms, Test, check_limits, compile};
use crate::iterators::Snapshot;
use crate::layout::{EventRow, event_time};
use crate::ledger;
use crate::similar::with_similar;
use crate::store::{EventStore, Tables};
use crate::value::FieldType;

pub(crate) struct Prepared<'a> {
    pub(super) query: &'a Query,
    pub(super) tables: Tables,
    pub(super) snapshot: Snapshot,
    /// The condition without the tests that are in `from` and `to`.
    pub(super) condition: Condition,
    pub(super) from: i64,
    pub(super) to: i64,
    pub(super) bin: i64,
    pub(super) threshold: f64,
    /// The last event of an earlier query.
    pub(super) after: Option<EventRow>,
    /// What a token of this query ends with.
    check: TokenCheck,
}

/// The first bytes of a hash of the question: a token is of one question.
type TokenCheck = [u8; 8];

impl EventStore {
    /// Checks a query against its type.
    pub(super) fn prepare<'a>(&self, query: &'a Query) -> Result<Prepared<'a>> {
        query.settings.check()?;
        let tables = self.tables(&query.event_type)?;
        let snapshot = tables.state()?.snapshot;
        let threshold = match query.settings.threshold {
            Some(threshold) => threshold,
            None => self.threshold(&query.event_type)?,
        };
        let mut prepared = Prepared {
            query,
            bin: tables.definition.bin_micros()?,
            from: query.from.unwrap_or(i64::MIN).max(snapshot.since),
            to: query.to.unwrap_or(i64::MAX),
            tables,
            snapshot,
            condition: query.condition.clone(),
            threshold,
            after: None,
            check: TokenCheck::default(),
        };
        check_limits(&query.condition)?;
        // Reports unknown fields and values of another type.
        Filter::new(&query.condition, &|name| prepared.is_time(name), &|name| {
            prepared.kind_of(name)
        })?;
        for name in query.fields.iter().flatten() {
            prepared.kind_of(name)?;
        }
        prepared.take_times()?;
        prepared.check = prepared.token_check();
        if let Some(token) = &query.resume {
            let row = prepared.read_token(token)?;
            prepared.to = prepared
                .to
                .min(event_time(&row).unwrap_or(i64::MAX).saturating_add(1));
            prepared.after = Some(row);
        }
        Ok(prepared)
    }
}

impl EventStore {
    /// Answers a query as a whole, of one state of its type: all that `answer` reads is of the prepared snapshot.
    pub(super) fn answer<T>(
        &self,
        query: &Query,
        mut answer: impl FnMut(&Prepared<'_>) -> Result<T>,
    ) -> Result<T> {
        ledger::read_unsettled(&query.event_type, || {
            let prepared = self.prepare(query)?;
            let found = answer(&prepared)?;
            Ok((found, prepared.tables.registry, prepared.snapshot))
        })
    }
}

impl Prepared<'_> {
    /// The same moment and condition for another part of the time, with the other settings of `query`.
    pub(super) fn part<'b>(&self, query: &'b Query, from: i64, to: i64) -> Prepared<'b> {
        Prepared {
            query,
            tables: self.tables.clone(),
            snapshot: self.snapshot.clone(),
            condition: self.condition.clone(),
            from,
            to,
            bin: self.bin,
            threshold: self.threshold,
            after: None,
            check: self.check,
        }
    }

    /// The token of an event: its row and the check in hexadecimal digits.
    pub(super) fn token(&self, row: &EventRow) -> String {
        let bytes = row.iter().chain(&self.check);
        bytes.map(|byte| format!("{byte:02x}")).collect()
    }

    /// The check of the type, the condition and the end of the times. Their beginning may move with the present: the newest
    /// events come first, so that a query can go on with another one.
    fn token_check(&self) -> TokenCheck {
        let mut hasher = blake3::Hasher::new();
        let name = &self.tables.definition.name;
        for part in [
            name.as_str(),
            &self.condition.to_string(),
            &self.to.to_string(),
        ] {
            hasher.update(&(part.len() as u64).to_be_bytes());
            hasher.update(part.as_bytes());
        }
        let hash = hasher.finalize();
        hash.as_bytes().first_chunk().copied().unwrap_or_default()
    }

    fn read_token(&self, token: &str) -> Result<EventRow> {
        let wrong = || {
            Error::invalid("not a token of an earlier query: pass it on as it was printed")
                .with("given", token)
        };
        let bytes = unhex(token).ok_or_else(wrong)?;
        let (row, check) = bytes.split_first_chunk().ok_or_else(wrong)?;
        if check.len() != self.check.len() {
            return Err(wrong());
        }
        if check != self.check {
            return Err(Error::invalid(
                "the token is of another query: repeat the event type, the condition and the end of the times. If one of \
                 these depends on the present, give both queries the same present",
            )
            .with("given", token));
        }
        Ok(*row)
    }

    /// Whether the name is that of the event's time.
    pub(super) fn is_time(&self, name: &str) -> bool {
        self.tables.definition.is_time(name)
    }

    pub(super) fn kind_of(&self, name: &str) -> Result<FieldType> {
        let definition = &self.tables.definition;
        if self.is_time(name) {
            return Ok(FieldType::Time);
        }
        definition
            .field(name)
            .map(|field| field.kind)
            .ok_or_else(|| {
                let mut names: Vec<&str> = definition
                    .fields
                    .iter()
                    .map(|field| field.name.as_str())
                    .collect();
                names.sort_unstable();
                let error = Error::invalid(
                    "the event type has no such field; add it to the type if events have it",
                )
                .with("field", name)
                .with("type", &definition.name)
                .with("fields", names.join(", "));
                with_similar(error, name, names.into_iter())
            })
    }

    /// The id and the typed test of a field with an index; `None` if the test cannot use it.
    pub(super) fn indexed(&self, condition: &Condition) -> Result<Option<(u16, Forms)>> {
        let Condition::Test { field, operator } = condition else {
            return Ok(None);
        };
        if self.is_time(field) {
            return Ok(None);
        }
        let Some(known) = self.tables.definition.field(field) else {
            return Ok(None);
        };
        let (Some(id), true) = (known.id, known.indexed) else {
            return Ok(None);
        };
        Ok(match compile(known.kind, field, operator)? {
            Test::Forms(forms) if super::access::is_exact(&forms) => Some((id, forms)),
            _ => None,
        })
    }

    /// The types that an iterator needs to evaluate the condition.
    pub(super) fn types(&self) -> Result<Vec<(String, Option<FieldType>)>> {
        let mut names = Vec::new();
        self.condition.fields(&mut names);
        names
            .into_iter()
            .map(|name| {
                let kind = if self.is_time(&name) {
                    None
                } else {
                    Some(self.kind_of(&name)?)
                };
                Ok((name, kind))
            })
            .collect()
    }

    /// The columns of the event table that are read.
    pub(super) fn columns(&self, fields: Option<&[String]>) -> ColumnSelection {
        let Some(fields) = fields else {
            return ColumnSelection::all();
        };
        let mut names = Vec::new();
        self.condition.fields(&mut names);
        names.extend(fields.iter().cloned());
        let columns = names.into_iter().map(|name| Column::new("", name));
        ColumnSelection::new(columns.chain([Column::new("", "")]))
    }

    /// Moves tests of the time that must hold into `from` and `to`.
    fn take_times(&mut self) -> Result<()> {
        let parts = match std::mem::take(&mut self.condition) {
            Condition::And(parts) => parts,
            other => vec![other],
        };
        let mut rest = Vec::new();
        for part in parts {
            if !self.take_time(&part)? {
                rest.push(part);
            }
        }
        self.condition = Condition::all(rest);
        Ok(())
    }

    fn take_time(&mut self, part: &Condition) -> Result<bool> {
        let Condition::Test { field, operator } = part else {
            return Ok(false);
        };
        if !self.is_time(field) {
            return Ok(false);
        }
        let Test::Forms(forms) = compile(FieldType::Time, field, operator)? else {
            return Ok(false);
        };
        let (from, to) = match &forms {
            Forms::Between(from, to) => (
                match from {
                    Bound::Included(from) => decode_i64(from)?,
                    Bound::Excluded(from) => decode_i64(from)?.saturating_add(1),
                    Bound::Unbounded => i64::MIN,
                },
                match to {
                    Bound::Included(to) => decode_i64(to)?.saturating_add(1),
                    Bound::Excluded(to) => decode_i64(to)?,
                    Bound::Unbounded => i64::MAX,
                },
            ),
            Forms::These(forms) => match forms.as_slice() {
                [one] => (decode_i64(one)?, decode_i64(one)?.saturating_add(1)),
                _ => return Ok(false),
            },
            Forms::Prefix(_) => return Ok(false),
            Forms::Any => (i64::MIN, i64::MAX),
        };
        self.from = self.from.max(from);
        self.to = self.to.min(to);
        Ok(true)
    }
}

fn unhex(text: &str) -> Option<Vec<u8>> {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let (pairs, rest) = text.as_bytes().as_chunks();
    if !rest.is_empty() {
        return None;
    }
    let byte = |[high, low]: &[u8; 2]| u8::try_from(digit(*high)? * 16 + digit(*low)?).ok();
    pairs.iter().map(byte).collect()
}
