//! `ships/arrival`: a ship arrives in a port. The body is the port, and the answer says that it is done.

use std::sync::Arc;

use async_trait::async_trait;
use registry_core::api::validation::ErrorList;
use registry_core::api::{
    CreateOptions, FieldError, FieldPath, GroupResource, GroupVersionKind, Object, Scope, StatusError,
};
use registry_core::registry::{Services, Store, Subresource, UpdateRules};
use registry_core::rest::{
    AdmitAll, Answer, Capabilities, NamedCreater, Storage, SuccessStatus, UpdatedObject, ValidateObject,
};
use registry_core::schema::Schema;
use registry_core::{RequestContext, Resource as _, ResourceType, capabilities};

use super::Ship;
use super::port::Port;

const PORT: &[&str] = &["spec", "port"];

// ANCHOR: subresource
/// The `arrival` subresource of ships.
pub struct Arrival {
    ships: Arc<Store>,
}

impl Subresource for Arrival {
    type Parent = Ship;
    type Storage = Self;
    const NAME: &'static str = "arrival";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(Arc::new(Self { ships: parent.clone() }); named_creater)
    }
}

impl Storage for Arrival {
    fn group_resource(&self) -> GroupResource {
        self.ships.group_resource()
    }

    /// The kind of the body, which is not that of the ship.
    fn kind(&self) -> GroupVersionKind {
        Port::TYPE.kind
    }

    fn scope(&self) -> Scope {
        Scope::Namespaced
    }

    fn schema(&self) -> Schema {
        (Port::TYPE.schema)()
    }
}
// ANCHOR_END: subresource

// ANCHOR: action
#[async_trait]
impl NamedCreater for Arrival {
    async fn create_named(
        &self,
        context: &RequestContext,
        name: &str,
        port: Object,
        admission: &dyn ValidateObject,
        options: &CreateOptions,
    ) -> Result<Answer, StatusError> {
        if port.name().is_empty() {
            let missing = FieldError::required(FieldPath::new("metadata").child("name"), "the port");
            return Err(StatusError::invalid(self.kind(), "", &missing.into()));
        }
        // The plug-ins, webhooks and policies see the body and the name of the subresource.
        admission.validate(context, Some(&port), None).await?;
        let mut arrival = ArrivalIn { port: port.name() };
        self.ships.with_rules(&ArrivalRules).update(context, name, &mut arrival, &AdmitAll, options).await?;
        Ok(Answer::Success(SuccessStatus { details: None, code: Some(201) }))
    }
}

/// A ship that arrives in a port.
struct ArrivalIn<'a> {
    port: &'a str,
}

#[async_trait]
impl UpdatedObject for ArrivalIn<'_> {
    /// Computes the new ship, again if another write comes in between.
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        ship: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut arrived = ship.cloned().unwrap_or_default();
        if let Some(present) = arrived.get_str(PORT) {
            let reason = format!("the ship is in {present}");
            return Err(StatusError::conflict(Ship::TYPE.group_resource(), arrived.name(), reason));
        }
        arrived.set(PORT, self.port.into());
        Ok(arrived)
    }
}
// ANCHOR_END: action

/// The server makes the change, so nothing has to be restored.
struct ArrivalRules;

impl UpdateRules for ArrivalRules {
    fn changes_only(&self) -> Option<&'static [&'static [&'static str]]> {
        Some(&[PORT])
    }

    fn prepare(&self, _: &ResourceType, _: &RequestContext, _: &mut Object, _: &Object) {}

    fn validate(&self, _: &ResourceType, _: &RequestContext, _: &Object, _: &Object) -> ErrorList {
        ErrorList::default()
    }
}
