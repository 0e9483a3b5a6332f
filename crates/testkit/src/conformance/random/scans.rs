//! Random scans and conditions.

use super::generator::{FAMILIES, Generator, QUALIFIERS, READERS};
use super::known::Table;

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
    let mut inside = Inside::Table;
    for _ in 0..ranges {
        let (line, lies) = range(random);
        inside = match lies {
            // A column has to lie in every one of several ranges.
            Inside::Family(_) if ranges > 1 => Inside::Row,
            _ => inside.max(lies),
        };
        random.line(line);
    }
    columns(random, inside);
    if random.below(3) == 0 {
        iterators(random, table);
    }
}

/// Where a range lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Inside {
    /// It is the whole table.
    Table,
    /// It takes rows whole.
    Rows,
    /// It is this family of a row.
    Family(&'static str),
    /// It may lie inside of one row.
    Row,
}

fn columns(random: &mut Generator, inside: Inside) {
    // A column outside of a range that lies in one row is not compared.
    if inside == Inside::Row || random.below(3) > 0 {
        return;
    }
    let mut chosen: Vec<(&str, bool)> = Vec::new();
    for count in 0..=random.below(2) {
        let family = match inside {
            Inside::Family(family) => family,
            _ => random.pick(&FAMILIES),
        };
        let mut line = format!("  column {family}");
        let is_family = random.below(2) != 0;
        if !is_family {
            line += &format!(" {}", random.pick(&QUALIFIERS));
        }
        // A family and a column of it are not compared in a range that lies in one row, or whose last row is in it.
        let is_compared = match inside {
            Inside::Table => true,
            Inside::Rows => !chosen.contains(&(family, !is_family)),
            Inside::Family(_) | Inside::Row => count == 0,
        };
        if is_compared {
            chosen.push((family, is_family));
            random.line(line);
        }
    }
}

/// A range, and where it lies.
fn range(random: &mut Generator) -> (String, Inside) {
    match random.below(8) {
        0 => ("  range all".to_owned(), Inside::Table),
        1 => (format!("  range exact {}", random.row()), Inside::Rows),
        2 => {
            let (row, family) = (random.row(), random.pick(&FAMILIES));
            (
                format!("  range exact {row} {family}"),
                Inside::Family(family),
            )
        }
        3 => {
            let (row, family, qualifier) = (
                random.row(),
                random.pick(&FAMILIES),
                random.pick(&QUALIFIERS),
            );
            (
                format!("  range exact {row} {family} {qualifier}"),
                Inside::Row,
            )
        }
        4 => (
            format!("  range prefix r0{}", random.pick(&["", "\\e", "5"])),
            Inside::Rows,
        ),
        5 | 6 => {
            let (start, end) = ordered(random);
            let (start, end) = (format!("r{start:02}"), format!("r{end:02}"));
            (borders(random, "rows", &start, &end), Inside::Rows)
        }
        _ => {
            let (start, end) = ordered(random);
            let (start, end) = (key(random, start), key(random, end));
            (borders(random, "keys", &start, &end), Inside::Row)
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
        "grep 30 GrepIterator term=b matchColumnVisibility=true matchValue=false",
        "re 31 RegExFilter colfRegex=[fg]",
        "re 31 RegExFilter rowRegex=r0[0-5] negate=true",
        "re 31 RegExFilter valueRegex=.*[02468] colqRegex=q orFields=true",
        "re 31 RegExFilter valueRegex=1[0-9]* matchSubstring=true encoding=ISO-8859-1",
        "age 32 AgeOffFilter ttl=40 currentTime=100",
        "req 33 ReqVisFilter",
        "req 33 ReqVisFilter negate=true",
        "more 19 VersioningIterator maxVersions=2",
        "few 21 VersioningIterator maxVersions=1",
    ]
    .into_iter()
    .map(str::to_owned)
    .collect::<Vec<String>>();
    if let Some(encoding) = table.numeric {
        let lossy = if table.lossy { " lossy=true" } else { "" };
        for combiner in [
            "sum 15 SummingCombiner all=true",
            "max 15 MaxCombiner columns=f\\x2cg:q",
            "min 34 MinCombiner all=true",
        ] {
            choices.push(format!("{combiner} type={encoding}{lossy}"));
        }
    }
    if table.timed {
        // Its values hold times.
        choices.push("whole 50 WholeRowIterator".to_owned());
    }
    let mut pick = || choices[random.below(choices.len() as u64) as usize].as_str();
    let (first, second) = (pick(), pick());
    random.line(format!("  iterator {first}"));
    let name = |choice: &str| choice.split(' ').next().map(str::to_owned);
    if random.below(3) == 0 && name(first) != name(second) && !same_priority(first, second) {
        random.line(format!("  iterator {second}"));
    }
    options(random, table, first);
}

fn same_priority(first: &str, second: &str) -> bool {
    first.split(' ').nth(1) == second.split(' ').nth(1)
}

/// Options over those of the scan's iterators, and of the table's.
fn options(random: &mut Generator, table: &Table, first: &str) {
    let name = first.split(' ').next().unwrap_or_default();
    if random.below(6) == 0 && ["grep", "re", "age", "req"].contains(&name) {
        let negate = random.pick(&["true", "false"]);
        random.line(format!("  options {name} negate={negate}"));
    }
    // What was dropped when a file was written depends on compactions, and differs where markers were.
    let kept = table.all_versions || (random.explicit && table.no_deletes);
    if random.below(8) == 0 && kept {
        let versions = 1 + random.below(3);
        random.line(format!("  options vers maxVersions={versions}"));
    }
}

/// A condition on some column of a row, often one that holds.
pub(super) fn condition(random: &mut Generator, table: &Table, row: &str) {
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
    random.line(line);
    if random.below(8) == 0 {
        let iterator = random.pick(&[
            "grep 30 GrepIterator term=v1",
            "re 31 RegExFilter valueRegex=.*[02468]",
            "age 32 AgeOffFilter ttl=40 currentTime=100",
            "more 19 VersioningIterator maxVersions=2",
        ]);
        random.line(format!("  iterator {iterator}"));
    }
}
