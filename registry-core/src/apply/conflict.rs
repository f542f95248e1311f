//! Reasons why an apply is refused; conflicts: the error if other managers have fields that a client applies.

use std::fmt::Write;

use crate::api::go_text::quote;
use crate::api::{Reason, StatusCause, StatusError};

use super::conversions::{NotConverted, Unconverted};
use super::element::PathElement;
use super::managers::{ManagedFieldsOperation, Manager};
use super::set::path_text;

/// Reason why an apply is refused.
pub(super) enum Refusal {
    Conflicts(Vec<Conflict>),
    Status(StatusError),
    /// It cannot be decided yet.
    Unconverted(Unconverted),
}

/// A field that another manager has.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    /// The manager as displayed in messages.
    manager: String,
    pub(super) path: Vec<PathElement<'static>>,
}

/// 500 without a reason: Kubernetes' response for errors that its code does not expect.
pub(super) fn plain_failure(message: String) -> StatusError {
    StatusError::new(Reason::Unknown, message)
}

// === impl Refusal ===

impl From<StatusError> for Refusal {
    fn from(status: StatusError) -> Self {
        Self::Status(status)
    }
}

impl From<Unconverted> for Refusal {
    fn from(missing: Unconverted) -> Self {
        Self::Unconverted(missing)
    }
}

/// The refusal if fields cannot be pruned.
impl From<NotConverted> for Refusal {
    fn from(reason: NotConverted) -> Self {
        match reason {
            NotConverted::Unknown(missing) => Self::Unconverted(missing),
            NotConverted::Failed(error) => {
                Self::Status(plain_failure(format!("failed to prune fields: {error}")))
            }
        }
    }
}

// === impl Conflict ===

impl Conflict {
    pub(super) fn new(manager: &Manager<'_>, path: &[PathElement<'_>]) -> Self {
        let path = path.iter().map(|element| element.clone().into_owned()).collect();
        Self { manager: manager_text(manager), path }
    }
}

/// Returns a 409 with a cause for each field. The conflicts must be grouped by manager.
pub(super) fn refuse(conflicts: &[Conflict]) -> StatusError {
    let message = match conflicts {
        [only] => {
            format!("Apply failed with 1 conflict: conflict with {}: {}", only.manager, path_text(&only.path))
        }
        many => {
            let mut lines = format!("Apply failed with {} conflicts: ", many.len());
            let mut last: Option<&str> = None;
            for conflict in many {
                if last != Some(&conflict.manager) {
                    let separator = if last.is_some() { "\n" } else { "" };
                    let _ = write!(lines, "{separator}conflicts with {}:", conflict.manager);
                    last = Some(&conflict.manager);
                }
                let _ = write!(lines, "\n- {}", path_text(&conflict.path));
            }
            lines
        }
    };
    let causes = conflicts.iter().map(|conflict| StatusCause {
        reason: "FieldManagerConflict".to_owned(),
        message: format!("conflict with {}", conflict.manager),
        field: path_text(&conflict.path),
    });
    StatusError::new(Reason::Conflict, message).with_causes(causes.collect())
}

/// Formats a manager for messages: by name for apply, with the version for updates.
fn manager_text(manager: &Manager<'_>) -> String {
    let mut text = quote(&manager.name);
    if !manager.subresource.is_empty() {
        let _ = write!(text, " with subresource {}", quote(&manager.subresource));
    }
    if manager.operation == ManagedFieldsOperation::Update {
        let _ = write!(text, " using {}", manager.api_version);
    }
    text
}
