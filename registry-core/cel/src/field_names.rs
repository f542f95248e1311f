//! Names of fields in expressions: what is not an identifier is escaped.
//!
//! Kubernetes concept: [escaping of property names](https://kubernetes.io/docs/reference/using-api/cel/#escaping).

use super::syntax::parser::KEYWORDS;

/// The escaped form of a word of the language; `None` for other names.
pub(crate) fn escape_keyword(name: &str) -> Option<String> {
    KEYWORDS.contains(&name).then(|| format!("__{name}__"))
}

/// A field name as expressions write it; `None` if they cannot.
pub fn escape(name: &str) -> Option<String> {
    if name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
        return None;
    }
    if let Some(escaped) = escape_keyword(name) {
        return Some(escaped);
    }
    let mut escaped = String::with_capacity(name.len());
    let mut rest = name;
    while let Some(character) = rest.chars().next() {
        if let Some(after) = rest.strip_prefix("__") {
            escaped.push_str("__underscores__");
            rest = after;
            continue;
        }
        match character {
            '.' => escaped.push_str("__dot__"),
            '-' => escaped.push_str("__dash__"),
            '/' => escaped.push_str("__slash__"),
            'a'..='z' | 'A'..='Z' | '0'..='9' | '_' => escaped.push(character),
            _ => return None,
        }
        rest = rest.get(character.len_utf8()..).unwrap_or_default();
    }
    Some(escaped)
}

/// The field name that an escaped one stands for; `None` if it is not escaped correctly.
pub fn unescape(escaped: &str) -> Option<String> {
    let mut name = String::with_capacity(escaped.len());
    let mut rest = escaped;
    while let Some((before, after)) = rest.split_once("__") {
        let Some((word, after)) = after.split_once("__") else {
            break;
        };
        if word.is_empty() || word.contains('_') {
            break;
        }
        name.push_str(before);
        match word {
            "underscores" => name.push_str("__"),
            "dot" => name.push('.'),
            "dash" => name.push('-'),
            "slash" => name.push('/'),
            keyword if KEYWORDS.contains(&keyword) && escaped.len() == keyword.len() + 4 => {
                name.push_str(keyword);
            }
            _ => return None,
        }
        rest = after;
    }
    name.push_str(rest);
    Some(name)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_escaped_and_back() {
        let pairs = [
            ("namespace", "__namespace__"),
            ("a.b-c/d__e", "a__dot__b__dash__c__slash__d__underscores__e"),
            ("plain_name", "plain_name"),
        ];
        for (name, escaped) in pairs {
            assert_eq!(escape(name).as_deref(), Some(escaped));
            assert_eq!(unescape(escaped).as_deref(), Some(name));
        }
        for wrong in ["", "1a", "a b", "$ref"] {
            assert_eq!(escape(wrong), None, "{wrong}");
        }
    }
}
