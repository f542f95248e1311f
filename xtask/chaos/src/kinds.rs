//! The kinds of the objects that clients write, and the place of the written entries in them.

use std::time::Duration;

use serde_json::{Map, Value, json};

use crate::history::{Entries, Version};

/// The definition of the custom resource.
pub(crate) const DEFINITION: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// A kind.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// The entries are `data`.
    ConfigMap,
    /// A custom resource, whose entries are `spec`.
    Widget,
    /// The entries are annotations. The server assigns an address and a node port.
    Service,
    /// The entries are annotations.
    Lease,
    /// The entries are annotations. Only created, and deleted by the server after a time.
    Event,
}

/// The time after which the server deletes events.
pub(crate) const TIME_TO_LIVE: Duration = Duration::from_secs(6);

// === impl Kind ===

impl Kind {
    fn version(self) -> &'static str {
        match self {
            Self::Widget => "chaos.example.dev/v1",
            Self::Lease => "coordination.k8s.io/v1",
            Self::ConfigMap | Self::Service | Self::Event => "v1",
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::ConfigMap => "ConfigMap",
            Self::Widget => "Widget",
            Self::Service => "Service",
            Self::Lease => "Lease",
            Self::Event => "Event",
        }
    }

    pub(crate) fn plural(self) -> &'static str {
        match self {
            Self::ConfigMap => "configmaps",
            Self::Widget => "widgets",
            Self::Service => "services",
            Self::Lease => "leases",
            Self::Event => "events",
        }
    }

    /// Returns the path of the collection in a namespace.
    pub(crate) fn collection(self, namespace: &str) -> String {
        let plural = self.plural();
        match self {
            Self::Widget | Self::Lease => format!("/apis/{}/namespaces/{namespace}/{plural}", self.version()),
            _ => format!("/api/v1/namespaces/{namespace}/{plural}"),
        }
    }

    /// Returns the JSON pointer of the entries.
    pub(crate) fn entries_path(self) -> &'static str {
        match self {
            Self::ConfigMap => "/data",
            Self::Widget => "/spec",
            Self::Service | Self::Lease | Self::Event => "/metadata/annotations",
        }
    }

    /// Whether an update of an object that does not exist creates it.
    pub(crate) fn creates_on_update(self) -> bool {
        matches!(self, Self::Service | Self::Lease)
    }

    /// Returns a whole object.
    pub(crate) fn object(
        self,
        namespace: &str,
        name: &str,
        revision: Option<u64>,
        entries: &Entries,
    ) -> Value {
        let mut metadata = json!({ "name": name });
        if let (Some(revision), Some(metadata)) = (revision, metadata.as_object_mut()) {
            metadata.insert("resourceVersion".to_owned(), revision.to_string().into());
        }
        let mut object = json!({ "apiVersion": self.version(), "kind": self.name(), "metadata": metadata });
        merge(&mut object, self.with_entries(entries));
        if self == Self::Service {
            let ports = json!([{ "port": 80, "protocol": "TCP" }]);
            merge(&mut object, json!({ "spec": { "type": "NodePort", "ports": ports } }));
        }
        if self == Self::Event {
            let involved =
                json!({ "apiVersion": "v1", "kind": "Namespace", "namespace": namespace, "name": namespace });
            merge(&mut object, json!({ "involvedObject": involved }));
        }
        object
    }

    /// Returns an object with the entries alone, as a merge patch has it.
    pub(crate) fn with_entries(self, entries: &Entries) -> Value {
        let names = self.entries_path().split('/').skip(1).collect::<Vec<_>>();
        let nested = |inner, name: &&str| Value::Object(Map::from_iter([((*name).to_owned(), inner)]));
        names.iter().rev().fold(json!(entries), nested)
    }

    /// Returns the version that an object shows, unless it is not one.
    pub(crate) fn read(self, object: &Value) -> Option<(String, Version)> {
        let metadata = object.get("metadata")?;
        let name = metadata.get("name")?.as_str()?.to_owned();
        let revision = metadata.get("resourceVersion")?.as_str()?.parse().ok()?;
        let entries = object.pointer(self.entries_path()).and_then(Value::as_object);
        let entries = entries.into_iter().flatten();
        let entries =
            entries.map(|(name, value)| (name.clone(), value.as_str().unwrap_or_default().to_owned()));
        let assigned = match self {
            Self::Service => [("address", "/spec/clusterIP"), ("node port", "/spec/ports/0/nodePort")]
                .iter()
                .filter_map(|(name, path)| Some(format!("{name} {}", object.pointer(path)?)))
                .collect(),
            _ => Vec::new(),
        };
        Some((name, Version { revision, entries: entries.collect(), assigned }))
    }
}

/// Returns the definition of [`Kind::Widget`].
pub(crate) fn definition() -> Value {
    definition_for("widgets", "Widget").1
}

/// Returns the group and the definition of a kind with the schema of [`Kind::Widget`].
pub(crate) fn definition_for(plural: &str, kind: &str) -> (&'static str, Value) {
    const GROUP: &str = "chaos.example.dev";
    let entries = json!({ "type": "object", "additionalProperties": { "type": "string" } });
    let schema = json!({ "type": "object", "properties": { "spec": entries } });
    let names = json!({
        "plural": plural, "singular": kind.to_lowercase(), "kind": kind, "listKind": format!("{kind}List"),
    });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": { "name": format!("{plural}.{GROUP}") },
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": names,
            "versions": [
                { "name": "v1", "served": true, "storage": true, "schema": { "openAPIV3Schema": schema } }
            ],
        },
    });
    (GROUP, definition)
}

/// Adds the members of another object, recursively.
fn merge(object: &mut Value, other: Value) {
    match (object, other) {
        (Value::Object(object), Value::Object(other)) => {
            for (name, value) in other {
                merge(object.entry(name).or_insert(Value::Null), value);
            }
        }
        (object, other) => *object = other,
    }
}
