//! A server whose controllers run, and requests to it.

use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use serde_json::{Value, json};

pub(crate) const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";

/// Maximum time until a controller has done its work.
const PATIENCE: Duration = Duration::from_secs(30);

/// A server.
pub(crate) struct World(pub(crate) TestServer);

// === impl World ===

impl World {
    /// Starts a server that keeps its objects in memory.
    pub(crate) async fn start() -> Self {
        Self::with(|builder| builder).await
    }

    /// Starts a server with further flags.
    pub(crate) async fn with(configure: impl FnOnce(TestServerBuilder) -> TestServerBuilder) -> Self {
        Self(configure(TestServer::builder().memory()).start().await.unwrap())
    }

    pub(crate) async fn call(&self, method: &str, path: &str, body: &Value) -> Result<Value, String> {
        self.0.call(method, path, body).await.map_err(|error| error.to_string())
    }

    /// Creates an object of the core group, `apps` or any other, from its path.
    pub(crate) async fn create(&self, path: &str, object: &Value) -> Value {
        self.call("POST", path, object).await.unwrap()
    }

    /// Defines the kind `Foo` of `example.com/v1`, and returns the definition.
    pub(crate) async fn define_foos(&self, scope: &str) -> Value {
        let definition = json!({
            "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
            "metadata": {"name": "foos.example.com"},
            "spec": {
                "group": "example.com", "scope": scope, "names": {"plural": "foos", "kind": "Foo"},
                "versions": [{
                    "name": "v1", "served": true, "storage": true,
                    "schema": {"openAPIV3Schema": {"type": "object"}},
                }],
            },
        });
        self.create(DEFINITIONS, &definition).await;
        definition
    }

    pub(crate) async fn create_namespace(&self, name: &str) -> Value {
        let object = json!({"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}});
        self.create("/api/v1/namespaces", &object).await
    }

    /// Creates a config map with these owners in `default`.
    pub(crate) async fn own(&self, name: &str, owners: &[Value]) -> Value {
        self.own_in("default", name, owners, &[]).await
    }

    /// Creates a config map with these owners and finalizers in a namespace.
    pub(crate) async fn own_in(
        &self,
        namespace: &str,
        name: &str,
        owners: &[Value],
        finalizers: &[&str],
    ) -> Value {
        let metadata = json!({"name": name, "ownerReferences": owners, "finalizers": finalizers});
        let object = json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata});
        self.create(&format!("/api/v1/namespaces/{namespace}/configmaps"), &object).await
    }

    /// Returns an object; `None` if there is none.
    pub(crate) async fn get(&self, path: &str) -> Option<Value> {
        match self.call("GET", path, &Value::Null).await {
            Ok(object) => Some(object),
            Err(failure) if failure.starts_with("404") => None,
            Err(failure) => panic!("{path}: {failure}"),
        }
    }

    pub(crate) async fn delete(&self, path: &str) {
        self.call("DELETE", path, &Value::Null).await.unwrap();
    }

    pub(crate) async fn delete_by(&self, path: &str, propagation: &str) {
        let options = json!({"apiVersion": "v1", "kind": "DeleteOptions", "propagationPolicy": propagation});
        self.call("DELETE", path, &options).await.unwrap();
    }

    pub(crate) async fn merge(&self, path: &str, patch: &Value) -> Value {
        // A strategic patch of no list is a merge patch; these have lists that are set to nothing.
        let mut object = self.get(path).await.unwrap();
        merge_into(&mut object, patch);
        self.call("PUT", path, &object).await.unwrap()
    }

    /// Waits until an object is gone.
    pub(crate) async fn gone(&self, path: &str) {
        self.until(&format!("{path} is gone"), async || self.get(path).await.is_none()).await;
    }

    /// Waits until something is true.
    pub(crate) async fn until(&self, state: &str, is_true: impl AsyncFn() -> bool) {
        let began = Instant::now();
        while !is_true().await {
            assert!(began.elapsed() < PATIENCE, "in vain: {state}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until an object is as expected, and returns it.
    pub(crate) async fn becomes(&self, path: &str, is_expected: impl Fn(&Value) -> bool) -> Value {
        let began = Instant::now();
        loop {
            let object = self.get(path).await.unwrap_or_default();
            if is_expected(&object) {
                return object;
            }
            assert!(began.elapsed() < PATIENCE, "{path} stays {object:#}");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }

    /// Waits until what was caused before is done: until an object without owner is collected.
    pub(crate) async fn settle(&self) {
        let absent = json!({"apiVersion": "v1", "kind": "Secret", "name": "no", "uid": uuid::Uuid::new_v4().to_string()});
        let name = format!("settled-{}", uuid::Uuid::new_v4());
        self.own(&name, &[absent]).await;
        self.gone(&map(&name)).await;
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
}

/// Returns the path of a config map in `default`.
pub(crate) fn map(name: &str) -> String {
    format!("/api/v1/namespaces/default/configmaps/{name}")
}

/// Returns a reference to an owner.
pub(crate) fn owner(object: &Value) -> Value {
    json!({
        "apiVersion": object["apiVersion"], "kind": object["kind"],
        "name": object["metadata"]["name"], "uid": object["metadata"]["uid"],
    })
}

/// Returns a reference to an owner that waits for the dependent when it is deleted in the foreground.
pub(crate) fn blocked_owner(object: &Value) -> Value {
    let mut owner = owner(object);
    owner["blockOwnerDeletion"] = true.into();
    owner
}

/// Returns the condition of a namespace.
pub(crate) fn condition<'n>(namespace: &'n Value, kind: &str) -> Option<&'n Value> {
    let conditions = namespace["status"]["conditions"].as_array()?;
    conditions.iter().find(|condition| condition["type"] == kind)
}

fn merge_into(object: &mut Value, patch: &Value) {
    match (object, patch) {
        (Value::Object(object), Value::Object(patch)) => {
            for (key, value) in patch {
                merge_into(object.entry(key.clone()).or_insert(Value::Null), value);
            }
        }
        (object, patch) => *object = patch.clone(),
    }
}
