//! Responses in CBOR: conversion of JSON bytes to maps.
//!
//! Kubernetes concept: the feature `CBORServingAndStorage`,
//! [KEP-4222](https://github.com/kubernetes/enhancements/tree/master/keps/sig-api-machinery/4222-cbor-serializer).

use std::sync::Arc;

use bytes::Bytes;
use registry_core::api::StatusError;
use registry_core::codec::{cbor, stored};
use registry_core::schema::Schema;
use registry_core::storage::{Encoding, EncodingBudget};
use serde_json::Value;

use super::super::call::Call;
use super::form::ItemForm;
use super::item::{Item, Part};

/// Converts objects of one kind to CBOR.
#[derive(Clone, Debug)]
pub(crate) struct Maps {
    api_version: Box<str>,
    kind: &'static str,
    form: ItemForm,
    schema: Schema,
    budget: Arc<EncodingBudget>,
}

// === impl Maps ===

impl Maps {
    /// Returns the conversion for a route's objects, in this form.
    pub(crate) fn new(call: &Call<'_>, form: ItemForm) -> Self {
        let (api_version, kind) = form.type_of(call.route);
        Self {
            api_version: api_version.into(),
            kind,
            form,
            schema: call.route.path.capabilities.storage.schema().clone(),
            budget: call.api.config.encodings.clone(),
        }
    }

    /// Writes a whole object. Tables are not supported: they are built as JSON ([`write_made_event`]).
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    pub(crate) fn write(&self, out: &mut Vec<u8>, item: &Item<'_>) -> Result<(), StatusError> {
        let fields = self.fields(item)?;
        out.extend_from_slice(cbor::MAGIC);
        cbor::write_object(out, &self.api_version, self.kind, &fields);
        Ok(())
    }

    /// Writes a watch event.
    ///
    /// # Errors
    /// 500 if the object's bytes are not an object; nothing is written.
    pub(crate) fn write_event(
        &self,
        out: &mut Vec<u8>,
        event: &str,
        item: &Item<'_>,
    ) -> Result<(), StatusError> {
        let begin = out.len();
        cbor::begin_watch_event(out, event);
        self.write(out, item).inspect_err(|_| out.truncate(begin))
    }

    /// Writes an object as a list item, or returns it to be appended without a copy.
    ///
    /// # Errors
    /// 500 if its bytes are not an object.
    pub(crate) fn begin_item(
        &self,
        out: &mut Vec<u8>,
        item: &Item<'_>,
    ) -> Result<Option<Bytes>, StatusError> {
        if let ItemForm::Row(table) = &self.form {
            let mut json = Vec::with_capacity(item.json.len());
            table.write_row(&mut json, item)?;
            let row = stored::decode_value(&json).map_err(|error| item.unreadable(&error))?;
            cbor::write_item(out, &row, None);
            return Ok(None);
        }
        let fields = self.fields(item)?;
        if matches!(self.form, ItemForm::Tail) {
            return Ok(Some(fields));
        }
        cbor::write_object(out, &self.api_version, self.kind, &fields);
        Ok(None)
    }

    /// Returns the encoded fields other than `apiVersion` and `kind`, which all clients share.
    fn fields(&self, item: &Item<'_>) -> Result<Bytes, StatusError> {
        let (encoding, part) = match self.form {
            ItemForm::Partial(_) => (Encoding::MetadataCbor, Part::Metadata),
            _ => (Encoding::Cbor, Part::Whole),
        };
        item.in_encoding(encoding, &self.budget, || {
            Ok(cbor::encode_fields(&item.fields(part)?, Some(&self.schema)))
        })
    }
}

/// Writes a watch event of an object that was built for it.
pub(crate) fn write_made_event(out: &mut Vec<u8>, event: &str, object: &Value) {
    cbor::begin_watch_event(out, event);
    out.extend_from_slice(&cbor::encode(object, None));
}
