//! Server-side apply: a patch that is a configuration, of an object that may not exist yet.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::api::{FieldValidation, Object, PatchOptions, StatusError, time};
use registry_core::budget::memory;
use registry_core::codec::Decoded;
use registry_core::codec::json::type_name;
use registry_core::rest::UpdatedObject;
use responses::negotiation::Format;
use serde_json::Value;

use crate::admission::Operation;

use super::super::call::Call;
use super::super::content::{self, BodyIssue, Step, check_name, owners, set_defaults, settle_namespace};

/// Merges an applied configuration into the current object.
pub(super) struct Applied<'a> {
    call: &'a Call<'a>,
    configuration: Object,
    options: &'a PatchOptions,
    /// The duplicate fields of the configuration.
    duplicates: Vec<BodyIssue>,
}

// === impl Applied ===

impl<'a> Applied<'a> {
    /// Reads a configuration, in YAML or CBOR.
    ///
    /// # Errors
    /// 400 when it is malformed.
    pub(super) fn parse(
        call: &'a Call<'a>,
        bytes: &[u8],
        format: Format,
        options: &'a PatchOptions,
    ) -> Result<Self, StatusError> {
        let language = if format == Format::Cbor { "CBOR" } else { "YAML" };
        let malformed = |why: &str| StatusError::bad_request(format!("error decoding {language}: {why}"));
        let format = if format == Format::Cbor { Format::Cbor } else { Format::Yaml };
        let budget = &call.context.budget;
        let decoded = content::decode(bytes, format, budget);
        let Decoded { value, duplicates, .. } = decoded.map_err(|fault| malformed(&fault.to_string()))?;
        let duplicates = duplicates.into_iter().map(|issue| BodyIssue { step: Step::ConvertYaml, issue });
        // The merged object is conformed to its schema, which fills them.
        budget.take_bytes(memory::empty_object_bytes(&value))?;
        let configuration = match value {
            Value::Null => Object::default(),
            value => Object::from_value(value).map_err(|other| {
                let found = type_name(&other);
                malformed(&format!(
                    "error unmarshaling JSON: while decoding JSON: json: cannot unmarshal {found} into Go value of \
                     type map[string]interface {{}}"
                ))
            })?,
        };
        Ok(Self { call, configuration, options, duplicates: duplicates.collect() })
    }

    /// Returns whether the configuration has a resource version: the client then has to resolve conflicts.
    pub(super) fn pins_version(&self) -> bool {
        !self.configuration.resource_version().is_empty()
    }

    /// Returns a 409: the configuration has the uid of an object that does not exist.
    fn meant_for_another(&self, object: &Object) -> StatusError {
        let detail = format!(
            "uid mismatch: the provided object specified uid {}, and no existing object was found",
            object.uid()
        );
        StatusError::conflict(self.call.route.path.resource.group_resource(), self.call.name, &detail)
    }

    /// Refuses duplicate fields, warns of them or ignores them, once everything else has been validated.
    fn settle_duplicates(&self) -> Result<(), StatusError> {
        match self.options.field_validation {
            FieldValidation::Ignore => {}
            FieldValidation::Warn => self.duplicates.iter().for_each(|issue| issue.warn(self.call)),
            FieldValidation::Strict => {
                if let Some(issue) = self.duplicates.first() {
                    return Err(StatusError::bad_request(format!("error strict decoding YAML: {issue}")));
                }
            }
        }
        Ok(())
    }
}

#[async_trait]
impl UpdatedObject for Applied<'_> {
    async fn updated_object(
        &mut self,
        context: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let call = self.call;
        let PatchOptions { field_manager, force, .. } = self.options;
        let now = time::now();
        let configuration = &self.configuration;
        let object = call
            .field_manager()
            .with_conversions(|manager| manager.apply(current, configuration, field_manager, *force, &now))
            .await?;
        self.settle_duplicates()?;
        if current.is_none() && !object.uid().is_empty() {
            return Err(self.meant_for_another(&object));
        }
        let mut object = object;
        settle_namespace(call, &mut object)?;
        check_name(call, &object)?;
        let mut object = set_defaults(call, object, None)?;
        let operation = if current.is_some() { Operation::Update } else { Operation::Create };
        let attributes = call.attributes(operation, call.name, self.options);
        call.api.admission.admit(context, &attributes, Some(&mut object), current).await?;
        owners::settle_after_admission(context, &mut object);
        Ok(object)
    }

    fn forces_create(&self) -> bool {
        true
    }
}
