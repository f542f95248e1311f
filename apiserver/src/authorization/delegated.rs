//! The authorization of an extension server: its main server is asked.
//!
//! Kubernetes concept: `DelegatingAuthorizationOptions` of `k8s.io/apiserver/pkg/server/options`.

use std::sync::Arc;
use std::time::Duration;

use crate::main_server;
use crate::metrics::AuthorizationMetrics;
use crate::options::Options;

use super::chain::{AuthorizerChain, Measured, Member, OpenPaths};
use super::conditions::MatchConditions;
use super::error::AuthorizationError;
use super::review_spec::ReviewVersion;
use super::webhook::{WebhookAuthorizer, WebhookSettings};

/// Default time for which the answers of a main server are kept: short, so that changed permissions soon take effect.
const TTL: Duration = Duration::from_secs(10);
/// Maximum time of a call of a main server.
const TIMEOUT: Duration = Duration::from_secs(10);
/// The path at which a main server creates `SubjectAccessReview`s.
const SUBJECT_ACCESS_REVIEWS: &str = "/apis/authorization.k8s.io/v1/subjectaccessreviews";
/// The name of the main server in metrics.
const NAME: &str = "default";

/// Creates the authorizers of an extension server: members of `system:masters` and some paths are always allowed, the main
/// server is asked about everything else.
///
/// # Errors
/// Fails if the kubeconfig cannot be used.
pub(super) fn chain(
    options: &Options,
    metrics: &AuthorizationMetrics,
) -> Result<AuthorizerChain, AuthorizationError> {
    let ttls = &options.authorization;
    let settings = WebhookSettings {
        authorized_ttl: ttls.authorization_webhook_cache_authorized_ttl.unwrap_or(TTL),
        unauthorized_ttl: ttls.authorization_webhook_cache_unauthorized_ttl.unwrap_or(TTL),
        timeout: TIMEOUT,
        version: ReviewVersion::V1,
        denies_on_failure: false,
    };
    let client = main_server::client(options.delegation.authorization(), SUBJECT_ACCESS_REVIEWS)?;
    let conditions = MatchConditions::default();
    let webhook = WebhookAuthorizer::new(client, settings, conditions, metrics.webhook(NAME));
    let paths = OpenPaths::new(&options.delegation.authorization_always_allow_paths)?;
    let decisions = Some(metrics.decisions_of("Webhook", NAME));
    let member = Measured { member: Member::Other(Arc::new(webhook)), decisions };
    Ok(AuthorizerChain::new(vec![member]).with_open_paths(paths))
}
