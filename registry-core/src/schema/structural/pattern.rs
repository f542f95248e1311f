//! Regular expressions of Go's syntax (RE2).
//!
//! The syntax of the `regex` crate is almost the same. The differences are rewritten: Go's `\d`, `\w`, `\s` and `\b`
//! are about ASCII, a brace that does not start a repetition is a character, and character classes cannot be nested.

use std::iter::Peekable;
use std::str::Chars;

use regex::{Regex, RegexBuilder};

/// Maximum size of a compiled expression, in bytes: it can be much larger compiled than written.
const MAX_COMPILED_BYTES: usize = 10 << 20;

/// Maximum size of the states that matching keeps, in bytes.
const MAX_CACHED_BYTES: usize = 256 << 10;

/// Maximum number of nested groups.
const MAX_DEPTH: u32 = 200;

/// Compiles a regular expression of Go's syntax, such as the `pattern` of a schema.
///
/// # Errors
/// Fails with Go's message, as far as it is known, if the expression is malformed or too large.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    let built = RegexBuilder::new(&rewrite(pattern))
        .size_limit(MAX_COMPILED_BYTES)
        .dfa_size_limit(MAX_CACHED_BYTES)
        .nest_limit(MAX_DEPTH)
        .build();
    built.map_err(|error| message(pattern, &error))
}

fn message(pattern: &str, error: &regex::Error) -> String {
    let text = error.to_string();
    let reason = if matches!(error, regex::Error::CompiledTooBig(_)) {
        "expression too large".to_owned()
    } else if text.contains("unclosed character class") {
        let start = pattern.rfind('[').and_then(|start| pattern.get(start..)).unwrap_or(pattern);
        format!("missing closing ]: `{start}`")
    } else if text.contains("unclosed group") {
        format!("missing closing ): `{pattern}`")
    } else if text.contains("unopened group") {
        format!("unexpected ): `{pattern}`")
    } else if text.contains("look-around") {
        let start = pattern.find("(?").and_then(|start| pattern.get(start..start + 3)).unwrap_or(pattern);
        format!("invalid or unsupported Perl syntax: `{start}`")
    } else if text.contains("repetition operator missing expression") {
        let operator = pattern.chars().find(|letter| matches!(letter, '*' | '+' | '?')).unwrap_or('*');
        format!("missing argument to repetition operator: `{operator}`")
    } else {
        format!("invalid syntax: `{pattern}`")
    };
    format!("error parsing regexp: {reason}")
}

/// Rewrites an expression to the syntax of the `regex` crate.
fn rewrite(pattern: &str) -> String {
    let mut out = String::with_capacity(pattern.len() + 8);
    let mut letters = pattern.chars().peekable();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' => escape(&mut letters, &mut out, false),
            '[' => class(&mut letters, &mut out),
            '{' if !starts_repetition(letters.clone()) => out.push_str("\\{"),
            other => out.push(other),
        }
    }
    out
}

/// Whether the text after a brace is `n}`, `n,}` or `n,m}`.
fn starts_repetition(letters: Peekable<Chars<'_>>) -> bool {
    let bounds: String =
        letters.take_while(|letter| letter.is_ascii_digit() || matches!(letter, ',' | '}')).collect();
    let Some((bounds, _)) = bounds.split_once('}') else { return false };
    let (least, most) = bounds.split_once(',').unwrap_or((bounds, ""));
    !least.is_empty() && !most.contains(',')
}

/// Rewrites what follows a backslash.
fn escape(letters: &mut Peekable<Chars<'_>>, out: &mut String, in_class: bool) {
    match letters.next() {
        None => out.push('\\'),
        Some('Q') if !in_class => quoted(letters, out),
        Some(letter @ ('d' | 'D' | 'w' | 'W' | 's' | 'S')) => {
            let letters = match letter.to_ascii_lowercase() {
                'd' => "0-9",
                'w' => "0-9A-Za-z_",
                _ => "\\t\\n\\f\\r ",
            };
            let not = if letter.is_ascii_uppercase() { "^" } else { "" };
            for part in ["[", not, letters, "]"] {
                out.push_str(part);
            }
        }
        Some('b') if !in_class => out.push_str("(?-u:\\b)"),
        // An escape that has a meaning only to the crate.
        Some(letter @ ('<' | '>')) => out.push(letter),
        Some(letter) => {
            out.push('\\');
            out.push(letter);
            // The braces of a Unicode class or a code do not repeat anything.
            if matches!(letter, 'p' | 'P' | 'x') && letters.peek() == Some(&'{') {
                out.extend(letters.by_ref().take_while(|letter| *letter != '}'));
                out.push('}');
            }
        }
    }
}

/// Rewrites the text between `\Q` and `\E`, in which all characters stand for themselves.
fn quoted(letters: &mut Peekable<Chars<'_>>, out: &mut String) {
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        if letter == '\\' && letters.peek() == Some(&'E') {
            letters.next();
            break;
        }
        text.push(letter);
    }
    out.push_str(&regex::escape(&text));
}

/// Rewrites a character class, after its opening bracket.
fn class(letters: &mut Peekable<Chars<'_>>, out: &mut String) {
    out.push('[');
    if letters.next_if_eq(&'^').is_some() {
        out.push('^');
    }
    if letters.next_if_eq(&']').is_some() {
        out.push_str("\\]");
    }
    let mut before = None;
    while let Some(letter) = letters.next() {
        match letter {
            ']' => {
                out.push(']');
                return;
            }
            '\\' => escape(letters, out, true),
            '[' if letters.peek() == Some(&':') => {
                out.push('[');
                // The class `[:alpha:]` ends with its own bracket.
                for letter in letters.by_ref() {
                    out.push(letter);
                    if letter == ']' {
                        break;
                    }
                }
            }
            '[' => out.push_str("\\["),
            // Twice in a row these are operators to the crate.
            '&' | '~' | '-' if before == Some(letter) => {
                out.push('\\');
                out.push(letter);
            }
            other => out.push(other),
        }
        before = Some(letter);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matches(pattern: &str, text: &str) -> bool {
        compile(pattern).unwrap_or_else(|error| panic!("{pattern}: {error}")).is_match(text)
    }

    #[test]
    fn classes_are_about_ascii() {
        assert!(matches(r"^\d+$", "42") && !matches(r"^\d+$", "٣"));
        assert!(matches(r"^\w+$", "a_1") && !matches(r"^\w+$", "é"));
        assert!(matches(r"^[\w.-]+$", "a.b-c") && !matches(r"^[\w.-]+$", "é"));
        assert!(matches(r"^[^\s]+$", "\u{a0}") && matches(r"^\S$", "é"));
        assert!(matches(r"\bb\b", "éb") && matches(r"^\p{Greek}\p{L}$", "αé"));
    }

    #[test]
    fn what_only_the_crate_understands_stands_for_itself() {
        assert!(matches("^[[a]+$", "[a"));
        assert!(matches("^[a&&b]+$", "&ab"));
        assert!(matches("^[+--]$", ","));
        assert!(matches("^[]a]+$", "]a") && matches("^[[:alpha:]_]+$", "b_"));
        assert!(matches("^a{,3}{$", "a{,3}{") && matches("^a{2,3}$", "aa"));
        assert!(matches(r"^\Qa.b\E+$", "a.bb") && matches(r"^\<\>$", "<>"));
    }

    #[test]
    fn expressions_that_are_too_large_are_errors() {
        let error = compile("((a{100}){100}){100}").unwrap_err();
        assert_eq!(error, "error parsing regexp: expression too large");
        assert!(compile("(").unwrap_err().contains("missing closing )"));
        assert!(compile(&"(".repeat(100_000)).is_err());
    }
}
