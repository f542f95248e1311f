//! The selectors of access reviews: what a `list`, `watch` or `deletecollection` is restricted to.
//!
//! All requirements apply together, so that the question remains a safe one when some that this server does not understand
//! are left out: it is then about more.

use registry_core::api::ErrorList;
use registry_core::api::selector::{FieldRequirement, FieldSelector, LabelRequirement, LabelSelector};
use registry_core::api::validation::names;
use serde_json::{Map, Value, json};

use crate::support::field::Field;

/// The requirements of a selector.
pub(super) struct Understood<T> {
    /// The requirements that were understood.
    pub(super) requirements: Vec<T>,
    /// The message that other requirements were left out.
    pub(super) problem: Option<String>,
}

/// Checks the selectors of a review's `resourceAttributes`.
pub(super) fn check(attributes: &Field<'_, '_>, errors: &mut ErrorList) {
    for (name, is_label) in [("fieldSelector", false), ("labelSelector", true)] {
        let selector = attributes.get(name);
        if selector.exists() {
            check_selector(&selector, is_label, errors);
        }
    }
}

fn check_selector(selector: &Field<'_, '_>, is_label: bool, errors: &mut ErrorList) {
    let raw = selector.get("rawSelector");
    let requirements = selector.get("requirements");
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
fn check_requirement(requirement: &Field<'_, '_>, is_label: bool, errors: &mut ErrorList) {
    let key = requirement.get("key");
    let values = requirement.get("values");
    match requirement.get("operator").text() {
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
pub(super) fn fields(attributes: &Map<String, Value>) -> Understood<FieldRequirement> {
    understood(
        attributes.get("fieldSelector"),
        "fieldSelector",
        |raw| FieldSelector::parse(raw).ok().map(|selector| selector.requirements),
        field_requirement,
    )
}

/// Returns the requirements on labels.
pub(super) fn labels(attributes: &Map<String, Value>) -> Understood<LabelRequirement> {
    understood(
        attributes.get("labelSelector"),
        "labelSelector",
        |raw| LabelSelector::parse(raw).ok().map(|selector| selector.requirements),
        label_requirement,
    )
}

fn understood<T>(
    selector: Option<&Value>,
    name: &str,
    parse: impl Fn(&str) -> Option<Vec<T>>,
    convert: impl Fn(&Value) -> Option<T>,
) -> Understood<T> {
    let raw = selector.and_then(|selector| selector.get("rawSelector")).and_then(Value::as_str);
    let given = selector.and_then(|selector| selector.get("requirements")).and_then(Value::as_array);
    let given = given.map(Vec::as_slice).unwrap_or_default();
    let raw = raw.filter(|raw| !raw.is_empty() && given.is_empty());
    let (requirements, is_complete) = if let Some(raw) = raw {
        parse(raw).map_or((Vec::new(), false), |requirements| (requirements, true))
    } else {
        let converted: Vec<T> = given.iter().filter_map(convert).collect();
        let is_complete = converted.len() == given.len();
        (converted, is_complete)
    };
    let partially = if requirements.is_empty() { "" } else { "partially " };
    let problem = format!("spec.resourceAttributes.{name} {partially}ignored due to parse error");
    Understood { requirements, problem: (!is_complete).then_some(problem) }
}

fn field_requirement(requirement: &Value) -> Option<FieldRequirement> {
    let values = requirement.get("values").and_then(Value::as_array)?;
    let [Value::String(value)] = values.as_slice() else { return None };
    let equal = match requirement.get("operator").and_then(Value::as_str)? {
        "In" => true,
        "NotIn" => false,
        _ => return None,
    };
    let path = requirement.get("key").and_then(Value::as_str)?;
    Some(FieldRequirement { path: path.to_owned(), value: value.clone(), equal })
}

fn label_requirement(requirement: &Value) -> Option<LabelRequirement> {
    let selector = LabelSelector::from_object(&json!({ "matchExpressions": [requirement] })).ok()?;
    selector.requirements.into_iter().next()
}

#[cfg(test)]
mod tests {
    use registry_core::api::Object;
    use registry_core::api::selector::LabelOperator;

    use super::*;

    fn errors(attributes: &Value) -> Vec<String> {
        let review = Object::from_value(json!({ "spec": { "resourceAttributes": attributes } })).unwrap();
        let spec = Field::top_level(&review, "spec");
        let mut errors = ErrorList::default();
        check(&spec.get("resourceAttributes"), &mut errors);
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
        let attributes = |selector: Value| match json!({ "fieldSelector": selector, "labelSelector": selector })
        {
            Value::Object(attributes) => attributes,
            _ => Map::new(),
        };
        let found = fields(&attributes(json!({ "requirements": [single, several] })));
        assert_eq!(found.requirements.len(), 1);
        assert_eq!(
            found.problem.as_deref(),
            Some("spec.resourceAttributes.fieldSelector partially ignored due to parse error")
        );
        let found = labels(&attributes(json!({ "rawSelector": "a in (" })));
        assert_eq!(
            found.problem.as_deref(),
            Some("spec.resourceAttributes.labelSelector ignored due to parse error")
        );
        let found = labels(&attributes(json!({ "requirements": [several] })));
        assert_eq!(found.requirements.len(), 1);
        assert!(matches!(&found.requirements[0].operator, LabelOperator::In(values) if values.len() == 2));
        assert_eq!(found.problem, None);
        assert_eq!(fields(&Map::new()).problem, None);
    }
}
