//! Completions as a shell asks for them.

use std::process::Command;

use crate::run::Folder;

/// What bash offers for the last of the words, by the script that `completions bash` prints.
fn offered(folder: &Folder, words: &[&str]) -> Option<String> {
    const ASK: &str = r#"
        eval "$("$PROGRAM" completions bash)"
        ostrakon() { "$PROGRAM" "$@"; }
        COMP_WORDS=("$@")
        COMP_CWORD=$(($# - 1))
        COMP_TYPE=9
        COMPREPLY=()
        _clap_complete_ostrakon ostrakon "${COMP_WORDS[COMP_CWORD]}"
        printf '%s\n' "${COMPREPLY[@]}"
    "#;
    let Ok(output) = Command::new("bash")
        .args(["--norc", "-c", ASK, "bash"])
        .args(words)
        .env("PROGRAM", env!("CARGO_BIN_EXE_ostrakon"))
        .env("PATH", with_program())
        .env("OSTRAKON_DATA", folder.path("store"))
        .env("OSTRAKON_MEMORY", "64M")
        .output()
    else {
        eprintln!("skipped: bash is not installed");
        return None;
    };
    let err = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(err, "", "{words:?}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The search path with the folder of the program before all others.
fn with_program() -> std::ffi::OsString {
    let program = std::path::Path::new(env!("CARGO_BIN_EXE_ostrakon"));
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders = [program.parent().unwrap().to_owned()]
        .into_iter()
        .chain(std::env::split_paths(&path));
    std::env::join_paths(folders).unwrap()
}

#[test]
fn bash_completes_commands_options_and_tables() {
    let folder = Folder::new();
    for table in ["people", "places", "flights"] {
        folder.ok(&["table", "create", table]);
    }
    let Some(tables) = offered(&folder, &["ostrakon", "scan", "p"]) else {
        return;
    };
    let mut tables: Vec<&str> = tables.split_whitespace().collect();
    tables.sort_unstable();
    assert_eq!(tables, ["people", "places"]);
    for (words, expected) in [
        (&["ostrakon", "sca"][..], "scan"),
        (&["ostrakon", "scan", "people", "--keys"], "--keys-only"),
        (&["ostrakon", "table", "delete", "people", "f"], "flights"),
        (&["ostrakon", "table", "config", "get", "f"], "flights"),
        (
            &["ostrakon", "lab", "run", "kepner2014-figure-6"],
            "kepner2014-figure-6",
        ),
    ] {
        let found = offered(&folder, words).unwrap();
        assert!(
            found.split_whitespace().any(|one| one == expected),
            "{words:?}: {found}"
        );
    }
    let log = folder.write("web.json", "{\"ts\":1,\"host\":\"a\"}\n");
    folder.ok(&["events", "create", "web_log", "--from", &log]);
    for command in ["query", "ingest", "top", "drop", "show"] {
        let found = offered(&folder, &["ostrakon", "events", command, "we"]).unwrap();
        assert_eq!(found.trim(), "web_log", "{command}");
    }
    // Another store, and one that does not exist.
    let other = Folder::with_table();
    let data = other.text("store");
    let found = offered(&folder, &["ostrakon", "--data", &data, "scan", ""]).unwrap();
    assert!(found.split_whitespace().any(|one| one == "t"), "{found}");
    let found = offered(&folder, &["ostrakon", "--data", "/absent", "scan", "p"]).unwrap();
    assert_eq!(found.trim(), "");
}

/// What fish and zsh offer for `ostrakon scan p`, by the scripts that the program prints.
#[test]
fn fish_and_zsh_complete_tables() {
    const FISH: &str = "ostrakon completions fish | source; complete -C 'ostrakon scan p'";
    // zsh's own functions of completion need a terminal: these stand in for them.
    const ZSH: &str = r#"
        compdef() { print -r -- "$*" }
        _describe() { print -rl -- "${(@P)3}" }
        eval "$(ostrakon completions zsh)"
        words=(ostrakon scan p)
        CURRENT=3
        _clap_dynamic_completer_ostrakon
    "#;
    let folder = Folder::new();
    for table in ["people", "places", "flights"] {
        folder.ok(&["table", "create", table]);
    }
    for (shell, arguments, head) in [
        ("fish", &["--no-config", "-c", FISH][..], ""),
        (
            "zsh",
            &["-f", "-c", ZSH],
            "_clap_dynamic_completer_ostrakon ostrakon\n",
        ),
    ] {
        let Ok(output) = Command::new(shell)
            .args(arguments)
            .env("PATH", with_program())
            .env("HOME", folder.path(""))
            .env("OSTRAKON_DATA", folder.path("store"))
            .env("OSTRAKON_MEMORY", "64M")
            .output()
        else {
            eprintln!("skipped: {shell} is not installed");
            continue;
        };
        let offered = String::from_utf8(output.stdout).unwrap();
        let err = String::from_utf8_lossy(&output.stderr);
        assert_eq!(offered, format!("{head}people\nplaces\n"), "{shell}: {err}");
    }
}
