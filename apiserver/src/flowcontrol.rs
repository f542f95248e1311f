//! Classifies requests by the stored FlowSchemas. Every response names the schema and the priority level.
//!
//! Requests are only classified so far, and not queued by their level: one bound on requests in flight
//! applies to all (`filters::in_flight`).
//!
//! | module | contents |
//! |---|---|
//! | `rules` | one compiled schema: the users and requests it matches |
//! | `informer` | follows the stored schemas and levels, and keeps the schemas in force up to date |
//!
//! Kubernetes concept:
//! [API Priority and Fairness](https://kubernetes.io/docs/concepts/cluster-administration/flow-control/).

use std::sync::{Arc, PoisonError, RwLock};

use http::{HeaderMap, HeaderName, HeaderValue};
use registry_core::context::UserInfo;

use crate::request_info::{RequestInfo, Verb};

mod informer;
mod rules;

pub use informer::FlowSchemaInformer;
pub use rules::CompiledSchema;

const SCHEMA_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// The flow schemas in force, in matching order.
#[derive(Debug, Default)]
pub struct FlowSchemas(RwLock<Arc<[CompiledSchema]>>);

/// The flow of a request.
#[derive(Clone, Debug)]
pub struct Flow {
    schema_uid: HeaderValue,
    level_uid: HeaderValue,
}

// === impl FlowSchemas ===

impl FlowSchemas {
    /// Replaces the schemas in force.
    pub fn replace(&self, mut schemas: Vec<CompiledSchema>) {
        schemas.sort_by(|one, other| one.order().cmp(&other.order()));
        *self.0.write().unwrap_or_else(PoisonError::into_inner) = schemas.into();
    }

    /// Returns the flow of a request: that of the first matching schema. Returns `None` if none matches,
    /// which is so before the mandatory ones are created, and for long-running requests (watches excepted, as
    /// they begin with a list).
    pub fn classify(&self, user: &UserInfo, info: &RequestInfo) -> Option<Flow> {
        if info.is_long_running() && info.verb != Verb::Watch {
            return None;
        }
        let schemas = self.0.read().unwrap_or_else(PoisonError::into_inner).clone();
        schemas.iter().find(|schema| schema.matches(user, info)).map(CompiledSchema::flow)
    }
}

// === impl Flow ===

impl Flow {
    /// Sets the response headers that name the flow.
    pub fn add_to(self, headers: &mut HeaderMap) {
        headers.insert(SCHEMA_HEADER, self.schema_uid);
        headers.insert(LEVEL_HEADER, self.level_uid);
    }
}
