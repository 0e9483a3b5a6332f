//! Non-negative factors: topics of documents, words of topics.

use ostrakon_cell::{Error, Result};

use super::edge_list::EdgeList;
use super::small_matrix::Dense;
use crate::Plus;
use crate::kronecker::mix;
use crate::matrix::Keys;
use crate::tables::{GraphContext, MatrixTable, ResultTable, TableWriter, WriteCount};

/// What to factor.
#[derive(Debug, Clone)]
pub struct FactorsOptions {
    /// The table, A: rows are documents, columns words.
    pub table: MatrixTable,
    /// Number of topics, 1 to 1,000.
    pub topics: usize,
    /// Most rounds. Default: 20.
    pub rounds_max: u32,
    /// Stops when the error ‖A − WH‖ changes by no more than this. Default: 0.01.
    pub tolerance: f64,
    /// Decides the random start. Default: 1.
    pub seed: u64,
    /// Where W is added: row document, column topic (`01`, `02`, …).
    pub documents_result: Option<ResultTable>,
    /// Where H is added: row topic, column word.
    pub words_result: Option<ResultTable>,
}

impl FactorsOptions {
    /// The defaults.
    #[must_use]
    pub fn new(table: impl Into<MatrixTable>, topics: usize) -> Self {
        Self {
            table: table.into(),
            topics,
            rounds_max: 20,
            tolerance: 0.01,
            seed: 1,
            documents_result: None,
            words_result: None,
        }
    }
}

/// The factors.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct FactorsResult {
    /// Row keys of A, sorted.
    pub documents: Keys,
    /// Column keys of A, sorted.
    pub words: Keys,
    /// W, a row of `topics` weights for each document.
    pub document_topics: Vec<f64>,
    /// H transposed, a row of `topics` weights for each word.
    pub word_topics: Vec<f64>,
    /// ‖A − WH‖ after each round, Frobenius' norm.
    pub errors: Vec<f64>,
    /// Entries read.
    pub entries_read: u64,
    /// Entries written.
    pub io: WriteCount,
}

/// Approximates a table by the product of two smaller ones without negative numbers, by alternating
/// least squares: H = max(0, (WᵀW)⁻¹WᵀA), W = max(0, AHᵀ(HHᵀ)⁻¹), from a random W.
///
/// Held in memory: the keys, `topics` numbers for each row and each column twice, and the entries
/// while they fit `memory_bytes`; else the table is read twice a round.
///
/// # Errors
/// A missing table, values that are not numbers, a number of topics out of bounds.
pub fn nmf(context: &GraphContext, options: &FactorsOptions) -> Result<FactorsResult> {
    let topics = options.topics;
    if !(1..=1000).contains(&topics) {
        return Err(
            Error::invalid("the number of topics must lie between 1 and 1,000")
                .with("topics", topics),
        );
    }
    let mut entries = EdgeList::read(context, &options.table, false)?;
    let (rows, columns) = (entries.rows.len(), entries.columns.len());
    let mut square = 0.0;
    entries.each(|_, _, value| square += value * value)?;
    let mut w = Dense::zero(rows, topics);
    // The start depends on the keys' order in the table, which is sorted: it repeats.
    for (at, value) in w.values.iter_mut().enumerate() {
        *value = half_normal(options.seed, at as u64);
    }
    let mut h = Dense::zero(columns, topics);
    let mut errors: Vec<f64> = Vec::new();
    for _ in 0..options.rounds_max {
        context.interrupt.check()?;
        h.values.fill(0.0);
        entries.each(|row, column, value| add(h.row_mut(column), w.row(row), value))?;
        h.project(&w.gram().inverse());
        w.values.fill(0.0);
        entries.each(|row, column, value| add(w.row_mut(row), h.row(column), value))?;
        // W holds AHᵀ here: what the error needs of A.
        let product = w.clone();
        w.project(&h.gram().inverse());
        let error = square - 2.0 * w.dot(&product) + w.gram().dot(&h.gram());
        errors.push(error.max(0.0).sqrt());
        if let [.., before, last] = errors.as_slice()
            && (before - last).abs() <= options.tolerance
        {
            break;
        }
    }
    let sorted = |keys: &Keys, factor: &Dense| {
        let order = keys.sorted_positions();
        let values = order
            .iter()
            .flat_map(|&at| factor.row(at as usize).iter().copied())
            .collect();
        (keys.pick(&order), values)
    };
    let (documents, document_topics) = sorted(entries.rows.keys(), &w);
    let (words, word_topics) = sorted(entries.columns.keys(), &h);
    let mut result = FactorsResult {
        documents,
        words,
        document_topics,
        word_topics,
        errors,
        entries_read: entries.entries_read,
        io: WriteCount::default(),
    };
    write(context, options, &mut result)?;
    Ok(result)
}

fn add(sums: &mut [f64], row: &[f64], value: f64) {
    for (sum, &part) in sums.iter_mut().zip(row) {
        *sum += value * part;
    }
}

fn write(
    context: &GraphContext,
    options: &FactorsOptions,
    result: &mut FactorsResult,
) -> Result<()> {
    let digits = options.topics.to_string().len().max(2);
    let names: Vec<String> = (1..=options.topics)
        .map(|topic| format!("{topic:0digits$}"))
        .collect();
    let parts = [
        (
            &options.documents_result,
            &result.documents,
            &result.document_topics,
            false,
        ),
        (
            &options.words_result,
            &result.words,
            &result.word_topics,
            true,
        ),
    ];
    for (table, keys, values, turned) in parts {
        let Some(table) = table else {
            continue;
        };
        let mut sink = TableWriter::open(context, table, Plus::Sum)?.sink(false, 0)?;
        for (key, weights) in keys.iter().zip(values.chunks_exact(options.topics)) {
            for (name, &weight) in names.iter().zip(weights) {
                if weight == 0.0 {
                    continue;
                }
                let (row, column) = if turned {
                    (name.as_bytes(), key)
                } else {
                    (key, name.as_bytes())
                };
                sink.put(row, column, weight)?;
            }
        }
        let written = sink.finish()?;
        result.io.entries_written += written;
        result.io.result_entries += written;
    }
    Ok(())
}

/// The absolute value of a normally distributed number (G. E. P. Box and M. E. Muller, 1958).
fn half_normal(seed: u64, at: u64) -> f64 {
    let unit = |at| ((mix(seed, at) >> 11) as f64 + 0.5) / (1_u64 << 53) as f64;
    let radius = (-2.0 * f64::ln(unit(2 * at))).sqrt();
    (radius * (std::f64::consts::TAU * unit(2 * at + 1)).cos()).abs()
}
