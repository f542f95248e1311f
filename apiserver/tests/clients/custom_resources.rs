//! kube-rs with a kind of its own: `#[derive(CustomResource)]`, and what a controller does with it.

use std::time::{Duration, Instant};

use futures::StreamExt as _;
use k8s_openapi::apiextensions_apiserver::pkg::apis::apiextensions::v1::CustomResourceDefinition;
use kube::api::{Api, DeleteParams, ListParams, Patch, PatchParams, PostParams};
use kube::runtime::wait::{Condition, await_condition, conditions};
use kube::runtime::{WatchStreamExt as _, finalizer, reflector, watcher};
use kube::{CustomResource, CustomResourceExt as _, ResourceExt as _};
use registry_core::storage::testing::etcd::Etcd;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

/// Maximum time to wait for a condition.
const TIMEOUT: Duration = Duration::from_secs(20);
const FINALIZER: &str = "documents.example.com/cleanup";

/// A document in a library.
#[derive(CustomResource, Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
#[kube(group = "example.com", version = "v1", kind = "Document", plural = "documents", shortname = "doc")]
#[kube(namespaced, status = "DocumentStatus", selectable = ".spec.author")]
#[kube(scale(spec_replicas_path = ".spec.copies", status_replicas_path = ".status.copies"))]
#[kube(printcolumn(name = "Author", type_ = "string", json_path = ".spec.author"))]
#[kube(validation = Rule::new("self.spec.title != ''").message("a document has a title"))]
#[serde(rename_all = "camelCase")]
struct DocumentSpec {
    title: String,
    author: Option<String>,
    #[serde(default = "one")]
    #[schemars(range(min = 0, max = 9))]
    copies: i32,
    #[serde(default)]
    chapters: Vec<Chapter>,
    format: Format,
}

/// The status of a document.
#[derive(Clone, Debug, Default, PartialEq, Deserialize, Serialize, JsonSchema)]
struct DocumentStatus {
    copies: i32,
}

#[derive(Clone, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
struct Chapter {
    name: String,
    pages: Option<u16>,
}

#[derive(Clone, Copy, Debug, PartialEq, Deserialize, Serialize, JsonSchema)]
enum Format {
    Paper,
    Screen,
}

fn one() -> i32 {
    1
}

fn document(name: &str, author: &str) -> Document {
    let spec = json!({ "title": name, "author": author, "format": "Paper", "chapters": [{ "name": "a" }] });
    Document::new(name, serde_json::from_value(spec).unwrap())
}

#[tokio::test]
async fn a_controller_over_the_embedded_store() {
    let server = super::embedded().start().await.unwrap();
    controller(super::client(server.kubeconfig_path()).await).await;
    server.stop().await;
}

#[tokio::test]
async fn a_controller_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    let server = super::over_etcd(&etcd).start().await.unwrap();
    controller(super::client(server.kubeconfig_path()).await).await;
    server.stop().await;
}

async fn controller(client: kube::Client) {
    let definitions: Api<CustomResourceDefinition> = Api::all(client.clone());
    let documents: Api<Document> = Api::default_namespaced(client);
    define(&definitions).await;
    let (reader, writer) = reflector::store();
    let watched = watcher(documents.clone(), watcher::Config::default());
    let mut events = reflector(writer, watched.default_backoff()).boxed();
    let reflecting = tokio::spawn(async move { while events.next().await.is_some() {} });
    writes(&documents).await;
    status_and_scale(&documents).await;
    applying(&documents).await;
    finalizing(&documents).await;
    converge(&documents, &reader).await;

    let uid = definitions.get(Document::crd_name()).await.unwrap().uid().unwrap();
    definitions.delete(Document::crd_name(), &DeleteParams::default()).await.unwrap();
    until(&definitions, Document::crd_name(), conditions::is_deleted(&uid)).await;
    // The kind is served until the server has seen that its definition is gone.
    let begun = Instant::now();
    let missing = loop {
        match documents.list(&ListParams::default()).await {
            Err(missing) => break missing,
            Ok(list) => assert!(list.items.is_empty() && begun.elapsed() < TIMEOUT, "it is still served"),
        }
    };
    assert!(matches!(&missing, kube::Error::Api(status) if status.code == 404), "{missing}");
    reflecting.abort();
}

/// Applies the definition as operators do at each start: the second time changes nothing.
async fn define(definitions: &Api<CustomResourceDefinition>) {
    let apply = PatchParams::apply("operator");
    let made = definitions.patch(Document::crd_name(), &apply, &Patch::Apply(Document::crd())).await.unwrap();
    until(definitions, Document::crd_name(), conditions::is_crd_established()).await;
    let again =
        definitions.patch(Document::crd_name(), &apply, &Patch::Apply(Document::crd())).await.unwrap();
    assert_eq!((again.uid(), again.metadata.generation), (made.uid(), Some(1)));
}

async fn writes(documents: &Api<Document>) {
    let post = PostParams::default();
    for (name, author) in [("a", "ada"), ("b", "ada"), ("c", "bob")] {
        let made = documents.create(&post, &document(name, author)).await.unwrap();
        assert_eq!((made.spec.copies, made.metadata.generation), (1, Some(1)));
        assert_eq!(made.spec, document(name, author).spec);
    }
    for (spec, cause) in [
        (json!({ "title": "", "format": "Paper" }), "a document has a title"),
        (json!({ "title": "x", "format": "Paper", "copies": 10 }), "spec.copies"),
        (json!({ "title": "x", "format": "Stone" }), "supported values: \"Paper\", \"Screen\""),
    ] {
        let patch = Patch::Merge(json!({ "spec": spec }));
        let refused = documents.patch("a", &PatchParams::default(), &patch).await.unwrap_err();
        assert!(matches!(&refused, kube::Error::Api(status) if status.code == 422), "{refused}");
        assert!(refused.to_string().contains(cause), "{refused}");
    }
    let of_ada = documents.list(&ListParams::default().fields("spec.author=ada")).await.unwrap();
    assert_eq!(of_ada.iter().map(Document::name_any).collect::<Vec<_>>(), ["a", "b"]);
    let first = documents.list(&ListParams::default().limit(2)).await.unwrap();
    let token = first.metadata.continue_.unwrap();
    let rest = documents.list(&ListParams::default().limit(2).continue_token(&token)).await.unwrap();
    assert_eq!(rest.items.iter().map(Document::name_any).collect::<Vec<_>>(), ["c"]);
    let metadata = documents.get_metadata("c").await.unwrap();
    assert_eq!(metadata.types.unwrap().kind, "PartialObjectMetadata");

    let mut stale = documents.get("b").await.unwrap();
    stale.spec.copies = 2;
    let renewed = documents.replace("b", &post, &stale).await.unwrap();
    assert_eq!((renewed.spec.copies, renewed.metadata.generation), (2, Some(2)));
    let conflict = documents.replace("b", &post, &stale).await.unwrap_err();
    assert!(matches!(conflict, kube::Error::Api(status) if status.code == 409));
}

async fn status_and_scale(documents: &Api<Document>) {
    let patch = PatchParams::default();
    let both = Patch::Merge(json!({ "status": { "copies": 4 }, "spec": { "copies": 9 } }));
    let observed = documents.patch_status("a", &patch, &both).await.unwrap();
    assert_eq!((observed.spec.copies, observed.status), (1, Some(DocumentStatus { copies: 4 })));
    assert_eq!(documents.patch("a", &patch, &both).await.unwrap().spec.copies, 9);
    let scale = documents.patch_scale("a", &patch, &Patch::Merge(json!({ "spec": { "replicas": 3 } }))).await;
    let scale = scale.unwrap();
    assert_eq!((scale.spec.unwrap().replicas, scale.status.unwrap().replicas), (Some(3), 4));
    assert_eq!(documents.get("a").await.unwrap().spec.copies, 3);
}

async fn applying(documents: &Api<Document>) {
    let configuration = |pages: u16| {
        let chapters = json!([{ "name": "one", "pages": pages }]);
        json!({
            "apiVersion": "example.com/v1", "kind": "Document", "metadata": { "name": "d" },
            "spec": { "title": "d", "format": "Screen", "chapters": chapters },
        })
    };
    let mine = PatchParams::apply("mine");
    let made = documents.patch("d", &mine, &Patch::Apply(configuration(1))).await.unwrap();
    let same = documents.patch("d", &mine, &Patch::Apply(configuration(1))).await.unwrap();
    assert_eq!(same.resource_version(), made.resource_version());
    let other = PatchParams::apply("other");
    let conflict = documents.patch("d", &other, &Patch::Apply(configuration(2))).await.unwrap_err();
    assert!(conflict.to_string().contains("conflict with \"mine\": .spec.chapters"), "{conflict}");
    let forced = documents.patch("d", &other.force(), &Patch::Apply(configuration(2))).await.unwrap();
    assert_eq!(forced.spec.chapters[0].pages, Some(2));
}

/// The finalizer of kube-rs adds itself, and removes itself when the object is deleted.
async fn finalizing(documents: &Api<Document>) {
    let reconcile = async || {
        let document = documents.get("c").await.unwrap();
        let done = finalizer::finalizer(documents, FINALIZER, document.into(), async |event| {
            let is_cleanup = matches!(event, finalizer::Event::Cleanup(_));
            let action = kube::runtime::controller::Action::await_change();
            if is_cleanup {
                // The object is still there while its controller cleans up.
                documents.get("c").await?;
            }
            Ok::<_, kube::Error>(action)
        });
        done.await.unwrap();
    };
    reconcile().await;
    assert_eq!(documents.get("c").await.unwrap().finalizers(), [FINALIZER]);
    let uid = documents.get("c").await.unwrap().uid().unwrap();
    documents.delete("c", &DeleteParams::default()).await.unwrap();
    assert!(documents.get("c").await.unwrap().metadata.deletion_timestamp.is_some());
    reconcile().await;
    until(documents, "c", conditions::is_deleted(&uid)).await;
}

async fn until<K>(api: &Api<K>, name: &str, condition: impl Condition<K>)
where
    K: Clone + std::fmt::Debug + Send + serde::de::DeserializeOwned + kube::Resource + 'static,
{
    let waited = tokio::time::timeout(TIMEOUT, await_condition(api.clone(), name, condition)).await;
    waited.expect("the condition comes true in time").unwrap();
}

async fn converge(documents: &Api<Document>, reader: &reflector::Store<Document>) {
    let version = |document: &Document| (document.name_any(), document.resource_version());
    let mut truth: Vec<_> =
        documents.list(&ListParams::default()).await.unwrap().iter().map(version).collect();
    truth.sort();
    let mut seen = Vec::new();
    for _ in 0..400 {
        seen = reader.state().iter().map(|document| version(document)).collect();
        seen.sort();
        if seen == truth {
            return;
        }
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    assert_eq!(seen, truth, "the reflector does not get there");
}
