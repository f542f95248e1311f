//! The writes that servers have to refuse: an admission policy, and rights that are revoked.

use hyper::Method;
use serde_json::{Value, json};

use crate::Failure;
use crate::client::{Client, GUEST_TOKEN, Request};
use crate::kinds::Kind;
use crate::worker::Denial;

/// The user of [`GUEST_TOKEN`].
pub(crate) const GUEST: &str = "guest";

const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies";
const POLICY_BINDINGS: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicybindings";
const POLICY: &str = "no-forbidden-entries";
const ROLE: &str = "guests";

/// Creates the policy, and waits until each server applies it.
pub(crate) async fn deny(client: &mut Client, servers: usize, namespace: &str) -> Result<(), Failure> {
    let entry = Denial::ByPolicy.entry();
    let api = "admissionregistration.k8s.io/v1";
    let rule = json!({
        "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["CREATE", "UPDATE"],
    });
    let expression = format!("!has(object.data) || !('{entry}' in object.data)");
    let policy = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicy", "metadata": { "name": POLICY },
        "spec": {
            "failurePolicy": "Fail",
            "matchConstraints": { "resourceRules": [rule] },
            "validations": [{ "expression": expression }],
        },
    });
    let binding = json!({
        "apiVersion": api, "kind": "ValidatingAdmissionPolicyBinding", "metadata": { "name": POLICY },
        "spec": { "policyName": POLICY, "validationActions": ["Deny"] },
    });
    ensure(client, POLICIES, &policy).await?;
    ensure(client, POLICY_BINDINGS, &binding).await?;
    let entries = [(entry.to_owned(), String::new())].into();
    let object = Kind::ConfigMap.object(namespace, "denied", None, &entries);
    let path = format!("{}?dryRun=All", Kind::ConfigMap.collection(namespace));
    for server in 0..servers {
        let create = || Request::with_body(Method::POST, path.clone(), object.clone());
        client.until(server, create, |reply| reply.status == 422).await?;
    }
    Ok(())
}

/// Gives the guest rights in a namespace, and waits until it has them at each server.
pub(crate) async fn grant(client: &mut Client, servers: usize, namespace: &str) -> Result<(), Failure> {
    let api = "rbac.authorization.k8s.io/v1";
    let rules = json!([{
        "apiGroups": [""], "resources": ["configmaps"], "verbs": ["get", "list", "create", "update", "patch"],
    }]);
    let role = json!({ "apiVersion": api, "kind": "Role", "metadata": { "name": ROLE }, "rules": rules });
    let binding = json!({
        "apiVersion": api, "kind": "RoleBinding", "metadata": { "name": ROLE },
        "roleRef": { "apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": ROLE },
        "subjects": [{ "apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": GUEST }],
    });
    ensure(client, &format!("/apis/{api}/namespaces/{namespace}/roles"), &role).await?;
    ensure(client, &format!("/apis/{api}/namespaces/{namespace}/rolebindings"), &binding).await?;
    await_guest(client, servers, namespace, 200).await
}

/// Revokes the rights of the guest.
pub(crate) async fn revoke(client: &mut Client, namespace: &str) -> Result<(), Failure> {
    let path = format!("/apis/rbac.authorization.k8s.io/v1/namespaces/{namespace}/rolebindings/{ROLE}");
    let delete = || Request::with_body(Method::DELETE, path.clone(), json!({}));
    client.until(0, delete, |reply| reply.is_success() || reply.status == 404).await?;
    Ok(())
}

/// Waits until each server answers the guest with a status.
pub(crate) async fn await_guest(
    client: &mut Client,
    servers: usize,
    namespace: &str,
    status: u16,
) -> Result<(), Failure> {
    let path = format!("{}?limit=1", Kind::ConfigMap.collection(namespace));
    for server in 0..servers {
        let list = || Request::get(path.clone()).with_token(GUEST_TOKEN);
        client.until(server, list, |reply| reply.status == status).await?;
    }
    Ok(())
}

/// Creates an object unless it exists.
pub(crate) async fn ensure(client: &mut Client, collection: &str, object: &Value) -> Result<(), Failure> {
    let create = || Request::with_body(Method::POST, collection.to_owned(), object.clone());
    client.until(0, create, |reply| reply.is_success() || reply.status == 409).await?;
    Ok(())
}
