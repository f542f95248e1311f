//! The selectors of access reviews: what a `list`, `watch` or `deletecollection` is restricted to.
//!
//! All requirements apply together, so that the question remains a safe one when some that this server does not understand
//! are left out: it is then about more.

use registry_core::api::ErrorList;
use registry_core::api::selector::{FieldRequirement, FieldSelector, LabelRequirement, LabelSelector};
use registry_core::api::validation::names;
use resource_views::Text;
use resource_views::authorization::v1::{
    FieldSelectorAttributes, LabelSelectorAttributes, ResourceAttributes,
};
use resource_views::meta::v1::{FieldSelectorRequirement, LabelSelectorRequirement};
use serde_json::json;

/// The requirements of a selector.
pub(super) struct Understood<T> {
    /// The requirements that were understood.
    pub(super) requirements: Vec<T>,
    /// The message that other requirements were left out.
    pub(super) problem: Option<String>,
}

/// Checks the selectors of a review's `resourceAttributes`.
pub(super) fn check(attributes: &ResourceAttributes<'_, '_>, errors: &mut ErrorList) {
    let fields = attributes.field_selector();
    if fields.exists() {
        check_selector(&fields.into(), false, errors);
    }
    let labels = attributes.label_selector();
    if labels.exists() {
        check_selector(&labels, true, errors);
    }
}

fn check_selector(selector: &LabelSelectorAttributes<'_, '_>, is_label: bool, errors: &mut ErrorList) {
    let raw = selector.raw_selector();
    let requirements = selector.requirements();
    let (has_raw, has_requirements) = (!raw.text().is_empty(), !requirements.is_empty());
    if has_raw && has_requirements {
        errors.push(raw.invalid("may not specified at the same time as requirements"));
    }
    if !has_raw && !has_requirements {
        let path = selector.path();
        errors.push(
            requirements
                .required(format!("when {path} is specified, requirements or rawSelector is required")),
        );
    }
    for requirement in requirements.elements() {
        check_requirement(&requirement, is_label, errors);
    }
}

/// Checks a requirement. Operators that this server does not know are those of newer clients.
fn check_requirement(requirement: &LabelSelectorRequirement<'_, '_>, is_label: bool, errors: &mut ErrorList) {
    let key = requirement.key();
    let values = requirement.values();
    match requirement.operator().text() {
        "In" | "NotIn" if values.is_empty() => {
            errors.push(values.required("must be specified when `operator` is 'In' or 'NotIn'"));
        }
        "Exists" | "DoesNotExist" if !values.is_empty() => {
            let detail = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'";
            errors.push(values.forbidden(detail));
        }
        _ => {}
    }
    if !is_label {
        if key.text().is_empty() {
            errors.push(key.required("must be specified"));
        }
        return;
    }
    key.check(names::qualified_name, errors);
    for value in values.elements() {
        value.check(names::label_value, errors);
    }
}

/// Returns the requirements on fields.
pub(super) fn fields(selector: &FieldSelectorAttributes<'_, '_>) -> Understood<FieldRequirement> {
    let parse = |raw: &str| FieldSelector::parse(raw).ok().map(|selector| selector.requirements);
    let requirements = selector.requirements();
    let converted = requirements.elements().map(|requirement| field_requirement(&requirement)).collect();
    understood("fieldSelector", &selector.raw_selector(), parse, converted)
}

/// Returns the requirements on labels.
pub(super) fn labels(selector: &LabelSelectorAttributes<'_, '_>) -> Understood<LabelRequirement> {
    let parse = |raw: &str| LabelSelector::parse(raw).ok().map(|selector| selector.requirements);
    let requirements = selector.requirements();
    let converted = requirements.elements().map(|requirement| label_requirement(&requirement)).collect();
    understood("labelSelector", &selector.raw_selector(), parse, converted)
}

fn understood<T>(
    name: &str,
    raw: &Text<'_, '_>,
    parse: impl Fn(&str) -> Option<Vec<T>>,
    given: Vec<Option<T>>,
) -> Understood<T> {
    let raw = Some(raw.text()).filter(|raw| !raw.is_empty() && given.is_empty());
    let (requirements, is_complete) = if let Some(raw) = raw {
        parse(raw).map_or((Vec::new(), false), |requirements| (requirements, true))
    } else {
        let is_complete = given.iter().all(Option::is_some);
        (given.into_iter().flatten().collect(), is_complete)
    };
    let partially = if requirements.is_empty() { "" } else { "partially " };
    let problem = format!("spec.resourceAttributes.{name} {partially}ignored due to parse error");
    Understood { requirements, problem: (!is_complete).then_some(problem) }
}

fn field_requirement(requirement: &FieldSelectorRequirement<'_, '_>) -> Option<FieldRequirement> {
    let value = requirement.values().only_element()?.optional_text()?;
    let equal = match requirement.operator().text() {
        "In" => true,
        "NotIn" => false,
        _ => return None,
    };
    let path = requirement.key().optional_text()?;
    Some(FieldRequirement { path: path.to_owned(), value: value.to_owned(), equal })
}

fn label_requirement(requirement: &LabelSelectorRequirement<'_, '_>) -> Option<LabelRequirement> {
    let requirements = json!({ "matchExpressions": [requirement.value()] });
    let selector = LabelSelector::from_object(&requirements).ok()?;
    selector.requirements.into_iter().next()
}

#[cfg(test)]
mod tests {
    use registry_core::api::Object;
    use registry_core::api::selector::LabelOperator;
    use resource_views::authorization::v1::SubjectAccessReview;
    use resource_views::{Typed as _, View};
    use serde_json::Value;

    use super::*;

    fn errors(attributes: &Value) -> Vec<String> {
        let review = Object::from_value(json!({ "spec": { "resourceAttributes": attributes } })).unwrap();
        let mut errors = ErrorList::default();
        check(&SubjectAccessReview(&review).spec().resource_attributes(), &mut errors);
        errors.0.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn selectors_are_raw_or_a_list_of_requirements() {
        let path = "spec.resourceAttributes.labelSelector";
        assert_eq!(errors(&json!({})), Vec::<String>::new());
        assert_eq!(
            errors(&json!({ "labelSelector": {} })),
            [format!(
                "{path}.requirements: Required value: when {path} is specified, requirements or rawSelector is required"
            )]
        );
        let requirement = json!({ "key": "a", "operator": "Exists" });
        assert_eq!(
            errors(&json!({ "labelSelector": { "rawSelector": "a", "requirements": [requirement] } })),
            [format!(
                "{path}.rawSelector: Invalid value: \"a\": may not specified at the same time as requirements"
            )]
        );
        let unknown = json!({ "key": "a", "operator": "Newer", "values": ["b"] });
        assert_eq!(errors(&json!({ "fieldSelector": { "requirements": [unknown] } })), Vec::<String>::new());
        let without_key = json!({ "operator": "In", "values": ["b"] });
        assert_eq!(
            errors(&json!({ "fieldSelector": { "requirements": [without_key] } })),
            ["spec.resourceAttributes.fieldSelector.requirements[0].key: Required value: must be specified"]
        );
    }

    #[test]
    fn requirements_that_are_not_understood_are_left_out_and_reported() {
        let single = json!({ "key": "spec.nodeName", "operator": "In", "values": ["n"] });
        let several = json!({ "key": "spec.nodeName", "operator": "In", "values": ["n", "m"] });
        let given = json!({ "requirements": [single, several] });
        let found = fields(&FieldSelectorAttributes::typed(View::root(&given)));
        assert_eq!(found.requirements.len(), 1);
        assert_eq!(
            found.problem.as_deref(),
            Some("spec.resourceAttributes.fieldSelector partially ignored due to parse error")
        );
        let given = json!({ "rawSelector": "a in (" });
        let found = labels(&LabelSelectorAttributes::typed(View::root(&given)));
        assert_eq!(
            found.problem.as_deref(),
            Some("spec.resourceAttributes.labelSelector ignored due to parse error")
        );
        let given = json!({ "requirements": [several] });
        let found = labels(&LabelSelectorAttributes::typed(View::root(&given)));
        assert_eq!(found.requirements.len(), 1);
        assert!(matches!(&found.requirements[0].operator, LabelOperator::In(values) if values.len() == 2));
        assert_eq!(found.problem, None);
        let given = json!({});
        assert_eq!(fields(&FieldSelectorAttributes::typed(View::root(&given))).problem, None);
    }
}
