//! A page in Chromium, without a window, that uses the server as dashboards do: `fetch` from another origin, and WebSockets.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::os::unix::process::CommandExt as _;
use std::process::{Child, Command, Stdio};
use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use apiserver::testing::TestServer;
use rustix::process::{Pid, Signal, kill_process_group};
use serde_json::{Value, json};

/// The path of Chromium. If it is empty, there is none on this machine, which `cargo xtask test` says.
const CHROMIUM_VARIABLE: &str = "ORLOP_CHROMIUM";
const TOKEN: &str = "token-of-ada";
const PAGE: &str = include_str!("browser/page.html");
/// The page itself gives up earlier.
const PATIENCE: Duration = Duration::from_secs(90);

/// A browser and its processes, which end with it.
struct Browser(Child);

impl Browser {
    fn open(program: &str, home: &std::path::Path, url: &str) -> Self {
        let mut command = Command::new(program);
        // The test may run as root, for whom Chromium has no sandbox, and the authority of the server is new.
        command.args([
            "--headless",
            "--no-sandbox",
            "--ignore-certificate-errors",
            "--disable-gpu",
            "--disable-dev-shm-usage",
        ]);
        command.args(["--no-first-run", "--disable-extensions", "--disable-background-networking"]);
        command.arg(format!("--user-data-dir={}", home.display()));
        command.arg(url).env("TMPDIR", home).process_group(0).stdout(Stdio::null()).stderr(Stdio::null());
        let started = command.spawn();
        Self(started.unwrap_or_else(|error| {
            panic!("no Chromium: `cargo xtask test` finds or installs one, or set {CHROMIUM_VARIABLE} to one ({error})")
        }))
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.0), Signal::KILL);
        let _ = self.0.wait();
    }
}

/// Serves the page, and passes on what it has seen. Ends with the process.
fn serve(listener: &TcpListener, seen: &Sender<Value>) {
    for stream in listener.incoming().flatten() {
        let seen = seen.clone();
        // Browsers open connections before they need them.
        std::thread::spawn(move || answer(&stream, &seen));
    }
}

fn answer(mut stream: &TcpStream, seen: &Sender<Value>) -> std::io::Result<()> {
    let mut reader = BufReader::new(stream);
    let (mut length, mut line) = (0, String::new());
    while reader.read_line(&mut line)? > 2 {
        if let Some(value) = line.to_ascii_lowercase().strip_prefix("content-length:") {
            length = value.trim().parse().unwrap_or(0);
        }
        line.clear();
    }
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    if let Ok(report) = serde_json::from_slice(&body) {
        let _ = seen.send(report);
    }
    let head = format!(
        "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        PAGE.len()
    );
    stream.write_all(format!("{head}{PAGE}").as_bytes())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_dashboard_in_a_browser() {
    let program = std::env::var(CHROMIUM_VARIABLE).unwrap_or_else(|_| "chromium".to_owned());
    if program.is_empty() {
        // Not `eprintln!`: the harness hides the output of tests that pass.
        let text = b"SKIPPED a_dashboard_in_a_browser: there is no Chromium on this machine
";
        std::io::stderr().write_all(text).unwrap();
        return;
    }
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let origin = format!("http://{}", listener.local_addr().unwrap());
    let server = TestServer::builder()
        .memory()
        .token(TOKEN, "ada", "")
        .flag(format!("--cors-allowed-origins=^{}$", origin.replace('.', r"\.")));
    let (server, other) =
        (server.start().await.unwrap(), TestServer::builder().memory().start().await.unwrap());
    let kubectl = server.kubectl();
    kubectl.run("create rolebinding ada --clusterrole=edit --user=ada").await;
    kubectl.run("create configmap settings --from-literal=size=large").await;
    kubectl.until("auth can-i list configmaps --as=ada", "", "yes").await;

    let (send, reports) = channel();
    std::thread::spawn(move || serve(&listener, &send));
    let home = tempfile::tempdir().unwrap();
    let url = format!("{origin}/#server={}&other={}&token={TOKEN}", server.url(), other.url());
    let browser = Browser::open(&program, home.path(), &url);
    let seen = tokio::task::spawn_blocking(move || reports.recv_timeout(PATIENCE)).await.unwrap();
    let seen = seen.expect("the page reports");
    drop(browser);

    let expected = json!({
        "unknown": 401,
        "columns": ["Name", "Data", "Age"],
        "included": "PartialObjectMetadata",
        "created": 201,
        // As kube-apiserver, the server sends text whichever protocol is named.
        "events": [["base64.binary.k8s.io", false, "ADDED", "blue"], ["binary.k8s.io", false, "ADDED", "blue"]],
        "tokenAlone": false,
        "edits": [200, 409],
        "refused": "Conflict",
        "patched": {"shape": "round"},
        "allowed": [true, false],
        "denied": "nodes is forbidden: User \"ada\" cannot list resource \"nodes\" in API group \"\" at the cluster scope",
        "logs": "pods \"none\" not found",
        "watchDenied": false,
        "otherServer": false,
        "watchUnknown": false,
    });
    assert_eq!(seen, expected);
    server.stop().await;
    other.stop().await;
}
