//! Tests of the kinds that are made of definitions.

use std::sync::Arc;

use registry_core::api::Scope;
use registry_core::resource::SchemaSource;
use serde_json::json;

use super::{Fixture, definition, kinds, no_webhooks, schema, stored_definition, v1, widget};
use crate::api::apiextensions::custom_resources::compiled::Compiled;
use crate::api::apiextensions::custom_resources::{Compiling, CustomKinds};

#[test]
fn a_kind_has_the_names_of_its_definition() {
    let more = json!({
        "subresources": {"status": {}, "scale": {
            "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.selector",
        }},
        "selectableFields": [{"jsonPath": ".spec.color"}],
    });
    let made = kinds(&definition(&json!([v1(&json!({"type": "object"}), &more)])));
    let resource = &made.served[0].resource;
    assert_eq!(format!("{resource:?}"), "example.com/v1/widgets Widget");
    assert_eq!((resource.list_kind, resource.singular), ("WidgetList", "widget"));
    assert_eq!((resource.short_names, resource.categories), (&["wd"][..], &["all"][..]));
    assert_eq!(resource.scope, Scope::Namespaced);
    assert_eq!(resource.storage_prefix, "example.com/widgets");
    assert_eq!(resource.field_names, ["metadata.name", "metadata.namespace", "spec.color"]);
    assert_eq!(resource.selectable[0].path, ["spec", "color"]);
    let scale = resource.scale.unwrap();
    assert_eq!(
        (scale.replicas, scale.selector),
        (&["spec", "replicas"][..], Some(&["status", "selector"][..]))
    );
    assert!(resource.has_status && resource.has_generation && !resource.is_builtin);
    assert_eq!(resource.declared_at, "widgets.example.com");
    assert!(Arc::ptr_eq(made.versions.hub(), resource));
}

#[test]
fn names_must_be_accepted() {
    let mut value = definition(&json!([v1(&json!({}), &json!({}))]));
    value["status"]["acceptedNames"]["listKind"] = "".into();
    let (definition, stored) = stored_definition(&value);
    let error = CustomKinds::new(&definition, &stored, &no_webhooks(), &Compiling::default()).unwrap_err();
    assert_eq!(error.to_string(), "widgets.example.com: status.acceptedNames.listKind is empty");
}

#[test]
fn deprecated_versions_warn() {
    let version = |name: &str, more: serde_json::Value| {
        let mut version = v1(&json!({}), &more);
        version["name"] = name.into();
        version["storage"] = (name == "v2").into();
        version
    };
    let versions = json!([
        version("v1beta1", json!({"deprecated": true})),
        version("v1beta2", json!({"deprecated": true, "deprecationWarning": "use something else"})),
        version("v1", json!({})),
        version("v2", json!({})),
        version("v3", json!({"served": false})),
        version("v9", json!({"deprecated": true})),
    ]);
    let made = kinds(&definition(&versions));
    let warnings: Vec<_> = made.served.iter().map(|kind| kind.resource.deprecation).collect();
    let expected = [
        Some("example.com/v1beta1 Widget is deprecated; use example.com/v2 Widget"),
        Some("use something else"),
        None,
        None,
        Some("example.com/v9 Widget is deprecated"),
    ];
    assert_eq!(warnings, expected);
}

#[test]
fn schemas_are_compiled_by_their_first_use_and_once() {
    let (definition, stored) =
        stored_definition(&definition(&json!([v1(&schema(&json!({}), &json!({})), &json!({}))])));
    let kind = CustomKinds::new(&definition, &stored, &no_webhooks(), &Compiling::default()).unwrap().served
        [0]
    .resource
    .kind;
    let compiled = Compiled::new(stored, kind, false);
    assert!(!compiled.is_made());
    let places: Vec<usize> = std::thread::scope(|scope| {
        let get = || std::ptr::from_ref(compiled.get()) as usize;
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(get)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(compiled.is_made());
    assert!(places.iter().all(|place| *place == places[0]));
    assert!(compiled.get().failure.is_none());
}

#[tokio::test]
async fn the_schemas_that_a_version_needs_are_compiled_on_other_threads() {
    let named = |name: &str, is_storage: bool| {
        let mut version = v1(&schema(&json!({}), &json!({})), &json!({}));
        version["name"] = name.into();
        version["storage"] = is_storage.into();
        version
    };
    let versions = [("v1", false), ("v2", false), ("v3", false), ("v4", true)];
    let mut value = definition(&versions.map(|(name, is_storage)| named(name, is_storage)).into());
    value["status"]["storedVersions"] = json!(["v2", "v4", "v0"]);
    let (definition, stored) = stored_definition(&value);
    let kinds = CustomKinds::new(&definition, &stored, &no_webhooks(), &Compiling::default()).unwrap();
    let is_prepared = || {
        let schemas = kinds.served.iter().map(|kind| &kind.resource.schema);
        schemas.map(SchemaSource::is_prepared).collect::<Vec<_>>()
    };
    assert_eq!(is_prepared(), [false, false, false, false]);

    let needing = &kinds.served[0].resource.schema;
    let mut first = Box::pin(needing.prepare());
    let mut second = Box::pin(needing.prepare());
    // This runtime has one thread, which would have compiled it while it polls.
    assert!(futures::poll!(&mut first).is_pending() && futures::poll!(&mut second).is_pending());
    // A request that is given up does not hold up others.
    drop(first);
    second.await;
    assert_eq!(is_prepared(), [true, true, false, true], "its own, and what objects may be stored in");
    assert!(futures::poll!(Box::pin(needing.prepare())).is_ready());
}

#[test]
fn a_schema_that_is_not_structural_is_not_published() {
    let properties = |field: serde_json::Value| json!({"type": "object", "properties": {"a": field}});
    for (schema, preserves, is_published) in [
        (properties(json!({"type": "string"})), false, true),
        (properties(json!({"type": "string"})), true, true),
        // As of definitions of `v1beta1`.
        (properties(json!({})), true, false),
        (json!({"properties": {}}), true, false),
        (json!({}), true, false),
    ] {
        let (definition, stored) = stored_definition(&definition(&json!([v1(&schema, &json!({}))])));
        let kind =
            CustomKinds::new(&definition, &stored, &no_webhooks(), &Compiling::default()).unwrap().served[0]
                .resource
                .kind;
        let published = Compiled::new(stored, kind, preserves).published();
        assert_eq!(published, is_published.then(|| schema.clone()), "{schema}");
    }
}

#[tokio::test]
async fn the_paths_are_those_of_the_subresources() {
    let plain = Fixture::new(&definition(&json!([v1(&json!({}), &json!({}))])));
    assert_eq!(plain.paths[0].iter().map(|path| path.subresource).collect::<Vec<_>>(), [None]);
    let all = json!({"subresources": {"status": {}, "scale": {
        "specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas",
    }}});
    let full = Fixture::new(&definition(&json!([v1(&json!({}), &all)])));
    let subresources: Vec<_> = full.paths[0].iter().map(|path| path.subresource).collect();
    assert_eq!(subresources, [None, Some("status"), Some("scale")]);
    let store = full.paths[0][0].store.as_ref().unwrap();
    assert!(full.paths[0].iter().all(|path| Arc::ptr_eq(path.store.as_ref().unwrap(), store)));
}

#[tokio::test]
async fn selectors_see_the_offered_fields() {
    let properties =
        json!({"color": {"type": "string"}, "size": {"type": "integer"}, "open": {"type": "boolean"}});
    let more = json!({"selectableFields": [
        {"jsonPath": ".spec.color"}, {"jsonPath": ".spec.size"}, {"jsonPath": ".spec.open"},
    ]});
    let widgets = Fixture::new(&definition(&json!([v1(&schema(&properties, &json!({})), &more)])));
    widgets
        .create("v1", &widget("a", &json!({"spec": {"color": "red", "size": 3, "open": true}})))
        .await
        .unwrap();
    widgets.create("v1", &widget("b", &json!({"spec": {"color": "blue"}}))).await.unwrap();
    widgets.create("v1", &widget("c", &json!({}))).await.unwrap();
    assert_eq!(widgets.select("v1", "spec.color=red").await.unwrap(), ["a"]);
    assert_eq!(widgets.select("v1", "spec.color!=red").await.unwrap(), ["b", "c"]);
    assert_eq!(widgets.select("v1", "spec.color=").await.unwrap(), ["c"]);
    assert_eq!(widgets.select("v1", "spec.size=3,spec.open=true").await.unwrap(), ["a"]);
    assert_eq!(widgets.select("v1", "metadata.name=b").await.unwrap(), ["b"]);
    let error = widgets.select("v1", "spec.zork=1").await.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "field label not supported: spec.zork"));
    let plain = Fixture::new(&definition(&json!([v1(&json!({}), &json!({}))])));
    let error = plain.select("v1", "spec.x=1").await.unwrap_err();
    assert_eq!((error.code, error.message.as_str()), (400, "field label not supported: spec.x"));
}
