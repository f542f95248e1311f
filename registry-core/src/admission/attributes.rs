//! The attributes of a write that plug-ins decide by.

use std::fmt;

use serde_json::{Map, Value, json};

use super::{NoKinds, Reinvocation, ServedKinds};
use crate::api::{
    CreateOptions, DeleteOptions, DryRun, FieldValidation, GroupVersionKind, GroupVersionResource,
    PatchOptions, PropagationPolicy,
};
use crate::resource::Resource;

/// Attributes of a write other than the objects. The user and the namespace are in the context.
///
/// Kubernetes concept: `Attributes` in `k8s.io/apiserver/pkg/admission`.
#[derive(Clone, Copy)]
pub struct Attributes<'a> {
    /// The operation.
    pub operation: Operation,
    /// The resource, in the version of the request; for a subresource, its parent.
    pub resource: GroupVersionResource,
    /// The subresource; empty for the resource itself.
    pub subresource: &'static str,
    /// The kind of the object in the request, in the version of the request.
    pub kind: GroupVersionKind,
    /// The object's name; empty if it is not generated yet, and for collections.
    pub name: &'a str,
    /// Whether this is a dry run.
    pub dry_run: DryRun,
    /// The options of the operation.
    pub options: OperationOptions<'a>,
    /// The kinds that are served, for plug-ins that work on any kind.
    pub kinds: &'a dyn ServedKinds,
    /// The state of the run of the mutating plug-ins; `None` for validating ones.
    pub reinvocation: Option<&'a Reinvocation>,
}

/// Kind of a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// An object is created.
    Create,
    /// An object is updated.
    Update,
    /// An object is deleted.
    Delete,
    /// A connection to an object is opened (`exec`, `proxy`).
    Connect,
}

/// The options of an operation.
#[derive(Clone, Copy, Debug, Default)]
pub enum OperationOptions<'a> {
    /// None: connections.
    #[default]
    None,
    /// The options of a creation or an update.
    Write {
        /// Whether to skip the write.
        dry_run: DryRun,
        /// The treatment of unknown and duplicate fields.
        field_validation: FieldValidation,
        /// The manager of the fields set, as in the request; may be empty.
        field_manager: &'a str,
    },
    /// The options of a deletion.
    Delete(&'a DeleteOptions),
}

// === impl Attributes ===

impl<'a> Attributes<'a> {
    /// Returns the attributes of an operation on an object without options, for a server without further kinds.
    pub fn new(
        operation: Operation,
        resource: GroupVersionResource,
        kind: GroupVersionKind,
        name: &'a str,
    ) -> Self {
        Self {
            operation,
            resource,
            subresource: "",
            kind,
            name,
            dry_run: DryRun::Off,
            options: OperationOptions::None,
            kinds: &NoKinds,
            reinvocation: None,
        }
    }

    /// Whether the write is to an object of this kind itself (not a subresource), by one of these operations.
    pub fn are_of<R: Resource>(&self, operations: &[Operation]) -> bool {
        self.subresource.is_empty()
            && self.resource.group_resource() == R::TYPE.group_resource()
            && operations.contains(&self.operation)
    }
}

impl fmt::Debug for Attributes<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Attributes")
            .field("operation", &self.operation)
            .field("resource", &self.resource)
            .field("subresource", &self.subresource)
            .field("kind", &self.kind)
            .field("name", &self.name)
            .field("options", &self.options)
            .finish_non_exhaustive()
    }
}

// === impl Operation ===

impl Operation {
    /// The operations that store an object as it is in the request.
    pub const WRITES: &[Self] = &[Self::Create, Self::Update];

    /// Returns the name as admission rules have it: `CREATE`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Create => "CREATE",
            Self::Update => "UPDATE",
            Self::Delete => "DELETE",
            Self::Connect => "CONNECT",
        }
    }
}

// === impl OperationOptions ===

impl<'a> From<&'a CreateOptions> for OperationOptions<'a> {
    fn from(options: &'a CreateOptions) -> Self {
        Self::Write {
            dry_run: options.dry_run,
            field_validation: options.field_validation,
            field_manager: &options.field_manager,
        }
    }
}

/// A patch is a creation or an update for plug-ins, with its options.
impl<'a> From<&'a PatchOptions> for OperationOptions<'a> {
    fn from(options: &'a PatchOptions) -> Self {
        Self::Write {
            dry_run: options.dry_run,
            field_validation: options.field_validation,
            field_manager: &options.field_manager,
        }
    }
}

impl<'a> From<&'a DeleteOptions> for OperationOptions<'a> {
    fn from(options: &'a DeleteOptions) -> Self {
        Self::Delete(options)
    }
}

impl OperationOptions<'_> {
    /// Whether the operation is a dry run.
    pub const fn dry_run(self) -> DryRun {
        match self {
            Self::None => DryRun::Off,
            Self::Write { dry_run, .. } => dry_run,
            Self::Delete(options) => options.dry_run,
        }
    }

    /// Returns the options as the object that plug-ins outside of the process receive: `CreateOptions`, `UpdateOptions`
    /// or `DeleteOptions` of `meta.k8s.io/v1`; `None` if the operation has none.
    pub fn to_value(self, operation: Operation) -> Option<Value> {
        let kind = match operation {
            Operation::Create => "CreateOptions",
            Operation::Update => "UpdateOptions",
            Operation::Delete => "DeleteOptions",
            Operation::Connect => return None,
        };
        let mut fields = Map::new();
        fields.insert("kind".to_owned(), kind.into());
        fields.insert("apiVersion".to_owned(), "meta.k8s.io/v1".into());
        if self.dry_run() == DryRun::All {
            fields.insert("dryRun".to_owned(), json!(["All"]));
        }
        match self {
            Self::None => return None,
            Self::Write { field_validation, field_manager, .. } => {
                if !field_manager.is_empty() {
                    fields.insert("fieldManager".to_owned(), field_manager.into());
                }
                let validation = match field_validation {
                    FieldValidation::Ignore => Some("Ignore"),
                    FieldValidation::Strict => Some("Strict"),
                    // The default, which clients rarely set.
                    FieldValidation::Warn => None,
                };
                fields.extend(validation.map(|text| ("fieldValidation".to_owned(), text.into())));
            }
            Self::Delete(options) => fields.extend(delete_fields(options)),
        }
        Some(Value::Object(fields))
    }
}

fn delete_fields(options: &DeleteOptions) -> Map<String, Value> {
    let mut fields = Map::new();
    if let Some(seconds) = options.grace_period_seconds {
        fields.insert("gracePeriodSeconds".to_owned(), seconds.into());
    }
    let mut preconditions = Map::new();
    if let Some(uid) = &options.preconditions.uid {
        preconditions.insert("uid".to_owned(), uid.as_str().into());
    }
    if let Some(version) = &options.preconditions.resource_version {
        preconditions.insert("resourceVersion".to_owned(), version.as_str().into());
    }
    if !preconditions.is_empty() {
        fields.insert("preconditions".to_owned(), Value::Object(preconditions));
    }
    if let Some(policy) = options.propagation_policy {
        let policy = match policy {
            PropagationPolicy::Orphan => "Orphan",
            PropagationPolicy::Background => "Background",
            PropagationPolicy::Foreground => "Foreground",
        };
        fields.insert("propagationPolicy".to_owned(), policy.into());
    }
    fields
}

#[cfg(test)]
mod tests {
    use crate::api::Preconditions;

    use super::*;

    #[test]
    fn options_are_shown_as_the_object_of_their_operation() {
        let create = CreateOptions {
            dry_run: DryRun::All,
            field_validation: FieldValidation::Strict,
            field_manager: "kubectl-create".to_owned(),
            ..CreateOptions::default()
        };
        let shown = OperationOptions::from(&create).to_value(Operation::Create);
        let expected = json!({
            "kind": "CreateOptions", "apiVersion": "meta.k8s.io/v1", "dryRun": ["All"],
            "fieldManager": "kubectl-create", "fieldValidation": "Strict",
        });
        assert_eq!(shown, Some(expected));

        let delete = DeleteOptions {
            grace_period_seconds: Some(0),
            preconditions: Preconditions { uid: Some("u".to_owned()), resource_version: None },
            propagation_policy: Some(PropagationPolicy::Background),
            ..DeleteOptions::default()
        };
        let shown = OperationOptions::from(&delete).to_value(Operation::Delete);
        let expected = json!({
            "kind": "DeleteOptions", "apiVersion": "meta.k8s.io/v1", "gracePeriodSeconds": 0,
            "preconditions": { "uid": "u" }, "propagationPolicy": "Background",
        });
        assert_eq!(shown, Some(expected));
        assert_eq!(OperationOptions::None.to_value(Operation::Connect), None);
    }
}
