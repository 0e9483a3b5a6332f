//! Compares Ostrakon with other storage engines, in one run.
//!
//! The parent plans: every repetition gives each engine the same entries in turn, in another order
//! each time. Each workload is a separate child process, so that no engine inherits another's
//! threads, caches or heap, and so that peak memory is that of one engine. The parent then prints medians,
//! ratios of medians, and the conditions of the run.
//!
//! A private tool: `make bench-compare`. Its output is the only justification for our own engine.

#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command-line tool: the table goes to the one, progress to the other"
)]

mod children;
mod figures;
mod options;
mod plan;
mod report;
mod rivals;
mod workload;
mod works;

use std::process::ExitCode;

use clap::Parser;
use ostrakon_allocator as _;

/// Any failure. All kinds are handled alike: the failure is printed, and the run ends.
type Outcome<T> = Result<T, Box<dyn std::error::Error + Send + Sync>>;

fn main() -> ExitCode {
    let options = options::Options::parse();
    let outcome = match &options.child {
        Some(job) => children::answer(job),
        None => run(&options),
    };
    match outcome {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench-compare: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: &options::Options) -> Outcome<()> {
    let figures = plan::run(options)?;
    let report = report::Report::new(options, &figures);
    if options.json {
        println!("{}", serde_json::to_string_pretty(&report)?);
    } else {
        print!("{}", report.markdown());
    }
    Ok(())
}
