//! `fieldPath` of rules: which field below a value an error is about.

use serde_json::Value;

use registry_meta::validation::FieldPath;

/// The parts of a field path.
struct Tokens<'p> {
    rest: &'p str,
}

/// Resolves a field path in a schema; `None` if it names no field.
pub(super) fn resolve(path: &str, schema: &Value) -> Option<FieldPath> {
    let mut tokens = Tokens { rest: path };
    let mut found = FieldPath::root();
    let mut schema = schema;
    while let Some(token) = tokens.next() {
        let name = match token {
            "." => tokens.next()?.to_owned(),
            "[" => {
                let name = unquote(tokens.next()?)?;
                if tokens.next()? != "]" {
                    return None;
                }
                name
            }
            _ => return None,
        };
        let properties = schema.get("properties").and_then(Value::as_object);
        if let Some(properties) = properties.filter(|properties| !properties.is_empty()) {
            schema = properties.get(&name)?;
            found = found.child(&name);
        } else {
            schema = schema.get("additionalProperties").filter(|values| values.is_object())?;
            found = found.key(&name);
        }
    }
    Some(found)
}

/// Reads a text in single quotes.
fn unquote(token: &str) -> Option<String> {
    let quoted = token.strip_prefix('\'')?.strip_suffix('\'')?;
    let mut text = String::with_capacity(quoted.len());
    let mut characters = quoted.chars();
    while let Some(character) = characters.next() {
        if character != '\\' {
            text.push(character);
            continue;
        }
        text.push(match characters.next() {
            Some('a') => '\u{7}',
            Some('b') => '\u{8}',
            Some('f') => '\u{c}',
            Some('n') => '\n',
            Some('r') => '\r',
            Some('t') => '\t',
            Some('v') => '\u{b}',
            Some(same @ ('\'' | '\\')) => same,
            _ => return None,
        });
    }
    Some(text)
}

// === impl Tokens ===

impl<'p> Tokens<'p> {
    /// The next delimiter, quoted text, or text up to a delimiter.
    fn next(&mut self) -> Option<&'p str> {
        let rest = self.rest;
        let end = match rest.chars().next()? {
            '.' | '[' | ']' => 1,
            '\'' => quoted_end(rest),
            _ => rest.find(['.', '[', ']']).unwrap_or(rest.len()),
        };
        let (token, rest) = rest.split_at_checked(end)?;
        self.rest = rest;
        Some(token)
    }
}

/// The end of a text in single quotes.
fn quoted_end(text: &str) -> usize {
    let mut previous = '\'';
    for (place, character) in text.char_indices().skip(1) {
        if character == '\'' && previous != '\\' {
            return place + 1;
        }
        previous = character;
    }
    text.len()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn paths_name_fields_and_keys() {
        let schema = json!({"properties": {
            "a": {"properties": {"b.c": {"type": "string"}, "it's": {"type": "string"}}},
            "m": {"additionalProperties": {"properties": {"x": {"type": "string"}}}},
        }});
        let resolved = |path| resolve(path, &schema).map(|path| path.to_string());
        assert_eq!(resolved(".a"), Some("a".to_owned()));
        assert_eq!(resolved(".a['b.c']"), Some("a.b.c".to_owned()));
        assert_eq!(resolved(r"['a']['it\'s']"), Some("a.it's".to_owned()));
        assert_eq!(resolved(".m.key.x"), Some("m[key].x".to_owned()));
        assert_eq!(resolved(".m['k[0]'].x"), Some("m[k[0]].x".to_owned()));
        for wrong in
            ["a", ".", ".b", ".a.", ".a[b]", ".a['b.c'", ".a['b.c", ".a..b", ".m['\\q']", ".a[0]", " .a"]
        {
            assert_eq!(resolved(wrong), None, "{wrong}");
        }
    }
}
