//! The record of the addresses at which the servers of one etcd reach each other, by the servers' identities.
//!
//! The keys and values are those of kube-apiserver, so that servers of both kinds reach each other.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/reconcilers` (`peerserverleases`).

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use registry_core::api::StatusError;
use registry_core::codec::{Limits, protobuf};
use registry_core::storage::mvcc::Mvcc;
use resources::post_start::PostStartHook;
use serde_json::{Value, json};

use crate::aggregator::PeerAddresses;

use super::server_leases::ExpiringRecords;

/// Interval between two renewals, which is shorter than the time after which a record expires.
const PERIOD: Duration = Duration::from_secs(10);

/// The records in a store.
pub(super) struct StoredPeerLeases(ExpiringRecords);

/// Keeps the record of this server.
pub(super) struct PeerLease {
    pub(super) leases: Arc<StoredPeerLeases>,
    /// The identity of this server.
    pub(super) name: String,
    pub(super) address: SocketAddr,
}

// === impl StoredPeerLeases ===

impl StoredPeerLeases {
    /// Returns the records below this prefix of all keys (`/registry`).
    pub(super) fn new(engine: Arc<dyn Mvcc>, prefix: &str) -> Self {
        Self(ExpiringRecords::new(engine, format!("{prefix}/peerserverleases/")))
    }
}

#[async_trait]
impl PeerAddresses for StoredPeerLeases {
    async fn address(&self, server: &str) -> Result<Option<SocketAddr>, StatusError> {
        Ok(self.0.get(server).await?.and_then(|record| address(&record)))
    }
}

/// Returns the record of a server.
fn record(name: &str, address: SocketAddr) -> Bytes {
    let endpoints = json!({
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": { "labels": { "apiserverIdentity": name } },
        "subsets": [{
            "addresses": [{ "ip": address.ip() }],
            "ports": [{ "name": "https", "port": address.port(), "protocol": "TCP" }],
        }],
    });
    endpoints.to_string().into()
}

/// Returns the address in a record; `None` if it has none. kube-apiserver writes records in protobuf.
fn address(record: &[u8]) -> Option<SocketAddr> {
    let endpoints: Value = if record.starts_with(protobuf::MAGIC) {
        let is_endpoints = |version: &str, kind: &str| version == "v1" && kind == "Endpoints";
        let schema = |version: &str, kind: &str| {
            is_endpoints(version, kind).then(|| resources::schema::built_in("", "v1", "Endpoints"))
        };
        protobuf::decode(record, &Limits::default(), schema).ok()?
    } else {
        serde_json::from_slice(record).ok()?
    };
    let ip: IpAddr = endpoints.pointer("/subsets/0/addresses/0/ip")?.as_str()?.parse().ok()?;
    let port = u16::try_from(endpoints.pointer("/subsets/0/ports/0/port")?.as_u64()?).ok()?;
    (port != 0).then(|| SocketAddr::new(ip, port))
}

#[async_trait]
impl PostStartHook for PeerLease {
    fn name(&self) -> &'static str {
        "peer-endpoint-reconciler-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        self.leases.0.renew(&self.name, record(&self.name, self.address)).await
    }

    async fn withdraw(&self) -> Result<(), StatusError> {
        self.leases.0.remove(&self.name).await
    }
}

#[cfg(test)]
mod tests {
    use registry_core::storage::embedded::Embedded;

    use super::*;

    #[tokio::test]
    async fn a_server_is_found_by_its_identity_until_it_ends() {
        let engine = Embedded::in_memory();
        let leases = Arc::new(StoredPeerLeases::new(engine.clone(), "/registry"));
        let here: SocketAddr = "[fd00::7]:6443".parse().unwrap();
        let lease = PeerLease { leases: leases.clone(), name: "apiserver-a".to_owned(), address: here };
        lease.run().await.unwrap();
        lease.run().await.unwrap();
        assert_eq!(leases.address("apiserver-a").await.unwrap(), Some(here));
        assert_eq!(leases.address("apiserver-b").await.unwrap(), None);
        lease.withdraw().await.unwrap();
        assert_eq!(leases.address("apiserver-a").await.unwrap(), None);
    }

    #[test]
    fn addresses_are_read_as_kubernetes_writes_them_and_nothing_else_is_an_address() {
        let here: SocketAddr = "192.0.2.7:6443".parse().unwrap();
        let json: Value = serde_json::from_slice(&record("a", here)).unwrap();
        let schema = resources::schema::built_in("", "v1", "Endpoints");
        let binary = protobuf::encode(&json, &schema, "v1", "Endpoints").unwrap();
        assert_eq!((address(&binary), address(&record("a", here))), (Some(here), Some(here)));
        let written = |ip: Value, port: Value| {
            let subset = json!({ "addresses": [{ "ip": ip }], "ports": [{ "port": port }] });
            address(json!({ "subsets": [subset] }).to_string().as_bytes())
        };
        assert_eq!(written(json!("192.0.2.7"), json!(6443)), Some(here));
        for (ip, port) in [
            (json!("peer.example.com"), json!(6443)),
            (json!("192.0.2.7/../@evil"), json!(6443)),
            (json!(7), json!(6443)),
            (json!("192.0.2.7"), json!(0)),
            (json!("192.0.2.7"), json!(-1)),
            (json!("192.0.2.7"), json!(65_536)),
            (json!("192.0.2.7"), json!("6443")),
        ] {
            assert_eq!(written(ip.clone(), port.clone()), None, "{ip} {port}");
        }
        for bytes in [&b""[..], b"{}", b"k8s\0", b"k8s\0\xff\xff", &binary[..binary.len() / 2]] {
            assert_eq!(address(bytes), None, "{bytes:?}");
        }
    }
}
