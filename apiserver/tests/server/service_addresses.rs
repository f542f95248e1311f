//! Addresses and node ports of services, as clients of one or several servers see them.

use apiserver::testing::TestServer;
use registry_core::storage::mvcc::Mvcc as _;
use registry_core::storage::testing::etcd::Etcd;
use serde_json::{Value, json};

use crate::servers::{get, start, start_over, until};

const SERVICES: &str = "/api/v1/namespaces/default/services";
const RANGES: &str = "/apis/networking.k8s.io/v1/servicecidrs";
const ADDRESSES: &str = "/apis/networking.k8s.io/v1/ipaddresses";

fn service(name: &str, spec: &Value) -> Value {
    let mut whole = json!({ "ports": [{ "port": 80 }], "selector": { "app": "a" } });
    for (field, value) in spec.as_object().unwrap() {
        whole[field] = value.clone();
    }
    json!({ "apiVersion": "v1", "kind": "Service", "metadata": { "name": name }, "spec": whole })
}

async fn create(server: &TestServer, name: &str, spec: &Value) -> Result<Value, String> {
    let created = server.call("POST", SERVICES, &service(name, spec)).await;
    created.map(|service| service["spec"].clone()).map_err(|error| error.to_string())
}

/// Changes a service by a function of the present one.
async fn change(server: &TestServer, name: &str, edit: impl Fn(&mut Value)) -> Result<Value, String> {
    let path = format!("{SERVICES}/{name}");
    let mut service = get(server, &path).await.unwrap();
    edit(&mut service["spec"]);
    let changed = server.call("PUT", &path, &service).await;
    changed.map(|service| service["spec"].clone()).map_err(|error| error.to_string())
}

async fn delete(server: &TestServer, path: &str) {
    server.call("DELETE", path, &Value::Null).await.unwrap();
}

fn range(name: &str, cidrs: &Value) -> Value {
    json!({
        "apiVersion": "networking.k8s.io/v1", "kind": "ServiceCIDR", "metadata": { "name": name },
        "spec": { "cidrs": cidrs },
    })
}

#[tokio::test]
async fn service_cidr_objects_rule_what_addresses_are_allocated() {
    let server = start(&["--service-cluster-ip-range=10.0.0.0/29"]).await;
    // The server's own service has one of six.
    for number in 0..5 {
        create(&server, &format!("first-{number}"), &json!({})).await.unwrap();
    }
    let refused = create(&server, "full", &json!({})).await.unwrap_err();
    let is_full =
        refused.contains("failed to allocate a serviceIP for Service") && refused.contains("range is full");
    assert!(is_full, "{refused}");
    let outside = json!({ "clusterIP": "10.1.0.9" });
    let refused = create(&server, "outside", &outside).await.unwrap_err();
    assert!(refused.contains("the provided network does not match the current range"), "{refused}");

    let made = range("more", &json!(["10.1.0.0/24"]));
    let mut made = server.call("POST", RANGES, &made).await.unwrap();
    let spec = create(&server, "second", &json!({})).await.unwrap();
    let address = spec["clusterIP"].as_str().unwrap().to_owned();
    assert!(address.starts_with("10.1.0."), "{spec}");
    let object = get(&server, &format!("{ADDRESSES}/{address}")).await.unwrap();
    assert_eq!(object["spec"]["parentRef"]["name"], "second");
    create(&server, "outside", &outside).await.unwrap();

    // A range that is not ready, or is being deleted, gives no more.
    made["status"] = json!({ "conditions": [{
        "type": "Ready", "status": "False", "reason": "a", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
    }]});
    made["metadata"]["resourceVersion"] = Value::Null;
    server.call("PUT", &format!("{RANGES}/more/status"), &made).await.unwrap();
    let refused = create(&server, "full", &json!({})).await.unwrap_err();
    assert!(refused.contains("range is full"), "{refused}");
    made["status"]["conditions"][0]["status"] = "True".into();
    server.call("PUT", &format!("{RANGES}/more/status"), &made).await.unwrap();
    create(&server, "third", &json!({})).await.unwrap();
    made["metadata"]["finalizers"] = json!(["example.com/held"]);
    server.call("PUT", &format!("{RANGES}/more"), &made).await.unwrap();
    delete(&server, &format!("{RANGES}/more")).await;
    let refused = create(&server, "full", &json!({})).await.unwrap_err();
    assert!(refused.contains("range is full"), "{refused}");
    let refused = create(&server, "full", &json!({ "clusterIP": "10.1.0.77" })).await.unwrap_err();
    assert!(refused.contains("the provided network does not match the current range"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn any_address_of_a_large_range_can_be_asked_for() {
    let server = start(&["--service-cluster-ip-range=2001:db8::/64"]).await;
    let last = json!({ "clusterIP": "2001:db8::ffff:ffff:ffff:ffff" });
    create(&server, "last", &last).await.unwrap();
    let refused = create(&server, "again", &last).await.unwrap_err();
    assert!(refused.contains("provided IP is already allocated"), "{refused}");
    let spec = create(&server, "any", &json!({})).await.unwrap();
    assert_eq!(spec["ipFamilies"], json!(["IPv6"]));
    let own = get(&server, &format!("{SERVICES}/kubernetes")).await.unwrap();
    assert_eq!(own["spec"]["clusterIP"], "2001:db8::1");
    let ranges = get(&server, &format!("{RANGES}/kubernetes")).await.unwrap();
    assert_eq!(ranges["spec"]["cidrs"], json!(["2001:db8::/64"]));
    server.stop().await;
}

/// Returns the family of each address.
fn families(spec: &Value) -> Vec<&'static str> {
    let addresses = spec["clusterIPs"].as_array().into_iter().flatten();
    addresses.map(|address| if address.as_str().unwrap().contains(':') { "IPv6" } else { "IPv4" }).collect()
}

#[tokio::test]
async fn services_get_addresses_of_the_families_of_their_policy() {
    for (flag, first, second) in [
        ("--service-cluster-ip-range=10.0.0.0/16,2001:db8:1::/112", "IPv4", "IPv6"),
        ("--service-cluster-ip-range=2001:db8:1::/112,10.0.0.0/16", "IPv6", "IPv4"),
    ] {
        let server = start(&[flag]).await;
        for (name, spec, expected) in [
            ("plain", json!({}), vec![first]),
            ("single", json!({ "ipFamilyPolicy": "SingleStack" }), vec![first]),
            ("other", json!({ "ipFamilies": [second] }), vec![second]),
            ("prefer", json!({ "ipFamilyPolicy": "PreferDualStack" }), vec![first, second]),
            ("require", json!({ "ipFamilyPolicy": "RequireDualStack" }), vec![first, second]),
            (
                "turned",
                json!({ "ipFamilyPolicy": "RequireDualStack", "ipFamilies": [second] }),
                vec![second, first],
            ),
            (
                "both",
                json!({ "ipFamilyPolicy": "PreferDualStack", "ipFamilies": [second, first] }),
                vec![second, first],
            ),
        ] {
            let spec = create(&server, name, &spec).await.unwrap();
            assert_eq!(
                (families(&spec), &spec["ipFamilies"]),
                (expected.clone(), &json!(expected)),
                "{flag} {name}"
            );
            assert_eq!(spec["clusterIP"], spec["clusterIPs"][0]);
            for address in spec["clusterIPs"].as_array().unwrap() {
                let object =
                    get(&server, &format!("{ADDRESSES}/{}", address.as_str().unwrap())).await.unwrap();
                assert_eq!(object["spec"]["parentRef"]["name"], name);
            }
        }
        let headless = json!({ "clusterIP": "None", "selector": null });
        let spec = create(&server, "free", &headless).await.unwrap();
        assert_eq!(spec["ipFamilies"], json!([first, second]));
        assert_eq!(
            (&spec["clusterIPs"], &spec["ipFamilyPolicy"]),
            (&json!(["None"]), &json!("RequireDualStack"))
        );
        let selecting = json!({ "clusterIP": "None", "ipFamilyPolicy": "PreferDualStack" });
        let spec = create(&server, "selecting", &selecting).await.unwrap();
        assert_eq!((&spec["clusterIPs"], &spec["ipFamilies"]), (&json!(["None"]), &json!([first, second])));
        let own = get(&server, &format!("{SERVICES}/kubernetes")).await.unwrap();
        assert_eq!(
            (&own["spec"]["ipFamilies"], &own["spec"]["ipFamilyPolicy"]),
            (&json!([first]), &json!("SingleStack"))
        );
        server.stop().await;
    }
}

#[tokio::test]
async fn services_gain_and_give_up_a_second_address() {
    let server = start(&["--service-cluster-ip-range=10.0.0.0/16,2001:db8:1::/112"]).await;
    let before = create(&server, "a", &json!({})).await.unwrap();
    let both = change(&server, "a", |spec| spec["ipFamilyPolicy"] = "RequireDualStack".into()).await.unwrap();
    assert_eq!(families(&both), ["IPv4", "IPv6"]);
    assert_eq!(both["clusterIP"], before["clusterIP"]);
    let second = both["clusterIPs"][1].as_str().unwrap().to_owned();
    assert!(get(&server, &format!("{ADDRESSES}/{second}")).await.is_some());

    let refused = change(&server, "a", |spec| spec["clusterIPs"] = json!([spec["clusterIP"]])).await;
    let refused = refused.unwrap_err();
    assert!(refused.contains("must be 'SingleStack' to release the secondary cluster IP"), "{refused}");
    let refused =
        change(&server, "a", |spec| spec["ipFamilies"] = json!(["IPv6", "IPv4"])).await.unwrap_err();
    assert!(refused.contains("expected an IPv6 value as indicated by `ipFamilies[0]`"), "{refused}");

    let single = change(&server, "a", |spec| spec["ipFamilyPolicy"] = "SingleStack".into()).await.unwrap();
    assert_eq!((families(&single), &single["ipFamilies"]), (vec!["IPv4"], &json!(["IPv4"])));
    let path = format!("{ADDRESSES}/{second}");
    until("the address is kept", async || get(&server, &path).await.is_none().then_some(())).await;

    // Changes of other fields add nothing.
    let other = change(&server, "a", |spec| spec["sessionAffinity"] = "ClientIP".into()).await.unwrap();
    assert_eq!(families(&other), ["IPv4"]);
    let named = json!({ "clusterIP": "10.0.7.7", "clusterIPs": ["10.0.7.7", "2001:db8:1::77"],
                        "ipFamilyPolicy": "PreferDualStack" });
    let spec = create(&server, "named", &named).await.unwrap();
    assert_eq!(spec["clusterIPs"], named["clusterIPs"]);

    let alias = change(&server, "named", |spec| {
        *spec = json!({ "type": "ExternalName", "externalName": "a.example.com" });
    });
    let alias = alias.await.unwrap();
    assert!(alias["clusterIPs"].is_null() && alias["ipFamilies"].is_null(), "{alias}");
    until("the address is kept", async || {
        get(&server, &format!("{ADDRESSES}/2001:db8:1::77")).await.is_none().then_some(())
    })
    .await;
    let back = change(&server, "named", |spec| {
        *spec =
            json!({ "type": "ClusterIP", "ports": [{ "port": 80 }], "ipFamilyPolicy": "PreferDualStack" });
    });
    assert_eq!(families(&back.await.unwrap()), ["IPv4", "IPv6"]);
    server.stop().await;
}

#[tokio::test]
async fn a_cluster_refuses_with_the_reason_addresses_that_it_cannot_give() {
    let single = start(&[]).await;
    let dual = start(&["--service-cluster-ip-range=10.0.0.0/16,2001:db8:1::/112"]).await;
    for (server, spec, reason) in [
        (
            &single,
            json!({ "ipFamilyPolicy": "RequireDualStack" }),
            "this cluster is not configured for dual-stack services",
        ),
        (&single, json!({ "ipFamilies": ["IPv6"] }), "not configured on this cluster"),
        (&single, json!({ "clusterIP": "2001:db8:1::7" }), "IPv6 is not configured on this cluster"),
        (
            &dual,
            json!({ "ipFamilies": ["IPv4", "IPv6"] }),
            "must be 'RequireDualStack' or 'PreferDualStack' when multiple IP families are specified",
        ),
        (
            &dual,
            json!({ "ipFamilies": ["IPv4", "IPv4"], "ipFamilyPolicy": "PreferDualStack" }),
            "Duplicate value",
        ),
        (&dual, json!({ "ipFamilies": ["IPv5"] }), "Unsupported value"),
        (&dual, json!({ "ipFamilies": vec!["IPv4"; 33] }), "Duplicate value"),
        (&dual, json!({ "ipFamilyPolicy": "zork" }), "Unsupported value"),
        (
            &dual,
            json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "2001:db8:1::9"] }),
            "when multiple cluster IPs are specified",
        ),
        (
            &dual,
            json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "10.0.0.8"], "ipFamilyPolicy": "PreferDualStack" }),
            "may specify no more than one IP for each IP family",
        ),
        (
            &dual,
            json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "2001:db8:2::9"], "ipFamilyPolicy": "PreferDualStack" }),
            "the provided network does not match the current range",
        ),
    ] {
        let refused = create(server, "refused", &spec).await.unwrap_err();
        assert!(refused.contains(reason), "{spec}: {refused}");
    }
    // Nothing of what was refused is kept.
    let spec = json!({ "clusterIP": "10.0.0.9", "clusterIPs": ["10.0.0.9", "2001:db8:1::9"], "ipFamilyPolicy": "PreferDualStack" });
    create(&dual, "refused", &spec).await.unwrap();
    let single_prefers =
        create(&single, "prefers", &json!({ "ipFamilyPolicy": "PreferDualStack" })).await.unwrap();
    assert_eq!(single_prefers["ipFamilies"], json!(["IPv4"]));
    single.stop().await;
    dual.stop().await;
}

#[tokio::test]
async fn node_ports_come_from_their_range_and_are_given_up_with_the_balancers_wish() {
    let server = start(&["--service-node-port-range=20000-20003"]).await;
    let balancer = json!({ "type": "LoadBalancer" });
    let port = |spec: &Value| spec["ports"][0]["nodePort"].as_i64();
    let spec = create(&server, "a", &balancer).await.unwrap();
    let first = port(&spec).unwrap();
    assert!((20_000..=20_003).contains(&first), "{spec}");
    let refused =
        create(&server, "b", &json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30_000 }] }))
            .await;
    let refused = refused.unwrap_err();
    assert!(refused.contains("The range of valid ports is 20000-20003"), "{refused}");
    let without = |spec: &mut Value| {
        spec["allocateLoadBalancerNodePorts"] = false.into();
        spec["ports"][0]["nodePort"] = 0.into();
    };
    let spec = change(&server, "a", without).await.unwrap();
    assert_eq!(port(&spec), None, "{spec}");
    let again = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": first }] });
    create(&server, "b", &again).await.unwrap();
    // An update that leaves the port out keeps it as long as the balancer wants one.
    let spec = create(&server, "c", &balancer).await.unwrap();
    let kept = change(&server, "c", |spec| spec["ports"][0]["nodePort"] = Value::Null).await.unwrap();
    assert_eq!(port(&kept), port(&spec));
    for name in ["d", "e"] {
        create(&server, name, &json!({ "type": "NodePort" })).await.unwrap();
    }
    let refused = create(&server, "f", &json!({ "type": "NodePort" })).await.unwrap_err();
    assert!(refused.contains("failed to allocate a nodePort: range is full"), "{refused}");
    server.stop().await;
}

#[tokio::test]
async fn services_of_older_servers_are_read_whole_and_get_their_address_objects() {
    let etcd = Etcd::start().await.unwrap();
    let server = start_over(&etcd, &[]).await;
    let old = json!({
        "apiVersion": "v1", "kind": "Service",
        "metadata": { "name": "old", "namespace": "default", "uid": "u", "creationTimestamp": "2019-01-01T00:00:00Z" },
        "spec": { "clusterIP": "10.0.0.11", "ports": [{ "name": "p", "port": 81 }] },
    });
    let engine = etcd.connect().await;
    let key = "/registry/services/specs/default/old";
    // As kube-apiserver writes it: with a line feed.
    engine.put_if(key, 0, format!("{old}\n").into(), None).await.unwrap();
    let path = format!("{SERVICES}/old");
    let read = get(&server, &path).await.unwrap();
    assert_eq!(read["spec"]["clusterIPs"], json!(["10.0.0.11"]));
    assert_eq!(
        (&read["spec"]["ipFamilies"], &read["spec"]["ipFamilyPolicy"]),
        (&json!(["IPv4"]), &json!("SingleStack"))
    );
    let mut update = old.clone();
    update["spec"].as_object_mut().unwrap().remove("clusterIP");
    let updated = server.call("PUT", &path, &update).await.unwrap();
    assert_eq!(updated["spec"]["clusterIPs"], json!(["10.0.0.11"]));
    until("no object", async || get(&server, &format!("{ADDRESSES}/10.0.0.11")).await).await;
    server.stop().await;
}

#[tokio::test]
async fn two_servers_give_nothing_twice_and_reuse_what_the_other_released() {
    let etcd = Etcd::start().await.unwrap();
    let flags = ["--service-cluster-ip-range=10.0.0.0/26"];
    let (first, second) = (start_over(&etcd, &flags).await, start_over(&etcd, &flags).await);
    // 62 addresses, of which the servers' own service has one.
    let creations = (0..61).map(async |number: usize| {
        let server = if number.is_multiple_of(2) { &first } else { &second };
        create(server, &format!("s-{number}"), &json!({ "type": "NodePort" })).await.unwrap()
    });
    let specs = futures::future::join_all(creations).await;
    let mut addresses: Vec<&str> = specs.iter().map(|spec| spec["clusterIP"].as_str().unwrap()).collect();
    addresses.sort_unstable();
    addresses.dedup();
    assert_eq!(addresses.len(), 61);
    for server in [&first, &second] {
        let refused = create(server, "more", &json!({})).await.unwrap_err();
        assert!(refused.contains("range is full"), "{refused}");
    }
    let fixed = json!({
        "type": "NodePort", "clusterIP": specs[0]["clusterIP"], "ports": [{ "port": 80, "nodePort": 32_080 }],
    });
    delete(&second, &format!("{SERVICES}/s-0")).await;
    for _ in 0..3 {
        until("the address is not given back", async || create(&first, "fixed", &fixed).await.ok()).await;
        delete(&second, &format!("{SERVICES}/fixed")).await;
    }
    let more = range("more", &json!(["10.1.0.0/24"]));
    second.call("POST", RANGES, &more).await.unwrap();
    // The first server learns of the range by its watch.
    until("the range is not used", async || create(&first, "more-0", &json!({})).await.ok()).await;
    for number in 1..3 {
        create(&first, &format!("more-{number}"), &json!({})).await.unwrap();
    }
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_node_port_that_two_servers_are_asked_for_is_given_once() {
    let etcd = Etcd::start().await.unwrap();
    let flags = ["--service-node-port-range=30000-30015"];
    let (first, second) = (start_over(&etcd, &flags).await, start_over(&etcd, &flags).await);
    let fixed = json!({ "type": "NodePort", "ports": [{ "port": 80, "nodePort": 30_005 }] });
    for _ in 0..10 {
        let (left, right) =
            futures::future::join(create(&first, "left", &fixed), create(&second, "right", &fixed)).await;
        let (kept, refused) = match (&left, &right) {
            (Ok(_), Err(refused)) => ("left", refused),
            (Err(refused), Ok(_)) => ("right", refused),
            both => panic!("{both:?}"),
        };
        assert!(refused.contains("30005: provided port is already allocated"), "{refused}");
        // It is in use while the service is there, and free as soon as the service is gone, at both servers.
        for server in [&first, &second] {
            let again = create(server, "again", &fixed).await.unwrap_err();
            assert!(again.contains("provided port is already allocated"), "{again}");
        }
        delete(&second, &format!("{SERVICES}/{kept}")).await;
        create(&first, "again", &fixed).await.unwrap();
        delete(&first, &format!("{SERVICES}/again")).await;
        create(&second, "again", &fixed).await.unwrap();
        delete(&second, &format!("{SERVICES}/again")).await;
    }
    // Chosen ports differ too, of few.
    let creations = (0..12).map(async |number: usize| {
        let server = if number.is_multiple_of(2) { &first } else { &second };
        create(server, &format!("s-{number}"), &json!({ "type": "NodePort" })).await.unwrap()
    });
    let specs = futures::future::join_all(creations).await;
    let mut ports: Vec<i64> =
        specs.iter().map(|spec| spec["ports"][0]["nodePort"].as_i64().unwrap()).collect();
    ports.sort_unstable();
    ports.dedup();
    assert_eq!(ports.len(), 12, "{ports:?}");
    first.stop().await;
    second.stop().await;
}

#[tokio::test]
async fn a_range_of_the_second_family_is_added_to_the_object_of_the_first() {
    let first = TestServer::builder().flag("--service-cluster-ip-range=10.0.0.0/24").start().await.unwrap();
    let directory = first.directory().clone();
    first.stop().await;
    let flag = "--service-cluster-ip-range=10.0.0.0/24,2001:db8::/112";
    let next = TestServer::builder().directory(&directory).flag(flag).start().await.unwrap();
    let ranges = get(&next, &format!("{RANGES}/kubernetes")).await.unwrap();
    assert_eq!(ranges["spec"]["cidrs"], json!(["10.0.0.0/24", "2001:db8::/112"]));
    let ready = &ranges["status"]["conditions"][0];
    assert_eq!((&ready["type"], &ready["status"]), (&json!("Ready"), &json!("True")));
    create(&next, "a", &json!({ "ipFamilyPolicy": "RequireDualStack" })).await.unwrap();
    next.stop().await;
}
