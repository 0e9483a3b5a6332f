//! `make conformance`: plays scripts on a real Accumulo and on stores of ours, and shows what differs.

use std::path::Path;
use std::process::ExitCode;
use std::time::{Duration, Instant};

use ostrakon_testkit::conformance::{Examination, Peer, Script, examine, generate, load};

const HELP: &str = "make conformance ARGS=\"OPTIONS FILES\"

Plays the scripts of peers/accumulo/scripts and random ones on both sides, and shows what differs.

  FILES         play these scripts instead
  --runs N      so many random scripts (default 200; none with FILES or --only)
  --seed N      the seed of the first random script (default: by the clock)
  --minutes N   stop after so many minutes
  --only TEXT   the scripts of the folder whose name contains TEXT
  --as-they-are do not shorten what differs
  --print       print the random scripts instead of playing them";

struct Arguments {
    files: Vec<String>,
    runs: Option<u64>,
    seed: u64,
    limit: Duration,
    only: Option<String>,
    shorten: bool,
    print: bool,
}

fn parse() -> Result<Arguments, String> {
    let clock = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let mut parsed = Arguments {
        files: Vec::new(),
        runs: None,
        seed: clock.map_or(1, |since| since.as_secs() % 1_000_000 * 1000),
        limit: Duration::MAX,
        only: None,
        shorten: true,
        print: false,
    };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        let mut value = || {
            words
                .next()
                .ok_or_else(|| format!("{word} takes a value\n\n{HELP}"))
        };
        let number = |text: String| {
            text.parse::<u64>()
                .map_err(|_| format!("{text} is not a number"))
        };
        match word.as_str() {
            "--runs" => parsed.runs = Some(number(value()?)?),
            "--seed" => parsed.seed = number(value()?)?,
            "--minutes" => parsed.limit = Duration::from_secs(60 * number(value()?)?),
            "--only" => parsed.only = Some(value()?),
            "--as-they-are" => parsed.shorten = false,
            "--print" => parsed.print = true,
            _ if word.starts_with('-') => return Err(HELP.to_owned()),
            _ => parsed.files.push(word),
        }
    }
    Ok(parsed)
}

fn written(arguments: &Arguments) -> Result<Vec<Script>, String> {
    if arguments.files.is_empty() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../peers/accumulo/scripts");
        let mut scripts = load(&folder)?;
        scripts.extend(load(&folder.join("differs"))?);
        if let Some(only) = &arguments.only {
            scripts.retain(|script| script.name.contains(only));
        }
        return Ok(scripts);
    }
    let read = |file: &String| {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{file}: {error}"))?;
        Ok(Script::of(file, &text))
    };
    arguments.files.iter().map(read).collect()
}

/// How many scripts the cluster gets at a time.
const AT_ONCE: u64 = 96;

/// How many of them it plays side by side: it mostly waits.
const SIDE_BY_SIDE: usize = 12;

#[expect(
    clippy::print_stdout,
    clippy::print_stderr,
    reason = "a program for people"
)]
fn run(arguments: &Arguments) -> Result<bool, String> {
    let named = !arguments.files.is_empty() || arguments.only.is_some();
    let random = arguments.runs.unwrap_or(if named { 0 } else { 200 });
    let seeds = arguments.seed..arguments.seed.saturating_add(random);
    if arguments.print {
        seeds.for_each(|seed| println!("# seed {seed}\n{}", generate(seed)));
        return Ok(true);
    }
    let begun = Instant::now();
    let mut peer = Peer::start(SIDE_BY_SIDE)?;
    println!(
        "Accumulo {} is up after {:.1} s",
        peer.version(),
        begun.elapsed().as_secs_f64()
    );
    let (mut scripts, mut operations, mut differences) = (0, 0, 0);
    let mut compare = |all: &[Script], seed: u64| -> Result<(), String> {
        let how = Examination {
            seed,
            shorten: arguments.shorten,
        };
        let played = examine(&mut peer, all, how)?;
        scripts += played.scripts;
        operations += played.operations;
        differences += played.differences.len();
        played
            .differences
            .iter()
            .for_each(|difference| println!("\n{difference}"));
        played
            .faults
            .iter()
            .for_each(|fault| println!("\nknown fault: {fault}"));
        let unsteady = played.unsteady.iter();
        unsteady.for_each(|name| println!("\nthe cluster gave two answers to {name}"));
        differences += played.agreeing.len();
        played
            .agreeing
            .iter()
            .for_each(|name| println!("\n{name} agrees now: take it off the list"));
        eprintln!(
            "{:5.0} s: {scripts} scripts, {differences} differences",
            begun.elapsed().as_secs_f64()
        );
        Ok(())
    };
    compare(&written(arguments)?, 1)?;
    for first in seeds.clone().step_by(AT_ONCE as usize) {
        if begun.elapsed() >= arguments.limit {
            break;
        }
        let all: Vec<Script> = (first..seeds.end.min(first + AT_ONCE))
            .map(generate)
            .collect();
        compare(&all, first)?;
    }
    println!(
        "{scripts} scripts, {operations} operations, {differences} differences; random seeds from {} on; {:.0} s",
        arguments.seed,
        begun.elapsed().as_secs_f64()
    );
    Ok(differences == 0)
}

#[expect(clippy::print_stderr, reason = "a program for people")]
fn main() -> ExitCode {
    match parse().and_then(|arguments| run(&arguments)) {
        Ok(true) => ExitCode::SUCCESS,
        Ok(false) => ExitCode::FAILURE,
        Err(message) => {
            eprintln!("{message}");
            ExitCode::from(2)
        }
    }
}
