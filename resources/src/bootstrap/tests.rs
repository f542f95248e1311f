use registry_core::features::Features;
use registry_core::resource::Resource;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::Mvcc as _;

use super::*;
use crate::api::core::endpoints::Endpoints;
use crate::api::core::namespaces::Namespaces;
use crate::api::core::services::{NodePortRange, ServiceAllocation, Services};
use crate::api::flowcontrol::flowschemas::FlowSchemas;
use crate::api::networking::servicecidrs::ServiceCIDRs;
use crate::support::system_writer::SystemWriter;

async fn exists<R: Resource>(installed: &InstalledApi, namespace: &str, name: &str) -> bool {
    SystemWriter::for_resource::<R>(installed).unwrap().get_newest(namespace, name).await.unwrap().is_some()
}

#[tokio::test]
async fn deleted_objects_are_made_anew_by_the_next_run_and_changes_of_others_stay() {
    let plurals = ["services", "endpoints", "flowschemas", "prioritylevelconfigurations", "servicecidrs"];
    let installed = crate::testing::installed(&plurals);
    let facts = ServerFacts {
        service_ranges: "10.0.0.0/24".parse().unwrap(),
        advertise_address: Some("192.0.2.7".parse().unwrap()),
        endpoints_owner: EndpointsOwner::Count(2),
        host_name: None,
        peer_address: None,
        secure_port: 6443,
        authentication: PublishedAuthentication::default(),
        features: Feature::ALL.to_vec(),
        pending_versions: None,
    };
    let node_ports = NodePortRange::default();
    let ranges = ServiceAllocation { addresses: facts.service_ranges, node_ports };
    let mut hooks = crate::attach_hooks(&installed, ranges, None, Features::default()).hooks;
    hooks.extend(post_start_hooks(&installed, &facts));
    for hook in &hooks {
        hook.run().await.unwrap();
    }
    let remove = async |system_writer: Option<SystemWriter>, namespace: &str, name: &str| {
        system_writer.unwrap().remove(namespace, name).await.unwrap();
    };
    remove(SystemWriter::for_resource::<Services>(&installed), "default", "kubernetes").await;
    remove(SystemWriter::for_resource::<FlowSchemas>(&installed), "", "catch-all").await;
    remove(SystemWriter::for_resource::<ServiceCIDRs>(&installed), "", "kubernetes").await;
    let run_again = async || {
        for hook in hooks.iter().filter(|hook| hook.period().is_some()) {
            hook.run().await.unwrap();
        }
    };
    // The endpoints went with the service.
    assert!(!exists::<Endpoints>(&installed, "default", "kubernetes").await);
    run_again().await;
    let endpoints = SystemWriter::for_resource::<Endpoints>(&installed).unwrap();
    let of_another_server =
        serde_json::json!([{ "addresses": [{ "ip": "192.0.2.8" }], "ports": [{ "port": 1 }] }]);
    endpoints
        .change("default", "kubernetes", |present| {
            let mut changed = present.clone();
            changed.set(&["subsets"], of_another_server.clone());
            changed
        })
        .await
        .unwrap();
    run_again().await;
    assert!(exists::<Services>(&installed, "default", "kubernetes").await);
    assert!(exists::<FlowSchemas>(&installed, "", "catch-all").await);
    assert!(exists::<ServiceCIDRs>(&installed, "", "kubernetes").await);
    let present = endpoints.get_newest("default", "kubernetes").await.unwrap().unwrap();
    let subsets = present.get(&["subsets"]).unwrap();
    let both = serde_json::json!([{ "ip": "192.0.2.7" }, { "ip": "192.0.2.8" }]);
    assert_eq!((&subsets[0]["addresses"], &subsets[0]["ports"][0]["port"]), (&both, &1.into()));
}

#[tokio::test]
async fn system_namespaces_that_are_gone_are_made_anew() {
    let engine = Embedded::in_memory();
    let installed = crate::testing::installed_over(engine.clone(), &["namespaces"]);
    let hook = simple::namespaces(&installed).unwrap();
    assert!(hook.period().is_some_and(|period| period <= Duration::from_mins(1)));
    for _ in 0..2 {
        hook.run().await.unwrap();
        for name in ["default", "kube-system", "kube-public", "kube-node-lease"] {
            assert!(exists::<Namespaces>(&installed, "", name).await, "{name}");
        }
        // Removes it as the namespace controller does.
        let key = "/registry/namespaces/kube-node-lease";
        let revision = engine.get(key).await.unwrap().key_value.unwrap().mod_revision;
        engine.delete_if(key, revision).await.unwrap();
        assert!(!exists::<Namespaces>(&installed, "", "kube-node-lease").await);
    }
}
