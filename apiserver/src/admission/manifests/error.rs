//! Objects in files that cannot be enforced.

use std::io;
use std::path::PathBuf;

use registry_core::codec::DecodeError;
use registry_core::registry::UnacceptedError;
use registry_core::schema::FieldIssue;

/// Error of a directory whose objects cannot be enforced. Retryable when the files have changed. The texts are Kubernetes', where
/// it refuses the same.
#[derive(Debug, thiserror::Error)]
pub enum ManifestsError {
    /// The directory or a file, which the text names, cannot be read.
    #[error(transparent)]
    Unreadable(io::Error),
    /// An object in a file cannot be enforced.
    #[error("error loading {}: {source}", .path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// The reason.
        source: Box<InvalidManifest>,
    },
    /// A binding is for no policy of the directory.
    #[error(
        "binding {binding:?} references policy {policy:?} which does not exist in the manifest directory"
    )]
    NoPolicy {
        /// The name of the binding.
        binding: String,
        /// The policy that it names.
        policy: String,
    },
}

/// Error of an object in a file that cannot be enforced. Not retryable.
#[derive(Debug, thiserror::Error)]
pub enum InvalidManifest {
    /// The file is neither YAML nor JSON.
    #[error(transparent)]
    Syntax(#[from] DecodeError),
    /// A field stands twice.
    #[error("strict decoding error: {0}")]
    Duplicate(FieldIssue),
    /// A document is not an object.
    #[error("a document has to be an object, and is another value")]
    NoObject,
    /// An object does not say what it is.
    #[error("Object '{0}' is missing")]
    NoType(&'static str),
    /// The kind does not exist.
    #[error("no kind {kind:?} is registered for version {version:?}")]
    UnknownKind {
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        version: String,
    },
    /// The kind belongs to another plug-in, or the version is not the stored one.
    #[error("unsupported resource type {kind:?} of {version:?}: the plug-in {plugin} enforces {}", .known.join(" and "))]
    OtherKind {
        /// The kind in the file.
        kind: String,
        /// The version in the file.
        version: String,
        /// The plug-in.
        plugin: &'static str,
        /// The kinds of the plug-in.
        known: Vec<String>,
    },
    /// The elements of a list are no list.
    #[error("items has to be a list")]
    NoItems,
    /// A list has an unknown field.
    #[error("strict decoding error: unknown field {0:?}")]
    UnknownListField(String),
    /// An element of a list has a type that does not exist.
    #[error("failed to decode list item: {0}")]
    Item(Box<Self>),
    /// The rules of the kind refuse the object, which the text names.
    #[error(transparent)]
    Refused(UnacceptedError),
    /// An object has another form than its kind.
    #[error("{kind} {name:?}: {source}")]
    Form {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
        /// The reason.
        source: UnacceptedError,
    },
    /// The name is one of those that the API accepts.
    #[error("{0:?} must have a name ending with {ending:?}", ending = resources::api::admissionregistration::RESERVED_ENDING)]
    UnreservedName(String),
    /// Two objects have one name.
    #[error("duplicate name {name:?} (previously seen in {})", .before.display())]
    DuplicateName {
        /// The name.
        name: String,
        /// The file of the other object.
        before: PathBuf,
    },
    /// The field would refer to an object of the API.
    #[error("{kind} {name:?}: {field} is not supported for static manifests")]
    Reference {
        /// The kind.
        kind: &'static str,
        /// The name.
        name: String,
        /// The field.
        field: &'static str,
    },
    /// A binding names a policy of the API.
    #[error("binding {name:?}: spec.policyName {policy:?} must end with {ending:?}", ending = resources::api::admissionregistration::RESERVED_ENDING)]
    UnreservedPolicy {
        /// The name of the binding.
        name: String,
        /// The policy that it names.
        policy: String,
    },
    /// A webhook is behind a Service, which the API has.
    #[error(
        "webhook {webhook:?} in {name:?}: clientConfig.service is not supported for static manifests; use clientConfig.url instead"
    )]
    Service {
        /// The name of the webhook.
        webhook: String,
        /// The name of the configuration.
        name: String,
    },
    /// A webhook has no URL.
    #[error("webhook {webhook:?} in {name:?}: clientConfig.url is required for static manifests")]
    NoUrl {
        /// The name of the webhook.
        webhook: String,
        /// The name of the configuration.
        name: String,
    },
}
