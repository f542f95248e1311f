//! Answers in protobuf: what JSON bytes stand for, as messages.

use std::sync::Arc;

use bytes::Bytes;
use registry_core::api::{Reason, StatusError};
use registry_core::codec::protobuf;
use registry_core::schema::{Schema, TypeTable};
use registry_core::storage::{Encoding, EncodingBudget};
use serde_json::Value;

use crate::responses::negotiation::{MetaVersion, ResponseShape};

use super::super::call::Call;
use super::item::{Item, Part};

const PARTIAL: &str = "io.k8s.apimachinery.pkg.apis.meta.v1.PartialObjectMetadata";

/// How objects of one kind become messages.
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
    /// For a route's objects, in the shape the client wants.
    ///
    /// # Errors
    /// 406 for what has no protobuf.
    pub(crate) fn new(call: &Call<'_>, shape: ResponseShape) -> Result<Self, StatusError> {
        let budget = call.api.config.encodings.clone();
        match shape {
            ResponseShape::Partial(version) | ResponseShape::PartialList(version) => {
                Self::of_metadata(version, budget)
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

    /// For the metadata alone of any kind's objects.
    ///
    /// # Errors
    /// 406: there is no such type, which all servers have.
    pub(crate) fn of_metadata(
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

    /// An object's message, which is the same for everybody who asks.
    pub(crate) fn message(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        let encoding = match self.part {
            Part::Whole => Encoding::Protobuf,
            Part::Metadata => Encoding::MetadataProtobuf,
        };
        item.in_encoding(encoding, &self.budget, || {
            let fields = item.fields(self.part)?;
            Ok(protobuf::encode_message(&Value::Object(fields), &self.schema))
        })
    }

    /// An object in its envelope.
    pub(crate) fn envelope(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        Ok(protobuf::envelope(&self.api_version, self.kind, &self.message(item)?))
    }
}

/// A failure's message, a `Status`.
pub(crate) fn status_message(failure: &StatusError) -> Option<Bytes> {
    let schema = TypeTable::meta().schema_of("v1", "Status")?;
    Some(protobuf::encode_message(&failure.to_value(), &schema))
}

/// 406 for what is asked for in protobuf, and has none.
pub(crate) fn no_protobuf() -> StatusError {
    StatusError::new(
        Reason::NotAcceptable,
        "only the following media types are accepted: application/json, application/yaml",
    )
}
