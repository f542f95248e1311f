//! Behavior of rules for objects and definitions.

use super::*;
use registry_meta::budget::Budget;
use serde_json::json;

fn strings(errors: &ErrorList) -> Vec<String> {
    errors.0.iter().map(ToString::to_string).collect()
}

/// The errors and the errors of unchanged values.
fn validate(schema: &Value, new: &Value, old: Option<&Value>) -> (Vec<String>, Vec<String>) {
    validate_within(&Budget::default(), schema, new, old)
}

/// The same within the budget of a request.
fn validate_within(
    request: &Budget,
    schema: &Value,
    new: &Value,
    old: Option<&Value>,
) -> (Vec<String>, Vec<String>) {
    let rules = ValidationRules::compile(schema, false).unwrap();
    let mut errors = ErrorList::default();
    let mut budget = RuleBudget::default().within(request);
    let ratcheted = rules.validate(&FieldPath::new("spec"), new, old, &mut budget, &mut errors);
    (strings(&errors), strings(&ratcheted))
}

fn errors(schema: &Value, new: &Value, old: Option<&Value>) -> Vec<String> {
    validate(schema, new, old).0
}

fn definition(schema: &Value) -> Vec<String> {
    strings(&check_definition(schema, &FieldPath::new("schema"), None))
}

#[test]
fn schemas_without_rules_cost_nothing() {
    assert!(ValidationRules::compile(&json!({"type": "object", "properties": {"a": {}}}), true).is_none());
}

#[test]
fn failed_rules_have_reasons_messages_and_fields() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-kubernetes-validations": [
            {"rule": "self != 'x'"}, {"rule": "self != 'x'", "message": " not x ", "reason": "FieldValueForbidden"},
            {"rule": "self != 'x'", "reason": "FieldValueDuplicate"}]},
        "m": {"type": "object", "additionalProperties": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self > 0", "message": "unused", "messageExpression": "'got ' + string(self)"}]}},
    }, "x-kubernetes-validations": [
        {"rule": "!has(self.a) || self.a == 'y'", "fieldPath": ".a", "reason": "FieldValueRequired"},
        {"rule": "self.m['absent'] == 1"},
    ]});
    let found = errors(&schema, &json!({"a": "x", "m": {"k": -1}}), None);
    assert_eq!(
        found,
        [
            "spec.a: Required value: failed rule: !has(self.a) || self.a == 'y'",
            "spec: Invalid value: \"object\": no such key: absent evaluating rule: self.m['absent'] == 1",
            "spec.a: Invalid value: \"x\": failed rule: self != 'x'",
            "spec.a: Forbidden: not x",
            "spec.a: Duplicate value: \"x\"",
            "spec.m[k]: Invalid value: -1: got -1",
        ]
    );
}

#[test]
fn unusable_messages_give_way_to_the_default() {
    let long = format!("'{}'", "x".repeat(6_000));
    for expression in ["''", "'a\\nb'", "'' + string(1 / int('0'))", "oldSelf", &long] {
        let schema = json!({"type": "string", "x-kubernetes-validations": [
            {"rule": "false", "messageExpression": expression}]});
        assert_eq!(errors(&schema, &json!("v"), None), ["spec: Invalid value: \"v\": failed rule: false"]);
    }
}

#[test]
fn transitions_need_an_old_value() {
    let item = json!({"type": "object", "required": ["k"], "properties": {
        "k": {"type": "string"}, "v": {"type": "integer", "x-kubernetes-validations": [
            {"rule": "self >= oldSelf"}, {"rule": "oldSelf.orValue(0) < 9", "optionalOldSelf": true}]},
    }});
    let schema = json!({"type": "array", "items": item, "x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["k"]});
    let old = json!([{"k": "b", "v": 9}, {"k": "a", "v": 3}]);
    let new = json!([{"k": "a", "v": 2}, {"k": "c", "v": 1}, {"k": "b", "v": 9}]);
    assert_eq!(
        errors(&schema, &new, Some(&old)),
        [
            "spec[0].v: Invalid value: 2: failed rule: self >= oldSelf",
            "spec[2].v: Invalid value: 9: failed rule: oldSelf.orValue(0) < 9"
        ]
    );
    assert!(errors(&schema, &new, None).is_empty());
}

#[test]
fn errors_of_unchanged_values_are_set_apart() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'good'"}]},
        "l": {"type": "array", "items": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'good'"}]}},
    }});
    let old = json!({"a": "bad", "l": ["bad"]});
    let (found, ratcheted) = validate(&schema, &json!({"a": "bad", "l": ["bad", "good"]}), Some(&old));
    assert_eq!(found, ["spec.l[0]: Invalid value: \"bad\": failed rule: self == 'good'"]);
    assert_eq!(ratcheted, ["spec.a: Invalid value: \"bad\": failed rule: self == 'good'"]);
    assert_eq!(validate(&schema, &old, Some(&old)).1.len(), 2);
}

#[test]
fn null_fields_are_absent_and_null_elements_are_not_validated() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "integer", "nullable": true, "x-kubernetes-validations": [{"rule": "false"}]},
    }, "x-kubernetes-validations": [{"rule": "has(self.a)"}, {"rule": "self == self"}]});
    assert_eq!(errors(&schema, &json!({"a": null}), None), ["spec: Invalid value: failed rule: has(self.a)"]);
}

#[test]
fn expensive_rules_end_the_evaluation() {
    let items = json!({"type": "array", "items": {"type": "integer", "x-kubernetes-validations": [{"rule": "true"}]},
        "x-kubernetes-validations": [{"rule": "self.all(a, self.all(b, a + b >= 0))", "message": "long"}]});
    let new = Value::from((0..2_000).collect::<Vec<_>>());
    assert_eq!(
        errors(&items, &new, None),
        [
            "spec: Invalid value: \"array\": 'operation cancelled: actual cost limit exceeded': no further validation rules will be run due to call cost exceeds limit for rule: long"
        ]
    );
    let rules = ValidationRules::compile(&items, false).unwrap();
    let mut found = ErrorList::default();
    let mut budget = RuleBudget::new(100);
    rules.validate(&FieldPath::new("spec"), &new, None, &mut budget, &mut found);
    assert!(budget.is_exhausted());
    assert_eq!(
        strings(&found),
        [
            "spec: Invalid value: \"array\": validation failed due to running out of cost budget, no further validation rules will be run"
        ]
    );
}

#[test]
fn rules_that_do_not_compile_are_errors_of_objects() {
    let schema = json!({"type": "object", "properties": {"a": {"type": "array",
        "items": {"x-kubernetes-preserve-unknown-fields": true}, "x-kubernetes-validations": [{"rule": "true"}]}},
        "x-kubernetes-validations": [{"rule": "1"}]});
    assert_eq!(
        errors(&schema, &json!({"a": []}), None),
        ["spec: Invalid value: \"object\": rule compile error: cel expression must evaluate to a bool"]
    );
    let undeclared = schema["properties"]["a"].clone();
    assert_eq!(
        errors(&undeclared, &json!([]), None),
        [
            "spec: Invalid value: \"array\": rule compiler initialization error: failed to convert to declType for CEL validation rules"
        ]
    );
}

#[test]
fn words_of_the_language_and_escaped_names_are_fields() {
    let schema = json!({"type": "object", "properties": {
        "namespace": {"type": "string"}, "a.b-c/d__e": {"type": "integer"}, "if": {"type": "object", "properties": {}},
        "no-escape-$": {"type": "string", "x-kubernetes-validations": [{"rule": "self == 'x'"}]},
    }, "x-kubernetes-validations": [
        {"rule": "self.namespace == 'n' && self.__namespace__ == 'n'"},
        {"rule": "self.a__dot__b__dash__c__slash__d__underscores__e == 1"},
        {"rule": "self.if == self.__if__"},
    ]});
    assert_eq!(definition(&schema), Vec::<String>::new());
    let object = json!({"namespace": "n", "a.b-c/d__e": 1, "if": {}, "no-escape-$": "y"});
    assert_eq!(
        errors(&schema, &object, None),
        ["spec.no-escape-$: Invalid value: \"y\": failed rule: self == 'x'"]
    );
}

#[test]
fn definitions_are_checked_from_the_inside() {
    let schema = json!({"type": "object", "properties": {
        "l": {"type": "array", "items": {"type": "string", "maxLength": 10, "x-kubernetes-validations": [
            {"rule": "self != oldSelf"}]}},
        "s": {"type": "object", "properties": {"x": {"type": "string"}}, "x-kubernetes-validations": [
            {"rule": " ", "fieldPath": "x", "reason": "Odd"}]},
    }, "x-kubernetes-validations": [{"rule": "undeclared"}]});
    assert_eq!(
        definition(&schema),
        [
            "schema.properties[s].x-kubernetes-validations[0].rule: Required value: rule is not specified",
            "schema.properties[s].x-kubernetes-validations[0].reason: Unsupported value: \"Odd\": supported values: \"FieldValueDuplicate\", \"FieldValueForbidden\", \"FieldValueInvalid\", \"FieldValueRequired\"",
            "schema.properties[s].x-kubernetes-validations[0].fieldPath: Invalid value: \"x\": must be a valid path",
            "schema.properties[l].items.x-kubernetes-validations[0].rule: Invalid value: \"self != oldSelf\": oldSelf cannot be used on the uncorrelatable portion of the schema within schema.properties[l]",
        ]
    );
}

#[test]
fn errors_of_the_schema_hide_those_of_expressions_above() {
    let schema = json!({"type": "object", "properties": {
        "a": {"type": "string", "x-kubernetes-validations": [{"rule": "1"}]}, "ab": {"type": "string"},
    }, "x-kubernetes-validations": [{"rule": "2"}]});
    let wrong = FieldPath::new("schema").child("properties").key("ab").child("pattern");
    let wrong = ErrorList::from(registry_meta::validation::FieldError::forbidden(wrong, ""));
    let check = DefinitionCheck::default().with_schema_errors(&wrong);
    let found = strings(&check.check(&schema, &FieldPath::new("schema"), &Budget::default()));
    assert_eq!(found.len(), 1, "{found:?}");
    assert!(found[0].starts_with("schema.properties[a].x-kubernetes-validations[0].rule: "), "{found:?}");
    assert!(
        check
            .clone()
            .without_expressions()
            .check(&schema, &FieldPath::new("schema"), &Budget::default())
            .is_empty()
    );
}

#[test]
fn costs_are_limited_for_each_rule_and_in_total() {
    let rule = json!([{"rule": "self.contains('x')"}]);
    let schema = json!({"type": "object", "properties": {"l": {"type": "array",
        "items": {"type": "string", "x-kubernetes-validations": rule}}}});
    let found = definition(&schema);
    assert_eq!(found.len(), 3, "{found:?}");
    assert!(found[0].contains("estimated rule cost exceeds budget by factor of more than 100x"), "{found:?}");
    assert!(found[2].starts_with("schema: Forbidden: x-kubernetes-validations estimated rule cost total"));
    // Limits for single rules do not apply to what is stored.
    assert_eq!(check_definition(&schema, &FieldPath::new("schema"), Some(&schema)).0.len(), 2);
}

#[test]
fn updates_of_long_lists_take_linear_time() {
    let item = json!({"type": "object", "required": ["k"], "properties": {"k": {"type": "integer"}},
        "x-kubernetes-validations": [{"rule": "self.k == oldSelf.k"}, {"rule": "self.k < 0"}]});
    for list_type in ["map", "atomic"] {
        let schema = json!({"type": "array", "items": item, "x-kubernetes-list-type": list_type,
            "x-kubernetes-list-map-keys": ["k"]});
        let old = Value::from((0..20_000).map(|k| json!({"k": k})).collect::<Vec<_>>());
        let new = Value::from((0..20_000).rev().map(|k| json!({"k": k})).collect::<Vec<_>>());
        let (found, ratcheted) = validate(&schema, &new, Some(&old));
        let expected = if list_type == "map" { (0, 20_000) } else { (20_000, 0) };
        assert_eq!((found.len(), ratcheted.len()), expected);
    }
}

#[test]
fn definitions_with_many_wrong_rules_take_linear_time() {
    let properties: serde_json::Map<_, _> =
        (0..5_000).map(|number| (format!("p{number}"), json!({"type": "string"}))).collect();
    let rules: Vec<_> = (0..5_000).map(|_| json!({"rule": "self.x"})).collect();
    let schema = json!({"type": "object", "properties": properties, "x-kubernetes-validations": rules});
    assert_eq!(definition(&schema).len(), 5_000);
}

#[test]
fn regular_expressions_in_rules_are_limited_together() {
    let rule = |number: usize| json!({"rule": format!("self.matches('x{number}[a-z]{{900}}')")});
    let rules: Vec<_> = (0..2_000).map(rule).collect();
    let schema = json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": rules});
    let begin = std::time::Instant::now();
    let found = definition(&schema);
    assert!(begin.elapsed() < std::time::Duration::from_secs(20), "it took {:?}", begin.elapsed());
    let expected = "Forbidden: the regular expressions in rules are too large together";
    assert!(found.iter().filter(|error| error.contains(expected)).count() > 1_500, "{}", found.len());
}

#[test]
fn patterns_that_a_user_sends_cost_what_they_are_compiled_to() {
    let schema = json!({"type": "array", "items": {"type": "string", "x-kubernetes-validations": [
        {"rule": "!'x'.matches(self)"},
    ]}});
    for hostile in [r"\pL{900}", r"(?i)[\x{0}-\x{10ffff}]"] {
        let patterns: Vec<_> = (0..10_000).map(|number| format!("{hostile}{number}")).collect();
        let begin = std::time::Instant::now();
        let request = Budget::default();
        // The whole budget takes this machine long without optimization.
        request.take_steps(46_000_000).unwrap();
        let (found, _) = validate_within(&request, &schema, &json!(patterns), None);
        assert!(begin.elapsed() < std::time::Duration::from_mins(1), "it took {:?}", begin.elapsed());
        assert!(found.iter().any(|error| error.contains("cost")), "{hostile}: {found:?}");
    }
    let usual: Vec<_> = (0..1_000).map(|number| format!("^[a-z0-9]([-a-z0-9]*[a-z0-9])?{number}$")).collect();
    assert_eq!(errors(&schema, &json!(usual), None), [""; 0]);
}
