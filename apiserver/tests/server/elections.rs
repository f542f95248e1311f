//! Coordinated elections of leaders, as candidates and holders of Leases see them.

use apiserver::testing::TestServer;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::servers::{refusal, start, start_over, until};

const FLAGS: [&str; 5] = [
    "--feature-gates=CoordinatedLeaderElection=true",
    "--runtime-config=coordination.k8s.io/v1beta1=true",
    "--coordinated-leadership-lease-duration=2s",
    "--coordinated-leadership-renew-deadline=1s",
    "--coordinated-leadership-retry-period=100ms",
];
const CANDIDATES: &str = "/apis/coordination.k8s.io/v1beta1/namespaces/default/leasecandidates";
const LEASE: &str = "/apis/coordination.k8s.io/v1/namespaces/default/leases/l";
const ELECTOR: &str = "/apis/coordination.k8s.io/v1/namespaces/kube-system/leases/leader-election-controller";
const OLDEST: &str = "OldestEmulationVersion";
/// A time at which nobody was alive.
const OLD: &str = "2020-01-01T00:00:00.000000Z";

fn moment(seconds_ago: i64) -> Value {
    let now = jiff::Timestamp::now() - jiff::SignedDuration::from_secs(seconds_ago);
    registry_core::api::time::format_microseconds(now).into()
}

/// Creates a candidate that was heard of just now.
async fn stand(server: &TestServer, name: &str, version: &str, strategy: &str) {
    let spec = json!({
        "leaseName": "l", "binaryVersion": "1.36.0", "emulationVersion": version, "strategy": strategy,
        "renewTime": moment(0),
    });
    create(server, name, &spec).await;
}

async fn create(server: &TestServer, name: &str, spec: &Value) {
    let candidate = json!({
        "apiVersion": "coordination.k8s.io/v1beta1", "kind": "LeaseCandidate", "metadata": { "name": name },
        "spec": spec,
    });
    server.call("POST", CANDIDATES, &candidate).await.unwrap();
}

async fn get(server: &TestServer, path: &str) -> Option<Value> {
    server.call("GET", path, &Value::Null).await.ok()
}

/// Waits until a field of a Lease has a value.
async fn wait_for(server: &TestServer, lease: &str, field: &str, value: &str) {
    until(&format!("{lease}: {field} is not {value}"), async || {
        get(server, lease).await.filter(|lease| lease["spec"][field] == value)
    })
    .await;
}

/// Changes the Lease as its holder, and repeats that if it was changed meanwhile.
async fn hold(server: &TestServer, edit: impl Fn(&mut Value)) {
    until("the Lease cannot be changed", async || {
        let mut lease = get(server, LEASE).await?;
        edit(&mut lease["spec"]);
        server.call("PUT", LEASE, &lease).await.ok()
    })
    .await;
}

async fn elector(server: &TestServer) -> Option<String> {
    let lease = get(server, ELECTOR).await?;
    lease["spec"]["holderIdentity"].as_str().filter(|holder| !holder.is_empty()).map(str::to_owned)
}

#[tokio::test]
async fn the_oldest_release_is_elected_and_a_holder_is_told_of_a_better_one() {
    let server = start(&FLAGS).await;
    stand(&server, "a", "1.35.0", OLDEST).await;
    wait_for(&server, LEASE, "holderIdentity", "a").await;
    let lease = get(&server, LEASE).await.unwrap();
    assert_eq!(
        (&lease["spec"]["strategy"], &lease["spec"]["leaseDurationSeconds"]),
        (&json!(OLDEST), &json!(5))
    );
    hold(&server, |spec| {
        spec["leaseDurationSeconds"] = 600.into();
        spec["renewTime"] = moment(0);
    })
    .await;
    stand(&server, "b", "1.34.0", OLDEST).await;
    // The first was heard of some seconds ago, and may be asked before.
    until("b is not preferred", async || {
        answer(&server, "a").await;
        answer(&server, "b").await;
        get(&server, LEASE).await.filter(|lease| lease["spec"]["preferredHolder"] == "b")
    })
    .await;
    assert_eq!(
        get(&server, LEASE).await.unwrap()["spec"]["holderIdentity"],
        "a",
        "a holder gives up by itself"
    );
    hold(&server, |spec| spec["holderIdentity"] = "".into()).await;
    until("b does not lead", async || {
        answer(&server, "b").await;
        get(&server, LEASE).await.filter(|lease| lease["spec"]["holderIdentity"] == "b")
    })
    .await;
    assert_eq!(get(&server, LEASE).await.unwrap()["spec"].get("preferredHolder"), None);
}

/// Lets a candidate answer, if it was asked.
async fn answer(server: &TestServer, name: &str) {
    let path = format!("{CANDIDATES}/{name}");
    let mut candidate = get(server, &path).await.unwrap();
    if candidate["spec"].get("pingTime").is_some() {
        candidate["spec"]["renewTime"] = moment(0);
        let _ = server.call("PUT", &path, &candidate).await;
    }
}

#[tokio::test]
async fn silent_candidates_are_asked_and_dead_ones_are_removed() {
    let server = start(&FLAGS).await;
    let silent = json!({
        "leaseName": "l", "binaryVersion": "1.0.0", "emulationVersion": "1.0.0", "strategy": OLDEST, "renewTime": moment(60),
    });
    create(&server, "silent", &silent).await;
    until("nobody asks", async || {
        let candidate = get(&server, &format!("{CANDIDATES}/silent")).await?;
        candidate["spec"].get("pingTime").cloned()
    })
    .await;
    assert_eq!(get(&server, LEASE).await, None, "it has not answered");
    stand(&server, "alive", "1.35.0", OLDEST).await;
    until("the one that is alive does not lead", async || {
        answer(&server, "alive").await;
        get(&server, LEASE).await.filter(|lease| lease["spec"]["holderIdentity"] == "alive")
    })
    .await;
    let mut unheard = silent.clone();
    unheard["leaseName"] = "other".into();
    unheard["renewTime"] = Value::Null;
    create(&server, "unheard", &unheard).await;
    let mut dead = silent.clone();
    dead["renewTime"] = OLD.into();
    dead["pingTime"] = moment(3600);
    dead["leaseName"] = "other".into();
    create(&server, "dead", &dead).await;
    let path = format!("{CANDIDATES}/dead");
    until("a dead candidate remains", async || get(&server, &path).await.is_none().then_some(())).await;
    let unheard = get(&server, &format!("{CANDIDATES}/unheard")).await;
    assert!(unheard.is_some(), "it may be new");
}

#[tokio::test]
async fn candidates_that_contradict_each_other_elect_nobody_and_other_strategies_choose_elsewhere() {
    let server = start(&FLAGS).await;
    stand(&server, "a", "1.35.0", "example.com/mine").await;
    wait_for(&server, LEASE, "strategy", "example.com/mine").await;
    assert_eq!(get(&server, LEASE).await.unwrap()["spec"].get("holderIdentity"), None);
    server.call("DELETE", &format!("{CANDIDATES}/a"), &Value::Null).await.unwrap();
    let spec = |lease: &str, strategy: &str| {
        json!({
            "leaseName": lease, "binaryVersion": "1.36.0", "emulationVersion": "1.35.0", "strategy": strategy,
            "renewTime": moment(0),
        })
    };
    create(&server, "x", &spec("contested", OLDEST)).await;
    create(&server, "y", &spec("contested", "example.com/mine")).await;
    // The first was elected if it was alone for a moment. From now on both are alive.
    for name in ["x", "y"] {
        until("a candidate is not renewed", async || {
            let path = format!("{CANDIDATES}/{name}");
            let mut candidate = get(&server, &path).await?;
            candidate["spec"]["renewTime"] = moment(0);
            server.call("PUT", &path, &candidate).await.ok()
        })
        .await;
    }
    let contested = LEASE.replace("leases/l", "leases/contested");
    let _ = server.call("DELETE", &contested, &Value::Null).await;
    // Elections of others go on meanwhile.
    stand(&server, "b", "1.35.0", OLDEST).await;
    wait_for(&server, LEASE, "holderIdentity", "b").await;
    assert_eq!(get(&server, &contested).await, None);
}

#[tokio::test]
async fn another_server_elects_when_the_first_stops_or_dies() {
    let etcd = Etcd::start().await.unwrap();
    let (first, second) = (start_over(&etcd, &FLAGS).await, start_over(&etcd, &FLAGS).await);
    let before = until("nobody elects", async || elector(&second).await).await;
    first.stop().await;
    let third = start_over(&etcd, &FLAGS).await;
    stand(&third, "a", "1.35.0", OLDEST).await;
    wait_for(&third, LEASE, "holderIdentity", "a").await;
    let now = until("nobody elects", async || elector(&third).await).await;
    // An elector that can no longer renew its Lease: another one holds it.
    let mut lease = get(&third, ELECTOR).await.unwrap();
    lease["spec"]["holderIdentity"] = "somebody else".into();
    lease["spec"]["renewTime"] = OLD.into();
    let _ = third.call("PUT", ELECTOR, &lease).await;
    let after = until("nobody takes it over", async || {
        elector(&third).await.filter(|holder| holder != "somebody else")
    })
    .await;
    assert!(!before.is_empty() && !now.is_empty() && !after.is_empty());
    second.stop().await;
}

#[tokio::test]
async fn without_the_gate_nobody_is_elected_and_with_it_the_times_have_to_fit() {
    let server = start(&["--runtime-config=coordination.k8s.io/v1beta1=true"]).await;
    stand(&server, "a", "1.35.0", OLDEST).await;
    let lease = json!({
        "apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": { "name": "own" },
        "spec": { "strategy": OLDEST, "preferredHolder": "b", "holderIdentity": "a" },
    });
    let leases = LEASE.trim_end_matches("/l");
    let created = server.call("POST", leases, &lease).await.unwrap();
    assert_eq!(created["spec"], json!({ "holderIdentity": "a" }));
    assert_eq!((get(&server, LEASE).await, get(&server, ELECTOR).await), (None, None));
    let refused = refusal(&[FLAGS[0], "--coordinated-leadership-renew-deadline=15s"]).await;
    assert!(refused.contains("must be shorter than --coordinated-leadership-lease-duration"), "{refused}");
    let with = start(&FLAGS).await;
    let created = with.call("POST", leases, &lease).await.unwrap();
    assert_eq!(
        (&created["spec"]["strategy"], &created["spec"]["preferredHolder"]),
        (&json!(OLDEST), &json!("b"))
    );
}
