//! Fields in errors, whose values are shown as Kubernetes holds them in Go.

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use resource_views::View;

use crate::support::go_text;
use crate::support::semantic;

/// A field whose value can be shown as Kubernetes holds it in Go.
pub(crate) trait ShownAsGo {
    /// Returns the value as messages show one of Kubernetes' internal type (`<core.Taint>`).
    fn go_text(&self, shape: &str) -> String;

    /// Returns the error of a value that violates a rule, shown as Kubernetes' internal type.
    fn invalid_as(&self, shape: &str, detail: impl Into<String>) -> FieldError;

    /// Adds an error if the value differs from the old one, which is shown as Kubernetes' internal type.
    fn check_immutable_as(&self, shape: &str, old: &View<'_, '_>, errors: &mut ErrorList);
}

impl ShownAsGo for View<'_, '_> {
    fn go_text(&self, shape: &str) -> String {
        go_text::text(self.value(), shape)
    }

    fn invalid_as(&self, shape: &str, detail: impl Into<String>) -> FieldError {
        self.invalid(detail).shown_as(self.go_text(shape))
    }

    fn check_immutable_as(&self, shape: &str, old: &View<'_, '_>, errors: &mut ErrorList) {
        if !semantic::equal(self.value(), old.value()) {
            errors.push(self.invalid_as(shape, "field is immutable"));
        }
    }
}
