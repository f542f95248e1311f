//! The verbs of the API, over whatever storages are installed. From the top down:
//!
//! | module | what lives there |
//! |---|---|
//! | `dispatch` | from a request to the verb that answers it |
//! | `get`, `list`, `watch`, `create`, `update`, `patch`, `delete`, `connect` | one verb each |
//! | `answer` | the answer to an operation on one object |
//! | `representation` | objects in the form a client gets them: whole, as a table, in binary |
//! | `content`, `managers` | bodies: read, decoded, checked against the schema; who manages what they set |
//! | `call` | one request to a resource, as its verb sees it |
//! | `options` | the `*Options` kinds |
//! | `api`, `routing`, `ending` | what the API is made of; from a request's resource to the storage that serves it; when watches have to end |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers`.

mod answer;
mod api;
mod call;
mod connect;
mod content;
mod create;
mod delete;
mod dispatch;
mod ending;
mod get;
mod list;
mod managers;
mod options;
mod patch;
mod representation;
mod routing;
mod update;
mod watch;

pub use api::{Api, ApiConfig};
pub(crate) use content::{BODY_LIMIT_BYTES, unreadable};
pub(crate) use watch::{LongRunning, Pieces, WatchBody};
