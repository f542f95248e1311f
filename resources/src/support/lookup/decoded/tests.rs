use std::sync::atomic::{AtomicUsize, Ordering};

use registry_core::RequestContext;
use registry_core::api::{DeleteOptions, UpdateOptions};
use registry_core::resource::Resource as _;
use registry_core::rest::{AdmitAll, GracefulDeleter as _, UpdatedObject, Updater as _};
use serde_json::json;

use super::*;
use crate::api::core::configmaps::ConfigMaps;
use crate::testing::{create, installed};

/// Number of decodings in the test below.
static MADE: AtomicUsize = AtomicUsize::new(0);

struct SetData(&'static str);

#[async_trait::async_trait]
impl UpdatedObject for SetData {
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut object = current.unwrap().clone();
        object.set(&["data", "key"], self.0.into());
        Ok(object)
    }
}

#[tokio::test]
async fn each_state_is_decoded_once_and_none_is_stale() {
    let installed = installed(&["configmaps"]);
    let decoded = Decoded::new(Lookup::for_resource::<ConfigMaps>(&installed).unwrap(), |object| {
        MADE.fetch_add(1, Ordering::SeqCst);
        object.get_str(&["data", "key"]).unwrap_or_default().to_owned()
    });
    let informer = decoded.informer().unwrap();
    assert!(decoded.informer().is_none(), "there is one");
    let synced = informer.synced();
    let running = tokio::spawn(informer.run());
    assert!(synced.wait().await);
    let store = installed.store(ConfigMaps::TYPE).unwrap();
    let caught_up = async || {
        let newest = store.storage().current_revision().await.unwrap();
        decoded.compiled.wait_for(newest).await;
    };
    let seen = async || {
        let all = decoded.all_in("default").await.unwrap();
        let texts: Vec<&str> = all.iter().map(|text| text.as_str()).collect();
        (texts.join(" "), MADE.load(Ordering::SeqCst))
    };
    assert_eq!(seen().await, (String::new(), 0));
    for name in ["a", "b"] {
        create::<ConfigMaps>(&installed, json!({"metadata": {"name": name}, "data": {"key": name}})).await;
    }
    caught_up().await;
    assert_eq!(seen().await, ("a b".to_owned(), 2));
    assert_eq!(seen().await, ("a b".to_owned(), 2), "nothing is decoded twice");
    let context = RequestContext::system("default");
    store.update(&context, "a", &mut SetData("c"), &AdmitAll, &UpdateOptions::default()).await.unwrap();
    caught_up().await;
    assert_eq!(seen().await, ("c b".to_owned(), 3));
    store.delete(&context, "a", &AdmitAll, &DeleteOptions::default()).await.unwrap();
    create::<ConfigMaps>(&installed, json!({"metadata": {"name": "a"}, "data": {"key": "d"}})).await;
    caught_up().await;
    assert_eq!(seen().await, ("d b".to_owned(), 4), "an object that came anew is another one");
    let got = async |name| decoded.get("default", name).await.unwrap().map(|text| String::clone(&text));
    assert_eq!((got("a").await.as_deref(), got("z").await), (Some("d"), None));
    assert_eq!(seen().await.1, 4, "it was there already");
    // Without the informer, each look-up decodes for itself.
    running.abort();
    let _ = running.await;
    store.update(&context, "b", &mut SetData("e"), &AdmitAll, &UpdateOptions::default()).await.unwrap();
    assert_eq!(seen().await, ("d e".to_owned(), 5), "a change is seen at once, whatever the informer does");
    assert_eq!(seen().await, ("d e".to_owned(), 6));
    assert_eq!(decoded.all_in("elsewhere").await.unwrap().len(), 0);
}
