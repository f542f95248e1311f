//! Field selectors: `metadata.name=web,status.phase!=Running`.

use super::SelectorError;

/// All requirements must hold. The empty selector matches everything.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// What must hold of an object's selectable fields.
    pub requirements: Vec<FieldRequirement>,
}

/// One requirement on one field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldRequirement {
    /// The field's path, for example `spec.nodeName`.
    pub path: String,
    /// The value.
    pub value: String,
    /// Whether the field must equal the value (`=`, `==`) or must not (`!=`).
    pub equal: bool,
}

impl FieldSelector {
    /// Parses the query-parameter form.
    pub fn parse(_text: &str) -> Result<Self, SelectorError> {
        todo!("api helper")
    }

    /// Whether nothing is asked.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether fields, given by a look-up (absent reads as empty), satisfy all requirements.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> &'a str) -> bool {
        self.requirements.iter().all(|one| (field(&one.path) == one.value) == one.equal)
    }

    /// The value a field must equal, when the selector says one: lets a store look at one key or bucket.
    pub fn required_value(&self, path: &str) -> Option<&str> {
        self.requirements.iter().find(|one| one.equal && one.path == path).map(|one| one.value.as_str())
    }
}
