//! Random scans and conditions.

use super::generate::{FAMILIES, Generator, QUALIFIERS, READERS, Table};

/// A scan with its range, columns and iterators.
pub(super) fn scan(random: &mut Generator, table: &Table, ordered: bool) {
    let mut line = format!(
        "{} {}",
        if ordered { "scan" } else { "batch-scan" },
        table.name
    );
    let reader = random.pick(&READERS);
    if !reader.is_empty() {
        line += &format!(" auths={reader}");
    }
    if table.logical {
        line += " times=no";
    }
    if ordered && random.below(4) == 0 {
        line += " isolated=yes";
    }
    random.line(line);
    let ranges = if ordered {
        random.below(3).min(1)
    } else {
        random.below(4)
    };
    let mut narrow = false;
    for _ in 0..ranges {
        let (line, inside) = range(random);
        narrow |= inside;
        random.line(line);
    }
    // A column outside a range that lies in one row is not compared.
    if !narrow && random.below(3) == 0 {
        for _ in 0..=random.below(2) {
            let mut line = format!("  column {}", random.pick(&FAMILIES));
            if random.below(2) == 0 {
                line += &format!(" {}", random.pick(&QUALIFIERS));
            }
            random.line(line);
        }
    }
    if random.below(3) == 0 {
        iterators(random, table);
    }
}

/// A range, and whether it may lie inside one row.
fn range(random: &mut Generator) -> (String, bool) {
    match random.below(8) {
        0 => ("  range all".to_owned(), false),
        1 => (format!("  range exact {}", random.row()), false),
        2 => {
            let (row, family) = (random.row(), random.pick(&FAMILIES));
            (format!("  range exact {row} {family}"), true)
        }
        3 => {
            let (row, family, qualifier) = (
                random.row(),
                random.pick(&FAMILIES),
                random.pick(&QUALIFIERS),
            );
            (format!("  range exact {row} {family} {qualifier}"), true)
        }
        4 => (
            format!("  range prefix r0{}", random.pick(&["", "\\e", "5"])),
            false,
        ),
        5 | 6 => {
            let (start, end) = ordered(random);
            let (start, end) = (format!("r{start:02}"), format!("r{end:02}"));
            (borders(random, "rows", &start, &end), false)
        }
        _ => {
            let (start, end) = ordered(random);
            let (start, end) = (key(random, start), key(random, end));
            (borders(random, "keys", &start, &end), true)
        }
    }
}

/// Two numbers of rows, the second greater: a range that is swapped or excludes its only row has a script.
fn ordered(random: &mut Generator) -> (u64, u64) {
    let start = random.below(11);
    (start, start + 1 + random.below(11 - start))
}

fn key(random: &mut Generator, row: u64) -> String {
    let mut key = format!("r{row:02}");
    for part in 0..random.below(5) {
        key += ",";
        key += match part {
            0 => random.pick(&FAMILIES),
            1 => random.pick(&QUALIFIERS),
            2 => random.pick(&["\\e", "a", "b"]),
            _ => random.pick(&["20", "50", "90"]),
        };
    }
    key
}

fn borders(random: &mut Generator, kind: &str, start: &str, end: &str) -> String {
    let mut line = format!("  range {kind}");
    if random.below(4) > 0 {
        line += &format!(" {}={start}", random.pick(&["from", "after"]));
    }
    if random.below(4) > 0 {
        line += &format!(" {}={end}", random.pick(&["to", "before"]));
    }
    line
}

fn iterators(random: &mut Generator, table: &Table) {
    let mut choices = vec![
        "grep 30 GrepIterator term=v1",
        "grep 30 GrepIterator term=1 negate=true",
        "re 31 RegExFilter colfRegex=[fg]",
        "re 31 RegExFilter rowRegex=r0[0-5] negate=true",
        "re 31 RegExFilter valueRegex=.*[02468] colqRegex=q orFields=true",
        "age 32 AgeOffFilter ttl=40 currentTime=100",
        "req 33 ReqVisFilter",
        "more 19 VersioningIterator maxVersions=2",
        "few 21 VersioningIterator maxVersions=1",
    ];
    if table.numeric {
        choices.extend([
            "sum 15 SummingCombiner type=STRING all=true",
            "max 15 MaxCombiner type=STRING columns=f,g:q",
            "min 34 MinCombiner type=STRING all=true",
        ]);
    }
    if table.timed {
        // Its values hold times.
        choices.push("whole 50 WholeRowIterator");
    }
    let first = random.pick(&choices);
    let second = random.pick(&choices);
    random.line(format!("  iterator {first}").replace("f,g:q", "f\\x2cg:q"));
    let name = |choice: &str| choice.split(' ').next().map(str::to_owned);
    if random.below(3) == 0 && name(first) != name(second) {
        random.line(format!("  iterator {second}").replace("f,g:q", "f\\x2cg:q"));
    }
}

/// A condition on some column of a row, often one that holds.
pub(super) fn condition(random: &mut Generator, table: &Table, row: &str) -> String {
    let mut known: Vec<_> = table
        .values
        .iter()
        .filter(|(column, _)| column.0 == row)
        .collect();
    known.sort();
    let (column, value) = if known.is_empty() || random.below(3) == 0 {
        (random.column(row), None)
    } else {
        let (column, value) = known[random.below(known.len() as u64) as usize];
        (column.clone(), Some(value.clone()))
    };
    let (_, family, qualifier, label) = column;
    let mut line = format!("  if {family} {qualifier}");
    if !label.is_empty() {
        line += &format!(" label={label}");
    }
    match (random.below(8), value) {
        (0, _) => line += " value=wrong",
        (1..7, Some(value)) => line += &format!(" value={value}"),
        _ => {}
    }
    if table.timed && random.below(6) == 0 {
        line += &format!(" time={}", random.below(100));
    }
    line
}
