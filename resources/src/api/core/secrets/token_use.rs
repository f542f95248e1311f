//! The label with the date at which the token of a Secret was last used, by which controllers find unused tokens.
//!
//! Kubernetes concept: `kubernetes.io/legacy-token-last-used`.

use std::sync::Arc;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use registry_core::api::{Object, StatusError};
use registry_core::registry::Store;

use crate::support::system_writer::SystemWriter;

const LABEL: &str = "kubernetes.io/legacy-token-last-used";

/// Records that the token in this Secret is used today. Writes once a day; `store` is that of Secrets.
///
/// # Errors
/// The store failed, or the Secret is gone.
pub async fn note_token_use(store: &Arc<Store>, secret: &Object) -> Result<(), StatusError> {
    let today = Timestamp::now().to_zoned(TimeZone::UTC).date();
    let noted = secret.label(LABEL).unwrap_or_default();
    // Clocks of other servers may be ahead.
    let is_noted = noted == today.to_string() || today.tomorrow().is_ok_and(|next| noted == next.to_string());
    if is_noted {
        return Ok(());
    }
    let note = |present: &Object| {
        let mut noted = present.clone();
        if present.uid() == secret.uid() {
            noted.set(&["metadata", "labels", LABEL], today.to_string().into());
        }
        noted
    };
    SystemWriter::new(store.clone()).change(secret.namespace(), secret.name(), note).await
}
