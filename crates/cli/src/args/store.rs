//! Commands for the store as a whole, and for the binary itself.

use std::path::PathBuf;

use clap::Args;
use clap_complete::Shell;

/// `checkpoint`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon checkpoint backups/monday
  ostrakon --data backups/monday scan people             reads the checkpoint")]
pub(crate) struct CheckpointArgs {
    /// The new directory; it must not exist yet, or be empty
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}

/// `repair-log`
#[derive(Debug, Args)]
#[command(after_help = "\
A store whose log is damaged, or lacks a segment, does not open for writing. First put the
segments back if a copy of them exists. If none does, this command accepts the loss: each table
keeps what --allow-damage reads, and the log continues after the damage. In every table that may
have had writes in the damaged part, later writes are dropped too: a delete may have been lost, and
the later writes could make deleted entries visible again. The old segments are moved to the
directory `lost` in the store's directory.

Examples:
  ostrakon check                                     names the damaged segments
  ostrakon --allow-damage scan people                shows what will be left
  ostrakon repair-log --yes")]
pub(crate) struct RepairLogArgs {
    /// Do not ask for confirmation
    #[arg(short, long)]
    pub(crate) yes: bool,
}

/// `iterators`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon iterators
  ostrakon iterators RegExFilter org.apache.accumulo.core.iterators.user.VersioningIterator
  ostrakon iterators --constraints

The store of --data must exist. The exit code is 2 if it does not have one of the classes.")]
pub(crate) struct IteratorsArgs {
    /// The classes, with or without their package [default: all]
    #[arg(value_name = "CLASS")]
    pub(crate) names: Vec<String>,
    /// List constraints instead of iterators
    #[arg(long)]
    pub(crate) constraints: bool,
}

/// `completions`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon completions bash > ~/.local/share/bash-completion/completions/ostrakon
  ostrakon completions zsh > ~/.zfunc/_ostrakon
  ostrakon completions fish > ~/.config/fish/completions/ostrakon.fish

The shell calls the program for completions, which include the tables of the store in --data or
OSTRAKON_DATA. Write the file again after you update the program.")]
pub(crate) struct CompletionsArgs {
    /// The shell
    pub(crate) shell: Shell,
    /// Print completions that do not call the program, and so do not include the tables
    #[arg(long)]
    pub(crate) fixed: bool,
}

/// `man`
#[derive(Debug, Args)]
#[command(after_help = "Examples:
  ostrakon man ~/.local/share/man/man1 && man ostrakon-scan")]
pub(crate) struct ManArgs {
    /// The directory; created if missing
    #[arg(value_name = "DIR")]
    pub(crate) directory: PathBuf,
}
