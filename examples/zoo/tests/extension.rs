//! The zoo behind a main server, both in this process: over TLS, through kubectl and kube-rs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::time::{Duration, Instant};

use apiserver::testing::{Kubectl, TestCluster, TestServer};
use futures::TryStreamExt as _;
use kube::api::{Api, DeleteParams, Patch, PatchParams, WatchEvent, WatchParams};
use serde_json::json;
use zoo::zoo::enclosure::Enclosure;

#[path = "extension/certificates.rs"]
mod certificates;

const NORTH: &str = "
apiVersion: zoo.example.dev/v1
kind: Enclosure
metadata: {name: north}
spec: {species: Penguin, animals: 2, keeper: ada}
";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kubectl_finds_no_difference() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.until("explain enclosure.spec", "", "The desired state").await;
    assert_eq!(
        kubectl.run_with_input("apply -f -", NORTH).await,
        "enclosure.zoo.example.dev/north created\n"
    );
    let mut watch = kubectl.watch("get enc --watch --no-headers");
    watch.line_with("north").await;
    kubectl.run("scale enclosure north --replicas=4").await;
    assert_eq!(kubectl.run("get enc north -o jsonpath={.spec.animals}").await, "4");
    let same = NORTH.replace("Penguin", "penguin");
    let applied = kubectl.run_with_input("apply --server-side --force-conflicts -f -", &same).await;
    assert_eq!(applied, "enclosure.zoo.example.dev/north serverside-applied\n");
    kubectl.run(r#"patch enc north --subresource=status --type=merge -p {"status":{"phase":"Open"}}"#).await;
    watch.line_with("Open").await;
    let invalid = kubectl.fail(r#"patch enc north --type=merge -p {"spec":{"species":"lion"}}"#).await;
    assert!(invalid.contains("field is immutable"), "{invalid}");
    assert!(kubectl.run("get enc north -o yaml").await.contains("penguin"));
    assert!(kubectl.run("api-resources --api-group=zoo.example.dev").await.contains("enclosures"));
    assert!(kubectl.run("delete enc north").await.contains("deleted"));
    // The extension server has no resources of the main server.
    let direct = cluster.extension().unwrap().kubectl();
    let missing = direct.fail("get --raw /api/v1/namespaces").await;
    assert!(missing.contains("NotFound") || missing.contains("could not find"), "{missing}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_main_server_decides_who_may_do_what() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    kubectl.run_with_input("apply -f -", NORTH).await;
    // Through the main server, which both servers refuse; and to the extension server itself, with a token of the main one.
    let refused = kubectl.fail("get enc north --as=jane").await;
    assert!(
        refused.contains(r#"User "jane" cannot get resource "enclosures" in API group "zoo.example.dev""#)
    );
    assert_eq!(kubectl.output("auth can-i get enclosures --as=jane", "").await.stdout, b"no\n");
    kubectl.run("create serviceaccount keeper").await;
    let token = kubectl.run("create token keeper").await;
    let extension = cluster.extension().unwrap();
    let url = extension.url();
    let direct = format!(
        "--kubeconfig=/dev/null --server={url} --insecure-skip-tls-verify=true --token={}",
        token.trim()
    );
    let direct_get = format!("{direct} -n default get enc north --output=name");
    let refused = kubectl.fail(&direct_get).await;
    let user = "system:serviceaccount:default:keeper";
    assert!(refused.contains(&format!("User {user:?} cannot get resource")), "{refused}");

    kubectl.run("create role keeper --verb=get,list,watch --resource=enclosures.zoo.example.dev").await;
    kubectl.run("create rolebinding keeper --role=keeper --serviceaccount=default:keeper --user=jane").await;
    kubectl.until("auth can-i get enclosures --as=jane", "", "yes").await;
    kubectl.until("get enc north --as=jane --output=name", "", "enclosure.zoo.example.dev/north\n").await;
    kubectl.until(&direct_get, "", "enclosure.zoo.example.dev/north\n").await;
    let refused = kubectl.fail("delete enc north --as=jane").await;
    assert!(refused.contains("cannot delete resource"), "{refused}");
    let unknown =
        kubectl.fail(&direct.replace(token.trim(), "zork").replace("--server", "get enc --server")).await;
    assert!(unknown.contains("Unauthorized") || unknown.contains("must be logged in"), "{unknown}");
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn namespaces_webhooks_and_policies_are_the_main_server_s() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let absent = kubectl.fail_with_input("apply -n africa -f -", NORTH).await;
    assert!(absent.contains(r#"namespaces "africa" not found"#), "{absent}");
    kubectl.run("create namespace africa").await;
    kubectl.run_with_input("apply -n africa -f -", NORTH).await;

    let policy = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {name: few}
spec:
  matchConstraints:
    resourceRules:
    - {apiGroups: [zoo.example.dev], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [enclosures]}
  validations:
  - {expression: "object.spec.animals < 10", message: too many animals}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {name: few}
spec: {policyName: few, validationActions: [Deny]}
"#;
    kubectl.run_with_input("apply -f -", policy).await;
    let many = NORTH.replace("animals: 2", "animals: 20");
    let many = many.replace("north", "many");
    kubectl.until("create -n africa --dry-run=server -f -", &many, "too many animals").await;

    let webhook = r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: nobody}
webhooks:
- name: nobody.example.dev
  clientConfig: {url: "https://127.0.0.1:1/"}
  rules:
  - {apiGroups: [zoo.example.dev], apiVersions: [v1], operations: [CREATE], resources: [enclosures]}
  sideEffects: None
  admissionReviewVersions: [v1]
"#;
    kubectl.run_with_input("apply -f -", webhook).await;
    let south = NORTH.replace("north", "south");
    kubectl.until("create -n africa --dry-run=server -f -", &south, "nobody.example.dev").await;
    kubectl.run("delete validatingwebhookconfiguration nobody").await;
    kubectl.until("create -n africa -f -", &south, "created").await;
    cluster.stop().await;
}

/// Allows the extension server to read the objects of this kind.
async fn let_it_read(kubectl: &Kubectl, plural: &str) {
    kubectl
        .run(&format!("create clusterrole reads-{plural} --verb=get,list,watch --resource={plural}"))
        .await;
    let binding = format!("create clusterrolebinding reads-{plural} --clusterrole=reads-{plural}");
    kubectl.run(&format!("{binding} --serviceaccount=default:extension")).await;
}

/// Returns a policy that limits the animals by a parameter, with its binding.
fn limited_by(kind: &str, most: &str) -> String {
    format!(
        r#"
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicy
metadata: {{name: limited}}
spec:
  paramKind: {kind}
  matchConstraints:
    resourceRules:
    - {{apiGroups: [zoo.example.dev], apiVersions: [v1], operations: [CREATE, UPDATE], resources: [enclosures]}}
  validations:
  - {{expression: "object.spec.animals <= {most}", messageExpression: "'at most ' + string({most})"}}
---
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingAdmissionPolicyBinding
metadata: {{name: limited}}
spec:
  policyName: limited
  validationActions: [Deny]
  paramRef: {{name: limit, namespace: default, parameterNotFoundAction: Deny}}
"#
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_have_parameters_of_built_in_kinds_of_the_main_server() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let policy = limited_by("{apiVersion: v1, kind: ConfigMap}", "int(params.data.most)");
    kubectl.run_with_input("apply -f -", &policy).await;
    let create = "create --dry-run=server -f -";
    // The permission to read them is the operator's decision.
    kubectl.until(create, NORTH, "configmaps is forbidden").await;
    let_it_read(&kubectl, "configmaps").await;
    kubectl.until(create, NORTH, "no params found for policy binding").await;
    kubectl.run("create configmap limit --from-literal=most=1").await;
    kubectl.until(create, NORTH, "at most 1").await;
    kubectl.run(r#"patch configmap limit --type=merge -p {"data":{"most":"2"}}"#).await;
    kubectl.until(create, NORTH, "created").await;
    kubectl.run("delete configmap limit").await;
    kubectl.until(create, NORTH, "no params found for policy binding").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn policies_have_parameters_of_custom_kinds_of_the_main_server() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let policy = limited_by("{apiVersion: rules.example.dev/v1, kind: Limit}", "params.spec.most");
    kubectl.run_with_input("apply -f -", &policy).await;
    let create = "create --dry-run=server -f -";
    kubectl.until(create, NORTH, "failed to find resource referenced by paramKind").await;
    let definition = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: limits.rules.example.dev}
spec:
  group: rules.example.dev
  names: {plural: limits, kind: Limit}
  scope: Namespaced
  versions:
  - name: v1
    served: true
    storage: true
    schema:
      openAPIV3Schema:
        type: object
        properties: {spec: {type: object, properties: {most: {type: integer}}}}
";
    kubectl.run_with_input("apply -f -", definition).await;
    let limit = "
apiVersion: rules.example.dev/v1
kind: Limit
metadata: {name: limit, namespace: default}
spec: {most: 1}
";
    kubectl.until("apply -f -", limit, "limit.rules.example.dev/limit").await;
    let_it_read(&kubectl, "limits.rules.example.dev").await;
    kubectl.until(create, NORTH, "at most 1").await;
    kubectl.run_with_input("apply -f -", &limit.replace("most: 1", "most: 5")).await;
    kubectl.until(create, NORTH, "created").await;
    // With the definition the parameters are gone: the policy fails, as its failurePolicy says.
    kubectl.run("delete crd limits.rules.example.dev").await;
    kubectl.until(create, NORTH, "denied request").await;
    cluster.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn flow_schemas_of_the_main_server_are_in_force() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubectl = cluster.kubectl();
    let schema = "
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: PriorityLevelConfiguration
metadata: {name: keepers}
spec:
  type: Limited
  limited: {nominalConcurrencyShares: 5, limitResponse: {type: Reject}}
---
apiVersion: flowcontrol.apiserver.k8s.io/v1
kind: FlowSchema
metadata: {name: keepers}
spec:
  matchingPrecedence: 100
  priorityLevelConfiguration: {name: keepers}
  rules:
  - resourceRules:
    - {apiGroups: [zoo.example.dev], clusterScope: true, namespaces: ['*'], resources: ['*'], verbs: ['*']}
    subjects: [{kind: User, user: {name: jane}}]
";
    kubectl.run_with_input("apply -f -", schema).await;
    let own = cluster.extension().unwrap().kubectl();
    own.until("get --raw /debug/api_priority_and_fairness/dump_priority_levels", "", "keepers").await;
    // A refused request has passed it too.
    kubectl.fail("get enc --as=jane").await;
    let counted =
        r#"apiserver_flowcontrol_dispatched_requests_total{flow_schema="keepers",priority_level="keepers"}"#;
    let metrics = own.run("get --raw /metrics").await;
    let is_counted = metrics.lines().any(|line| line.starts_with(counted));
    assert!(is_counted || metrics.contains(r#"flow_schema="keepers""#), "no request was counted");
    cluster.stop().await;
}

/// Points a group version of a server at another server, and claims that it is available.
async fn point(server: &TestServer, other: &TestServer) {
    let port = other.address().port();
    let objects = format!(
        "
apiVersion: v1
kind: Service
metadata: {{name: other, namespace: default}}
spec: {{type: ExternalName, externalName: localhost}}
---
apiVersion: apiregistration.k8s.io/v1
kind: APIService
metadata: {{name: v1.loop.example.com}}
spec:
  group: loop.example.com
  version: v1
  groupPriorityMinimum: 1000
  versionPriority: 15
  insecureSkipTLSVerify: true
  service: {{name: other, namespace: default, port: {port}}}
"
    );
    server.kubectl().run_with_input("apply -f -", &objects).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_passes_a_server_once() {
    let directory = tempfile::tempdir().unwrap();
    let proxy = issue("front-proxy-client", "");
    let file = |name: &str, content: &str| {
        let path = directory.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let flags = [
        format!("--requestheader-client-ca-file={}", file("ca.crt", &proxy.authority)),
        format!("--proxy-client-cert-file={}", file("proxy.crt", &proxy.certificate)),
        format!("--proxy-client-key-file={}", file("proxy.key", &proxy.key)),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
    ];
    let start = async || {
        let builder = TestServer::builder().memory().reach_local_workloads();
        let builder = flags.iter().fold(builder, apiserver::testing::TestServerBuilder::flag);
        builder.start().await.unwrap()
    };
    let (first, second) = (start().await, start().await);
    point(&first, &second).await;
    point(&second, &first).await;
    let kubectl = first.kubectl();
    // Each waits for the other, so that neither becomes available.
    kubectl.until("get apiservice v1.loop.example.com -o yaml", "", "bad status").await;
    // If both are said to be, a request ends where it began.
    let claim = r#"patch apiservice v1.loop.example.com --subresource=status --type=merge -p {"status":{"conditions":[{"type":"Available","status":"True"}]}}"#;
    let begun = Instant::now();
    loop {
        kubectl.run(claim).await;
        second.kubectl().run(claim).await;
        let answer = kubectl.output("get --raw /apis/loop.example.com/v1/things", "").await;
        let text = String::from_utf8_lossy(&answer.stderr).into_owned();
        if text.contains("the request was forwarded by this server before") {
            break;
        }
        assert!(begun.elapsed() < Duration::from_secs(20), "{text}");
    }
    first.stop().await;
    second.stop().await;
}

/// Trusts the authority of the extension server's certificate.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kube_rs_watches_through_the_main_server() {
    let cluster = TestCluster::start(&[&zoo::STORAGE_MAP]).await.unwrap();
    let kubeconfig = kube::config::Kubeconfig::read_from(cluster.main().kubeconfig_path()).unwrap();
    let defaults = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &defaults).await.unwrap();
    let enclosures: Api<Enclosure> = Api::default_namespaced(kube::Client::try_from(config).unwrap());
    let south = json!({
        "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
        "metadata": {"name": "south"}, "spec": {"species": "lion", "animals": 1},
    });
    let applied =
        enclosures.patch("south", &PatchParams::apply("test"), &Patch::Apply(&south)).await.unwrap();
    assert_eq!(applied.spec.species, "lion");
    let from = applied.metadata.resource_version.unwrap();
    let events = enclosures.watch(&WatchParams::default(), &from).await.unwrap();
    let mut events = std::pin::pin!(events);
    enclosures.delete("south", &DeleteParams::default()).await.unwrap();
    let event = events.try_next().await.unwrap();
    assert!(matches!(event, Some(WatchEvent::Deleted(_))), "{event:?}");
    cluster.stop().await;
}
