//! The conditions of definitions, and their typed form.

use registry_core::api::{Object, Scope};
use serde_json::{Value, json};

use super::super::conditions::{self, NamesInUse, name_conditions};
use super::super::definition::{Conversion, Definition};
use registry_core::rest::webhook::WebhookTarget;

fn definition(plural: &str, kind: &str, short: &[&str]) -> Object {
    let object = json!({
        "metadata": {"name": format!("{plural}.example.com"), "uid": "u1", "generation": 3},
        "spec": {
            "group": "example.com",
            "scope": "Cluster",
            "names": {
                "plural": plural, "singular": kind.to_lowercase(), "kind": kind,
                "listKind": format!("{kind}List"), "shortNames": short,
            },
            "versions": [{"name": "v1", "served": true, "storage": true}],
            "conversion": {"strategy": "None"},
        },
        "status": {"acceptedNames": {"plural": "", "kind": ""}, "conditions": null, "storedVersions": ["v1"]},
    });
    Object::from_value(object).unwrap()
}

fn condition<'a>(object: &'a Object, kind: &str) -> &'a Value {
    let conditions = object.get(&["status", "conditions"]).unwrap().as_array().unwrap();
    conditions.iter().find(|condition| condition["type"] == kind).unwrap()
}

/// Decides on the names, and notes them.
fn settle(object: &mut Object, in_use: &mut NamesInUse) -> bool {
    let change = name_conditions(object, in_use);
    if let Some(change) = &change {
        change.apply(object);
        in_use.update(object);
    }
    change.is_some()
}

#[test]
fn the_first_definition_gets_its_names_and_the_second_keeps_what_is_free() {
    let mut in_use = NamesInUse::default();
    let mut first = definition("widgets", "Widget", &["w", "wi"]);
    assert!(settle(&mut first, &mut in_use));
    assert_eq!(condition(&first, "NamesAccepted")["reason"], "NoConflicts");
    assert_eq!(condition(&first, "NamesAccepted")["message"], "no conflicts found");
    assert_eq!(condition(&first, "Established")["reason"], "Installing");
    assert!(!settle(&mut first, &mut in_use));

    let mut second = definition("gadgets", "Gadget", &["w", "wi", "g"]);
    assert!(settle(&mut second, &mut in_use));
    let names = condition(&second, "NamesAccepted");
    assert_eq!(names["status"], "False");
    assert_eq!(names["reason"], "ShortNamesConflict");
    assert_eq!(names["message"], "[\"w\" is already in use, \"wi\" is already in use]");
    assert_eq!(condition(&second, "Established")["message"], "not all names are accepted");
    let accepted = second.get(&["status", "acceptedNames"]).unwrap();
    assert_eq!(accepted["plural"], "gadgets");
    assert_eq!(accepted.get("shortNames"), None);
    assert!(!settle(&mut second, &mut in_use));

    // The first one goes, and the second one gets everything.
    assert!(in_use.remove("widgets.example.com"));
    let others: Vec<_> = in_use.definitions_in("example.com").collect();
    assert_eq!(others, ["gadgets.example.com"]);
    assert!(settle(&mut second, &mut in_use));
    assert_eq!(condition(&second, "NamesAccepted")["status"], "True");
}

#[test]
fn kinds_and_resources_conflict_by_themselves_and_only_in_a_group() {
    let mut in_use = NamesInUse::default();
    settle(&mut definition("widgets", "Widget", &[]), &mut in_use);
    let mut same_kind = definition("gizmos", "Widget", &[]);
    same_kind.set(&["spec", "names", "singular"], "gizmo".into());
    settle(&mut same_kind, &mut in_use);
    // The last conflict is the one that is reported.
    assert_eq!(condition(&same_kind, "NamesAccepted")["reason"], "ListKindConflict");
    assert_eq!(condition(&same_kind, "NamesAccepted")["message"], "\"WidgetList\" is already in use");
    let mut elsewhere = definition("widgets", "Widget", &[]);
    elsewhere.set(&["spec", "group"], "other.example.com".into());
    elsewhere.set(&["metadata", "name"], "widgets.other.example.com".into());
    settle(&mut elsewhere, &mut in_use);
    assert_eq!(condition(&elsewhere, "NamesAccepted")["status"], "True");
}

#[test]
fn a_definition_gives_back_a_name_that_it_changes() {
    let mut in_use = NamesInUse::default();
    let mut first = definition("widgets", "Widget", &["w"]);
    settle(&mut first, &mut in_use);
    first.set(&["spec", "names", "shortNames"], json!(["x"]));
    let change = name_conditions(&first, &in_use).unwrap();
    change.apply(&mut first);
    assert!(in_use.update(&first));
    assert!(!in_use.update(&first));
    let mut second = definition("gadgets", "Gadget", &["w"]);
    settle(&mut second, &mut in_use);
    assert_eq!(condition(&second, "NamesAccepted")["status"], "True");
}

#[test]
fn a_resource_is_established_after_its_names() {
    let mut in_use = NamesInUse::default();
    let mut object = definition("widgets", "Widget", &[]);
    assert_eq!(conditions::establish(&object), None);
    settle(&mut object, &mut in_use);
    conditions::establish(&object).unwrap().apply(&mut object);
    assert_eq!(condition(&object, "Established")["reason"], "InitialNamesAccepted");
    assert_eq!(conditions::establish(&object), None);
}

#[test]
fn an_unreadable_bundle_keeps_a_resource_from_being_established() {
    let mut in_use = NamesInUse::default();
    let mut object = definition("widgets", "Widget", &[]);
    object.set(&["spec", "conversion", "webhook", "clientConfig", "caBundle"], "bm90IFBFTQ==".into());
    settle(&mut object, &mut in_use);
    conditions::establish(&object).unwrap().apply(&mut object);
    assert_eq!(condition(&object, "Established")["reason"], "InvalidCABundle");
    assert_eq!(conditions::establish(&object), None);
}

#[test]
fn violations_of_structure_are_found_until_they_are_gone() {
    let mut object = definition("widgets", "Widget", &[]);
    assert_eq!(conditions::non_structural_schema(&object), None);
    let schema = json!({"openAPIV3Schema": {"type": "object", "properties": {"a": {}}}});
    object.0["spec"]["versions"][0]["schema"] = schema;
    conditions::non_structural_schema(&object).unwrap().apply(&mut object);
    let found = condition(&object, "NonStructuralSchema");
    assert_eq!(found["reason"], "Violations");
    assert_eq!(
        found["message"],
        "spec.versions[0].schema.openAPIV3Schema.properties[a].type: Required value: must not be empty for \
         specified object fields"
    );
    assert_eq!(conditions::non_structural_schema(&object), None);
    object.0["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["a"]["type"] = json!("string");
    conditions::non_structural_schema(&object).unwrap().apply(&mut object);
    assert_eq!(object.get(&["status", "conditions"]), Some(&json!([])));
}

#[test]
fn the_time_of_a_condition_changes_with_its_status_only() {
    let mut object = definition("widgets", "Widget", &[]);
    let old = json!([{
        "type": "Terminating", "status": "True", "reason": "x", "message": "y",
        "lastTransitionTime": "2020-01-01T00:00:00Z",
    }]);
    object.set(&["status", "conditions"], old);
    conditions::StatusChange::from_condition(conditions::deletion_in_progress()).apply(&mut object);
    assert_eq!(condition(&object, "Terminating")["lastTransitionTime"], "2020-01-01T00:00:00Z");
    assert_eq!(condition(&object, "Terminating")["reason"], "InstanceDeletionInProgress");
    conditions::StatusChange::from_condition(conditions::deletion_completed()).apply(&mut object);
    assert_ne!(condition(&object, "Terminating")["lastTransitionTime"], "2020-01-01T00:00:00Z");
}

#[test]
fn a_definition_is_read_into_types() {
    let mut object = definition("widgets", "Widget", &["w"]);
    let version = json!({
        "name": "v2", "served": true, "storage": false, "deprecated": true,
        "schema": {"openAPIV3Schema": {"type": "object"}},
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
        }},
        "additionalPrinterColumns": [{"name": "A", "type": "date", "jsonPath": ".spec.a", "priority": 1}],
        "selectableFields": [{"jsonPath": ".spec.color"}],
    });
    object.0["spec"]["versions"].as_array_mut().unwrap().push(version);
    object.0["spec"]["conversion"] = json!({"strategy": "Webhook", "webhook": {
        "conversionReviewVersions": ["v1"],
        "clientConfig": {"service": {"namespace": "n", "name": "s", "port": 8443}, "caBundle": "YQ=="},
    }});
    let read = Definition::parse(&object).unwrap();
    assert_eq!((read.group.as_str(), read.scope, read.generation), ("example.com", Scope::Cluster, 3));
    assert_eq!(read.names.short_names, ["w"]);
    let [first, second] = &read.versions[..] else { panic!("two versions") };
    assert!(first.is_storage && !second.is_storage);
    assert!(second.has_status);
    assert_eq!(second.scale.as_ref().unwrap().spec_replicas_path, ".spec.replicas");
    assert_eq!(second.columns[0].priority, 1);
    assert_eq!(second.selectable_fields, [".spec.color"]);
    assert!(second.is_deprecated && second.deprecation_warning.is_none());
    let Conversion::Webhook(webhook) = &read.conversion else { panic!("it has a webhook") };
    assert_eq!(webhook.client.ca_bundle, b"a");
    let target =
        WebhookTarget::Service { namespace: "n".into(), name: "s".into(), path: String::new(), port: 8443 };
    assert_eq!(webhook.client.target, target);
}

#[test]
fn objects_that_are_no_definitions_are_refused_with_a_reason() {
    let cases = [
        (json!({}), "one version must be the storage version"),
        (json!({"spec": 7}), "one version must be the storage version"),
        (json!({"spec": {"versions": [{"storage": true}]}}), "unknown scope \"\""),
        (
            json!({"spec": {"versions": [{"storage": true}], "scope": "Cluster"}}),
            "the group, the plural or the kind is missing",
        ),
    ];
    for (object, reason) in cases {
        let error = Definition::parse(&Object::from_value(object).unwrap()).unwrap_err();
        assert!(error.to_string().contains(reason), "{error}");
    }
    let mut object = definition("widgets", "Widget", &[]);
    object.0["spec"]["conversion"] = json!({"strategy": "Webhook"});
    let error = Definition::parse(&object).unwrap_err();
    assert_eq!(
        error.to_string(),
        "widgets.example.com: the conversion's webhook must have a URL or a service"
    );
}
