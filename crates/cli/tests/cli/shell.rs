//! Shell commands of pages and help texts, run as printed.

use std::path::Path;
use std::process::{Command, Output};

use crate::run::Folder;

/// Stands in for cargo: checks that the package it would build exists.
const CARGO: &str = "#!/bin/sh
package=. last=
for word; do
    [ \"$last\" != --path ] || package=$word
    last=$word
done
case $1 in build | install) test -f \"$package/Cargo.toml\" ;; *) exit 9 ;; esac
";

/// A page of the repository.
pub(crate) fn page(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap()
}

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

/// The fenced blocks of a page: language, text, and whether the block follows the one before without prose between.
pub(crate) fn blocks(page: &str) -> Vec<(&str, String, bool)> {
    let (mut blocks, mut open, mut adjacent) = (Vec::new(), None, false);
    for line in page.lines() {
        match (&mut open, line.strip_prefix("```")) {
            (None, Some(language)) => open = Some((language, String::new(), adjacent)),
            (Some(_), Some(_)) => {
                blocks.extend(open.take());
                adjacent = true;
            }
            (Some((_, text, _)), None) => {
                text.push_str(line);
                text.push('\n');
            }
            (None, None) => adjacent &= line.is_empty(),
        }
    }
    blocks
}

/// Makes a folder look like a clone to `make` and `cargo`, which then build nothing: `make` prints what it would run, and
/// fails for a target that does not exist.
pub(crate) fn clone_in(folder: &Folder) {
    let bin = folder.path("bin");
    std::fs::create_dir(&bin).unwrap();
    script(&bin.join("cargo"), CARGO);
    for name in ["Makefile", "crates", "scripts", "Cargo.toml"] {
        std::os::unix::fs::symlink(root().join(name), folder.path(name)).unwrap();
    }
}

/// Writes a program.
pub(crate) fn script(path: &Path, text: &str) {
    use std::os::unix::fs::PermissionsExt as _;
    std::fs::write(path, text).unwrap();
    std::fs::set_permissions(path, std::fs::Permissions::from_mode(0o755)).unwrap();
}

/// Runs code in the folder, with the program, and what is in the folder's `bin`, before all others of PATH.
pub(crate) fn shell(folder: &Folder, code: &str) -> Output {
    let program = Path::new(env!("CARGO_BIN_EXE_ostrakon"));
    let before = [folder.path("bin"), program.parent().unwrap().to_owned()];
    let path = std::env::var_os("PATH").unwrap();
    let path = before.into_iter().chain(std::env::split_paths(&path));
    Command::new("sh")
        .args(["-e", "-c", code])
        .current_dir(folder.path(""))
        .env("PATH", std::env::join_paths(path).unwrap())
        .env("HOME", folder.path("home"))
        .env("MAKEFLAGS", "n")
        .env("OSTRAKON_DATA", folder.path("store"))
        .env("OSTRAKON_MEMORY", "64M")
        .output()
        .unwrap()
}

/// What the code prints; it must succeed.
pub(crate) fn succeeds(folder: &Folder, code: &str) -> String {
    let ran = shell(folder, code);
    let out = String::from_utf8_lossy(&ran.stdout).into_owned();
    let err = String::from_utf8_lossy(&ran.stderr);
    assert!(ran.status.success(), "{code}\n{out}{err}");
    out
}

/// Runs every `sh` block of a page; a `text` block that follows at once is what the block prints. Returns how many
/// blocks were run and how many outputs compared.
pub(crate) fn run_page(folder: &Folder, name: &str) -> (usize, usize) {
    let page = page(name);
    let blocks = blocks(&page);
    let (mut ran, mut compared) = (0, 0);
    for (at, (language, code, _)) in blocks.iter().enumerate() {
        if *language != "sh" {
            continue;
        }
        let printed = succeeds(folder, code);
        ran += 1;
        if let Some((_, shown, true)) = blocks.get(at + 1).filter(|next| next.0 == "text") {
            assert!(
                fits(shown, &printed),
                "{name}\n{code}\nshown:\n{shown}\nprinted:\n{printed}"
            );
            compared += 1;
        }
    }
    (ran, compared)
}

/// Runs the `console` blocks of a page, one shell for all commands of a block, and compares what each command prints.
/// Returns how many were run.
pub(crate) fn run_console(folder: &Folder, name: &str) -> usize {
    let page = page(name);
    let mut commands = 0;
    for (language, text, _) in blocks(&page) {
        if language != "console" {
            continue;
        }
        for part in text.split("$ ").skip(1) {
            let (command, shown) = part.split_once('\n').unwrap();
            let ran = shell(folder, command);
            let printed = String::from_utf8_lossy(&ran.stdout);
            let err = String::from_utf8_lossy(&ran.stderr);
            assert!(
                fits(shown, &printed),
                "{command}\nshown:\n{shown}\nprinted:\n{printed}{err}"
            );
            commands += 1;
        }
    }
    commands
}

/// Whether a text is as shown. `…` stands for any text within a line, and alone in a line for any lines.
pub(crate) fn fits(shown: &str, printed: &str) -> bool {
    let shown: Vec<&str> = shown.lines().collect();
    let printed: Vec<&str> = printed.lines().collect();
    lines_fit(&shown, &printed)
}

fn lines_fit(shown: &[&str], printed: &[&str]) -> bool {
    match shown.split_first() {
        None => printed.is_empty(),
        Some((&"…", rest)) => {
            (0..=printed.len()).any(|skipped| lines_fit(rest, &printed[skipped..]))
        }
        Some((line, rest)) => printed
            .split_first()
            .is_some_and(|(first, others)| line_fits(line, first) && lines_fit(rest, others)),
    }
}

fn line_fits(shown: &str, printed: &str) -> bool {
    let Some((before, after)) = shown.split_once('…') else {
        return shown == printed;
    };
    printed.strip_prefix(before).is_some_and(|rest| {
        let ends = rest.char_indices().map(|(at, _)| at).chain([rest.len()]);
        ends.into_iter()
            .filter_map(|at| rest.get(at..))
            .any(|rest| line_fits(after, rest))
    })
}

#[test]
fn an_ellipsis_stands_for_any_text() {
    for (shown, printed) in [
        ("a\nb\n", "a\nb\n"),
        ("in … s\n", "in 0.1 s\n"),
        ("a … b … c\n", "a 1 b 2 c\n"),
        ("a\n…\nd\n", "a\nb\nc\nd\n"),
        ("…\n", ""),
    ] {
        assert!(fits(shown, printed), "{shown}{printed}");
    }
    for (shown, printed) in [
        ("a\n", "a\nb\n"),
        ("a\nb\n", "a\n"),
        ("in … s\n", "in 0.1 ms later\n"),
        ("a\n…\nd\n", "a\nb\n"),
        ("", "a\n"),
    ] {
        assert!(!fits(shown, printed), "{shown}{printed}");
    }
}

#[test]
fn a_command_that_is_wrong_fails() {
    let folder = Folder::new();
    clone_in(&folder);
    for code in [
        "make no-such-target",
        "cargo install --path crates/none",
        "cargo biuld",
        "ostrakon scna",
    ] {
        assert!(!shell(&folder, code).status.success(), "{code}");
    }
}
