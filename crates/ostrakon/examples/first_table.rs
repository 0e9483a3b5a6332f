//! A first table: one reader sees a cell, and another does not.
//!
//! ```text
//! ["hr"] sees Berlin
//! ["hr"] sees a@b.c
//! [] sees Berlin
//! ```
#![allow(clippy::print_stdout, reason = "an example prints")]

use ostrakon::Store;

#[rustfmt::skip] // As the README prints it.
pub(crate) fn main() -> ostrakon::Result<()> {
    let people = Store::open("people.db")?.open_or_create_table("people")?;
    people.put("alice", ("contact", "city"), "Berlin").commit()?;
    people.put("alice", ("contact", "mail"), "a@b.c").label("hr|self").commit()?;
    for auths in [&["hr"][..], &[]] {
        for entry in people.scan().row("alice").auths(auths) {
            println!("{auths:?} sees {}", entry?.value_str()?);
        }
    }
    Ok(())
}
