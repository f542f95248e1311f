use registry_core::api::GetOptions;
use registry_core::rest::{Answer, Getter as _};
use registry_core::{RequestContext, registry::Store};
use serde_json::{Value, json};

use super::*;
use crate::testing;

fn object(name: &str, label: Option<&str>, spec: &Value) -> Object {
    let labels = label.map_or_else(|| json!({}), |label| json!({ local::AUTOMANAGED: label }));
    Object::from_value(json!({ "metadata": { "name": name, "labels": labels }, "spec": spec })).unwrap()
}

fn definition(versions: &Value) -> Object {
    let spec = json!({ "group": "g.example.com", "versions": versions });
    Object::from_value(json!({ "metadata": { "name": "a.g.example.com" }, "spec": spec })).unwrap()
}

async fn get(store: &Store, name: &str) -> Option<Object> {
    match store.get(&RequestContext::system(""), name, &GetOptions::default()).await {
        Ok(Answer::Stored(entry)) => Some(store.read(&entry).unwrap()),
        Ok(_) => panic!("not stored"),
        Err(failure) => {
            assert!(failure.is_not_found(), "{failure}");
            None
        }
    }
}

/// Waits until an APIService is as it should be.
async fn until(store: &Store, name: &str, is_good: impl Fn(Option<&Object>) -> bool) {
    let waiting = async {
        while !is_good(get(store, name).await.as_ref()) {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    tokio::time::timeout(Duration::from_secs(20), waiting).await.expect(name);
}

fn spec(version: &str) -> Value {
    json!({ "group": "g.example.com", "version": version, "groupPriorityMinimum": 1000, "versionPriority": 100 })
}

#[tokio::test]
async fn api_services_follow_what_definitions_serve() {
    let installed = testing::installed(&["apiservices"]);
    let store = installed.store(APIServices::TYPE).unwrap();
    let writer = SystemWriter::for_resource::<APIServices>(&installed).unwrap();
    let service = json!({ "namespace": "n", "name": "s" });
    let mut remote = spec("v3");
    remote["service"] = service.clone();
    let managed = |version: &str| object(&format!("{version}.g.example.com"), Some("true"), &spec(version));
    for stored in [managed("v9"), object("v3.g.example.com", None, &remote)] {
        writer.create(stored).await.unwrap();
    }
    let defined = Arc::new(DefinedVersions::default());
    let (registration, informer) = CustomRegistration::new(&installed, defined.clone()).unwrap();
    let running = [tokio::spawn(informer.run()), tokio::spawn(registration.run())];

    let served = |version: &str| json!({ "name": version, "served": true });
    defined.set(&definition(&json!([served("v1"), served("v2"), served("v3")])));
    assert!(get(&store, "v9.g.example.com").await.is_some(), "definitions may be unknown yet");
    defined.publish(true);
    until(&store, "v9.g.example.com", |found| found.is_none()).await;
    for version in ["v1", "v2"] {
        until(&store, &format!("{version}.g.example.com"), |found| found.is_some()).await;
    }
    let made = get(&store, "v1.g.example.com").await.unwrap();
    assert_eq!(made.get(&["spec"]), Some(&spec("v1")));
    assert_eq!(local::automanaged(&made), Some(Automanaged::Always));
    assert_eq!(made.get_str(&["status", "conditions"]), None);
    assert_eq!(made.get(&["status", "conditions"]).unwrap()[0]["reason"], "Local");

    // Deleted and changed ones are restored.
    writer.remove("", "v1.g.example.com").await.unwrap();
    until(&store, "v1.g.example.com", |found| found.is_some_and(|found| found.uid() != made.uid())).await;
    writer
        .change("", "v2.g.example.com", |present| {
            let mut changed = present.clone();
            changed.set(&["spec", "service"], service.clone());
            changed
        })
        .await
        .unwrap();
    until(&store, "v2.g.example.com", |found| {
        found.and_then(|found| found.get(&["spec"])) == Some(&spec("v2"))
    })
    .await;
    // Without the label it is somebody else's.
    let other = get(&store, "v3.g.example.com").await.unwrap();
    assert_eq!(other.get_str(&["spec", "service", "name"]), Some("s"));

    defined.set(&definition(&json!([served("v1")])));
    defined.publish(false);
    until(&store, "v2.g.example.com", |found| found.is_none()).await;
    defined.remove("a.g.example.com");
    defined.publish(false);
    until(&store, "v1.g.example.com", |found| found.is_none()).await;
    assert!(get(&store, "v3.g.example.com").await.is_some());
    running.iter().for_each(tokio::task::JoinHandle::abort);
}
