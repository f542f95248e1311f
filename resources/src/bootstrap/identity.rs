//! The Lease by which a server shows that it runs, and the collection of those that have expired.
//!
//! Kubernetes concept: `APIServerIdentity`; `apiserverleasegc`.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use jiff::{SignedDuration, Timestamp};
use registry_core::RequestContext;
use registry_core::api::{ListOptions, Object, StatusError, time};
use registry_core::registry::{InstalledApi, Store};
use registry_core::resource::Resource as _;
use registry_core::rest::Lister as _;
use resource_views::coordination::v1::Lease;
use serde_json::json;
use tokio::sync::watch;

use super::{PostStartHook, ServerFacts};
use crate::api::coordination::leases::Leases;
use crate::support::system_writer::SystemWriter;

/// The namespace of the leases of servers.
pub const IDENTITY_NAMESPACE: &str = "kube-system";
/// The label of the leases of servers, and its value.
pub const IDENTITY_LABEL: (&str, &str) = ("apiserver.kubernetes.io/identity", "kube-apiserver");
/// The annotation with the address at which other servers reach this one.
const PEER_ADDRESS: &str = "kubernetes.io/peer-advertise-address";
const HOST_LABEL: &str = "kubernetes.io/hostname";
/// Time after its last renewal at which a lease expires, in seconds.
const DURATION_SECONDS: i64 = 3600;
const RENEWAL_PERIOD: Duration = Duration::from_secs(10);
/// Interval between two looks for expired leases, in the cache.
const COLLECTION_PERIOD: Duration = Duration::from_secs(3);
const RENEW_TIME: [&str; 2] = ["spec", "renewTime"];

/// Creates and renews the lease of this server.
pub(super) struct IdentityLease {
    leases: SystemWriter,
    name: String,
    host_name: String,
    peer_address: Option<SocketAddr>,
    /// The name of this process.
    holder: String,
    /// Whether the lease is this process's, not the one that an earlier process left behind.
    is_own: watch::Sender<bool>,
}

/// Removes the expired leases of servers.
pub(super) struct IdentityLeaseCollection {
    store: Arc<Store>,
    leases: SystemWriter,
}

// === impl IdentityLease ===

impl IdentityLease {
    /// Returns `None` if leases are not served, or the name of this machine is not known.
    pub(super) fn new(installed: &InstalledApi, server: &ServerFacts) -> Option<Self> {
        let host_name = server.host_name.clone()?;
        let name = server_identity(&host_name);
        let holder = format!("{name}_{}", registry_core::registry::store::new_uid());
        let leases = SystemWriter::for_resource::<Leases>(installed)?;
        let peer_address = server.peer_address;
        Some(Self { leases, name, host_name, peer_address, holder, is_own: watch::Sender::new(false) })
    }

    /// Returns whether this process has written the lease.
    pub(super) fn written(&self) -> watch::Receiver<bool> {
        self.is_own.subscribe()
    }

    fn lease(&self) -> Object {
        let now = time::format_microseconds(Timestamp::now());
        let lease = json!({
            "metadata": {
                "name": self.name,
                "namespace": IDENTITY_NAMESPACE,
                "labels": { IDENTITY_LABEL.0: IDENTITY_LABEL.1, HOST_LABEL: self.host_name },
            },
            "spec": {
                "holderIdentity": self.holder,
                "leaseDurationSeconds": DURATION_SECONDS,
                "renewTime": now,
            },
        });
        let mut lease = Object::from_value(lease).unwrap_or_default();
        if let Some(address) = self.peer_address {
            lease.set(&["metadata", "annotations", PEER_ADDRESS], address.to_string().into());
        }
        lease
    }

    /// Returns the present lease, renewed by this process.
    fn renewed(&self, present: Object) -> Object {
        let mut lease = present;
        let own = self.lease();
        for field in [&RENEW_TIME[..], &["spec", "holderIdentity"], &["spec", "leaseDurationSeconds"]] {
            lease.copy_field(&own, field);
        }
        for label in [IDENTITY_LABEL.0, HOST_LABEL] {
            lease.copy_field(&own, &["metadata", "labels", label]);
        }
        if self.peer_address.is_some() {
            lease.copy_field(&own, &["metadata", "annotations", PEER_ADDRESS]);
        }
        lease
    }
}

/// Returns the identity of a server on this machine: servers on one machine share it.
pub fn server_identity(host_name: &str) -> String {
    let mut hashed = Vec::new();
    for part in [host_name, "kube-apiserver"] {
        // Longer names of machines do not exist.
        hashed.extend(u16::try_from(part.len()).unwrap_or(u16::MAX).to_be_bytes());
        hashed.extend(part.as_bytes());
    }
    let digest = ring::digest::digest(&ring::digest::SHA256, &hashed);
    let hash = digest.as_ref().get(..16).unwrap_or_default();
    format!("apiserver-{}", base32(hash))
}

/// Encodes bytes in base 32, in small letters and without padding.
fn base32(bytes: &[u8]) -> String {
    const LETTERS: &[u8; 32] = b"abcdefghijklmnopqrstuvwxyz234567";
    let bits: Vec<u8> = bytes.iter().flat_map(|byte| (0..8).rev().map(move |bit| byte >> bit & 1)).collect();
    let letter = |group: &[u8]| {
        let value = (0..5).fold(0_usize, |value, bit| {
            value << 1 | usize::from(group.get(bit).copied().unwrap_or_default())
        });
        LETTERS.get(value).copied().map(char::from)
    };
    bits.chunks(5).filter_map(letter).collect()
}

#[async_trait]
impl PostStartHook for IdentityLease {
    fn name(&self) -> &'static str {
        "start-kube-apiserver-identity-lease-controller"
    }

    fn period(&self) -> Option<Duration> {
        Some(RENEWAL_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        if !*self.is_own.borrow() {
            self.leases.remove(IDENTITY_NAMESPACE, &self.name).await?;
        }
        match self.leases.get_newest(IDENTITY_NAMESPACE, &self.name).await? {
            None => self.leases.create(self.lease()).await?,
            Some(present) => self.leases.replace(self.renewed(present)).await?,
        }
        self.is_own.send_replace(true);
        Ok(())
    }

    async fn withdraw(&self) -> Result<(), StatusError> {
        self.leases.remove(IDENTITY_NAMESPACE, &self.name).await
    }
}

// === impl IdentityLeaseCollection ===

impl IdentityLeaseCollection {
    /// Returns `None` if leases are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let store = installed.store(Leases::TYPE)?;
        Some(Self { leases: SystemWriter::new(store.clone()), store })
    }
}

/// Whether a lease is one of a server and has expired. A lease without its times is invalid.
fn is_expired(lease: &Object, now: Timestamp) -> bool {
    if !lease.labels().any(|label| label == IDENTITY_LABEL) {
        return false;
    }
    let spec = Lease(lease).spec();
    let renewed = spec.renew_time().text().parse::<Timestamp>().ok();
    let (Some(renewed), Some(seconds)) = (renewed, spec.lease_duration_seconds().integer()) else {
        return true;
    };
    now.duration_since(renewed) > SignedDuration::from_secs(seconds)
}

#[async_trait]
impl PostStartHook for IdentityLeaseCollection {
    fn name(&self) -> &'static str {
        "start-kube-apiserver-identity-lease-garbage-collector"
    }

    fn period(&self) -> Option<Duration> {
        Some(COLLECTION_PERIOD)
    }

    async fn run(&self) -> Result<(), StatusError> {
        let options = ListOptions { resource_version: Some(0), ..ListOptions::default() };
        let page = self.store.list(&RequestContext::system(IDENTITY_NAMESPACE), &options).await?;
        for entry in &page.items {
            let lease = self.store.read(entry)?;
            if !is_expired(&lease, Timestamp::now()) {
                continue;
            }
            // The cache may lack the latest renewal.
            let newest = self.leases.get_newest(IDENTITY_NAMESPACE, lease.name()).await?;
            if newest.is_some_and(|newest| is_expired(&newest, Timestamp::now())) {
                self.leases.remove(IDENTITY_NAMESPACE, lease.name()).await?;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_identity_is_that_of_kubernetes() {
        // RFC 4648.
        for (text, encoded) in
            [("", ""), ("f", "my"), ("fo", "mzxq"), ("foo", "mzxw6"), ("foobar", "mzxw6ytboi")]
        {
            assert_eq!(base32(text.as_bytes()), encoded);
        }
        let name = server_identity("a-machine");
        assert_eq!((name.len(), name.starts_with("apiserver-")), (36, true), "{name}");
        assert_ne!(name, server_identity("a-machin"));
    }

    #[test]
    fn leases_of_servers_expire_and_others_do_not() {
        let now: Timestamp = "2026-01-01T12:00:00Z".parse().expect("a time");
        let lease = |label: bool, renewed: Option<&str>, seconds: i64| {
            let mut lease = Object::from_value(json!({
                "metadata": { "name": "a" }, "spec": { "leaseDurationSeconds": seconds, "renewTime": renewed },
            }))
            .expect("a lease");
            if label {
                lease.set(&["metadata", "labels", IDENTITY_LABEL.0], IDENTITY_LABEL.1.into());
            }
            lease
        };
        for (lease, expired) in [
            (lease(true, Some("2026-01-01T10:59:59.000000Z"), 3600), true),
            (lease(true, Some("2026-01-01T11:00:01.000000Z"), 3600), false),
            (lease(true, Some("2027-01-01T11:00:01.000000Z"), 3600), false),
            (lease(true, None, 3600), true),
            (lease(true, Some("zork"), 3600), true),
            (lease(true, Some("2026-01-01T11:59:59.000000Z"), i64::MAX), false),
            (lease(false, Some("2020-01-01T10:00:00.000000Z"), 1), false),
        ] {
            assert_eq!(is_expired(&lease, now), expired, "{lease:?}");
        }
        assert_eq!(time::format_microseconds(now), "2026-01-01T12:00:00.000000Z");
    }
}
