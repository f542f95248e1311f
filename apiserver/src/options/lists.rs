//! Types of structured flag values.

use std::str::FromStr;

/// One entry of `--watch-cache-sizes`: `pods#1000`, `deployments.apps#0`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CacheSize {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource: plural, lower case.
    pub resource: String,
    /// Number of events that its cache keeps; 0 turns the cache off.
    pub events: usize,
}

impl FromStr for CacheSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let (name, events) = text
            .split_once('#')
            .ok_or_else(|| format!("\"{text}\" has no #: write resource[.group]#size, as in pods#1000"))?;
        let events = events.parse().map_err(|_| format!("\"{events}\" is no number of events"))?;
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        if resource.is_empty() {
            return Err(format!("\"{text}\" names no resource"));
        }
        Ok(Self { group: group.to_owned(), resource: resource.to_owned(), events })
    }
}
