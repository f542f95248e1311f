//! The feature gates of kube-apiserver, which are all accepted at their defaults.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use serde::Deserialize;

/// One gate, as the upstream data has it.
#[derive(Debug, Deserialize)]
pub(super) struct Gate {
    default: bool,
}

/// One name and default a line, sorted.
pub(super) fn table(gates: &BTreeMap<String, Gate>) -> Vec<u8> {
    let lines = gates.iter().fold(String::new(), |mut lines, (name, gate)| {
        // Writing to a string cannot fail.
        let _ = writeln!(lines, "{name} {}", gate.default);
        lines
    });
    lines.into_bytes()
}
