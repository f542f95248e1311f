//! The names of kube-apiserver's flags, so that a flag that is not supported is not reported as a typing error.

use serde::Deserialize;

/// One flag, as the upstream data has it.
#[derive(Debug, Deserialize)]
pub(super) struct Flag {
    name: String,
}

/// One name a line, sorted.
pub(super) fn table(flags: &[Flag]) -> Vec<u8> {
    let mut names: Vec<&str> = flags.iter().map(|flag| flag.name.as_str()).collect();
    names.sort_unstable();
    (names.join("\n") + "\n").into_bytes()
}
