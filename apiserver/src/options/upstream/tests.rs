use std::collections::BTreeSet;

use clap::CommandFactory as _;

use super::*;
use crate::options::Options;

mod empty;
mod rows;

const REFERENCE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../docs/reference/flags.md");

/// Whether an argument is there because of the table: its id is the flag itself, with hyphens.
fn is_of_table(argument: &Arg) -> bool {
    let id = argument.get_id().as_str();
    argument.is_hide_set() && argument.get_long() == Some(id) && FLAGS.iter().any(|flag| flag.name == id)
}

/// Returns the names of the flags that the command line implements.
fn implemented() -> BTreeSet<String> {
    let mut command = Options::command();
    command.build();
    command
        .get_arguments()
        .filter(|argument| !is_of_table(argument))
        .filter_map(|argument| argument.get_long().map(str::to_owned))
        .collect()
}

#[test]
fn every_flag_of_kubernetes_is_implemented_or_in_the_table() {
    let own = implemented();
    let table: BTreeSet<&str> = FLAGS.iter().map(|flag| flag.name).collect();
    assert_eq!(table.len(), FLAGS.len(), "a flag is in the table twice");
    assert!(FLAGS.windows(2).all(|pair| pair[0].name < pair[1].name), "the table is in alphabetical order");
    let kubernetes: BTreeSet<&str> = KUBERNETES_FLAGS.lines().collect();
    let both: Vec<_> = table.iter().filter(|name| own.contains(**name)).collect();
    assert!(both.is_empty(), "these are implemented: remove them from the table: {both:?}");
    let missing: Vec<_> =
        kubernetes.iter().filter(|name| !own.contains(**name) && !table.contains(**name)).collect();
    assert!(missing.is_empty(), "neither implemented nor in the table: {missing:?}");
    let invented: Vec<_> = table.difference(&kubernetes).collect();
    assert!(invented.is_empty(), "no flags of kube-apiserver: {invented:?}");
}

#[test]
fn the_reference_has_every_flag() {
    let text = Options::flags_reference();
    for name in KUBERNETES_FLAGS.lines() {
        assert!(text.contains(&format!("`--{name}`")), "{name}");
    }
    let written = std::fs::read_to_string(REFERENCE).unwrap_or_default();
    assert!(written == text, "{REFERENCE} is not what there is: run `cargo xtask codegen --flags`");
}

fn parse(flags: &[&str]) -> Result<(), String> {
    let parsed =
        Options::from_arguments([&["apiserver"], flags].concat()).map_err(|error| error.to_string())?;
    parsed.validate().map(|_| ()).map_err(|error| error.to_string())
}

#[test]
fn flags_without_meaning_are_accepted_with_possible_values() {
    for accepted in [
        &["--profiling=false"][..],
        &["--profiling"],
        &["--etcd-healthcheck-timeout", "5s", "--enable-priority-and-fairness=true"],
        &["--log-json-info-buffer-size=64Ki", "--permit-port-sharing=false"],
    ] {
        assert_eq!(parse(accepted), Ok(()), "{accepted:?}");
    }
    for (refused, reason) in [
        (&["--profiling=yes"][..], "not a valid truth value"),
        (&["--permit-port-sharing"], "--permit-port-sharing=true is not supported"),
        (&["--etcd-healthcheck-timeout=5"], "is not a valid duration"),
        (&["--service-account-lookup=false"], "tokens of deleted accounts"),
    ] {
        let error = parse(refused).expect_err(reason);
        assert!(error.contains(reason), "{refused:?}: {error}");
    }
}

#[test]
fn refused_flags_are_told_together_with_the_way_out() {
    let error = parse(&["--vmodule=a=1", "--debug-socket-path", "x", "--secure-port=1", "--vmodule=b=2"]);
    let error = error.expect_err("flags that are not supported");
    assert!(error.contains("--vmodule is not supported: ") && error.contains("RUST_LOG"), "{error}");
    assert!(error.contains("--debug-socket-path is not supported: there is no socket"), "{error}");
    assert_eq!(error.matches("--vmodule is").count(), 1, "{error}");
}

/// Writes a file for each name, and returns their directory.
fn files(names: &[&str]) -> tempfile::TempDir {
    let directory = tempfile::tempdir().unwrap();
    for name in names {
        std::fs::write(directory.path().join(name), "").unwrap();
    }
    directory
}

#[test]
fn the_command_line_of_envtest_is_accepted() {
    let directory = files(&["sa.key", "sa.pub", "client-ca.crt"]);
    let path = |name: &str| directory.path().join(name).display().to_string();
    let flags = [
        "--advertise-address=127.0.0.1".to_owned(),
        "--etcd-servers=http://127.0.0.1:2379".to_owned(),
        format!("--cert-dir={}", directory.path().display()),
        "--authorization-mode=RBAC".to_owned(),
        "--bind-address=127.0.0.1".to_owned(),
        "--secure-port=43211".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--disable-admission-plugins=ServiceAccount".to_owned(),
        "--service-cluster-ip-range=10.0.0.0/24".to_owned(),
        format!("--service-account-signing-key-file={}", path("sa.key")),
        format!("--service-account-key-file={}", path("sa.pub")),
        "--service-account-issuer=https://127.0.0.1:43211/".to_owned(),
        format!("--client-ca-file={}", path("client-ca.crt")),
    ];
    assert_eq!(parse(&flags.each_ref().map(String::as_str)), Ok(()));
}

#[test]
fn the_command_line_of_kubeadm_is_accepted() {
    let names = [
        "ca.crt",
        "etcd-ca.crt",
        "etcd.crt",
        "etcd.key",
        "kubelet.crt",
        "kubelet.key",
        "proxy.crt",
        "proxy.key",
        "proxy-ca.crt",
        "sa.key",
        "sa.pub",
        "apiserver.crt",
        "apiserver.key",
    ];
    let directory = files(&names);
    let of_file = |flag: &str, name: &str| format!("--{flag}={}", directory.path().join(name).display());
    let flags = [
        "--advertise-address=192.168.0.10".to_owned(),
        "--allow-privileged=true".to_owned(),
        "--authorization-mode=Node,RBAC".to_owned(),
        of_file("client-ca-file", "ca.crt"),
        "--enable-admission-plugins=NodeRestriction".to_owned(),
        "--enable-bootstrap-token-auth=true".to_owned(),
        of_file("etcd-cafile", "etcd-ca.crt"),
        of_file("etcd-certfile", "etcd.crt"),
        of_file("etcd-keyfile", "etcd.key"),
        "--etcd-servers=https://127.0.0.1:2379".to_owned(),
        of_file("kubelet-client-certificate", "kubelet.crt"),
        of_file("kubelet-client-key", "kubelet.key"),
        "--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname".to_owned(),
        of_file("proxy-client-cert-file", "proxy.crt"),
        of_file("proxy-client-key-file", "proxy.key"),
        "--requestheader-allowed-names=front-proxy-client".to_owned(),
        of_file("requestheader-client-ca-file", "proxy-ca.crt"),
        "--requestheader-extra-headers-prefix=X-Remote-Extra-".to_owned(),
        "--requestheader-group-headers=X-Remote-Group".to_owned(),
        "--requestheader-username-headers=X-Remote-User".to_owned(),
        "--secure-port=6443".to_owned(),
        "--service-account-issuer=https://kubernetes.default.svc.cluster.local".to_owned(),
        of_file("service-account-key-file", "sa.pub"),
        of_file("service-account-signing-key-file", "sa.key"),
        "--service-cluster-ip-range=10.96.0.0/12".to_owned(),
        of_file("tls-cert-file", "apiserver.crt"),
        of_file("tls-private-key-file", "apiserver.key"),
    ];
    assert_eq!(parse(&flags.each_ref().map(String::as_str)), Ok(()));
}
