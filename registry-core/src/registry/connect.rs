//! Connect subresources: `log`, `exec`, `proxy`.
//!
//! Kubernetes concept: `rest.Connecter`, and the storages of `pkg/registry/core/pod/rest`.

use std::sync::Arc;

use async_trait::async_trait;

use crate::api::{GroupResource, GroupVersionKind, Scope, StatusError};
use crate::context::RequestContext;
use crate::rest::connect::{ConnectRequest, ConnectSpec, Connection};
use crate::rest::{Connecter, Storage};
use crate::schema::Schema;

use super::store::Store;

/// A connect subresource of a parent's store.
pub struct ConnectStore {
    parent: Arc<Store>,
    rules: Box<dyn ConnectRules>,
}

/// Determines the target of connections.
#[async_trait]
pub trait ConnectRules: Send + Sync + 'static {
    /// Returns the options that the path accepts.
    fn connect_spec(&self) -> &'static ConnectSpec;

    /// Returns the target of a connection to the object with this name in the context's namespace. For proxies, the
    /// name can include a port and a scheme.
    async fn connect(
        &self,
        parent: &Store,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError>;
}

// === impl ConnectStore ===

impl ConnectStore {
    /// Creates a subresource of this store that connects by these rules.
    pub fn new(parent: Arc<Store>, rules: impl ConnectRules) -> Arc<Self> {
        Arc::new(Self { parent, rules: Box::new(rules) })
    }
}

impl Storage for ConnectStore {
    fn group_resource(&self) -> GroupResource {
        self.rules.connect_spec().read_as.unwrap_or_else(|| self.parent.group_resource())
    }

    fn kind(&self) -> GroupVersionKind {
        let accepted = self.rules.connect_spec();
        if accepted.read_as.is_some() { self.parent.kind() } else { accepted.options_kind }
    }

    fn scope(&self) -> Scope {
        self.parent.scope()
    }

    fn schema(&self) -> Schema {
        let accepted = self.rules.connect_spec();
        (accepted.schema_of)(accepted.options_kind)
    }
}

#[async_trait]
impl Connecter for ConnectStore {
    fn connect_spec(&self) -> &'static ConnectSpec {
        self.rules.connect_spec()
    }

    async fn connect(
        &self,
        context: &RequestContext,
        name: &str,
        request: &ConnectRequest<'_>,
    ) -> Result<Connection, StatusError> {
        self.rules.connect(&self.parent, context, name, request).await
    }
}
