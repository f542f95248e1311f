//! Directories with which a server does not start.

use serde_json::{Value, json};

use super::{
    CONFIG_MAPS, MUTATING_POLICIES, MUTATING_WEBHOOKS, Manifests, Plugin, VALIDATING_POLICIES,
    VALIDATING_WEBHOOKS, denying, labelling, list, object,
};
use crate::world::World;

/// A directory that cannot be enforced.
pub(super) struct Wrong {
    pub(super) plugin: Plugin,
    /// The documents of the file `b.yaml`.
    pub(super) documents: Vec<Value>,
    /// The reason.
    pub(super) reason: &'static str,
}

/// Returns a webhook with this way to it.
fn webhook(client: Value) -> Value {
    let rule = json!({"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"]});
    let mut webhook = json!({
        "name": "w.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"], "rules": [rule],
    });
    webhook["clientConfig"] = client;
    webhook
}

/// Returns a configuration of webhooks.
fn webhooks(kind: &str, name: &str, client: Value) -> Value {
    object(kind, name, json!({"webhooks": [webhook(client)]}))
}

/// Returns what a server refuses in each directory.
pub(super) fn wrong() -> Vec<Wrong> {
    let mut rows = vec![];
    for plugin in [VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS] {
        rows.extend(wrong_webhooks(plugin));
    }
    for plugin in [VALIDATING_POLICIES, MUTATING_POLICIES] {
        rows.extend(wrong_policies(plugin));
    }
    rows
}

fn wrong_webhooks(plugin: Plugin) -> Vec<Wrong> {
    let url = || json!({"url": "https://example.com/"});
    let named = |name: &str, client: Value| webhooks(plugin.kind, name, client);
    let other = if plugin.kind.starts_with('V') { MUTATING_WEBHOOKS } else { VALIDATING_WEBHOOKS };
    let mut unknown_field = named("a.static.k8s.io", url());
    unknown_field["webhooks"][0]["zork"] = json!(1);
    let mut other_type = named("a.static.k8s.io", url());
    other_type["webhooks"] = json!("none");
    let mut other_version = named("a.static.k8s.io", url());
    other_version["apiVersion"] = json!("admissionregistration.k8s.io/v1beta1");
    let mut no_effects = named("a.static.k8s.io", url());
    no_effects["webhooks"][0].as_object_mut().unwrap().remove("sideEffects");
    let mut selector = named("a.static.k8s.io", url());
    selector["webhooks"][0]["objectSelector"] = json!({"matchLabels": {"a b": "c"}});
    let service = json!({"service": {"namespace": "n", "name": "s"}});
    let rows = [
        (vec![json!("text")], "a document has to be an object"),
        (vec![json!({"kind": plugin.kind})], "Object 'apiVersion' is missing"),
        (vec![json!({"apiVersion": "admissionregistration.k8s.io/v1"})], "Object 'kind' is missing"),
        (
            vec![json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a.static.k8s.io"}})],
            "no kind \"Pod\" is registered for version \"v1\"",
        ),
        (vec![webhooks(other.kind, "a.static.k8s.io", url())], "unsupported resource type"),
        (vec![other_version], "unsupported resource type"),
        (
            vec![list(&[named("a.static.k8s.io", url()), webhooks(other.kind, "b.static.k8s.io", url())])],
            "unsupported",
        ),
        (
            vec![list(&[json!({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}})])],
            "failed to decode list item: no kind \"Pod\"",
        ),
        (vec![json!({"apiVersion": "v1", "kind": "List", "items": {}})], "items has to be a list"),
        (vec![json!({"apiVersion": "v1", "kind": "List", "zork": 1})], "unknown field \"zork\""),
        (vec![unknown_field], "strict decoding error: unknown field \"webhooks[0].zork\""),
        (vec![other_type], "cannot unmarshal string into Go struct field"),
        (vec![no_effects], "webhooks[0].sideEffects: Required value"),
        (vec![selector], "webhooks[0].objectSelector.matchLabels: Invalid value"),
        (vec![named("", url())], "metadata.name: Required value"),
        (vec![named("a", url())], "\"a\" must have a name ending with \".static.k8s.io\""),
        (
            vec![named("a.static.k8s.io", url()), named("a.static.k8s.io", url())],
            "duplicate name \"a.static.k8s.io\" (previously seen in ",
        ),
        (
            vec![named("a.static.k8s.io", service)],
            "webhook \"w.example.com\" in \"a.static.k8s.io\": clientConfig.service is not supported for static manifests; \
             use clientConfig.url instead",
        ),
        (vec![named("a.static.k8s.io", json!({}))], "clientConfig"),
        (
            vec![named("a.static.k8s.io", json!({"url": "http://example.com/"}))],
            "clientConfig.url: Invalid value",
        ),
    ];
    rows.into_iter().map(|(documents, reason)| Wrong { plugin, documents, reason }).collect()
}

fn wrong_policies(plugin: Plugin) -> Vec<Wrong> {
    let is_validating = plugin.kind.starts_with('V');
    let bound = |name: &str| {
        if is_validating { denying(name, CONFIG_MAPS, "true") } else { labelling(name, "a") }
    };
    let [policy, binding] = bound("a.static.k8s.io");
    let with = |object: &Value, pointer: &str, field: &str, value: Value| {
        let mut object = object.clone();
        object.pointer_mut(pointer).unwrap()[field] = value;
        object
    };
    let mut parameters =
        with(&policy, "/spec", "paramKind", json!({"apiVersion": "v1", "kind": "ConfigMap"}));
    parameters["spec"]["failurePolicy"] = json!("Fail");
    let reference = json!({"name": "p", "namespace": "default", "parameterNotFoundAction": "Deny"});
    let broken = if is_validating {
        with(&policy, "/spec/validations/0", "expression", json!("object.("))
    } else {
        with(&policy, "/spec/mutations/0/applyConfiguration", "expression", json!("Object{("))
    };
    let other = if is_validating {
        labelling("a.static.k8s.io", "a")
    } else {
        denying("a.static.k8s.io", CONFIG_MAPS, "true")
    };
    let old = with(&policy, "", "apiVersion", json!("admissionregistration.k8s.io/v1beta1"));
    let rows = [
        (
            vec![binding.clone()],
            "binding \"a.static.k8s.io\" references policy \"a.static.k8s.io\" which does not exist in the manifest directory",
        ),
        (
            vec![policy.clone(), with(&binding, "/spec", "policyName", json!("of-api"))],
            "\"of-api\" must end with",
        ),
        (
            vec![policy.clone(), with(&binding, "/spec", "policyName", json!(""))],
            "spec.policyName: Required value",
        ),
        (vec![parameters], "spec.paramKind is not supported for static manifests"),
        (
            vec![policy.clone(), with(&binding, "/spec", "paramRef", reference)],
            "spec.paramRef is not supported",
        ),
        (vec![policy.clone(), policy.clone()], "duplicate name \"a.static.k8s.io\""),
        (vec![policy.clone(), binding.clone(), binding.clone()], "duplicate name \"a.static.k8s.io\""),
        (vec![with(&policy, "/metadata", "name", json!("a"))], "\"a\" must have a name ending with"),
        (
            vec![policy.clone(), with(&binding, "/metadata", "name", json!("b"))],
            "\"b\" must have a name ending with",
        ),
        (vec![broken], "Invalid value"),
        (other.to_vec(), "unsupported resource type"),
        (vec![old], "unsupported resource type"),
    ];
    rows.into_iter().map(|(documents, reason)| Wrong { plugin, documents, reason }).collect()
}

#[tokio::test]
async fn a_server_does_not_start_with_what_it_cannot_enforce() {
    for Wrong { plugin, documents, reason } in wrong() {
        let manifests = Manifests::new(&[plugin]);
        manifests.write(plugin, "b.yaml", &documents);
        let refused = manifests.refusal().await;
        let begin = format!("--admission-control-config-file: {}: staticManifestsDir: ", plugin.name);
        assert!(refused.starts_with(&begin) && refused.contains(reason), "{reason}\nis not why\n{refused}");
        let is_of_no_file = reason.contains("does not exist in the manifest directory");
        assert!(is_of_no_file || refused.contains("b.yaml"), "{refused}");
    }
}

#[tokio::test]
async fn a_server_does_not_start_with_files_that_it_cannot_read() {
    let manifests = Manifests::new(&[VALIDATING_POLICIES]);
    for (text, reason) in [
        ("a: [", "b.yaml: yaml: "),
        (
            "a: 1\na: 2\n",
            "b.yaml: strict decoding error: yaml: unmarshal errors:\n  line 2: key \"a\" already set",
        ),
        ("{\"a\": 1, \"a\": 2}", "b.yaml: strict decoding error: duplicate field \"a\""),
        ("\u{0}", "b.yaml: yaml: control characters are not allowed"),
        ("- a\n", "b.yaml: a document has to be an object"),
    ] {
        manifests.write_text(VALIDATING_POLICIES, "b.yaml", text);
        let refused = manifests.refusal().await;
        assert!(refused.contains(reason), "{reason}\nis not why\n{refused}");
    }
    manifests.write_text(VALIDATING_POLICIES, "b.yaml", &"#".repeat((16 << 20) + 1));
    let refused = manifests.refusal().await;
    assert!(refused.contains("the directory has more than 16777216 bytes"), "{refused}");
    manifests.remove(VALIDATING_POLICIES, "b.yaml");
    std::os::unix::fs::symlink("nowhere", manifests.directory(VALIDATING_POLICIES).join("c.json")).unwrap();
    let refused = manifests.refusal().await;
    assert!(refused.contains("c.json: No such file"), "{refused}");
}

#[tokio::test]
async fn a_server_does_not_start_with_a_directory_that_it_cannot_use() {
    let manifests = Manifests::new(&[]);
    let root = manifests.root.path();
    for plugin in [VALIDATING_POLICIES, MUTATING_POLICIES, VALIDATING_WEBHOOKS, MUTATING_WEBHOOKS] {
        for (directory, reason) in [
            (root.join("nowhere"), "unable to read: No such file or directory"),
            (manifests.file(), "must be a directory"),
            ("relative".into(), "must be an absolute file path"),
        ] {
            manifests.configure(&[plugin.configured(&directory)]);
            let refused = manifests.refusal().await;
            let expected = format!(
                "plugins[0] ({}): staticManifestsDir: Invalid value: {directory:?}: {reason}",
                plugin.name
            );
            assert!(refused.contains(&expected), "{refused}");
        }
        manifests.configure(&[plugin.configured(root)]);
        let builder = apiserver::testing::TestServer::builder().memory().flag(manifests.flag());
        let refused = builder.start().await.err().expect("the gate is off").to_string();
        assert!(
            refused.contains("requires the ManifestBasedAdmissionControlConfig feature gate"),
            "{refused}"
        );
    }
}

#[tokio::test]
async fn a_directory_that_nothing_would_enforce_is_refused_unless_its_plugin_is_disabled() {
    let manifests = Manifests::new(&[MUTATING_POLICIES]);
    manifests.write(MUTATING_POLICIES, "a.yaml", &labelling("a.static.k8s.io", "a"));
    for flag in [
        "--runtime-config=admissionregistration.k8s.io/v1=false",
        "--feature-gates=ManifestBasedAdmissionControlConfig=true,MutatingAdmissionPolicy=false",
    ] {
        let started = manifests.builder().flag(flag).start().await;
        let refused = started.err().expect("a server that does not start").to_string();
        assert!(
            refused.contains("MutatingAdmissionPolicy: staticManifestsDir would not be enforced"),
            "{refused}"
        );
    }
    manifests.write_text(MUTATING_POLICIES, "a.yaml", "[");
    let builder = manifests.builder().flag("--disable-admission-plugins=MutatingAdmissionPolicy");
    let mut world = World::over(builder).await;
    assert_eq!(MUTATING_POLICIES.reloads(&mut world).await, super::Reloads::default());
    world.server.stop().await;
}

#[tokio::test]
async fn files_without_objects_are_passed_over() {
    let manifests = Manifests::new(&[VALIDATING_POLICIES]);
    let directory = manifests.directory(VALIDATING_POLICIES);
    std::fs::create_dir(directory.join("sub.yaml")).unwrap();
    std::fs::write(directory.join("sub.yaml/a.yaml"), "[").unwrap();
    std::fs::write(directory.join("README.md"), "[").unwrap();
    std::fs::write(directory.join("empty.yaml"), "").unwrap();
    std::fs::write(directory.join("nothing.yml"), "---\n# nothing\n---\n").unwrap();
    let [policy, binding] = denying("a.static.k8s.io", CONFIG_MAPS, "false");
    let typed = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyList", "items": [policy],
    });
    std::fs::write(directory.join("A.YAML"), format!("---\n# a policy\n---\n{typed}\n---\n{binding}\n---\n"))
        .unwrap();
    let mut world = World::over(manifests.builder()).await;
    super::expect_map(&mut world, 422, super::labelled(json!({}))).await;
    world.server.stop().await;
}
