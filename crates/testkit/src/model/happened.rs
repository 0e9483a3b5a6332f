//! How often the situations came up that the model test is about.

use std::collections::{BTreeMap, BTreeSet};

use ostrakon_cell::Properties;

use super::operation::{Expected, Guarded, Operation};
use crate::reference_model::Coverage;

/// A clock that goes on by more than this jumps.
const JUMP_MILLIS: i64 = 60_000;

/// What was done to the tables of a run, by their numbers, which they keep under any name.
#[derive(Debug, Default)]
pub(super) struct Happened {
    pub(super) coverage: Coverage,
    last_millis: Option<i64>,
    /// Tables with writes since the last flush or import.
    written: BTreeSet<u64>,
    /// Tables that two or more files of one import went to, that are clones or have one, of which tablets were merged.
    imported: BTreeSet<u64>,
    cloned: BTreeSet<u64>,
    merged: BTreeSet<u64>,
    /// Names that were given up.
    given_up: BTreeSet<u8>,
}

impl Happened {
    pub(super) fn into_coverage(self) -> Coverage {
        self.coverage
    }

    /// The clock shows this at the next step.
    pub(super) fn clock(&mut self, millis: i64) {
        let Some(last) = self.last_millis.replace(millis) else {
            return;
        };
        let moved = millis - last;
        self.coverage.add(match moved {
            0 => "steps while the clock stands",
            1..=JUMP_MILLIS => "steps while the clock goes on",
            ..0 => "steps back of the clock",
            _ => "jumps of the clock",
        });
    }

    /// Some of the files of a tablet were merged.
    pub(super) fn merged_files(&mut self, ident: u64, properties: &Properties) {
        self.coverage.add("merges of some files");
        for (tables, what) in [
            (&self.imported, "after an import of several"),
            (&self.cloned, "of a clone or its origin"),
            (&self.merged, "after a merge of tablets"),
        ] {
            if tables.contains(&ident) {
                self.coverage.add(format!("merges of some files {what}"));
            }
        }
        for scope in ["minc", "majc"] {
            if properties.contains_key(&format!("table.iterator.{scope}.sum")) {
                self.coverage
                    .add(format!("merges of some files under a combiner at {scope}"));
            }
        }
    }

    /// An operation was answered so. `idents` are the tables before it.
    pub(super) fn done(&mut self, operation: &Operation, answer: &str, idents: &BTreeMap<u8, u64>) {
        let ident = |table: &u8| idents.get(table).copied().unwrap_or_default();
        match operation {
            Operation::Create { table, .. } => self.take_name(*table),
            Operation::Delete { table } => {
                self.given_up.insert(*table);
            }
            Operation::Rename { from, to } => {
                self.take_name(*to);
                self.given_up.insert(*from);
            }
            Operation::Clone { from, to } => {
                self.take_name(*to);
                self.coverage.add("clones");
                // The clone gets the next number.
                let newest = idents.values().max().copied().unwrap_or(0);
                self.cloned.extend([ident(from), newest + 1]);
            }
            Operation::Write { table, .. } => {
                self.written.insert(ident(table));
                if answer != "0 refused" {
                    self.coverage.add("writes with mutations refused");
                }
            }
            Operation::Conditional { table, list } => {
                self.written.insert(ident(table));
                self.conditional(list, answer);
            }
            Operation::Bulk { table, .. } => self.import(ident(table), 1),
            Operation::Import { table, files } => self.import(ident(table), files.len()),
            Operation::Flush { table, .. } => {
                self.written.remove(&ident(table));
            }
            Operation::Merge { table, .. } => {
                self.merged.insert(ident(table));
            }
            Operation::Property { table, changes } => {
                let what = match self.written.contains(&ident(table)) {
                    true => "with writes in memory",
                    false => "otherwise",
                };
                self.coverage.add(format!("changes of properties {what}"));
                for (name, _) in changes {
                    self.coverage.add(format!("changes of {name}"));
                }
            }
            Operation::DeleteRows { .. } => self.coverage.add("deletions of rows"),
            _ => {}
        }
    }

    fn take_name(&mut self, table: u8) {
        if self.given_up.contains(&table) {
            self.coverage.add("names used again");
        }
    }

    fn import(&mut self, ident: u64, files: usize) {
        if self.written.remove(&ident) {
            self.coverage.add("imports beside memory");
        }
        if files > 1 {
            self.coverage.add("imports of several files");
            self.imported.insert(ident);
        }
    }

    fn conditional(&mut self, list: &[Guarded], answer: &str) {
        let mut accepted: Vec<&Guarded> = Vec::new();
        for (one, answer) in list.iter().zip(answer.split(' ')) {
            self.coverage.add(format!("conditions answered {answer}"));
            if one.versions.is_some() {
                self.coverage.add("conditions with an iterator");
            }
            if one.timestamp.is_some() {
                self.coverage.add("conditions with a timestamp");
            }
            if one.expected == Expected::Absent {
                self.coverage.add("conditions of absence");
            }
            if accepted.iter().any(|before| before.row == one.row) {
                self.coverage
                    .add("conditions on a row that their list wrote to");
            }
            if answer == "MalformedVisibility" && !accepted.is_empty() {
                self.coverage.add("malformed labels behind what is written");
            }
            if answer == "Accepted" {
                accepted.push(one);
            }
        }
        if accepted.len() > 1 {
            self.coverage
                .add("conditional lists of which several are written");
        }
    }
}
