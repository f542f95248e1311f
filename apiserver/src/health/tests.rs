use http_body_util::BodyExt as _;
use registry_core::registry::{Compiled, Store};
use registry_core::resource::{Resource as _, Versions};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::transform::Identity;
use registry_core::storage::versioned::VersionedStore;
use resources::api::core::namespaces::Namespaces;

use super::checks::FirstStart;
use super::*;

fn health() -> (Health, Arc<Completion>) {
    let hook = Arc::new(Completion::default());
    let mut health = Health::default();
    health.add("ping", Endpoint::ALL, Arc::new(PingCheck));
    health.add("etcd", Endpoint::ALIVE, Arc::new(PingCheck));
    health.add("poststarthook/a", Endpoint::ALL, hook.clone());
    (health, hook)
}

async fn ask(health: &Health, uri: &str) -> (u16, String) {
    let (path, query) = uri.split_once('?').unwrap_or((uri, ""));
    let (endpoint, rest) = Endpoint::from_path(path).expect("a health path");
    let response = health.respond(endpoint, rest, query).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.unwrap().to_bytes();
    (status, String::from_utf8(body.to_vec()).unwrap())
}

#[tokio::test]
async fn reports_are_written_as_kubernetes_writes_them() {
    let (health, hook) = health();
    let failed = "[+]ping ok\n[+]etcd ok\n[-]poststarthook/a failed: reason withheld\nlivez check failed\n";
    assert_eq!(ask(&health, "/livez").await, (500, failed.to_owned()));
    assert_eq!(
        ask(&health, "/livez/poststarthook/a").await,
        (500, "internal server error: not finished\n".to_owned())
    );
    assert_eq!(ask(&health, "/livez?exclude=poststarthook/a").await, (200, "ok".to_owned()));

    hook.complete();
    assert_eq!(ask(&health, "/readyz").await, (200, "ok".to_owned()));
    let verbose = "[+]ping ok\n[+]etcd excluded: ok\n[+]poststarthook/a ok\nhealthz check passed\n";
    assert_eq!(ask(&health, "/healthz?verbose&exclude=etcd").await, (200, verbose.to_owned()));
    let (_, warned) =
        ask(&health, "/readyz?verbose=1&exclude=ping&exclude=poststarthook/b,ping&exclude=etcd").await;
    let warning =
        "warn: some health checks cannot be excluded: no matches for \"etcd\",\"poststarthook/b,ping\"\n";
    assert!(warned.contains(warning), "{warned}");
}

#[tokio::test]
async fn failing_checks_do_not_fail_livez_in_its_grace_period() {
    let (mut health, _) = health();
    health.tolerate_for(Duration::from_millis(500));
    assert_eq!(ask(&health, "/livez").await, (200, "ok".to_owned()));
    assert_eq!(ask(&health, "/readyz").await.0, 500);
    tokio::time::sleep(Duration::from_millis(600)).await;
    assert_eq!(ask(&health, "/livez").await.0, 500);
}

#[tokio::test]
async fn single_checks_have_their_own_paths() {
    let (health, _) = health();
    assert_eq!(ask(&health, "/healthz/etcd").await, (200, "ok".to_owned()));
    let missing = (404, "404 page not found\n".to_owned());
    assert_eq!(ask(&health, "/readyz/etcd").await, missing);
    assert_eq!(ask(&health, "/livez/zork").await, missing);
    assert_eq!(ask(&health, "/livez/").await, missing);
    assert!(Endpoint::from_path("/livezork").is_none());
}

#[tokio::test]
async fn an_informer_without_its_first_list_is_not_ready() {
    let resource = Namespaces::TYPE.instantiate();
    let versions = Arc::new(Versions::only(resource.clone()));
    let storage = Arc::new(VersionedStore::new(Embedded::in_memory(), Arc::new(Identity), versions));
    let (_, informer) = Compiled::informer(Store::new(resource, storage, "/registry"), Some);
    let task = informer.into_task();
    let synced = task.synced();
    let check = ReadinessCheck::new(Arc::default(), vec![(task.resource(), synced.clone())]);
    let waiting = "namespaces: its objects are being read".to_owned();
    assert_eq!(check.check().await, Err(Unhealthy(waiting)));
    let running = tokio::spawn(task.run());
    assert!(synced.wait().await);
    assert_eq!(check.check().await, Ok(()));
    running.abort();
}

#[test]
fn stores_count_until_they_were_all_ready_once_or_a_minute_has_passed() {
    let begun = Instant::now();
    let waiting = || vec!["secrets: damaged".to_owned()];
    let after = |seconds| begun + Duration::from_secs(seconds);
    for (was_ready, asked_at, expected) in
        [(false, 0, 1), (false, 59, 1), (false, 60, 0), (true, 0, 0), (true, 3_600, 0)]
    {
        let first_start = FirstStart::begin(begun);
        if was_ready {
            assert!(first_start.waiting(begun, Vec::new).is_empty());
        }
        assert_eq!(first_start.waiting(after(asked_at), waiting).len(), expected, "{was_ready} {asked_at}");
    }
    // It is over for ever, also if nobody has asked while all were ready.
    let first_start = FirstStart::begin(begun);
    assert!(first_start.waiting(after(60), waiting).is_empty());
    assert!(first_start.waiting(after(61), waiting).is_empty());
}
