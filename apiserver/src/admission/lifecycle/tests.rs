use crate::admission::Attributes;
use registry_core::api::{GroupResource, GroupVersionKind, GroupVersionResource, Reason, Scope};
use registry_core::rest::{Getter, Storage};
use registry_core::schema::Schema;

use super::*;

/// Namespaces by name: the cached ones, and the stored ones.
struct Namespaces {
    cached: Vec<(&'static str, &'static str)>,
    stored: Vec<(&'static str, &'static str)>,
}

impl Storage for Namespaces {
    fn group_resource(&self) -> GroupResource {
        NAMESPACES
    }
    fn kind(&self) -> GroupVersionKind {
        GroupVersionKind { group: "", version: "v1", kind: "Namespace" }
    }
    fn scope(&self) -> Scope {
        Scope::Cluster
    }
    fn schema(&self) -> Schema {
        unreachable!("a getter needs no schema")
    }
}

#[async_trait]
impl Getter for Namespaces {
    async fn get(&self, _: &RequestContext, name: &str, options: &GetOptions) -> Result<Answer, StatusError> {
        let known = if options.resource_version == Some(0) { &self.cached } else { &self.stored };
        let found = known.iter().find(|(own, _)| *own == name);
        let (_, phase) = found.ok_or_else(|| StatusError::not_found(NAMESPACES, name))?;
        let mut object = Object::default();
        object.set(&["status", "phase"], (*phase).into());
        Ok(Answer::Object(object))
    }
}

fn plugin() -> NamespaceLifecycle {
    NamespaceLifecycle {
        namespaces: Arc::new(Namespaces {
            cached: vec![("default", "Active"), ("ending", "Terminating"), ("stale", "Active")],
            stored: vec![("default", "Active"), ("new", "Active"), ("stale", "Terminating")],
        }),
        controller: None,
        context: RequestContext::system(""),
        recently_deleted: Mutex::default(),
    }
}

async fn admit(
    plugin: &NamespaceLifecycle,
    operation: Operation,
    (group, resource): (&'static str, &'static str),
    namespace: &str,
    name: &str,
) -> Result<(), StatusError> {
    let resource = GroupVersionResource { group, version: "v1", resource };
    let kind = GroupVersionKind { group, version: "v1", kind: "Any" };
    let attributes = Attributes::new(operation, resource, kind, name);
    plugin.admit(&RequestContext::system(namespace), ObjectWriteMut::new(&attributes, None, None)).await
}

#[tokio::test]
async fn things_are_made_only_in_living_namespaces() {
    let plugin = plugin();
    let create = |namespace| admit(&plugin, Operation::Create, ("", "pods"), namespace, "web");
    assert_eq!(create("default").await, Ok(()));
    assert_eq!(create("new").await, Ok(()), "not cached yet, but stored");
    assert_eq!(create("").await, Ok(()));
    let missing = create("gone").await.unwrap_err();
    assert_eq!((missing.code, missing.message.as_str()), (404, "namespaces \"gone\" not found"));
    let ending = create("ending").await.unwrap_err();
    assert_eq!(
        ending.message,
        "pods \"web\" is forbidden: unable to create new content in namespace ending because it is being terminated"
    );
    assert_eq!(ending.details.unwrap().causes[0].reason, "NamespaceTerminating");
    assert_eq!(admit(&plugin, Operation::Update, ("", "pods"), "ending", "web").await, Ok(()));
    assert_eq!(admit(&plugin, Operation::Delete, ("", "pods"), "gone", "web").await, Ok(()));
    let review = ("authorization.k8s.io", "localsubjectaccessreviews");
    assert_eq!(admit(&plugin, Operation::Create, review, "gone", "").await, Ok(()));
}

#[tokio::test]
async fn deletions_through_this_server_are_not_forgotten() {
    let plugin = plugin();
    let immortal =
        admit(&plugin, Operation::Delete, ("", "namespaces"), "", "kube-system").await.unwrap_err();
    assert_eq!(immortal.reason, Reason::Forbidden);
    assert_eq!(
        immortal.message,
        "namespaces \"kube-system\" is forbidden: this namespace may not be deleted"
    );

    assert_eq!(admit(&plugin, Operation::Create, ("", "pods"), "stale", "web").await, Ok(()));
    assert_eq!(admit(&plugin, Operation::Delete, ("", "namespaces"), "", "stale").await, Ok(()));
    let late = admit(&plugin, Operation::Create, ("", "pods"), "stale", "web").await.unwrap_err();
    assert_eq!(late.reason, Reason::Forbidden);
}
