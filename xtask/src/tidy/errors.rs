//! Results whose error is a text: a caller cannot match it, and its cause is lost.

use syn::visit::{self, Visit};
use syn::{GenericArgument, PathArguments, Type, TypePath};

use super::Finding;
use super::rules::{is_test, tests_begin};
use crate::Failure;

/// Returns the places in a file that name `Result<…, String>`, outside of tests.
pub(super) fn check(path: &str, text: &str) -> Result<Vec<Finding>, Failure> {
    if is_test(path) {
        return Ok(Vec::new());
    }
    let file = syn::parse_file(text).map_err(|error| format!("{path}: {error}"))?;
    let tests_begin = tests_begin(&file).unwrap_or(usize::MAX);
    let mut results = Results { findings: Vec::new(), tests_begin };
    results.visit_file(&file);
    Ok(results.findings)
}

/// The places of such results.
struct Results {
    findings: Vec<Finding>,
    tests_begin: usize,
}

// === impl Results ===

impl<'ast> Visit<'ast> for Results {
    fn visit_type_path(&mut self, path: &'ast TypePath) {
        if let Some(line) = text_result(path)
            && line < self.tests_begin
        {
            let message = "the error is a `String`: name what went wrong in an enum (thiserror)".to_owned();
            self.findings.push(Finding { line, message });
        }
        visit::visit_type_path(self, path);
    }
}

/// Returns the line of a `Result<…, String>`.
fn text_result(path: &TypePath) -> Option<usize> {
    let last = path.path.segments.last().filter(|last| last.ident == "Result")?;
    let PathArguments::AngleBracketed(arguments) = &last.arguments else { return None };
    let [_, GenericArgument::Type(Type::Path(error))] = Vec::from_iter(&arguments.args)[..] else {
        return None;
    };
    error.path.is_ident("String").then(|| last.ident.span().start().line)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(path: &str, text: &str) -> Vec<usize> {
        let findings = check(path, text).expect("it parses");
        findings.into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn errors_that_are_texts_are_told() {
        let text = "\
type Compiled = Result<Program, String>;
fn a() -> Result<String, Failure> {}
fn b() -> Option<std::result::Result<Map<String, String>, String>> {}
fn c(
    made: impl Fn() -> Result<(), String>,
) -> io::Result<String> {}
#[cfg(test)]
mod tests {
    fn d() -> Result<(), String> {}
}
";
        assert_eq!(lines("src/a.rs", text), [1, 3, 5]);
        assert_eq!(lines("src/a/tests.rs", text), [] as [usize; 0]);
    }
}
