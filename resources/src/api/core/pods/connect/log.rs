//! `pods/log`: the logs of a container.

use std::borrow::Cow;
use std::sync::Arc;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{GroupResource, GroupVersionKind, Object, StatusError};
use registry_core::capabilities;
use registry_core::registry::{ConnectRules, ConnectStore, Services, Store, Subresource};
use registry_core::rest::Capabilities;
use registry_core::rest::connect::{
    ConnectRequest, ConnectSpec, Connection, Exchange, OptionType, Peer, encode_query,
};
use resource_views::core::v1::PodLogOptions;

use super::{KubeletRequest, Kubelets};
use crate::api::core::pods::Pods;
use crate::schema;

const OPTIONS: GroupVersionKind = GroupVersionKind { group: "", version: "v1", kind: "PodLogOptions" };

static CONNECT_SPEC: ConnectSpec = ConnectSpec {
    verbs: &["get"],
    options_kind: OPTIONS,
    schema_of: schema::built_in_kind,
    read_as: Some(GroupResource { group: "", resource: "pods/log" }),
    options: &[
        ("container", OptionType::Text),
        ("follow", OptionType::Switch),
        ("insecureSkipTLSVerifyBackend", OptionType::Switch),
        ("limitBytes", OptionType::Integer),
        ("previous", OptionType::Switch),
        ("sinceSeconds", OptionType::Integer),
        ("sinceTime", OptionType::Time),
        ("stream", OptionType::Text),
        ("tailLines", OptionType::Integer),
        ("timestamps", OptionType::Switch),
    ],
    has_path: false,
};

/// The `log` subresource of pods.
pub struct Log {
    kubelets: Kubelets,
}

impl Subresource for Log {
    type Parent = Pods;
    type Storage = ConnectStore;
    const NAME: &'static str = "log";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        let log = Self { kubelets: Kubelets::new(services) };
        capabilities!(ConnectStore::new(parent.clone(), log); connecter)
    }
}

#[async_trait]
impl ConnectRules for Log {
    fn connect_spec(&self) -> &'static ConnectSpec {
        &CONNECT_SPEC
    }

    async fn connect(
        &self,
        pods: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        let options = request.options;
        let errors = validate(options);
        if !errors.is_empty() {
            return Err(StatusError::invalid(OPTIONS, name, &errors));
        }
        let request_shape =
            KubeletRequest { path: "containerLogs", is_in_container: true, exchange: Exchange::Text };
        let found = self.kubelets.destination(pods, context, name, request_shape, options).await?;
        // The pod is not assigned to a node yet, so there are no logs.
        let Some(mut destination) = found else { return Ok(Connection::Nobody) };
        destination.query = Some(query(options));
        if PodLogOptions(options).insecure_skip_tls_verify_backend().is_true() {
            destination.peer = Peer::UnverifiedKubelet;
        }
        Ok(Connection::To(destination))
    }
}

fn validate(options: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let options = PodLogOptions(options);
    let (lines, bytes, seconds) = (options.tail_lines(), options.limit_bytes(), options.since_seconds());
    let stream = options.stream().optional_text().unwrap_or("All");
    if !matches!(stream, "All" | "Stdout" | "Stderr") {
        errors.push(options.stream().unsupported(&["All", "Stderr", "Stdout"]));
    } else if stream != "All" && lines.exists() {
        let detail = "`tailLines` and specific `stream` are mutually exclusive for now";
        errors.push(FieldError::forbidden(FieldPath::root().key(""), detail));
    }
    lines.check_not_negative(&mut errors);
    if bytes.integer().is_some_and(|bytes| bytes < 1) {
        errors.push(bytes.invalid("must be greater than 0"));
    }
    if seconds.exists() && options.since_time().exists() {
        let detail = "at most one of `sinceTime` or `sinceSeconds` may be specified";
        errors.push(FieldError::forbidden(FieldPath::root().key(""), detail));
    } else if seconds.integer().is_some_and(|seconds| seconds < 1) {
        errors.push(seconds.invalid("must be greater than 0"));
    }
    errors
}

/// Returns the query in the form of the kubelet's API.
fn query(options: &Object) -> String {
    let mut parameters: Vec<(&str, Cow<'_, str>)> = Vec::new();
    let options = PodLogOptions(options);
    for (name, flag) in
        [("follow", options.follow()), ("previous", options.previous()), ("timestamps", options.timestamps())]
    {
        parameters.extend(flag.is_true().then(|| (name, "true".into())));
    }
    for (name, number) in [
        ("sinceSeconds", options.since_seconds()),
        ("tailLines", options.tail_lines()),
        ("limitBytes", options.limit_bytes()),
    ] {
        parameters.extend(number.integer().map(|number| (name, number.to_string().into())));
    }
    if let Some(since) = options.since_time().optional_text() {
        parameters.push(("sinceTime", since.into()));
    }
    if let Some(stream) = options.stream().optional_text().filter(|stream| !matches!(*stream, "" | "All")) {
        parameters.push(("stream", stream.into()));
    }
    encode_query(parameters)
}
