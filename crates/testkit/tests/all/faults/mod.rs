//! Faults from outside, in small here and in full by `make faults`: harmed files of every kind, errors of single
//! operations of the disk, power loss at each of them. Never is an acknowledged write lost, never an answer wrong
//! without a word, and a table whose files are whole is not harmed by another one's.

mod errors;
mod pieces;
