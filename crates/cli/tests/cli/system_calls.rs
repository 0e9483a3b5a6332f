//! Lets a system call of a command fail, any call that changes or reads files and any error that Linux gives for it.
//! Afterwards the store opens without damage; a command that succeeded has made its change, another one has made it
//! whole or not at all (or some of its steps), says why, and can be repeated. strace injects the errors. Without it, or
//! where it may not trace, the test is left out. `OSTRAKON_FAULTS=N` injects N times as many errors.

use std::process::{Command as Process, Stdio};
use std::time::Instant;

use ostrakon_store::clock::Random;
use ostrakon_testkit::disk::rounds_wanted;

use crate::changes::{
    COMMANDS, Command, EVENT_COMMANDS, copy_of, events, is_between, repeat, seen, seen_events,
    store,
};
use crate::run::{Folder, Ran};

/// Calls, and the errors that they get.
const CALLS: &[(&str, &[&str])] = &[
    ("write", &["EIO", "ENOSPC", "EDQUOT", "EINTR"]),
    ("pwrite64", &["EIO", "ENOSPC", "EFBIG", "EINTR"]),
    ("fsync", &["EIO", "ENOSPC"]),
    ("fdatasync", &["EIO", "ENOSPC"]),
    ("openat", &["EMFILE", "ENFILE", "EACCES", "EIO"]),
    ("read", &["EIO", "EINTR"]),
    ("pread64", &["EIO", "EINTR"]),
    ("statx", &["EIO", "ENOMEM"]),
    ("rename", &["EIO", "ENOSPC"]),
    ("unlink", &["EIO", "EPERM"]),
    ("link", &["EIO", "EMLINK", "EXDEV"]),
    ("linkat", &["EIO", "EMLINK", "EXDEV"]),
    ("mkdir", &["EIO", "ENOSPC"]),
    ("ftruncate", &["EIO", "EFBIG"]),
    ("fallocate", &["ENOSPC", "EOPNOTSUPP"]),
    ("getdents64", &["EIO"]),
];

/// Whether strace is there and may trace.
fn can_trace() -> bool {
    let tried = Process::new("strace")
        .args(["-f", "-qq", "-o", "/dev/null", "true"])
        .stderr(Stdio::null())
        .status();
    tried.is_ok_and(|status| status.success())
}

/// Runs a command under strace.
fn traced(folder: &Folder, options: &[&str], command: &[&str]) -> Ran {
    let program = folder.command(command);
    // A command that waits for ever fails.
    let mut strace = Process::new("timeout");
    strace.args(["-s", "KILL", "120", "strace", "-f", "-qq", "-o"]);
    strace.arg(folder.path("trace"));
    strace.args(options).arg(program.get_program());
    strace.args(command);
    strace.current_dir(folder.path(""));
    for (name, value) in program.get_envs() {
        match value {
            Some(value) => strace.env(name, value),
            None => strace.env_remove(name),
        };
    }
    crate::run::finish(strace, b"")
}

/// The calls of a command once it has begun to use the store: name, and how many of that name came before.
fn calls_of(folder: &Folder, command: &[&str]) -> Vec<(&'static str, usize)> {
    let names: Vec<&str> = CALLS.iter().map(|(name, _)| *name).collect();
    let trace = format!("trace={}", names.join(","));
    traced(folder, &["-e", &trace], command);
    let mut seen = vec![0_usize; CALLS.len()];
    let mut is_begun = false;
    let mut calls = Vec::new();
    for line in folder.read("trace").lines() {
        is_begun |= line.contains("store");
        // `PID name(arguments) = result`, or the second half of a call that was interrupted in the listing.
        let call = line.split_whitespace().nth(1).unwrap_or_default();
        let at = names.iter().position(|name| {
            call.strip_prefix(name)
                .is_some_and(|rest| rest.starts_with('('))
        });
        let Some(at) = at else { continue };
        seen[at] += 1;
        if is_begun {
            calls.push((names[at], seen[at]));
        }
    }
    calls
}

/// Runs one command with failing calls, each time on a copy of `sample`. Returns how many calls failed.
fn fail(
    sample: &Folder,
    command: Command,
    seen: fn(&Folder) -> String,
    random: &mut Random,
) -> usize {
    let (leaves, command) = command;
    let before = seen(sample);
    let whole = copy_of(sample);
    let calls = calls_of(&whole, command);
    let after = seen(&whole);
    assert!(calls.len() > 5, "{command:?}: {calls:?}");
    let mut failed = 0;
    for _ in 0..rounds_wanted(1) {
        // Each name is as likely as any other, however often it is called.
        let mut names: Vec<&str> = calls.iter().map(|(name, _)| *name).collect();
        names.sort_unstable();
        names.dedup();
        let name = names[random.below(names.len() as u64) as usize];
        let of_name: Vec<usize> = calls
            .iter()
            .filter(|(other, _)| *other == name)
            .map(|(_, number)| *number)
            .collect();
        let number = of_name[random.below(of_name.len() as u64) as usize];
        let errors = CALLS.iter().find(|(other, _)| *other == name).unwrap().1;
        let error = errors[random.below(errors.len() as u64) as usize];
        // An interrupted call is repeated until it is not interrupted.
        let for_good = match random.below(3) {
            0 if error != "EINTR" => "+",
            _ => "",
        };
        let inject = format!("inject={name}:error={error}:when={number}{for_good}");
        let trace = format!("trace={name}");
        let folder = copy_of(sample);
        let ran = traced(
            &folder,
            &["--seccomp-bpf", "-e", &trace, "-e", &inject],
            command,
        );
        failed += usize::from(folder.read("trace").contains("(INJECTED)"));
        let what = format!(
            "{command:?}, {inject}: {} {} {}",
            ran.code, ran.out, ran.err
        );
        assert!(
            matches!(ran.code, 0..=2) && !ran.err.contains("panicked"),
            "{what}"
        );
        // Where every write fails, so does the message.
        let is_mute = name == "write" && for_good == "+";
        assert!(ran.code == 0 || !ran.err.is_empty() || is_mute, "{what}");
        let now = seen(&folder);
        let is_right = match ran.code {
            0 => now == after,
            _ => is_between(leaves, &before, &now, &after),
        };
        assert!(is_right, "{what}: {now}");
        let checked = folder.run(&["check"]);
        assert!(
            checked.code == 0 && checked.out.contains(": 0 problems"),
            "{what}: {} {}",
            checked.out,
            checked.err
        );
        if now != after {
            repeat(&folder, command, &what);
            assert_eq!(seen(&folder), after, "{what}, again");
        }
    }
    failed
}

/// Runs all commands. A call that is not made in the second run does not fail: most are.
fn fail_all(sample: &Folder, commands: &[Command], seen: fn(&Folder) -> String, seed: u64) {
    if !can_trace() {
        eprintln!("left out: strace is missing, or may not trace");
        return;
    }
    let rounds = rounds_wanted(1);
    let mut random = Random::from_seed(rounds + seed);
    let failed: usize = commands
        .iter()
        .map(|command| fail(sample, *command, seen, &mut random))
        .sum();
    let tried = commands.len() * rounds as usize;
    assert!(2 * failed > tried, "{failed} of {tried} calls failed");
}

#[test]
fn a_command_whose_system_call_fails_is_done_whole_or_not_at_all() {
    fail_all(&store(), COMMANDS, seen, 0);
}

#[test]
fn a_command_on_events_whose_system_call_fails_can_be_repeated() {
    fail_all(&events(), EVENT_COMMANDS, seen_events, 1);
}

/// The threads of a query are the only ones that a library starts.
#[test]
fn a_query_whose_threads_cannot_be_started_says_so() {
    let folder = store();
    let program = folder.command(&[]).get_program().to_owned();
    let (mut answered, mut refused) = (0, 0);
    // Address space for some threads, and not for others: how much is needed depends on the build.
    for megabytes in (100..=700).step_by(8) {
        let mut limited = Process::new("timeout");
        limited.args(["-s", "KILL", "120", "sh", "-c"]);
        limited.arg(format!("ulimit -v {}; exec \"$@\"", megabytes << 10));
        limited.arg("sh").arg(&program);
        limited.args(["--memory", "16M", "sql", "-c", "SELECT count(*) FROM t"]);
        limited.env("OSTRAKON_DATA", folder.path("store"));
        let begun = Instant::now();
        let ran = crate::run::finish(limited, b"");
        assert!(
            begun.elapsed().as_secs() < 110,
            "{megabytes} MB: waits for ever"
        );
        let what = format!("{megabytes} MB: {} {} {}", ran.code, ran.out, ran.err);
        // The allocator ends a program for which there is no memory, and the loader does not start it.
        let is_out_of_memory = ran.code == -1
            || ran.err.contains("memory allocation of")
            || ran.err.contains("cannot allocate")
            || ran.err.contains("failed to map");
        if is_out_of_memory {
            continue;
        }
        match ran.code {
            0 => answered += 1,
            1 => {
                assert!(!ran.err.contains("panicked"), "{what}");
                refused += i32::from(ran.err.contains("threads of a query"));
            }
            _ => panic!("{what}"),
        }
    }
    assert!(
        answered > 0 && refused > 0,
        "{answered} answered, {refused} refused"
    );
}
