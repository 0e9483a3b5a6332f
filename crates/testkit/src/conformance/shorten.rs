//! Leaves operations out of a script as long as the two sides still differ.

use std::time::{Duration, Instant};

use super::examine::{Difference, compare, ours};
use super::peer::Peer;
use super::script::Script;

/// How long a difference is shortened before it is shown.
const SHORTEN_FOR: Duration = Duration::from_secs(60);

/// How many candidates the cluster plays at a time.
const AT_ONCE: usize = 4;

/// The fewest lines found that show a difference.
pub(super) fn shorten(peer: &mut Peer, mut found: Difference) -> Result<Difference, String> {
    let begun = Instant::now();
    // Nothing below the operation that differs matters.
    let kept = until(&found.script, found.line);
    if let Some(shorter) = first_that_differs(peer, &found, vec![kept])? {
        found = shorter;
    }
    for blocks in [true, false] {
        let mut chunk = pieces(&found.script, blocks).len() / 2;
        while chunk > 0 && begun.elapsed() < SHORTEN_FOR {
            let mut at = 0;
            while begun.elapsed() < SHORTEN_FOR {
                let all = pieces(&found.script, blocks);
                if at >= all.len() {
                    break;
                }
                let starts: Vec<usize> = (at..all.len()).step_by(chunk).take(AT_ONCE).collect();
                let candidates = starts
                    .iter()
                    .map(|&from| without(&all, &found.script, from, chunk))
                    .collect();
                match first_that_differs(peer, &found, candidates)? {
                    // What was behind the part that went has its place now.
                    Some(shorter) => found = shorter,
                    None => at += chunk * starts.len(),
                }
            }
            chunk /= 2;
        }
    }
    Ok(found)
}

/// Parts that may be left out: operations with their details, or single lines of details.
fn pieces(script: &Script, blocks: bool) -> Vec<std::ops::Range<usize>> {
    let mut pieces: Vec<std::ops::Range<usize>> = Vec::new();
    for (at, line) in script.lines().iter().enumerate() {
        let detail = line.starts_with(' ');
        match pieces.last_mut() {
            _ if line.starts_with('#') => {}
            Some(last) if blocks && detail => last.end = at + 1,
            _ if blocks || detail => pieces.push(at..at + 1),
            _ => {}
        }
    }
    pieces
}

fn without(
    pieces: &[std::ops::Range<usize>],
    script: &Script,
    from: usize,
    count: usize,
) -> Script {
    let gone = pieces.iter().skip(from).take(count);
    let mut keep = vec![true; script.lines().len()];
    for at in gone.flat_map(Clone::clone) {
        if let Some(keep) = keep.get_mut(at) {
            *keep = false;
        }
    }
    let lines = script.lines().iter().zip(keep).filter(|(_, keep)| *keep);
    Script::new(
        script.name.clone(),
        lines.map(|(line, _)| line.clone()).collect(),
    )
}

fn until(script: &Script, last: usize) -> Script {
    let details = script
        .lines()
        .iter()
        .skip(last)
        .take_while(|line| line.starts_with(' '));
    let count = last + details.count();
    Script::new(
        script.name.clone(),
        script.lines().iter().take(count).cloned().collect(),
    )
}

fn first_that_differs(
    peer: &mut Peer,
    found: &Difference,
    candidates: Vec<Script>,
) -> Result<Option<Difference>, String> {
    let theirs = peer.play(&candidates)?;
    for (candidate, theirs) in candidates.iter().zip(theirs) {
        // Without a line that others need a script may not be playable: then it shows nothing.
        let (Ok(theirs), Ok(ours)) = (theirs, ours(candidate, found.profile)) else {
            continue;
        };
        if let Some(shorter) = compare(candidate, found.profile, &theirs, &ours)
            && shorter.script.lines().len() < found.script.lines().len()
            && same_kind(&shorter, found)
        {
            return Ok(Some(shorter));
        }
    }
    Ok(None)
}

/// Whether both sides answer in the same way as before: a script that was shortened too far can differ for
/// another reason, one that is on the list.
fn same_kind(shorter: &Difference, found: &Difference) -> bool {
    let kind = |lines: &[String]| {
        let first = lines.first().map(String::as_str).unwrap_or_default();
        // The number of entries may change, the class of an error may not.
        first
            .strip_prefix("entries ")
            .map_or(first, |_| "entries")
            .to_owned()
    };
    kind(&shorter.theirs) == kind(&found.theirs) && kind(&shorter.ours) == kind(&found.ours)
}
