//! Regular expressions of Go's syntax (RE2), which patterns of schemas and of the expression language have.
//!
//! The syntax of the `regex` crate is almost the same; what differs is translated.

use regex::{Regex, RegexBuilder};

mod size;
mod syntax;

pub use size::size;

/// Maximum size in bytes of a compiled expression, and of the states that matching keeps.
///
/// An expression can be much larger compiled than written.
#[derive(Clone, Copy, Debug)]
pub struct Limits {
    /// Maximum size of the compiled expression.
    pub compiled_bytes: usize,
    /// Maximum size of the states that matching keeps.
    pub cached_bytes: usize,
}

/// The limits of a pattern that is kept as long as its schema.
const LIMITS: Limits = Limits { compiled_bytes: 10 << 20, cached_bytes: 256 << 10 };

/// Maximum number of properties that are looked for when a refused pattern is explained: each is compiled.
const MAX_EXAMINED_PROPERTIES: usize = 100;

/// Maximum number of nested groups.
const MAX_DEPTH: u32 = 200;

/// Compiles a regular expression of Go's syntax, such as the `pattern` of a schema.
///
/// # Errors
/// Fails with Go's message, as far as it is known, if the expression is malformed, uses what Go does not have, or is
/// too large.
pub fn compile(pattern: &str) -> Result<Regex, String> {
    compile_within(LIMITS, pattern)
}

/// Compiles a regular expression of Go's syntax within these limits.
///
/// # Errors
/// As [`compile`].
pub fn compile_within(limits: Limits, pattern: &str) -> Result<Regex, String> {
    let mut properties = Vec::new();
    let reason = match syntax::translate(pattern, &mut properties) {
        Ok(translated) => {
            let built = RegexBuilder::new(&translated)
                .size_limit(limits.compiled_bytes)
                .dfa_size_limit(limits.cached_bytes)
                .nest_limit(MAX_DEPTH)
                .build();
            match built {
                Ok(regex) => return Ok(regex),
                Err(error) => reason(pattern, &error),
            }
        }
        Err(reason) => reason,
    };
    // Go meets an unknown property before what follows it.
    let mut examined = properties.into_iter().take(MAX_EXAMINED_PROPERTIES);
    let unknown = examined.find(|property| Regex::new(property).is_err());
    let reason = unknown.map_or(reason, |property| format!("invalid character class range: `{property}`"));
    Err(format!("error parsing regexp: {reason}"))
}

/// Returns Go's reason for what the crate refuses: a size or a depth.
fn reason(pattern: &str, error: &regex::Error) -> String {
    if matches!(error, regex::Error::CompiledTooBig(_)) {
        format!("expression too large: `{pattern}`")
    } else if error.to_string().contains("nest") {
        format!("expression nests too deeply: `{pattern}`")
    } else {
        format!("invalid syntax: `{pattern}`")
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
        assert_eq!(error, "error parsing regexp: invalid repeat count: `{100}`");
        assert!(compile("(").unwrap_err().contains("missing closing )"));
        assert!(compile(&"(".repeat(100_000)).is_err());
    }
}
