//! The mapping from storage errors to the errors that clients receive.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/storage/errors` (the `Interpret…Error` functions).

use crate::api::{GroupResource, Reason, StatusCause, StatusError};
use crate::storage::{CorruptObject, CorruptObjects, StorageError, Unreadable, WatchError};

/// The message of a lost write race, which clients match on.
pub const OPTIMISTIC_LOCK: &str =
    "the object has been modified; please apply your changes to the latest version and try again";

const LIST_EXPIRED: &str = "The resourceVersion for the provided list is too old.";
const CONTINUE_EXPIRED: &str = "The provided continue parameter is too old to display a consistent list \
     result. You can start a new list without the continue parameter.";
const CONTINUE_INCONSISTENT: &str = "The provided continue parameter is too old to display a consistent list \
     result. You can start a new list without the continue parameter, or use the continue token in this \
     response to retrieve the remainder of the results. Continuing with the provided token results in an \
     inconsistent list - objects that were created, modified, or deleted between the time the first chunk was \
     returned and now may show up in the list.";
const RETRY_UNAVAILABLE_SECONDS: u32 = 2;

/// The operation and its target when storage failed, as named in messages.
#[derive(Clone, Copy, Debug)]
pub struct StoreOperation<'a> {
    /// The operation.
    pub verb: Verb,
    /// The resource.
    pub resource: GroupResource,
    /// The object's name; empty for collections.
    pub name: &'a str,
    /// The object's key; empty for collections.
    pub key: &'a str,
    /// The key as it is named by the error of a value that cannot be read, if such objects can be deleted.
    pub corrupt_key: Option<&'a str>,
}

/// The operation when storage failed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verb {
    /// Reading one object.
    Get,
    /// Listing the first page.
    List,
    /// Listing a further page.
    ListPage,
    /// Starting a watch.
    Watch,
    /// Creating an object.
    Create,
    /// Updating an object.
    Update,
    /// Deleting an object.
    Delete,
}

// === impl StoreOperation ===

impl StoreOperation<'_> {
    /// Converts a storage error of this operation to the client's error.
    pub fn interpret(&self, error: StorageError) -> StatusError {
        match error {
            StorageError::Rejected(refusal) => refusal,
            StorageError::NotFound { .. } => StatusError::not_found(self.resource, self.name),
            StorageError::Exists { .. } => StatusError::already_exists(self.resource, self.name),
            StorageError::Conflict => StatusError::conflict(self.resource, self.name, OPTIMISTIC_LOCK),
            error @ StorageError::Precondition { .. } => {
                StatusError::conflict(self.resource, self.name, invalid_object(self.key, &error.to_string()))
            }
            StorageError::Compacted { requested, oldest, fresh_continue } => {
                self.expired(requested, oldest, fresh_continue)
            }
            StorageError::FutureRevision { requested, current } => too_large_revision(requested, current),
            StorageError::InvalidRequest(reason) => StatusError::bad_request(reason.to_string()),
            StorageError::TooLarge { message } => StatusError::new(
                Reason::RequestEntityTooLarge,
                format!("Request entity too large: {message}"),
            ),
            StorageError::Unavailable { reason } => self.server_timeout(&reason),
            // etcd's own words, which operators search for, and no delay: a retry does not help.
            StorageError::Refused { reason } => StatusError::new(Reason::Unknown, &*reason),
            StorageError::Overloaded { retry_after_seconds } => StatusError::too_many_requests(
                "the storage has too many requests queued, please try again later",
                retry_after_seconds,
            ),
            StorageError::Corrupt(object) => StatusError::internal(self.corrupt(&object)),
            StorageError::CorruptList(list) => self.unreadable_list(&list),
            error @ (StorageError::NotCorrupt | StorageError::NotEncrypted { .. }) => {
                StatusError::internal(error)
            }
        }
    }

    /// Returns the text for a value that cannot be read.
    fn corrupt(&self, object: &CorruptObject) -> String {
        let CorruptObject { key, reason, .. } = object;
        match (self.corrupt_key, self.verb, reason) {
            (Some(key), Verb::Get | Verb::Delete, _) => corrupt_object(key, object),
            (Some(_), ..) => described(object),
            (None, Verb::List | Verb::ListPage, Unreadable::Encrypted(reason)) => {
                format!("unable to transform key {key:?}: {reason}")
            }
            (None, _, Unreadable::Encrypted(reason)) => reason.to_string(),
            (None, ..) => object.to_string(),
        }
    }

    /// 500 that names the objects of a list that cannot be read.
    fn unreadable_list(&self, list: &CorruptObjects) -> StatusError {
        let mut causes: Vec<StatusCause> = Vec::with_capacity(list.objects.len() + 1);
        causes.extend(list.objects.iter().map(|object| StatusCause {
            reason: "UnexpectedServerResponse".to_owned(),
            message: corrupt_object(&object.key, object),
            field: object.key.clone(),
        }));
        causes.extend(list.has_more.then(|| StatusCause {
            reason: "FieldValueTooMany".to_owned(),
            message: "too many errors, the list is truncated".to_owned(),
            field: String::new(),
        }));
        let message = format!("failed to read one or more {} from the storage", self.resource);
        StatusError::new(Reason::StoreReadError, message).about(self.resource, "list").with_causes(causes)
    }

    fn expired(&self, requested: u64, oldest: u64, fresh_continue: Option<String>) -> StatusError {
        match (fresh_continue, self.verb) {
            (Some(token), _) => StatusError::expired(CONTINUE_INCONSISTENT).continue_with(token),
            (None, Verb::ListPage) => StatusError::expired(CONTINUE_EXPIRED),
            (None, Verb::List) => StatusError::expired(LIST_EXPIRED),
            (None, _) => too_old_revision(requested, oldest),
        }
    }

    /// 500 with a retry delay: the storage backend does not respond or fails. The message begins as Kubernetes' does, and
    /// ends with the backend's, because kubectl does not print causes.
    fn server_timeout(&self, reason: &str) -> StatusError {
        let verb = self.verb.as_str();
        let cause = StatusCause {
            reason: "StorageUnavailable".to_owned(),
            message: reason.to_owned(),
            ..StatusCause::default()
        };
        StatusError::new(
            Reason::ServerTimeout,
            format!(
                "The {verb} operation against {} could not be completed at this time, please try again: {reason}",
                self.resource
            ),
        )
        .about(self.resource, verb)
        .with_causes(vec![cause])
        .retry_after_seconds(RETRY_UNAVAILABLE_SECONDS)
    }
}

impl Verb {
    const fn as_str(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List | Self::ListPage => "list",
            Self::Watch => "watch",
            Self::Create => "create",
            Self::Update => "update",
            Self::Delete => "delete",
        }
    }
}

/// Converts a watch error to the last event that the client receives.
pub fn interpret_watch(error: WatchError) -> StatusError {
    match error {
        WatchError::Compacted { requested, oldest } => too_old_revision(requested, oldest),
        WatchError::Interrupted(reason) => {
            StatusError::new(Reason::ServiceUnavailable, format!("the watch was interrupted: {reason}"))
                .retry_after_seconds(1)
        }
        corrupt @ WatchError::Corrupt(_) => StatusError::internal(corrupt),
    }
}

fn too_old_revision(requested: u64, oldest: u64) -> StatusError {
    StatusError::expired(format!("too old resource version: {requested} ({oldest})"))
}

fn too_large_revision(requested: u64, current: u64) -> StatusError {
    let cause = StatusCause {
        reason: "ResourceVersionTooLarge".to_owned(),
        message: "Too large resource version".to_owned(),
        ..StatusCause::default()
    };
    StatusError::timeout(format!("Too large resource version: {requested}, current: {current}"), 1)
        .with_causes(vec![cause])
}

/// Formats a failed precondition as kube-apiserver's storage does; clients match on parts of it.
fn invalid_object(key: &str, message: &str) -> String {
    format!(
        "StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {message}"
    )
}

/// Formats a value that cannot be read as kube-apiserver's storage does if such objects can be deleted.
fn corrupt_object(key: &str, object: &CorruptObject) -> String {
    format!(
        "StorageError: corrupt object, Code: 7, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: {}",
        described(object)
    )
}

fn described(object: &CorruptObject) -> String {
    match &object.reason {
        Unreadable::Encrypted(reason) => {
            format!("data from the storage is not transformable revision=0: {reason}")
        }
        reason => format!("object not decodable revision={}: {reason}", object.revision),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::storage::transform::TransformError;
    use crate::storage::{InvalidRequest, PreconditionField};

    const PODS: GroupResource = GroupResource { group: "", resource: "pods" };

    fn status_of(verb: Verb, error: StorageError) -> StatusError {
        let key = "/registry/pods/default/web";
        StoreOperation { verb, resource: PODS, name: "web", key, corrupt_key: None }.interpret(error)
    }

    #[test]
    fn every_storage_error_has_its_code_and_reason() {
        let reason = Unreadable::Invalid(Arc::new(std::fmt::Error));
        let table = [
            (Verb::Get, StorageError::NotFound { key: String::new() }, 404, Reason::NotFound),
            (Verb::Create, StorageError::Exists { key: String::new() }, 409, Reason::AlreadyExists),
            (Verb::Update, StorageError::Conflict, 409, Reason::Conflict),
            (
                Verb::List,
                StorageError::InvalidRequest(InvalidRequest::RevisionWithToken),
                400,
                Reason::BadRequest,
            ),
            (
                Verb::Create,
                StorageError::TooLarge { message: String::new() },
                413,
                Reason::RequestEntityTooLarge,
            ),
            (Verb::Update, StorageError::unavailable("gone"), 500, Reason::ServerTimeout),
            (Verb::Update, StorageError::Refused { reason: "no space".into() }, 500, Reason::Unknown),
            (Verb::Get, StorageError::Overloaded { retry_after_seconds: 1 }, 429, Reason::TooManyRequests),
            (
                Verb::Get,
                StorageError::Corrupt(CorruptObject { key: String::new(), revision: 3, reason }),
                500,
                Reason::InternalError,
            ),
            (
                Verb::Create,
                StorageError::NotEncrypted { key: String::new(), reason: TransformError::Random },
                500,
                Reason::InternalError,
            ),
        ];
        for (verb, error, code, reason) in table {
            let status = status_of(verb, error.clone());
            assert_eq!((status.code, status.reason), (code, reason), "{error:?}");
        }
    }

    #[test]
    fn an_old_page_offers_a_fresh_token() {
        let compacted = |fresh: Option<&str>| StorageError::Compacted {
            requested: 3,
            oldest: 9,
            fresh_continue: fresh.map(str::to_owned),
        };
        let status = status_of(Verb::ListPage, compacted(Some("next"))).to_value();
        assert_eq!(status["metadata"]["continue"], "next");
        assert_eq!(status["code"], 410);
        assert_eq!(status["reason"], "Expired");
        assert_eq!(status_of(Verb::ListPage, compacted(None)).message, CONTINUE_EXPIRED);
        assert_eq!(status_of(Verb::List, compacted(None)).message, LIST_EXPIRED);
        assert_eq!(status_of(Verb::Watch, compacted(None)).message, "too old resource version: 3 (9)");
    }

    #[test]
    fn a_future_revision_says_when_to_retry() {
        let status = status_of(Verb::List, StorageError::FutureRevision { requested: 99, current: 7 });
        assert_eq!(status.code, 504);
        assert_eq!(status.message, "Timeout: Too large resource version: 99, current: 7");
        let details = status.details.unwrap();
        assert_eq!(details.retry_after_seconds, 1);
        assert_eq!(details.causes[0].reason, "ResourceVersionTooLarge");
    }

    #[test]
    fn a_value_that_cannot_be_read_has_the_text_of_the_operation() {
        let key = "/registry/pods/default/web".to_owned();
        let reason = Unreadable::Encrypted(TransformError::TooShort);
        let object = CorruptObject { key, revision: 3, reason };
        let message = |verb, corrupt_key| {
            let operation = StoreOperation { verb, resource: PODS, name: "web", key: "", corrupt_key };
            operation.interpret(StorageError::Corrupt(object.clone())).message
        };
        let short = "the stored data was shorter than the required size";
        assert_eq!(message(Verb::Get, None), format!("Internal error occurred: {short}"));
        assert_eq!(
            message(Verb::List, None),
            format!(
                "Internal error occurred: unable to transform key \"/registry/pods/default/web\": {short}"
            )
        );
        let described = format!("data from the storage is not transformable revision=0: {short}");
        assert_eq!(
            message(Verb::Delete, Some("/pods/default/web")),
            format!(
                "Internal error occurred: StorageError: corrupt object, Code: 7, Key: /pods/default/web, \
                 ResourceVersion: 0, AdditionalErrorMsg: {described}"
            )
        );
        assert_eq!(
            message(Verb::Update, Some("/pods/default/web")),
            format!("Internal error occurred: {described}")
        );
    }

    #[test]
    fn a_failed_precondition_names_the_key() {
        let differs = StorageError::Precondition {
            field: PreconditionField::Uid,
            wanted: "a".to_owned(),
            found: "b".to_owned(),
        };
        assert_eq!(
            status_of(Verb::Update, differs).message,
            "Operation cannot be fulfilled on pods \"web\": StorageError: invalid object, Code: 4, Key: \
             /registry/pods/default/web, ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in \
             precondition: a, UID in object meta: b"
        );
    }
}
