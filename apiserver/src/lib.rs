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
//! Cargo features, all on by default. A server needs the first or the second, and refuses the flags of the others that it
//! was built without:
//!
//! | feature | contents |
//! |---|---|
//! | `embedded` | the durable store in this process |
//! | `etcd3` | the store in an etcd cluster; needs a protobuf compiler to build (Debian: `protobuf-compiler`) |
//! | `encryption` | encryption of values at rest |
//! | `external-signer` | tokens of service accounts that another program signs |
//! | `konnectivity` | connections to the cluster through konnectivity over gRPC |
//! | `tracing-export` | export of spans |
//! | `es512` | ES512 signatures of OpenID Connect issuers |
//! | `command-line` | colors in `--help`, completion scripts, the manual page |
//! | `allocator` | the program `apiserver` allocates with mimalloc |
//!
//!
//! ```toml
//! apiserver = { git = "…", default-features = false, features = ["embedded"] }
//! ```
//!
//! Modules depend only on modules below them in this list. The lowest rows are crates of their own, which know nothing of
//! the server:
//!
//! | module | contents |
//! |---|---|
//! | [`testing`] | servers for tests |
//! | [`run_with`] (`run`) | a server as a process: flags, logs, signals |
//! | [`server`] | from options and maps to a listening server: TLS, connections, graceful shutdown |
//! | `controllers` | the controllers that run in the server |
//! | `manifests` | the objects that an extension server needs in a cluster |
//! | [`storage`] | opens the storage of every resource |
//! | [`encryption`] | encryption of values at rest |
//! | [`api_client`] | typed clients for the authors of servers |
//! | `aggregator` | group versions that extension servers serve |
//! | [`filters`] | the filter chain that every request passes through |
//! | [`faults`] | failures by rule, for tests of clients |
//! | [`handlers`] | the verbs |
//! | [`discovery`] | the documents that list the served resources |
//! | [`audit`] | the audit log |
//! | `webhooks` | calls of webhooks |
//! | `telemetry` | distributed tracing: spans of requests and their export |
//! | [`authorization`], [`authentication`] | what the user of a request may do, and who the user is |
//! | `zpages` | `/statusz` and `/flagz` |
//! | [`pki`] | keys and certificates: created, read and renewed |
//! | `proxy` | passes connections on to kubelets, pods and services |
//! | [`admission`] | the plug-ins that may change or refuse a write |
//! | [`metrics`], [`health`] | metrics and health checks |
//! | `main_server` | the main server that an extension server stands behind |
//! | `api_server` | a server that is asked: this one in the process, or the main one |
//! | [`options`] | the command line, as plain values |
//! | `followed_file` | a file that is looked at again and again |
//! | `shares` | divides capacity between the users, or the addresses, that share it |
//! | `access` | the attributes that authorization is asked about, and its decision |
//! | [`version`] | the server's version |
//! | [`flowcontrol`] | the crate `orlop-flowcontrol`: API Priority and Fairness: which request executes next |
//! | [`openapi`] | the crate `orlop-openapi`: OpenAPI v2 and v3 documents |
//! | `responses` | the crate `orlop-responses`: content negotiation and encoding of responses, tags, warnings |
//! | [`request_info`] | the crate `orlop-request-info`: the resource and verb of a request |
//! | `clients` | the crate `orlop-clients`: outgoing clients: kubeconfigs, credentials, TLS, connections |
//! | `certificates` | the crate `orlop-certificates`: certificates and keys, as Go reads them |

#[cfg(not(any(feature = "embedded", feature = "etcd3")))]
compile_error!(
    "a server keeps its objects somewhere: enable the feature `embedded`, `etcd3`, or both of `apiserver`"
);

mod access;
pub mod admission;
mod aggregator;
pub mod api_client;
mod api_server;
pub mod audit;
pub mod authentication;
pub mod authorization;
mod controllers;
pub mod discovery;
#[cfg(feature = "encryption")]
pub mod encryption;
#[cfg(not(feature = "encryption"))]
#[path = "encryption/not_built.rs"]
pub mod encryption;
pub mod faults;
pub mod filters;
mod followed_file;
pub mod handlers;
pub mod health;
mod main_server;
mod manifests;
pub mod metrics;
pub mod options;
pub mod pki;
mod proxy;
pub mod server;
mod shares;
pub mod storage;
mod telemetry;
pub mod testing;
pub mod version;

mod run;
mod webhooks;
mod zpages;

#[doc(inline)]
pub use {flowcontrol, openapi, request_info};

pub use options::{Options, Program};
pub use run::{run_extension_customized, run_extension_with, run_with};
pub use server::error::ServerError;
pub use server::{Server, ServerBuilder, ServerContext, error};

use registry_core::registry::StorageMap;

/// Kubernetes' built-in resources.
pub const fn builtin_storage_map() -> &'static StorageMap {
    &resources::STORAGE_MAP
}
