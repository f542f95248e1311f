//! The record of the servers that run on one etcd: a key for each, which expires unless its server renews it.
//!
//! The keys and values are those of kube-apiserver, so that servers of both kinds know each other.
//!
//! Kubernetes concept: `pkg/controlplane/reconcilers` (`masterleases`).

use std::collections::BTreeSet;
use std::fmt;
use std::net::IpAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use bytes::Bytes;
use registry_core::api::StatusError;
use registry_core::storage::mvcc::{Committed, Mvcc, RangeRequest};
use resources::bootstrap::ServerLeases;
use serde_json::json;

/// Time after its last renewal at which a record expires: longer than the interval of the renewals.
const TIME_TO_LIVE: Duration = Duration::from_secs(15);
/// Maximum number of attempts if another server with the same name writes the record too.
const ATTEMPTS: usize = 8;
/// Maximum number of servers that are read.
const MAX_SERVERS: u64 = 1_000;

/// Records of servers in a store, each of which expires unless it is renewed.
pub(super) struct ExpiringRecords {
    engine: Arc<dyn Mvcc>,
    /// The prefix of the keys, with a slash at its end.
    prefix: String,
}

/// The addresses of the servers that run.
pub(super) struct StoredServerLeases(ExpiringRecords);

// === impl ExpiringRecords ===

impl ExpiringRecords {
    /// Returns the records with this prefix, which ends with a slash.
    pub(super) fn new(engine: Arc<dyn Mvcc>, prefix: String) -> Self {
        Self { engine, prefix }
    }

    /// Writes a record, for some seconds.
    pub(super) async fn renew(&self, name: &str, record: Bytes) -> Result<(), StatusError> {
        let key = format!("{}{name}", self.prefix);
        let got = self.engine.get(&key).await.map_err(StatusError::internal)?;
        let mut expected = got.key_value.map_or(0, |present| present.mod_revision);
        for _ in 0..ATTEMPTS {
            let written = self.engine.put_if(&key, expected, record.clone(), Some(TIME_TO_LIVE)).await;
            match written.map_err(StatusError::internal)? {
                Committed::At(_) => return Ok(()),
                Committed::ConditionFailed(got) => {
                    expected = got.key_value.map_or(0, |present| present.mod_revision);
                }
            }
        }
        Err(StatusError::internal(format!("another server writes {key} too")))
    }

    /// Removes a record.
    pub(super) async fn remove(&self, name: &str) -> Result<(), StatusError> {
        let key = format!("{}{name}", self.prefix);
        let got = self.engine.get(&key).await.map_err(StatusError::internal)?;
        let Some(present) = got.key_value else { return Ok(()) };
        // If it was renewed just now, it is another server's.
        self.engine.delete_if(&key, present.mod_revision).await.map(drop).map_err(StatusError::internal)
    }

    /// Returns a record; `None` if there is none.
    pub(super) async fn get(&self, name: &str) -> Result<Option<Bytes>, StatusError> {
        let got = self.engine.get(&format!("{}{name}", self.prefix)).await.map_err(StatusError::internal)?;
        Ok(got.key_value.map(|present| present.value))
    }
}

impl fmt::Debug for StoredServerLeases {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoredServerLeases").field("prefix", &self.0.prefix).finish_non_exhaustive()
    }
}

// === impl StoredServerLeases ===

impl StoredServerLeases {
    /// Returns the records below this prefix of all keys (`/registry`).
    pub(super) fn new(engine: Arc<dyn Mvcc>, prefix: &str) -> Self {
        Self(ExpiringRecords::new(engine, format!("{prefix}/masterleases/")))
    }
}

/// Returns the record of the server at an address.
fn record(address: IpAddr) -> Bytes {
    let endpoints = json!({
        "kind": "Endpoints",
        "apiVersion": "v1",
        "metadata": {},
        "subsets": [{ "addresses": [{ "ip": address }] }],
    });
    endpoints.to_string().into()
}

#[async_trait]
impl ServerLeases for StoredServerLeases {
    async fn renew(&self, address: IpAddr) -> Result<(), StatusError> {
        self.0.renew(&address.to_string(), record(address)).await
    }

    async fn remove(&self, address: IpAddr) -> Result<(), StatusError> {
        self.0.remove(&address.to_string()).await
    }

    async fn list(&self) -> Result<BTreeSet<IpAddr>, StatusError> {
        let Self(ExpiringRecords { engine, prefix }) = self;
        // `0` follows the slash.
        let end = format!("{}0", prefix.trim_end_matches('/'));
        let range = RangeRequest { start: prefix, end: &end, limit: MAX_SERVERS, revision: None };
        let ranged = engine.range(range).await.map_err(StatusError::internal)?;
        let keys = ranged.key_values.iter();
        // A key that is not an address is not the record of a server.
        Ok(keys.filter_map(|entry| entry.key.strip_prefix(prefix)?.parse().ok()).collect())
    }
}

#[cfg(test)]
mod tests {
    use registry_core::storage::embedded::Embedded;

    use super::*;

    #[tokio::test]
    async fn servers_are_listed_until_they_are_removed() {
        let engine = Embedded::in_memory();
        let leases = StoredServerLeases::new(engine.clone(), "/registry");
        let addresses: Vec<IpAddr> =
            ["192.0.2.7", "fd00::7"].iter().map(|text| text.parse().unwrap()).collect();
        for address in &addresses {
            leases.renew(*address).await.unwrap();
            leases.renew(*address).await.unwrap();
        }
        for (key, value) in [
            ("/registry/masterleases/zork", "x"),
            ("/registry/masterleases0", "x"),
            ("/registry/masterlease", "x"),
        ] {
            engine.put_if(key, 0, Bytes::from_static(value.as_bytes()), None).await.unwrap();
        }
        assert_eq!(leases.list().await.unwrap().into_iter().collect::<Vec<_>>(), addresses);
        for address in addresses {
            leases.remove(address).await.unwrap();
            leases.remove(address).await.unwrap();
        }
        assert!(leases.list().await.unwrap().is_empty());
    }
}
