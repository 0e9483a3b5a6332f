//! Packages of the program, made where the tools exist.

use std::path::Path;
use std::process::{Command, Output};

use crate::run::Folder;

fn root() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/../.."))
}

fn has(tool: &str) -> bool {
    let found = Command::new("sh")
        .args(["-c", "command -v \"$1\"", "sh", tool])
        .output();
    let found = found.is_ok_and(|output| output.status.success());
    if !found {
        eprintln!("skipped: {tool} is not installed");
    }
    found
}

fn text(output: &Output) -> String {
    let (out, err) = (&output.stdout, &output.stderr);
    assert!(output.status.success(), "{}", String::from_utf8_lossy(err));
    String::from_utf8_lossy(out).into_owned()
}

#[test]
fn a_debian_package_has_the_program_its_pages_and_completions() {
    if !has("dpkg-deb") {
        return;
    }
    let folder = Folder::new();
    let made = Command::new(root().join("scripts/deb"))
        .arg(env!("CARGO_BIN_EXE_ostrakon"))
        .arg(folder.path("dist"))
        // A program for tests is large, and how small the package is does not matter here.
        .env("DPKG_DEB_COMPRESSOR_TYPE", "gzip")
        .env("DPKG_DEB_COMPRESSOR_LEVEL", "1")
        .output()
        .unwrap();
    text(&made);
    let packages: Vec<_> = std::fs::read_dir(folder.path("dist"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    let [package] = packages.as_slice() else {
        panic!("{packages:?}");
    };
    let list = |option: &str| {
        let listed = Command::new("dpkg-deb").arg(option).arg(package).output();
        text(&listed.unwrap())
    };
    let contents = list("--contents");
    for file in [
        "./usr/bin/ostrakon",
        "./usr/share/man/man1/ostrakon-scan.1.gz",
        "./usr/share/bash-completion/completions/ostrakon",
        "./usr/share/zsh/vendor-completions/_ostrakon",
        "./usr/share/fish/vendor_completions.d/ostrakon.fish",
        "./usr/share/doc/ostrakon/copyright",
    ] {
        assert!(contents.contains(file), "{file}: {contents}");
    }
    let about = list("--info");
    assert!(
        about.contains(concat!("Version: ", env!("CARGO_PKG_VERSION"))),
        "{about}"
    );
}

/// Downloads a toolchain and compiles everything, so it runs on request only.
#[test]
fn the_image_is_built_and_runs() {
    if std::env::var_os("OSTRAKON_TEST_DOCKER").is_none() {
        eprintln!("skipped: OSTRAKON_TEST_DOCKER=1 builds the image");
        return;
    }
    if !has("docker") {
        return;
    }
    let built = Command::new("docker")
        .args(["build", "-q", "-t", "ostrakon-test", "."])
        .current_dir(root())
        .output();
    text(&built.unwrap());
    let shown = Command::new("docker")
        .args(["run", "--rm", "ostrakon-test", "--version"])
        .output();
    assert!(text(&shown.unwrap()).starts_with("ostrakon 0."));
}
