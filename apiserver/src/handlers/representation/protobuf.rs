//! Responses in protobuf: conversion of JSON bytes to messages.

use std::sync::Arc;

use bytes::Bytes;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::protobuf;
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::{Encoding, EncodingBudget};
use responses::negotiation::{MetaVersion, ResponseShape};
use serde_json::Value;

use super::super::call::Call;
use super::item::{Item, Part};

const PARTIAL: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";

/// Converts objects of one kind to messages.
#[derive(Clone, Debug)]
pub(crate) struct Messages {
    pub(crate) api_version: Box<str>,
    pub(crate) kind: &'static str,
    part: Part,
    schema: Schema,
    budget: Arc<EncodingBudget>,
}

// === impl Messages ===

impl Messages {
    /// Returns the conversion for a route's objects, in the requested shape.
    ///
    /// # Errors
    /// 406 if the kind has no protobuf form.
    pub(crate) fn new(call: &Call<'_>, shape: ResponseShape) -> Result<Self, StatusError> {
        let budget = call.api.config.encodings.clone();
        match shape {
            ResponseShape::Partial(version) | ResponseShape::PartialList(version) => {
                Self::for_metadata(version, budget)
            }
            ResponseShape::Whole if call.formats().protobuf => Ok(Self {
                api_version: call.route.api_version.clone(),
                kind: call.route.kind.kind,
                part: Part::Whole,
                schema: call.route.path.capabilities.storage.schema().clone(),
                budget,
            }),
            ResponseShape::Whole | ResponseShape::Table(_) => Err(no_protobuf()),
        }
    }

    /// Returns the conversion for the metadata alone of any kind's objects.
    ///
    /// # Errors
    /// 406 if the type is missing, which all servers have.
    pub(crate) fn for_metadata(
        version: MetaVersion,
        budget: Arc<EncodingBudget>,
    ) -> Result<Self, StatusError> {
        Ok(Self {
            api_version: version.api_version().into(),
            kind: "PartialObjectMetadata",
            part: Part::Metadata,
            schema: TypeTable::meta().schema_named(PARTIAL).ok_or_else(no_protobuf)?,
            budget,
        })
    }

    /// Returns an object's message, which all clients share.
    pub(crate) fn message(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        let encoding = match self.part {
            Part::Whole => Encoding::Protobuf,
            Part::Metadata => Encoding::MetadataProtobuf,
        };
        item.in_encoding(encoding, &self.budget, || {
            let fields = item.fields(self.part)?;
            let message = protobuf::encode_message(&Value::Object(fields), &self.schema);
            message.map_err(|error| {
                let failure = item.unreadable(&error);
                // It fails every list that the object is in, so the operator has to find it.
                tracing::error!(error = %failure.message, "an object cannot be sent in protobuf");
                failure
            })
        })
    }

    /// Returns an object in its envelope.
    pub(crate) fn envelope(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        Ok(protobuf::envelope(&self.api_version, self.kind, &self.message(item)?))
    }
}

/// Returns a failure's message, a `Status`.
pub(crate) fn status_message(failure: &StatusError) -> Option<Bytes> {
    let schema = TypeTable::meta().schema_of("v1", "Status")?;
    protobuf::encode_message(&failure.to_value(), &schema).ok()
}

/// Returns a 406 for a kind without a protobuf form.
pub(crate) fn no_protobuf() -> StatusError {
    StatusError::new(
        Reason::NotAcceptable,
        "only the following media types are accepted: application/json, application/yaml",
    )
}
