//! Graphs: the Kronecker generator, writing graphs, and the algorithms of `ostrakon-graph`.

mod algorithms;
mod arguments;
mod generate;
mod products;
mod register;
mod results;
mod running;
mod write;

pub(crate) use register::register;
