//! kubectl's everyday commands.

use apiserver::testing::{Kubectl, TestServer};
use registry_core::storage::testing::etcd::Etcd;

const WEB: &str = "
apiVersion: v1
kind: ConfigMap
metadata: {name: settings, labels: {app: web}}
data: {colour: blue}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, labels: {app: web}}
spec:
  selector: {matchLabels: {app: web}}
  template:
    metadata: {labels: {app: web}}
    spec: {containers: [{name: web, image: nginx}]}
";

#[tokio::test]
async fn kubectl_over_the_embedded_store() {
    let server = super::embedded().start().await.unwrap();
    everyday_commands(&server.kubectl()).await;
    server.stop().await;
}

#[tokio::test]
async fn kubectl_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    let server = super::over_etcd(&etcd).start().await.unwrap();
    everyday_commands(&server.kubectl()).await;
    server.stop().await;
}

async fn everyday_commands(kubectl: &Kubectl) {
    discovery_and_explanations(kubectl).await;
    applying(kubectl).await;
    patching(kubectl).await;
    workloads(kubectl).await;
    watching(kubectl).await;
    complaints(kubectl).await;
}

/// kubectl sends the objects that it creates itself as protobuf. Without a controller there are no service
/// accounts, and the plug-in that requires one for every pod can be disabled.
#[tokio::test]
async fn kubectl_makes_objects_by_itself() {
    let builder = TestServer::builder().flag("--disable-admission-plugins=ServiceAccount");
    let server = builder.start().await.unwrap();
    let kubectl = server.kubectl();
    for (command, answer) in [
        ("create configmap c --from-literal=a=b", "configmap/c created"),
        ("create secret generic s --from-literal=a=b", "secret/s created"),
        ("create serviceaccount robot", "serviceaccount/robot created"),
        ("create deployment web --image=nginx --replicas=2 --port=80", "deployment.apps/web created"),
        ("expose deployment web", "service/web exposed"),
        ("set image deployment/web nginx=nginx:2", "deployment.apps/web image updated"),
        ("set env deployment/web A=1", "deployment.apps/web env updated"),
        ("rollout restart deployment/web", "deployment.apps/web restarted"),
        ("run one --image=nginx --labels=app=one", "pod/one created"),
        ("create job once --image=nginx", "job.batch/once created"),
        ("create quota small --hard=configmaps=9", "resourcequota/small created"),
        ("create role r --verb=get --resource=pods", "role.rbac.authorization.k8s.io/r created"),
        ("create namespace other", "namespace/other created"),
    ] {
        assert_eq!(kubectl.run(command).await.trim_end(), answer, "{command}");
    }
    let image = "get deployment web -o jsonpath={.spec.replicas},{.spec.template.spec.containers[0].image}";
    assert_eq!(kubectl.run(image).await, "2,nginx:2");
    assert_eq!(kubectl.run("get configmap c -o jsonpath={.data.a}").await, "b");
    let output = kubectl.run("describe deployment web").await;
    assert!(output.contains("nginx:2") && output.contains("A:  "), "{output}");
    assert!(kubectl.run("get pods -l app=one").await.contains("Pending"));
    server.stop().await;
}

async fn discovery_and_explanations(kubectl: &Kubectl) {
    let namespaces = kubectl.run("get ns").await;
    assert!(namespaces.starts_with("NAME") && namespaces.contains("kube-system"), "{namespaces}");
    let resources = kubectl.run("api-resources --no-headers").await;
    for (name, rest) in
        [("configmaps", "cm v1 true ConfigMap"), ("deployments", "deploy apps/v1 true Deployment")]
    {
        let row = resources.lines().find(|line| line.starts_with(name)).expect(name);
        assert_eq!(row.split_whitespace().skip(1).collect::<Vec<_>>().join(" "), rest);
    }
    let explained = kubectl.run("explain deployment.spec").await;
    assert!(explained.contains("GROUP:      apps") && explained.contains("<DeploymentSpec>"), "{explained}");
    let enumerated = kubectl.run("explain pod.spec.restartPolicy").await;
    let lines: Vec<&str> = enumerated.lines().map(str::trim).collect();
    assert!(lines.windows(3).any(|lines| lines == ["ENUM:", "Always", "Never"]), "{enumerated}");
    let all = kubectl.run("explain deployment.spec --recursive").await;
    assert!(all.contains("template") && all.contains("imagePullPolicy"), "{all}");
}

async fn applying(kubectl: &Kubectl) {
    let dry = kubectl.run_with_input("apply --dry-run=server -f -", WEB).await;
    assert!(dry.contains("configmap/settings created (server dry run)"), "{dry}");
    assert_eq!(kubectl.run("get cm -o name").await, "", "a dry run leaves nothing behind");

    let different = kubectl.output("diff -f -", WEB).await;
    assert_eq!(different.status.code(), Some(1), "diff tells that there is something to apply");
    let applied = kubectl.run_with_input("apply -f -", WEB).await;
    assert_eq!(applied, "configmap/settings created\ndeployment.apps/web created\n");
    let again = kubectl.run_with_input("apply -f -", WEB).await;
    assert_eq!(again, "configmap/settings unchanged\ndeployment.apps/web unchanged\n");
    assert_eq!(kubectl.output("diff -f -", WEB).await.status.code(), Some(0));
    let changed = kubectl.run_with_input("apply -f -", &WEB.replace("blue", "red")).await;
    assert!(changed.starts_with("configmap/settings configured"), "{changed}");
    let yaml = kubectl.run("get cm settings -o yaml").await;
    assert!(yaml.contains("colour: red") && yaml.contains("resourceVersion: "), "{yaml}");
}

async fn patching(kubectl: &Kubectl) {
    const SAME: &str = "configmap/settings patched\n";
    for (patch, data) in [
        (r#"--type=strategic -p {"data":{"size":"big"}}"#, r#"{"colour":"red","size":"big"}"#),
        (r#"--type=merge -p {"data":{"size":null}}"#, r#"{"colour":"red"}"#),
        (
            r#"--type=json -p [{"op":"add","path":"/data/shape","value":"round"}]"#,
            r#"{"colour":"red","shape":"round"}"#,
        ),
    ] {
        assert_eq!(kubectl.run(&format!("patch cm settings {patch}")).await, SAME);
        assert_eq!(kubectl.run("get cm settings -o jsonpath={.data}").await, data);
    }
    kubectl.run("label cm settings tier=front").await;
    kubectl.run("annotate cm settings note=short").await;
    assert_eq!(kubectl.run("get cm -l tier=front,app -o name").await, "configmap/settings\n");
    assert_eq!(kubectl.run("get cm settings -o jsonpath={.metadata.annotations.note}").await, "short");
}

async fn workloads(kubectl: &Kubectl) {
    kubectl.run("scale deployment web --replicas=3").await;
    let wide = kubectl.run("get deployments -o wide").await;
    assert!(wide.contains("CONTAINERS") && wide.contains("0/3") && wide.contains("nginx"), "{wide}");
    kubectl
        .run(r#"patch deployment web --subresource=status --type=merge -p {"status":{"replicas":2}}"#)
        .await;
    let status = kubectl.run("get deployment web --subresource=status -o jsonpath={.status.replicas}").await;
    assert_eq!(status, "2");
    let scale =
        kubectl.run("get deployment web --subresource=scale -o jsonpath={.kind},{.spec.replicas}").await;
    assert_eq!(scale, "Scale,3");
    let image = r#"{"spec":{"template":{"spec":{"containers":[{"name":"web","image":"nginx:2"}]}}}}"#;
    kubectl.run(&format!("patch deployment web -p {image}")).await;
    let images =
        "get deployment web -o jsonpath={.spec.template.spec.containers[*].image},{.metadata.generation}";
    assert_eq!(kubectl.run(images).await, "nginx:2,3");
}

async fn watching(kubectl: &Kubectl) {
    let mut watch = kubectl.watch("get cm --watch --output-watch-events --no-headers");
    let row = |line: String| line.split_whitespace().take(3).collect::<Vec<_>>().join(" ");
    assert_eq!(row(watch.line_with("settings").await), "ADDED settings 2");
    kubectl.run(r#"patch cm settings --type=merge -p {"data":{"shape":null}}"#).await;
    assert_eq!(row(watch.line_with("settings").await), "MODIFIED settings 1");
    assert_eq!(kubectl.run("delete cm settings").await, "configmap \"settings\" deleted\n");
    assert_eq!(row(watch.line_with("settings").await), "DELETED settings 1");
}

async fn complaints(kubectl: &Kubectl) {
    let missing = kubectl.fail("get cm settings").await;
    assert_eq!(missing, "Error from server (NotFound): configmaps \"settings\" not found\n");
    let unknown = kubectl.fail("get zorks").await;
    assert_eq!(unknown, "error: the server doesn't have a resource type \"zorks\"\n");
    let present = kubectl.fail_with_input("create -f -", WEB.split_once("---").unwrap().1).await;
    assert!(present.contains("(AlreadyExists)") && present.contains("\"web\" already exists"), "{present}");
    let unknown_field = WEB.replace("data:", "dada:");
    let strict = kubectl.fail_with_input("create -f -", &unknown_field).await;
    assert!(strict.contains("strict decoding error: unknown field \"dada\""), "{strict}");
    let invalid = kubectl.fail_with_input("apply -f -", &WEB.replace("name: settings", "name: Set")).await;
    assert!(invalid.contains("metadata.name: Invalid value: \"Set\""), "{invalid}");
}

/// Versions that are off by default are as good as any other once they are enabled.
#[tokio::test]
async fn kubectl_explains_and_applies_optional_kinds() {
    const CLAIM: &str = "
apiVersion: resource.k8s.io/v1beta1
kind: ResourceClaim
metadata: {name: gpu}
spec: {devices: {requests: [{name: one, deviceClassName: gpu, allocationMode: ExactCount, count: 1}]}}
";
    let gate = "--feature-gates=GenericWorkload=true";
    let builder = TestServer::builder().flag("--runtime-config=api/all=true").flag(gate);
    let server = builder.start().await.unwrap();
    let kubectl = server.kubectl();
    let explained = kubectl.run("explain workloads.spec").await;
    assert!(
        explained.contains("VERSION:    v1alpha2") && explained.contains("<WorkloadSpec>"),
        "{explained}"
    );
    let older = "explain resourceclaims.spec.devices.requests --api-version=resource.k8s.io/v1beta1";
    assert!(kubectl.run(older).await.contains("deviceClassName"));
    assert!(kubectl.run_with_input("apply -f -", CLAIM).await.contains("gpu created"));
    assert!(kubectl.run_with_input("apply -f -", CLAIM).await.contains("gpu unchanged"));
    let newer = "get resourceclaims.v1.resource.k8s.io gpu -o jsonpath={.spec.devices.requests[0].exactly.deviceClassName}";
    assert_eq!(kubectl.run(newer).await, "gpu");
    assert!(kubectl.run("get resourceclaims.v1beta1.resource.k8s.io").await.contains("pending"));
    server.stop().await;
}
