//! The HTTP layer: a Kubernetes API server over storage maps.
//!
//! A server of your own takes a few lines; flags, TLS, authentication, health checks and a kubeconfig are
//! included:
//!
//! ```no_run
//! fn main() -> std::process::ExitCode {
//!     apiserver::run_with(apiserver::program!(), &[apiserver::builtin_storage_map()])
//! }
//! ```
//!
//! Cargo features: `embedded` is the durable store in this process, `etcd3` the store in an etcd cluster;
//! both are on by default. `etcd3` needs a protobuf compiler to build (Debian: `protobuf-compiler`),
//! `embedded` needs nothing:
//!
//! ```toml
//! apiserver = { git = "…", default-features = false, features = ["embedded"] }
//! ```
//!
//! | module | contents |
//! |---|---|
//! | [`run_with`] | a server as a process: flags, logs, signals |
//! | [`server`] | from options and maps to a listening server: TLS, connections, identities, graceful shutdown |
//! | [`options`] | the command line |
//! | [`filters`] | the filter chain that every request passes through |
//! | [`flowcontrol`] | API Priority and Fairness: which request executes next |
//! | `aggregator` | group versions that extension servers serve |
//! | [`handlers`], [`admission`] | the verbs, and the plug-ins that may change or refuse a write |
//! | [`audit`] | the audit log |
//! | [`authentication`], [`authorization`] | the user of a request, and what the user may do |
//! | [`discovery`], [`openapi`] | the documents that describe the API |
//! | `responses` | content negotiation and encoding of responses, tags, warnings |
//! | [`request_info`] | the resource and verb of a request |
//! | `proxy` | passes connections on to kubelets, pods and services |
//! | [`health`], [`metrics`], [`version`] | health checks, metrics and the server's version |
//! | `shares` | divides capacity between the users, or the addresses, that share it |
//! | [`encryption`] | encryption of values at rest |
//! | [`storage`] | opens the storage of every resource |
//! | [`api_client`] | typed clients for the authors of servers |
//! | `webhooks` | calls of webhooks |
//! | `clients` | outgoing clients: kubeconfigs, credentials, TLS, connections |
//! | `certificates` | certificates and keys, as Go reads them |
//! | `telemetry` | distributed tracing: spans of requests and their export |
//! | `zpages` | `/statusz` and `/flagz` |
//! | `main_server` | the main server that an extension server stands behind |
//! | `manifests` | the objects that an extension server needs in a cluster |
//! | [`testing`] | servers for tests |

#[cfg(not(any(feature = "embedded", feature = "etcd3")))]
compile_error!(
    "a server keeps its objects somewhere: enable the feature `embedded`, `etcd3`, or both of `apiserver`"
);

pub mod admission;
mod aggregator;
pub mod api_client;
pub mod audit;
pub mod authentication;
pub mod authorization;
mod certificates;
mod clients;
pub mod discovery;
pub mod encryption;
pub mod error;
pub mod filters;
pub mod flowcontrol;
pub mod handlers;
pub mod health;
mod json_fields;
mod main_server;
mod manifests;
pub mod metrics;
pub mod openapi;
pub mod options;
mod proxy;
pub mod request_info;
mod responses;
pub mod server;
mod shares;
pub mod storage;
mod telemetry;
pub mod testing;
mod turns;
pub mod version;

mod run;
mod webhooks;
mod zpages;

pub use error::ServerError;
pub use options::Options;
pub use run::{Program, run_extension_customized, run_extension_with, run_with};
pub use server::{Server, ServerBuilder, ServerContext};

use registry_core::registry::StorageMap;

/// Kubernetes' built-in resources.
pub const fn builtin_storage_map() -> &'static StorageMap {
    &resources::STORAGE_MAP
}
