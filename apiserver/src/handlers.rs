//! The verbs of the API, over the installed storages. From the top down:
//!
//! | module | contents |
//! |---|---|
//! | `dispatch` | from a request to the verb that handles it |
//! | `get`, `watch`, `create`, `patch`, `update`, `delete`, `list`, `connect` | one verb each |
//! | `creation` | the right to create the object of an update or of an apply |
//! | `content`, `managers` | bodies: read, decoded, checked against the schema; the managers of their fields |
//! | `response` | the response to an operation on one object |
//! | `representation` | objects in the form a client requests: whole, as a table, in binary |
//! | `audit` | the objects of requests, for the audit log |
//! | `options` | the `*Options` kinds |
//! | `call` | one request to a resource, as passed to its verb |
//! | `kinds` | the served kinds, as admission plug-ins see them |
//! | `api`, `served_api` | the state of the API; the resources that it serves at present |
//! | `api_config` | the configuration of the API |
//! | `snapshot` | the snapshot of the routes and documents that are served |
//! | `routing`, `ending` | a served path; the end of watches |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers`.

mod api;
mod api_config;
mod audit;
mod call;
mod connect;
mod content;
mod create;
mod creation;
mod delete;
mod dispatch;
mod ending;
mod get;
mod kinds;
mod list;
mod managers;
mod options;
mod patch;
mod representation;
mod response;
mod routing;
mod served_api;
mod snapshot;
mod update;
mod watch;

pub use api::{Api, ApiParts};
pub use api_config::{ApiConfig, WatchTimes};
pub(crate) use content::{BODY_LIMIT_BYTES, too_large, unreadable};
pub(crate) use routing::method_not_allowed;
pub use served_api::ServedApi;
pub(crate) use snapshot::{ServedCollection, ServedCollections};
