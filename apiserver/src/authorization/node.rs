//! The access of kubelets: to their own node, and to the objects that the pods on it refer to.
//!
//! | module | contents |
//! |---|---|
//! | `graph` | which nodes an object belongs to |
//! | `references` | the objects that a pod or a volume refers to |
//! | `follower` | keeps the graph up to date |
//!
//! Kubernetes concept: [node authorization](https://kubernetes.io/docs/reference/access-authn-authz/node/).

use std::sync::Arc;

use registry_core::context::UserInfo;
use registry_core::rest::access::AccessRules;
use request_info::ResourceRequest;

use super::rbac::Role;
use super::{Attributes, Decision};

mod follower;
mod graph;
mod node_counts;
mod references;
#[cfg(test)]
mod tests;

pub(super) use follower::NodeFollower;
use graph::Kind;
pub(super) use graph::NodeGraph;

/// The group of all nodes.
const NODES: &str = "system:nodes";
/// The prefix of nodes' user names.
const USER_PREFIX: &str = "system:node:";
/// The namespace of nodes' leases.
const LEASE_NAMESPACE: &str = "kube-node-lease";

/// Authorizes kubelets.
pub(super) struct NodeAuthorizer {
    graph: Arc<NodeGraph>,
    /// The permissions that every node has besides: the rules of the ClusterRole `system:node`.
    rules: Role,
}

/// A request of a node, for a resource.
struct NodeRequest<'a> {
    node: &'a str,
    verb: &'a str,
    resource: &'a ResourceRequest,
    attributes: &'a Attributes<'a>,
}

// === impl NodeAuthorizer ===

impl NodeAuthorizer {
    /// Creates an authorizer by this graph, with the rules that all nodes have.
    pub(super) fn new(graph: Arc<NodeGraph>, rules: Role) -> Self {
        Self { graph, rules }
    }

    /// Decides whether a node may do this.
    pub(super) fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let Some(node) = node_name(attributes.user) else { return Decision::no_opinion("") };
        if node.is_empty() {
            return Decision::undecided(format!("unknown node for user {:?}", attributes.user.name));
        }
        let special = attributes.resource.and_then(|resource| {
            let request = NodeRequest { node, verb: attributes.verb, resource, attributes };
            self.special(&request)
        });
        special.unwrap_or_else(|| {
            if self.rules.allows_attributes(attributes) {
                Decision::allow("")
            } else {
                Decision::no_opinion("")
            }
        })
    }

    /// Returns what a user may do: for nodes, the list is incomplete.
    pub(super) fn rules_of(user: &UserInfo) -> AccessRules {
        if node_name(user).is_none() {
            return AccessRules::default();
        }
        let error = "node authorizer does not support user rule resolution".to_owned();
        AccessRules { incomplete: true, error, ..AccessRules::default() }
    }

    /// Decides about the resources whose access is divided between nodes; `None` for all others.
    fn special(&self, request: &NodeRequest<'_>) -> Option<Decision> {
        let resource = request.resource;
        Some(match (resource.group.as_str(), resource.resource.as_str()) {
            ("", "secrets") => self.read_namespaced(request, Kind::Secret),
            ("", "configmaps") => self.read_namespaced(request, Kind::ConfigMap),
            ("", "persistentvolumeclaims") if resource.subresource == "status" => {
                self.update_status(request, Kind::Claim)
            }
            ("", "persistentvolumeclaims") => self.get(request, Kind::Claim),
            ("", "persistentvolumes") => self.get(request, Kind::Volume),
            ("resource.k8s.io", "resourceclaims") => self.get(request, Kind::ResourceClaim),
            ("storage.k8s.io", "volumeattachments") => self.get(request, Kind::VolumeAttachment),
            ("", "serviceaccounts") => self.service_account(request),
            ("coordination.k8s.io", "leases") => lease(request),
            ("storage.k8s.io", "csinodes") => csi_node(request),
            ("resource.k8s.io", "resourceslices") => self.resource_slice(request),
            ("", "nodes") => own_node(request),
            ("", "pods") => self.pod(request),
            ("certificates.k8s.io", "podcertificaterequests") => self.pod_certificate_request(request),
            _ => return None,
        })
    }

    /// Allows updates of the status of an object that belongs to the node.
    fn update_status(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        match request.verb {
            "update" | "patch" => self.related(request, kind),
            _ => Decision::no_opinion("can only get/update/patch this type"),
        }
    }

    /// Allows to get an object that belongs to the node.
    fn get(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        if request.verb != "get" {
            return Decision::no_opinion("can only get individual resources of this type");
        }
        if !request.resource.subresource.is_empty() {
            return Decision::no_opinion("cannot get subresource");
        }
        self.related(request, kind)
    }

    /// Allows to get, list and watch one object in a namespace that belongs to the node.
    fn read_namespaced(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        if !matches!(request.verb, "get" | "list" | "watch") {
            return Decision::no_opinion("can only read resources of this type");
        }
        if !request.resource.subresource.is_empty() {
            return Decision::no_opinion("cannot read subresource");
        }
        if request.resource.namespace.is_empty() {
            return Decision::no_opinion("can only read namespaced object of this type");
        }
        self.related(request, kind)
    }

    /// Allows the request if its object belongs to the node.
    fn related(&self, request: &NodeRequest<'_>, kind: Kind) -> Decision {
        let resource = request.resource;
        if resource.name.is_empty() {
            return Decision::no_opinion("No Object name found");
        }
        if self.graph.belongs(kind, &resource.namespace, &resource.name, request.node) {
            return Decision::allow("");
        }
        unrelated(request.node)
    }

    fn service_account(&self, request: &NodeRequest<'_>) -> Decision {
        let resource = request.resource;
        if request.verb == "get" && resource.subresource.is_empty() {
            return self.read_namespaced(request, Kind::ServiceAccount);
        }
        if request.verb != "create" || resource.name.is_empty() {
            return Decision::no_opinion("can only create tokens for individual service accounts");
        }
        if resource.subresource != "token" {
            return Decision::no_opinion("can only create token subresource of serviceaccount");
        }
        self.related(request, Kind::ServiceAccount)
    }

    fn resource_slice(&self, request: &NodeRequest<'_>) -> Decision {
        if !request.resource.subresource.is_empty() {
            return Decision::no_opinion("cannot authorize ResourceSlice subresources");
        }
        match request.verb {
            // The admission plug-in NodeRestriction checks the node of a new object.
            "create" => Decision::allow(""),
            "get" | "update" | "patch" | "delete" => self.related(request, Kind::ResourceSlice),
            "watch" | "list" | "deletecollection" if request.selects_own("spec.nodeName") => {
                Decision::allow("")
            }
            "watch" | "list" | "deletecollection" => Decision::no_opinion(
                "can only list/watch/deletecollection resourceslices with nodeName field selector",
            ),
            _ => Decision::no_opinion(
                "only the following verbs are allowed for a ResourceSlice: get, watch, list, create, update, patch, \
                 delete, deletecollection",
            ),
        }
    }

    fn pod_certificate_request(&self, request: &NodeRequest<'_>) -> Decision {
        if !request.resource.subresource.is_empty() {
            return Decision::no_opinion(
                "nodes may not access the status subresource of PodCertificateRequests",
            );
        }
        match request.verb {
            // The admission plug-in NodeRestriction checks the contents.
            "create" => Decision::allow(""),
            "get" => self.related(request, Kind::PodCertificateRequest),
            "list" | "watch" if request.selects_own("spec.nodeName") => Decision::allow(""),
            "list" | "watch" => Decision::no_opinion(
                "can only list/watch podcertificaterequests with nodeName field selector",
            ),
            verb => Decision::undecided(format!("nodes may not {verb} podcertificaterequests")),
        }
    }

    fn pod(&self, request: &NodeRequest<'_>) -> Decision {
        let resource = request.resource;
        match (resource.subresource.as_str(), request.verb) {
            ("", "get") => self.get(request, Kind::Pod),
            ("", "list" | "watch") if request.selects_own("spec.nodeName") => Decision::allow(""),
            ("", "list" | "watch") if !resource.name.is_empty() => self.related(request, Kind::Pod),
            ("", "list" | "watch") => {
                Decision::no_opinion("can only list/watch pods with spec.nodeName field selector")
            }
            // The admission plug-in NodeRestriction limits these to pods of the node: mirror pods, their status, and
            // evictions.
            ("", "create" | "delete") | ("status", "update" | "patch") | ("eviction", "create") => {
                Decision::allow("")
            }
            _ => Decision::no_opinion(""),
        }
    }
}

fn unrelated(node: &str) -> Decision {
    Decision::undecided(format!("no relationship found between node '{node}' and this object"))
}

fn lease(request: &NodeRequest<'_>) -> Decision {
    if !is_own_object_verb(request.verb) {
        return Decision::no_opinion("can only get, create, update, patch, or delete a node lease");
    }
    if request.resource.namespace != LEASE_NAMESPACE {
        return Decision::undecided(format!(
            "can only access leases in the {LEASE_NAMESPACE:?} system namespace"
        ));
    }
    // The name of a new object is not known here; the admission plug-in NodeRestriction checks it.
    if request.verb != "create" && request.resource.name != request.node {
        return Decision::no_opinion("can only access node lease with the same name as the requesting node");
    }
    Decision::allow("")
}

fn csi_node(request: &NodeRequest<'_>) -> Decision {
    if !is_own_object_verb(request.verb) {
        return Decision::no_opinion("can only get, create, update, patch, or delete a CSINode");
    }
    if !request.resource.subresource.is_empty() {
        return Decision::no_opinion("cannot authorize CSINode subresources");
    }
    if request.verb != "create" && request.resource.name != request.node {
        return Decision::no_opinion("can only access CSINode with the same name as the requesting node");
    }
    Decision::allow("")
}

fn is_own_object_verb(verb: &str) -> bool {
    matches!(verb, "get" | "create" | "update" | "patch" | "delete")
}

fn own_node(request: &NodeRequest<'_>) -> Decision {
    let NodeRequest { node, resource, .. } = request;
    match (resource.subresource.as_str(), request.verb) {
        // The admission plug-in NodeRestriction limits these to the node's own object.
        ("", "create" | "update" | "patch") | ("status", "update" | "patch") => Decision::allow(""),
        ("", "get" | "list" | "watch") => match resource.name.as_str() {
            name if name == *node => Decision::allow(""),
            "" => {
                Decision::undecided(format!("node '{node}' cannot read all nodes, only its own Node object"))
            }
            name => {
                Decision::undecided(format!("node '{node}' cannot read '{name}', only its own Node object"))
            }
        },
        _ => Decision::no_opinion(""),
    }
}

/// Returns the name of the node that a user is; `None` if it is none.
fn node_name(user: &UserInfo) -> Option<&str> {
    let name = user.name.strip_prefix(USER_PREFIX)?;
    user.groups.iter().any(|group| group == NODES).then_some(name)
}

// === impl NodeRequest ===

impl NodeRequest<'_> {
    /// Returns whether the request is restricted to objects whose field is the node's name.
    fn selects_own(&self, field: &str) -> bool {
        let fields =
            self.attributes.selectors.map(|selectors| selectors.fields.as_slice()).unwrap_or_default();
        fields.iter().any(|requirement| {
            requirement.equal && requirement.path == field && requirement.value == self.node
        })
    }
}
