//! Plays scripts on both sides and compares the answers.

use std::fmt;
use std::fs;
use std::path::Path;

use super::peer::Peer;
use super::player::{Answer, play};
use super::profile::Profile;
use super::script::Script;
use super::shorten::shorten;

/// Where the two sides part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Difference {
    /// The script, shortened where there was time.
    pub script: Script,
    /// How our side played it.
    pub profile: Profile,
    /// The line of the operation.
    pub line: usize,
    /// What the cluster answered.
    pub theirs: Vec<String>,
    /// What we answered.
    pub ours: Vec<String>,
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(
            f,
            "script {} ({:?}) differs at line {}",
            self.script.name, self.profile, self.line
        )?;
        write!(f, "{}", self.script)?;
        for (who, lines) in [("Accumulo", &self.theirs), ("Ostrakon", &self.ours)] {
            writeln!(f, "{who} answers:")?;
            for line in lines {
                writeln!(f, "      {line}")?;
            }
        }
        Ok(())
    }
}

/// Which scripts are compared, and how thoroughly.
#[derive(Debug, Clone, Copy)]
pub struct Examination {
    /// Seeds for the busy profile, one a script from here on.
    pub seed: u64,
    /// Whether a script that differs is shortened.
    pub shorten: bool,
}

/// What came out.
#[derive(Debug, Default)]
pub struct Played {
    /// Scripts that were compared.
    pub scripts: usize,
    /// Operations in them.
    pub operations: usize,
    /// One for each script that differs and should not.
    pub differences: Vec<Difference>,
    /// Those of scripts that say `# fault: WHAT`: known, and to be repaired.
    pub faults: Vec<Difference>,
    /// Scripts to which the cluster gave two answers, ours and another one: it was not ready with something.
    pub unsteady: Vec<String>,
    /// Scripts that say `# differs: REASON` and do not differ: the reason is gone.
    pub agreeing: Vec<String>,
}

/// Plays scripts on the cluster and on stores of ours.
///
/// # Errors
/// A script that cannot be played, or a cluster that ended.
pub fn examine(peer: &mut Peer, scripts: &[Script], how: Examination) -> Result<Played, String> {
    let mut result = Played::default();
    let theirs = peer.play(scripts)?;
    for (at, (script, theirs)) in scripts.iter().zip(theirs).enumerate() {
        let theirs =
            theirs.map_err(|mistake| format!("script {}: {mistake}\n{script}", script.name))?;
        result.scripts += 1;
        result.operations += theirs.len();
        let seed = how.seed.wrapping_add(at as u64);
        let mut found = None;
        for profile in profiles(script, seed) {
            let ours = ours(script, profile)?;
            found = compare(script, profile, &theirs, &ours);
            if found.is_some() && script.note("differs").is_none() {
                // A cluster on a busy machine may go by a property that was changed, or know an old tablet. What we
                // answered has to be an answer that it gives.
                if let Some(Ok(again)) = peer.play(std::slice::from_ref(script))?.pop() {
                    found = compare(script, profile, &again, &ours);
                }
                if found.is_none() {
                    result.unsteady.push(script.name.clone());
                }
            }
            if found.is_some() {
                break;
            }
        }
        match (script.note("differs"), found) {
            (None, None) | (Some(_), Some(_)) => {}
            (None, Some(found)) if script.note("fault").is_some() => result.faults.push(found),
            (None, Some(found)) if how.shorten => result.differences.push(shorten(peer, found)?),
            (None, Some(found)) => result.differences.push(found),
            // Here, too, a cluster on a busy machine may have given another answer than it usually does.
            (Some(_), None) if differs_again(peer, script, seed)? => {
                result.unsteady.push(script.name.clone());
            }
            (Some(_), None) => result.agreeing.push(script.name.clone()),
        }
    }
    Ok(result)
}

/// Whether a script differs when the cluster plays it once more.
fn differs_again(peer: &mut Peer, script: &Script, seed: u64) -> Result<bool, String> {
    let Some(Ok(theirs)) = peer.play(std::slice::from_ref(script))?.pop() else {
        return Ok(false);
    };
    for profile in profiles(script, seed) {
        if compare(script, profile, &theirs, &ours(script, profile)?).is_some() {
            return Ok(true);
        }
    }
    Ok(false)
}

fn profiles(script: &Script, seed: u64) -> Vec<Profile> {
    let mut profiles = vec![Profile::Calm];
    if !script.explicit_compactions() {
        profiles.push(Profile::Busy(seed));
    }
    profiles
}

/// What a new store of ours answers.
pub(super) fn ours(script: &Script, profile: Profile) -> Result<Vec<Answer>, String> {
    let (store, mut restless) = profile.open().map_err(|error| error.to_string())?;
    play(&*store, script, &mut restless)
        .map_err(|mistake| format!("script {}: {mistake}\n{script}", script.name))
}

/// The first operation that was answered differently.
pub(super) fn compare(
    script: &Script,
    profile: Profile,
    theirs: &[Answer],
    ours: &[Answer],
) -> Option<Difference> {
    let lines =
        |answer: Option<&Answer>| answer.map_or_else(Vec::new, |answer| answer.lines.clone());
    (0..theirs.len().max(ours.len())).find_map(|at| {
        let (theirs, ours) = (theirs.get(at), ours.get(at));
        let same = theirs.zip(ours).is_some_and(|(theirs, ours)| {
            theirs.line == ours.line && compared(theirs).eq(compared(ours))
        });
        (!same).then(|| Difference {
            script: script.clone(),
            profile,
            line: theirs.or(ours).map_or(0, |answer| answer.line),
            theirs: lines(theirs),
            ours: lines(ours),
        })
    })
}

/// Lines that begin with `#` are for people.
fn compared(answer: &Answer) -> impl Iterator<Item = &String> {
    answer.lines.iter().filter(|line| !line.starts_with("# "))
}

/// The scripts of a folder, `*.script`, by name.
///
/// # Errors
/// The folder cannot be read.
pub fn load(folder: &Path) -> Result<Vec<Script>, String> {
    let wrong = |error: std::io::Error| format!("{}: {error}", folder.display());
    let mut scripts = Vec::new();
    for entry in fs::read_dir(folder).map_err(wrong)? {
        let path = entry.map_err(wrong)?.path();
        if path.extension().is_some_and(|end| end == "script") {
            let name = path
                .file_stem()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned();
            scripts.push(Script::of(name, &fs::read_to_string(&path).map_err(wrong)?));
        }
    }
    scripts.sort_by(|a, b| a.name.cmp(&b.name));
    Ok(scripts)
}
