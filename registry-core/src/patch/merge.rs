//! JSON merge patch, [RFC 7396](https://www.rfc-editor.org/rfc/rfc7396).

use serde_json::Value;

/// Applies a merge patch: objects merge, null removes, all else replaces.
pub fn apply(_value: &mut Value, _patch: &Value) {
    todo!("patch helper")
}
