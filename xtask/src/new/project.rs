//! A project of one's own, outside of this workspace: an extension server of one resource.

use std::path::{Path, PathBuf};

use crate::Failure;
use crate::workspace::Workspace;

use super::template::Names;

/// `ORLOP` are the dependencies on this workspace.
const MANIFEST: &str = r#"[package]
name = "CRATE"
version = "0.1.0"
edition = "2024"
publish = false

[dependencies]
# `apiserver` with a store of its own. docs/reference/features.md of Orlop has what else it can be built with: etcd, encryption…
ORLOP
k8s-openapi = { version = "0.29", features = ["v1_36", "schemars"] }
schemars = "1"
serde = { version = "1", features = ["derive"] }

[dev-dependencies]
serde_json = "1"
tokio = { version = "1", features = ["macros", "rt-multi-thread"] }

# This project is a workspace of its own, wherever it is.
[workspace]
"#;

const MAIN: &str = "//! The API server: behind a main server (`--kubeconfig`, or in a pod), or alone. `cargo run -- --help` shows how.

fn main() -> std::process::ExitCode {
    apiserver::run_extension_with(apiserver::program!(), &[&CRATE_MODULE::STORAGE_MAP])
}
";

const LIBRARY: &str = r#"//! The API `GROUP_VERSION`.

use registry_core::registry::storage_map::{Main, Scale, Status};

pub mod MODULE;

use MODULE::KIND;

// What is served at which path. The compiler refuses what does not fit: add a resource, and it says what is missing.
registry_core::storage_map! {
    /// The resources of this server.
    pub static STORAGE_MAP = {
        "GROUP" => {
            "VERSION" => {
                "PLURAL" => Main<KIND>,
                "PLURAL/scale" => Scale<KIND>,
                "PLURAL/status" => Status<KIND>,
            },
        },
    };
}
"#;

const TEST: &str = r#"//! This server behind a main server, both in the process of the test, connected as in a cluster.

use apiserver::testing::TestCluster;
use serde_json::json;

const COLLECTION: &str = "/apis/GROUP_VERSION/namespaces/default/PLURAL";

#[tokio::test(flavor = "multi_thread")]
async fn clients_of_the_main_server_use_this_api() {
    let cluster = TestCluster::start(&[&CRATE_MODULE::STORAGE_MAP]).await.expect("both servers start");
    let main = cluster.main();
    let object = json!({
        "apiVersion": "GROUP_VERSION",
        "kind": "KIND",
        "metadata": { "name": "first" },
        "spec": { "owner": "ada", "replicas": 2 },
    });
    let created = main.call("POST", COLLECTION, &object).await.expect("it is created");
    assert_eq!(created["spec"]["replicas"], 2);

    let selected = main.call("GET", &format!("{COLLECTION}?fieldSelector=spec.owner=ada"), &json!(null)).await;
    assert_eq!(selected.expect("a list")["items"].as_array().map(Vec::len), Some(1));

    let mut wrong = object;
    wrong["metadata"]["name"] = json!("second");
    wrong["spec"]["replicas"] = json!(-1);
    let refused = main.call("POST", COLLECTION, &wrong).await.expect_err("it is negative").to_string();
    assert!(refused.contains("must be greater than or equal to 0"), "{refused}");

    let elsewhere = COLLECTION.replace("default", "nowhere");
    let refused = main.call("POST", &elsewhere, &wrong).await.expect_err("no such namespace").to_string();
    assert!(refused.starts_with("404 Not Found") && refused.contains("nowhere"), "{refused}");
    cluster.stop().await;
}
"#;

const DOCKERFILE: &str = r#"# After `cargo build --release` on the same kind of machine: docker build --tag CRATE:0.1.0 .
FROM gcr.io/distroless/cc-debian13
COPY target/release/CRATE /CRATE
USER 65532
ENTRYPOINT ["/CRATE"]
"#;

const README: &str = r"# CRATE

Serves `GROUP_VERSION KIND`.

| command | what it does |
|---|---|
| `cargo test` | starts this server behind a main server, in one process, and uses it |
| `cargo run` | serves it alone, with Kubernetes' own API beside it, from `./apiserver-data` |
| `cargo run -- --kubeconfig=main.kubeconfig` | serves it behind a main server |
| `cargo run -- manifests --namespace=CRATE \| kubectl apply -f -` | installs the image `CRATE:0.1.0` in a cluster |

Edit `src/MODULE.rs`: its fields, its columns, its rules. A further resource is a file like it, with its paths in `src/lib.rs`.
";

/// Writes the project. Returns its files.
///
/// # Errors
/// Fails if the folder has something in it already, or cannot be written.
pub(super) fn write(folder: &Path, names: &Names, workspace: &Workspace) -> Result<Vec<PathBuf>, Failure> {
    let name = folder.file_name().and_then(|name| name.to_str()).unwrap_or_default();
    let is_name = name.starts_with(|first: char| first.is_ascii_lowercase())
        && name.bytes().all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-');
    if !is_name {
        return Err(format!(
            "`{name}` cannot be the name of a package: use lower case letters, digits and -"
        )
        .into());
    }
    if names.group.is_empty() {
        return Err("an API of one's own needs a group, for example example.dev/v1".into());
    }
    if folder.read_dir().is_ok_and(|mut entries| entries.next().is_some()) {
        return Err(format!("{} is not empty", folder.display()).into());
    }
    let orlop = ["apiserver", "registry-core", "registry-derive"].map(|dependency| {
        let path = workspace.root.join(dependency);
        let features = match dependency {
            "registry-derive" => "",
            "apiserver" => r#", default-features = false, features = ["embedded"]"#,
            _ => ", default-features = false",
        };
        format!("{dependency} = {{ path = {:?}{features} }}", path.display().to_string())
    });
    let fill = |text: &str| {
        let text = text.replace("CRATE_MODULE", &name.replace('-', "_")).replace("CRATE", name);
        names.fill(&text.replace("ORLOP", &orlop.join("\n")))
    };
    let lock = std::fs::read_to_string(workspace.root.join("Cargo.lock"))?;
    let files = [
        ("Cargo.toml", fill(MANIFEST)),
        // The versions that this workspace is tested with.
        ("Cargo.lock", lock),
        ("src/main.rs", fill(MAIN)),
        ("src/lib.rs", fill(LIBRARY)),
        (&format!("src/{}.rs", names.module), names.resource()),
        ("tests/behind_a_main_server.rs", fill(TEST)),
        ("Dockerfile", fill(DOCKERFILE)),
        (".dockerignore", format!("*\n!target/release/{name}\n")),
        (".gitignore", "/target\n/apiserver-data\n".to_owned()),
        ("README.md", fill(README)),
    ];
    let mut written = Vec::new();
    for (path, text) in files {
        let path = folder.join(path);
        if let Some(parent) = path.parent() {
            std::fs::create_dir_all(parent)?;
        }
        std::fs::write(&path, text)?;
        written.push(path);
    }
    Ok(written)
}
