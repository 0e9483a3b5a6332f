//! Random scripts from a seed.
//!
//! What the two sides need not agree on is left out: which of two equal keys in different files is
//! newer, what a marker hides after a compaction that only one side ran, times that the source sets.

use std::collections::{HashMap, HashSet};

use ostrakon_store::clock::Random;

use super::random_scan;
use super::script::{EXPLICIT, Script};

pub(super) const FAMILIES: [&str; 4] = ["f", "g", "h\\xff", "\\e"];
pub(super) const QUALIFIERS: [&str; 4] = ["q", "r", "s", "\\e"];
pub(super) const LABELS: [&str; 6] = ["", "a", "b", "a&b", "a|b", "a&(b|c)"];
pub(super) const READERS: [&str; 6] = ["", "a", "b", "a,b", "a,b,c", "c"];

/// Row, family, qualifier and label, as words.
pub(super) type Column = (String, &'static str, &'static str, &'static str);

/// What is known of a table.
#[derive(Debug, Clone, Default)]
pub(super) struct Table {
    pub(super) name: String,
    /// Counts instead of a clock: no explicit times, and scans do not show any.
    pub(super) logical: bool,
    /// Every update has a time.
    pub(super) timed: bool,
    /// Values are decimal numbers, and an iterator adds them up or compares them.
    pub(super) numeric: bool,
    /// Rows were deleted, which the two sides leave different split points after.
    rows_deleted: bool,
    /// The highest time of a marker of each column.
    markers: HashMap<Column, i64>,
    /// Times of columns that may lie in files, or were deleted.
    settled: HashSet<(Column, i64)>,
    /// Those in memory.
    fresh: HashSet<(Column, i64)>,
    /// What was written last.
    pub(super) values: HashMap<Column, String>,
}

impl Table {
    /// Memory may be in files from now on.
    fn settle(&mut self) {
        self.settled.extend(self.fresh.drain());
    }
}

/// How many different keys a script has: few, so that versions and markers meet, or many.
struct Shape {
    rows: u64,
    families: usize,
    qualifiers: usize,
    labels: usize,
    times: u64,
}

pub(super) struct Generator {
    pub(super) random: Random,
    shape: Shape,
    lines: Vec<String>,
    /// Only the script flushes and compacts, so that its answers may depend on it.
    explicit: bool,
    tables: Vec<Table>,
    named: u64,
    written: u64,
}

/// The script of a seed.
#[must_use]
pub fn generate(seed: u64) -> Script {
    let mut random = Random::from_seed(seed);
    let mut one_of = |from: [u64; 3]| from[random.below(3) as usize];
    let shape = Shape {
        rows: one_of([2, 5, 12]),
        families: one_of([1, 2, 4]) as usize,
        qualifiers: one_of([1, 2, 4]) as usize,
        labels: one_of([1, 2, 6]) as usize,
        times: one_of([5, 20, 100]),
    };
    let mut generator = Generator {
        random,
        shape,
        lines: Vec::new(),
        explicit: false,
        tables: Vec::new(),
        named: 0,
        written: 0,
    };
    generator.explicit = generator.random.one_in(2);
    if generator.explicit {
        generator.line(EXPLICIT);
    }
    generator.create();
    if generator.random.one_in(3) {
        generator.create();
    }
    for _ in 0..12 + generator.below(18) {
        generator.next();
    }
    for at in 0..generator.tables.len() {
        let times = if generator.tables.get(at).is_some_and(|table| table.logical) {
            " times=no"
        } else {
            ""
        };
        let name = generator.name(at);
        generator.line(format!("scan {name} auths=a,b,c{times}"));
    }
    generator.line("tables");
    Script::new(format!("seed {seed}"), generator.lines)
}

impl Generator {
    pub(super) fn below(&mut self, end: u64) -> u64 {
        self.random.below(end)
    }

    pub(super) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.random.below(from.len() as u64) as usize]
    }

    pub(super) fn line(&mut self, line: impl Into<String>) {
        self.lines.push(line.into());
    }

    fn name(&self, at: usize) -> String {
        self.tables
            .get(at)
            .map_or_else(|| "nowhere".to_owned(), |table| table.name.clone())
    }

    fn new_name(&mut self) -> String {
        self.named += 1;
        format!("t{}", self.named)
    }

    pub(super) fn row(&mut self) -> String {
        match self.below(24) {
            0 => "r\\x00".to_owned(),
            1 => "r05\\x00x".to_owned(),
            2 => "\\xff".to_owned(),
            // Spread, so that the script's splits fall between them.
            _ => format!(
                "r{:02}",
                self.below(self.shape.rows) * (12 / self.shape.rows)
            ),
        }
    }

    fn next(&mut self) {
        let at = if self.random.one_in(40) {
            usize::MAX
        } else {
            self.below(self.tables.len() as u64) as usize
        };
        match self.below(100) {
            0..34 => self.write(at),
            34..43 => self.conditional(at),
            43..62 => self.scan(at, true),
            62..69 => self.scan(at, false),
            69..77 => self.flush(at),
            77..82 => self.compact(at),
            82..85 => self.split(at),
            85..87 => self.merge(at),
            87..89 => self.delete_rows(at),
            89..91 => self.clone_table(at),
            91..93 => self.groups(at),
            93..96 => self.property(at),
            96 => self.rename(at),
            97 => self.offline(at),
            98 => self.drop_table(at),
            _ => self.create(),
        }
    }

    fn create(&mut self) {
        if self.tables.len() >= 3 {
            return;
        }
        let mut table = Table {
            name: self.new_name(),
            ..Table::default()
        };
        table.logical = self.random.one_in(6);
        table.timed = !table.logical && self.random.one_in(2);
        table.numeric = self.random.one_in(3);
        let mut line = format!("create {}", table.name);
        if table.logical {
            line += " time=logical";
        }
        let bare = table.numeric || self.random.one_in(3);
        if bare {
            line += " bare=yes";
        }
        let splits: HashSet<u64> = (0..self.below(3)).map(|_| self.below(12)).collect();
        let mut splits: Vec<u64> = splits.into_iter().collect();
        splits.sort_unstable();
        splits
            .iter()
            .for_each(|row| line += &format!(" split=r{row:02}"));
        self.line(line);
        if table.numeric {
            let class = self.pick(&["SummingCombiner", "MinCombiner", "MaxCombiner"]);
            let scopes = self.scopes();
            self.line(format!(
                "  iterator combine 10 {class} {scopes} type=STRING all=true"
            ));
        } else if bare && self.random.one_in(2) {
            let (scopes, versions) = (self.scopes(), 1 + self.below(3));
            self.line(format!(
                "  iterator vers 20 VersioningIterator {scopes} maxVersions={versions}"
            ));
        }
        if self.random.one_in(8) {
            let scopes = self.scopes();
            self.line(format!(
                "  iterator age 5 AgeOffFilter {scopes} ttl=60 currentTime=100"
            ));
        }
        self.tables.push(table);
    }

    /// All scopes, or some where nothing but the script flushes and compacts.
    fn scopes(&mut self) -> &'static str {
        if self.explicit && self.random.one_in(2) {
            self.pick(&[
                "scan",
                "minc",
                "majc",
                "scan,minc",
                "minc,majc",
                "scan,majc",
            ])
        } else {
            "scan,minc,majc"
        }
    }

    /// A time for an update of a column, `None` for the source's.
    fn time(&mut self, table: &mut Table, column: &Column, delete: bool) -> Option<i64> {
        let marked = table.markers.get(column).copied();
        if table.logical || (!table.timed && self.random.one_in(2)) {
            if delete {
                table.markers.insert(column.clone(), i64::MAX);
            }
            return None;
        }
        for _ in 0..8 {
            let time = (self.below(self.shape.times) * (100 / self.shape.times)) as i64;
            // Which of two equal keys in two files is the newer is not compared.
            let equal = table.settled.contains(&(column.clone(), time));
            // Whether a marker is still there depends on compactions.
            let hidden = !self.explicit && marked.is_some_and(|marker| time <= marker);
            if equal || hidden {
                continue;
            }
            table.fresh.insert((column.clone(), time));
            if delete {
                let marker = table.markers.entry(column.clone()).or_insert(time);
                *marker = time.max(*marker);
            }
            return Some(time);
        }
        None
    }

    fn value(&mut self, numeric: bool) -> String {
        self.written += 1;
        if numeric {
            (self.below(120) as i64 - 20).to_string()
        } else if self.random.one_in(20) {
            let more = self.below(3000) as usize;
            format!("v{}{}", self.written, "x".repeat(more))
        } else {
            format!("v{}", self.written)
        }
    }

    pub(super) fn column(&mut self, row: &str) -> Column {
        let Shape {
            families,
            qualifiers,
            labels,
            ..
        } = self.shape;
        (
            row.to_owned(),
            self.pick(&FAMILIES[..families]),
            self.pick(&QUALIFIERS[..qualifiers]),
            self.pick(&LABELS[..labels]),
        )
    }

    /// The updates of one mutation. `touched` are the columns of the whole batch.
    fn updates(&mut self, table: &mut Table, row: &str, touched: &mut HashMap<Column, bool>) {
        let mut some = false;
        for _ in 0..=self.below(4) {
            let column = self.column(row);
            let mut delete = self.random.one_in(5);
            // A sum over entries of different times depends on what was added up before.
            if table.numeric && !self.explicit {
                delete = false;
            }
            // One batch gives all its updates one time: then a put and a delete of one column, in whatever
            // order, are not compared.
            if touched.get(&column).is_some_and(|before| *before || delete) {
                continue;
            }
            let time = self.time(table, &column, delete);
            if time.is_none() && table.timed {
                continue;
            }
            touched.insert(column.clone(), delete && time.is_none());
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
            let value = self.value(table.numeric);
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

    /// Takes the table out while it is written to; one that is not there is a new one without a place.
    fn with_table(&mut self, at: usize, act: impl FnOnce(&mut Self, &mut Table)) {
        let mut table = match self.tables.get_mut(at) {
            Some(table) => std::mem::take(table),
            None => Table {
                name: "nowhere".to_owned(),
                ..Table::default()
            },
        };
        act(self, &mut table);
        if let Some(place) = self.tables.get_mut(at) {
            *place = table;
        }
    }

    fn write(&mut self, at: usize) {
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

    fn conditional(&mut self, at: usize) {
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
                    let line = random_scan::condition(this, table, &row);
                    this.line(line);
                }
                this.updates(table, &row, &mut touched);
            }
        });
    }

    fn scan(&mut self, at: usize, ordered: bool) {
        self.with_table(at, |this, table| random_scan::scan(this, table, ordered));
    }

    fn flush(&mut self, at: usize) {
        let name = self.name(at);
        self.line(format!("flush {name}"));
        self.settle(at);
    }

    fn settle(&mut self, at: usize) {
        if let Some(table) = self.tables.get_mut(at) {
            table.settle();
        }
    }

    /// What Accumulo flushes or compacts on the way is in files before, so that both sides begin alike.
    fn prepare(&mut self, at: usize, compact: bool) {
        if self.explicit {
            let name = self.name(at);
            self.line(format!(
                "{} {name}",
                if compact { "compact" } else { "flush" }
            ));
        }
        self.settle(at);
    }

    fn borders(&mut self) -> String {
        let (mut start, mut end) = (self.below(12), self.below(12));
        if start > end && !self.random.one_in(10) {
            std::mem::swap(&mut start, &mut end);
        }
        let mut words = String::new();
        if !self.random.one_in(3) {
            words += &format!(" start=r{start:02}");
        }
        if !self.random.one_in(3) {
            words += &format!(" end=r{:02}", if start == end { end + 1 } else { end });
        }
        words
    }

    fn compact(&mut self, at: usize) {
        let name = self.name(at);
        let mut line = format!("compact {name}");
        let borders = self.explicit && self.random.one_in(3);
        if borders {
            line += &self.borders();
        }
        if self.explicit && self.random.one_in(6) {
            line += " flush=no";
        } else if borders {
            // Accumulo flushes the tablets in between alone.
            self.line(format!("flush {name}"));
        }
        self.line(line);
        if self.explicit && self.random.one_in(4) {
            let iterator = self.pick(&[
                "grep 7 GrepIterator term=v1 negate=true",
                "age 6 AgeOffFilter ttl=50 currentTime=100",
                "re 25 RegExFilter colqRegex=q matchSubstring=true",
            ]);
            self.line(format!("  iterator {iterator}"));
        }
        self.settle(at);
    }

    fn split(&mut self, at: usize) {
        self.prepare(at, false);
        let name = self.name(at);
        let rows: Vec<String> = (0..=self.below(2))
            .map(|_| format!("r{:02}", self.below(12)))
            .collect();
        self.line(format!("split {name} {}", rows.join(" ")));
        if self.tables.get(at).is_some_and(|table| !table.rows_deleted) {
            self.line(format!("splits {name}"));
        }
    }

    fn merge(&mut self, at: usize) {
        self.prepare(at, true);
        let (name, borders) = (self.name(at), self.borders());
        self.line(format!("merge {name}{borders}"));
        if self.tables.get(at).is_some_and(|table| !table.rows_deleted) {
            self.line(format!("splits {name}"));
        }
    }

    fn delete_rows(&mut self, at: usize) {
        self.prepare(at, true);
        let (name, borders) = (self.name(at), self.borders());
        self.line(format!("delete-rows {name}{borders}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.rows_deleted = true;
        }
    }

    fn clone_table(&mut self, at: usize) {
        let name = self.name(at);
        if self.tables.len() >= 3 {
            return;
        }
        let to = self.new_name();
        let memory = if self.explicit && self.random.one_in(3) {
            " flush=no"
        } else {
            ""
        };
        self.line(format!("clone {name} {to}{memory}"));
        self.settle(at);
        if let Some(table) = self.tables.get(at) {
            let copy = Table {
                name: to,
                ..table.clone()
            };
            self.tables.push(copy);
        }
    }

    fn groups(&mut self, at: usize) {
        let name = self.name(at);
        let groups = self.pick(&[
            "",
            " group=one,f",
            " group=one,f group=two,g,h\\xff",
            " group=two,g",
        ]);
        self.line(format!("groups {name}{groups}"));
    }

    fn property(&mut self, at: usize) {
        let name = self.name(at);
        let change = self.pick(&[
            "set NAME table.bloom.enabled true",
            "set NAME table.file.compress.blocksize 1K",
            "set NAME table.security.scan.visibility.default b",
            "unset NAME table.security.scan.visibility.default",
            "set NAME table.custom.x y",
            "properties NAME table.custom.",
        ]);
        self.line(change.replace("NAME", &name));
    }

    fn rename(&mut self, at: usize) {
        let (name, to) = (self.name(at), self.new_name());
        self.line(format!("rename {name} {to}"));
        if let Some(table) = self.tables.get_mut(at) {
            table.name = to;
        }
    }

    fn offline(&mut self, at: usize) {
        self.prepare(at, false);
        let name = self.name(at);
        self.line(format!("offline {name}"));
        self.line(format!("scan {name}"));
        self.line(format!("online {name}"));
    }

    fn drop_table(&mut self, at: usize) {
        if self.tables.len() < 2 || at >= self.tables.len() {
            return;
        }
        let table = self.tables.remove(at);
        self.line(format!("drop {}", table.name));
    }
}
