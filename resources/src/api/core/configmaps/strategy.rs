//! Rules of ConfigMaps.

use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::{ConfigMap, ConfigMapMut};

use crate::api::core::config_data;

/// Keys, size, and immutability on demand.
pub(super) struct ConfigMapStrategy;

impl ObjectStrategy for ConfigMapStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let data = ConfigMap(object).data();
        let binary = ConfigMap(object).binary_data();
        config_data::check_keys(&data, &mut errors);
        config_data::check_keys(&binary, &mut errors);
        for (key, field) in data.entries() {
            if binary.value().is_some_and(|binary| binary.get(key).is_some()) {
                errors.push(FieldError::invalid(field.path(), key, "duplicate of key present in binaryData"));
            }
        }
        let texts = data.entries().map(|(_, value)| value.text().len()).sum::<usize>();
        let bytes =
            binary.entries().map(|(_, value)| config_data::decoded_length(value.text())).sum::<usize>();
        if texts + bytes > config_data::MAX_BYTES {
            errors.push(FieldError::too_long(FieldPath::root().key(""), config_data::MAX_BYTES));
        }
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = self.validate(context, new);
        config_data::check_immutable(new, old, &["data", "binaryData"], &mut errors);
        errors.append(config_data::repeated_metadata_errors(new));
        errors
    }

    fn canonicalize(&self, object: &mut Object) {
        // An explicit null is the same as an absent field.
        if ConfigMapMut(object).immutable().is_absent() {
            ConfigMapMut(object).immutable().remove();
        }
    }
}
