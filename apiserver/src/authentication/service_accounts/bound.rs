//! A token ends with its service account, and with what it is bound to.

use jiff::{SignedDuration, Timestamp};
use registry_core::RequestContext;
use registry_core::api::{GetOptions, Object, time};
use registry_core::context::UserInfo;
use registry_core::registry::Stores;
use registry_core::resource::{Resource, ResourceType};
use registry_core::rest::{Answer, Getter as _};
use resources::core::nodes::Nodes;
use resources::core::pods::Pods;
use resources::core::secrets::Secrets;
use resources::core::serviceaccounts::ServiceAccounts;

use crate::authentication::AUTHENTICATED;

use super::claims::{Claims, Reference};

/// So long after its deletion began, an object's tokens are still good: it has to end in order.
const DELETION_LEEWAY: SignedDuration = SignedDuration::from_secs(60);
const INVALIDATED: &str = "service account token has been invalidated";

/// Looks up what tokens are bound to.
pub(super) struct BoundObjects {
    stores: Stores,
}

// === impl BoundObjects ===

impl BoundObjects {
    pub(super) fn new(stores: Stores) -> Self {
        Self { stores }
    }

    /// The user a token is of, when all it names is still there.
    ///
    /// # Errors
    /// Something of it is gone.
    pub(super) async fn user_of(&self, claims: &Claims) -> Result<UserInfo, String> {
        let own = &claims.kubernetes;
        let account = &own.serviceaccount;
        let found = self.find(ServiceAccounts::TYPE, &own.namespace, account).await?;
        let found = found.ok_or_else(|| format!("serviceaccounts {:?} not found", account.name))?;
        if found.uid() != account.uid {
            let (uid, claimed) = (found.uid(), &account.uid);
            return Err(format!("service account UID ({uid}) does not match claim ({claimed})"));
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
        resource: &'static ResourceType,
        kind: &str,
        namespace: &str,
        bound: &Reference,
    ) -> Result<(), String> {
        let Some(found) = self.find(resource, namespace, bound).await? else {
            return Err(INVALIDATED.to_owned());
        };
        check_alive(&found)?;
        if found.uid() != bound.uid {
            let (uid, claimed) = (found.uid(), &bound.uid);
            return Err(format!(
                "{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})"
            ));
        }
        Ok(())
    }

    /// An object: as cached, and once more for certain before it is called gone.
    async fn find(
        &self,
        resource: &'static ResourceType,
        namespace: &str,
        wanted: &Reference,
    ) -> Result<Option<Object>, String> {
        let Some(store) = self.stores.get(resource) else { return Ok(None) };
        let context = RequestContext::system(namespace);
        let mut found = None;
        for options in [GetOptions { resource_version: Some(0) }, GetOptions::default()] {
            match store.get(&context, &wanted.name, &options).await {
                Ok(Answer::Stored(entry)) => {
                    let object = store.read(&entry).map_err(|failure| failure.message)?;
                    let is_wanted = object.uid() == wanted.uid;
                    found = Some(object);
                    if is_wanted {
                        break;
                    }
                }
                Ok(_) => {}
                Err(failure) if failure.is_not_found() => found = None,
                Err(failure) => return Err(failure.message),
            }
        }
        Ok(found)
    }
}

fn check_alive(object: &Object) -> Result<(), String> {
    let Some(ends) = object.deletion_timestamp().and_then(time::parse) else { return Ok(()) };
    let is_over = ends.saturating_add(DELETION_LEEWAY).is_ok_and(|end| end < Timestamp::now());
    if is_over { Err(INVALIDATED.to_owned()) } else { Ok(()) }
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
    UserInfo {
        name: claims.user_name(),
        uid: own.serviceaccount.uid.clone(),
        groups: vec![
            "system:serviceaccounts".to_owned(),
            format!("system:serviceaccounts:{}", own.namespace),
            AUTHENTICATED.to_owned(),
        ],
        extra,
    }
}
