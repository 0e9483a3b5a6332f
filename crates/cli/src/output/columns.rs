//! Aligned columns for people.

use std::io::{self, Write};

use unicode_width::UnicodeWidthStr as _;

/// Rows of text under a header, aligned when written. For lists that fit in memory.
#[derive(Debug)]
pub(crate) struct Columns {
    /// Names; one that begins with `>` stands for numbers and is aligned to the right.
    head: Vec<String>,
    rows: Vec<Vec<String>>,
}

impl Columns {
    /// A table with these column names.
    pub(crate) fn new(head: &[impl AsRef<str>]) -> Self {
        Self {
            head: head.iter().map(|name| name.as_ref().to_owned()).collect(),
            rows: Vec::new(),
        }
    }

    /// Adds a row: one text for each column.
    pub(crate) fn row(&mut self, cells: Vec<String>) {
        debug_assert_eq!(cells.len(), self.head.len(), "one cell per column");
        self.rows.push(cells);
    }

    /// Writes the header and the rows.
    pub(crate) fn write(&self, out: &mut dyn Write) -> io::Result<()> {
        let names: Vec<String> = self
            .head
            .iter()
            .map(|name| name.trim_start_matches('>').to_owned())
            .collect();
        let widths: Vec<usize> = names
            .iter()
            .enumerate()
            .map(|(at, name)| {
                let cells = self.rows.iter().filter_map(|row| row.get(at));
                cells
                    .chain([name])
                    .map(|cell| width(cell))
                    .max()
                    .unwrap_or(0)
            })
            .collect();
        for row in [&names].into_iter().chain(&self.rows) {
            let mut line = String::new();
            for ((cell, name), &wide) in row.iter().zip(&self.head).zip(&widths) {
                if !line.is_empty() {
                    line.push_str("  ");
                }
                let pad = " ".repeat(wide - width(cell));
                if name.starts_with('>') {
                    line.push_str(&pad);
                    line.push_str(cell);
                } else {
                    line.push_str(cell);
                    line.push_str(&pad);
                }
            }
            writeln!(out, "{}", line.trim_end())?;
        }
        Ok(())
    }
}

/// The columns of a terminal that a text takes: two for a wide character, such as those of Chinese and emoji.
fn width(text: &str) -> usize {
    text.width()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn wide_and_combining_characters_take_their_width() {
        let mut columns = Columns::new(&["name", "x"]);
        for name in ["\u{6771}\u{4eac}", "\u{1f600}ab", "e\u{301}abc", "abcd"] {
            columns.row(vec![name.into(), "|".into()]);
        }
        let mut out = Vec::new();
        columns.write(&mut out).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "name  x\n\u{6771}\u{4eac}  |\n\u{1f600}ab  |\ne\u{301}abc  |\nabcd  |\n"
        );
    }

    #[test]
    fn columns_line_up() {
        let mut columns = Columns::new(&["name", ">size"]);
        columns.row(vec!["a".into(), "1,000".into()]);
        columns.row(vec!["bcdef".into(), "7".into()]);
        let mut out = Vec::new();
        columns.write(&mut out).expect("memory");
        assert_eq!(
            String::from_utf8_lossy(&out),
            "name    size\na      1,000\nbcdef      7\n"
        );
    }
}
