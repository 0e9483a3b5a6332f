//! The cluster: builds the Maven project when it changed, starts it, and passes scripts to it.

use std::collections::HashMap;
use std::fs;
use std::io::{BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::Mutex;
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::{Duration, Instant, SystemTime};

use super::player::Answer;
use super::script::Script;

/// The longest that starting the cluster, or playing one script, may take.
const PATIENCE: Duration = Duration::from_secs(900);

/// The longest that a cluster may take to stop before it is killed; its guard then ends its servers.
const FAREWELL: Duration = Duration::from_secs(120);

/// The environment variable that leaves the comparison with a real cluster out.
const SKIP: &str = "OSTRAKON_SKIP_ACCUMULO";

/// Whether the environment asks to leave the real cluster out, with what a test prints then.
#[must_use]
pub fn skipped() -> Option<String> {
    let set = std::env::var_os(SKIP).is_some_and(|value| !value.is_empty() && value != "0");
    set.then(|| format!("skipped: {SKIP} is set; nothing was compared with a real Accumulo"))
}

/// A running cluster. It ends with this value, and with this process.
pub struct Peer {
    child: Child,
    input: Option<ChildStdin>,
    output: Receiver<String>,
    version: String,
    log: PathBuf,
    /// Numbers the scripts sent, so that each answer finds its script.
    sent: u64,
}

/// What a cluster made of one script: its answers, or why it could not play it.
type Played = Result<Vec<Answer>, String>;

impl Peer {
    /// Builds what must be built, and starts a cluster that plays so many scripts at a time.
    ///
    /// # Errors
    /// Java or Maven is missing, the build fails, or the cluster does not come up; with what to do.
    pub fn start(side_by_side: usize) -> Result<Self, String> {
        let built = build()?;
        // Servers choose free ports, and another process may take one before they listen.
        Self::launch(&built, side_by_side).or_else(|_| Self::launch(&built, side_by_side))
    }

    fn launch(built: &Path, side_by_side: usize) -> Result<Self, String> {
        // Of its own, since others may play at the same time.
        let log = built.join(format!("peer-{}.log", std::process::id()));
        let file = fs::File::create(&log).map_err(|error| format!("{}: {error}", log.display()))?;
        let path = class_path(built);
        let mut child = Command::new("java")
            // Its servers inherit this: small processes that start soon.
            .env(
                "JDK_JAVA_OPTIONS",
                "-XX:+UseSerialGC -XX:TieredStopAtLevel=1 -XX:+PerfDisableSharedMem",
            )
            .arg(format!(
                "-Djava.io.tmpdir={}",
                std::env::temp_dir().display()
            ))
            .args(["-Xmx192m", "-cp", &path, "ostrakon.peer.Main"])
            .arg(side_by_side.to_string())
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(file)
            .spawn()
            .map_err(|error| format!("java does not start: {error}. {}", advice()))?;
        let (lines, output) = channel();
        if let Some(stdout) = child.stdout.take() {
            std::thread::spawn(move || {
                for line in BufReader::new(stdout).lines().map_while(Result::ok) {
                    if lines.send(line).is_err() {
                        break;
                    }
                }
            });
        }
        let mut peer = Self {
            input: child.stdin.take(),
            child,
            output,
            version: String::new(),
            log,
            sent: 0,
        };
        let ready = peer.next_line()?;
        let version = ready.strip_prefix("ready ");
        peer.version = version.unwrap_or("unknown").to_owned();
        Ok(peer)
    }

    /// The version of Accumulo.
    #[must_use]
    pub fn version(&self) -> &str {
        &self.version
    }

    /// Plays scripts, several at a time; the answers stand in the order of the scripts.
    ///
    /// # Errors
    /// The cluster ended or does not answer any more.
    pub fn play(&mut self, scripts: &[Script]) -> Result<Vec<Played>, String> {
        let first = self.sent;
        self.sent += scripts.len() as u64;
        let mut frames = String::new();
        for (number, script) in (first..).zip(scripts) {
            frames.push_str(&format!("script {number}\n"));
            for line in script.lines() {
                frames.push_str(line);
                frames.push('\n');
            }
            frames.push_str("end\n");
        }
        let Some(input) = &mut self.input else {
            return Err("the cluster was stopped".to_owned());
        };
        input
            .write_all(frames.as_bytes())
            .and_then(|()| input.flush())
            .map_err(|error| format!("the cluster takes no scripts: {error}"))?;
        let mut played: HashMap<u64, Played> = HashMap::new();
        while played.len() < scripts.len() {
            let (number, answers) = self.answers()?;
            played.insert(number, answers);
        }
        (first..self.sent)
            .map(|number| {
                played
                    .remove(&number)
                    .ok_or_else(|| format!("the cluster never answered script {number}"))
            })
            .collect()
    }

    fn answers(&mut self) -> Result<(u64, Played), String> {
        let head = self.next_line()?;
        let number = head
            .strip_prefix("script ")
            .and_then(|number| number.parse().ok())
            .ok_or_else(|| format!("the cluster answered {head:?} instead of a script"))?;
        let mut played: Played = Ok(Vec::new());
        loop {
            let line = self.next_line()?;
            if line == "end" {
                return Ok((number, played));
            }
            if let Some(mistake) = line.strip_prefix("mistake ") {
                played = Err(mistake.to_owned());
            } else if let Ok(answers) = &mut played {
                add(answers, &line);
            }
        }
    }

    fn next_line(&self) -> Result<String, String> {
        let log = self.log.display();
        match self.output.recv_timeout(PATIENCE) {
            Ok(line) => Ok(line),
            Err(RecvTimeoutError::Timeout) => Err(format!(
                "the cluster did not answer for {} s; its log is {log}",
                PATIENCE.as_secs()
            )),
            Err(RecvTimeoutError::Disconnected) => {
                let text = fs::read_to_string(&self.log).unwrap_or_default();
                let last: Vec<&str> = text.lines().rev().take(20).collect();
                let last: Vec<&str> = last.into_iter().rev().collect();
                Err(format!(
                    "the cluster ended; {log} says:\n{}",
                    last.join("\n")
                ))
            }
        }
    }
}

impl Drop for Peer {
    fn drop(&mut self) {
        // The end of its input ends it, and its guard the servers.
        self.input = None;
        let begun = Instant::now();
        let ended = loop {
            match self.child.try_wait() {
                Ok(None) if begun.elapsed() < FAREWELL => {
                    std::thread::sleep(Duration::from_millis(50));
                }
                Ok(Some(status)) => break status.success(),
                _ => {
                    let _ = self.child.kill();
                    let _ = self.child.wait();
                    break false;
                }
            }
        };
        // What is in it tells why a cluster failed, and nothing else.
        if ended && !std::thread::panicking() {
            let _ = fs::remove_file(&self.log);
        }
    }
}

/// `@LINE OUTCOME` begins an answer; other lines belong to the last.
fn add(answers: &mut Vec<Answer>, line: &str) {
    let begun = line.strip_prefix('@').and_then(|rest| {
        let (number, outcome) = rest.split_once(' ')?;
        Some((number.parse().ok()?, outcome))
    });
    match (begun, answers.last_mut()) {
        (Some((line, outcome)), _) => answers.push(Answer {
            line,
            lines: vec![outcome.to_owned()],
        }),
        (None, Some(last)) => last.lines.push(line.to_owned()),
        (None, None) => {}
    }
}

fn advice() -> String {
    format!(
        "The comparison with a real Accumulo needs a JDK, 17 or newer, and Maven 3.6 or newer \
         (scripts/setup java installs them; Debian: apt-get install openjdk-17-jdk-headless maven), \
         and once Maven's repository, or a mirror of it that ~/.m2/settings.xml names. \
         {SKIP}=1 leaves it out."
    )
}

/// What Accumulo's lexicoders make of many values: the output of the peer's class `Lexicoders`.
///
/// # Errors
/// Java or Maven is missing, or the build fails; with what to do.
pub fn lexicoders() -> Result<String, String> {
    let path = class_path(&build()?);
    let output = Command::new("java")
        .args(["-cp", &path, "ostrakon.peer.Lexicoders"])
        .output()
        .map_err(|error| format!("java does not start: {error}. {}", advice()))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    Ok(String::from_utf8_lossy(&output.stdout).into_owned())
}

fn class_path(built: &Path) -> String {
    format!("{0}/accumulo-peer-1.jar:{0}/lib/*", built.display())
}

/// The folder with the built project.
fn build() -> Result<PathBuf, String> {
    // Tests of one process may ask at the same time.
    static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());
    let _guard = ONE_AT_A_TIME.lock();
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let root = root.canonicalize().map_err(|error| error.to_string())?;
    let project = root.join("peers/accumulo");
    let built = root.join("target/peers/accumulo");
    let newest = newest(&project.join("src"))?.max(changed(&project.join("pom.xml"))?);
    if changed(&built.join("accumulo-peer-1.jar")).is_ok_and(|built| built > newest)
        && built.join("lib").is_dir()
    {
        return Ok(built);
    }
    // Without the network when everything was downloaded before; that is much faster, too.
    let mut said = String::new();
    for offline in [true, false] {
        let mut maven = Command::new("mvn");
        maven
            .args(["-B", "-q", "-ntp", "package"])
            .current_dir(&project);
        if offline {
            maven.arg("-o");
        }
        let output = maven
            .output()
            .map_err(|error| format!("mvn does not start: {error}. {}", advice()))?;
        if output.status.success() {
            return Ok(built);
        }
        said = String::from_utf8_lossy(&output.stdout).into_owned();
    }
    Err(format!(
        "Maven could not build {}:\n{said}\n{}",
        project.display(),
        advice()
    ))
}

fn changed(path: &Path) -> Result<SystemTime, String> {
    fs::metadata(path)
        .and_then(|metadata| metadata.modified())
        .map_err(|error| format!("{}: {error}", path.display()))
}

fn newest(folder: &Path) -> Result<SystemTime, String> {
    let mut newest = changed(folder)?;
    for entry in fs::read_dir(folder).map_err(|error| format!("{}: {error}", folder.display()))? {
        let path = entry.map_err(|error| error.to_string())?.path();
        newest = newest.max(if path.is_dir() {
            self::newest(&path)?
        } else {
            changed(&path)?
        });
    }
    Ok(newest)
}
