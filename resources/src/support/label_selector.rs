//! Label selectors inside objects (`metav1.LabelSelector`) and maps of labels.

use registry_core::api::selector::LabelSelector;
use registry_core::api::validation::{ErrorList, names};
use registry_core::api::{FieldError, Object};
use resource_views::meta::v1::LabelSelector as Selector;
use resource_views::{Map, Text};
use serde_json::Value;

/// Checks the keys and values of a map of labels.
pub(crate) fn check_labels(labels: &Map<Text<'_, '_>>, errors: &mut ErrorList) {
    for (key, value) in labels.entries() {
        for complaint in names::qualified_name(key) {
            errors.push(FieldError::invalid(labels.path(), key, complaint));
        }
        for complaint in names::label_value(value.text()) {
            errors.push(FieldError::invalid(labels.path(), value.text(), complaint));
        }
    }
}

/// Checks a `metav1.LabelSelector`.
pub(crate) fn check(selector: &Selector<'_, '_>, errors: &mut ErrorList) {
    check_except_values(selector, errors);
    for expression in selector.match_expressions().elements() {
        for value in expression.values().elements() {
            value.check(names::label_value, errors);
        }
    }
}

/// Checks a `metav1.LabelSelector` whose values may be invalid labels, because they were before.
pub(crate) fn check_except_values(selector: &Selector<'_, '_>, errors: &mut ErrorList) {
    check_labels(&selector.match_labels(), errors);
    for expression in selector.match_expressions().elements() {
        let operator = expression.operator();
        let values = expression.values();
        match operator.text() {
            "In" | "NotIn" if values.is_empty() => {
                errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
            }
            "Exists" | "DoesNotExist" if !values.is_empty() => {
                errors.push(
                    values.forbidden("may not be specified when `operator` is 'Exists' or 'DoesNotExist'"),
                );
            }
            "In" | "NotIn" | "Exists" | "DoesNotExist" => {}
            _ => errors.push(operator.invalid_text("not a valid selector operator")),
        }
        expression.key().check(names::qualified_name, errors);
    }
}

/// Whether a selector can be evaluated; an absent one selects nothing.
pub(crate) fn is_readable(selector: &Selector<'_, '_>) -> bool {
    selector.value().is_none_or(|selector| LabelSelector::from_object(selector).is_ok())
}

/// Whether a selector inside an object selects the labels at a path of the same object.
pub(crate) fn selects(object: &Object, selector: &[&str], labels: &[&str]) -> bool {
    let Some(selector) = object.get(selector).and_then(|selector| LabelSelector::from_object(selector).ok())
    else {
        return false;
    };
    let labels = object.get(labels);
    selector.matches(|key| labels.and_then(|labels| labels.get(key)).and_then(Value::as_str))
}
