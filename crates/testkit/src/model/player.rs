//! Plays operations on a source and on the judge, and compares.

use std::collections::BTreeMap;
use std::sync::Arc;

use ostrakon_cell::iterator::{IteratorScope, IteratorSetting};
use ostrakon_cell::{
    Authorizations, Batch, BatchLimit, CloneOptions, Column, ColumnSelection, ColumnUpdate,
    CompactOptions, Condition, ConditionalMutation, Entry, EntryRef, Error, ErrorKind, Key,
    Mutation, MutationBatch, Properties, Range, Result, ScanOptions, Source, Table, TableOptions,
    TimeType,
};
use ostrakon_store::clock::Random;

use super::generate::{START_MILLIS, STEP_MILLIS};
use super::harness::Harness;
use super::operation::{Change, Operation, Style};
use super::survivors::{Item, Level, Survivors};
use crate::disk::Crash;
use crate::judge::MapSource;

/// Where a source and the judge part.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// The number of the operation after which it showed.
    pub step: usize,
    /// What was found and what should have been.
    pub what: String,
}

/// Plays operations on a harness and on a fresh judge; the transcript has a line for each outcome.
///
/// # Errors
/// The first disagreement.
pub fn play(
    harness: &mut dyn Harness,
    operations: &[(usize, Operation)],
) -> std::result::Result<Vec<String>, Disagreement> {
    let judge = MapSource::new();
    let mut player = Player {
        survivors: Survivors::new(judge.snapshot()),
        harness,
        judge,
        idents: BTreeMap::new(),
        next_ident: 0,
        troubled: false,
        transcript: Vec::new(),
    };
    let mut last = 0;
    for (step, operation) in operations {
        last = *step;
        player
            .step(*step, operation)
            .map_err(|what| Disagreement { step: *step, what })?;
    }
    let end = if player.troubled {
        player.crash(Crash::PowerLost)
    } else {
        player.reopen()
    };
    end.map_err(|what| Disagreement { step: last, what })?;
    Ok(player.transcript)
}

type Outcome<T = ()> = std::result::Result<T, String>;

struct Player<'a> {
    harness: &'a mut dyn Harness,
    judge: MapSource,
    survivors: Survivors,
    /// Tables as they are now, by name: a table keeps its number under rename.
    idents: BTreeMap<u8, u64>,
    next_ident: u64,
    troubled: bool,
    transcript: Vec<String>,
}

impl Player<'_> {
    fn step(&mut self, step: usize, operation: &Operation) -> Outcome {
        let millis = START_MILLIS + step as i64 * STEP_MILLIS;
        self.harness.set_millis(millis);
        self.judge.set_millis(millis);
        match operation {
            Operation::Crash(crash) => return self.crash(*crash),
            Operation::Reopen => return self.reopen(),
            Operation::Trouble(trouble) => {
                self.harness.disturb(Some(*trouble));
                self.troubled = true;
                return Ok(());
            }
            Operation::Look { choice } => {
                return if self.troubled {
                    // What a failed write left in memory is nobody's promise; only errors are.
                    let _ = self.look_only(*choice);
                    Ok(())
                } else {
                    self.look(*choice)
                };
            }
            _ => {}
        }
        if self.troubled {
            self.step_in_trouble(millis, operation);
            return Ok(());
        }
        if self.is_unsettled(operation) {
            return Ok(());
        }
        let level = self.level(operation);
        let real = apply(
            &*self.harness.source(),
            operation,
            &self.harness.table_properties(),
        );
        let expected = apply(&self.judge, operation, &Properties::new());
        let line = match (&real, &expected) {
            (Ok(real), Ok(expected)) if real == expected => format!("{step} {expected}"),
            (Err(real), Err(expected)) if real.kind() == expected.kind() => {
                format!("{step} refused: {}", real.kind().as_str())
            }
            _ => return Err(format!("answered {real:?}, expected {expected:?}")),
        };
        if let Ok(answer) = &expected {
            self.record(millis, operation, level, answer);
        }
        self.transcript.push(line);
        Ok(())
    }

    /// Whether the contract leaves open how this ends.
    fn is_unsettled(&self, operation: &Operation) -> bool {
        let offline = |table: u8| {
            let name = Operation::name_of(table);
            let tables = self.judge.tables().unwrap_or_default();
            tables.iter().any(|info| info.name == name && !info.online)
        };
        let there = |table: u8| self.idents.contains_key(&table);
        match operation {
            Operation::Rename { from, to } | Operation::Clone { from, to } => {
                from == to || offline(*from) || (!there(*from) && there(*to))
            }
            Operation::Bulk { table, .. }
            | Operation::DeleteRows { table, .. }
            | Operation::Flush { table, .. }
            | Operation::Compact { table, .. }
            | Operation::Split { table, .. }
            | Operation::Merge { table, .. }
            | Operation::Property { table, .. } => offline(*table),
            _ => false,
        }
    }

    fn level(&self, operation: &Operation) -> Level {
        match operation {
            Operation::Write {
                durability: Some(durability),
                ..
            } => Level::of(*durability),
            Operation::Write { table, .. } | Operation::CompareAndSet { table, .. } => {
                let properties = self
                    .judge
                    .table(&Operation::name_of(*table))
                    .and_then(|table| table.properties());
                properties
                    .ok()
                    .and_then(|all| all.get("table.durability")?.parse().ok())
                    .map_or(Level::Sync, Level::of)
            }
            _ => Level::Certain,
        }
    }

    /// Remembers what was acknowledged, to know later what must have survived.
    fn record(&mut self, millis: i64, operation: &Operation, level: Level, answer: &str) {
        let (ident, operation) = match operation {
            Operation::Create { table, .. } => (self.new_ident(*table), operation.clone()),
            Operation::Delete { table } => (self.idents.remove(table), operation.clone()),
            Operation::Rename { from, to } => {
                let ident = self.idents.remove(from);
                self.idents.extend(ident.map(|ident| (*to, ident)));
                (ident, operation.clone())
            }
            Operation::Clone { from, to } => {
                if let Some(source) = self.idents.get(from) {
                    self.survivors.settle(*source);
                }
                (self.new_ident(*to), operation.clone())
            }
            Operation::Flush { table, wait: true } => {
                if let Some(ident) = self.idents.get(table) {
                    self.survivors.settle(*ident);
                }
                return;
            }
            Operation::CompareAndSet {
                table, row, value, ..
            } => {
                if answer != "Accepted" {
                    return;
                }
                // Played again it must not be judged again: the condition held.
                let write = Operation::Write {
                    table: *table,
                    changes: vec![compared(row, value)],
                    durability: None,
                };
                (self.idents.get(table).copied(), write)
            }
            Operation::Write { table, .. }
            | Operation::Bulk { table, .. }
            | Operation::DeleteRows { table, .. }
            | Operation::Online { table, .. }
            | Operation::Split { table, .. }
            | Operation::Merge { table, .. }
            | Operation::Property { table, .. } => {
                (self.idents.get(table).copied(), operation.clone())
            }
            _ => return,
        };
        self.survivors.push(Item {
            ident: ident.unwrap_or_default(),
            operation,
            millis,
            level,
            odd: false,
            loose: false,
        });
    }

    fn new_ident(&mut self, table: u8) -> Option<u64> {
        self.next_ident += 1;
        self.idents.insert(table, self.next_ident);
        Some(self.next_ident)
    }

    /// With a failing disk only what has two outcomes at most is tried.
    fn step_in_trouble(&mut self, millis: i64, operation: &Operation) {
        let (table, changes) = match operation {
            Operation::Write { table, .. }
            | Operation::Bulk { table, .. }
            | Operation::DeleteRows { table, .. } => (table, true),
            Operation::Merge { table, .. }
            | Operation::Flush { table, .. }
            | Operation::Compact { table, .. }
            | Operation::Split { table, .. } => (table, false),
            _ => return,
        };
        let Some(ident) = self.idents.get(table).copied() else {
            return;
        };
        if self.is_unsettled(operation) || (changes && self.survivors.odd_count() >= 5) {
            return;
        }
        let online = self.judge.tables().unwrap_or_default();
        let name = Operation::name_of(*table);
        if !online.iter().any(|info| info.name == name && info.online) {
            return;
        }
        let level = self.level(operation);
        let real = apply(&*self.harness.source(), operation, &Properties::new());
        match (operation, real) {
            // Refused, whatever the disk does: it would be refused by the judge as well.
            (_, Err(error)) if changes && error.kind() == ErrorKind::InvalidArgument => {}
            (_, real) if changes => self.survivors.push(Item {
                ident,
                operation: operation.clone(),
                millis,
                level,
                odd: real.is_err(),
                loose: false,
            }),
            (Operation::Flush { wait: true, .. }, Ok(_)) => self.survivors.settle(ident),
            _ => {}
        }
    }

    fn reopen(&mut self) -> Outcome {
        if self.troubled {
            self.harness.disturb(None);
            self.reopened(Crash::Process, |harness| harness.reopen())
        } else {
            self.harness
                .reopen()
                .map_err(|error| format!("does not open again: {error:?}"))?;
            self.survivors.closed(&self.judge);
            self.look(0)
        }
    }

    fn crash(&mut self, crash: Crash) -> Outcome {
        self.reopened(crash, |harness| harness.crash(crash))
    }

    fn reopened(
        &mut self,
        crash: Crash,
        open: impl FnOnce(&mut dyn Harness) -> Result<()>,
    ) -> Outcome {
        open(self.harness).map_err(|error| format!("does not open after {crash:?}: {error:?}"))?;
        let source = self.harness.source();
        let millis = self.judge.now_millis();
        let after_trouble = std::mem::take(&mut self.troubled);
        self.judge = self
            .survivors
            .find(crash, after_trouble, &|number, judge| {
                let Some((table, _)) = self.idents.iter().find(|(_, ident)| **ident == number)
                else {
                    return Ok(());
                };
                same_content(&*source, judge, *table)
            })?;
        self.judge.set_millis(millis);
        self.look(0)
    }

    /// Compares scans of every table.
    fn look(&mut self, choice: u64) -> Outcome {
        let source = self.harness.source();
        let listed = |source: &dyn Source| -> Outcome<Vec<(String, bool, TimeType)>> {
            let tables = source.tables().map_err(|error| format!("{error:?}"))?;
            let facts = tables.into_iter();
            Ok(facts
                .map(|info| (info.name, info.online, info.time_type))
                .collect())
        };
        let (found, expected) = (listed(&*source)?, listed(&self.judge)?);
        if found != expected {
            return Err(format!("lists {found:?}, expected {expected:?}"));
        }
        for (table, _) in self.idents.clone() {
            same_content(&*source, &self.judge, table)?;
            let mut random = Random::from_seed(choice.wrapping_add(u64::from(table)));
            for _ in 0..4 {
                let (ranges, options) = some_scan(&mut random);
                let found = read(&*source, table, &ranges, &options);
                let expected = read(&self.judge, table, &ranges, &options);
                let line = compare(&found, &expected)
                    .map_err(|what| format!("table {table}, {ranges:?}, {options:?}: {what}"))?;
                self.transcript.push(line);
            }
        }
        self.survivors.advance(&self.judge);
        Ok(())
    }

    /// Reads without comparing: what matters is that it ends.
    fn look_only(&mut self, choice: u64) -> Result<()> {
        let source = self.harness.source();
        let (ranges, options) = some_scan(&mut Random::from_seed(choice));
        for table in self.idents.keys() {
            read(&*source, *table, &ranges, &options)?;
        }
        Ok(())
    }
}

/// Compares everything in a table, seen by somebody who may see it all.
pub(super) fn same_content(source: &dyn Source, judge: &MapSource, table: u8) -> Outcome {
    let options = ScanOptions {
        authorizations: authorizations("a,b,c"),
        ..ScanOptions::default()
    };
    let found = read(source, table, &[Range::all()], &options);
    let expected = read(judge, table, &[Range::all()], &options);
    compare(&found, &expected)
        .map(drop)
        .map_err(|what| format!("table {table}: {what}"))
}

fn compare(found: &Result<Vec<Entry>>, expected: &Result<Vec<Entry>>) -> Outcome<String> {
    match (found, expected) {
        (Ok(found), Ok(expected)) => {
            let differ = found.iter().zip(expected).position(|(a, b)| a != b);
            if differ.is_none() && found.len() == expected.len() {
                return Ok(format!(
                    "{} entries, digest {:x}",
                    found.len(),
                    digest(found)
                ));
            }
            let at = differ.unwrap_or(found.len().min(expected.len()));
            let show = |entries: &[Entry]| {
                entries.get(at).map_or("nothing".to_owned(), |entry| {
                    let value = entry.value.get(..24).unwrap_or(&entry.value);
                    format!("{} = {}", entry.key, String::from_utf8_lossy(value))
                })
            };
            Err(format!(
                "{} entries, expected {}; entry {at} is {}, expected {}",
                found.len(),
                expected.len(),
                show(found),
                show(expected)
            ))
        }
        (Err(found), Err(expected)) if found.kind() == expected.kind() => {
            Ok(format!("refused: {}", found.kind().as_str()))
        }
        (found, expected) => {
            let show = |one: &Result<Vec<Entry>>| match one {
                Ok(entries) => format!("{} entries", entries.len()),
                Err(error) => format!("{error:?}"),
            };
            Err(format!(
                "answered {}, expected {}",
                show(found),
                show(expected)
            ))
        }
    }
}

/// FNV-1a over everything: transcripts are compared by it, and it is the same everywhere.
fn digest(entries: &[Entry]) -> u64 {
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |bytes: &[u8]| {
        for byte in bytes.iter().chain(&[0xff]) {
            hash = (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
        }
    };
    for Entry { key, value } in entries {
        for part in [
            &key.row,
            &key.family,
            &key.qualifier,
            &key.visibility,
            value,
        ] {
            add(part);
        }
        add(&key.timestamp.to_le_bytes());
    }
    hash
}

fn authorizations(list: &str) -> Authorizations {
    Authorizations::parse(list).unwrap_or_default()
}

/// Ranges and options of a scan.
fn some_scan(random: &mut Random) -> (Vec<Range>, ScanOptions) {
    let key = |random: &mut Random| Key {
        timestamp: i64::MAX - random.below(2) as i64 * (i64::MAX - START_MILLIS - 500),
        ..Key::new(
            format!("r{:02}", random.below(40)),
            ["", "f", "g"][random.below(3) as usize],
            format!("q{}", random.below(4)),
        )
    };
    let ranges = (0..=random.below(4))
        .map(|_| match random.below(6) {
            0 => Range::all(),
            1 => Range::row(key(random).row),
            2 => Range::row_prefix(format!("r{}", random.below(4)).as_bytes()),
            3 => Range::row_family(key(random).row, "f"),
            _ => {
                let (a, b) = (key(random), key(random));
                let (start, end) = (a.clone().min(b.clone()), a.max(b));
                let (closed_start, closed_end) = (random.one_in(2), random.one_in(2));
                Range::keys(Some(start), closed_start, Some(end), closed_end).unwrap_or_default()
            }
        })
        .collect();
    let columns: Vec<Column> = match random.below(4) {
        0 => vec![Column::family("f")],
        1 => vec![Column::new("f", "q1"), Column::family("")],
        _ => Vec::new(),
    };
    let mut options = ScanOptions {
        columns: ColumnSelection::new(columns),
        authorizations: authorizations(["", "a", "b", "a,b,c"][random.below(4) as usize]),
        ordered: !random.one_in(4),
        ..ScanOptions::default()
    };
    if random.one_in(4) {
        options.batch = BatchLimit {
            entries: 1 + random.below(5) as usize,
            bytes: 1 << 20,
        };
    }
    if random.one_in(4) {
        let newest = IteratorSetting::new(30, "newest", "VersioningIterator");
        options.iterators.push(newest.with("maxVersions", "2"));
    }
    (ranges, options)
}

/// What a scan gives, in key order; without timestamps where a table counts batches.
fn read(
    source: &dyn Source,
    table: u8,
    ranges: &[Range],
    options: &ScanOptions,
) -> Result<Vec<Entry>> {
    let name = Operation::name_of(table);
    let logical = source
        .tables()?
        .iter()
        .any(|info| info.name == name && info.time_type == TimeType::Logical);
    let mut scan = source.table(&name)?.scan(ranges, options)?;
    let (mut batch, mut entries) = (Batch::new(), Vec::new());
    while scan.next_batch(&mut batch)? {
        entries.extend(batch.iter().map(EntryRef::to_entry));
    }
    if !options.ordered {
        entries.sort_by(|a, b| a.key.cmp(&b.key));
    } else if !entries.is_sorted_by(|a, b| a.key <= b.key) {
        return Err(Error::new(
            ErrorKind::Internal,
            "an ordered scan came out of order",
        ));
    }
    if logical {
        for entry in &mut entries {
            entry.key.timestamp = 0;
        }
    }
    Ok(entries)
}

/// The column that is compared and set.
fn compared(row: &str, value: &str) -> Change {
    Change {
        row: row.to_owned(),
        family: "cas",
        qualifier: "q".to_owned(),
        label: "",
        timestamp: None,
        value: Some(value.to_owned()),
    }
}

fn batch_of(changes: &[Change]) -> Result<MutationBatch> {
    let mut batch = MutationBatch::new();
    for mutation in changes.chunk_by(|a, b| a.row == b.row) {
        let mut encoded = Mutation::new(mutation[0].row.as_str());
        for change in mutation {
            encoded.update(ColumnUpdate {
                family: change.family.as_bytes(),
                qualifier: change.qualifier.as_bytes(),
                visibility: change.label.as_bytes(),
                timestamp: change.timestamp,
                value: change.value.as_deref().map(str::as_bytes),
            })?;
        }
        batch.push(&encoded)?;
    }
    Ok(batch)
}

fn import(table: &dyn Table, changes: &[Change]) -> Result<u64> {
    let mut sorted = BTreeMap::new();
    for change in changes {
        let key = Key {
            visibility: change.label.into(),
            timestamp: change.timestamp.unwrap_or_default(),
            ..Key::new(
                change.row.as_str(),
                change.family,
                change.qualifier.as_str(),
            )
        };
        sorted.insert(key, change.value.clone().unwrap_or_default());
    }
    let mut batch = Batch::new();
    for (key, value) in &sorted {
        batch.push(key.as_ref(), value.as_bytes())?;
    }
    let mut writer = table.bulk_writer()?;
    writer.append(&batch)?;
    writer.finish()
}

fn table_options(style: Style, extra: &Properties) -> TableOptions {
    let mut properties = extra.clone();
    properties.insert("table.group.left".to_owned(), "f,g".to_owned());
    if let Some(versions @ 2..) = style.versions {
        for scope in IteratorScope::ALL {
            let name = format!("table.iterator.{}.vers.opt.maxVersions", scope.as_str());
            properties.insert(name, versions.to_string());
        }
    }
    TableOptions {
        time_type: if style.logical {
            TimeType::Logical
        } else {
            TimeType::Millis
        },
        splits: if style.split {
            vec![b"r10".to_vec(), b"r25".to_vec()]
        } else {
            Vec::new()
        },
        properties,
        without_default_iterators: style.versions.is_none(),
        offline: false,
    }
}

fn bytes(row: Option<&String>) -> Option<&[u8]> {
    row.map(String::as_bytes)
}

/// Does it, and says in a word what came of it.
pub(super) fn apply(
    source: &dyn Source,
    operation: &Operation,
    extra: &Properties,
) -> Result<String> {
    let done = || "done".to_owned();
    let open = |table: u8| -> Result<Arc<dyn Table>> { source.table(&Operation::name_of(table)) };
    match operation {
        Operation::Create { table, style } => {
            let options = table_options(*style, extra);
            source.create_table(&Operation::name_of(*table), &options)?;
        }
        Operation::Delete { table } => source.delete_table(&Operation::name_of(*table))?,
        Operation::Rename { from, to } => {
            source.rename_table(&Operation::name_of(*from), &Operation::name_of(*to))?;
        }
        Operation::Clone { from, to } => {
            let (from, to) = (Operation::name_of(*from), Operation::name_of(*to));
            source.clone_table(&from, &to, &CloneOptions::default())?;
        }
        Operation::Online { table, online } => {
            source.set_online(&Operation::name_of(*table), *online)?;
        }
        Operation::Write {
            table,
            changes,
            durability,
        } => {
            let outcome = open(*table)?
                .submit(batch_of(changes)?, *durability)?
                .wait()?;
            return Ok(format!("{} refused", outcome.rejections.len()));
        }
        Operation::CompareAndSet {
            table,
            row,
            expected,
            value,
        } => {
            let mut mutation = Mutation::new(row.as_str());
            mutation.put("cas", "q", value)?;
            let condition = Condition {
                family: b"cas".to_vec(),
                qualifier: b"q".to_vec(),
                value: expected.as_ref().map(|value| value.as_bytes().to_vec()),
                ..Condition::default()
            };
            let one = ConditionalMutation {
                mutation,
                conditions: vec![condition],
            };
            let answers =
                open(*table)?.write_conditionally(vec![one], &Authorizations::empty(), None)?;
            let words: Vec<String> = answers.iter().map(|one| format!("{one:?}")).collect();
            return Ok(words.join(" "));
        }
        Operation::Bulk { table, changes } => {
            return Ok(format!("{} imported", import(&*open(*table)?, changes)?));
        }
        Operation::DeleteRows { table, start, end } => {
            open(*table)?.delete_rows(bytes(start.as_ref()), bytes(end.as_ref()))?;
        }
        Operation::Flush { table, wait } => open(*table)?.flush(*wait)?,
        Operation::Compact {
            table,
            start,
            end,
            wait,
        } => open(*table)?.compact(&CompactOptions {
            start: start.as_ref().map(|row| row.clone().into_bytes()),
            end: end.as_ref().map(|row| row.clone().into_bytes()),
            wait: *wait,
            ..CompactOptions::default()
        })?,
        Operation::Split { table, rows } => {
            let rows: Vec<Vec<u8>> = rows.iter().map(|row| row.clone().into_bytes()).collect();
            open(*table)?.add_splits(&rows)?;
        }
        Operation::Merge { table, start, end } => {
            open(*table)?.merge(bytes(start.as_ref()), bytes(end.as_ref()))?;
        }
        Operation::Property { table, name, value } => {
            let change = ((*name).to_owned(), value.map(str::to_owned));
            open(*table)?.modify_properties(&[change])?;
        }
        Operation::Look { .. }
        | Operation::Reopen
        | Operation::Crash(_)
        | Operation::Trouble(_) => {}
    }
    Ok(done())
}
