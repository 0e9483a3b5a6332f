//! Plays operations on a source and on the model, and compares.

use std::collections::BTreeMap;

use ostrakon_cell::iterator::IteratorOptions;
use ostrakon_cell::{Batch, ErrorKind, Properties, Range, Result, ScanOptions, Source, TimeType};
use ostrakon_store::clock::Random;

use super::apply::{all_authorizations, apply, apply_to_model, batch_of, column_of, sorted};
use super::happened::Happened;
use super::harness::Harness;
use super::operation::{Expected, Guarded, Operation, PROBE, Step};
use super::scans::{compare, read, some_scan};
use super::survivors::{Item, Level, Survivors};
use crate::disk::Crash;
use crate::reference_model::{Coverage, MapSource};

/// Where a source and the model part.
#[derive(Debug, Clone)]
pub struct Disagreement {
    /// The number of the operation after which it showed.
    pub step: usize,
    /// What was found and what should have been.
    pub what: String,
}

/// How often a comparison is repeated because background work settled what was in doubt meanwhile.
const ATTEMPTS: usize = 4;

/// What came of a run without a disagreement.
#[derive(Debug, Clone)]
pub struct Played {
    /// A line for each outcome.
    pub transcript: Vec<String>,
    /// How often situations came up. Those that changes of tables make are counted again when a crash is played after.
    pub coverage: Coverage,
}

/// Plays operations on a harness and on a fresh model.
///
/// # Errors
/// The first disagreement.
pub fn play(
    harness: &mut dyn Harness,
    steps: &[Step],
) -> std::result::Result<Played, Disagreement> {
    let model = MapSource::new();
    let mut player = Player {
        survivors: Survivors::new(model.snapshot()),
        harness,
        model,
        idents: BTreeMap::new(),
        next_ident: 0,
        troubled: false,
        transcript: Vec::new(),
        happened: Happened::default(),
    };
    let mut last = 0;
    for step in steps {
        last = step.number;
        player
            .step(step)
            .map_err(|what| Disagreement { step: last, what })?;
    }
    let end = if player.troubled {
        player.crash(Crash::PowerLost)
    } else {
        player.reopen()
    };
    end.and_then(|()| player.harness.check())
        .map_err(|what| Disagreement { step: last, what })?;
    let mut coverage = player.happened.into_coverage();
    coverage.merge(&player.model.coverage());
    coverage.merge(&player.harness.coverage());
    Ok(Played {
        transcript: player.transcript,
        coverage,
    })
}

type Outcome<T = ()> = std::result::Result<T, String>;

struct Player<'a> {
    harness: &'a mut dyn Harness,
    model: MapSource,
    survivors: Survivors,
    /// Tables as they are now, by name: a table keeps its number under rename.
    idents: BTreeMap<u8, u64>,
    next_ident: u64,
    troubled: bool,
    transcript: Vec<String>,
    happened: Happened,
}

impl Player<'_> {
    fn step(&mut self, step: &Step) -> Outcome {
        let Step {
            number,
            millis,
            operation,
        } = step;
        self.happened.clock(*millis);
        self.harness.set_millis(*millis);
        self.model.set_millis(*millis);
        match operation {
            Operation::Crash(crash) => return self.crash(*crash),
            Operation::Reopen => return self.reopen(),
            Operation::Trouble(trouble) => {
                self.harness.disturb(Some(*trouble));
                self.troubled = true;
                return Ok(());
            }
            Operation::Maintain => {
                let outcome = self.harness.maintain();
                return match outcome {
                    Err(error) if !self.troubled => Err(format!("maintaining failed: {error:?}")),
                    Err(_) => Ok(()),
                    Ok(tables) => {
                        self.note_merges(&tables);
                        Ok(())
                    }
                };
            }
            Operation::Look { choice } => {
                return if self.troubled {
                    // What a failed write left in memory is promised to no one; only errors are.
                    let _ = self.look_only(*choice);
                    Ok(())
                } else {
                    self.look(*choice)
                };
            }
            _ => {}
        }
        if self.is_unsettled(operation) {
            return Ok(());
        }
        if self.troubled {
            self.step_in_trouble(*millis, operation);
            return Ok(());
        }
        let operation = match operation {
            Operation::Conditional { table, list } => Operation::Conditional {
                table: *table,
                list: self.resolved(*table, list)?,
            },
            other => other.clone(),
        };
        let level = self.level(&operation);
        let most_files = self.most_files_before(&operation);
        let real = self.apply(&operation, &self.harness.table_properties());
        let times = match &real {
            Ok(answer) => self.times_given(&operation, answer)?,
            Err(_) => Vec::new(),
        };
        self.model.give_times(times.clone());
        let expected = apply_to_model(&self.model, &operation);
        let line = match (&real, &expected) {
            (Ok(real), Ok(expected)) if real == expected => format!("{number} {expected}"),
            (Err(real), Err(expected)) if real.kind() == expected.kind() => {
                format!("{number} refused: {}", real.kind().as_str())
            }
            _ => {
                return Err(format!(
                    "{operation:?} answered {real:?}, expected {expected:?}"
                ));
            }
        };
        if let Ok(answer) = &expected {
            self.happened.done(&operation, answer, &self.idents);
            if let Some(before) = most_files
                && self.most_files(&operation) > before + 1
            {
                self.happened.coverage.add("flushes cut into files");
            }
            self.record(*millis, &operation, level, answer, times);
        }
        self.transcript.push(line);
        Ok(())
    }

    /// Counts merges of some of a tablet's files, by what was done to their tables.
    fn note_merges(&mut self, tables: &[String]) {
        for (table, ident) in &self.idents {
            let name = Operation::name_of(*table);
            if !tables.contains(&name) {
                continue;
            }
            let properties = self.model.table(&name).and_then(|table| table.properties());
            self.happened
                .merged_files(*ident, &properties.unwrap_or_default());
        }
    }

    /// The largest number of files that a tablet has before a flush.
    fn most_files_before(&self, operation: &Operation) -> Option<u64> {
        matches!(operation, Operation::Flush { wait: true, .. }).then(|| self.most_files(operation))
    }

    fn most_files(&self, operation: &Operation) -> u64 {
        let Operation::Flush { table, .. } = operation else {
            return 0;
        };
        let source = self.harness.source();
        let tablets = source
            .table(&Operation::name_of(*table))
            .and_then(|table| table.tablets());
        let files = tablets.unwrap_or_default().into_iter().map(|one| one.files);
        files.max().unwrap_or(0)
    }

    fn apply(&mut self, operation: &Operation, extra: &Properties) -> Result<String> {
        match operation {
            Operation::Import { table, files } => {
                let files: Vec<Batch> =
                    files.iter().map(|one| sorted(one)).collect::<Result<_>>()?;
                let count = self.harness.import(&Operation::name_of(*table), &files)?;
                Ok(format!("{count} imported"))
            }
            _ => apply(&*self.harness.source(), operation, extra),
        }
    }

    /// The times that the source gave to the batches of an operation, read from their probes.
    fn times_given(&self, operation: &Operation, answer: &str) -> Outcome<Vec<i64>> {
        let name = match operation {
            Operation::Write { table, .. } | Operation::Conditional { table, .. } => {
                Operation::name_of(*table)
            }
            _ => return Ok(Vec::new()),
        };
        let mut times = Vec::new();
        for (row, qualifier) in probes(operation, answer) {
            let time = read_probe(&*self.harness.source(), &name, row, qualifier)
                .map_err(|error| format!("a probe cannot be read: {error:?}"))?
                .ok_or_else(|| {
                    format!("{row:?} {PROBE}:{qualifier} was acknowledged and cannot be seen")
                })?;
            if times.is_empty() {
                self.model.check_time(&name, time)?;
            }
            times.push(time);
        }
        Ok(times)
    }

    /// Conditions with what they ask for now, without those whose answer the contract leaves open.
    fn resolved(&self, table: u8, list: &[Guarded]) -> Outcome<Vec<Guarded>> {
        let name = Operation::name_of(table);
        let is_online = self.is_online(table);
        if is_online {
            self.agree(table)?;
        }
        let mut resolved: Vec<Guarded> = Vec::new();
        for one in list {
            let row = one.row.as_bytes();
            // What an earlier mutation of the list wrote may be covered by a marker.
            let mut before = resolved
                .iter()
                .filter(|before| before.row == one.row)
                .peekable();
            let again = before.peek().is_some();
            let deletes = before
                .flat_map(|before| &before.changes)
                .any(|change| change.value.is_none());
            if self.model.is_in_doubt(&name, row)
                || (again && (deletes || self.model.has_marker(&name, row)))
            {
                continue;
            }
            let mut one = one.clone();
            if one.expected == Expected::Current {
                let current = || -> Result<Option<Vec<u8>>> {
                    let condition = one.condition();
                    let options = ScanOptions {
                        authorizations: all_authorizations(),
                        iterators: condition.iterators.clone(),
                        ..ScanOptions::default()
                    };
                    let column = column_of(&condition, &one.row)?;
                    let found = read(&self.model, table, &[column], &options)?;
                    Ok(found.into_iter().next().map(|entry| entry.value))
                };
                one.expected = match current() {
                    Ok(Some(value)) => Expected::Value(String::from_utf8_lossy(&value).into()),
                    _ => Expected::Absent,
                };
            }
            resolved.push(one);
        }
        Ok(resolved)
    }

    fn is_online(&self, table: u8) -> bool {
        let name = Operation::name_of(table);
        let tables = self.model.tables().unwrap_or_default();
        tables.iter().any(|info| info.name == name && info.online)
    }

    /// Whether the contract leaves open how this ends.
    fn is_unsettled(&self, operation: &Operation) -> bool {
        let there = |table: u8| self.idents.contains_key(&table);
        match operation {
            // Which of two reasons a refusal names.
            Operation::Rename { from, to } | Operation::Clone { from, to } => {
                from == to || (!there(*from) && there(*to))
            }
            // A combiner in files alone makes what a scan finds depend on compactions. It is meant for tables that sum
            // in scans too, and this may be an older one, if the disk died while that was made.
            Operation::Property { table, changes } => {
                let sums = |name: &str| name.ends_with(".sum");
                changes
                    .iter()
                    .any(|(name, value)| sums(name) && value.is_some())
                    && !self.property_is_set(*table, "table.iterator.scan.sum")
            }
            _ => false,
        }
    }

    fn property_is_set(&self, table: u8, name: &str) -> bool {
        let table = self.model.table(&Operation::name_of(table));
        let properties = table.and_then(|table| table.properties());
        properties.is_ok_and(|all| all.contains_key(name))
    }

    fn level(&self, operation: &Operation) -> Level {
        match operation {
            Operation::Write {
                durability: Some(durability),
                ..
            } => Level::of(*durability),
            Operation::Write { table, .. } | Operation::Conditional { table, .. } => {
                let properties = self
                    .model
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
    fn record(
        &mut self,
        millis: i64,
        operation: &Operation,
        level: Level,
        answer: &str,
        times: Vec<i64>,
    ) {
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
            Operation::Conditional { table, list } => {
                // Played again they must not be judged again: the conditions held.
                let ident = self.idents.get(table).copied().unwrap_or_default();
                let accepted = list
                    .iter()
                    .zip(answer.split(' '))
                    .filter(|(_, answer)| *answer == "Accepted");
                for ((one, _), time) in accepted.zip(times) {
                    self.survivors.push(Item {
                        ident,
                        operation: Operation::Write {
                            table: *table,
                            changes: one.changes.clone(),
                            durability: None,
                        },
                        millis,
                        times: Some(vec![time]),
                        level,
                        odd: false,
                        loose: false,
                        crashes: 0,
                        lost: false,
                    });
                }
                return;
            }
            // It is not in the log, and so promises nothing of what is there before it.
            Operation::Write { .. } if is_refused_whole(operation, answer) => return,
            Operation::Write { table, .. }
            | Operation::Bulk { table, .. }
            | Operation::Import { table, .. }
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
            times: Some(times),
            level,
            odd: false,
            loose: false,
            crashes: 0,
            lost: false,
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
            | Operation::Import { table, .. }
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
        if self.is_unsettled(operation)
            || (changes && self.survivors.odd_count() >= 5)
            || !self.is_online(*table)
        {
            return;
        }
        let level = self.level(operation);
        let real = self.apply(operation, &Properties::new());
        match (operation, real) {
            // Refused, whatever the disk does: it would be refused by the model as well.
            (_, Err(error)) if changes && error.kind() == ErrorKind::InvalidArgument => {}
            (_, Ok(answer)) if is_refused_whole(operation, &answer) => {}
            (_, real) if changes => {
                let answer = real.as_ref().map_or("", String::as_str);
                let times = match probes(operation, answer).next() {
                    None => Some(Vec::new()),
                    // Otherwise it is read when the store is open again.
                    Some(_) => self.times_given(operation, answer).ok(),
                };
                self.survivors.push(Item {
                    ident,
                    operation: operation.clone(),
                    millis,
                    times,
                    level,
                    odd: real.is_err(),
                    loose: false,
                    crashes: 0,
                    lost: false,
                });
            }
            (Operation::Flush { wait: true, .. }, Ok(_)) => self.survivors.settle(ident),
            _ => {}
        }
    }

    fn reopen(&mut self) -> Outcome {
        self.happened.coverage.add("reopenings");
        if self.troubled {
            self.harness.disturb(None);
            self.reopened(Crash::Process, |harness| harness.reopen())
        } else {
            self.harness
                .reopen()
                .map_err(|error| format!("does not open again: {error:?}"))?;
            self.look(0)?;
            self.survivors.closed(&self.model);
            Ok(())
        }
    }

    fn crash(&mut self, crash: Crash) -> Outcome {
        self.happened.coverage.add(format!("crashes: {crash:?}"));
        self.reopened(crash, |harness| harness.crash(crash))
    }

    fn reopened(
        &mut self,
        crash: Crash,
        open: impl FnOnce(&mut dyn Harness) -> Result<()>,
    ) -> Outcome {
        open(self.harness).map_err(|error| format!("does not open after {crash:?}: {error:?}"))?;
        let source = self.harness.source();
        let millis = self.model.now_millis();
        let after_trouble = std::mem::take(&mut self.troubled);
        let table_of = |number: u64| {
            let mut idents = self.idents.iter();
            idents
                .find(|(_, ident)| **ident == number)
                .map(|(table, _)| *table)
        };
        self.survivors.learn_times(&|number, operation| {
            let name = Operation::name_of(table_of(number)?);
            let (row, qualifier) = probes(operation, "").next()?;
            read_probe(&*source, &name, row, qualifier).ok()?
        });
        self.model = self
            .survivors
            .find(crash, after_trouble, &|number, model| {
                let Some(table) = table_of(number) else {
                    return Ok(());
                };
                model.set_millis(millis);
                same_content(&*source, model, table)
            })?;
        self.model.set_millis(millis);
        self.look(0)
    }

    /// Compares everything in a table, and takes over what the contract leaves open.
    fn agree(&self, table: u8) -> Outcome {
        same_content(&*self.harness.source(), &self.model, table)
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
        let (found, expected) = (listed(&*source)?, listed(&self.model)?);
        if found != expected {
            return Err(format!("lists {found:?}, expected {expected:?}"));
        }
        for (table, _) in self.idents.clone() {
            self.agree(table)?;
            let mut random = Random::from_seed(choice.wrapping_add(u64::from(table)));
            for _ in 0..4 {
                let (ranges, options) = some_scan(&mut random);
                let mut attempt = 0;
                let line = loop {
                    attempt += 1;
                    let found = read(&*source, table, &ranges, &options);
                    let expected = read(&self.model, table, &ranges, &options);
                    match compare(&found, &expected) {
                        Ok(line) => break line,
                        // Background work may have dropped a marker since.
                        Err(_) if attempt < ATTEMPTS => self.agree(table)?,
                        Err(what) => {
                            return Err(format!("table {table}, {ranges:?}, {options:?}: {what}"));
                        }
                    }
                };
                self.transcript.push(line);
            }
        }
        self.survivors.advance(&self.model);
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

/// Whether a write was answered so that none of its mutations was written.
fn is_refused_whole(operation: &Operation, answer: &str) -> bool {
    let Operation::Write { changes, .. } = operation else {
        return false;
    };
    batch_of(changes).is_ok_and(|batch| answer == format!("{} refused", batch.mutations()))
}

/// Row and qualifier of the probes of an operation that was answered so.
fn probes<'a>(
    operation: &'a Operation,
    answer: &'a str,
) -> Box<dyn Iterator<Item = (&'a str, &'a str)> + 'a> {
    match operation {
        Operation::Write { changes, .. } => Box::new(
            changes
                .iter()
                .filter(|change| change.family == PROBE)
                .map(|change| (change.row.as_str(), change.qualifier.as_str())),
        ),
        Operation::Conditional { list, .. } => Box::new(
            list.iter()
                .zip(answer.split(' '))
                .filter(|(_, answer)| *answer == "Accepted")
                .filter_map(|(one, _)| one.changes.first())
                .map(|change| (change.row.as_str(), change.qualifier.as_str())),
        ),
        _ => Box::new(std::iter::empty()),
    }
}

pub(super) fn read_probe(
    source: &dyn Source,
    table: &str,
    row: &str,
    qualifier: &str,
) -> Result<Option<i64>> {
    let column = Range::row_column(row, PROBE, qualifier);
    // A table may have a label for entries without one.
    let options = ScanOptions {
        authorizations: all_authorizations(),
        ..ScanOptions::default()
    };
    let mut scan = source.table(table)?.scan(&[column], &options)?;
    let mut batch = Batch::new();
    Ok(scan
        .next_batch(&mut batch)?
        .then(|| batch.iter().next().map(|entry| entry.key.timestamp))
        .flatten())
}

/// Compares everything in a table, seen by a reader who may see it all.
pub(super) fn same_content(source: &dyn Source, model: &MapSource, table: u8) -> Outcome {
    // The table's own filter lets everything pass: what it hides is left open too, and shows once a scan gives the
    // filter another term.
    let everything = [("term", "nothing has this"), ("negate", "true")];
    let everything = everything.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let options = ScanOptions {
        authorizations: all_authorizations(),
        iterator_options: BTreeMap::from([("grep".to_owned(), IteratorOptions::from(everything))]),
        ..ScanOptions::default()
    };
    let found = read(source, table, &[Range::all()], &options);
    match &found {
        Ok(entries) => model
            .reconcile(&Operation::name_of(table), entries, &options)
            .map(drop),
        Err(_) => {
            let expected = read(model, table, &[Range::all()], &options);
            compare(&found, &expected).map(drop)
        }
    }
    .map_err(|what| format!("table {table}: {what}"))
}
