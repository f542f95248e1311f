//! HTTP responses: content negotiation, and encoding of values, bytes and failures.
//!
//! | module | contents |
//! |---|---|
//! | `document` | documents that are encoded once, with an entity tag |
//! | `negotiated` | values, bytes, streams and failures in the negotiated format |
//! | `plain` | responses without negotiation: empty, text, failures from before the handlers |
//! | `encoding`, `yaml` | indentation and gzip; YAML |
//! | `negotiation` | the format: `Accept`, `pretty`, the media types of bodies |
//! | `body`, `observers` | the body of a response: how it is delivered, and the values that follow its delivery |
//! | `pieces` | bytes of a response that refer to stored objects |
//! | `warnings` | `Warning` headers |
//! | `turns` | lets other tasks run between the parts of a long response |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`.

mod body;
mod document;
mod encoding;
mod negotiated;
pub mod negotiation;
mod observers;
mod pieces;
mod plain;
mod turns;
mod warnings;
pub mod yaml;

pub use body::{Delivery, Events};
pub use body::{Response, ResponseBody};
pub use document::{Document, EntityTag};
pub use negotiated::{bytes, envelope, failure, stream, value};
pub use observers::Observer;
pub use pieces::{FRAME_END, Pieces};
pub use plain::{empty, page_not_found, plain_text, status, text};
pub use turns::wake_after_others;
pub use warnings::add_warnings;
