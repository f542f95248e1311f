//! `pods/attach`, `pods/exec`, `pods/portforward`: streams to a running container, by an upgraded connection to its
//! kubelet.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{GroupResource, GroupVersionKind, Object, Scope, StatusError};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource};
use registry_core::resource::Resource;
use registry_core::rest::connect::{
    Accepted, ConnectRequest, Connecter, Connection, Exchange, OptionType, encode_query,
};
use registry_core::rest::{Capabilities, Storage};
use registry_core::schema::Schema;
use serde_json::Value;

use super::{container_of, node_of};
use crate::core::nodes::kubelet::Kubelets;
use crate::core::pods::Pods;
use crate::lookup::read_newest;

/// `pods/attach`: the streams of what a container runs.
pub struct Attach;
/// `pods/exec`: another program in a container.
pub struct Exec;
/// `pods/portforward`: connections to a pod's ports.
pub struct PortForward;

/// What such a subresource is by itself.
struct Facts {
    accepted: Accepted,
    /// What kubelets call it.
    path: &'static str,
    /// Whether it is about one container.
    is_in_container: bool,
}

static ATTACH: Facts = Facts {
    accepted: Accepted {
        verbs: &["create", "get"],
        options_kind: GroupVersionKind { group: "", version: "v1", kind: "PodAttachOptions" },
        options: &[
            ("container", OptionType::Text),
            ("stderr", OptionType::Switch),
            ("stdin", OptionType::Switch),
            ("stdout", OptionType::Switch),
            ("tty", OptionType::Switch),
        ],
        has_path: false,
    },
    path: "attach",
    is_in_container: true,
};

static EXEC: Facts = Facts {
    accepted: Accepted {
        verbs: &["create", "get"],
        options_kind: GroupVersionKind { group: "", version: "v1", kind: "PodExecOptions" },
        options: &[
            ("command", OptionType::Texts),
            ("container", OptionType::Text),
            ("stderr", OptionType::Switch),
            ("stdin", OptionType::Switch),
            ("stdout", OptionType::Switch),
            ("tty", OptionType::Switch),
        ],
        has_path: false,
    },
    path: "exec",
    is_in_container: true,
};

static PORT_FORWARD: Facts = Facts {
    accepted: Accepted {
        verbs: &["create", "get"],
        options_kind: GroupVersionKind { group: "", version: "v1", kind: "PodPortForwardOptions" },
        options: &[("ports", OptionType::Integers)],
        has_path: false,
    },
    path: "portForward",
    is_in_container: false,
};

/// Serves one of them.
pub struct StreamStorage {
    facts: &'static Facts,
    pods: Arc<Store>,
    kubelets: Kubelets,
}

impl Subresource for Attach {
    type Parent = Pods;
    type Storage = StreamStorage;
    const NAME: &'static str = "attach";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        StreamStorage::install(&ATTACH, parent, services)
    }
}

impl Subresource for Exec {
    type Parent = Pods;
    type Storage = StreamStorage;
    const NAME: &'static str = "exec";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        StreamStorage::install(&EXEC, parent, services)
    }
}

impl Subresource for PortForward {
    type Parent = Pods;
    type Storage = StreamStorage;
    const NAME: &'static str = "portforward";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        StreamStorage::install(&PORT_FORWARD, parent, services)
    }
}

// === impl StreamStorage ===

impl StreamStorage {
    fn install(facts: &'static Facts, parent: &Arc<Store>, services: &Services) -> Capabilities {
        let kubelets = Kubelets::new(services);
        capabilities!(Arc::new(Self { facts, pods: parent.clone(), kubelets }); connecter)
    }
}

impl Storage for StreamStorage {
    fn group_resource(&self) -> GroupResource {
        Pods::TYPE.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        self.facts.accepted.options_kind
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> &'static Schema {
        let kind = self.kind();
        crate::schema::of(kind.group, kind.version, kind.kind)
    }
}

#[async_trait]
impl Connecter for StreamStorage {
    fn accepts(&self) -> &'static Accepted {
        &self.facts.accepted
    }

    async fn connect(
        &self,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let pod = read_newest(&self.pods, context, name).await?;
        let mut path = format!("/{}/{}/{name}", self.facts.path, context.namespace);
        if self.facts.is_in_container {
            path.push('/');
            path.push_str(container_of(&pod, request.options)?);
        }
        let Some(node) = node_of(&pod) else {
            return Err(StatusError::bad_request(format!("pod {name} does not have a host assigned")));
        };
        let kubelet = self.kubelets.of_node(node).await?;
        let destination = kubelet.destination(path, Some(query(request.options)), Exchange::Upgrade);
        Ok(Connection::To(destination))
    }
}

/// The options as kubelets take them.
fn query(options: &Object) -> String {
    let switches = [("stdin", "input"), ("stdout", "output"), ("stderr", "error"), ("tty", "tty")];
    let mut parameters: Vec<(&str, Cow<'_, str>)> = switches
        .into_iter()
        .filter(|(own, _)| options.get(&[own]) == Some(&true.into()))
        .map(|(_, kubelets)| (kubelets, "1".into()))
        .collect();
    let list = |name: &str| options.get(&[name]).and_then(Value::as_array).into_iter().flatten();
    parameters.extend(list("command").filter_map(Value::as_str).map(|word| ("command", word.into())));
    let ports: Vec<String> = list("ports").map(Value::to_string).collect();
    if !ports.is_empty() {
        parameters.push(("port", ports.join(",").into()));
    }
    encode_query(parameters)
}
