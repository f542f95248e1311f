//! Resolves paths of selectable fields, such as `.spec.color`, in a schema.

use super::super::schema::{Additional, Schema};

/// The field that a path leads to.
pub(super) struct Found<'a> {
    /// The steps: fields of an object, or keys of a map in brackets.
    steps: Vec<String>,
    /// The schema of the field; `None` if any value is allowed there.
    pub(super) schema: Option<Schema<'a>>,
}

// === impl Found ===

impl Found<'_> {
    /// Returns the path in its canonical form.
    pub(super) fn text(&self) -> String {
        self.steps.concat()
    }

    /// Whether the first field has this name.
    pub(super) fn starts_at(&self, name: &str) -> bool {
        self.steps.first().and_then(|step| step.strip_prefix('.')) == Some(name)
    }
}

/// Error of a path that leads to no field. The texts are Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum PathError {
    #[error("unexpected end of JSON path")]
    End,
    #[error("array notation is not allowed")]
    Index,
    #[error("expected [ or . but got: {0}")]
    Token(String),
    #[error("does not refer to a valid field")]
    NoField,
}

/// Follows a path.
pub(super) fn resolve<'a>(path: &str, schema: Option<Schema<'a>>) -> Result<Found<'a>, PathError> {
    let mut found = Found { steps: Vec::new(), schema };
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        match token {
            "." => found.step(tokens.next().ok_or(PathError::End)?)?,
            "[" => return Err(PathError::Index),
            other => return Err(PathError::Token(other.to_owned())),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn step(&mut self, name: &str) -> Result<(), PathError> {
        let schema = self.schema.ok_or(PathError::NoField)?;
        if schema.has_properties() {
            self.schema = Some(schema.property(name).ok_or(PathError::NoField)?);
            self.steps.push(format!(".{name}"));
            return Ok(());
        }
        self.schema = match schema.additional("additionalProperties") {
            Some(Additional::Schema(schema)) => Some(schema),
            Some(Additional::Allowed(_)) => None,
            None => return Err(PathError::NoField),
        };
        self.steps.push(format!("[{name}]"));
        Ok(())
    }
}

/// The tokens of a path: dots, brackets, quoted texts and names.
struct Tokens<'p>(&'p str);

impl<'p> Iterator for Tokens<'p> {
    type Item = &'p str;

    fn next(&mut self) -> Option<&'p str> {
        let rest = self.0;
        let first = rest.chars().next()?;
        let end = match first {
            '.' | '[' | ']' => 1,
            '\'' => end_of_quoted(rest),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, rest) = rest.split_at_checked(end)?;
        self.0 = rest;
        Some(token)
    }
}

/// Returns the length of the quoted text at the start.
fn end_of_quoted(text: &str) -> usize {
    let mut before = 0;
    for (at, byte) in text.bytes().enumerate() {
        if at > 0 && byte == b'\'' && before != b'\\' {
            return at + 1;
        }
        before = byte;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_lead_to_fields_and_entries() {
        let schema = json!({"properties": {
            "spec": {"properties": {"a": {"type": "string"}, "m": {"additionalProperties": {"type": "integer"}}}},
            "any": {"additionalProperties": true},
        }});
        let schema = Schema::from_value(Some(&schema));
        for (path, expected) in [
            (".spec.a", Ok((".spec.a", "string"))),
            (".spec.m.x", Ok((".spec.m[x]", "integer"))),
            (".any.x", Ok((".any[x]", ""))),
            (".any.x.y", Err("does not refer to a valid field")),
            (".spec.b", Err("does not refer to a valid field")),
            (".spec.a.b", Err("does not refer to a valid field")),
            ("spec", Err("expected [ or . but got: spec")),
            ("'.'", Err("expected [ or . but got: '.'")),
            (".", Err("unexpected end of JSON path")),
            (".spec['a']", Err("array notation is not allowed")),
        ] {
            let found = resolve(path, schema);
            let found = found.map(|found| (found.text(), found.schema.map(Schema::kind).unwrap_or_default()));
            let found = found.map_err(|error| error.to_string());
            let found = found.as_ref().map(|(text, kind)| (text.as_str(), *kind)).map_err(String::as_str);
            assert_eq!(found, expected, "{path}");
        }
    }
}
