use std::sync::atomic::{AtomicUsize, Ordering};

use registry_core::RequestContext;
use registry_core::api::{DeleteOptions, UpdateOptions};
use registry_core::resource::Resource as _;
use registry_core::rest::{AdmitAll, GracefulDeleter as _, UpdatedObject, Updater as _};
use serde_json::json;

use super::*;
use crate::core::configmaps::ConfigMaps;
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
async fn each_revision_is_decoded_once_and_none_is_stale() {
    let installed = installed(&["configmaps"]);
    let decoded = Decoded::new(Lookup::of::<ConfigMaps>(&installed).unwrap(), |object| {
        MADE.fetch_add(1, Ordering::SeqCst);
        object.get_str(&["data", "key"]).unwrap_or_default().to_owned()
    });
    let seen = async || {
        let all = decoded.all_in("default").await.unwrap();
        let texts: Vec<&str> = all.iter().map(|text| text.as_str()).collect();
        (texts.join(" "), MADE.load(Ordering::SeqCst))
    };
    assert_eq!(seen().await, (String::new(), 0));
    for name in ["a", "b"] {
        create::<ConfigMaps>(&installed, json!({"metadata": {"name": name}, "data": {"key": name}})).await;
    }
    assert_eq!(seen().await, ("a b".to_owned(), 2));
    assert_eq!(seen().await, ("a b".to_owned(), 2), "nothing is decoded twice");
    let store = installed.store(ConfigMaps::TYPE).unwrap();
    let context = RequestContext::system("default");
    store.update(&context, "a", &mut SetData("c"), &AdmitAll, &UpdateOptions::default()).await.unwrap();
    assert_eq!(seen().await, ("c b".to_owned(), 3), "a change is seen at once");
    store.delete(&context, "a", &AdmitAll, &DeleteOptions::default()).await.unwrap();
    create::<ConfigMaps>(&installed, json!({"metadata": {"name": "a"}, "data": {"key": "d"}})).await;
    assert_eq!(seen().await, ("d b".to_owned(), 4), "an object that came anew is another one");
    assert_eq!(decoded.all_in("elsewhere").await.unwrap().len(), 0);
}
