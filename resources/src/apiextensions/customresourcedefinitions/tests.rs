//! Tests of definitions over a store in memory: what is accepted, what is refused, and in which words.

mod bench;
mod recordings;
