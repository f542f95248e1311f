//! A Kubernetes API server for tests, in the process of the test.
//!
//! ```
//! # #[tokio::main]
//! # async fn main() -> Result<(), Box<dyn std::error::Error>> {
//! use k8s_openapi::api::core::v1::ConfigMap;
//! use kube::api::{Api, PostParams};
//! use orlop_test::TestServer;
//!
//! let server = TestServer::start().await?; // in memory, on a free port of this machine
//! let maps: Api<ConfigMap> = Api::default_namespaced(server.client());
//! let mut map = ConfigMap::default();
//! map.metadata.name = Some("settings".to_owned());
//! maps.create(&PostParams::default(), &map).await?;
//! assert!(maps.get("settings").await?.metadata.uid.is_some());
//! # Ok(())
//! # } // the server ends here, and leaves nothing
//! ```
//!
//! A process may run any number of servers at once. Each has a port, a temporary directory and objects of its own; all of that is
//! gone when the [`TestServer`] is dropped, in a panic too.
//!
//! | | |
//! |---|---|
//! | [`TestServer::builder`] | definitions of custom resources, authored resources, flags, without controllers |
//! | [`TestServer::user`] | a user, bound to roles |
//! | [`TestServer::snapshot`], [`TestServer::restore`] | the state of all objects, and the way back to it, for a suite that is set up once |
//! | [`TestServer::faults`] | conflicts, refusals, delays, interrupted watches and old states, by rule |
//! | [`TestServer::advance`] | the time of leases, tokens and finished jobs |
//!
//! The feature `kube` adds `TestServer::client` and the like, for the version of kube that this crate depends on. Without it,
//! every client can be used through a kubeconfig.
//!
//! Modules depend only on modules below them in this list:
//!
//! | module | contents |
//! |---|---|
//! | `builder` | configures and starts a server |
//! | `definitions` | creates definitions of custom resources |
//! | `user` | users with certificates and roles |
//! | `server` | a running server |
//! | `client` | clients of kube-rs |
//! | `error` | the errors |

mod builder;
mod definitions;
mod error;
mod server;
mod user;

#[cfg(feature = "kube")]
mod client;

pub use apiserver::faults::{Fault, FaultBuilder, Faults, Verb};
pub use builder::TestServerBuilder;
pub use error::{RequestError, SnapshotError, StartError};
pub use registry_core::storage::embedded::Snapshot;
pub use server::TestServer;
pub use user::User;
