//! Completions and manual pages, generated from the command line's definitions.

use std::io::Write as _;

use clap::{Command, CommandFactory as _};
use clap_complete::Shell;
use clap_complete::env::Shells;
use ostrakon_lab::experiments::experiments;
use serde_json::json;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Prints a shell's completions.
pub(super) fn completions(args: &CompletionsArgs, out: &mut Output) -> Result<()> {
    // The shells that people use most ask the program itself, which knows the tables.
    if let Some(shell) = Shells::builtins().completer(&args.shell.to_string())
        && !args.fixed
    {
        let mut text = Vec::new();
        shell.write_registration("COMPLETE", "ostrakon", "ostrakon", "ostrakon", &mut text)?;
        return Ok(out.stream().write_all(&text)?);
    }
    // Written to memory first, because the generator panics if its stream fails.
    let mut text = Vec::new();
    let mut command = visible(&Cli::command()).version("").propagate_version(true);
    clap_complete::generate(args.shell, &mut command, "ostrakon", &mut text);
    if args.shell == Shell::Fish {
        // The generator for fish omits the values of positional arguments.
        for one in experiments() {
            writeln!(
                text,
                "complete -c ostrakon -n \"__fish_ostrakon_using_subcommand lab; and \
                 __fish_seen_subcommand_from run\" -f -a \"{}\" -d '{}'",
                one.name,
                one.description.replace('\'', "\\'")
            )?;
        }
    }
    Ok(out.stream().write_all(&text)?)
}

/// The command without its hidden parts, which the generators of completions would show.
fn visible(of: &Command) -> Command {
    let arguments = of
        .get_arguments()
        .filter(|argument| !argument.is_hide_set());
    let commands = of.get_subcommands().filter(|inner| !inner.is_hide_set());
    let command = Command::new(of.get_name().to_owned())
        .args(arguments.cloned())
        .subcommands(commands.map(visible));
    match of.get_about() {
        Some(about) => command.about(about.clone()),
        None => command,
    }
}

/// Writes the manual pages.
pub(super) fn man(args: &ManArgs, out: &mut Output) -> Result<()> {
    let shown = args.directory.display().to_string();
    std::fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.directory))
        .map_err(|error| {
            Failure::io("cannot write the manual pages", &error).with("directory", shown.clone())
        })?;
    let pages = std::fs::read_dir(&args.directory)?
        .filter_map(std::result::Result::ok)
        .filter(|file| file.file_name().to_string_lossy().starts_with("ostrakon"))
        .count();
    out.object(&json!({"directory": shown, "pages": pages}), || {
        format!("wrote {pages} manual pages to {shown}")
    })
}
