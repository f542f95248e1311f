//! kubectl with a custom kind.

use std::time::Duration;

use apiserver::testing::Kubectl;
use registry_core::storage::testing::etcd::Etcd;

pub(crate) const DEFINITION: &str = "
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: lamps.example.com}
spec:
  group: example.com
  scope: Namespaced
  names: {plural: lamps, kind: Lamp, shortNames: [lp], categories: [all]}
  versions:
  - name: v1
    served: true
    storage: true
    subresources:
      status: {}
      scale: {specReplicasPath: .spec.bulbs, statusReplicasPath: .status.bulbs}
    additionalPrinterColumns:
    - {name: Bulbs, type: integer, jsonPath: .spec.bulbs}
    - {name: Colour, type: string, jsonPath: .spec.colour, priority: 1}
    selectableFields: [{jsonPath: .spec.colour}]
    schema:
      openAPIV3Schema:
        type: object
        description: A lamp gives light.
        properties:
          spec:
            type: object
            required: [bulbs]
            properties:
              bulbs: {type: integer, description: How many there are., maximum: 9}
              colour: {type: string, enum: [red, white], default: white}
          status:
            type: object
            properties:
              bulbs: {type: integer}
              conditions: {type: array, items: {type: object, x-kubernetes-preserve-unknown-fields: true}}
";

const LAMP: &str = "
apiVersion: example.com/v1
kind: Lamp
metadata: {name: desk}
spec: {bulbs: 2}
";

#[tokio::test]
async fn kubectl_with_a_custom_kind_over_the_embedded_store() {
    let server = super::embedded().start().await.unwrap();
    custom_kind(&server.kubectl()).await;
    server.stop().await;
}

#[tokio::test]
async fn kubectl_with_a_custom_kind_over_etcd() {
    let etcd = Etcd::start().await.unwrap();
    let server = super::over_etcd(&etcd).start().await.unwrap();
    custom_kind(&server.kubectl()).await;
    server.stop().await;
}

async fn custom_kind(kubectl: &Kubectl) {
    let defined = kubectl.run_with_input("apply --server-side -f -", DEFINITION).await;
    assert_eq!(
        defined,
        "customresourcedefinition.apiextensions.k8s.io/lamps.example.com serverside-applied\n"
    );
    kubectl.run("wait --for=create --timeout=20s crd/lamps.example.com").await;
    let conditions = "get crd lamps.example.com -o jsonpath={.status.conditions}";
    // kubectl cannot wait for a condition while there are no conditions at all.
    while kubectl.run(conditions).await.is_empty() {
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    kubectl.run("wait --for=condition=Established --timeout=20s crd/lamps.example.com").await;
    explanations(kubectl).await;
    validation(kubectl).await;
    applying(kubectl).await;
    watching(kubectl).await;
    subresources(kubectl).await;
    deleting(kubectl).await;
}

async fn explanations(kubectl: &Kubectl) {
    let resources = kubectl.run("api-resources --api-group=example.com --no-headers -o wide").await;
    let row: Vec<_> = resources.split_whitespace().collect();
    let verbs = "create,delete,deletecollection,get,list,patch,update,watch";
    let sorted = |verbs: &str| {
        let mut verbs: Vec<_> = verbs.split(',').map(str::to_owned).collect();
        verbs.sort();
        verbs
    };
    assert_eq!(row[..5], ["lamps", "lp", "example.com/v1", "true", "Lamp"]);
    assert_eq!(sorted(row[5]), sorted(verbs));
    let explained = kubectl.run("explain lamps").await;
    assert!(explained.contains("A lamp gives light.") && explained.contains("spec\t<Object>"), "{explained}");
    let field = kubectl.run("explain lamp.spec.bulbs").await;
    assert!(field.contains("FIELD: bulbs <integer>") && field.contains("How many there are."), "{field}");
    let all = kubectl.run("explain lp --recursive").await;
    assert!(all.contains("colour\t<string>") && all.contains("ownerReferences"), "{all}");
    let missing = kubectl.fail("explain lamps.spec.shade").await;
    assert!(missing.contains("field \"shade\" does not exist"), "{missing}");
}

async fn validation(kubectl: &Kubectl) {
    let shaded = LAMP.replace("bulbs: 2", "bulbs: 2, shade: big");
    for command in ["create -f -", "apply -f -"] {
        let unknown = kubectl.fail_with_input(command, &shaded).await;
        assert!(unknown.contains("strict decoding error: unknown field \"spec.shade\""), "{unknown}");
        let missing = kubectl.fail_with_input(command, &LAMP.replace("bulbs: 2", "colour: red")).await;
        assert!(missing.contains("spec.bulbs: Required value"), "{missing}");
    }
    let warned = kubectl.output("create --dry-run=server --validate=warn -f -", &shaded).await;
    let warning = String::from_utf8_lossy(&warned.stderr).into_owned();
    assert!(warned.status.success() && warning.contains("unknown field \"spec.shade\""), "{warning}");
    let green = kubectl.fail_with_input("create -f -", &LAMP.replace("2}", "2, colour: green}")).await;
    assert!(green.contains("Unsupported value: \"green\": supported values: \"red\", \"white\""), "{green}");
}

async fn applying(kubectl: &Kubectl) {
    assert_eq!(kubectl.run_with_input("apply -f -", LAMP).await, "lamp.example.com/desk created\n");
    assert_eq!(kubectl.run_with_input("apply -f -", LAMP).await, "lamp.example.com/desk unchanged\n");
    assert_eq!(kubectl.output("diff -f -", LAMP).await.status.code(), Some(0));
    let red = LAMP.replace("2}", "2, colour: red}");
    assert_eq!(kubectl.run_with_input("apply -f -", &red).await, "lamp.example.com/desk configured\n");
    assert_eq!(
        kubectl.run("get lp --field-selector=spec.colour=red -o name").await,
        "lamp.example.com/desk\n"
    );
    // The last applied configuration had a colour, so applying one without removes it; the default is set again.
    kubectl.run_with_input("apply -f -", LAMP).await;
    assert_eq!(kubectl.run("get lamp desk -o jsonpath={.spec}").await, r#"{"bulbs":2,"colour":"white"}"#);
    let strategic = kubectl.fail(r#"patch lamp desk --type=strategic -p {"spec":{"bulbs":3}}"#).await;
    assert!(strategic.contains("accepted media types include: application/json-patch+json, "), "{strategic}");
    let all = kubectl.run("get all").await;
    assert!(all.contains("lamp.example.com/desk"), "{all}");
}

async fn watching(kubectl: &Kubectl) {
    let words = |line: &str| line.split_whitespace().take(4).collect::<Vec<_>>().join(" ");
    let table = kubectl.run("get lamps").await;
    assert_eq!(words(table.lines().next().unwrap()), "NAME BULBS");
    let wide = kubectl.run("get lamps -o wide").await;
    assert_eq!(words(wide.lines().last().unwrap()), "desk 2 white");
    let mut watch = kubectl.watch("get lamps -w --output-watch-events --no-headers -o wide");
    assert_eq!(words(&watch.line_with("desk").await), "ADDED desk 2 white");
    kubectl.run(r#"patch lamp desk --type=merge -p {"spec":{"colour":"red"}}"#).await;
    assert_eq!(words(&watch.line_with("desk").await), "MODIFIED desk 2 red");
    kubectl.run("scale lamp desk --replicas=4").await;
    assert_eq!(words(&watch.line_with("desk").await), "MODIFIED desk 4 red");
}

async fn subresources(kubectl: &Kubectl) {
    let ready = r#"{"status":{"bulbs":4,"conditions":[{"type":"Ready","status":"True"}]}}"#;
    kubectl.run(&format!("patch lamp desk --subresource=status --type=merge -p {ready}")).await;
    kubectl.run("wait lamp/desk --for=condition=Ready --timeout=20s").await;
    kubectl.run("wait lamp/desk --for=jsonpath={.status.bulbs}=4 --timeout=20s").await;
    let scale = "get lamp desk --subresource=scale -o jsonpath={.kind},{.spec.replicas},{.status.replicas}";
    assert_eq!(kubectl.run(scale).await, "Scale,4,4");
    let described = kubectl.run("describe lamp desk").await;
    assert!(described.contains("Bulbs:   4") && described.contains("Kind:         Lamp"), "{described}");
}

async fn deleting(kubectl: &Kubectl) {
    kubectl.run(r#"patch lamp desk --type=merge -p {"metadata":{"finalizers":["example.com/held"]}}"#).await;
    kubectl.run("delete crd lamps.example.com --wait=false").await;
    kubectl.run("wait crd/lamps.example.com --for=condition=Terminating --timeout=20s").await;
    let refused = kubectl.fail_with_input("create -f -", &LAMP.replace("desk", "floor")).await;
    assert!(
        refused.contains("create not allowed while custom resource definition is terminating"),
        "{refused}"
    );
    let offered = kubectl.run("get --raw /apis/example.com/v1").await;
    let verbs = r#""kind":"Lamp","verbs":["delete","deletecollection","get","list","watch"]"#;
    assert!(offered.contains(verbs), "{offered}");
    kubectl.run(r#"patch lamp desk --type=merge -p {"metadata":{"finalizers":null}}"#).await;
    kubectl.run("wait crd/lamps.example.com --for=delete --timeout=20s").await;
    let gone = kubectl.fail("get lamps").await;
    // kubectl still has the resource in its cache of discovery.
    assert!(gone.contains("the server could not find the requested resource"), "{gone}");
}
