//! `ListOptions`: of lists, watches and deletions of collections.

use registry_core::api::selector::{FieldSelector, LabelSelector, SelectorError};
use registry_core::api::sharding::ShardSelector;
use registry_core::api::{
    ErrorList, FieldError, FieldPath, ListOptions, Reason, ResourceVersionMatch, StatusError,
};
use registry_core::cel::shards;
use registry_core::storage::continue_token;
use request_info::Query;

use super::{refuse, unsupported};

/// The use of a list's options, by which their validity differs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListPurpose {
    /// A list, or the deletion of the selected objects.
    List,
    /// A watch.
    Watch,
}

/// Returns the options of `list`, `watch` and `deletecollection`. The resource's selectable fields are
/// checked elsewhere.
pub(crate) fn list_options(query: Query<'_>, purpose: ListPurpose) -> Result<ListOptions, StatusError> {
    if query.is_empty() {
        return Ok(ListOptions::default());
    }
    // Parsed in the order of the Go struct's fields: the first invalid one is reported.
    let label_selector = selector(&query.text("labelSelector"), LabelSelector::parse)?;
    let field_selector = selector(&query.text("fieldSelector"), FieldSelector::parse)?;
    let timeout_seconds = query.integer("timeoutSeconds")?;
    let limit = query.integer("limit")?.unwrap_or_default();
    let asked = RequestedList {
        version: query.text("resourceVersion").into_owned(),
        matching: query.text("resourceVersionMatch").into_owned(),
        token: query.text("continue").into_owned(),
        send_initial_events: query.switch("sendInitialEvents"),
    };
    refuse("ListOptions", &asked.faults(purpose))?;
    let resource_version = resource_version(query, purpose).map_err(|unreadable| match purpose {
        // No version is allowed beside a token, as the store says of those that it gets.
        ListPurpose::List if !asked.token.is_empty() => {
            StatusError::bad_request(continue_token::with_resource_version(&asked.token).to_string())
        }
        ListPurpose::List | ListPurpose::Watch => unreadable,
    })?;
    Ok(ListOptions {
        label_selector,
        field_selector,
        shard_selector: None,
        resource_version,
        resource_version_match: match asked.matching.as_str() {
            "Exact" => Some(ResourceVersionMatch::Exact),
            "NotOlderThan" => Some(ResourceVersionMatch::NotOlderThan),
            _ => None,
        },
        limit: u64::try_from(limit).unwrap_or_default(),
        continue_token: (!asked.token.is_empty()).then_some(asked.token),
        timeout_seconds: timeout_seconds
            .and_then(|seconds| u64::try_from(seconds).ok())
            .filter(|seconds| *seconds > 0),
        allow_watch_bookmarks: query.switch("allowWatchBookmarks").unwrap_or_default(),
        send_initial_events: asked.send_initial_events,
    })
}

/// Returns the shard that a list or watch is of; Kubernetes turns its errors into no bad requests.
pub(crate) fn shard_selector(query: Query<'_>) -> Result<Option<ShardSelector>, StatusError> {
    let text = query.text("shardSelector");
    if text.is_empty() {
        return Ok(None);
    }
    let unreadable = |error| StatusError::new(Reason::Unknown, format!("invalid shard selector: {error}"));
    shards::parse(&text).map(Some).map_err(unreadable)
}

fn selector<T: Default>(
    text: &str,
    parse: impl Fn(&str) -> Result<T, SelectorError>,
) -> Result<T, StatusError> {
    if text.is_empty() {
        return Ok(T::default());
    }
    parse(text).map_err(|fault| StatusError::bad_request(fault.to_string()))
}

fn resource_version(query: Query<'_>, purpose: ListPurpose) -> Result<Option<u64>, StatusError> {
    query.resource_version().map_err(|errors| match purpose {
        ListPurpose::List => StatusError::bad_request(format!("invalid resource version: {errors}")),
        // A watch parses it after the point at which Kubernetes turns errors into bad requests.
        ListPurpose::Watch => StatusError::new(Reason::Unknown, errors.to_string()),
    })
}

/// Options that are validated in combination.
struct RequestedList {
    version: String,
    matching: String,
    token: String,
    send_initial_events: Option<bool>,
}

// === impl RequestedList ===

impl RequestedList {
    fn faults(&self, purpose: ListPurpose) -> ErrorList {
        let mut errors = ErrorList::default();
        match purpose {
            ListPurpose::List => self.list_faults(&mut errors),
            ListPurpose::Watch => self.watch_faults(&mut errors),
        }
        errors
    }

    fn list_faults(&self, errors: &mut ErrorList) {
        if !self.matching.is_empty() {
            if self.version.is_empty() {
                forbid_match(errors, "resourceVersionMatch is forbidden unless resourceVersion is provided");
            }
            if !self.token.is_empty() {
                forbid_match(errors, "resourceVersionMatch is forbidden when continue is provided");
            }
            if !matches!(self.matching.as_str(), "Exact" | "NotOlderThan") {
                let accepted = &["Exact", "NotOlderThan", ""];
                errors.push(unsupported("resourceVersionMatch", &self.matching, accepted));
            }
            if self.matching == "Exact" && self.version == "0" {
                forbid_match(errors, "resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\"");
            }
        }
        if self.send_initial_events.is_some() {
            let field = FieldPath::new("sendInitialEvents");
            errors.push(FieldError::forbidden(field, "sendInitialEvents is forbidden for list"));
        }
    }

    fn watch_faults(&self, errors: &mut ErrorList) {
        let is_known = self.matching == "NotOlderThan";
        if self.send_initial_events.is_some() && !is_known {
            forbid_match(errors, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan");
        }
        if self.matching.is_empty() {
            return;
        }
        if self.send_initial_events.is_none() {
            forbid_match(
                errors,
                "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided",
            );
        }
        if !is_known {
            errors.push(unsupported("resourceVersionMatch", &self.matching, &["NotOlderThan"]));
        }
        if !self.token.is_empty() {
            forbid_match(errors, "resourceVersionMatch is forbidden when continue is provided");
        }
    }
}

fn forbid_match(errors: &mut ErrorList, detail: &str) {
    errors.push(FieldError::forbidden(FieldPath::new("resourceVersionMatch"), detail));
}
