//! The rules, checked for one file.

use proc_macro2::Span;
use syn::spanned::Spanned;
use syn::visit::{self, Visit};

use super::Finding;
use crate::Failure;

const MAX_FUNCTION_LINES: usize = 70;
const MAX_MODULE_LINES: usize = 500;

/// Module names without meaning.
const EMPTY_NAMES: [&str; 4] = ["utils", "util", "helpers", "misc"];

/// Marks of unfinished code. Concatenated so that this file does not contain them.
const UNFINISHED: [&str; 4] =
    [concat!("TO", "DO"), concat!("FIX", "ME"), concat!("to", "do!("), concat!("unimple", "mented!(")];

/// Returns the violations in a file. Files of tests may have any length.
pub(super) fn check(path: &str, text: &str) -> Result<Vec<Finding>, Failure> {
    let mut findings = Vec::new();
    let stem = path.rsplit('/').next().unwrap_or(path).trim_end_matches(".rs");
    if stem == "mod" {
        findings.push(Finding {
            line: 1,
            message: "modules are `foo.rs` and `foo/…`, not `foo/mod.rs`".to_owned(),
        });
    }
    if EMPTY_NAMES.contains(&stem) {
        findings.push(Finding { line: 1, message: format!("`{stem}` says nothing: name what is inside") });
    }
    if is_test(path) {
        return Ok(findings);
    }
    let file = syn::parse_file(text).map_err(|error| format!("{path}: {error}"))?;
    let tests_begin = tests_begin(&file).unwrap_or(usize::MAX);
    let source_lines = text.lines().count().min(tests_begin - 1);
    if source_lines > MAX_MODULE_LINES {
        findings.push(Finding {
            line: 1,
            message: format!("{source_lines} lines; a module has at most {MAX_MODULE_LINES}"),
        });
    }
    for (line, number) in text.lines().zip(1..tests_begin) {
        if let Some(mark) = UNFINISHED.iter().find(|mark| line.contains(*mark)) {
            findings.push(Finding { line: number, message: format!("`{mark}` is unfinished work") });
        }
    }
    let mut functions = Functions { findings, tests_begin };
    functions.visit_file(&file);
    functions.findings.sort_by_key(|finding| finding.line);
    Ok(functions.findings)
}

/// Whether a file has tests alone.
pub(super) fn is_test(path: &str) -> bool {
    path.ends_with("/tests.rs") || path.contains("/tests/")
}

/// Returns the line at which the tests at the end of a module begin.
pub(super) fn tests_begin(file: &syn::File) -> Option<usize> {
    let is_tests = |item: &&syn::Item| matches!(item, syn::Item::Mod(module) if module.ident == "tests" && module.content.is_some());
    let tests = file.items.iter().find(is_tests)?;
    Some(tests.span().start().line)
}

/// Checks the length of every function.
struct Functions {
    findings: Vec<Finding>,
    tests_begin: usize,
}

// === impl Functions ===

impl Functions {
    fn measure(&mut self, name: &syn::Ident, start: Span, end: Span) {
        let line = start.start().line;
        let lines = end.end().line - line + 1;
        if lines > MAX_FUNCTION_LINES && line < self.tests_begin {
            let message = format!("`{name}` has {lines} lines; a function has at most {MAX_FUNCTION_LINES}");
            self.findings.push(Finding { line, message });
        }
    }
}

impl<'ast> Visit<'ast> for Functions {
    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.measure(&function.sig.ident, function.sig.span(), function.block.span());
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.measure(&function.sig.ident, function.sig.span(), function.block.span());
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        if let Some(block) = &function.default {
            self.measure(&function.sig.ident, function.sig.span(), block.span());
        }
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn findings(path: &str, text: &str) -> Vec<(usize, String)> {
        let findings = check(path, text).expect("it parses");
        findings.into_iter().map(|finding| (finding.line, finding.message)).collect()
    }

    #[test]
    fn long_functions_and_modules_are_told() {
        let long = format!("struct A;\nimpl A {{\nfn long() {{\n{}}}\n}}\n", "let a = 1;\n".repeat(69));
        assert_eq!(
            findings("src/a.rs", &long),
            [(3, "`long` has 71 lines; a function has at most 70".to_owned())]
        );
        let short = long.replacen("let a = 1;\n", "", 1);
        assert_eq!(findings("src/a.rs", &short), []);
        let lines = "const A: u8 = 1;\n".repeat(501);
        assert_eq!(findings("src/a.rs", &lines), [(1, "501 lines; a module has at most 500".to_owned())]);
        assert_eq!(findings("src/a/tests.rs", &lines), []);
    }

    #[test]
    fn tests_at_the_end_do_not_count() {
        let tests = "const A: u8 = 1;\n".repeat(499);
        assert_eq!(findings("src/a.rs", &format!("struct A;\n#[cfg(test)]\nmod tests {{\n{tests}}}\n")), []);
    }

    #[test]
    fn empty_names_and_unfinished_work_are_told() {
        assert_eq!(findings("src/utils.rs", "").len(), 1);
        assert_eq!(findings("src/a/mod.rs", "").len(), 1);
        let unfinished = format!("fn a() {{}}\n// {}: the rest\n", UNFINISHED[0]);
        assert_eq!(
            findings("src/a.rs", &unfinished),
            [(2, format!("`{}` is unfinished work", UNFINISHED[0]))]
        );
    }
}
