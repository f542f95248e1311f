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

use super::super::call::Call;
use super::form::ItemForm;
use super::item::{Item, Part};

/// An object without fields.
const EMPTY_MAP: Bytes = Bytes::from_static(&[0xa0]);

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

    /// Writes a watch event. For an object that cannot be written, an error event takes its place and the
    /// watch continues.
    pub(crate) fn write_event(&self, out: &mut Vec<u8>, event: &str, item: &Item<'_>) {
        let begin = out.len();
        cbor::begin_watch_event(out, event);
        if let Err(failure) = self.write(out, item) {
            out.truncate(begin);
            write_made_event(out, "ERROR", failure.to_value().to_string().as_bytes());
        }
    }

    /// Writes an object as a list item, or returns it to be appended without a copy.
    pub(crate) fn begin_item(&self, out: &mut Vec<u8>, item: &Item<'_>) -> Option<Bytes> {
        if let ItemForm::Row(table) = &self.form {
            let mut json = Vec::with_capacity(item.json.len());
            table.write_row(&mut json, item);
            cbor::write_item(out, &stored::decode_value(&json).unwrap_or_default(), None);
            return None;
        }
        // Everything in the cache has been parsed as an object before.
        let fields = self.fields(item).unwrap_or(EMPTY_MAP);
        if matches!(self.form, ItemForm::Tail) {
            return Some(fields);
        }
        cbor::write_object(out, &self.api_version, self.kind, &fields);
        None
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

/// Writes a watch event of an object that was built for it, as JSON.
pub(crate) fn write_made_event(out: &mut Vec<u8>, event: &str, json: &[u8]) {
    cbor::begin_watch_event(out, event);
    out.extend_from_slice(&cbor::encode(&stored::decode_value(json).unwrap_or_default(), None));
}
