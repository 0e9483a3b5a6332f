//! `cargo run -p ostrakon-tidy -- stamp`: rewrites the hashes in `docs/format/`.

use std::process::ExitCode;

use ostrakon_tidy::{pages, tree};

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a command's output"
)]
fn main() -> ExitCode {
    if std::env::args().nth(1).as_deref() != Some("stamp") {
        eprintln!("usage: cargo run -p ostrakon-tidy -- stamp");
        eprintln!("rewrites the hashes of docs/format/*.md; the rules run with: cargo test");
        return ExitCode::from(2);
    }
    let pages = match tree::Tree::of_this_repository() {
        Ok(tree) => pages::restamped(&tree).map_err(|finding| finding.to_string()),
        Err(error) => Err(format!("the repository cannot be read: {error}")),
    };
    match pages {
        Ok(pages) => {
            for (path, text) in &pages {
                if let Err(error) = std::fs::write(tree::root().join(path), text) {
                    eprintln!("{path} cannot be written: {error}");
                    return ExitCode::FAILURE;
                }
                println!("stamped {path}: check that the page still describes the module");
            }
            ExitCode::SUCCESS
        }
        Err(message) => {
            eprintln!("{message}");
            ExitCode::FAILURE
        }
    }
}
