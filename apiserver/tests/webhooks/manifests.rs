//! Configurations of webhooks, and policies, in files: `staticManifestsDir` of admission plug-ins.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use serde_json::{Value, json};

use crate::client::Answer;
use crate::world::{MAPS, World, map};

mod names;
mod policies;
mod refused;
mod reload;
mod webhooks;

const GATE: &str = "--feature-gates=ManifestBasedAdmissionControlConfig=true";
const TIMEOUT: Duration = Duration::from_secs(20);

const MUTATING_WEBHOOKS: Plugin = Plugin {
    name: "MutatingAdmissionWebhook",
    configuration: "WebhookAdmissionConfiguration",
    kind: "MutatingWebhookConfiguration",
};
const VALIDATING_WEBHOOKS: Plugin = Plugin {
    name: "ValidatingAdmissionWebhook",
    configuration: "WebhookAdmissionConfiguration",
    kind: "ValidatingWebhookConfiguration",
};
const MUTATING_POLICIES: Plugin = Plugin {
    name: "MutatingAdmissionPolicy",
    configuration: "MutatingAdmissionPolicyConfiguration",
    kind: "MutatingAdmissionPolicy",
};
const VALIDATING_POLICIES: Plugin = Plugin {
    name: "ValidatingAdmissionPolicy",
    configuration: "ValidatingAdmissionPolicyConfiguration",
    kind: "ValidatingAdmissionPolicy",
};

/// A plug-in that enforces manifests.
#[derive(Clone, Copy)]
struct Plugin {
    name: &'static str,
    /// The kind of its configuration.
    configuration: &'static str,
    /// The kind of what it enforces.
    kind: &'static str,
}

/// Directories of plug-ins, and the file that configures them.
struct Manifests {
    root: tempfile::TempDir,
}

/// The metrics of the directory of a plug-in.
#[derive(Clone, Debug, Default, PartialEq)]
struct Reloads {
    successes: u64,
    failures: u64,
    hash: Option<String>,
}

impl Manifests {
    /// Makes empty directories for plug-ins.
    fn new(plugins: &[Plugin]) -> Self {
        let manifests = Self { root: tempfile::tempdir().unwrap() };
        let configured = plugins.iter().map(|plugin| {
            let directory = manifests.directory(*plugin);
            std::fs::create_dir(&directory).unwrap();
            plugin.configured(&directory)
        });
        manifests.configure(&configured.collect::<Vec<_>>());
        manifests
    }

    /// Writes the configuration of plug-ins.
    fn configure(&self, plugins: &[Value]) {
        let configuration = json!({
            "apiVersion": "apiserver.k8s.io/v1alpha1", "kind": "AdmissionConfiguration", "plugins": plugins,
        });
        std::fs::write(self.file(), configuration.to_string()).unwrap();
    }

    fn file(&self) -> PathBuf {
        self.root.path().join("admission.yaml")
    }

    fn directory(&self, plugin: Plugin) -> PathBuf {
        self.root.path().join(plugin.name)
    }

    /// Writes a file with documents, as a whole.
    fn write(&self, plugin: Plugin, file: &str, documents: &[Value]) {
        let documents: Vec<String> = documents.iter().map(Value::to_string).collect();
        self.write_text(plugin, file, &documents.join("\n---\n"));
    }

    fn write_text(&self, plugin: Plugin, file: &str, text: &str) {
        let path = self.directory(plugin).join(file);
        let unfinished = path.with_extension("tmp");
        std::fs::write(&unfinished, text).unwrap();
        std::fs::rename(unfinished, path).unwrap();
    }

    fn remove(&self, plugin: Plugin, file: &str) {
        std::fs::remove_file(self.directory(plugin).join(file)).unwrap();
    }

    fn flag(&self) -> String {
        format!("--admission-control-config-file={}", self.file().display())
    }

    /// Returns a server with the directories.
    fn builder(&self) -> TestServerBuilder {
        TestServer::builder().memory().flag(GATE).flag(self.flag())
    }

    /// Starts a server that has to refuse the directories, and returns the error.
    async fn refusal(&self) -> String {
        let started = self.builder().without_controllers().start().await;
        started.err().expect("a server that does not start").to_string()
    }
}

impl Plugin {
    /// Returns the plug-in with this directory, as a configuration has it.
    fn configured(self, directory: &Path) -> Value {
        json!({"name": self.name, "configuration": {
            "apiVersion": "apiserver.config.k8s.io/v1", "kind": self.configuration, "staticManifestsDir": directory,
        }})
    }

    /// Returns the metrics of its directory.
    async fn reloads(self, world: &mut World) -> Reloads {
        let text = world.send("GET", "/metrics", &Value::Null).await.text();
        let mut reloads = Reloads::default();
        for line in text.lines() {
            let Some(line) = line.strip_prefix("apiserver_manifest_admission_config_controller_") else {
                continue;
            };
            let (labelled, value) = line.rsplit_once(' ').unwrap();
            let (name, labels) = labelled.split_once('{').unwrap();
            let labels: BTreeMap<&str, &str> = labels
                .trim_end_matches('}')
                .split(',')
                .map(|label| label.split_once('=').unwrap())
                .map(|(name, value)| (name, value.trim_matches('"')))
                .collect();
            if labels["plugin"] != self.name {
                continue;
            }
            assert!(labels["apiserver_id_hash"].starts_with("sha256:"), "{line}");
            match (name, labels.get("status").copied()) {
                ("automatic_reloads_total", Some("success")) => reloads.successes = value.parse().unwrap(),
                ("automatic_reloads_total", Some("failure")) => reloads.failures = value.parse().unwrap(),
                ("automatic_reload_last_timestamp_seconds", Some(_)) => {
                    assert!(value.parse::<f64>().unwrap() > 1e9, "{line}");
                }
                ("last_config_info", None) => {
                    assert_eq!((value, reloads.hash.take()), ("1", None), "one content is in force");
                    reloads.hash = Some(labels["hash"].to_owned());
                }
                _ => panic!("{line}"),
            }
        }
        reloads
    }

    /// Waits until the metrics of its directory are as wanted.
    async fn until(self, world: &mut World, is_wanted: impl Fn(&Reloads) -> bool) -> Reloads {
        let begun = Instant::now();
        loop {
            let reloads = self.reloads(world).await;
            if is_wanted(&reloads) {
                return reloads;
            }
            assert!(begun.elapsed() < TIMEOUT, "{} still has {reloads:?}", self.name);
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Waits until the directory was read again with success, and returns the metrics.
    async fn reloaded(self, world: &mut World, before: &Reloads) -> Reloads {
        let reloads = self.until(world, |reloads| reloads.successes > before.successes).await;
        assert_ne!(reloads.hash, before.hash);
        reloads
    }
}

/// Returns a configmap with labels, on which admission is tried.
fn labelled(labels: Value) -> Value {
    let mut labelled = map("tried");
    labelled["metadata"]["labels"] = labels;
    labelled
}

/// Tries the creation of an object.
async fn try_create(world: &mut World, path: &str, object: &Value) -> Answer {
    world.send("POST", &format!("{path}?dryRun=All"), object).await
}

/// Tries the creation of a configmap, which must have this status.
async fn expect_map(world: &mut World, status: u16, object: Value) -> Value {
    let answer = try_create(world, MAPS, &object).await;
    assert_eq!(answer.status, status, "{}", answer.text());
    answer.json()
}

/// Returns an object of `admissionregistration.k8s.io/v1`.
fn object(kind: &str, name: &str, fields: Value) -> Value {
    let mut object = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": kind, "metadata": {"name": name},
    });
    extend(&mut object, fields);
    object
}

/// Adds fields to an object.
fn extend(object: &mut Value, fields: Value) {
    let (Value::Object(object), Value::Object(fields)) = (object, fields) else { panic!("no object") };
    object.extend(fields);
}

fn list(items: &[Value]) -> Value {
    json!({"apiVersion": "v1", "kind": "List", "items": items})
}

/// Returns a policy of the creation of objects, with these fields of its specification.
fn policy(kind: &str, name: &str, (group, resource): (&str, &str), spec: Value) -> Value {
    let rule = json!({
        "apiGroups": [group], "apiVersions": ["v1"], "resources": [resource], "operations": ["CREATE"],
    });
    let mut policy = object(kind, name, json!({"spec": {"matchConstraints": {"resourceRules": [rule]}}}));
    extend(&mut policy["spec"], spec);
    policy
}

/// Returns a validating policy that denies objects for which the expression is false, and its binding.
fn denying(name: &str, of: (&str, &str), expression: &str) -> [Value; 2] {
    let message = format!("denied by {name}");
    let spec = json!({"validations": [{"expression": expression, "message": message}]});
    let bound = json!({"spec": {"policyName": name, "validationActions": ["Deny"]}});
    [
        policy("ValidatingAdmissionPolicy", name, of, spec),
        object("ValidatingAdmissionPolicyBinding", name, bound),
    ]
}

/// Returns a mutating policy that sets a label of configmaps, and its binding.
fn labelling(name: &str, label: &str) -> [Value; 2] {
    let expression = format!("Object{{metadata: Object.metadata{{labels: {{{label:?}: \"true\"}}}}}}");
    let mutation =
        json!({"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": expression}});
    let spec = json!({"reinvocationPolicy": "Never", "mutations": [mutation]});
    [
        policy("MutatingAdmissionPolicy", name, CONFIG_MAPS, spec),
        object("MutatingAdmissionPolicyBinding", name, json!({"spec": {"policyName": name}})),
    ]
}

const CONFIG_MAPS: (&str, &str) = ("", "configmaps");
