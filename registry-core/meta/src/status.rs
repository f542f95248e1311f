//! `Status`: the error response of the API.
//!
//! Kubernetes concept: [`metav1.Status`](https://kubernetes.io/docs/reference/generated/kubernetes-api/v1.36/#status-v1-meta).

use std::fmt;

use serde::{Deserialize, Serialize, Serializer};

use super::go_text::quote;
use super::identity::{GroupResource, GroupVersionKind};
use super::validation::{ErrorList, FieldError};

/// An error as a client receives it. The `Err` of every REST operation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatusError {
    /// The HTTP status code.
    pub code: u16,
    /// The machine-readable reason.
    pub reason: Reason,
    /// The human-readable message.
    pub message: String,
    /// The subject of the error; boxed to keep `Result`s small.
    pub details: Option<Box<StatusDetails>>,
    /// `metadata.continue`: with a 410 for an expired page, the token that continues at the same key in the newest
    /// state.
    pub continue_token: Option<Box<str>>,
    /// A reason that a service outside of this process gave and that is none of [`Reason`], which is `Unknown` then.
    pub foreign_reason: Option<Box<str>>,
}

/// The subject of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
pub struct StatusDetails {
    /// The object's name.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub name: String,
    /// The object's group.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub group: String,
    /// The object's resource (or, for invalid objects, kind).
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub kind: String,
    /// The object's uid.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub uid: String,
    /// The single causes, for example one for each invalid field.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub causes: Vec<StatusCause>,
    /// Delay before a retry, in seconds; 0 if unspecified.
    #[serde(default, skip_serializing_if = "is_zero")]
    pub retry_after_seconds: u32,
}

/// `metav1.Status` as it is written.
#[derive(Serialize)]
#[serde(rename_all = "camelCase")]
struct FailureBody<'a> {
    kind: &'static str,
    api_version: &'static str,
    metadata: StatusMetadata<'a>,
    status: &'static str,
    message: &'a str,
    #[serde(skip_serializing_if = "str::is_empty")]
    reason: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    details: Option<&'a StatusDetails>,
    code: u16,
}

/// The metadata of a `Status`.
#[derive(Serialize)]
struct StatusMetadata<'a> {
    #[serde(rename = "continue", skip_serializing_if = "Option::is_none")]
    continue_token: Option<&'a str>,
}

/// One cause of an error.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct StatusCause {
    /// The machine-readable kind of cause, for example `FieldValueInvalid`.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub reason: String,
    /// The human-readable message.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub message: String,
    /// The field, as a path from the root of the object.
    #[serde(default, skip_serializing_if = "String::is_empty")]
    pub field: String,
}

/// `metav1.StatusReason`; each reason has a default HTTP code.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Reason {
    /// 400: the request itself is malformed.
    BadRequest,
    /// 401: the user is not authenticated.
    Unauthorized,
    /// 403: the user is authenticated but not authorised.
    Forbidden,
    /// 404: no such object, resource or path.
    NotFound,
    /// 405: the resource does not serve this verb.
    MethodNotAllowed,
    /// 406: no representation the client accepts.
    NotAcceptable,
    /// 409: an object with this name already exists.
    AlreadyExists,
    /// 409: the object was changed concurrently; read it again and retry.
    Conflict,
    /// 410: the resource is permanently gone.
    Gone,
    /// 410: the resource version is older than the retained history; list again.
    Expired,
    /// 413: the body exceeds the size limit.
    RequestEntityTooLarge,
    /// 415: the server does not support the content type.
    UnsupportedMediaType,
    /// 422: the request is well-formed but the object is invalid.
    Invalid,
    /// 429: too many requests; retry after the given time.
    TooManyRequests,
    /// 500: an internal error of the server.
    InternalError,
    /// 500: stored objects cannot be read.
    StoreReadError,
    /// 500: the server could not complete the request in time; retry later.
    ServerTimeout,
    /// 503: the server is temporarily unavailable; retry.
    ServiceUnavailable,
    /// 504: the operation did not finish in time.
    Timeout,
    /// 500 or another code: no more specific reason applies.
    Unknown,
}

// === impl Reason ===

impl Reason {
    /// All reasons.
    const ALL: [Self; 20] = [
        Self::BadRequest,
        Self::Unauthorized,
        Self::Forbidden,
        Self::NotFound,
        Self::MethodNotAllowed,
        Self::NotAcceptable,
        Self::AlreadyExists,
        Self::Conflict,
        Self::Gone,
        Self::Expired,
        Self::RequestEntityTooLarge,
        Self::UnsupportedMediaType,
        Self::Invalid,
        Self::TooManyRequests,
        Self::InternalError,
        Self::StoreReadError,
        Self::ServerTimeout,
        Self::ServiceUnavailable,
        Self::Timeout,
        Self::Unknown,
    ];

    /// Returns the reason with this name.
    fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|reason| reason.as_str() == name)
    }

    /// Returns the most usual reason for an HTTP status code; [`Unknown`](Self::Unknown) if there is none.
    pub fn for_code(code: u16) -> Self {
        match code {
            409 => Self::Conflict,
            410 => Self::Expired,
            _ => Self::ALL.into_iter().find(|reason| reason.code() == code).unwrap_or(Self::Unknown),
        }
    }

    /// Returns the default HTTP status code of the reason.
    pub const fn code(self) -> u16 {
        match self {
            Self::BadRequest => 400,
            Self::Unauthorized => 401,
            Self::Forbidden => 403,
            Self::NotFound => 404,
            Self::MethodNotAllowed => 405,
            Self::NotAcceptable => 406,
            Self::AlreadyExists | Self::Conflict => 409,
            Self::Gone | Self::Expired => 410,
            Self::RequestEntityTooLarge => 413,
            Self::UnsupportedMediaType => 415,
            Self::Invalid => 422,
            Self::TooManyRequests => 429,
            Self::InternalError | Self::StoreReadError | Self::ServerTimeout | Self::Unknown => 500,
            Self::ServiceUnavailable => 503,
            Self::Timeout => 504,
        }
    }

    /// Returns the value of `Status.reason`; empty for `Unknown`.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::BadRequest => "BadRequest",
            Self::Unauthorized => "Unauthorized",
            Self::Forbidden => "Forbidden",
            Self::NotFound => "NotFound",
            Self::MethodNotAllowed => "MethodNotAllowed",
            Self::NotAcceptable => "NotAcceptable",
            Self::AlreadyExists => "AlreadyExists",
            Self::Conflict => "Conflict",
            Self::Gone => "Gone",
            Self::Expired => "Expired",
            Self::RequestEntityTooLarge => "RequestEntityTooLarge",
            Self::UnsupportedMediaType => "UnsupportedMediaType",
            Self::Invalid => "Invalid",
            Self::TooManyRequests => "TooManyRequests",
            Self::InternalError => "InternalError",
            Self::StoreReadError => "StorageReadError",
            Self::ServerTimeout => "ServerTimeout",
            Self::ServiceUnavailable => "ServiceUnavailable",
            Self::Timeout => "Timeout",
            Self::Unknown => "",
        }
    }
}

/// Maximum total length of the errors of an invalid object, in bytes.
const MAX_ERROR_BYTES: usize = 4 << 20;

// === impl StatusError ===

impl StatusError {
    /// Creates an error with the reason's default code and no details.
    pub fn new(reason: Reason, message: impl Into<String>) -> Self {
        Self {
            code: reason.code(),
            reason,
            message: message.into(),
            details: None,
            continue_token: None,
            foreign_reason: None,
        }
    }

    /// Sets the reason by its name, which may be unknown to this server. The code stays.
    pub fn with_reason(mut self, name: &str) -> Self {
        self.reason = Reason::from_name(name).unwrap_or(Reason::Unknown);
        let is_foreign = self.reason == Reason::Unknown && !name.is_empty();
        self.foreign_reason = is_foreign.then(|| name.into());
        self
    }

    /// Adds the resource and the name to the details.
    pub fn about(mut self, resource: GroupResource, name: &str) -> Self {
        let details = self.details_mut();
        resource.group.clone_into(&mut details.group);
        resource.resource.clone_into(&mut details.kind);
        name.clone_into(&mut details.name);
        self
    }

    /// Adds causes.
    pub fn with_causes(mut self, causes: Vec<StatusCause>) -> Self {
        self.details_mut().causes = causes;
        self
    }

    /// Adds a retry delay, in seconds.
    pub fn retry_after_seconds(mut self, seconds: u32) -> Self {
        self.details_mut().retry_after_seconds = seconds;
        self
    }

    /// 404: the object does not exist.
    pub fn not_found(resource: GroupResource, name: &str) -> Self {
        Self::new(Reason::NotFound, format!("{resource} {} not found", quote(name))).about(resource, name)
    }

    /// 409: the name is already in use.
    pub fn already_exists(resource: GroupResource, name: &str) -> Self {
        Self::new(Reason::AlreadyExists, format!("{resource} {} already exists", quote(name)))
            .about(resource, name)
    }

    /// 409: the object was changed concurrently, or a precondition does not hold.
    pub fn conflict(resource: GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let name_text = quote(name);
        Self::new(Reason::Conflict, format!("Operation cannot be fulfilled on {resource} {name_text}: {why}"))
            .about(resource, name)
    }

    /// 403: access to the object is denied.
    pub fn forbidden(resource: GroupResource, name: &str, why: impl fmt::Display) -> Self {
        let message = if name.is_empty() {
            format!("{resource} is forbidden: {why}")
        } else {
            format!("{resource} {} is forbidden: {why}", quote(name))
        };
        Self::new(Reason::Forbidden, message).about(resource, name)
    }

    /// 422: one or more fields are invalid. Uses the kind, not the resource, as Kubernetes does.
    ///
    /// The answer has no more errors than fit in 4 MiB: an object with an error in each byte has very many.
    pub fn invalid(kind: GroupVersionKind, name: &str, errors: &ErrorList) -> Self {
        let (shown, more) = errors.split_within(MAX_ERROR_BYTES);
        let errors = if more.is_empty() { errors } else { &ErrorList(shown.to_vec()) };
        let more = if more.is_empty() { String::new() } else { format!(", and {} more errors", more.len()) };
        let mut failure = Self::new(
            Reason::Invalid,
            format!("{}{} {} is invalid: {errors}{more}", kind.kind, dotted(kind.group), quote(name)),
        );
        let details = failure.details_mut();
        kind.group.clone_into(&mut details.group);
        kind.kind.clone_into(&mut details.kind);
        name.clone_into(&mut details.name);
        details.causes = errors.0.iter().map(StatusCause::from).collect();
        failure
    }

    /// 400: the request is malformed.
    pub fn bad_request(message: impl Into<String>) -> Self {
        Self::new(Reason::BadRequest, message)
    }

    /// 500: an internal error of the server.
    pub fn internal(error: impl fmt::Display) -> Self {
        Self::new(Reason::InternalError, format!("Internal error occurred: {error}"))
            .with_causes(vec![StatusCause { message: error.to_string(), ..StatusCause::default() }])
    }

    /// 405: the resource does not serve the verb.
    pub fn method_not_supported(resource: GroupResource, verb: &str) -> Self {
        Self::new(
            Reason::MethodNotAllowed,
            format!("{verb} is not supported on resources of kind \"{resource}\""),
        )
        .about(resource, "")
    }

    /// 410: the resource version is older than the retained history.
    pub fn expired(message: impl Into<String>) -> Self {
        Self::new(Reason::Expired, message)
    }

    /// Adds a token that continues the list at the same key in the newest state.
    pub fn continue_with(mut self, token: impl Into<Box<str>>) -> Self {
        self.continue_token = Some(token.into());
        self
    }

    /// 504: the server stopped waiting; the outcome is unknown.
    pub fn timeout(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(Reason::Timeout, format!("Timeout: {}", message.into()))
            .retry_after_seconds(retry_after_seconds)
    }

    /// 429: retry after the given number of seconds.
    pub fn too_many_requests(message: impl Into<String>, retry_after_seconds: u32) -> Self {
        Self::new(Reason::TooManyRequests, message).retry_after_seconds(retry_after_seconds)
    }

    /// Whether the error says that the object does not exist.
    pub fn is_not_found(&self) -> bool {
        self.reason == Reason::NotFound
    }

    /// Whether the error is a 409 that may be resolved by reading the object again.
    pub fn is_conflict(&self) -> bool {
        self.reason == Reason::Conflict
    }

    /// Returns the error as a `v1 Status` object.
    pub fn to_value(&self) -> serde_json::Value {
        serde_json::to_value(self).unwrap_or_default()
    }

    /// Returns the error as the JSON of a `v1 Status` object.
    pub fn to_json(&self) -> String {
        // Cannot fail: the keys are strings, and all values have a JSON form.
        serde_json::to_string(self).unwrap_or_default()
    }

    fn details_mut(&mut self) -> &mut StatusDetails {
        self.details.get_or_insert_default()
    }
}

/// As a `v1 Status` object, with the fields in Kubernetes' order.
impl Serialize for StatusError {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        FailureBody {
            kind: "Status",
            api_version: "v1",
            metadata: StatusMetadata { continue_token: self.continue_token.as_deref() },
            status: "Failure",
            message: &self.message,
            reason: self.foreign_reason.as_deref().unwrap_or(self.reason.as_str()),
            details: self.details.as_deref(),
            code: self.code,
        }
        .serialize(serializer)
    }
}

impl From<&FieldError> for StatusCause {
    fn from(error: &FieldError) -> Self {
        Self { reason: error.kind.reason().to_owned(), message: error.body(), field: error.field.to_string() }
    }
}

impl fmt::Display for StatusError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for StatusError {}

fn dotted(group: &str) -> String {
    if group.is_empty() { String::new() } else { format!(".{group}") }
}

#[allow(clippy::trivially_copy_pass_by_ref, reason = "serde's skip_serializing_if wants a reference")]
fn is_zero(number: &u32) -> bool {
    *number == 0
}
