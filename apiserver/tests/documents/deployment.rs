//! The files below `deploy`, and the Dockerfile: a server accepts the manifests, and the program has the flags.

use std::process::Command;

use apiserver::testing::TestServer;
use serde_json::Value;

use crate::{read, workspace, yaml_documents};

const MANIFESTS: [&str; 2] = ["deploy/kubernetes/one.yaml", "deploy/kubernetes/three.yaml"];
const UNIT: &str = "deploy/systemd/orlop.service";

#[tokio::test]
async fn a_server_accepts_the_manifests() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let kubectl = server.kubectl();
    kubectl.run("create namespace orlop").await;
    for path in MANIFESTS {
        let path = workspace(path);
        let command = format!("-n orlop create --dry-run=server --validate=strict -f {}", path.display());
        let created = kubectl.run(&command).await;
        assert!(created.contains("service/orlop created (server dry run)"), "{created}");
    }
    server.stop().await;
}

#[test]
fn the_program_has_the_flags_of_all_files() {
    let dockerfile = read("Dockerfile");
    let image = dockerfile.lines().find_map(|line| line.strip_prefix("CMD ")).expect("the image has flags");
    let image: Vec<String> = serde_json::from_str(image).unwrap();
    let unit = read(UNIT);
    let unit =
        unit.lines().find_map(|line| line.strip_prefix("ExecStart=")).expect("the unit starts a program");
    let unit: Vec<String> =
        unit.split(' ').skip(1).filter(|word| *word != "$FLAGS").map(str::to_owned).collect();
    let mut all = vec![("Dockerfile", image), (UNIT, unit)];
    all.extend(MANIFESTS.map(|path| (path, container_arguments(path))));
    for (path, flags) in all {
        assert!(!flags.is_empty(), "{path} has no flags");
        let (status, told) = version_behind(&flags);
        assert!(status, "{path}: {told}");
    }
    let (status, told) = version_behind(&["--no-such-flag=1".to_owned()]);
    assert!(
        !status && told.contains("--no-such-flag"),
        "unknown flags are refused before the version: {told}"
    );
}

/// Runs the program with these flags and `--version` behind them, which starts no server.
fn version_behind(flags: &[String]) -> (bool, String) {
    // Kubernetes replaces it.
    let flags = flags.iter().map(|flag| flag.replace("$(POD_IP)", "10.0.0.1"));
    let output = Command::new(env!("CARGO_BIN_EXE_apiserver")).args(flags).arg("--version").output().unwrap();
    (output.status.success(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// Returns the arguments of the containers in a file.
fn container_arguments(path: &str) -> Vec<String> {
    let documents = yaml_documents(path);
    let containers =
        documents.iter().filter_map(|object| object["spec"]["template"]["spec"]["containers"].as_array());
    let arguments = containers.flatten().filter_map(|container| container["args"].as_array()).flatten();
    arguments.map(|argument| argument.as_str().unwrap().to_owned()).collect()
}

#[test]
fn containers_have_few_rights_and_mount_what_their_flags_name() {
    for path in MANIFESTS {
        let documents = yaml_documents(path);
        let pods: Vec<&Value> = documents
            .iter()
            .map(|object| &object["spec"]["template"]["spec"])
            .filter(|pod| !pod.is_null())
            .collect();
        let [pod] = pods.as_slice() else { panic!("{path} has a single workload") };
        assert_eq!(pod["securityContext"]["runAsNonRoot"], true, "{path}");
        assert_eq!(pod["automountServiceAccountToken"], false, "{path}");
        for container in pod["containers"].as_array().unwrap() {
            let rights = &container["securityContext"];
            assert_eq!(rights["readOnlyRootFilesystem"], true, "{path}");
            assert_eq!(rights["allowPrivilegeEscalation"], false, "{path}");
            assert_eq!(rights["capabilities"]["drop"][0], "ALL", "{path}");
            let mounts = container["volumeMounts"].as_array().unwrap();
            let mounts: Vec<&str> = mounts.iter().map(|mount| mount["mountPath"].as_str().unwrap()).collect();
            for argument in container["args"].as_array().unwrap() {
                let (_, value) = argument.as_str().unwrap().split_once('=').unwrap_or_default();
                let is_mounted = mounts.iter().any(|mount| value.starts_with(mount));
                assert!(!value.starts_with('/') || is_mounted, "{path}: {value} is not mounted");
            }
        }
    }
}
