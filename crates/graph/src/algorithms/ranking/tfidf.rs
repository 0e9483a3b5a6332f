//! TF-IDF: words weighted by the number of documents that contain them.

use ostrakon_cell::Result;

use crate::Plus;
use crate::matrix::{Interner, SparseMatrix, Triples};
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// What to weigh.
#[derive(Debug, Clone, Default)]
pub struct TfIdfOptions {
    /// The table: rows are documents, columns words, values how often.
    pub table: MatrixTable,
    /// Where the weights are added.
    pub result: Option<ResultTable>,
    /// Returns them as a matrix. Default: no.
    pub collect: bool,
}

/// What came of it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct TfIdfResult {
    /// Documents.
    pub documents: u64,
    /// Words.
    pub words: u64,
    /// Entries read: the table is read twice.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
    /// The weights, if asked for.
    pub matrix: Option<SparseMatrix>,
}

/// Multiplies every value by ln(documents / documents with that word), K. Spärck Jones' inverse document
/// frequency (1972). A word that is everywhere gets 0 and is left out.
///
/// Held in memory: the words and a count for each; the matrix, if asked for.
///
/// # Errors
/// A missing table, values that are not numbers, a result table that takes whole numbers only.
pub fn tfidf(context: &GraphContext, options: &TfIdfOptions) -> Result<TfIdfResult> {
    let mut words = Interner::default();
    let mut counts: Vec<(u64, u64)> = Vec::new();
    let mut outcome = TfIdfResult::default();
    let mut stream = options.table.as_ones().stream(context)?;
    while stream.advance()? {
        outcome.documents += 1;
        let document = outcome.documents;
        stream.visit(|word, _| {
            let word = words.intern(word)? as usize;
            if word == counts.len() {
                counts.push((0, 0));
            }
            // A row may have a word twice, with two labels.
            let (count, last) = &mut counts[word];
            if *last != document {
                *last = document;
                *count += 1;
            }
            Ok(())
        })?;
    }
    outcome.words = words.len() as u64;
    outcome.entries_read = stream.entries();
    let weights: Vec<f64> = counts
        .iter()
        .map(|(count, _)| (outcome.documents as f64 / *count as f64).ln())
        .collect();
    drop(counts);

    let open = |table| TableWriter::open(context, table, Plus::Sum)?.sink(true, 0);
    let mut sink = options.result.as_ref().map(open).transpose()?;
    let mut rows = Interner::default();
    let mut triples = options.collect.then(Triples::default);
    let mut stream = options.table.stream(context)?;
    let mut row = Vec::new();
    while stream.advance()? {
        row.clear();
        row.extend_from_slice(stream.row());
        stream.visit(|word, value| {
            // A word that came after the first reading has no weight yet.
            let Some(at) = words.find(word) else {
                return Ok(());
            };
            let weight = value * weights[at as usize];
            if weight == 0.0 {
                return Ok(());
            }
            outcome.io.result_entries += 1;
            if let Some(sink) = &mut sink {
                sink.put(&row, word, weight)?;
            }
            if let Some(triples) = &mut triples {
                triples.push(rows.intern(&row)?, at, weight);
                context.check_memory(32 * triples.rows.len(), "the matrix asked for")?;
            }
            Ok(())
        })?;
    }
    outcome.entries_read += stream.entries();
    if let Some(sink) = sink {
        outcome.io.entries_written = sink.finish()?;
    }
    outcome.matrix =
        triples.map(|triples| triples.into_matrix(rows.keys(), words.keys(), Plus::Sum));
    Ok(outcome)
}
