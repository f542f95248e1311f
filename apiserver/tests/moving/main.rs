//! `apiserver storage export`, `import`, `migrate` and `check`, by the command line, with servers before and after.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

use std::io::{BufRead as _, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};

use bytes::Bytes;
use registry_core::codec::{cbor, protobuf};
use registry_core::storage::embedded::{Embedded, EmbeddedOptions};
use registry_core::storage::etcd3::moving::EtcdImport;
use registry_core::storage::moving_key::Earlier;
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::json;
use tempfile::TempDir;

const ENCRYPTION: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n\
    - resources: [configmaps]\n  providers:\n  - secretbox:\n      keys:\n      - name: first\n        secret: KEY\n";
const KEY: &str = "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=";
const OTHER_KEY: &str = "QUJDREVGR0hJSktMTU5PUFFSU1RVVldYWVphYmNkZWY=";

fn command(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_apiserver"));
    command.args(arguments);
    command
}

fn run(arguments: &[&str]) -> Output {
    command(arguments).output().unwrap()
}

fn succeeds(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert!(output.status.success(), "{arguments:?}: {}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

fn fails(arguments: &[&str]) -> String {
    let output = run(arguments);
    assert_eq!(output.status.code(), Some(1), "{arguments:?}: {}", String::from_utf8_lossy(&output.stdout));
    String::from_utf8(output.stderr).unwrap()
}

/// A server, which is killed when it is dropped.
struct Server {
    child: Child,
}

// === impl Server ===

impl Server {
    /// Starts a server and waits until it is ready.
    fn start(directory: &Path, flags: &[&str]) -> Self {
        let ready = directory.with_extension("ready");
        let flag = format!("--ready-file={}", ready.display());
        let data = format!("--data-dir={}", directory.display());
        let log = std::fs::File::create(directory.with_extension("log")).unwrap();
        let mut command = command(&["--secure-port=0", "--controllers=", &flag, &data]);
        let mut child = command.args(flags).stdout(Stdio::piped()).stderr(log).spawn().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let announced = lines.any(|line| line.unwrap().starts_with("export KUBECONFIG="));
        assert!(announced, "{}", std::fs::read_to_string(directory.with_extension("log")).unwrap());
        while !ready.exists() {
            assert!(child.try_wait().unwrap().is_none(), "the server ended");
            std::thread::sleep(std::time::Duration::from_millis(20));
        }
        Self { child }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn paths(home: &TempDir) -> impl Fn(&str) -> PathBuf + '_ {
    |name| home.path().join(name)
}

fn text(path: &Path) -> String {
    path.to_str().unwrap().to_owned()
}

/// The bootstrap objects of a server, most of them roles, move through an etcd; servers start on both ends.
#[tokio::test(flavor = "multi_thread")]
async fn a_servers_store_moves_to_etcd_and_to_another_directory() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let from = format!("--from=embedded:{}", path("data").display());
    let server = Server::start(&path("data"), &[]);
    let in_use = fails(&["storage", "export", &from, &text(&path("file"))]);
    assert!(in_use.contains("is in use by another process"), "{in_use}");
    drop(server);

    let checked = succeeds(&["storage", "check", &from]);
    assert!(checked.contains("history from revision") && checked.contains("values decoded"), "{checked}");
    let etcd = Etcd::start().await.unwrap();
    let url = etcd.options().endpoints[0].clone();
    let to = format!("--to=etcd={url}");
    let said = succeeds(&["storage", "migrate", &from, &to]);
    assert!(said.starts_with(&url) && said.contains("read back"), "{said}");
    let there = format!("--from=etcd={url}");
    assert!(succeeds(&["storage", "check", &there]).contains("values decoded"));
    drop(Server::start(&path("over-etcd"), &[&format!("--etcd-servers={url}")]));

    let file = text(&path("file"));
    let exported = succeeds(&["storage", "export", &there, &file]);
    assert!(exported.contains("prefix /registry/"), "{exported}");
    let to = format!("--to=embedded:{}", path("again").display());
    succeeds(&["storage", "import", &to, &file]);
    let refused = fails(&["storage", "import", &to, &file]);
    assert!(refused.contains("choose a new directory, or move this one away first"), "{refused}");
    drop(Server::start(&path("again"), &[]));
    let backup = fails(&["storage", "import", &format!("{to}2"), &text(&path("data.log"))]);
    assert!(backup.contains("is not an export of a store"), "{backup}");
    let missing = fails(&["storage", "export", "--from=embedded:/nonexistent", &file]);
    assert!(missing.contains("there is no store"), "{missing}");
}

/// An import that does not end leaves an etcd that no server serves.
#[tokio::test(flavor = "multi_thread")]
async fn a_part_of_an_import_is_not_served() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    drop(Server::start(&path("data"), &[]));
    let etcd = Etcd::start().await.unwrap();
    let url = etcd.options().endpoints[0].clone();
    EtcdImport::begin(etcd.connect().await, "/registry/", Earlier::Refused, "2026-01-02T03:04:05Z")
        .await
        .unwrap();
    let servers = format!("--etcd-servers={url}");
    let data = format!("--data-dir={}", path("other").display());
    let refused = fails(&["--secure-port=0", &servers, &data]);
    assert!(refused.contains("are not complete") && refused.contains("--restart"), "{refused}");
    let from = format!("--from=embedded:{}", path("data").display());
    let to = format!("--to=etcd={url}");
    let refused = fails(&["storage", "migrate", &from, &to]);
    assert!(refused.contains("repeat the command with --restart"), "{refused}");
    succeeds(&["storage", "migrate", &from, &to, "--restart"]);
    drop(Server::start(&path("other"), &[&servers]));
    drop(etcd);
    let gone = fails(&["storage", "check", &format!("--from=etcd={url}")]);
    assert!(gone.contains("etcd does not answer at"), "{gone}");
}

/// Values stay encrypted on the way; a check decodes them with the right keys only, and names what it cannot read.
#[test]
fn a_check_names_the_keys_of_values_that_cannot_be_decoded() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    for (name, key) in [("right.yaml", KEY), ("wrong.yaml", OTHER_KEY)] {
        std::fs::write(path(name), ENCRYPTION.replace("KEY", key)).unwrap();
    }
    let flag = |name: &str| format!("--encryption-provider-config={}", path(name).display());
    let data = path("data");
    drop(Server::start(&data, &[&flag("right.yaml")]));
    let from = format!("--from=embedded:{}", data.display());
    let file = text(&path("file"));
    succeeds(&["storage", "export", &from, &file]);
    let exported = std::fs::read_to_string(&file).unwrap();
    let encrypted =
        exported.lines().filter(|line| line.contains("\"base64\":\"azhzOmVuYzpzZWNyZXRib3g6")).count();
    assert!(encrypted > 0, "{exported:.2000}");
    let to = path("to");
    succeeds(&["storage", "import", &format!("--to=embedded:{}", to.display()), &file]);
    let from = format!("--from=embedded:{}", to.display());
    let undecoded = succeeds(&["storage", "check", &from]);
    assert!(
        undecoded.contains(&format!("encrypted values that were not decoded: {encrypted}")),
        "{undecoded}"
    );
    let decoded = succeeds(&[&flag("right.yaml"), "storage", "check", &from]);
    assert!(!decoded.contains("not decoded"), "{decoded}");
    let wrong = fails(&[&flag("wrong.yaml"), "storage", "check", &from]);
    assert!(
        wrong.contains("damaged:\n/registry/configmaps/") && wrong.contains("cannot be decrypted"),
        "{wrong}"
    );

    // Values that are of another key, or no objects.
    let (first, _) = exported.split_once('\n').unwrap();
    let object = r#"{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"a"}}"#;
    let made = format!("{first}\n")
        + &format!("{{\"key\":\"/registry/namespaces/a\",\"create\":2,\"mod\":2,\"value\":{object}}}\n")
        + &format!("{{\"key\":\"/registry/namespaces/b\",\"create\":3,\"mod\":3,\"value\":{object}}}\n")
        + "{\"key\":\"/registry/widgets.example.dev/widgets/x/c\",\"create\":4,\"mod\":4,\"base64\":\"AAEC\"}\n";
    let digest = ring::digest::digest(&ring::digest::SHA256, made.as_bytes());
    let digest: Vec<String> = digest.as_ref().iter().map(|byte| format!("{byte:02x}")).collect();
    let digest = digest.concat();
    std::fs::write(&file, format!("{made}{{\"end\":true,\"keys\":3,\"sha256\":\"{digest}\"}}\n")).unwrap();
    let odd = path("odd");
    succeeds(&["storage", "import", &format!("--to=embedded:{}", odd.display()), &file]);
    let damaged = fails(&["storage", "check", &format!("--from=embedded:{}", odd.display())]);
    let found: Vec<&str> = damaged.lines().skip(1).collect();
    assert_eq!(found.len(), 2, "{damaged}");
    assert!(found[0].starts_with("/registry/namespaces/b: it is the object \"a\""), "{damaged}");
    assert!(
        found[1].starts_with("/registry/widgets.example.dev/widgets/x/c: it is not a JSON object"),
        "{damaged}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_decodes_custom_resources_that_are_stored_as_cbor() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let from = format!("--from=embedded:{}", path("data").display());
    let foo =
        json!({ "apiVersion": "ex.io/v1", "kind": "Foo", "metadata": { "name": "x" }, "spec": { "a": [1] } });
    let sound = cbor::encode(&foo, None);
    let put = async |name: &str, value: Bytes| {
        let store = Embedded::open(EmbeddedOptions::new(path("data").join("storage"))).unwrap();
        store.put_if(&format!("/registry/ex.io/foos/{name}"), 0, value, None).await.unwrap();
        store.close().await;
    };
    put("t1/x", sound.clone()).await;
    put("t2/x", foo.to_string().into()).await;
    let checked = succeeds(&["storage", "check", &from]);
    assert!(checked.contains("\n2 values decoded"), "{checked}");

    put("t1/y", sound.clone()).await;
    put("t3/x", sound.slice(..sound.len() - 1)).await;
    put("t4/x", cbor::encode(&json!([]), None)).await;
    put("t5/x", "k8s\0".into()).await;
    let damaged = fails(&["storage", "check", &from]);
    let found: Vec<&str> = damaged.lines().skip(1).collect();
    let expected = [
        "t1/y: it is the object \"x\"",
        "t3/x: it is not a CBOR object",
        "t4/x: it is CBOR, but not an object",
        "t5/x: it is not a JSON object",
    ];
    assert_eq!(found.len(), expected.len(), "{damaged}");
    for (found, expected) in found.iter().zip(expected) {
        assert!(found.starts_with(&format!("/registry/ex.io/foos/{expected}")), "{damaged}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_check_reads_retired_versions_and_names_values_of_unknown_ones() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    let store = Embedded::open(EmbeddedOptions::new(path("data").join("storage"))).unwrap();
    let put = async |name: &str, value: Bytes| {
        store.put_if(&format!("/registry/leases/n/{name}"), 0, value, None).await.unwrap();
    };
    let lease = |name: &str, version: &str| {
        let api_version = format!("coordination.k8s.io/{version}");
        json!({ "kind": "Lease", "apiVersion": api_version, "metadata": { "name": name } }).to_string()
    };
    put("a", lease("a", "v1beta1").into()).await;
    put("b", lease("b", "v1alpha1").into()).await;
    put("c", protobuf::envelope("coordination.k8s.io/v1beta1", "Lease", &[])).await;
    put("d", protobuf::envelope("coordination.k8s.io/v2", "Lease", &[])).await;
    store.close().await;
    let damaged = fails(&["storage", "check", &format!("--from=embedded:{}", path("data").display())]);
    let unknown = |name: &str, version: &str| {
        format!(
            "/registry/leases/n/{name}: no kind \"Lease\" is registered for version \"coordination.k8s.io/{version}\""
        )
    };
    let found: Vec<&str> = damaged.lines().skip(1).collect();
    assert_eq!(found, [unknown("b", "v1alpha1"), unknown("d", "v2")], "{damaged}");
}

/// A disk that is full ends the work with its reason, and leaves nothing that is taken for a store or an export.
#[test]
fn a_full_disk_is_said_and_leaves_no_store() {
    let home = TempDir::new().unwrap();
    let path = paths(&home);
    drop(Server::start(&path("data"), &[]));
    let from = format!("--from=embedded:{}", path("data").display());
    let file = text(&path("file"));
    succeeds(&["storage", "export", &from, &file]);
    // A limit on the size of files takes the place of a small disk.
    let limited = |arguments: &[&str]| {
        let script = "trap '' XFSZ; ulimit -f 8; exec \"$0\" \"$@\"";
        let mut shell = Command::new("sh");
        let output =
            shell.args(["-c", script, env!("CARGO_BIN_EXE_apiserver")]).args(arguments).output().unwrap();
        assert_eq!(output.status.code(), Some(1), "{arguments:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let small = text(&path("small"));
    let to = format!("--to=embedded:{}", path("to").display());
    let said = limited(&["storage", "import", &to, &file]);
    assert!(said.contains("large") || said.contains("disk") || said.contains("space"), "{said}");
    assert!(!path("to/storage/log").exists());
    succeeds(&["storage", "import", &to, &file]);
    let said = limited(&["storage", "migrate", &from, &format!("{to}2")]);
    assert!(!said.is_empty() && !path("to2/storage/log").exists());
    assert!(!Path::new(&small).exists());
}
