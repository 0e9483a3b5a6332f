//! Tells the binary which commit it was built from, where Git is there to ask. No network.

use std::process::Command;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    // The reflog moves with every commit and checkout, in worktrees too.
    if let Some(log) = git(&["rev-parse", "--git-path", "logs/HEAD"])
        && std::path::Path::new(&log).exists()
    {
        println!("cargo::rerun-if-changed={log}");
    }
    let version = std::env::var("CARGO_PKG_VERSION").unwrap_or_default();
    let described = match git(&["show", "--no-patch", "--format=%h %cs", "HEAD"]) {
        Some(commit) => format!("{version} ({commit})"),
        None => version,
    };
    println!("cargo::rustc-env=OSTRAKON_VERSION={described}");
    // Tests start the program thousands of times. At a fixed address, the linker need not adjust each of half a million
    // pointers at every start.
    let variable = |name| std::env::var(name).unwrap_or_default();
    let target = variable("TARGET");
    let is_static = variable("CARGO_CFG_TARGET_FEATURE").contains("crt-static");
    if target.ends_with("linux-gnu") && variable("PROFILE") == "debug" && !is_static {
        println!("cargo::rustc-link-arg-bins=-no-pie");
    }
}

fn git(arguments: &[&str]) -> Option<String> {
    let output = Command::new("git").args(arguments).output().ok()?;
    let text = String::from_utf8(output.stdout).ok()?;
    let text = text.trim();
    (output.status.success() && !text.is_empty()).then(|| text.to_owned())
}
