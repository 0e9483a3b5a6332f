//! `sql`: statements, and how their rows are shown.

mod arrow;
mod form;
mod parquet;
mod prompt;
mod value;

use std::io::{Read, Write};
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use ostrakon_cell::{Source, VisibilityExpression};
use ostrakon_sql::{
    SpillDirectory, SqlOptions, SqlRows, SqlSession, SqlStatement, Step, parse_statements,
};
use ostrakon_store::StoreOptions;

use self::form::Form;
use super::access::{Absent, Access};
use crate::args::{SqlArgs, SqlFormat};
use crate::export::{Packing, Target, is_stdout};
use crate::failure::{Failure, Result};
use crate::interrupt::{Incomplete, Watch};
use crate::output::Output;

/// How often waiting for rows checks for Ctrl-C.
const ANSWER_WITHIN: Duration = Duration::from_millis(100);

/// Runs the statements.
pub(super) fn run(access: &Access, args: &SqlArgs, out: &mut Output) -> Result<()> {
    let interactive = prompt::is_wanted(args);
    let mut statements = Vec::new();
    if !interactive {
        for text in texts(args)? {
            statements.extend(parse_statements(&text)?);
        }
    }
    let format = match args.format {
        Some(format) => format,
        None if out.is_json() => SqlFormat::Json,
        None => match &args.output {
            Some(file) => named_format(file)?,
            None => SqlFormat::Table,
        },
    };
    let queries = statements.iter().filter(|one| one.returns_rows()).count();
    if args.output.is_some() && queries != 1 {
        return Err(
            Failure::usage("--output takes the rows of exactly one query")
                .with("queries", queries.to_string()),
        );
    }
    if format.is_binary() && args.output.is_none() {
        return Err(
            Failure::usage("rows are written in this format only to a file or a pipe")
                .with("format", format!("{format:?}").to_lowercase())
                .next("add --output FILE"),
        );
    }
    VisibilityExpression::parse(&args.label).map_err(ostrakon_cell::Error::from)?;
    let mut access = Access {
        reads: !interactive && statements.iter().all(SqlStatement::is_read_only),
        restricted: true,
        ..access.clone()
    };
    let spill = SpillDirectory::shared()?;
    let _removed = RemovedAtEnd(Incomplete::in_order(spill.paths()));
    let mut options = SqlOptions {
        files: true,
        label: args.label.clone().into_bytes(),
        // With --auths, even without a name in it, the program reads for somebody who may see less than the owner.
        sees_layout: args.authorizations.is_none(),
        ..SqlOptions::default()
    };
    let memory_bytes = match access.memory {
        Some(memory) => {
            // One half is the store's.
            access.memory = Some((memory / 2).max(16 << 20));
            memory / 2
        }
        None => (StoreOptions::default().memory_budget_bytes / 2).max(256 << 20),
    };
    options.memory_bytes = usize::try_from(memory_bytes).unwrap_or(usize::MAX);
    if interactive {
        let opened = access.clone();
        return access.with_store(Absent::Refuse, |source| {
            prompt::run(source, options, format, &opened, args, out)
        });
    }
    let creates = statements.iter().any(SqlStatement::creates_tables);
    let absent = if creates {
        Absent::Create
    } else {
        Absent::Refuse
    };
    // What fails on an empty store leaves none behind.
    if let Some(first) = statements.iter().position(SqlStatement::creates_tables) {
        access.rehearse_shared(|source| {
            let session = SqlSession::new(source, args.held(), options.clone())?;
            for statement in statements.iter().take(first + 1) {
                let mut rows = session.execute_blocking(statement.clone().without_rows())?;
                rows.try_for_each(|rows| rows.map(drop))?;
            }
            Ok(())
        })?;
    }
    access.with_store(absent, |source| {
        on_source(source, statements, options, format, args, out)
    })
}

/// Removes temporary files when the command ends: threads of a query that was stopped may keep their directory longer
/// than the process lives.
struct RemovedAtEnd(Incomplete);

impl Drop for RemovedAtEnd {
    fn drop(&mut self) {
        self.0.remove();
    }
}

/// The format that the extension of a file names. Without an extension, as that of a pipe, it is a table.
fn named_format(file: &Path) -> Result<SqlFormat> {
    let Some(extension) = file.extension() else {
        return Ok(SqlFormat::Table);
    };
    match &*extension.to_string_lossy().to_ascii_lowercase() {
        "csv" => Ok(SqlFormat::Csv),
        "json" | "jsonl" | "ndjson" => Ok(SqlFormat::Json),
        "parquet" => Ok(SqlFormat::Parquet),
        "arrow" | "feather" => Ok(SqlFormat::Arrow),
        "arrows" => Ok(SqlFormat::Arrows),
        "txt" => Ok(SqlFormat::Table),
        _ => Err(
            Failure::usage("the extension of the file names no format that queries are written in")
                .with("file", file.display().to_string())
                .next("use .csv, .json, .jsonl, .ndjson, .parquet, .arrow, .feather, .arrows or .txt, or add --format"),
        ),
    }
}

/// Runs statements on any source.
fn on_source(
    source: Arc<dyn Source>,
    statements: Vec<SqlStatement>,
    options: SqlOptions,
    format: SqlFormat,
    args: &SqlArgs,
    out: &mut Output,
) -> Result<()> {
    let session = SqlSession::new(source, args.held(), options)?;
    let watch = Watch::start();
    for statement in statements {
        let about = About::of(&statement);
        let rows = start(&session, statement, about, &watch)?;
        match &args.output {
            Some(path) if about.returns_rows && is_stdout(path) => {
                show(rows, format, about, out.stream(), &watch)?;
            }
            Some(path) if about.returns_rows => {
                let target = Target::create(path, Packing::None, args.force)?;
                target.fill(|file| show(rows, format, about, file, &watch))?;
            }
            Some(_) => show(rows, SqlFormat::Table, about, out.stream(), &watch)?,
            None => show(rows, format, about, out.stream(), &watch)?,
        }
    }
    Ok(())
}

/// What a statement is, as far as its rows depend on it.
#[derive(Clone, Copy)]
struct About {
    returns_rows: bool,
    explains: bool,
    creates: bool,
}

impl About {
    fn of(statement: &SqlStatement) -> Self {
        Self {
            returns_rows: statement.returns_rows(),
            explains: statement.explains(),
            creates: statement.creates_tables(),
        }
    }

    /// What is kept of a statement that was stopped.
    fn kept(self, rows: u64) -> String {
        match self {
            _ if self.returns_rows => format!("{rows} rows were returned"),
            _ if self.creates => "no table was created".to_owned(),
            _ => "the records that were changed before stay changed".to_owned(),
        }
    }
}

/// Starts a statement. Planning it may take long.
fn start(
    session: &SqlSession,
    statement: SqlStatement,
    about: About,
    watch: &Watch,
) -> Result<SqlRows> {
    // Also before it starts: a statement without rows may have its effect while it is planned.
    watch.check(&about.kept(0))?;
    let mut start = session.start(statement)?;
    loop {
        watch.check(&about.kept(0))?;
        if let Some(rows) = start.within(ANSWER_WITHIN)? {
            return Ok(rows);
        }
    }
}

/// Writes the rows of a statement.
fn show(
    mut rows: SqlRows,
    format: SqlFormat,
    about: About,
    out: &mut (dyn Write + Send),
    watch: &Watch,
) -> Result<()> {
    let schema = rows.schema();
    let mut form = Form::new(format, &schema, about.explains, out)?;
    let mut shown = 0_u64;
    loop {
        watch.check(&about.kept(shown))?;
        match rows.next_within(ANSWER_WITHIN)? {
            Step::Rows(batch) => {
                shown += batch.num_rows() as u64;
                form.rows(&batch)?;
            }
            Step::Waiting => {}
            Step::End => return form.finish(),
        }
    }
}

/// The texts of the statements.
fn texts(args: &SqlArgs) -> Result<Vec<String>> {
    if let Some(query) = &args.query
        && Path::new(query).is_file()
    {
        let next = format!("run it with -f: ostrakon sql -f '{query}'");
        return Err(Failure::usage("the statement is the name of a file").next(&next));
    }
    let mut texts: Vec<String> = args.query.iter().chain(&args.command).cloned().collect();
    for path in &args.file {
        texts.push(match path == Path::new("-") {
            true => stdin()?,
            false => {
                let read = std::fs::File::open(path).and_then(bounded);
                let bytes = read.map_err(|error| {
                    Failure::io("cannot read the file", &error)
                        .with("file", path.display().to_string())
                })?;
                text(bytes).map_err(|failure| failure.with("file", path.display().to_string()))?
            }
        });
    }
    if texts.is_empty() {
        texts.push(stdin()?);
    }
    Ok(texts)
}

fn stdin() -> Result<String> {
    let bytes = bounded(std::io::stdin());
    text(bytes.map_err(|error| Failure::io("cannot read stdin", &error))?)
}

/// At most so much that it is refused as too long.
fn bounded(input: impl Read) -> std::io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let most = ostrakon_sql::TEXT_MAX as u64 + 1;
    if input.take(most).read_to_end(&mut bytes)? as u64 == most {
        // Only its length matters, and it may end within a letter.
        bytes.fill(b' ');
    }
    Ok(bytes)
}

fn text(bytes: Vec<u8>) -> Result<String> {
    String::from_utf8(bytes).map_err(|error| {
        Failure::outcome("the statements are not UTF-8")
            .with("byte", error.utf8_error().valid_up_to().to_string())
            .next("save them as UTF-8; write other bytes as X'00FF'")
    })
}
