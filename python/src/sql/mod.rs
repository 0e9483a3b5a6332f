//! SQL: sessions, which belong to a reader, and their statements.

mod register;
mod session;

pub(crate) use register::register;
