//! The API group `zoo.example.dev`.

pub mod enclosure;
