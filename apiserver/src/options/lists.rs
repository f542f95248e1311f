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

/// One entry of `--etcd-servers-overrides`: `/events#http://127.0.0.1:2379;http://127.0.0.1:2380`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EtcdOverride {
    /// The group; empty for the core group.
    pub group: String,
    /// The resource: plural, lower case; `*` for all resources of the group.
    pub resource: String,
    /// Endpoints of the resource's etcd, as URLs: at least one.
    pub servers: Vec<String>,
}

// === impl EtcdOverride ===

impl FromStr for EtcdOverride {
    type Err = ValueError;

    fn from_str(text: &str) -> Result<Self, ValueError> {
        let parts: Vec<&str> = text.split('#').collect();
        if let [name, servers] = *parts
            && let [group, resource] = *name.split('/').collect::<Vec<_>>()
            && servers.split(';').all(|server| !server.is_empty())
        {
            let servers = servers.split(';').map(str::to_owned).collect();
            return Ok(Self { group: group.to_owned(), resource: resource.to_owned(), servers });
        }
        Err(ValueError::NoOverride)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn overrides_have_a_group_a_resource_and_servers() {
        let parsed: EtcdOverride = "apps/deployments#http://a:1;http://b:2".parse().unwrap();
        assert_eq!((&*parsed.group, &*parsed.resource), ("apps", "deployments"));
        assert_eq!(parsed.servers, ["http://a:1", "http://b:2"]);
        let core: EtcdOverride = "/events#http://a:1".parse().unwrap();
        assert_eq!((&*core.group, &*core.resource), ("", "events"));
        for refused in [
            "",
            "events",
            "/events",
            "/events#",
            "/events#http://a:1;",
            "/events#;http://a:1",
            "/events#http://a:1#b",
            "events#http://a:1",
            "v1/core/events#http://a:1",
            "#http://a:1",
        ] {
            assert!(refused.parse::<EtcdOverride>().is_err(), "{refused:?}");
        }
    }
}
