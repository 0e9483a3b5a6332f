//! What clap says when the command line is wrong, or asks for help.

use std::process::ExitCode;

use clap::error::ErrorKind;

/// Shows help, version or the mistake; exit code 0 for the first two and 2 for the last.
pub(crate) fn refuse(error: &clap::Error) -> ExitCode {
    // Nobody is left to be told when the terminal fails.
    let _ = error.print();
    match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => ExitCode::SUCCESS,
        _ => ExitCode::from(2),
    }
}
