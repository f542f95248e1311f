//! The configuration of the plug-in: resources that nobody may use without a quota.
//!
//! Kubernetes concept: `ResourceQuotaConfiguration`.

use registry_core::api::GroupResource;
use serde::Deserialize;
use serde_json::Value;

use crate::admission::settings_error::SettingsError;
use crate::api::core::pod_spec::totals::Amounts;

/// A resource whose use needs a quota that covers it.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(crate) struct LimitedResource {
    #[serde(default)]
    api_group: String,
    #[serde(default)]
    resource: String,
    /// The names of usage that need a quota contain one of these.
    #[serde(default)]
    match_contains: Vec<String>,
    /// Objects in one of these scopes need a quota for the scope.
    #[serde(default)]
    pub(super) match_scopes: Vec<Value>,
}

/// The configuration as it is written.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Written {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    limited_resources: Vec<LimitedResource>,
}

/// Reads a `ResourceQuotaConfiguration`.
///
/// # Errors
/// The configuration is not valid; the text names the field.
pub(crate) fn read(configuration: Value) -> Result<Vec<LimitedResource>, SettingsError> {
    let written: Written = serde_json::from_value(configuration)?;
    for (index, limited) in written.limited_resources.iter().enumerate() {
        if limited.resource.is_empty() {
            return Err(SettingsError::NoQuotaResource(index));
        }
        for (position, scope) in limited.match_scopes.iter().enumerate() {
            let has = |field: &str| scope.get(field).is_some_and(Value::is_string);
            if !has("scopeName") || !has("operator") {
                return Err(SettingsError::QuotaScope { index, position });
            }
        }
    }
    Ok(written.limited_resources)
}

// === impl LimitedResource ===

impl LimitedResource {
    /// Whether this is about the objects of a resource.
    pub(super) fn is_for(&self, resource: GroupResource) -> bool {
        self.api_group == resource.group && self.resource == resource.resource
    }

    /// Returns the names of usage that need a quota.
    pub(super) fn matching<'u>(&'u self, usage: &'u Amounts) -> impl Iterator<Item = &'u str> {
        let is_used = |amount: &registry_core::schema::Quantity| amount.is_positive();
        let is_limited = |name: &str| self.match_contains.iter().any(|part| name.contains(part));
        let names = usage.iter().filter(move |(_, amount)| is_used(amount)).map(|(name, _)| name.as_str());
        names.filter(move |name| is_limited(name))
    }
}
