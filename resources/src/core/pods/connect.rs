//! Connections to pods: their logs, shells, ports, and what they serve.

use registry_core::api::{Object, StatusError};
use serde_json::Value;

pub mod log;
pub mod proxy;
pub mod stream;

/// The lists a pod's containers are in, in the order they are named to users.
const CONTAINER_LISTS: [&str; 3] = ["initContainers", "containers", "ephemeralContainers"];

/// The container a client means: the one it names, or the only one.
///
/// # Errors
/// 400: there is none of that name, or several to choose from.
fn container_of<'p>(pod: &'p Object, options: &'p Object) -> Result<&'p str, StatusError> {
    let name = pod.name();
    let wanted = options.get_str(&["container"]).unwrap_or_default();
    if !wanted.is_empty() {
        return names(pod, &CONTAINER_LISTS).find(|one| *one == wanted).ok_or_else(|| {
            StatusError::bad_request(format!("container {wanted} is not valid for pod {name}"))
        });
    }
    let own: Vec<&str> = names(pod, &["containers"]).collect();
    let message = match own.as_slice() {
        [only] => return Ok(only),
        [] => format!("a container name must be specified for pod {name}"),
        _ => {
            let all: Vec<&str> = names(pod, &CONTAINER_LISTS).collect();
            let all = all.join(" ");
            format!("a container name must be specified for pod {name}, choose one of: [{all}]")
        }
    };
    Err(StatusError::bad_request(message))
}

fn names<'p>(pod: &'p Object, lists: &'p [&str]) -> impl Iterator<Item = &'p str> {
    let containers = lists.iter().filter_map(|list| pod.get(&["spec", list])?.as_array()).flatten();
    containers.filter_map(|container| container.get("name").and_then(Value::as_str))
}

/// The node a pod runs on; `None` before it was given one.
fn node_of(pod: &Object) -> Option<&str> {
    pod.get_str(&["spec", "nodeName"]).filter(|node| !node.is_empty())
}
