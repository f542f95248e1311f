//! Validity of tokens bound to objects: a token ends with its service account, and with the object it is
//! bound to.

use jiff::{SignedDuration, Timestamp};
use registry_core::RequestContext;
use registry_core::api::{GetOptions, Object, StatusError, time};
use registry_core::context::{ServiceAccountName, UserInfo};
use registry_core::registry::{Store, Stores};
use registry_core::resource::{Resource, ResourceDescription};
use registry_core::rest::{Answer, Getter as _};
use registry_core::storage::StoredObject;
use resources::api::core::nodes::Nodes;
use resources::api::core::pods::Pods;
use resources::api::core::secrets::{Secrets, note_token_use};
use resources::api::core::serviceaccounts::ServiceAccounts;
use serde::Deserialize;

use super::claims::{Claims, Reference};
use super::error::TokenError;

/// Time after an object's deletion begins during which its tokens remain valid, so that it can terminate in
/// order.
const DELETION_LEEWAY: SignedDuration = SignedDuration::from_secs(60);

/// Looks up the objects that tokens are bound to. Every request with a token does: the objects come from the cache by
/// their keys, and only their identity is read from them.
pub(super) struct BoundObjects {
    stores: Stores,
}

/// The identity of an object and its end: all that tokens depend on.
#[derive(Debug, Deserialize)]
pub(super) struct Identity {
    /// `metadata.uid`.
    #[serde(default)]
    pub(super) uid: String,
    /// `metadata.deletionTimestamp`.
    #[serde(rename = "deletionTimestamp")]
    pub(super) deletion_timestamp: Option<String>,
}

// === impl BoundObjects ===

impl BoundObjects {
    pub(super) fn new(stores: Stores) -> Self {
        Self { stores }
    }

    /// Returns the user of a token whose objects all exist.
    ///
    /// # Errors
    /// Fails if one of the objects is gone.
    pub(super) async fn user_of(&self, claims: &Claims) -> Result<UserInfo, TokenError> {
        let own = &claims.kubernetes;
        let account = &own.serviceaccount;
        let found = self.identify(ServiceAccounts::TYPE, &own.namespace, &account.name, &account.uid).await?;
        let found = found.ok_or_else(|| TokenError::AccountNotFound(account.name.clone()))?;
        if found.uid != account.uid {
            return Err(TokenError::AccountUid { uid: found.uid, claimed: account.uid.clone() });
        }
        check_alive(&found)?;
        if let Some(secret) = &own.secret {
            self.check_bound(Secrets::TYPE, "secret", &own.namespace, secret).await?;
        }
        if let Some(pod) = &own.pod {
            self.check_bound(Pods::TYPE, "pod", &own.namespace, pod).await?;
        } else if let Some(node) = &own.node {
            self.check_bound(Nodes::TYPE, "node", "", node).await?;
        }
        Ok(user(claims))
    }

    async fn check_bound(
        &self,
        resource: &'static ResourceDescription,
        kind: &'static str,
        namespace: &str,
        bound: &Reference,
    ) -> Result<(), TokenError> {
        let Some(found) = self.identify(resource, namespace, &bound.name, &bound.uid).await? else {
            return Err(TokenError::Invalidated);
        };
        check_alive(&found)?;
        if found.uid != bound.uid {
            return Err(TokenError::BoundUid { kind, uid: found.uid, claimed: bound.uid.clone() });
        }
        Ok(())
    }

    /// Records that the token stored in this Secret is in use. The token is valid even when that fails.
    pub(super) async fn note_use(&self, secret: &Object) {
        let Some(store) = self.stores.get(Secrets::TYPE) else { return };
        if let Err(failure) = note_token_use(&store, secret).await {
            let namespace = secret.namespace();
            let name = secret.name();
            tracing::warn!(namespace, name, "the use of a secret's token could not be noted: {failure}");
        }
    }

    /// Returns the identity of an object, as [`find`](Self::find) does.
    pub(super) async fn identify(
        &self,
        resource: &'static ResourceDescription,
        namespace: &str,
        name: &str,
        uid: &str,
    ) -> Result<Option<Identity>, TokenError> {
        let is_wanted = |found: &Identity| found.uid == uid;
        self.find_as(resource, (namespace, name), Identity::from_stored, is_wanted).await
    }

    /// Returns an object from the cache, and reads it from storage before it is reported as missing or as a
    /// different one.
    pub(super) async fn find(
        &self,
        resource: &'static ResourceDescription,
        namespace: &str,
        name: &str,
        is_wanted: impl Fn(&Object) -> bool,
    ) -> Result<Option<Object>, TokenError> {
        self.find_as(resource, (namespace, name), Store::read, is_wanted).await
    }

    async fn find_as<T>(
        &self,
        resource: &'static ResourceDescription,
        (namespace, name): (&str, &str),
        read: impl Fn(&Store, &StoredObject) -> Result<T, StatusError>,
        is_wanted: impl Fn(&T) -> bool,
    ) -> Result<Option<T>, TokenError> {
        let Some(store) = self.stores.get(resource) else { return Ok(None) };
        let context = RequestContext::system(namespace);
        let mut found = None;
        for options in [GetOptions { resource_version: Some(0) }, GetOptions::default()] {
            match store.get(&context, name, &options).await {
                Ok(Answer::Stored(entry)) => {
                    let object = read(&store, &entry).map_err(TokenError::Read)?;
                    if is_wanted(&object) {
                        return Ok(Some(object));
                    }
                    found = Some(object);
                }
                Ok(_) => {}
                Err(failure) if failure.is_not_found() => found = None,
                Err(failure) => return Err(TokenError::Read(failure)),
            }
        }
        Ok(found)
    }
}

// === impl Identity ===

impl Identity {
    /// Reads the identity of a stored object from its metadata; the rest of the object is not decoded.
    fn from_stored(store: &Store, entry: &StoredObject) -> Result<Self, StatusError> {
        if let Some(identity) = entry.decode_metadata() {
            return Ok(identity);
        }
        let object = store.read(entry)?;
        let deletion_timestamp = object.deletion_timestamp().map(str::to_owned);
        Ok(Self { uid: object.uid().to_owned(), deletion_timestamp })
    }
}

fn check_alive(object: &Identity) -> Result<(), TokenError> {
    let Some(ends) = object.deletion_timestamp.as_deref().and_then(time::parse) else { return Ok(()) };
    let is_over = ends.saturating_add(DELETION_LEEWAY).is_ok_and(|end| end < Timestamp::now());
    if is_over { Err(TokenError::Invalidated) } else { Ok(()) }
}

fn user(claims: &Claims) -> UserInfo {
    let own = &claims.kubernetes;
    let mut extra = Vec::new();
    let mut note = |key: &str, value: &str| {
        if !value.is_empty() {
            extra.push((format!("authentication.kubernetes.io/{key}"), vec![value.to_owned()]));
        }
    };
    if !claims.jti.is_empty() {
        note("credential-id", &format!("JTI={}", claims.jti));
    }
    if let Some(node) = &own.node {
        note("node-name", &node.name);
        note("node-uid", &node.uid);
    }
    if let Some(pod) = &own.pod {
        note("pod-name", &pod.name);
        note("pod-uid", &pod.uid);
    }
    account_user(&own.namespace, &own.serviceaccount.name, &own.serviceaccount.uid, extra)
}

/// Returns the user info of a service account, with all its groups.
pub(super) fn account_user(
    namespace: &str,
    name: &str,
    uid: &str,
    extra: Vec<(String, Vec<String>)>,
) -> UserInfo {
    let user = ServiceAccountName { namespace, name }.user();
    UserInfo { uid: uid.to_owned(), extra, ..user }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use registry_core::codec::stored;
    use registry_core::schema::FieldOrder;
    use registry_core::storage::embedded::Embedded;
    use registry_core::storage::transform;
    use registry_core::storage::versioned::VersionedStore;
    use registry_core::storage::{Attributes, Entry};
    use serde_json::{Value, json};

    use super::*;

    fn identity(metadata: &Value, is_canonical: bool) -> Identity {
        let resource = Pods::TYPE.instantiate();
        let versions = Arc::new(registry_core::resource::Versions::only(resource.clone()));
        let storage = VersionedStore::new(Embedded::in_memory(), Arc::new(transform::Identity), versions);
        let store = Store::new(resource, Arc::new(storage), "/registry");
        let object =
            json!({"apiVersion": "v1", "kind": "Pod", "metadata": metadata, "spec": {"uid": "of-spec"}});
        let object = Object::from_value(object).unwrap();
        let (json, item_offset) =
            stored::with_resource_version(&stored::encode(&object, FieldOrder::Usual), 7).unwrap();
        let offset = if is_canonical { item_offset } else { 0 };
        let entry = Entry::new("/registry/pods/a/b".into(), 7, json, offset, Attributes::default());
        assert_eq!(entry.metadata().is_some(), is_canonical);
        Identity::from_stored(&store, &Arc::new(entry)).unwrap()
    }

    #[tokio::test]
    async fn the_identity_is_that_of_the_metadata() {
        for is_canonical in [true, false] {
            let read = |metadata: Value| {
                let identity = identity(&metadata, is_canonical);
                (identity.uid, identity.deletion_timestamp)
            };
            let labels = json!({"uid": "of-labels", "deletionTimestamp": "never"});
            let ends = "2026-01-01T00:00:00Z";
            assert_eq!(
                read(json!({"name": "b", "uid": "u", "deletionTimestamp": ends, "labels": labels})),
                ("u".to_owned(), Some(ends.to_owned()))
            );
            assert_eq!(read(json!({"name": "b", "labels": labels})), (String::new(), None));
        }
    }
}
