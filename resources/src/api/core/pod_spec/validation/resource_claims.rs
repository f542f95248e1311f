//! References to resource claims, by the pod and by its containers.

use std::collections::{BTreeSet, HashMap, HashSet};

use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, FieldPath};
use resource_views::List;
use resource_views::core::v1::{PodResourceClaim, ResourceClaim};

use crate::support::field::ShownAsGo as _;

/// The names of the claims of a pod.
#[derive(Default)]
pub(super) struct ClaimNames<'v>(BTreeSet<&'v str>);

// === impl ClaimNames ===

impl<'v> ClaimNames<'v> {
    /// Returns the names in a list of references.
    pub(super) fn from_claims(claims: &List<PodResourceClaim<'v, '_>>) -> Self {
        Self(claims.elements().map(|claim| claim.name().text()).filter(|name| !name.is_empty()).collect())
    }

    /// Checks the claims that a container uses. A claim is used as a whole, or some of its requests are.
    pub(super) fn check_used(&self, claims: &List<ResourceClaim<'_, '_>>, errors: &mut ErrorList) {
        let mut whole: HashSet<&str> = HashSet::new();
        let mut requests: HashMap<&str, HashSet<&str>> = HashMap::new();
        for claim in claims.elements() {
            let name = claim.name().text();
            if name.is_empty() {
                errors.push(claim.required(""));
                continue;
            }
            let request = claim.request();
            let repeated = |value: String| FieldError::duplicate(claim.path(), value);
            if whole.contains(name) {
                errors.push(repeated(name.to_owned()));
            } else if request.text().is_empty() {
                // Each request that was used before is used again.
                for _ in requests.get(name).into_iter().flatten() {
                    errors.push(repeated(name.to_owned()));
                }
                whole.insert(name);
            } else {
                request.check(names::dns_label, errors);
                if !requests.entry(name).or_default().insert(request.text()) {
                    errors.push(repeated(format!("{name}/{}", request.text())));
                }
            }
            if !self.0.contains(name) {
                errors.push(FieldError::not_found(claim.path(), name).detailed(self.known()));
            }
        }
    }

    fn known(&self) -> String {
        let text = "must be one of the names in pod.spec.resourceClaims";
        if self.0.is_empty() {
            return format!("{text} which is empty");
        }
        let known: Vec<&str> = self.0.iter().copied().collect();
        format!("{text}: {}", known.join(", "))
    }
}

/// Checks the claims of a pod.
pub(super) fn check(claims: &List<PodResourceClaim<'_, '_>>, is_static_pod: bool, errors: &mut ErrorList) {
    let mut seen = HashSet::new();
    for claim in claims.elements() {
        if is_static_pod {
            let nowhere = FieldPath::root().key("");
            errors.push(FieldError::forbidden(nowhere, "static pods do not support resource claims"));
            continue;
        }
        let name = claim.name();
        if name.check_present(errors) {
            if seen.insert(name.text()) {
                name.check(names::dns_label, errors);
            } else {
                errors.push(name.duplicate());
            }
        }
        let sources = [claim.resource_claim_name(), claim.resource_claim_template_name()];
        let detail = match sources.iter().filter(|source| source.exists()).count() {
            0 => Some("must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"),
            1 => None,
            _ => Some("at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"),
        };
        if let Some(detail) = detail {
            errors.push(claim.invalid_as("<core.PodResourceClaim>", detail));
        }
        for source in sources {
            source.check_if_present(names::dns_subdomain, errors);
        }
    }
}
