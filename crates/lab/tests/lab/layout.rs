//! The report in a browser, at the width of a desktop and of a phone: nothing is cut off. Left out where there is no
//! Chromium.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use ostrakon_cell::{Result, Source};
use ostrakon_lab::NoProgress;
use ostrakon_lab::continuous::RunRecord;
use ostrakon_lab::experiments::{
    DiskModel, EmulatedStorage, ExperimentOptions, Record, Rig, RigConditions, RigSettings, Unit,
    experiments, run_experiment, verdicts,
};
use ostrakon_lab::report::{ReportOptions, write_report};
use ostrakon_testkit::reference_model::MapSource;

/// Names under which systems have it.
const BROWSERS: &[&str] = &["chromium", "chromium-browser", "google-chrome"];

fn browser() -> Option<&'static str> {
    let works = |name: &&&str| {
        let ran = Command::new(**name).arg("--version").output();
        ran.is_ok_and(|ran| ran.status.success())
    };
    BROWSERS.iter().find(works).copied()
}

struct Model(PathBuf);

impl Rig for Model {
    fn fresh(&self, _: &RigSettings) -> Result<Arc<dyn Source>> {
        let mut iterators = ostrakon_cell::IteratorRegistry::new();
        ostrakon_events::register_event_iterators(&mut iterators);
        Ok(Arc::new(MapSource::with_iterators(iterators)))
    }
    fn conditions(&self, settings: &RigSettings) -> RigConditions {
        RigConditions {
            source: "the reference model".to_owned(),
            version: "0".to_owned(),
            reached: "in the same process".to_owned(),
            memory_budget_bytes: settings.memory_budget_bytes.unwrap_or(1 << 30),
            storage: "ext4 on /dev/disk/by-id/a-long-name-without-any-place-to-break-it-1234567890"
                .into(),
        }
    }
    fn scratch(&self) -> &Path {
        &self.0
    }
    fn storage(&self) -> Option<&dyn EmulatedStorage> {
        Some(&Memory)
    }
}

/// The reference model reads no disk that could be slow.
struct Memory;

impl EmulatedStorage for Memory {
    fn emulate(&self, _: Option<DiskModel>) {}
}

/// A value of the widest form that a long run may have. It does not depend on what was measured, so the page has the
/// same width wherever the test runs.
fn widest(unit: Unit) -> f64 {
    match unit {
        Unit::Exact => 123_456_789.0,
        Unit::Seconds => 12_345.6,
        Unit::Millis => 1_234.5,
        Unit::Micros => 123_456.7,
        Unit::Bytes => 1010.5 * f64::from(1 << 20),
        _ => 45.6e6,
    }
}

/// Numbers as wide as those of long runs, and times for which all charts are drawn.
fn lengthen(record: &mut Record) {
    for row in &mut record.rows {
        row.data_bytes = 123 << 20;
        for column in &record.columns {
            if let Some(spread) = row.metrics.get_mut(&column.key) {
                spread.mean = widest(column.unit);
                spread.deviation = spread.mean / 7.0;
            }
        }
        for repetition in &mut row.repetitions {
            for rates in &mut repetition.rates {
                rates.samples = (0..=40)
                    .map(|at| ostrakon_lab::measure::RateSample {
                        seconds: f64::from(at) / 4.0,
                        done: (at * at) as u64 * 100_000,
                    })
                    .collect();
            }
            if let Some(sample) = repetition.host.first().copied() {
                repetition.host = (0..20)
                    .map(|at| ostrakon_lab::measure::HostSample {
                        seconds: f64::from(at) / 2.0,
                        processors: 1.5,
                        disk_read_bytes_per_second: f64::from(at) * 1e8,
                        disk_written_bytes_per_second: f64::from(at) * 2e8,
                        ..sample
                    })
                    .collect();
            }
        }
    }
}

fn records(folder: &Path) -> PathBuf {
    let directory = folder.join("records");
    let rig = Model(folder.to_path_buf());
    let options = ExperimentOptions {
        scale: 0.0001,
        repetitions: 1,
        out: directory.clone(),
        ..ExperimentOptions::default()
    };
    for one in experiments() {
        let (mut record, file) = run_experiment(&rig, one.name, &options, &NoProgress).unwrap();
        assert!(
            !verdicts(&record, &[]).is_empty(),
            "{} says nothing",
            one.name
        );
        lengthen(&mut record);
        std::fs::write(file, serde_json::to_vec(&record).unwrap()).unwrap();
    }
    let conditions = rig.conditions(&RigSettings::default());
    for (program, figures) in [
        (
            "agitate",
            serde_json::json!({"kills": 30, "entries": 123_456_789, "seconds": 1234.5}),
        ),
        (
            "walk",
            serde_json::json!({"queries": 123_456_789, "seconds": 60.0, "queries_per_second": 2e6}),
        ),
    ] {
        let record = RunRecord::new(program, "ci", conditions.clone(), &figures).unwrap();
        record.write(&directory).unwrap();
    }
    directory
}

/// Loads the page in a frame of this width (a window of a browser cannot be as narrow as a phone's), and lists the
/// elements whose content is wider than they are and that do not scroll, nor lie in a box that does. At the width of a
/// desktop no box may need to scroll.
fn overflowing(browser: &str, page: &str, width: u32, folder: &Path) -> Vec<String> {
    let quoted = page.replace('&', "&amp;").replace('"', "&quot;");
    let script = r#"
        addEventListener("load", () => {
            const inner = document.querySelector("iframe").contentDocument;
            const found = ["measured " + inner.documentElement.clientWidth];
            const scrolls = (node) => {
                for (let at = node; at && at.nodeType === 1; at = at.parentElement) {
                    if (["auto", "scroll"].includes(inner.defaultView.getComputedStyle(at).overflowX)) return true;
                }
                return false;
            };
            for (const node of inner.querySelectorAll("body, body *:not(svg *)")) {
                if (node.scrollWidth > node.clientWidth + 1 && node.clientWidth > 0 && !scrolls(node))
                    found.push("wide " + node.tagName + "." + node.className + ": " + node.textContent.slice(0, 60));
                const box = node.getBoundingClientRect();
                if (box.right > inner.documentElement.clientWidth + 1 && !scrolls(node))
                    found.push("outside " + node.tagName + "." + node.className + ": " + node.textContent.slice(0, 60));
            }
            for (const node of inner.querySelectorAll(inner.documentElement.clientWidth < 1280 ? "nothing" : ".scroll, figure")) {
                if (node.scrollWidth > node.clientWidth + 1)
                    found.push("scrolls " + node.scrollWidth + " in " + node.clientWidth + ": " + node.textContent.slice(0, 60));
            }
            document.getElementById("found").textContent = found.join("\n");
        });
    "#;
    let wrapper = format!(
        "<!DOCTYPE html><meta charset=\"utf-8\"><pre id=\"found\"></pre>\
         <iframe width=\"{width}\" height=\"900\" style=\"border:0\" srcdoc=\"{quoted}\"></iframe><script>{script}</script>"
    );
    let file = folder.join(format!("frame-{width}.html"));
    std::fs::write(&file, wrapper).unwrap();
    // A browser that a busy machine delays may end before the page has measured itself.
    for _ in 0..3 {
        let found = found(browser, &file, &folder.join("profile"));
        if found.first() == Some(&format!("measured {width}")) {
            return found.into_iter().skip(1).collect();
        }
    }
    panic!("three times the browser measured nothing");
}

/// The lines that the page writes about itself.
fn found(browser: &str, file: &Path, profile: &Path) -> Vec<String> {
    let ran = Command::new(browser)
        .args([
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            "--disable-dev-shm-usage",
            "--disable-background-networking",
            "--disable-component-update",
            "--disable-sync",
            "--no-first-run",
        ])
        .args([
            "--window-size=2000,1000",
            "--hide-scrollbars",
            "--virtual-time-budget=20000",
            "--dump-dom",
        ])
        .arg(format!("--user-data-dir={}", profile.display()))
        .arg(format!("file://{}", file.display()))
        .output()
        .unwrap();
    let dom = String::from_utf8_lossy(&ran.stdout);
    let found = dom
        .split("<pre id=\"found\">")
        .nth(1)
        .and_then(|rest| rest.split("</pre>").next())
        .unwrap_or_default();
    if found.is_empty() {
        println!("{}", String::from_utf8_lossy(&ran.stderr));
    }
    found.lines().map(str::to_owned).collect()
}

#[test]
fn nothing_is_cut_off_on_a_desktop_or_a_phone() {
    let Some(browser) = browser() else {
        println!("left out: none of {} is installed", BROWSERS.join(", "));
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let summary = write_report(&records(folder.path()), &ReportOptions::default()).unwrap();
    let page = std::fs::read_to_string(&summary.file).unwrap();
    assert!(page.contains("Ingest, entries against time") && page.contains("Resident memory"));
    assert!(page.contains("Read from the disk") && page.contains("Written towards the disk"));
    for width in [1920, 1280, 390] {
        let found = overflowing(browser, &page, width, folder.path());
        assert!(found.is_empty(), "at {width} px: {found:#?}");
    }
    // The check itself notices a box that is too wide.
    let wide = page.replacen("<header>", "<header><div style=\"width:2000px\">x</div>", 1);
    assert!(!overflowing(browser, &wide, 1280, folder.path()).is_empty());
    // And a table that would have to scroll on a desktop.
    let cell = format!("<td>{}</td>", "x".repeat(300));
    let wide = page.replacen("<td>", &format!("{cell}<td>"), 1);
    let found = overflowing(browser, &wide, 1280, folder.path());
    assert!(
        found.iter().all(|one| one.starts_with("scrolls")) && !found.is_empty(),
        "{found:?}"
    );
}
