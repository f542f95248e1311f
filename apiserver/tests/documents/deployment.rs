//! The files below `deploy`, and the Dockerfile: a server accepts the manifests, and the program has the flags.

use std::path::Path;
use std::process::Command;

use apiserver::testing::{KUBECTL_VARIABLE, TestServer};
use serde_json::Value;

use crate::{read, workspace, yaml_documents};

const MANIFESTS: [&str; 2] = ["deploy/kubernetes/one.yaml", "deploy/kubernetes/three.yaml"];
const PLUG_IN: &str = "deploy/kubectl/kubectl-orlop";
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

#[tokio::test]
async fn the_plug_in_of_kubectl_shows_what_the_server_does() {
    let server = TestServer::builder().memory().start().await.unwrap();
    server.kubectl().run("create configmap settings").await;
    let folder = tempfile::tempdir().unwrap();
    if let Some(kubectl) = std::env::var_os(KUBECTL_VARIABLE) {
        std::os::unix::fs::symlink(kubectl, folder.path().join("kubectl")).unwrap();
    }
    let path = format!("{}:{}", folder.path().display(), std::env::var("PATH").unwrap());
    let run = |arguments: &'static [&str]| {
        let mut command = Command::new(workspace(PLUG_IN));
        command.args(arguments).env("PATH", &path).env("KUBECONFIG", server.kubeconfig_path());
        tokio::task::spawn_blocking(move || command.output().unwrap())
    };
    let shown = run(&["top"]).await.unwrap();
    let output = String::from_utf8_lossy(&shown.stderr).into_owned();
    assert!(shown.status.success(), "{output}");
    let shown = String::from_utf8(shown.stdout).unwrap();
    let line = |name: &str| {
        let mut lines = shown.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
        let found = lines.find(|cells| cells.first() == Some(&name));
        found.unwrap_or_else(|| panic!("{name}: {shown}"))
    };
    assert_eq!(line("version").len(), 2, "{shown}");
    assert!(line("configmaps")[1].parse::<u32>().unwrap() >= 1, "{shown}");
    assert!(line("workload-low")[2].parse::<u32>().unwrap() > 1, "{shown}");
    let refused = run(&[]).await.unwrap();
    assert!(!refused.status.success() && String::from_utf8_lossy(&refused.stderr).contains("Usage:"));
    for arguments in [&["top", "--help"][..], &["top", "-h"], &["--help"], &["help"]] {
        let help = run(arguments).await.unwrap();
        let text = String::from_utf8_lossy(&help.stdout);
        assert!(help.status.success() && text.contains("Usage: kubectl orlop top [FLAGS]"), "{text}");
        assert!(!text.contains("watchers\n"), "{text}");
    }

    let metrics = server.kubectl().run("get --raw /metrics").await;
    let script = read(PLUG_IN);
    let named = script.split(|next: char| !next.is_ascii_alphanumeric() && next != '_');
    let named: Vec<&str> =
        named.filter(|word| word.starts_with("apiserver_") || word.starts_with("orlop_")).collect();
    assert!(named.len() > 8, "{named:?}");
    for name in named {
        assert!(metrics.contains(&format!("\n{name}")), "no metric {name}");
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
        let (status, output) = version_behind(&flags);
        assert!(status, "{path}: {output}");
    }
    let (status, output) = version_behind(&["--no-such-flag=1".to_owned()]);
    assert!(
        !status && output.contains("--no-such-flag"),
        "unknown flags are refused before the version: {output}"
    );
}

#[test]
fn the_image_is_built_from_files_that_there_are() {
    let ignored = read(".dockerignore");
    let copied: Vec<&str> = ignored.lines().filter_map(|line| line.strip_prefix('!')).collect();
    for path in &copied {
        assert!(workspace(path).exists(), ".dockerignore lets {path} through, which does not exist");
    }
    // Cargo reads the manifests of all members, whichever is built.
    let manifest = read("Cargo.toml");
    let (_, members) = manifest.split_once("members = [").unwrap();
    let members = members.split_once(']').unwrap().0.split('"').skip(1).step_by(2);
    for member in members {
        let is_copied = copied.iter().any(|path| Path::new(member).starts_with(path));
        assert!(is_copied, ".dockerignore keeps {member} out of the image, which Cargo.toml names");
    }
    let dockerfile = read("Dockerfile");
    let stages: Vec<&str> = dockerfile
        .lines()
        .filter_map(|line| line.strip_prefix("FROM ")?.split_once(" AS ").map(|stage| stage.1))
        .collect();
    for copy in dockerfile.lines().filter_map(|line| line.strip_prefix("COPY ")) {
        match copy.strip_prefix("--from=") {
            Some(copy) => {
                let (stage, paths) = copy.split_once(' ').unwrap();
                assert!(stages.contains(&stage), "no stage {stage}");
                assert!(paths.starts_with("/source/target/release/apiserver "), "what is built: {paths}");
            }
            None => assert_eq!(copy, ". ."),
        }
    }
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
