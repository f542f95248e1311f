//! The resources of `policy`.

pub mod poddisruptionbudgets;
