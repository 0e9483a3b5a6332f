//! `ostrakon`: the one binary.
//!
//! Parsing is separate from execution. `args/` turns the command line into plain data, or rejects it;
//! `commands/` runs the commands on a source of tables; `output/` and `progress` show the results;
//! `failure` reports what went wrong, why, and what to do next.

#![allow(
    rustdoc::broken_intra_doc_links,
    rustdoc::invalid_html_tags,
    reason = "comments on arguments are the program's help, where brackets mean optional"
)]

mod args;
mod commands;
mod export;
mod failure;
mod files;
mod import;
mod interrupt;
mod output;
mod progress;

use std::process::ExitCode;

use clap::CommandFactory as _;
use ostrakon_allocator as _;

fn main() -> ExitCode {
    // If a shell asks for completions, this answers and ends the process.
    clap_complete::CompleteEnv::with_factory(args::Cli::command).complete();
    let cli = match args::parse() {
        Ok(cli) => cli,
        Err(error) => return args::refuse(&error),
    };
    let json = cli.json;
    if json {
        failure::warn_as_json();
    }
    interrupt::handle_signals();
    let code = match commands::run(cli) {
        Ok(()) => ExitCode::SUCCESS,
        Err(failure) => failure.report(json),
    };
    interrupt::exit_code().map_or(code, ExitCode::from)
}
