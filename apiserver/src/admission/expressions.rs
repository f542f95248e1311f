//! The values that expressions of match conditions and policies are evaluated with.
//!
//! Values that cost something to make are made only for expressions that use them.
//!
//! Kubernetes concept: `evaluationActivation` and `CreateAdmissionRequest` in
//! `k8s.io/apiserver/pkg/admission/plugin/cel`.

use std::sync::{Arc, OnceLock};

use registry_core::RequestContext;
use registry_core::api::{GroupVersionKind, GroupVersionResource, Object, StatusError};
use registry_core::cel::admission::{
    AUTHORIZER, NAMESPACE_OBJECT, OBJECT, OLD_OBJECT, PARAMS, REQUEST, REQUEST_RESOURCE, activation,
};
use registry_core::cel::{Activation, AuthorizerValue, Check, Program, Value as Evaluated};
use registry_core::rest::access::AccessReviewer;
use serde_json::{Map, Value, json};

use super::Attributes;
use super::matching::{Matcher, namespace_of};

mod authorizer;

use authorizer::RequestAuthorizer;

/// One write, for all expressions that are evaluated for it.
pub(crate) struct Write<'a> {
    /// The request.
    pub(crate) context: &'a RequestContext,
    /// The write's attributes.
    pub(crate) attributes: &'a Attributes<'a>,
    access: &'a Arc<dyn AccessReviewer>,
    authorizer: OnceLock<Arc<RequestAuthorizer>>,
}

/// A write as the expressions of one policy or webhook see it.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    /// The object in the version that matched; `None` for deletions.
    pub(crate) object: Option<&'a Object>,
    /// The old object in the version that matched; `None` for creations.
    pub(crate) old_object: Option<&'a Object>,
    /// The resource as `request.resource` has it.
    pub(crate) resource: GroupVersionResource,
    /// The kind in the version that matched.
    pub(crate) kind: GroupVersionKind,
    /// The parameters; `None` if there are none.
    pub(crate) params: Option<&'a Object>,
    /// The namespace as expressions see it; `None` for writes to the cluster.
    pub(crate) namespace: Option<&'a Value>,
}

/// Which values expressions use.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Needs {
    /// The attributes of the request.
    pub(crate) request: bool,
    /// The namespace.
    pub(crate) namespace: bool,
    /// The authorizer.
    pub(crate) authorizer: bool,
}

/// Values that an activation borrows.
#[derive(Debug, Default)]
pub(crate) struct Made {
    request: Value,
}

// === impl Needs ===

impl Needs {
    /// Returns what these expressions use.
    pub(crate) fn from_programs<'p>(programs: impl IntoIterator<Item = &'p Program>) -> Self {
        programs.into_iter().fold(Self::default(), |needs, program| Self {
            request: needs.request || program.references(REQUEST),
            namespace: needs.namespace || program.references(NAMESPACE_OBJECT),
            authorizer: needs.authorizer
                || program.references(AUTHORIZER)
                || program.references(REQUEST_RESOURCE),
        })
    }
}

// === impl Write ===

impl<'a> Write<'a> {
    /// Creates the values of a write. Access is decided by `access`.
    pub(crate) fn new(
        context: &'a RequestContext,
        attributes: &'a Attributes<'a>,
        access: &'a Arc<dyn AccessReviewer>,
    ) -> Self {
        Self { context, attributes, access, authorizer: OnceLock::new() }
    }

    /// Makes the values that an activation borrows.
    pub(crate) fn make(&self, needs: Needs, subject: &Subject<'_>) -> Made {
        Made { request: if needs.request { self.request(subject) } else { Value::Null } }
    }

    /// Returns an activation with the variables that expressions need. `variables` of policies is not among them.
    pub(crate) fn activation<'v>(
        &self,
        needs: Needs,
        subject: &Subject<'v>,
        made: &'v Made,
    ) -> Activation<'v> {
        let mut activation = activation();
        for (name, object) in
            [(OBJECT, subject.object), (OLD_OBJECT, subject.old_object), (PARAMS, subject.params)]
        {
            match object {
                Some(object) => activation.bind_fields(name, &object.0),
                None => activation.bind_value(name, Evaluated::Null),
            }
        }
        if needs.request {
            activation.bind_dynamic(REQUEST, &made.request);
        }
        match subject.namespace {
            Some(namespace) => activation.bind_dynamic(NAMESPACE_OBJECT, namespace),
            None => activation.bind_value(NAMESPACE_OBJECT, Evaluated::Null),
        }
        if needs.authorizer {
            let authorizer = self.authorizer();
            activation.bind_value(AUTHORIZER, AuthorizerValue::new_value(authorizer.clone()));
            let own = AuthorizerValue::request_resource(authorizer.clone(), self.own_check());
            activation.bind_value(REQUEST_RESOURCE, own);
        }
        activation
    }

    /// Decides the accesses that the last evaluation has asked for and that could not be decided at once. Returns whether
    /// there were any: the evaluation has no valid result then, and must be repeated.
    async fn decide_pending(&self) -> bool {
        match self.authorizer.get() {
            Some(authorizer) => authorizer.decide_pending().await,
            None => false,
        }
    }

    /// Returns whether the last evaluation has no valid result and must be repeated: because accesses had to be decided, or
    /// because it took long and the request is now elsewhere.
    pub(crate) async fn has_to_repeat(&self) -> bool {
        let has_moved = self.context.budget.repeated_elsewhere().await;
        self.decide_pending().await || has_moved
    }

    /// Returns the namespace of the write as expressions see it; `None` for writes to the cluster and to namespaces.
    ///
    /// # Errors
    /// 404 if it does not exist.
    pub(crate) async fn namespace(&self, matcher: &Matcher) -> Result<Option<Value>, StatusError> {
        let GroupVersionKind { group, kind, .. } = self.attributes.kind;
        let name = namespace_of(self.context, self.attributes);
        if (group, kind) == ("", "Namespace") || name.is_empty() {
            return Ok(None);
        }
        Ok(Some(namespace_value(&matcher.namespace(name).await?)))
    }

    fn authorizer(&self) -> &Arc<RequestAuthorizer> {
        self.authorizer
            .get_or_init(|| Arc::new(RequestAuthorizer::new(self.access.clone(), self.context.user.clone())))
    }

    fn own_check(&self) -> Check {
        let attributes = self.attributes;
        Check {
            group: attributes.resource.group.to_owned(),
            resource: attributes.resource.resource.to_owned(),
            subresource: attributes.subresource.to_owned(),
            namespace: namespace_of(self.context, attributes).to_owned(),
            name: attributes.name.to_owned(),
            ..Check::default()
        }
    }

    /// Returns the variable `request`: an `AdmissionRequest` without the objects. Empty fields are left out.
    fn request(&self, subject: &Subject<'_>) -> Value {
        let attributes = self.attributes;
        let mut request = Map::new();
        request.insert("uid".to_owned(), "".into());
        request.insert("kind".to_owned(), kind_value(subject.kind));
        request.insert("resource".to_owned(), resource_value(subject.resource));
        request.insert("requestKind".to_owned(), kind_value(attributes.kind));
        request.insert("requestResource".to_owned(), resource_value(attributes.resource));
        let namespace = namespace_of(self.context, attributes);
        let texts = [
            ("subResource", attributes.subresource),
            ("requestSubResource", attributes.subresource),
            ("name", attributes.name),
            ("namespace", namespace),
        ];
        let present = texts.into_iter().filter(|(_, text)| !text.is_empty());
        request.extend(present.map(|(name, text)| (name.to_owned(), text.into())));
        request.insert("operation".to_owned(), attributes.operation.as_str().into());
        request.insert("userInfo".to_owned(), self.user_value());
        request.insert("dryRun".to_owned(), attributes.dry_run.is_on().into());
        // Null for a connection, which has none, as in Kubernetes.
        let options = attributes.options.to_value(attributes.operation).unwrap_or(Value::Null);
        request.insert("options".to_owned(), options);
        Value::Object(request)
    }

    fn user_value(&self) -> Value {
        let user = &self.context.user;
        let mut fields = Map::new();
        for (name, text) in [("username", &user.name), ("uid", &user.uid)] {
            if !text.is_empty() {
                fields.insert(name.to_owned(), text.as_str().into());
            }
        }
        if !user.groups.is_empty() {
            fields.insert("groups".to_owned(), user.groups.clone().into());
        }
        if !user.extra.is_empty() {
            let extra = user.extra.iter().map(|(key, values)| (key.clone(), values.clone().into()));
            fields.insert("extra".to_owned(), Value::Object(extra.collect()));
        }
        Value::Object(fields)
    }
}

fn kind_value(kind: GroupVersionKind) -> Value {
    json!({ "group": kind.group, "version": kind.version, "kind": kind.kind })
}

fn resource_value(resource: GroupVersionResource) -> Value {
    json!({ "group": resource.group, "version": resource.version, "resource": resource.resource })
}

/// Returns a namespace as expressions see it: with the part of its metadata that is declared for them.
fn namespace_value(namespace: &Object) -> Value {
    const METADATA: [&str; 12] = [
        "name",
        "generateName",
        "namespace",
        "uid",
        "resourceVersion",
        "generation",
        "creationTimestamp",
        "deletionTimestamp",
        "deletionGracePeriodSeconds",
        "labels",
        "annotations",
        "finalizers",
    ];
    let metadata = namespace.metadata().into_iter().flatten();
    let visible = metadata.filter(|(name, _)| METADATA.contains(&name.as_str()));
    let metadata: Map<String, Value> = visible.map(|(name, value)| (name.clone(), value.clone())).collect();
    let part = |name: &str| namespace.0.get(name).cloned().unwrap_or_else(|| json!({}));
    json!({ "metadata": metadata, "spec": part("spec"), "status": part("status") })
}

#[cfg(test)]
pub(crate) mod tests;
