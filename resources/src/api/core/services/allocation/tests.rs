use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{CreateOptions, DeleteOptions, ListOptions, Object, Reason, StatusError};
use registry_core::features::Features;
use registry_core::registry::{InstalledApi, Store};
use registry_core::resource::{ObjectStrategy as _, Resource as _};
use registry_core::rest::{AdmitAll, Creater as _, GracefulDeleter as _, Lister as _};
use registry_core::storage::embedded::Embedded;
use registry_core::storage::mvcc::{Mvcc, MvccError};
use registry_core::storage::testing::{Call, EngineHooks, FaultPlan, FaultyMvcc, Hooked};
use serde_json::{Value, json};
use tokio::sync::Notify;

use super::address_objects::object_of;
use super::owner::Owner;
use super::repair::AllocationRepair;
use super::{NodePortRange, ServiceAllocation, ServiceRanges, Services};
use crate::api::networking::ipaddresses::IPAddresses;
use crate::post_start::PostStartHook as _;
use crate::support::system_writer::SystemWriter;
use crate::testing::{installed, installed_over};

/// 14 addresses.
const RANGE: &str = "10.0.0.0/28";
const CAPACITY: usize = 14;
const PLURALS: &[&str] = &["services", "ipaddresses"];

/// Services with their allocator, over an engine.
struct Cluster {
    installed: InstalledApi,
    services: Arc<Store>,
    repair: AllocationRepair,
}

impl Cluster {
    fn new(installed: InstalledApi) -> Self {
        Self::with_ranges(installed, RANGE)
    }

    fn with_ranges(installed: InstalledApi, ranges: &str) -> Self {
        let addresses: ServiceRanges = ranges.parse().unwrap();
        let ranges = ServiceAllocation { addresses, node_ports: NodePortRange::default() };
        let repair = AllocationRepair(super::attach(&installed, ranges, None, Features::default()).unwrap());
        let services = installed.store(Services::TYPE).unwrap();
        Self { installed, services, repair }
    }

    fn addresses(&self) -> SystemWriter {
        SystemWriter::for_resource::<IPAddresses>(&self.installed).unwrap()
    }

    async fn create(&self, name: &str, spec: Value) -> Result<(), StatusError> {
        let mut service = Object::from_value(json!({ "metadata": { "name": name }, "spec": spec })).unwrap();
        crate::api::core::services::strategy::ServiceStrategy.apply_defaults(&mut service);
        let context = RequestContext::system("default");
        self.services.create(&context, service.into(), &AdmitAll, &CreateOptions::default()).await.map(drop)
    }

    async fn delete(&self, name: &str) {
        let context = RequestContext::system("default");
        self.services.delete(&context, name, &AdmitAll, &DeleteOptions::default()).await.unwrap();
    }

    async fn stored(&self) -> usize {
        let context = RequestContext::system("");
        self.services.list(&context, &ListOptions::default()).await.unwrap().items.len()
    }

    /// Fills the range: every address can be given, and no more.
    async fn fill(&self) {
        for number in self.stored().await..CAPACITY {
            let created = self.create(&format!("filling-{number}"), spec()).await;
            assert!(created.is_ok(), "address {number} of {CAPACITY}: {created:?}");
        }
        let refused = self.create("one-more", spec()).await.unwrap_err();
        assert!(refused.message.contains("range is full"), "{}", refused.message);
        let mut services = SystemWriter::new(self.services.clone())
            .list_newest(|service| service.get_str(&["spec", "clusterIP"]).unwrap_or_default().to_owned())
            .await
            .unwrap();
        let mut objects = self.addresses().list_newest(|object| object.name().to_owned()).await.unwrap();
        services.sort_unstable();
        objects.sort_unstable();
        assert_eq!(services, objects, "each service has its own address, and each address its object");
    }
}

fn spec() -> Value {
    json!({ "type": "NodePort", "ports": [{ "port": 80, "protocol": "TCP" }], "selector": { "app": "a" } })
}

/// Storage whose writes can be made to fail or to wait.
#[derive(Default)]
struct Switch {
    fails: AtomicBool,
    /// Number of writes that succeed before all fail, while `fails` is set.
    passing: AtomicUsize,
    /// Notified when stalled writes may continue.
    going_on: Notify,
    stalls: AtomicBool,
    waiting: AtomicUsize,
}

#[async_trait]
impl EngineHooks for Switch {
    async fn before(&self, call: Call) -> Result<(), MvccError> {
        if call != Call::Write {
            return Ok(());
        }
        if self.stalls.load(Ordering::SeqCst) {
            self.waiting.fetch_add(1, Ordering::SeqCst);
            self.going_on.notified().await;
        }
        let passes =
            self.passing.fetch_update(Ordering::SeqCst, Ordering::SeqCst, |left| left.checked_sub(1));
        if self.fails.load(Ordering::SeqCst) && passes.is_err() {
            return Err(MvccError::Unavailable("switched off".into()));
        }
        Ok(())
    }
}

#[tokio::test]
async fn creations_that_fail_give_back_their_addresses_and_ports() {
    let engine = Hooked::over(Embedded::in_memory(), Switch::default());
    let cluster = Cluster::new(installed_over(engine.clone(), PLURALS));
    let switch = &engine.hooks;
    cluster.create("first", spec()).await.unwrap();
    switch.fails.store(true, Ordering::SeqCst);
    for number in 0..100 {
        // With one write that passes, the object of the address is made and the service is not.
        switch.passing.store(number % 2, Ordering::SeqCst);
        cluster.create(&format!("failing-{number}"), spec()).await.unwrap_err();
    }
    switch.fails.store(false, Ordering::SeqCst);
    cluster.fill().await;
}

#[tokio::test]
async fn services_with_names_that_none_can_have_give_back_their_addresses_and_ports() {
    let cluster = Cluster::new(installed(PLURALS));
    for name in ["", "/", "a/b", ".", "..", "%", "A"] {
        for _ in 0..CAPACITY {
            let refused = cluster.create(name, spec()).await.unwrap_err();
            assert_eq!(refused.reason, Reason::Invalid, "{name:?}: {}", refused.message);
        }
    }
    let asked =
        json!({ "type": "NodePort", "clusterIP": "10.0.0.9", "ports": [{ "port": 80, "nodePort": 30_001 }] });
    cluster.create("", asked.clone()).await.unwrap_err();
    cluster.create("a", asked).await.unwrap();
    cluster.fill().await;
}

#[tokio::test]
async fn abandoned_creations_give_back_their_addresses() {
    let engine = Hooked::over(Embedded::in_memory(), Switch::default());
    let cluster = Cluster::new(installed_over(engine.clone(), PLURALS));
    let switch = &engine.hooks;
    let address_spec =
        |address: &str| json!({ "clusterIP": address, "ports": [{ "port": 80, "protocol": "TCP" }] });
    // A chosen address could be the one that is asked for below.
    cluster.create("first", address_spec("10.0.0.8")).await.unwrap();
    let address = address_spec("10.0.0.9");
    let is_claimed =
        |cluster: &Cluster| cluster.repair.0.allocations().is_claimed("10.0.0.9".parse().unwrap());
    switch.stalls.store(true, Ordering::SeqCst);
    {
        let creation = cluster.create("abandoned", address.clone());
        tokio::pin!(creation);
        while switch.waiting.load(Ordering::SeqCst) == 0 {
            assert!(futures::poll!(&mut creation).is_pending());
            tokio::task::yield_now().await;
        }
        assert!(is_claimed(&cluster), "claimed while it waits");
    }
    switch.stalls.store(false, Ordering::SeqCst);
    switch.going_on.notify_waiters();
    cluster.fill().await;
}

#[tokio::test]
async fn storage_that_loses_answers_gives_no_address_twice_and_leaks_none() {
    for seed in 0..8 {
        let plan = FaultPlan { fail: 150, lose_answer: 150, delay: 100, break_watch: 0 };
        let below = Embedded::in_memory();
        {
            let faulty = FaultyMvcc::new(below.clone(), plan, seed);
            let cluster = Cluster::new(installed_over(faulty, PLURALS));
            for number in 0..60 {
                let name = format!("service-{number}");
                let creation = cluster.create(&name, spec());
                // Some requests are abandoned.
                let limit = Duration::from_millis(if number % 3 == 0 { 2 } else { 10_000 });
                let _ = tokio::time::timeout(limit, creation).await;
            }
        }
        // A later server with working storage: objects younger than the grace period are the first one's own.
        let cluster = Cluster::new(installed_over(below, PLURALS));
        cluster.repair.run().await.unwrap();
        let addresses = SystemWriter::new(cluster.services.clone())
            .list_newest(|service| service.get_str(&["spec", "clusterIP"]).unwrap_or_default().to_owned())
            .await
            .unwrap();
        let mut unique = addresses.clone();
        unique.sort_unstable();
        unique.dedup();
        assert_eq!(unique.len(), addresses.len(), "seed {seed}: {addresses:?}");
        for address in addresses {
            let object = cluster.addresses().get_newest("", &address).await.unwrap();
            assert!(object.is_some(), "seed {seed}: {address} has its object");
        }
    }
}

#[tokio::test]
async fn an_address_of_a_deleted_service_is_free_at_once() {
    let cluster = Cluster::new(installed(PLURALS));
    cluster.fill().await;
    for _ in 0..20 {
        cluster.delete("filling-3").await;
        cluster.create("filling-3", spec()).await.unwrap();
    }
    cluster.fill().await;
}

/// Stores the IPAddress object of a service as an allocator created it, on a machine whose clock has this time.
async fn leave_object(engine: &dyn Mvcc, address: &str, service: &str, time: &str) {
    let owner = Owner { namespace: "default".to_owned(), name: service.to_owned() };
    let mut object = object_of(address.parse().unwrap(), &owner);
    object.set_type("networking.k8s.io/v1", "IPAddress");
    object.set(&["metadata", "creationTimestamp"], time.into());
    object.set(&["metadata", "uid"], format!("uid-of-{address}").into());
    let value = serde_json::to_vec(&object.into_value()).unwrap();
    engine.put_if(&format!("/registry/ipaddresses/{address}"), 0, value.into(), None).await.unwrap();
}

#[tokio::test]
async fn the_repair_removes_what_was_left_behind_and_makes_what_is_missing() {
    let engine = Embedded::in_memory();
    let cluster = Cluster::new(installed_over(engine.clone(), PLURALS));
    cluster.create("mine", json!({ "clusterIP": "10.0.0.1", "ports": [{ "port": 80 }] })).await.unwrap();
    engine.delete_if("/registry/ipaddresses/10.0.0.1", revision(&*engine, "10.0.0.1").await).await.unwrap();
    let pass = |seconds| {
        for since in cluster.repair.0.unused_objects.lock().values_mut() {
            *since = since.checked_sub(Duration::from_secs(seconds)).unwrap();
        }
    };
    let left = async || {
        cluster.repair.run().await.unwrap();
        let mut left = cluster.addresses().list_newest(|object| object.name().to_owned()).await.unwrap();
        left.sort_unstable();
        left
    };
    // The clocks of their servers do not count.
    leave_object(&*engine, "10.0.0.2", "gone", "2001-01-01T00:00:00Z").await;
    leave_object(&*engine, "10.0.0.4", "mine", "2101-01-01T00:00:00Z").await;
    assert_eq!(left().await, ["10.0.0.1", "10.0.0.2", "10.0.0.4"]);
    pass(30);
    leave_object(&*engine, "10.0.0.3", "being-made", "2001-01-01T00:00:00Z").await;
    assert_eq!(left().await, ["10.0.0.1", "10.0.0.2", "10.0.0.3"]);
    pass(45);
    assert_eq!(left().await, ["10.0.0.1", "10.0.0.3"]);

    // The next repair finds what another server allocated and released.
    let free = json!({ "clusterIP": "10.0.0.3", "ports": [{ "port": 80 }] });
    let refused = cluster.create("other", free.clone()).await.unwrap_err();
    assert!(refused.message.contains("already allocated"), "{}", refused.message);
    engine.delete_if("/registry/ipaddresses/10.0.0.3", revision(&*engine, "10.0.0.3").await).await.unwrap();
    cluster.repair.run().await.unwrap();
    cluster.create("other", free).await.unwrap();
    cluster.fill().await;
}

async fn revision(engine: &dyn Mvcc, address: &str) -> u64 {
    let got = engine.get(&format!("/registry/ipaddresses/{address}")).await.unwrap();
    got.key_value.unwrap().mod_revision
}

#[tokio::test]
async fn the_own_service_takes_over_its_address_and_nobody_elses() {
    let engine = Embedded::in_memory();
    let cluster = Cluster::new(installed_over(engine.clone(), PLURALS));
    leave_object(&*engine, "10.0.0.1", "kubernetes", "2026-01-01T00:00:00Z").await;
    leave_object(&*engine, "10.0.0.2", "other", "2026-01-01T00:00:00Z").await;
    let at = |address: &str| json!({ "clusterIP": address, "ports": [{ "port": 443 }] });
    let refused = cluster.create("kubernetes", at("10.0.0.2")).await.unwrap_err();
    assert!(refused.message.contains("already allocated"), "{}", refused.message);
    cluster.create("kubernetes", at("10.0.0.1")).await.unwrap();
    cluster.delete("kubernetes").await;
    cluster.create("kubernetes", at("10.0.0.1")).await.unwrap();
}
