//! Conflicts: what a client is told when others manage what it applies.

use std::fmt::Write;

use crate::api::{Reason, StatusCause, StatusError};

use super::element::PathElement;
use super::managers::{ManagedFieldsOperation, Manager};
use super::set::path_text;

/// A field that someone else manages.
#[derive(Clone, Debug)]
pub(super) struct Conflict {
    /// Who, as messages name them.
    manager: String,
    pub(super) path: Vec<PathElement<'static>>,
}

// === impl Conflict ===

impl Conflict {
    pub(super) fn new(manager: &Manager<'_>, path: &[PathElement<'_>]) -> Self {
        let path = path.iter().map(|element| element.clone().into_owned()).collect();
        Self { manager: manager_text(manager), path }
    }
}

/// 409 with a cause for each field. The conflicts come manager by manager.
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

/// A manager as conflicts name it: one who applied by name, one who updated with the version.
fn manager_text(manager: &Manager<'_>) -> String {
    let mut text = format!("{:?}", manager.name);
    if !manager.subresource.is_empty() {
        let _ = write!(text, " with subresource {:?}", manager.subresource);
    }
    if manager.operation == ManagedFieldsOperation::Update {
        let _ = write!(text, " using {}", manager.api_version);
    }
    text
}
