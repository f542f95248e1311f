//! `serviceaccounts/token`: signed tokens with a limited lifetime.
//!
//! Kubernetes concept:
//! [`TokenRequest`](https://kubernetes.io/docs/reference/kubernetes-api/authentication-resources/token-request-v1/).

use std::sync::Arc;

use async_trait::async_trait;
use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use jiff::{SignedDuration, Timestamp};
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::api::{
    CreateOptions, GroupResource, GroupVersionKind, Object, Scope, StatusError, split_api_version, time,
};
use registry_core::capabilities;
use registry_core::features::Feature;
use registry_core::registry::{Services, Store, Stores, Subresource};
use registry_core::resource::Resource;
use registry_core::rest::tokens::{TokenBinding, TokenClaims, TokenIssuer, TokenObject};
use registry_core::rest::{Answer, Capabilities, NamedCreater, Storage, ValidateObject};
use registry_core::schema::Schema;
use resource_views::authentication::v1::{TokenRequest, TokenRequestMut};
use resource_views::core::v1::Pod;
use serde_json::{Value, json};

use super::ServiceAccounts;
use crate::api::core::nodes::Nodes;
use crate::api::core::pods::Pods;
use crate::api::core::secrets::Secrets;
use crate::support::lookup::{Lookup, read_newest};

const REQUEST: GroupVersionKind =
    GroupVersionKind { group: "authentication.k8s.io", version: "v1", kind: "TokenRequest" };

const DEFAULT_SECONDS: i64 = 60 * 60;
const LEAST_SECONDS: i64 = 10 * 60;
const MAX_SECONDS: i64 = 1 << 32;
/// The lifetime that kubelets request for mounted tokens, by which the server recognizes them.
const MOUNTED_SECONDS: i64 = 60 * 60 + 7;
/// The actual lifetime of mounted tokens, for clients that do not reload them.
const EXTENDED_SECONDS: i64 = 365 * 24 * 60 * 60;

/// The `token` subresource of service accounts.
pub struct Token {
    accounts: Arc<Store>,
    stores: Stores,
    issuer: Arc<dyn TokenIssuer>,
    /// Whether a request with another UID than the account's is refused.
    checks_uid: bool,
}

impl Subresource for Token {
    type Parent = ServiceAccounts;
    type Storage = Self;
    const NAME: &'static str = "token";

    fn install(parent: &Arc<Store>, services: &Services) -> Capabilities {
        let accounts = parent.clone();
        let stores = services.stores.clone();
        let issuer = services.tokens.clone();
        let checks_uid = services.features.contains(Feature::TokenRequestServiceAccountUIDValidation);
        capabilities!(Arc::new(Self { accounts, stores, issuer, checks_uid }); named_creater)
    }
}

impl Storage for Token {
    fn group_resource(&self) -> GroupResource {
        ServiceAccounts::TYPE.group_resource()
    }

    fn kind(&self) -> GroupVersionKind {
        REQUEST
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> Schema {
        crate::schema::built_in_kind(REQUEST)
    }

    fn apply_defaults(&self, request: &mut Object) {
        TokenRequestMut(request).spec().or_new().expiration_seconds().or_if_absent(DEFAULT_SECONDS);
    }
}

#[async_trait]
impl NamedCreater for Token {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        mut request: Object,
        admission: &dyn ValidateObject,
        _options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        check_place(&request, name, &context.namespace)?;
        let account = read_newest(&self.accounts, context, name).await?;
        self.check_uid(context, &request, &account)?;
        let now = self.issuer.now();
        complete(&mut request, &account, self.issuer.api_audiences(), now);
        let errors = validate(&request);
        if !errors.is_empty() {
            return Err(StatusError::invalid(REQUEST, "", &errors));
        }
        admission.validate(context, Some(&request), None).await?;
        let binding = self.binding(context, name, &request).await?;
        let seconds = self.granted_seconds(context, &mut request);
        let claims = self.claims(&account, binding, &request, now, seconds);
        let expires = now.saturating_add(SignedDuration::from_secs(seconds)).unwrap_or(Timestamp::MAX);
        let token = self.issuer.issue(&claims).await?;
        if context.audit.is_some()
            && let Some(id) = credential_id(&token)
        {
            context.annotate("authentication.kubernetes.io/issued-credential-id", id);
        }
        let status = json!({ "token": token, "expirationTimestamp": time::format_seconds(expires) });
        request.0.insert("status".to_owned(), status);
        Ok(Answer::Object(request))
    }
}

/// Returns the id of a token that was just issued, as the audit log and the users of the token know it.
fn credential_id(token: &str) -> Option<String> {
    let payload = token.split('.').nth(1)?;
    let claims = URL_SAFE_NO_PAD.decode(payload).ok()?;
    let claims: Value = serde_json::from_slice(&claims).ok()?;
    Some(format!("JTI={}", claims.get("jti")?.as_str()?))
}

// === impl Token ===

impl Token {
    /// Checks that the UID in the request, if any, is the account's: an account that was deleted and created again is another.
    fn check_uid(
        &self,
        context: &RequestContext,
        request: &Object,
        account: &Object,
    ) -> Result<(), StatusError> {
        let (wanted, own) = (request.uid(), account.uid());
        if wanted.is_empty() || wanted == own {
            return Ok(());
        }
        let why = format!(
            "the UID in the token request ({wanted}) does not match the UID of the service account ({own})"
        );
        if self.checks_uid {
            // Names the kind instead of the resource, as kube-apiserver does here.
            let kind = GroupResource { group: REQUEST.group, resource: REQUEST.kind };
            return Err(StatusError::conflict(kind, account.name(), why));
        }
        let gate = Feature::TokenRequestServiceAccountUIDValidation.name();
        context.warn(format!(
            "{why} but {gate} is not enabled. In the future, this will return a conflict error"
        ));
        context.annotate("authentication.k8s.io/token-request-uid-mismatch", why);
        Ok(())
    }

    /// Returns the lifetime of the token, and sets it in the request.
    fn granted_seconds(&self, context: &RequestContext, request: &mut Object) -> i64 {
        let asked = TokenRequest(request).spec().expiration_seconds().integer().unwrap_or(DEFAULT_SECONDS);
        match self.issuer.max_lifetime_seconds() {
            Some(most) if asked > most => {
                let text = format!("requested expiration of {asked} seconds shortened to {most} seconds");
                context.warn(text);
                request.set(&["spec", "expirationSeconds"], most.into());
                most
            }
            _ => asked,
        }
    }

    fn claims(
        &self,
        account: &Object,
        binding: Option<TokenBinding>,
        request: &Object,
        now: Timestamp,
        seconds: i64,
    ) -> TokenClaims {
        let audiences: Vec<String> = audiences(request).map(str::to_owned).collect();
        let is_mounted = seconds == MOUNTED_SECONDS
            && matches!(binding, Some(TokenBinding::Pod(..)))
            && audiences.iter().all(|audience| self.issuer.api_audiences().contains(audience))
            && self.issuer.extends_lifetime();
        let extended = self.issuer.max_extended_seconds().unwrap_or(i64::MAX).min(EXTENDED_SECONDS);
        TokenClaims {
            namespace: account.namespace().to_owned(),
            service_account: named(account),
            binding,
            audiences,
            issued_at_seconds: now.as_second(),
            lifetime_seconds: if is_mounted { extended } else { seconds },
            warn_after_seconds: is_mounted.then_some(seconds),
        }
    }

    /// Returns the present state of the object that the token is bound to.
    async fn binding(
        &self,
        context: &RequestContext,
        account: &str,
        request: &Object,
    ) -> Result<Option<TokenBinding>, StatusError> {
        let spec = TokenRequest(request).spec();
        let bound = spec.bound_object_ref();
        if !bound.exists() {
            return Ok(None);
        }
        let (name, api_version) = (bound.name().text(), bound.api_version().text());
        let namespace = context.namespace.as_str();
        let (group, version) = split_api_version(api_version);
        let (binding, uid) = match (group, bound.kind().text()) {
            ("", "Pod") => {
                let pod = Lookup::within::<Pods>(&self.stores)?.newest(namespace, name).await?;
                let uid = pod.uid().to_owned();
                (self.bind_to_pod(account, &pod).await?, uid)
            }
            ("", "Node") => {
                let node = Lookup::within::<Nodes>(&self.stores)?.newest("", name).await?;
                (TokenBinding::Node(named(&node)), node.uid().to_owned())
            }
            ("", "Secret") => {
                let secret = Lookup::within::<Secrets>(&self.stores)?.newest(namespace, name).await?;
                (TokenBinding::Secret(named(&secret)), secret.uid().to_owned())
            }
            (_, kind) => {
                let message = format!("cannot bind token to object of type {group}/{version}, Kind={kind}");
                return Err(StatusError::bad_request(message));
            }
        };
        let wanted = bound.uid().text();
        if !wanted.is_empty() && wanted != uid {
            // Names the kind instead of the resource, as kube-apiserver does here.
            let kind = match &binding {
                TokenBinding::Pod(..) => "Pod",
                TokenBinding::Node(_) => "Node",
                TokenBinding::Secret(_) => "Secret",
            };
            let why = format!(
                "the UID in the bound object reference ({wanted}) does not match the UID in record. The object might have been deleted and then recreated"
            );
            return Err(StatusError::conflict(GroupResource { group: "", resource: kind }, name, why));
        }
        Ok(Some(binding))
    }

    async fn bind_to_pod(&self, account: &str, pod: &Object) -> Result<TokenBinding, StatusError> {
        if Pod(pod).spec().service_account_name().optional_text() != Some(account) {
            return Err(StatusError::bad_request(format!(
                "cannot bind token for serviceaccount {account:?} to pod running with different serviceaccount name."
            )));
        }
        let node = Pod(pod).spec().node_name().text();
        if node.is_empty() {
            return Ok(TokenBinding::Pod(named(pod), None));
        }
        let node = match Lookup::within::<Nodes>(&self.stores)?.newest("", node).await {
            Ok(node) => Some(named(&node)),
            // The node has not registered yet.
            Err(failure) if failure.is_not_found() => {
                Some(TokenObject { name: node.to_owned(), uid: String::new() })
            }
            Err(failure) => return Err(failure),
        };
        Ok(TokenBinding::Pod(named(pod), node))
    }
}

/// Checks that name and namespace in the request, if any, are those of the URL.
fn check_place(request: &Object, name: &str, namespace: &str) -> Result<(), StatusError> {
    for (field, own, wanted) in
        [("name", request.name(), name), ("namespace", request.namespace(), namespace)]
    {
        if !own.is_empty() && own != wanted {
            let path = FieldPath::new("metadata").child(field);
            let detail = format!("must match the service account {field} if specified");
            let error = FieldError::invalid(path, own, detail);
            return Err(StatusError::invalid(REQUEST, name, &error.into()));
        }
    }
    Ok(())
}

/// Sets the fields that the request leaves to the server.
fn complete(request: &mut Object, account: &Object, api_audiences: &[String], now: Timestamp) {
    for field in ["name", "namespace"] {
        request.copy_field(account, &["metadata", field]);
    }
    if request.uid().is_empty() {
        request.copy_field(account, &["metadata", "uid"]);
    }
    request.set(&["metadata", "creationTimestamp"], time::format_seconds(now).into());
    if audiences(request).next().is_none() {
        request.set(&["spec", "audiences"], api_audiences.to_vec().into());
    }
    request.0.remove("status");
}

fn validate(request: &Object) -> ErrorList {
    let mut errors = ErrorList::default();
    let seconds = TokenRequest(request).spec().expiration_seconds().number();
    let field = FieldPath::new("spec").child("expirationSeconds");
    if seconds < LEAST_SECONDS {
        let detail = "may not specify a duration less than 10 minutes";
        errors.push(FieldError::invalid(field, seconds, detail));
    } else if seconds > MAX_SECONDS {
        let detail = "may not specify a duration larger than 2^32 seconds";
        errors.push(FieldError::invalid(field, seconds, detail));
    }
    errors
}

fn audiences(request: &Object) -> impl Iterator<Item = &str> {
    TokenRequest(request).spec().audiences().texts()
}

fn named(object: &Object) -> TokenObject {
    TokenObject { name: object.name().to_owned(), uid: object.uid().to_owned() }
}
