//! Rules of ServiceAccounts.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::resource::ObjectStrategy;

/// A deprecated annotation.
const ENFORCE: &str = "kubernetes.io/enforce-mountable-secrets";

/// Warnings about deprecated fields.
pub(super) struct ServiceAccountStrategy;

impl ObjectStrategy for ServiceAccountStrategy {
    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        let used = object.annotation(ENFORCE).is_some();
        let warning = format!(
            "metadata.annotations[{ENFORCE}]: deprecated in v1.32+; prefer separate namespaces to isolate access to mounted secrets"
        );
        used.then_some(warning).into_iter().collect()
    }
}
