//! Resolves paths such as `.spec.labels['a.b']` in a schema.

use super::super::schema::{Additional, Schema};

/// What a path may consist of.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Notation {
    /// `.a.b` only.
    DotsOnly,
    /// `.a['b']` as well.
    WithBrackets,
}

/// Where a path leads.
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

/// Follows a path. The reason of an error is Kubernetes'.
pub(super) fn resolve<'a>(
    path: &str,
    schema: Option<Schema<'a>>,
    notation: Notation,
) -> Result<Found<'a>, String> {
    const CUT: &str = "unexpected end of JSON path";
    let mut found = Found { steps: Vec::new(), schema };
    let mut tokens = Tokens(path);
    while let Some(token) = tokens.next() {
        match token {
            "." => {
                let name = tokens.next().ok_or(CUT)?;
                found.step(name)?;
            }
            "[" if notation == Notation::DotsOnly => return Err("array notation is not allowed".to_owned()),
            "[" => {
                let quoted = tokens.next().ok_or(CUT)?;
                let inner = quoted.strip_prefix('\'').and_then(|rest| rest.strip_suffix('\''));
                let inner = inner.ok_or_else(|| format!("expected single quoted string but got {quoted}"))?;
                found.step(&unescape(inner)?)?;
                let end = tokens.next().ok_or(CUT)?;
                if end != "]" {
                    return Err(format!("expected ] but got {end}"));
                }
            }
            other => return Err(format!("expected [ or . but got: {other}")),
        }
    }
    Ok(found)
}

impl Found<'_> {
    fn step(&mut self, name: &str) -> Result<(), String> {
        const NOWHERE: &str = "does not refer to a valid field";
        let schema = self.schema.ok_or(NOWHERE)?;
        if schema.has_properties() {
            self.schema = Some(schema.property(name).ok_or(NOWHERE)?);
            self.steps.push(format!(".{name}"));
            return Ok(());
        }
        self.schema = match schema.additional("additionalProperties") {
            Some(Additional::Schema(schema)) => Some(schema),
            Some(Additional::Allowed(_)) => None,
            None => return Err(NOWHERE.to_owned()),
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

fn unescape(text: &str) -> Result<String, String> {
    let mut out = String::with_capacity(text.len());
    let mut letters = text.chars();
    while let Some(letter) = letters.next() {
        if letter != '\\' {
            out.push(letter);
            continue;
        }
        match letters.next() {
            Some('a') => out.push('\u{7}'),
            Some('b') => out.push('\u{8}'),
            Some('f') => out.push('\u{c}'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('t') => out.push('\t'),
            Some('v') => out.push('\u{b}'),
            Some(same @ ('\'' | '\\')) => out.push(same),
            Some(other) => return Err(format!("invalid string literal: invalid escape char \\{other}")),
            None => out.push('\\'),
        }
    }
    Ok(out)
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
        let schema = Schema::of(Some(&schema));
        for (path, expected) in [
            (".spec.a", Ok((".spec.a", "string"))),
            (".spec['a']", Ok((".spec.a", "string"))),
            (".spec.m['x.y']", Ok((".spec.m[x.y]", "integer"))),
            (".spec.m['it\\'s']", Ok((".spec.m[it's]", "integer"))),
            (".any.x", Ok((".any[x]", ""))),
            (".any.x.y", Err("does not refer to a valid field")),
            (".spec.b", Err("does not refer to a valid field")),
            (".spec.a.b", Err("does not refer to a valid field")),
            ("spec", Err("expected [ or . but got: spec")),
            (".", Err("unexpected end of JSON path")),
            (".spec[", Err("unexpected end of JSON path")),
            (".spec[a]", Err("expected single quoted string but got a")),
            (".spec['a'", Err("unexpected end of JSON path")),
            (".spec['a'.", Err("expected ] but got .")),
            (".spec['\\q']", Err("invalid string literal: invalid escape char \\q")),
        ] {
            let found = resolve(path, schema, Notation::WithBrackets);
            let found = found.map(|found| (found.text(), found.schema.map(Schema::kind).unwrap_or_default()));
            let found = found.as_ref().map(|(text, kind)| (text.as_str(), *kind)).map_err(String::as_str);
            assert_eq!(found, expected, "{path}");
        }
        let refused = resolve(".spec['a']", schema, Notation::DotsOnly);
        assert_eq!(refused.err().unwrap(), "array notation is not allowed");
    }
}
