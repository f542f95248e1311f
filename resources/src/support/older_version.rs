//! Versions of a kind that have the fields of the stored version.

/// Declares the strategy of such a version, given the strategy of the stored version, whose rules apply anyway, and the
/// warning of every request if the version is deprecated.
macro_rules! older_version {
    ($strategy:ident, stored with $stored:expr $(, $deprecation:literal)?) => {
        /// Defaults are those of the stored version.
        struct $strategy;

        impl ::registry_core::resource::ObjectStrategy for $strategy {
            fn apply_defaults(&self, object: &mut ::registry_core::api::Object) {
                ::registry_core::resource::ObjectStrategy::apply_defaults(&$stored, object);
            }

            $(
                fn deprecation(&self) -> Option<&'static str> {
                    Some($deprecation)
                }
            )?

            fn unknown_field_label(&self, label: &str) -> String {
                ::registry_core::resource::ObjectStrategy::unknown_field_label(&$stored, label)
            }
        }
    };
}
pub(crate) use older_version;

/// Implements [`Spoke`](registry_core::resource::conversion::Spoke) for a version that differs from the stored one in
/// nothing but its name.
macro_rules! same_fields {
    ($version:ty, stored as $hub:ty) => {
        impl ::registry_core::resource::conversion::Spoke for $version {
            type Hub = $hub;

            fn to_hub(
                object: ::registry_core::api::Object,
            ) -> Result<::registry_core::api::Object, ::registry_core::resource::conversion::ConversionError>
            {
                Ok(object)
            }

            fn from_hub(
                object: ::registry_core::api::Object,
            ) -> Result<::registry_core::api::Object, ::registry_core::resource::conversion::ConversionError>
            {
                Ok(object)
            }
        }
    };
}
pub(crate) use same_fields;
