//! The flags.

use std::collections::BTreeMap;
use std::fmt::Write as _;

/// Returns the flags, one per line.
pub(super) fn text(flags: &BTreeMap<String, String>) -> String {
    flags.iter().fold(String::new(), |mut text, (name, value)| {
        // Writing to a string cannot fail.
        let _ = writeln!(text, "{name}={value}");
        text
    })
}
