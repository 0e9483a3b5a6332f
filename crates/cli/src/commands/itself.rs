//! Completions and manual pages: the command line about itself.

use clap::CommandFactory as _;
use serde_json::json;

use crate::args::{Cli, CompletionsArgs, ManArgs};
use crate::failure::{Failure, Result};
use crate::output::Output;

/// Prints a shell's completions.
pub(super) fn completions(args: &CompletionsArgs, out: &mut Output) -> Result<()> {
    // Into memory first: the generator panics when its stream fails.
    let mut text = Vec::new();
    clap_complete::generate(args.shell, &mut Cli::command(), "ostrakon", &mut text);
    Ok(out.stream().write_all(&text)?)
}

/// Writes the manual pages.
pub(super) fn man(args: &ManArgs, out: &mut Output) -> Result<()> {
    let shown = args.directory.display().to_string();
    std::fs::create_dir_all(&args.directory)
        .and_then(|()| clap_mangen::generate_to(Cli::command(), &args.directory))
        .map_err(|error| {
            Failure::io("the manual pages cannot be written", &error)
                .with("directory", shown.clone())
        })?;
    let pages = std::fs::read_dir(&args.directory)?
        .filter_map(std::result::Result::ok)
        .filter(|file| file.file_name().to_string_lossy().starts_with("ostrakon"))
        .count();
    out.object(&json!({"directory": shown, "pages": pages}), || {
        format!("{pages} manual pages are in {shown}")
    })
}
