//! The log of dpkg.

use super::web::word;
use super::{LineParser, Names};
use crate::record::Record;
use crate::time::parse_time;

pub(super) const NAMES: [&str; 8] = [
    "time",
    "action",
    "state",
    "package",
    "architecture",
    "version",
    "new_version",
    "detail",
];

pub(super) struct Dpkg;

const ACTIONS: [&[u8]; 10] = [
    b"install",
    b"upgrade",
    b"remove",
    b"purge",
    b"configure",
    b"trigproc",
    b"disappear",
    b"status",
    b"startup",
    b"conffile",
];

/// Whether a line looks like this format.
pub(super) fn fits(line: &[u8]) -> bool {
    let mut record = Record::default();
    Dpkg.parse(line, &mut Names::of(&NAMES), &mut record) == Ok(true)
}

impl LineParser for Dpkg {
    fn parse(&mut self, line: &[u8], _: &mut Names, record: &mut Record) -> Result<bool, String> {
        let (time, rest) = line.split_at_checked(19).ok_or("the line is too short")?;
        parse_time(time)
            .ok_or("the line does not begin with a time such as 2015-05-17 10:05:03")?;
        let mut rest = rest
            .strip_prefix(b" ")
            .ok_or("there is no action after the time")?;
        let action = word(&mut rest);
        if !ACTIONS.contains(&action) {
            return Err("the action is not one of dpkg's".into());
        }
        record.push(0, time);
        record.push(1, action);
        let mut put = |name: u32, value: &[u8]| {
            if !value.is_empty() && value != b"<none>" {
                record.push(name, value);
            }
        };
        if action == b"startup" || action == b"conffile" {
            put(7, rest);
            return Ok(true);
        }
        if action == b"status" {
            put(2, word(&mut rest));
        }
        let package = word(&mut rest);
        let colon = memchr::memrchr(b':', package);
        put(3, colon.and_then(|at| package.get(..at)).unwrap_or(package));
        put(
            4,
            colon
                .and_then(|at| package.get(at + 1..))
                .unwrap_or_default(),
        );
        put(5, word(&mut rest));
        put(6, word(&mut rest));
        Ok(true)
    }
}
