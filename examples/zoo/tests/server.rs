//! Tests of the parts of the zoo's server beside its resources.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use apiserver::ServerContext;
use apiserver::testing::{Kubectl, TestCluster, TestServer};
use k8s_openapi::api::core::v1::ConfigMap;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{ObjectMeta, OwnerReference};
use zoo::server::{ZooFlags, customize};
use zoo::zoo::enclosure::Enclosure;

const NORTH: &str = "
apiVersion: zoo.example.dev/v1
kind: Enclosure
metadata: {name: north}
spec: {species: penguin, animals: 2}
";

/// Checks the plug-in, the hook and the controller.
async fn check(kubectl: &Kubectl, server: &Kubectl) {
    assert!(server.run("get --raw /readyz?verbose").await.contains("[+]poststarthook/zoo/greet ok"));
    kubectl.run_with_input("apply -f -", NORTH).await;
    kubectl.until("get enc north -o jsonpath={.status}", "", r#"{"animals":2,"phase":"Open"}"#).await;
    kubectl.run("scale enc north --replicas=0").await;
    kubectl.until("get enc north -o jsonpath={.status.phase}", "", "Closed").await;
    kubectl.run("label namespace default zoo.example.dev/closed=true").await;
    let south = NORTH.replace("north", "south");
    let reason = r#"enclosures.zoo.example.dev "south" is forbidden: the zoo in namespace default is closed"#;
    kubectl.until("create --dry-run=server -f -", &south, reason).await;
    kubectl.run("label namespace default zoo.example.dev/closed-").await;
    kubectl.until("create --dry-run=server -f -", &south, "created").await;
}

const HOLDER: &str = "get lease zoo-keeper -o jsonpath={.spec.holderIdentity}{'/'}{.spec.leaseTransitions}";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn behind_a_main_server() {
    let customized = |server| customize(server, ZooFlags { keeper: true });
    let mut cluster = TestCluster::start_customized(&[&zoo::STORAGE_MAP], customized).await.unwrap();
    let kubectl = cluster.kubectl();
    check(&kubectl, &cluster.extension().unwrap().kubectl()).await;
    // A server that stops gives the Lease up, so that the next one leads at once.
    let before = kubectl.run(HOLDER).await;
    assert!(before.len() > 2 && before.ends_with("/0"), "{before}");
    cluster.stop_extension().await;
    assert_eq!(kubectl.run(HOLDER).await, "/0");
    cluster.start_extension().await.unwrap();
    kubectl.until(HOLDER, "", "/1").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn alone() {
    let builder = TestServer::builder().memory().storage_map(&zoo::STORAGE_MAP);
    let server =
        builder.customize(|server| customize(server, ZooFlags { keeper: true })).start().await.unwrap();
    let kubectl = server.kubectl();
    check(&kubectl, &kubectl).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn operators_may_disable_the_plug_in() {
    let builder = TestServer::builder().memory().storage_map(&zoo::STORAGE_MAP);
    let builder = builder.flag("--disable-admission-plugins=ClosedNamespaces");
    let server = builder.customize(|server| customize(server, ZooFlags::default())).start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run("label namespace default zoo.example.dev/closed=true").await;
    kubectl.run_with_input("create -f -", NORTH).await;
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn enclosures_are_handed_over() {
    let server = TestServer::builder().memory().storage_map(&zoo::STORAGE_MAP).start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    let path = "/apis/zoo.example.dev/v1/namespaces/default/enclosures/north/handover";
    let to = |keeper: &str| {
        format!(
            r#"{{"apiVersion": "zoo.example.dev/v1", "kind": "Enclosure", "metadata": {{"name": "north"}},
                "spec": {{"species": "lion", "animals": 9, "keeper": "{keeper}"}}}}"#
        )
    };
    let replace = format!("replace --raw {path} -f -");
    kubectl.run_with_input(&replace, &to("ada")).await;
    // The keeper changed, and nothing else.
    let spec = kubectl.run("get enc north -o jsonpath={.spec}").await;
    assert_eq!(spec, r#"{"animals":2,"keeper":"ada","species":"penguin"}"#);
    for (keeper, reason) in [
        ("", "spec.keeper: Required value: somebody has to take it over"),
        ("nobody", "spec.keeper: Invalid value: \"nobody\": somebody has to look after the animals"),
    ] {
        let output = kubectl.output(&replace, &to(keeper)).await;
        let text = String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned();
        assert!(!output.status.success() && text.contains(reason), "{text}");
    }
    let verbs = kubectl.run("get --raw /apis/zoo.example.dev/v1").await;
    assert!(verbs.contains(r#""name":"enclosures/handover""#), "{verbs}");
    server.stop().await;
}

// ANCHOR: own
/// Keeps a ConfigMap for each enclosure, with its species. The ConfigMap is owned by the enclosure, and removed after it.
async fn make_signs(context: ServerContext) {
    let enclosures = context.own().in_namespace::<Enclosure>("").cached();
    let mut changes = enclosures.changes();
    enclosures.listed().await;
    loop {
        for enclosure in enclosures.all("") {
            let metadata = &enclosure.metadata;
            let owner = OwnerReference {
                api_version: "zoo.example.dev/v1".to_owned(),
                kind: "Enclosure".to_owned(),
                name: metadata.name.clone().unwrap_or_default(),
                uid: metadata.uid.clone().unwrap_or_default(),
                controller: Some(true),
                ..OwnerReference::default()
            };
            let sign = ConfigMap {
                metadata: ObjectMeta {
                    name: Some(format!("{}-sign", owner.name)),
                    owner_references: Some(vec![owner]),
                    ..ObjectMeta::default()
                },
                data: Some([("species".to_owned(), enclosure.spec.species.clone())].into()),
                ..ConfigMap::default()
            };
            let signs = context.cluster().in_namespace(metadata.namespace.as_deref().unwrap_or_default());
            match signs.create(&sign).await {
                Err(failure) if !failure.is_already_exists() => tracing::warn!("no sign: {failure}"),
                _ => {}
            }
        }
        changes.next().await;
    }
}
// ANCHOR_END: own

// ANCHOR: test
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn signs_are_owned_by_their_enclosures() {
    let builder = TestServer::builder().memory().storage_map(&zoo::STORAGE_MAP);
    let server = builder.customize(|server| server.background(make_signs)).start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    kubectl.until("get configmap north-sign -o jsonpath={.data.species}", "", "penguin").await;
    kubectl.run("delete enclosure north").await;
    kubectl.until("get configmap north-sign", "", "not found").await;
    server.stop().await;
}
// ANCHOR_END: test
