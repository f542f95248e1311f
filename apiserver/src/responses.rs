//! HTTP responses: content negotiation, and encoding of values, bytes and failures.
//!
//! | module | contents |
//! |---|---|
//! | `negotiation` | the format: `Accept`, `pretty`, the media types of bodies |
//! | `plain` | responses without negotiation: empty, text, failures from before the handlers |
//! | `negotiated` | values, bytes, streams and failures in the negotiated format |
//! | `body`, `observers` | the body of a response: how it is delivered, and the values that follow its delivery |
//! | `pieces` | bytes of a response that refer to stored objects |
//! | `document` | documents that are encoded once, with an entity tag |
//! | `encoding`, `yaml` | indentation and gzip; YAML |
//! | `warnings` | `Warning` headers |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`.

mod body;
mod document;
mod encoding;
mod negotiated;
pub(crate) mod negotiation;
mod observers;
mod pieces;
mod plain;
mod warnings;
pub(crate) mod yaml;

pub(crate) use body::{Delivery, Events};
pub use body::{Response, ResponseBody};
pub(crate) use document::{Document, EntityTag};
pub(crate) use negotiated::{bytes, envelope, failure, stream, value};
pub(crate) use observers::Observer;
pub(crate) use pieces::{FRAME_END, Pieces};
pub(crate) use plain::{empty, page_not_found, plain_text, status, text};
pub(crate) use warnings::add_warnings;
