//! The deprecated topology of endpoints, which clients can no longer write.

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::api::validation::names;
use resource_views::List;
use resource_views::discovery::v1::{EndpointSlice, EndpointSliceMut};
use serde_json::Value;

/// The key under which topologies named nodes.
const NODE: &str = "kubernetes.io/hostname";

/// Drops the topologies, unless the endpoints are what they were. Names of nodes that were there before move to the
/// field that replaces them.
pub(super) fn drop_from(new: &mut Object, old: Option<&Object>) {
    if old.is_some_and(|old| EndpointSlice(old).endpoints().value() == EndpointSlice(new).endpoints().value())
    {
        return;
    }
    let before = old.map(|old| EndpointSlice(old).endpoints());
    let before = before.iter().flat_map(List::elements);
    let earlier = before.map(|endpoint| endpoint.deprecated_topology().entry(NODE).text());
    let earlier: HashSet<&str> = earlier.filter(|name| !name.is_empty()).collect();
    for mut endpoint in EndpointSliceMut(new).endpoints().elements() {
        let Some(Value::Object(topology)) = endpoint.deprecated_topology().remove() else { continue };
        let Some(Value::String(name)) = topology.get(NODE) else { continue };
        if earlier.contains(name.as_str()) && names::dns_subdomain(name).is_empty() {
            endpoint.node_name().or_if_absent(name);
        }
    }
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used, reason = "test code: a broken expectation is a failed test")]

    use serde_json::json;

    use super::*;

    fn slice(endpoint: &Value) -> Object {
        Object::from_value(json!({"endpoints": [endpoint]})).unwrap()
    }

    #[test]
    fn topologies_are_dropped_and_earlier_names_of_nodes_are_kept() {
        let written =
            slice(&json!({"addresses": ["10.0.0.1"], "deprecatedTopology": {NODE: "n1", "zone": "z"}}));
        let mut new = written.clone();
        drop_from(&mut new, None);
        assert_eq!(new, slice(&json!({"addresses": ["10.0.0.1"]})));
        let old = slice(&json!({"addresses": ["10.0.0.2"], "deprecatedTopology": {NODE: "n1"}}));
        let mut new = written.clone();
        drop_from(&mut new, Some(&old));
        assert_eq!(new, slice(&json!({"addresses": ["10.0.0.1"], "nodeName": "n1"})));
        let mut new = written.clone();
        drop_from(&mut new, Some(&written));
        assert_eq!(new, written);
    }
}
