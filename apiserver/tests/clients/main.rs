//! Common clients against a whole server, over both stores: kubectl and kube-rs.

#![allow(clippy::unwrap_used, clippy::expect_used, clippy::indexing_slicing, reason = "test code")]

mod browser;
mod custom_resources;
mod dashboards;
mod kube_rs;
mod kubectl;
mod kubectl_custom_resources;

use std::path::Path;

use apiserver::testing::{TestServer, TestServerBuilder};
use registry_core::storage::testing::etcd::Etcd;

/// Returns a server over the embedded store. Without controllers it behaves as the one over etcd.
fn embedded() -> TestServerBuilder {
    TestServer::builder().without_controllers()
}

/// Returns a server over an etcd of its own.
fn over_etcd(etcd: &Etcd) -> TestServerBuilder {
    TestServer::builder().etcd(&etcd.options().endpoints[0], "/registry")
}

async fn client(kubeconfig: &Path) -> kube::Client {
    let kubeconfig = kube::config::Kubeconfig::read_from(kubeconfig).unwrap();
    let options = kube::config::KubeConfigOptions::default();
    let config = kube::Config::from_custom_kubeconfig(kubeconfig, &options).await.unwrap();
    kube::Client::try_from(config).unwrap()
}
