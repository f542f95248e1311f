//! Field selectors: `metadata.name=web,status.phase!=Running`.

use std::fmt;

use super::SelectorError;

/// A conjunction of requirements. The empty selector matches everything.
///
/// Kubernetes concept: `fields.Selector`. `Display` writes the text that [`parse`](Self::parse) reads.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct FieldSelector {
    /// The requirements on the object's selectable fields.
    pub requirements: Vec<FieldRequirement>,
}

/// A requirement on one field.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct FieldRequirement {
    /// The field's path, for example `spec.nodeName`.
    pub path: String,
    /// The value.
    pub value: String,
    /// Whether the field must equal the value (`=`, `==`) or must differ from it (`!=`).
    pub equal: bool,
}

// === impl FieldSelector ===

impl FieldSelector {
    /// Parses the query-parameter form and sorts the requirements. In values, `\`, `,` and `=` are escaped with `\`.
    ///
    /// # Errors
    /// Fails if a term has no operator or a value has an invalid escape.
    pub fn parse(text: &str) -> Result<Self, SelectorError> {
        let terms = split_terms(text).filter(|term| !term.is_empty());
        let mut requirements = terms.map(|term| parse_term(text, term)).collect::<Result<Vec<_>, _>>()?;
        requirements.sort_unstable();
        Ok(Self { requirements })
    }

    /// Whether the selector is empty.
    pub fn is_empty(&self) -> bool {
        self.requirements.is_empty()
    }

    /// Whether the fields, given by a look-up function (empty if absent), satisfy all requirements.
    pub fn matches<'a>(&self, field: impl Fn(&str) -> &'a str) -> bool {
        self.requirements
            .iter()
            .all(|requirement| (field(&requirement.path) == requirement.value) == requirement.equal)
    }

    /// Returns the value that the selector requires of a field, if any. Stores use it to restrict a scan to one key or
    /// index entry.
    pub fn required_value(&self, path: &str) -> Option<&str> {
        self.requirements
            .iter()
            .find(|requirement| requirement.equal && requirement.path == path)
            .map(|requirement| requirement.value.as_str())
    }
}

impl fmt::Display for FieldSelector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, requirement) in self.requirements.iter().enumerate() {
            let comma = if at == 0 { "" } else { "," };
            let operator = if requirement.equal { "=" } else { "!=" };
            write!(f, "{comma}{}{operator}{}", requirement.path, escape(&requirement.value))?;
        }
        Ok(())
    }
}

// === the grammar ===

/// Splits at commas that are not escaped.
fn split_terms(text: &str) -> impl Iterator<Item = &str> {
    let mut escaped = false;
    text.split(move |letter| {
        let separates = letter == ',' && !escaped;
        escaped = letter == '\\' && !escaped;
        separates
    })
}

fn parse_term(whole: &str, term: &str) -> Result<FieldRequirement, SelectorError> {
    let Some(at) = first_operator(term) else {
        return Err(SelectorError::Term { selector: whole.to_owned(), term: term.to_owned() });
    };
    let (path, rest) = term.split_at(at);
    let (equal, value) = if let Some(value) = rest.strip_prefix("!=") {
        (false, value)
    } else {
        (true, rest.strip_prefix("==").or_else(|| rest.strip_prefix('=')).unwrap_or(rest))
    };
    Ok(FieldRequirement { path: path.to_owned(), value: unescape(value)?, equal })
}

/// Returns the position of the first `!=`, `==` or `=`. A lone `!` belongs to the path.
fn first_operator(term: &str) -> Option<usize> {
    let equals = term.find('=')?;
    let before = term.get(..equals)?;
    Some(before.strip_suffix('!').map_or(equals, str::len))
}

fn unescape(value: &str) -> Result<String, SelectorError> {
    let mut plain = String::with_capacity(value.len());
    let mut letters = value.chars();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => match letters.next() {
                Some(special @ ('\\' | ',' | '=')) => plain.push(special),
                other => {
                    let sequence: String = std::iter::once('\\').chain(other).collect();
                    return Err(SelectorError::EscapeSequence(sequence));
                }
            },
            ',' | '=' => return Err(SelectorError::Unescaped(letter)),
            other => plain.push(other),
        }
    }
    Ok(plain)
}

fn escape(value: &str) -> String {
    let mut escaped = String::with_capacity(value.len());
    for letter in value.chars() {
        if matches!(letter, '\\' | ',' | '=') {
            escaped.push('\\');
        }
        escaped.push(letter);
    }
    escaped
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reads_and_writes_the_grammar() {
        let table = [
            ("", ""),
            (",", ""),
            ("metadata.name=c1,metadata.namespace=n", "metadata.name=c1,metadata.namespace=n"),
            ("b!=2,a==1", "a=1,b!=2"),
            ("a=", "a="),
            ("=x", "=x"),
            (r"a=x\,y\=z\\", r"a=x\,y\=z\\"),
            ("a!b=c", "a!b=c"),
            ("a!!=c", "a!!=c"),
        ];
        for (text, canonical) in table {
            let parsed = FieldSelector::parse(text).unwrap();
            assert_eq!(parsed.to_string(), canonical, "{text}");
            assert_eq!(FieldSelector::parse(canonical).unwrap(), parsed, "{text}");
        }
        let escaped = FieldSelector::parse(r"a=x\,y\=z\\,b!=1").unwrap();
        assert_eq!(escaped.required_value("a"), Some(r"x,y=z\"));
        assert_eq!(escaped.required_value("b"), None);
    }

    #[test]
    fn refuses_in_kubernetes_words() {
        let table = [
            ("metadata.name", "invalid selector: 'metadata.name'; can't understand 'metadata.name'"),
            ("a=1,b!", "invalid selector: 'a=1,b!'; can't understand 'b!'"),
            (
                "metadata.name in (c1)",
                "invalid selector: 'metadata.name in (c1)'; can't understand 'metadata.name in (c1)'",
            ),
            ("a=b=c", "invalid field selector: unescaped character in value: 61"),
            (r"a=\x", r"invalid field selector: invalid escape sequence: \x"),
            (r"a=\", r"invalid field selector: invalid escape sequence: \"),
        ];
        for (text, message) in table {
            assert_eq!(FieldSelector::parse(text).unwrap_err().to_string(), message);
        }
    }

    #[test]
    fn absent_reads_as_empty() {
        let field = |name: &str| if name == "spec.nodeName" { "n1" } else { "" };
        for (text, expected) in [
            ("spec.nodeName=n1", true),
            ("spec.nodeName!=n1", false),
            ("status.podIP=", true),
            ("status.podIP!=", false),
            ("spec.nodeName=n1,status.podIP=x", false),
        ] {
            assert_eq!(FieldSelector::parse(text).unwrap().matches(field), expected, "{text}");
        }
    }
}
