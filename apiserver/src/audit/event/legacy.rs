//! An event as one line of text.
//!
//! Kubernetes concept: `EventString` in `k8s.io/apiserver/pkg/audit`.

use std::borrow::Cow;
use std::io::Write as _;

use registry_core::context::UserInfo;

use super::Event;

/// Appends an event.
pub(super) fn write(event: &Event, buffer: &mut Vec<u8>) {
    let facts = &event.facts;
    let (user, groups) = match facts.user.name.as_str() {
        "" => ("<none>", None),
        name => (name, list(&facts.user)),
    };
    let impersonated = event.impersonated.as_deref();
    let as_user = impersonated.map_or("<self>", |user| user.name.as_str());
    let as_groups = impersonated.and_then(list);
    let namespace = facts.object_ref.as_ref().map(|resource| resource.namespace.as_str());
    let namespace = namespace.filter(|namespace| !namespace.is_empty()).unwrap_or("<none>");
    let response = event.code.map_or(Cow::Borrowed("<deferred>"), |code| code.to_string().into());
    let ip = facts.source_ips.first().map_or(Cow::Borrowed("<unknown>"), |ip| ip.to_string().into());
    // Writing to memory cannot fail.
    let _ = write!(
        buffer,
        "{} AUDIT: id={:?} stage={:?} ip={:?} method={:?} user={user:?} groups={:?} as={as_user:?} asgroups={:?} \
         user-agent={:?} namespace={namespace:?} uri={:?} response=\"{response}\"",
        facts.received,
        facts.audit_id,
        event.stage.as_str(),
        ip,
        facts.verb,
        groups.unwrap_or_else(|| "<none>".to_owned()),
        as_groups.unwrap_or_else(|| "<lookup>".to_owned()),
        facts.user_agent,
        facts.request_uri,
    );
}

/// Returns the groups of a user, quoted and separated by commas.
fn list(user: &UserInfo) -> Option<String> {
    let quoted: Vec<String> = user.groups.iter().map(|group| format!("{group:?}")).collect();
    (!quoted.is_empty()).then(|| quoted.join(","))
}
