//! Dependencies between the modules of a crate, which point down in the table of its `lib.rs`.

use std::collections::BTreeMap;

use proc_macro2::{TokenStream, TokenTree};

use super::Finding;
use crate::Failure;

/// The order of a crate's modules.
#[derive(Debug, Default)]
pub(super) struct Layers {
    /// The rows of the modules, from the top. Modules in one row may depend on each other.
    rows: BTreeMap<String, usize>,
}

// === impl Layers ===

impl Layers {
    /// Reads the table in the documentation of a `lib.rs`: rows that begin with names of modules in back-ticks.
    pub(super) fn parse(text: &str) -> Self {
        let rows = text.lines().filter_map(|line| line.strip_prefix("//! | ")?.split(" | ").next());
        let modules = rows.enumerate().flat_map(|(row, cell)| {
            cell.split('`').skip(1).step_by(2).map(move |module| (module.to_owned(), row))
        });
        Self { rows: modules.collect() }
    }

    /// Whether a crate has no such table.
    pub(super) fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Returns the upward dependencies of a file, whose path is below `src`: paths that begin at the crate, by `crate::` or as
    /// many `super::` as the file is deep, without those in tests.
    pub(super) fn upward(&self, path: &str, text: &str) -> Result<Vec<Finding>, Failure> {
        let own = path.split('/').next().unwrap_or(path).trim_end_matches(".rs");
        let Some(own_row) = self.rows.get(own) else { return Ok(Vec::new()) };
        let tokens: TokenStream = text.parse().map_err(|error| format!("{path}: {error}"))?;
        let mut names = Vec::new();
        collect(tokens, path.split('/').count(), &mut names);
        let file = syn::parse_file(text).map_err(|error| format!("{path}: {error}"))?;
        let tests_begin = super::rules::tests_begin(&file).unwrap_or(usize::MAX);
        let is_upward = |name: &&(String, usize)| {
            name.1 < tests_begin && self.rows.get(&name.0).is_some_and(|row| row < own_row)
        };
        let described = |(name, line): &(String, usize)| {
            let message = format!("`{own}` depends on `{name}`, which is above it in lib.rs");
            Finding { line: *line, message }
        };
        Ok(names.iter().filter(is_upward).map(described).collect())
    }
}

/// Collects the modules that follow the crate in paths of a file of this depth, with their lines.
fn collect(tokens: TokenStream, depth: usize, names: &mut Vec<(String, usize)>) {
    let tokens: Vec<TokenTree> = tokens.into_iter().collect();
    let is = |token: Option<&TokenTree>, sign| matches!(token, Some(TokenTree::Punct(punct)) if punct.as_char() == sign);
    for (index, token) in tokens.iter().enumerate() {
        if let TokenTree::Group(group) = token {
            collect(group.stream(), depth, names);
        }
        // `$crate` is the crate of a macro.
        let is_crate = matches!(token, TokenTree::Ident(name) if name == "crate")
            && !is(index.checked_sub(1).and_then(|before| tokens.get(before)), '$');
        // Each name is followed by two colons.
        let is_super = |level: usize| matches!(tokens.get(index + 3 * level), Some(TokenTree::Ident(name)) if name == "super");
        let after = if is_crate {
            index + 1
        } else if (0..depth).all(is_super) {
            index + 3 * depth - 2
        } else {
            continue;
        };
        if !is(tokens.get(after), ':') || !is(tokens.get(after + 1), ':') {
            continue;
        }
        match tokens.get(after + 2) {
            Some(TokenTree::Ident(name)) => names.push((name.to_string(), name.span().start().line)),
            Some(TokenTree::Group(group)) => collect_group(group.stream(), names),
            _ => {}
        }
    }
}

/// Collects the first name of each part of `crate::{a::b, c}`.
fn collect_group(tokens: TokenStream, names: &mut Vec<(String, usize)>) {
    let mut is_first = true;
    for token in tokens {
        match token {
            TokenTree::Ident(name) if is_first => names.push((name.to_string(), name.span().start().line)),
            TokenTree::Punct(punct) if punct.as_char() == ',' => {
                is_first = true;
                continue;
            }
            _ => {}
        }
        is_first = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LIBRARY: &str = "//! A crate.\n//!\n//! | module | contents |\n//! |---|---|\n//! | [`server`] | all |\n\
                           //! | [`reader`], `writer` | both use `server` |\n//! | [`base`] | the rest |\n\npub mod base;\n";

    fn edges(path: &str, text: &str) -> Vec<(String, usize)> {
        let upward = Layers::parse(LIBRARY).upward(path, text).expect("it parses");
        upward.into_iter().map(|finding| (finding.message, finding.line)).collect()
    }

    fn message(from: &str, to: &str) -> String {
        format!("`{from}` depends on `{to}`, which is above it in lib.rs")
    }

    #[test]
    fn dependencies_upward_are_found() {
        let bad = "use crate::server::A;\nuse crate::{base, reader::{B, server}, server};\nfn a() {\n    crate::reader::b();\n    \
                   format!(\"{}\", crate::server::C);\n}\n";
        let (server, reader) = (message("base", "server"), message("base", "reader"));
        assert_eq!(
            edges("base/deep.rs", bad),
            [(server.clone(), 1), (reader.clone(), 2), (server.clone(), 2), (reader, 4), (server, 5)]
        );
    }

    #[test]
    fn dependencies_upward_by_super_are_found() {
        let bad = "use super::server::A;\npub(super) fn a() {}\nuse super::{base, reader::B};\n";
        let edges_of_bad = [(message("base", "server"), 1), (message("base", "reader"), 3)];
        assert_eq!(edges("base.rs", bad), edges_of_bad);
        assert_eq!(edges("base/deep.rs", bad), [], "they are modules of `base`");
        let deep = bad.replace("use super", "use super::super");
        assert_eq!(edges("base/deep.rs", &deep), edges_of_bad);
    }

    #[test]
    fn other_dependencies_are_in_order() {
        let good = "//! See [`crate::server`].\nuse crate::base::A;\nuse crate::{reader, unlisted};\n// crate::server\n\
                    pub(crate) const A: &str = \"crate::server\";\nmacro_rules! a { () => { $crate::server::B } }\n\
                    #[cfg(test)]\nmod tests {\n    use crate::server::B;\n}\n";
        assert_eq!(edges("writer.rs", good), []);
        assert_eq!(edges("server.rs", good), []);
        assert_eq!(edges("unlisted.rs", "use crate::server::A;"), []);
        assert!(Layers::parse("//! A crate without a table of `modules`.\n").is_empty());
    }
}
