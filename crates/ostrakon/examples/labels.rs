//! Labels are expressions over names; a reader holds some of the names.
//!
//! ```text
//! nothing        1 of 4 entries: blood-type
//! nurse          2 of 4 entries: blood-type ward
//! doctor,nurse   3 of 4 entries: blood-type diagnosis ward
//! self           2 of 4 entries: blood-type diagnosis
//! audit,eu       2 of 4 entries: access blood-type
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use ostrakon::Store;

pub(crate) fn main() -> ostrakon::Result<()> {
    let patients = Store::in_memory()?.create_table("patients")?;
    // One change of one row, applied whole or not at all.
    patients
        .put("patient-17", ("record", "blood-type"), "0+")
        .put(("record", "ward"), "3B")
        .label("nurse")
        .put(("record", "diagnosis"), "measles")
        .label("self|(doctor&nurse)")
        .put(("record", "access"), "2026-01-31")
        .label("audit&(eu|us)")
        .commit()?;

    // A label that could never be satisfied by mistake is refused, and nothing is written.
    let typo = patients
        .put("patient-17", ("record", "ward"), "4A")
        .label("nurse&");
    assert!(typo.commit().is_err());

    for auths in [
        &[][..],
        &["nurse"],
        &["doctor", "nurse"],
        &["self"],
        &["audit", "eu"],
    ] {
        let mut seen = Vec::new();
        for entry in patients.scan().auths(auths) {
            seen.push(entry?.qualifier_str()?.to_owned());
        }
        let who = if auths.is_empty() {
            "nothing".to_owned()
        } else {
            auths.join(",")
        };
        println!("{who:<14} {} of 4 entries: {}", seen.len(), seen.join(" "));
    }
    Ok(())
}
