//! The rules of names and documentation, checked for one file.

use std::collections::BTreeMap;

use syn::visit::{self, Visit};

use super::Finding;
use crate::Failure;

/// Words that begin a relative clause where documentation needs a noun or a verb.
const CLAUSES: [&str; 5] = ["What", "Who", "Whose", "Whom", "How"];

/// Beginnings of a test's name that make it a relative clause.
const TEST_CLAUSES: [&str; 6] = ["what_", "whatever_", "who_", "whoever_", "whose_", "whom_"];

/// Returns the violations in a file.
pub(super) fn check(path: &str, text: &str) -> Result<Vec<Finding>, Failure> {
    let file = syn::parse_file(text).map_err(|error| format!("{path}: {error}"))?;
    let mut prose = Prose::default();
    prose.visit_file(&file);
    let Prose { documentation, mut findings } = prose;
    for (line, text) in &documentation {
        let word = text.trim().split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_first = line.checked_sub(1).is_none_or(|above| !documentation.contains_key(&above));
        if is_first && CLAUSES.contains(&word) {
            let message = format!("documentation begins with `{word}`: a noun phrase or a verb does");
            findings.push(Finding { line: *line, message });
        }
    }
    findings.sort_by_key(|finding| finding.line);
    Ok(findings)
}

/// Collects the names and the documentation of a file.
#[derive(Default)]
struct Prose {
    /// The lines of documentation.
    documentation: BTreeMap<usize, String>,
    findings: Vec<Finding>,
}

// === impl Prose ===

impl Prose {
    fn check_function(&mut self, attributes: &[syn::Attribute], name: &syn::Ident) {
        let line = name.span().start().line;
        let text = name.to_string();
        if text == "of" || text.starts_with("of_") {
            let message = format!("a function is called `{text}`: its name says what it returns");
            self.findings.push(Finding { line, message });
        }
        let is_test = |attribute: &syn::Attribute| {
            attribute.path().segments.last().is_some_and(|segment| segment.ident == "test")
        };
        if attributes.iter().any(is_test) && TEST_CLAUSES.iter().any(|clause| text.starts_with(clause)) {
            let message = format!("the test `{text}` is a relative clause: its name is a sentence");
            self.findings.push(Finding { line, message });
        }
    }
}

impl<'ast> Visit<'ast> for Prose {
    fn visit_attribute(&mut self, attribute: &'ast syn::Attribute) {
        let is_documentation = attribute.path().is_ident("doc");
        if is_documentation
            && let syn::Meta::NameValue(pair) = &attribute.meta
            && let syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) = &pair.value
        {
            self.documentation.insert(attribute.pound_token.span.start().line, text.value());
        }
        visit::visit_attribute(self, attribute);
    }

    fn visit_pat_ident(&mut self, binding: &'ast syn::PatIdent) {
        if binding.ident == "one" {
            let line = binding.ident.span().start().line;
            self.findings
                .push(Finding { line, message: "a binding is called `one`: name its object".to_owned() });
        }
        visit::visit_pat_ident(self, binding);
    }

    fn visit_item_fn(&mut self, function: &'ast syn::ItemFn) {
        self.check_function(&function.attrs, &function.sig.ident);
        visit::visit_item_fn(self, function);
    }

    fn visit_impl_item_fn(&mut self, function: &'ast syn::ImplItemFn) {
        self.check_function(&function.attrs, &function.sig.ident);
        visit::visit_impl_item_fn(self, function);
    }

    fn visit_trait_item_fn(&mut self, function: &'ast syn::TraitItemFn) {
        self.check_function(&function.attrs, &function.sig.ident);
        visit::visit_trait_item_fn(self, function);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn lines(text: &str) -> Vec<usize> {
        check("a.rs", text).expect("it parses").into_iter().map(|finding| finding.line).collect()
    }

    #[test]
    fn relative_clauses_are_refused_as_documentation() {
        let bad = "//! What is here.\n\n/// Whose it is.\nstruct A {\n    /// How it is done: well.\n    a: u8,\n}\n";
        assert_eq!(lines(bad), [1, 3, 5]);
        let good = "//! Rules.\n\n/// However it is made, it is a\n/// What of several lines.\n// What is here: a comment.\nstruct A;\n\
                    const TEXT: &str = \"/// What\";\n";
        assert_eq!(lines(good), [] as [usize; 0]);
    }

    #[test]
    fn bindings_have_names_of_their_objects() {
        let bad =
            "fn a(one: u8) {\n    let one = 1;\n    let f = |one: u8| 1;\n    if let Some(one) = b {}\n}\n";
        assert_eq!(lines(bad), [1, 2, 3, 4]);
        assert_eq!(lines("fn a(once: u8) {\n    one();\n    self.one = 1;\n}\n"), [] as [usize; 0]);
    }

    #[test]
    fn functions_and_tests_have_names_of_their_own() {
        let bad = "fn of() {}\nimpl A {\n    fn of_kind(&self) {}\n}\ntrait B {\n    fn of();\n}\n#[test]\nfn what_is_kept() {}\n\
                   #[tokio::test(flavor = \"multi_thread\")]\nasync fn whoever_asks() {}\n";
        assert_eq!(lines(bad), [1, 3, 6, 9, 11]);
        let good =
            "fn offset() {}\nfn what_is_kept() {}\n#[test]\nfn whole_lists_are_kept() {}\nfn kind_of() {}\n";
        assert_eq!(lines(good), [] as [usize; 0]);
    }
}
