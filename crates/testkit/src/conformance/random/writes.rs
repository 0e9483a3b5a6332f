//! Random mutations, plain and conditional.

use std::collections::HashMap;

use super::generator::{Generator, READERS};
use super::known::{Column, Table};
use super::scans;

/// Where explicit times of tables that count begin: no count comes near.
const ABOVE_COUNTS: i64 = 1_000_000;

impl Generator {
    /// A time for an update of a column, `None` for the source's.
    fn time(&mut self, table: &mut Table, column: &Column, delete: bool) -> Option<i64> {
        let source = !table.timed && self.random.one_in(2);
        // Whether a marker above the counts is still there depends on compactions.
        let count = table.logical && delete && !self.explicit;
        if source || count {
            if delete {
                table.markers.insert(column.clone(), i64::MAX);
            }
            return None;
        }
        let marked = table.markers.get(column).copied();
        for _ in 0..8 {
            let mut time = (self.below(self.shape.times) * (100 / self.shape.times)) as i64;
            if table.logical {
                time = if time == 0 { 0 } else { time + ABOVE_COUNTS };
            }
            // Which of two equal keys in two files is the newer is not compared.
            let equal = table.is_settled(column, time);
            // Whether a marker is still there depends on compactions.
            let hidden = !self.explicit && marked.is_some_and(|marker| time <= marker);
            if equal || hidden {
                continue;
            }
            table.touch(column, time, delete);
            return Some(time);
        }
        if delete && !table.timed {
            table.markers.insert(column.clone(), i64::MAX);
        }
        None
    }

    fn value(&mut self, table: &Table) -> String {
        self.written += 1;
        let Some(encoding) = table.numeric else {
            let more = if self.random.one_in(20) {
                self.below(3000) as usize
            } else {
                0
            };
            return format!("v{}{}", self.written, "x".repeat(more));
        };
        if table.lossy && self.random.one_in(4) {
            return self.pick(&["none", "\\e", "1x"]).to_owned();
        }
        let number = self.below(120) as i64 - 20;
        let bytes = match encoding {
            "FIXEDLEN" => number.to_be_bytes().to_vec(),
            // Numbers from -112 to 127 take one byte.
            "VARLEN" => vec![number as u8],
            _ => return number.to_string(),
        };
        bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect()
    }

    /// The updates of one mutation. `touched` are the columns of the whole batch, with whether a marker without a
    /// time is among their updates.
    fn updates(&mut self, table: &mut Table, row: &str, touched: &mut HashMap<Column, bool>) {
        let mut some = false;
        for _ in 0..=self.below(4) {
            let column = self.column(row);
            let delete = self.random.one_in(5) && !table.no_deletes;
            // A put behind a marker of one batch differs on purpose.
            if touched.get(&column).is_some_and(|deleted| *deleted) {
                continue;
            }
            let time = self.time(table, &column, delete);
            if time.is_none() && table.timed {
                continue;
            }
            *touched.entry(column.clone()).or_default() |= delete && time.is_none();
            some = true;
            self.update(table, &column, delete, time);
        }
        if !some {
            // A mutation without updates is not compared.
            let column = (row.to_owned(), "only", "q", "");
            self.written += 1;
            let time = table.timed.then(|| 1_000_000 + self.written as i64);
            self.update(table, &column, false, time);
        }
    }

    fn update(&mut self, table: &mut Table, column: &Column, delete: bool, time: Option<i64>) {
        let (_, family, qualifier, label) = column;
        let mut line = if delete {
            table.values.remove(column);
            format!("  delete {family} {qualifier}")
        } else {
            let value = self.value(table);
            table.values.insert(column.clone(), value.clone());
            format!("  put {family} {qualifier} {value}")
        };
        if !label.is_empty() {
            line += &format!(" label={label}");
        }
        if let Some(time) = time {
            line += &format!(" time={time}");
        }
        self.line(line);
    }

    pub(super) fn write(&mut self, at: usize) {
        self.with_table(at, |this, table| {
            this.line(format!("write {}", table.name));
            let mut touched = HashMap::new();
            for _ in 0..=this.below(5) {
                let row = this.row();
                this.line(format!("  row {row}"));
                this.updates(table, &row, &mut touched);
            }
        });
    }

    pub(super) fn conditional(&mut self, at: usize) {
        self.with_table(at, |this, table| {
            let reader = this.pick(&READERS);
            let auths = if reader.is_empty() {
                String::new()
            } else {
                format!(" auths={reader}")
            };
            this.line(format!("conditional {}{auths}", table.name));
            let mut touched = HashMap::new();
            for _ in 0..=this.below(3) {
                let row = this.row();
                this.line(format!("  row {row}"));
                for _ in 0..=this.below(2) {
                    scans::condition(this, table, &row);
                }
                this.updates(table, &row, &mut touched);
            }
        });
    }

    pub(super) fn scan(&mut self, at: usize, ordered: bool) {
        self.with_table(at, |this, table| scans::scan(this, table, ordered));
    }
}
