//! `pods/attach`, `pods/exec`, `pods/portforward`: streams to a running container, over an upgraded connection to its
//! kubelet.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{GroupVersionKind, Object, StatusError};
use registry_core::capabilities;
use registry_core::registry::{ConnectRules, ConnectStore, Services, Store, Subresource};
use registry_core::rest::Capabilities;
use registry_core::rest::connect::{
    ConnectRequest, ConnectSpec, Connection, Exchange, OptionType, encode_query,
};
use serde_json::Value;

use super::{KubeletRequest, Kubelets};
use crate::api::core::pods::Pods;
use crate::schema;

/// `pods/attach`: the streams of a container's main process.
pub struct Attach;
/// `pods/exec`: the execution of a command in a container.
pub struct Exec;
/// `pods/portforward`: connections to ports of a pod.
pub struct PortForward;

/// The properties of such a subresource.
struct Facts {
    connect_spec: ConnectSpec,
    /// The form of the request to the kubelet.
    request_shape: KubeletRequest,
}

static ATTACH: Facts = Facts::new(
    "PodAttachOptions",
    &[
        ("container", OptionType::Text),
        ("stderr", OptionType::Switch),
        ("stdin", OptionType::Switch),
        ("stdout", OptionType::Switch),
        ("tty", OptionType::Switch),
    ],
    KubeletRequest { path: "attach", is_in_container: true, exchange: Exchange::Upgrade },
);

static EXEC: Facts = Facts::new(
    "PodExecOptions",
    &[
        ("command", OptionType::Texts),
        ("container", OptionType::Text),
        ("stderr", OptionType::Switch),
        ("stdin", OptionType::Switch),
        ("stdout", OptionType::Switch),
        ("tty", OptionType::Switch),
    ],
    KubeletRequest { path: "exec", is_in_container: true, exchange: Exchange::Upgrade },
);

static PORT_FORWARD: Facts = Facts::new(
    "PodPortForwardOptions",
    &[("ports", OptionType::Integers)],
    KubeletRequest { path: "portForward", is_in_container: false, exchange: Exchange::Upgrade },
);

/// Serves one of them.
struct Streams {
    facts: &'static Facts,
    kubelets: Kubelets,
}

impl Subresource for Attach {
    type Parent = Pods;
    type Storage = ConnectStore;
    const NAME: &'static str = "attach";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        Streams::install(&ATTACH, parent, services)
    }
}

impl Subresource for Exec {
    type Parent = Pods;
    type Storage = ConnectStore;
    const NAME: &'static str = "exec";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        Streams::install(&EXEC, parent, services)
    }
}

impl Subresource for PortForward {
    type Parent = Pods;
    type Storage = ConnectStore;
    const NAME: &'static str = "portforward";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        Streams::install(&PORT_FORWARD, parent, services)
    }
}

// === impl Facts ===

impl Facts {
    const fn new(
        options_kind: &'static str,
        options: &'static [(&'static str, OptionType)],
        request_shape: KubeletRequest,
    ) -> Self {
        let connect_spec = ConnectSpec {
            verbs: &["create", "get"],
            options_kind: GroupVersionKind { group: "", version: "v1", kind: options_kind },
            schema_of: schema::built_in_kind,
            read_as: None,
            options,
            has_path: false,
        };
        Self { connect_spec, request_shape }
    }
}

// === impl Streams ===

impl Streams {
    fn install(facts: &'static Facts, parent: &Arc<Store>, services: &Services) -> Capabilities {
        let streams = Self { facts, kubelets: Kubelets::new(services) };
        capabilities!(ConnectStore::new(parent.clone(), streams); connecter)
    }
}

#[async_trait]
impl ConnectRules for Streams {
    fn connect_spec(&self) -> &'static ConnectSpec {
        &self.facts.connect_spec
    }

    async fn connect(
        &self,
        pods: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let options = request.options;
        let found = self.kubelets.destination(pods, context, name, self.facts.request_shape, options).await?;
        let Some(mut destination) = found else {
            return Err(StatusError::bad_request(format!("pod {name} does not have a host assigned")));
        };
        destination.query = Some(query(options));
        Ok(Connection::To(destination))
    }
}

/// Returns the query in the form of the kubelet's API.
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
