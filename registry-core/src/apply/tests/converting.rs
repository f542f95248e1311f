//! Applies to objects that have fields of a manager in another version, which is converted outside of this process.

use std::sync::Arc;

use async_trait::async_trait;
use parking_lot::Mutex;
use serde_json::json;

use super::super::{Conversions, FieldManager, Reset};
use super::{FIRST, SECOND};
use crate::api::{GroupVersionKind, Object};
use crate::registry::testing::widgets;
use crate::resource::conversion::{Conversion, ConversionError, Converter, RemoteConverter};
use crate::resource::testing::prepared_later;
use crate::resource::{NoStrategy, ResourceDescription, ResourceProperties, ResourceType, Versions};
use crate::schema::Schema;

const V1: ResourceDescription = widgets(|| Arc::new(NoStrategy));
const V2_KIND: GroupVersionKind = GroupVersionKind { version: "v2", ..V1.properties.kind };

/// In `v2`, the replicas are called `size`.
#[derive(Default)]
struct Renaming {
    /// The conversions, as version and converted spec.
    made: Mutex<Vec<String>>,
}

#[async_trait]
impl RemoteConverter for Renaming {
    async fn convert(&self, objects: Vec<Object>, version: &str) -> Result<Vec<Object>, ConversionError> {
        tokio::task::yield_now().await;
        let renamed = |mut object: Object| {
            let (from, to) =
                if version.ends_with("v2") { ("replicas", "size") } else { ("size", "replicas") };
            if let Some(number) = object.remove(&["spec", from]) {
                object.set(&["spec", to], number);
            }
            self.made.lock().push(format!("{version} {}", object.get(&["spec"]).unwrap()));
            object
        };
        Ok(objects.into_iter().map(renamed).collect())
    }
}

fn versions(converter: Arc<Renaming>) -> Versions {
    let hub = V1.instantiate();
    let spoke = spoke(&hub, Converter::Remote(converter));
    Versions::new(hub, [Arc::new(spoke)])
}

fn spoke(hub: &Arc<ResourceType>, converter: Converter) -> ResourceType {
    let schema = || {
        let spec = json!({"type": "object", "properties": {"size": {"type": "integer"}}});
        Schema::from_json_schema(&json!({"type": "object", "properties": {"spec": spec}}), V2_KIND)
    };
    let properties = ResourceProperties { kind: V2_KIND, ..V1.properties };
    let spoke = ResourceDescription { properties, schema, ..V1 }.instantiate();
    let mut spoke = Arc::into_inner(spoke).unwrap();
    spoke.hub = Some(Arc::new(Conversion { hub: hub.clone(), converter, hub_fields: Box::default() }));
    spoke
}

fn manager<'a>(versions: &'a Versions, version: &'a ResourceType, blank: &'a Object) -> FieldManager<'a> {
    FieldManager {
        kind: version.kind,
        api_version: if version.kind.version == "v1" { "example.com/v1" } else { "example.com/v2" },
        subresource: "",
        schema: version.schema(),
        reset: Reset::default(),
        blank,
        versions: Some(versions),
        conversions: Conversions::default(),
        budget: None,
    }
}

fn widget(version: &ResourceType, field: &str, number: i64) -> Object {
    let mut object = version.new_object();
    object.set(&["metadata", "name"], "a".into());
    object.set(&["spec", field], number.into());
    object
}

#[tokio::test]
async fn fields_are_merged_again_with_each_conversion_that_was_lacking() {
    let converter = Arc::new(Renaming::default());
    let versions = versions(converter.clone());
    let (v1, v2) = (versions.hub(), versions.find("example.com/v2").unwrap());
    let (blank_v1, blank_v2) = (v1.new_object(), v2.new_object());

    let applied = widget(v2, "size", 1);
    let made = manager(&versions, v2, &blank_v2).apply(None, &applied, "one", false, FIRST).unwrap();
    let owned_in_v2 = made.unwrap().get(&["metadata", "managedFields"]).unwrap().clone();
    let mut live = widget(v1, "replicas", 1);
    live.set(&["metadata", "uid"], "u".into());
    live.set(&["metadata", "managedFields"], owned_in_v2);

    let other = widget(v1, "replicas", 2);
    let in_v1 = || manager(&versions, v1, &blank_v1);
    in_v1().apply(Some(&live), &other, "two", false, SECOND).unwrap_err();
    assert!(converter.made.lock().is_empty(), "merging itself converts nothing");

    let apply = |manager: &FieldManager<'_>| manager.apply(Some(&live), &other, "two", false, SECOND);
    let conflict = in_v1().with_conversions(apply).await.unwrap_err();
    assert_eq!(conflict.message, "Apply failed with 1 conflict: conflict with \"one\": .spec.size");
    let conversions = [r#"example.com/v2 {"size":1}"#, r#"example.com/v2 {"size":2}"#];
    assert_eq!(*converter.made.lock(), conversions, "each is made once");

    let mut new = widget(v1, "replicas", 3);
    new.copy_field(&live, &["metadata", "managedFields"]);
    let sent = new.clone();
    in_v1().track_update(Some(&live), &mut new, "three", SECOND).unwrap_err();
    assert_eq!(new, sent);
    in_v1().with_conversions(|manager| manager.track_update(Some(&live), &mut new, "three", SECOND)).await;
    let entries = new.get(&["metadata", "managedFields"]).and_then(|entries| entries.as_array()).unwrap();
    let owners: Vec<_> = entries.iter().map(|entry| (&entry["manager"], &entry["fieldsV1"])).collect();
    assert_eq!(owners, [(&json!("three"), &json!({"f:spec": {"f:replicas": {}}}))]);
}

#[tokio::test]
async fn the_schema_of_another_version_is_waited_for_before_fields_are_merged() {
    let entry = json!([{
        "manager": "one", "operation": "Apply", "apiVersion": "example.com/v2", "time": FIRST,
        "fieldsType": "FieldsV1", "fieldsV1": {"f:spec": {"f:size": {}}},
    }]);
    for applies in [false, true] {
        let hub = V1.instantiate();
        let unchanged = || Box::new(Ok::<Object, ConversionError>);
        let mut spoke = spoke(&hub, Converter::Functions { to_hub: unchanged(), from_hub: unchanged() });
        let compiled = spoke.schema();
        let late = prepared_later(move || compiled.clone());
        spoke.schema = late.clone();
        let versions = Versions::new(hub, [Arc::new(spoke)]);
        let v1 = versions.hub();
        let blank = v1.new_object();
        let mut live = widget(v1, "replicas", 1);
        live.set(&["metadata", "uid"], "u".into());
        live.set(&["metadata", "managedFields"], entry.clone());
        let mut new = widget(v1, "replicas", 2);
        let manager = manager(&versions, v1, &blank);
        if applies {
            let apply = |manager: &FieldManager<'_>| manager.apply(Some(&live), &new, "two", true, SECOND);
            manager.with_conversions(apply).await.unwrap();
        } else {
            manager
                .with_conversions(|manager| manager.track_update(Some(&live), &mut new, "two", SECOND))
                .await;
        }
        assert!(late.is_prepared(), "applies: {applies}");
    }
}
