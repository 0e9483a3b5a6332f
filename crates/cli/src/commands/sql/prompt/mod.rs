//! The interactive prompt: reads statements from a terminal, and shows their rows.

mod history;
mod input;
mod shortcut;

use std::io::IsTerminal as _;
use std::sync::Arc;
use std::time::Instant;

use ostrakon_cell::Source;
use ostrakon_sql::{SqlOptions, SqlSession, parse_statements};
use rustyline::error::ReadlineError;
use rustyline::{Config, Editor};

use self::history::History;
use self::input::Helper;
use self::shortcut::Shortcut;
use super::{About, SqlArgs, SqlFormat, show, start};
use crate::commands::access::Access;
use crate::failure::{Failure, Result};
use crate::interrupt::Watch;
use crate::output::Output;

/// Statements that the history keeps.
const KEPT: usize = 10_000;

const HELP: &str = r"A statement ends with `;` and may have several lines. Tab completes, the arrow keys recall statements, Ctrl-C
ends a query or discards what was typed, Ctrl-D leaves. A line that begins with a space is not kept.
  \d            list the relations
  \d NAME       describe a relation
  \f FORMAT     print rows as table, csv or json
  \timing       print how long each statement took, or stop doing so
  \q            leave";

/// Whether statements come from a person.
pub(super) fn is_wanted(args: &SqlArgs) -> bool {
    args.query.is_none()
        && args.command.is_empty()
        && args.file.is_empty()
        && std::io::stdin().is_terminal()
}

/// How rows are shown from now on.
struct Manner {
    format: SqlFormat,
    timing: bool,
    json_errors: bool,
}

/// Reads and runs statements until the end of input.
pub(super) fn run(
    source: Arc<dyn Source>,
    options: SqlOptions,
    format: SqlFormat,
    access: &Access,
    args: &SqlArgs,
    out: &mut Output,
) -> Result<()> {
    let session = Arc::new(SqlSession::new(source, args.held(), options)?);
    let mut manner = Manner {
        format,
        timing: false,
        json_errors: out.is_json(),
    };
    let config = Config::builder()
        .history_ignore_space(true)
        .max_history_size(KEPT)
        .map_err(of_terminal)?
        .completion_type(rustyline::CompletionType::List)
        .build();
    let mut editor: Editor<Helper, rustyline::history::FileHistory> =
        Editor::with_config(config).map_err(of_terminal)?;
    editor.set_helper(Some(Helper::new(session.clone())));
    let history = History::find();
    history.load(&mut editor);
    greet(access, args, out)?;
    #[cfg(unix)]
    crate::interrupt::terminal::keep();
    let _prompt = crate::interrupt::Prompt::start();
    loop {
        match editor.readline("sql> ") {
            Ok(text) => {
                // A statement that fails is recalled, too. A blank at its beginning keeps it out of the history.
                if editor
                    .add_history_entry(text.trim_end())
                    .is_ok_and(|added| added)
                {
                    history.save(&mut editor);
                }
                let text = text.trim();
                if text.is_empty() {
                    continue;
                }
                let outcome = match Shortcut::parse(text) {
                    Some(Ok(Shortcut::Quit)) => break,
                    Some(shortcut) => {
                        shortcut.and_then(|shortcut| obey(&session, shortcut, &mut manner, out))
                    }
                    None => execute(&session, text, &manner, out),
                };
                // Ctrl-C is over with its statement, also if the statement ended before it. SIGTERM ends the program.
                if crate::interrupt::exit_code().is_some() && !crate::interrupt::forget_ctrl_c() {
                    return outcome;
                }
                if let Err(failure) = outcome {
                    failure.report(manner.json_errors);
                }
                out.flush()?;
            }
            Err(ReadlineError::Interrupted) => {}
            Err(ReadlineError::Eof) => break,
            // The rest of the line is still to be read.
            Err(ReadlineError::Io(error)) if error.kind() == std::io::ErrorKind::InvalidData => {
                let failure = Failure::usage("what was typed is not UTF-8")
                    .next("write other bytes as X'00FF'");
                failure.report(manner.json_errors);
            }
            Err(error) => return Err(of_terminal(error)),
        }
    }
    Ok(())
}

fn greet(access: &Access, args: &SqlArgs, out: &mut Output) -> Result<()> {
    if out.is_json() {
        return Ok(());
    }
    let held = args.held();
    let reader = match held.iter().next() {
        Some(_) => held.to_string(),
        None => "none".to_owned(),
    };
    writeln!(
        out.stream(),
        "Store {}, authorizations: {reader}. \\? for help, \\q to leave.",
        access.directory()?.display()
    )?;
    out.flush()
}

/// Does what a shortcut says.
fn obey(
    session: &SqlSession,
    shortcut: Shortcut,
    manner: &mut Manner,
    out: &mut Output,
) -> Result<()> {
    match shortcut {
        Shortcut::Quit => Ok(()),
        Shortcut::Help => Ok(writeln!(out.stream(), "{HELP}")?),
        Shortcut::List => {
            for name in session.relations()? {
                writeln!(out.stream(), "{}", crate::output::escape(name.as_bytes()))?;
            }
            Ok(())
        }
        Shortcut::Describe(name) => execute(session, &format!("DESCRIBE {name}"), manner, out),
        Shortcut::Format(format) => {
            manner.format = format;
            Ok(())
        }
        Shortcut::Timing => {
            manner.timing = !manner.timing;
            let state = if manner.timing { "on" } else { "off" };
            Ok(writeln!(out.stream(), "timing is {state}")?)
        }
    }
}

/// Runs the statements of a text one after another.
fn execute(session: &SqlSession, text: &str, manner: &Manner, out: &mut Output) -> Result<()> {
    let watch = Watch::start();
    for statement in parse_statements(text)? {
        let begun = Instant::now();
        let about = About::of(&statement);
        let rows = start(session, statement, about, &watch)?;
        show(rows, manner.format, about, out.stream(), &watch)?;
        out.flush()?;
        if manner.timing {
            let elapsed = crate::output::seconds(begun.elapsed().as_secs_f64());
            writeln!(out.stream(), "{elapsed}")?;
        }
    }
    Ok(())
}

fn of_terminal(error: ReadlineError) -> Failure {
    Failure::outcome("the terminal cannot be used")
        .with("reason", error.to_string())
        .next("give statements with -c or -f, or on stdin")
}
