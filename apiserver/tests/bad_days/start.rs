//! Starts that fail or have to wait: nothing is half made, and the message says what to do.

use std::net::{SocketAddr, TcpListener};
use std::path::Path;
use std::time::{Duration, Instant};

use kube::api::PostParams;
use registry_core::directory_lock::DirectoryLock;
use registry_core::storage::testing::etcd::Etcd;
use tempfile::TempDir;

use crate::process::Process;
use crate::{PATIENCE, config_map};

/// Returns the names in a directory, sorted.
pub(crate) fn names(directory: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(directory).unwrap();
    let mut names: Vec<_> = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap()).collect();
    names.sort();
    names
}

/// Takes a free port of this machine.
fn taken_port() -> (TcpListener, u16) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    (listener, port)
}

#[tokio::test]
async fn a_taken_port_leaves_nothing_and_the_message_says_what_to_do() {
    let home = TempDir::new().unwrap();
    let (_listener, port) = taken_port();
    let port = format!("--secure-port={port}");
    for flags in
        [&[&port[..]][..], &[&port, "--storage-backend=memory"], &[&port, "--data-dir=d", "--cert-dir=c"]]
    {
        let logged = Process::spawn_in(home.path(), "refused", flags).fails().await;
        assert!(logged.contains("cannot listen on 127.0.0.1:"), "{logged}");
        assert!(logged.contains("--secure-port=0"), "{logged}");
        assert_eq!(names(&home.path().join("work")), [""; 0], "{flags:?}");
        assert_eq!(names(&home.path().join("tmp")), [""; 0], "{flags:?}");
    }
    let logged = Process::spawn_in(home.path(), "refused", &["--bind-address=192.0.2.1"]).fails().await;
    assert!(logged.contains("--bind-address must be an address of this machine"), "{logged}");
    assert_eq!(names(&home.path().join("work")), [""; 0]);
}

#[tokio::test]
async fn wrong_flags_and_files_are_told_before_anything_is_touched() {
    let home = TempDir::new().unwrap();
    let file = |name: &str, content: &str| {
        let path = home.path().join(name);
        std::fs::write(&path, content).unwrap();
        path.display().to_string()
    };
    let broken = file("broken.yaml", "kind: Wrong\n");
    let tokens = file("tokens.csv", "only-a-token\n");
    let no_certificate = file("empty.pem", "");
    let absent = home.path().join("absent/file").display().to_string();
    let running_home = TempDir::new().unwrap();
    let mut running = Process::spawn_in(running_home.path(), "running", &["--secure-port=0"]);
    running.announced();
    let used = format!("--data-dir={}", running_home.path().join("work/apiserver-data").display());
    let (_listener, port) = taken_port();
    let port = format!("--secure-port={port}");
    for (flags, reason) in [
        (&["--enable-admission-plugins=Nope"][..], "\"Nope\" is not an admission plug-in"),
        (&["--disable-admission-plugins=Nope"], "\"Nope\" is not an admission plug-in"),
        (
            &["--enable-admission-plugins=NodeRestriction", "--disable-admission-plugins=NodeRestriction"],
            "is both in",
        ),
        (&["--runtime-config=nope.example.com/v1=true"], "--runtime-config"),
        (&["--request-timeout=0s"], "--request-timeout"),
        (&[&format!("--audit-policy-file={broken}")], "broken.yaml"),
        (&[&format!("--encryption-provider-config={broken}")], "no kind"),
        (&[&format!("--authentication-config={broken}")], "authentication configuration"),
        (&[&format!("--authorization-config={broken}")], "broken.yaml"),
        (&[&format!("--admission-control-config-file={broken}")], "--admission-control-config-file"),
        (&[&format!("--tracing-config-file={broken}")], "broken.yaml"),
        (&[&format!("--token-auth-file={tokens}")], "tokens.csv: line 1"),
        (&[&format!("--client-ca-file={no_certificate}")], "empty.pem"),
        (
            &[
                &format!("--tls-cert-file={no_certificate}"),
                &format!("--tls-private-key-file={no_certificate}"),
            ],
            "empty.pem",
        ),
        (&[&format!("--write-kubeconfig={absent}")], "--write-kubeconfig: cannot write"),
        (&["--write-kubeconfig=."], "--write-kubeconfig: cannot write"),
        (&["--write-kubeconfig=/dev/stdout"], "--write-kubeconfig: cannot write"),
        (&["--ready-file=/dev/null"], "--ready-file: cannot write /dev/null"),
        (&[&format!("--ready-file={absent}")], "--ready-file: cannot write"),
    ] {
        // The port and the directory are in use too, which is not what has to be mended first.
        let flags = [flags, &[&port, &used]].concat();
        let logged = Process::spawn_in(home.path(), "refused", &flags).fails().await;
        assert!(logged.contains(reason), "{flags:?}: {logged}");
        assert!(!logged.contains("waiting for"), "{flags:?}: {logged}");
        assert_eq!(names(&home.path().join("work")), [""; 0], "{flags:?}");
    }
    running.kill();
}

/// With the port of the server that runs already, too: another port would not help.
#[tokio::test]
async fn a_directory_in_use_is_waited_for_and_then_refused() {
    let home = TempDir::new().unwrap();
    let mut running = Process::spawn_in(home.path(), "running", &["--secure-port=0"]);
    running.announced();
    let kubeconfig = std::fs::read_to_string(running.kubeconfig()).unwrap();
    let port =
        kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: https://127.0.0.1:")).unwrap();
    for port in ["--secure-port=0".to_owned(), format!("--secure-port={port}")] {
        let logged = Process::spawn_in(home.path(), "second", &[&port]).fails().await;
        assert!(logged.contains("waiting for "), "{logged}");
        let held = format!("is in use by another process (id {})", running.id());
        assert!(logged.contains(&held) && logged.contains("--data-dir"), "{logged}");
    }
    assert_eq!(std::fs::read_to_string(running.kubeconfig()).unwrap(), kubeconfig, "nothing has changed");
    running.kill();
}

#[tokio::test]
async fn a_lock_and_a_port_that_are_released_are_taken() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("work/apiserver-data");
    std::fs::create_dir_all(&directory).unwrap();
    let lock = DirectoryLock::acquire(&directory).unwrap();
    let mut server = Process::spawn_in(home.path(), "server", &["--secure-port=0"]);
    server.says(&format!("waiting for process {}", std::process::id())).await;
    drop(lock);
    server.announced();
    server.kill();

    let (listener, port) = taken_port();
    let mut server = Process::spawn_in(home.path(), "server", &[&format!("--secure-port={port}")]);
    server.says(&format!("waiting for the process that listens on 127.0.0.1:{port}")).await;
    drop(listener);
    server.announced();
    server.kill();
}

#[tokio::test]
async fn a_killed_server_is_started_again_at_once_on_its_port() {
    let home = TempDir::new().unwrap();
    let (listener, port) = taken_port();
    drop(listener);
    let port = format!("--secure-port={port}");
    let mut server = Process::spawn_in(home.path(), "server", &[&port]);
    for _ in 0..5 {
        server.announced();
        server.signal("KILL");
        // The killed process may still have its lock and its port.
        let next = Process::spawn_in(home.path(), "server", &[&port]);
        drop(std::mem::replace(&mut server, next));
    }
    server.announced();
    let maps = server.config_maps().await;
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    server.kill();
}

/// Directories of /proc cannot be written, not even by root.
#[tokio::test]
async fn a_directory_that_cannot_be_written_is_told_and_memory_needs_none() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("tmp")).unwrap();
    let nowhere = Path::new("/proc");
    let logged = Process::spawn_at(nowhere, home.path(), "refused", &["--secure-port=0"]).fails().await;
    assert!(logged.contains("./apiserver-data cannot be used") && logged.contains("--data-dir"), "{logged}");
    let flags = ["--secure-port=0", "--storage-backend=memory"];
    let mut server = Process::spawn_at(nowhere, home.path(), "memory", &flags);
    server.announced();
    let maps = server.config_maps().await;
    maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
    server.signal("TERM");
    assert!(server.ended().await.success());
}

/// One that is not there refuses connections; one that hangs accepts them and never answers.
#[tokio::test]
async fn an_etcd_that_stays_away_ends_the_start() {
    let home = TempDir::new().unwrap();
    let hanging = TcpListener::bind("127.0.0.1:0").unwrap();
    let hanging_address = hanging.local_addr().unwrap();
    let (listener, _) = taken_port();
    let absent: SocketAddr = listener.local_addr().unwrap();
    drop(listener);
    let mut servers: Vec<(SocketAddr, Process)> = Vec::new();
    for (name, address) in [("absent", absent), ("hanging", hanging_address)] {
        let (etcd, data) = (format!("--etcd-servers=http://{address}"), format!("--data-dir={name}"));
        let flags = [&etcd[..], &data, "--secure-port=0"];
        servers.push((address, Process::spawn_in(home.path(), name, &flags)));
    }
    for (address, server) in &mut servers {
        let logged = server.fails().await;
        let output = logged.matches("etcd does not answer, asking again").count();
        assert!((1..=3).contains(&output), "once, and then seldom: {logged}");
        assert!(logged.contains(&format!("etcd does not answer at http://{address}: ")), "{logged}");
        assert!(logged.contains("start etcd, or correct --etcd-servers"), "{logged}");
        assert!(!logged.contains("made certificates"), "{logged}");
    }
}

/// The flags of controller-runtime's envtest.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn servers_of_test_environments_write_into_their_certificate_directories_only() {
    let etcd = Etcd::start().await.unwrap();
    let home = TempDir::new().unwrap();
    // Any authority and any key.
    let mut other = Process::spawn_in(home.path(), "other", &["--secure-port=0", "--data-dir=../other"]);
    other.announced();
    other.kill();
    let given = home.path().join("other/pki");
    let file = |name: &str| given.join(name).display().to_string();
    let etcd_flag = format!("--etcd-servers={}", etcd.options().endpoints[0]);
    let mut servers = Vec::new();
    for name in ["first", "second"] {
        let certificates = home.path().join(name);
        std::fs::create_dir(&certificates).unwrap();
        let flags = [
            "--allow-privileged=true",
            "--authorization-mode=RBAC",
            "--bind-address=127.0.0.1",
            &format!("--cert-dir={}", certificates.display()),
            &format!("--client-ca-file={}", file("ca.crt")),
            "--disable-admission-plugins=ServiceAccount",
            &etcd_flag,
            "--secure-port=0",
            "--service-account-issuer=https://127.0.0.1:1/",
            &format!("--service-account-key-file={}", file("apiserver.crt")),
            &format!("--service-account-signing-key-file={}", file("sa.key")),
            "--service-cluster-ip-range=10.0.0.0/24",
            &format!("--etcd-prefix=/{name}"),
        ];
        let mut server = Process::spawn_in(home.path(), &format!("{name}-server"), &flags);
        server.announced();
        assert_eq!(server.kubeconfig(), certificates.join("admin.kubeconfig"));
        servers.push(server);
    }
    for mut server in servers {
        let maps = server.config_maps().await;
        maps.create(&PostParams::default(), &config_map("a", "1")).await.unwrap();
        server.signal("TERM");
        assert!(server.ended().await.success());
    }
    for directory in ["work", "tmp"] {
        assert_eq!(names(&home.path().join(directory)), [""; 0], "{directory}");
    }
}

/// The ready file of a server that was killed does not say that the next one is ready.
#[tokio::test]
async fn the_ready_file_is_there_while_the_server_is_ready() {
    let home = TempDir::new().unwrap();
    std::fs::create_dir(home.path().join("work")).unwrap();
    let ready = home.path().join("work/ready");
    let kubeconfig = home.path().join("work/test.kubeconfig");
    std::fs::write(&ready, "https://127.0.0.1:1\n").unwrap();
    std::fs::write(&kubeconfig, "old").unwrap();
    let flags = [
        "--storage-backend=memory",
        "--secure-port=0",
        "--write-kubeconfig=test.kubeconfig",
        "--ready-file=ready",
    ];
    let mut server = Process::spawn_in(home.path(), "server", &flags);
    server.announced();
    assert_eq!(server.kubeconfig(), kubeconfig);
    let begun = Instant::now();
    let url = loop {
        if let Ok(content) = std::fs::read_to_string(&ready)
            && content != "https://127.0.0.1:1\n"
        {
            break content;
        }
        assert!(begun.elapsed() < PATIENCE, "{}", server.logged());
        tokio::time::sleep(Duration::from_millis(2)).await;
    };
    let written = std::fs::read_to_string(&kubeconfig).unwrap();
    assert!(written.contains(&format!("server: {}\n", url.trim_end())), "{url}: {written}");
    assert!(url.starts_with("https://127.0.0.1:") && url.ends_with('\n'), "{url}");
    let client = crate::client(&kubeconfig).await;
    let request = http::Request::get("/readyz").body(Vec::new()).unwrap();
    assert_eq!(client.request_text(request).await.unwrap(), "ok", "it is ready at once");
    for path in [&ready, &kubeconfig] {
        use std::os::unix::fs::PermissionsExt as _;
        assert_eq!(path.metadata().unwrap().permissions().mode() & 0o777, 0o600, "{}", path.display());
    }
    server.signal("TERM");
    assert!(server.ended().await.success());
    assert_eq!(names(&home.path().join("work")), ["test.kubeconfig"], "the kubeconfig stays");
    assert_eq!(names(&home.path().join("tmp")), [""; 0]);
}
