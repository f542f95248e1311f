//! Types of structured flag values.

use std::str::FromStr;

use super::ValueError;

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
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let (name, events) = text.split_once('#').ok_or_else(|| ValueError::NoSize(text.to_owned()))?;
        let events = events.parse().map_err(|_| ValueError::NoCount(events.to_owned()))?;
        let (resource, group) = name.split_once('.').unwrap_or((name, ""));
        if resource.is_empty() {
            return Err(ValueError::NoResource(text.to_owned()));
        }
        Ok(Self { group: group.to_owned(), resource: resource.to_owned(), events })
    }
}
