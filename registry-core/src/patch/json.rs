//! JSON patch, [RFC 6902](https://www.rfc-editor.org/rfc/rfc6902).

use serde_json::Value;

use super::PatchError;

/// A parsed patch.
#[derive(Clone, Debug)]
pub struct JsonPatch {}

impl JsonPatch {
    /// Reads a patch from its JSON form.
    pub fn parse(_patch: &Value) -> Result<Self, PatchError> {
        todo!("patch helper")
    }

    /// Applies all operations or none.
    pub fn apply(&self, _value: &mut Value) -> Result<(), PatchError> {
        todo!("patch helper")
    }
}
