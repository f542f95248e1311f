//! The log of a server, and that the server continues if the log is not read.

use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures::TryStreamExt as _;
use kube::api::{ListParams, PostParams, WatchParams};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::process::Process;
use crate::{PATIENCE, config_map};

/// Returns the lines of requests for config maps, once there is one for this URI.
async fn requests(process: &Process, uri: &str) -> Vec<Value> {
    let begun = Instant::now();
    loop {
        let logged = process.logged();
        let complete = logged.rfind('\n').map_or("", |end| &logged[..end]);
        let lines =
            complete.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|_| panic!("{line}")));
        let lines: Vec<Value> = lines
            .filter(|line: &Value| line["message"] == "HTTP")
            .filter(|line| line["URI"].as_str().unwrap().contains("/configmaps"))
            .collect();
        if lines.iter().any(|line| line["URI"].as_str().unwrap().contains(uri)) {
            return lines;
        }
        assert!(begun.elapsed() < PATIENCE, "{uri} is not in {logged}");
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

#[tokio::test]
async fn each_request_is_one_line_that_says_who_did_what() {
    let home = TempDir::new().unwrap();
    let process = Process::start_with(&home.path().join("data"), &["-v=3", "--logging-format=json"]);
    let maps = process.config_maps().await;
    maps.create(&PostParams::default(), &config_map("one", "very-secret-value")).await.unwrap();
    maps.get_opt("absent?access_token=s3cret").await.unwrap();
    let watched = maps.watch(&WatchParams::default().timeout(1), "0").await.unwrap();
    watched.try_collect::<Vec<_>>().await.unwrap();
    maps.list(&ListParams::default().labels("is=last")).await.unwrap();

    let lines = requests(&process, "is%3Dlast").await;
    let line =
        |verb: &str| lines.iter().find(|line| line["verb"] == verb).unwrap_or_else(|| panic!("{verb}"));
    for (verb, code) in [("POST", 201), ("GET", 404), ("WATCH", 200), ("LIST", 200)] {
        let line = line(verb);
        assert_eq!((&line["resp"], &line["level"]), (&code.into(), &"INFO".into()), "{line}");
        assert_eq!((&line["user"], &line["impersonatedBy"]), (&"admin".into(), &"".into()));
        assert!(line["srcIP"].as_str().unwrap().starts_with("127.0.0.1:"), "{line}");
        assert_eq!(line["audit-ID"].as_str().unwrap().len(), 36, "{line}");
        assert!(line["latency"].as_str().unwrap().ends_with("ms"), "{line}");
    }
    let latency = line("WATCH")["latency"].as_str().unwrap().trim_end_matches("ms").parse::<f64>().unwrap();
    assert!(latency >= 900.0, "a watch is logged at its end: {latency}");
    let logged = process.logged();
    assert!(!logged.contains("s3cret") && !logged.contains("very-secret-value"), "{logged}");
}

/// Returns the answer to a request for config maps with this token.
fn ask_with(process: &Process, token: &str) -> String {
    let kubeconfig = std::fs::read_to_string(process.kubeconfig()).unwrap();
    let url = kubeconfig.lines().find_map(|line| line.trim().strip_prefix("server: ")).unwrap();
    let url = format!("{url}/api/v1/configmaps");
    let header = format!("authorization: Bearer {token}");
    let asked = Command::new("curl")
        .args(["-sk", "-o", "/dev/null", "-w", "%{http_code}", "-H", &header, &url])
        .output();
    String::from_utf8(asked.unwrap().stdout).unwrap()
}

#[tokio::test]
async fn a_token_that_is_refused_is_logged_with_the_reason_and_without_the_token() {
    let home = TempDir::new().unwrap();
    let directory = home.path().join("data");
    let process = Process::start_with(&directory, &["-v=3"]);
    process.config_maps().await;
    let token = |data: &str| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_apiserver"));
        let data = format!("--data-dir={}", home.path().join(data).display());
        let output = command.args(["token", "default/robot", "--uid=1", &data]).output().unwrap();
        String::from_utf8(output.stdout).unwrap().trim_end().to_owned()
    };
    let other = Process::start(&home.path().join("other"));
    other.config_maps().await;
    for (token, reason) in [
        ("zork-s3cret", "it is not a token of this server, or of an issuer that the server trusts"),
        (&token("data"), "serviceaccounts \"robot\" not found"),
        (&token("other"), "the key that signed a service account token is not a key of this server"),
    ] {
        assert_eq!(ask_with(&process, token), "401", "{token}");
        process.says(reason).await;
        let logged = process.logged();
        assert!(logged.contains("a token was refused: ") && !logged.contains(token), "{logged}");
    }
    // Tokens that are accepted, and logs of a lower verbosity, have no such line.
    assert_eq!(process.logged().matches("a token was refused").count(), 3);
    assert_eq!(ask_with(&other, "zork"), "401");
    assert!(!other.logged().contains("refused"), "{}", other.logged());
}

#[tokio::test]
async fn an_orderly_end_logs_nothing_alarming_and_without_verbosity_no_requests() {
    let home = TempDir::new().unwrap();
    let mut process = Process::start(&home.path().join("data"));
    let maps = process.config_maps().await;
    let watched = maps.watch(&WatchParams::default(), "0").await.unwrap();
    for number in 0..20 {
        maps.create(&PostParams::default(), &config_map(&format!("map-{number}"), "")).await.unwrap();
    }
    process.says("serving").await;
    process.signal("INT");
    assert!(process.ended().await.success());
    drop(watched);
    let logged = process.logged();
    let expected = [
        "starting apiserver",
        "the store is open backend=\"embedded\" revision=",
        "made certificates: ca, admin, apiserver, aggregator-ca, aggregator-client, apiserver-kubelet-client",
        "made the key of service account tokens file=",
        "serving url=\"https://127.0.0.1:",
        "stopped reason=\"SIGINT\"",
    ];
    let lines: Vec<&str> = logged.lines().collect();
    assert_eq!(lines.len(), expected.len(), "{logged}");
    for (line, expected) in lines.iter().zip(expected) {
        assert!(line.contains(expected), "{expected}: {logged}");
    }
    let directory = home.path().join("data").display().to_string();
    let version = Command::new(env!("CARGO_BIN_EXE_apiserver")).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    let version = version.trim_end().strip_prefix("orlop ").expect("its own name");
    let version = format!("version=\"{version}\"");
    let facts = [&*version, &directory, "--secure-port=0"];
    assert!(facts.iter().all(|fact| lines[0].contains(fact)), "{logged}");

    // Later starts make none. Passwords in flags are not shown.
    let mut process = Process::start_with(
        &home.path().join("data"),
        &["--service-account-issuer=https://user:s3cret@issuer.example.com"],
    );
    process.config_maps().await;
    process.says("serving").await;
    process.signal("TERM");
    assert!(process.ended().await.success());
    let logged = process.logged();
    assert_eq!(logged.lines().count(), 4, "{logged}");
    assert!(logged.contains("stopped reason=\"SIGTERM\"") && !logged.contains("s3cret"), "{logged}");
}

/// An extension server that is refused is checked again and again, and named once.
#[tokio::test]
async fn an_extension_server_that_is_not_available_is_one_line() {
    let home = TempDir::new().unwrap();
    let process = Process::start(&home.path().join("data"));
    process.config_maps().await;
    let client = crate::client(process.kubeconfig()).await;
    let post = async |path: &str, object: Value| {
        let request = http::Request::post(path).header("content-type", "application/json");
        let request = request.body(object.to_string().into_bytes()).unwrap();
        client.request_text(request).await.unwrap();
    };
    let service = json!({
        "apiVersion": "v1", "kind": "Service", "metadata": { "name": "here" },
        "spec": { "type": "ExternalName", "externalName": "127.0.0.1" },
    });
    post("/api/v1/namespaces/default/services", service).await;
    let api_service = json!({
        "apiVersion": "apiregistration.k8s.io/v1", "kind": "APIService",
        "metadata": { "name": "v1.zoo.example.dev" },
        "spec": {
            "group": "zoo.example.dev", "version": "v1", "groupPriorityMinimum": 100, "versionPriority": 10,
            "insecureSkipTLSVerify": true, "service": { "namespace": "default", "name": "here", "port": 7555 },
        },
    });
    post("/apis/apiregistration.k8s.io/v1/apiservices", api_service).await;
    process.says("an extension server is not available").await;
    // Checked again after 0.25 s and 0.5 s.
    tokio::time::sleep(Duration::from_millis(1500)).await;
    let logged = process.logged();
    let lines: Vec<&str> = logged.lines().filter(|line| line.contains("extension server")).collect();
    assert_eq!(lines.len(), 1, "{logged}");
    for fact in ["v1.zoo.example.dev", "127.0.0.1 is a loopback address", "--allow-loopback-backends"] {
        assert!(lines[0].contains(fact), "{fact}: {logged}");
    }
}

/// A pipe accepts 64 KiB, and then nothing more until it is read.
#[tokio::test]
async fn a_log_that_nobody_reads_holds_up_no_request() {
    let home = TempDir::new().unwrap();
    let flags = ["-v=8"];
    let directory = home.path().join("data");
    let mut process = Process::spawn_prepared(&directory, &flags, ":", Stdio::piped());
    process.announced();
    let maps = process.config_maps().await;
    for number in 0..100 {
        let object = config_map(&format!("map-{number}"), "");
        tokio::time::timeout(PATIENCE, maps.create(&PostParams::default(), &object)).await.unwrap().unwrap();
    }
    process.signal("TERM");
    assert!(process.ended().await.success());
}
