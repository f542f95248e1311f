//! Answers over HTTP: which form a client takes, and how values, bytes and failures are written in it.
//!
//! | module | what lives there |
//! |---|---|
//! | `negotiation` | which form: `Accept`, `pretty`, the media types of bodies |
//! | `plain` | answers nobody negotiates: bare, text, failures from before the handlers |
//! | `negotiated` | values, bytes, streams and failures in the form the client takes |
//! | `document` | documents that are made once, and tagged |
//! | `encoding`, `yaml` | indentation and gzip; YAML |
//! | `warnings` | what else a client is told |
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/endpoints/handlers/responsewriters`.

mod document;
mod encoding;
mod negotiated;
pub(crate) mod negotiation;
mod plain;
mod warnings;
pub(crate) mod yaml;

pub(crate) use document::{Document, EntityTag};
pub(crate) use negotiated::{bytes, envelope, failure, stream, value};
pub(crate) use plain::{empty, page_not_found, status, text};
pub(crate) use warnings::add_warnings;
