//! Users with certificates and roles.

use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::{RequestError, TestServer};

const RBAC: &str = "/apis/rbac.authorization.k8s.io/v1";
/// Maximum time until a binding has an effect.
const PATIENCE: Duration = Duration::from_secs(30);

/// A user of a server: [`TestServer::user`].
#[derive(Clone)]
#[must_use = "a user is bound to roles when its client or kubeconfig is requested"]
pub struct User<'s> {
    server: &'s TestServer,
    name: String,
    groups: Vec<String>,
    bindings: Vec<Binding>,
}

/// A cluster role, everywhere or in a namespace.
#[derive(Clone)]
struct Binding {
    cluster_role: String,
    namespace: Option<String>,
}

// === impl TestServer: users ===

impl TestServer {
    /// Returns a user of this name, who may do what every authenticated user may, until it is bound to a role.
    pub fn user(&self, name: impl Into<String>) -> User<'_> {
        User { server: self, name: name.into(), groups: Vec::new(), bindings: Vec::new() }
    }
}

// === impl User ===

impl User<'_> {
    /// Adds the user to a group. Members of `system:masters` may do everything.
    pub fn in_group(mut self, group: impl Into<String>) -> Self {
        self.groups.push(group.into());
        self
    }

    /// Binds the user to a ClusterRole, for example `view`, `edit` or `admin`, in all namespaces.
    pub fn bound_to(mut self, cluster_role: impl Into<String>) -> Self {
        self.bindings.push(Binding { cluster_role: cluster_role.into(), namespace: None });
        self
    }

    /// Binds the user to a ClusterRole in a namespace, which must exist.
    pub fn bound_in(mut self, namespace: impl Into<String>, cluster_role: impl Into<String>) -> Self {
        let namespace = Some(namespace.into());
        self.bindings.push(Binding { cluster_role: cluster_role.into(), namespace });
        self
    }

    /// Creates the bindings, waits until they have an effect, and returns a kubeconfig of the user, with a client certificate.
    ///
    /// # Errors
    /// Fails if a role or a namespace does not exist, or if no certificate can be issued for the name.
    pub async fn kubeconfig(&self) -> Result<String, RequestError> {
        for binding in &self.bindings {
            self.bind(binding).await?;
        }
        let issued = self.server.inner().kubeconfig_of(&self.name, &self.groups);
        issued.map_err(|reason| self.failed(reason.to_string()))
    }

    /// Does what [`kubeconfig`](Self::kubeconfig) does, and returns a client of kube-rs.
    ///
    /// # Errors
    /// As [`kubeconfig`](Self::kubeconfig).
    #[cfg(feature = "kube")]
    pub async fn client(&self) -> Result<kube::Client, RequestError> {
        crate::client::client(&self.kubeconfig().await?).await
    }

    async fn bind(&self, binding: &Binding) -> Result<(), RequestError> {
        let Binding { cluster_role, namespace } = binding;
        let role = self.role(cluster_role).await?;
        let (kind, path) = match namespace {
            None => ("ClusterRoleBinding", format!("{RBAC}/clusterrolebindings")),
            Some(namespace) => ("RoleBinding", format!("{RBAC}/namespaces/{namespace}/rolebindings")),
        };
        let group = "rbac.authorization.k8s.io";
        let object = json!({
            "apiVersion": format!("{group}/v1"), "kind": kind, "metadata": {"generateName": "test-user-"},
            "roleRef": {"apiGroup": group, "kind": "ClusterRole", "name": cluster_role},
            "subjects": [{"apiGroup": group, "kind": "User", "name": self.name}],
        });
        self.server.request("POST", &path, &object).await?;
        match self.review(&role, namespace.as_deref()) {
            Some(review) => self.until_allowed(&review).await,
            // A role without rules has no effect to wait for.
            None => Ok(()),
        }
    }

    /// Returns a role, once it has the rules of the roles that it is made of.
    async fn role(&self, name: &str) -> Result<Value, RequestError> {
        let roles = format!("{RBAC}/clusterroles");
        let role = self.server.request("GET", &format!("{roles}/{name}"), &Value::Null).await?;
        let has_rules =
            |role: &Value| role.get("rules").and_then(Value::as_array).is_some_and(|rules| !rules.is_empty());
        if has_rules(&role) || role.get("aggregationRule").is_none() {
            return Ok(role);
        }
        // A role that no other one is a part of never has rules.
        Ok(self.server.inner().until(&roles, name, has_rules).await.unwrap_or(role))
    }

    /// Returns the question whether the user may do what the first rule of a role allows.
    fn review(&self, role: &Value, namespace: Option<&str>) -> Option<Value> {
        let first = |rule: &Value, field: &str| rule.get(field)?.get(0).cloned();
        let rules = role.get("rules")?.as_array()?;
        let spec = rules.iter().find_map(|rule| {
            let verb = first(rule, "verbs")?;
            let (user, groups) = (&self.name, &self.groups);
            if let Some(path) = first(rule, "nonResourceURLs").filter(|_| namespace.is_none()) {
                let attributes = json!({"verb": verb, "path": path});
                return Some(json!({"user": user, "groups": groups, "nonResourceAttributes": attributes}));
            }
            let resource = first(rule, "resources")?;
            let (resource, subresource) = resource.as_str()?.split_once('/').unwrap_or((resource.as_str()?, ""));
            let attributes = json!({
                "verb": verb, "group": first(rule, "apiGroups")?, "resource": resource, "subresource": subresource,
                "namespace": namespace.unwrap_or_default(), "name": first(rule, "resourceNames").unwrap_or_else(|| "".into()),
            });
            Some(json!({"user": user, "groups": groups, "resourceAttributes": attributes}))
        })?;
        Some(json!({"apiVersion": "authorization.k8s.io/v1", "kind": "SubjectAccessReview", "spec": spec}))
    }

    async fn until_allowed(&self, review: &Value) -> Result<(), RequestError> {
        let begun = Instant::now();
        loop {
            let path = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
            let answer = self.server.request("POST", path, review).await?;
            if answer.pointer("/status/allowed") == Some(&Value::Bool(true)) {
                return Ok(());
            }
            if begun.elapsed() > PATIENCE {
                let status = answer.get("status").unwrap_or(&answer);
                return Err(self.failed(format!("the binding has no effect: {status}")));
            }
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
    }

    fn failed(&self, reason: String) -> RequestError {
        RequestError { method: "user".to_owned(), path: self.name.clone(), reason }
    }
}
