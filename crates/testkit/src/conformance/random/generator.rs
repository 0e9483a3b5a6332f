//! The state of a generator, and which operation comes next.

use ostrakon_store::clock::Random;

use super::super::script::{EXPLICIT, Script};
use super::known::{Column, Table};

pub(super) const FAMILIES: [&str; 4] = ["f", "g", "h\\xff", "\\e"];
pub(super) const QUALIFIERS: [&str; 4] = ["q", "r", "s", "\\e"];
pub(super) const LABELS: [&str; 8] = [
    "",
    "a",
    "b",
    "a&b",
    "a|b",
    "a&(b|c)",
    "b&a",
    "\"x:y\"|(b&c)",
];
pub(super) const READERS: [&str; 7] = ["", "a", "b", "a,b", "a,b,c", "c", "x:y,b"];

/// How many different keys a script has: few, so that versions and markers meet, or many.
pub(super) struct Shape {
    rows: u64,
    families: usize,
    qualifiers: usize,
    labels: usize,
    pub(super) times: u64,
}

pub(super) struct Generator {
    pub(super) random: Random,
    pub(super) shape: Shape,
    lines: Vec<String>,
    /// Only the script flushes and compacts, so that its answers may depend on it.
    pub(super) explicit: bool,
    pub(super) tables: Vec<Table>,
    /// The script's namespace, with a dot behind it, while it exists.
    pub(super) namespace: Option<String>,
    pub(super) named: u64,
    pub(super) written: u64,
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
        labels: one_of([1, 2, 8]) as usize,
        times: one_of([5, 20, 100]),
    };
    let mut generator = Generator {
        random,
        shape,
        lines: Vec::new(),
        explicit: false,
        tables: Vec::new(),
        namespace: None,
        named: 0,
        written: 0,
    };
    generator.explicit = generator.random.one_in(2);
    if generator.explicit {
        generator.line(EXPLICIT);
    }
    if generator.random.one_in(4) {
        generator.create_namespace();
    }
    generator.create();
    if generator.random.one_in(3) {
        generator.create();
    }
    for _ in 0..12 + generator.below(18) {
        generator.next();
    }
    generator.show_all();
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

    pub(super) fn name(&self, at: usize) -> String {
        self.tables
            .get(at)
            .map_or_else(|| "nowhere".to_owned(), |table| table.name.clone())
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

    /// Takes the table out while it is used; one that is not there is a new one without a place.
    pub(super) fn with_table(&mut self, at: usize, act: impl FnOnce(&mut Self, &mut Table)) {
        let mut table = match self.tables.get_mut(at) {
            Some(table) => std::mem::take(table),
            None => Table::named("nowhere"),
        };
        act(self, &mut table);
        if let Some(place) = self.tables.get_mut(at) {
            *place = table;
        }
    }

    fn next(&mut self) {
        let at = if self.random.one_in(40) {
            usize::MAX
        } else {
            self.below(self.tables.len() as u64) as usize
        };
        if self.tables.get(at).is_some_and(|table| table.offline) {
            return self.next_offline(at);
        }
        match self.below(110) {
            0..34 => self.write(at),
            34..43 => self.conditional(at),
            43..62 => self.scan(at, true),
            62..69 => self.scan(at, false),
            69..77 => self.flush(at),
            77..82 => self.compact(at),
            82..85 => self.split(at),
            85..87 => self.merge(at),
            87..89 => self.delete_rows(at),
            89..92 => self.clone_table(at),
            92..94 => self.groups(at),
            94..98 => self.property(at),
            98..101 => self.attach_or_detach(at),
            101 => self.rename(at),
            102 | 103 => self.offline(at),
            104 => self.drop_table(at),
            105 => self.create(),
            106 => self.create_again(at),
            _ => self.change_namespace(),
        }
    }

    /// What a table off-line answers to; other operations on it have a script.
    fn next_offline(&mut self, at: usize) {
        match self.below(10) {
            0..3 => self.online(at),
            3 => self.write(at),
            4 => self.conditional(at),
            5 => self.scan(at, true),
            6 => self.scan(at, false),
            7 => self.property(at),
            8 => self.rename(at),
            _ => self.drop_table(at),
        }
    }

    /// Everything that is left at the end.
    fn show_all(&mut self) {
        for at in 0..self.tables.len() {
            if self.tables.get(at).is_some_and(|table| table.offline) {
                self.online(at);
            }
            let logical = self.tables.get(at).is_some_and(|table| table.logical);
            let times = if logical { " times=no" } else { "" };
            let name = self.name(at);
            self.line(format!("scan {name} auths=a,b,c,x:y{times}"));
        }
        self.line("tables");
    }
}
