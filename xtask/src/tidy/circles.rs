//! Circles of modules: children of one module that depend on each other, directly or through others of them. A child includes
//! everything below it.
//!
//! A module depends on another if it names something of it by a path. A re-export (`pub use`) is the contents of a module, and no
//! dependency: who uses the name depends on the module that defines it. A module and its own children may name each other: the
//! parent is the face of the folder.

use std::collections::{BTreeMap, BTreeSet};

use proc_macro2::{TokenStream, TokenTree};
use syn::visit::{self, Visit};

use crate::Failure;

/// Number of re-exports that are followed from a name to its definition.
const MAX_REEXPORTS: usize = 16;

/// The path of a module in its crate, or of a name.
type Path = Vec<String>;

/// The modules of a crate.
#[derive(Debug, Default)]
pub(super) struct Modules {
    by_path: BTreeMap<Path, Module>,
}

/// A module, with what its code names.
#[derive(Debug, Default)]
struct Module {
    file: String,
    /// The names that `use` brings in, with their paths.
    imports: BTreeMap<String, Path>,
    /// The paths that the code names, without those of re-exports.
    named: BTreeSet<Path>,
}

/// The children of a module that each of its children depends on, with an example of the dependency.
type Dependencies<'a> = BTreeMap<&'a str, BTreeMap<&'a str, String>>;

// === impl Modules ===

impl Modules {
    /// Adds a file, whose path is below `src`. `shown` is its path in the messages.
    pub(super) fn add(&mut self, below: &str, shown: &str, text: &str) -> Result<(), Failure> {
        let file = syn::parse_file(text).map_err(|error| format!("{shown}: {error}"))?;
        let stem = below.trim_end_matches(".rs");
        let path: Path = match stem {
            "lib" | "main" => Vec::new(),
            _ => stem.split('/').map(str::to_owned).collect(),
        };
        let mut names = Names { modules: self, path, shown };
        names.module();
        names.visit_file(&file);
        Ok(())
    }

    /// Returns a message for each dependency that is part of a circle.
    pub(super) fn circles(&self) -> Vec<String> {
        self.dependencies().values().flat_map(messages).collect()
    }

    /// Returns the dependencies between the children of each module.
    fn dependencies(&self) -> BTreeMap<&[String], Dependencies<'_>> {
        let mut parents: BTreeMap<&[String], Dependencies<'_>> = BTreeMap::new();
        for (path, module) in &self.by_path {
            for named in &module.named {
                let defining = self.absolute(path, named).and_then(|named| self.defining(&named, 0));
                let Some((defining, target)) = defining else { continue };
                let shared = path.iter().zip(defining).take_while(|(own, other)| own == other).count();
                let (Some(parent), Some(own), Some(other)) =
                    (path.get(..shared), path.get(shared), defining.get(shared))
                else {
                    continue;
                };
                let name = named.last().map(String::as_str).unwrap_or_default();
                let example = format!("{} takes `{name}` of {}", module.file, target.file);
                parents.entry(parent).or_default().entry(own).or_default().entry(other).or_insert(example);
            }
        }
        parents
    }

    /// Resolves a path in the code of a module to a path from the root of the crate; `None` for a path into another crate.
    fn absolute(&self, module: &[String], named: &[String]) -> Option<Path> {
        let (first, rest) = named.split_first()?;
        let supers = named.iter().take_while(|name| *name == "super").count();
        let (base, rest) = match first.as_str() {
            "crate" => (Vec::new(), rest),
            "self" => (module.to_vec(), rest),
            "super" => (module.get(..module.len().checked_sub(supers)?)?.to_vec(), named.get(supers..)?),
            _ => {
                let child = [module, std::slice::from_ref(first)].concat();
                self.by_path.get(&child)?;
                (child, rest)
            }
        };
        Some([base.as_slice(), rest].concat())
    }

    /// Returns the module that defines the name at a path from the root of the crate.
    fn defining(&self, path: &[String], reexports: usize) -> Option<(&Path, &Module)> {
        let mut length = 0;
        while length < path.len() && self.by_path.contains_key(path.get(..=length)?) {
            length += 1;
        }
        let module_path = path.get(..length)?;
        let found = self.by_path.get_key_value(module_path)?;
        let imported = path.get(length).and_then(|name| found.1.imports.get(name));
        let origin = imported.filter(|_| reexports < MAX_REEXPORTS).and_then(|target| {
            let target = self.absolute(module_path, target)?;
            self.defining(&[target.as_slice(), path.get(length + 1..)?].concat(), reexports + 1)
        });
        Some(origin.unwrap_or(found))
    }
}

/// Returns a message for each dependency whose end leads back to its beginning.
fn messages(dependencies: &Dependencies<'_>) -> Vec<String> {
    let reached: BTreeMap<&str, BTreeSet<&str>> =
        dependencies.keys().map(|child| (*child, reached(dependencies, child))).collect();
    let leads_back = |from: &str, to: &str| reached.get(to).is_some_and(|found| found.contains(from));
    let edges =
        dependencies.iter().flat_map(|(from, to)| to.iter().map(move |(to, example)| (from, to, example)));
    edges
        .filter(|(from, to, _)| leads_back(from, to))
        .map(|(from, to, example)| {
            format!("{example}: `{to}` depends on `{from}` too, directly or through other modules")
        })
        .collect()
}

/// Returns the children that a child depends on, directly or through others.
fn reached<'a>(dependencies: &Dependencies<'a>, child: &'a str) -> BTreeSet<&'a str> {
    let mut reached = BTreeSet::new();
    let mut open = vec![child];
    while let Some(child) = open.pop() {
        let next = dependencies.get(child).into_iter().flat_map(BTreeMap::keys);
        open.extend(next.filter(|child| reached.insert(**child)));
    }
    reached
}

/// Collects what the modules of a file name.
struct Names<'a> {
    modules: &'a mut Modules,
    /// The module.
    path: Path,
    shown: &'a str,
}

// === impl Names ===

impl Names<'_> {
    fn module(&mut self) -> &mut Module {
        let module = self.modules.by_path.entry(self.path.clone()).or_default();
        self.shown.clone_into(&mut module.file);
        module
    }

    fn add_use(&mut self, tree: &syn::UseTree, prefix: &Path, is_reexport: bool) {
        let with = |name: &syn::Ident| [prefix.as_slice(), &[name.to_string()]].concat();
        let (name, path) = match tree {
            syn::UseTree::Path(path) => return self.add_use(&path.tree, &with(&path.ident), is_reexport),
            syn::UseTree::Group(group) => {
                return group.items.iter().for_each(|tree| self.add_use(tree, prefix, is_reexport));
            }
            syn::UseTree::Name(name) if name.ident == "self" => (prefix.last().cloned(), prefix.clone()),
            syn::UseTree::Name(name) => (Some(name.ident.to_string()), with(&name.ident)),
            syn::UseTree::Rename(rename) => (Some(rename.rename.to_string()), with(&rename.ident)),
            syn::UseTree::Glob(_) => (None, prefix.clone()),
        };
        let module = self.module();
        if let Some(name) = name {
            module.imports.insert(name, path.clone());
        }
        if !is_reexport {
            module.named.insert(path);
        }
    }

    /// Adds the paths in the tokens of a macro.
    fn add_tokens(&mut self, tokens: TokenStream) {
        let mut path = Path::new();
        let mut is_open = false;
        for token in tokens {
            match token {
                TokenTree::Ident(name) => {
                    if !is_open {
                        self.add_path(std::mem::take(&mut path));
                    }
                    path.push(name.to_string());
                    is_open = false;
                }
                TokenTree::Punct(punct) if punct.as_char() == ':' && !path.is_empty() => is_open = true,
                other => {
                    self.add_path(std::mem::take(&mut path));
                    is_open = false;
                    if let TokenTree::Group(group) = other {
                        self.add_tokens(group.stream());
                    }
                }
            }
        }
        self.add_path(path);
    }

    /// Adds a path. A single name stands in this file, or a `use` brings it in.
    fn add_path(&mut self, path: Path) {
        if path.len() > 1 {
            self.module().named.insert(path);
        }
    }
}

impl<'ast> Visit<'ast> for Names<'_> {
    fn visit_item(&mut self, item: &'ast syn::Item) {
        let attributes = match item {
            syn::Item::Mod(item) => &item.attrs,
            syn::Item::Fn(item) => &item.attrs,
            syn::Item::Impl(item) => &item.attrs,
            syn::Item::Use(item) => &item.attrs,
            _ => &Vec::new(),
        };
        if !attributes.iter().any(is_test) {
            visit::visit_item(self, item);
        }
    }

    fn visit_item_mod(&mut self, module: &'ast syn::ItemMod) {
        if module.content.is_some() {
            self.path.push(module.ident.to_string());
            self.module();
            visit::visit_item_mod(self, module);
            self.path.pop();
        }
    }

    fn visit_item_use(&mut self, item: &'ast syn::ItemUse) {
        let is_reexport = !matches!(item.vis, syn::Visibility::Inherited);
        self.add_use(&item.tree, &Path::new(), is_reexport);
    }

    fn visit_path(&mut self, path: &'ast syn::Path) {
        self.add_path(path.segments.iter().map(|segment| segment.ident.to_string()).collect());
        visit::visit_path(self, path);
    }

    fn visit_macro(&mut self, invocation: &'ast syn::Macro) {
        self.add_tokens(invocation.tokens.clone());
        visit::visit_macro(self, invocation);
    }
}

/// Whether an attribute is `#[cfg(test)]`.
fn is_test(attribute: &syn::Attribute) -> bool {
    attribute.path().is_ident("cfg")
        && attribute.parse_args::<syn::Path>().is_ok_and(|path| path.is_ident("test"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn circles(files: &[(&str, &str)]) -> Vec<String> {
        let mut modules = Modules::default();
        for (path, text) in files {
            modules.add(path, path, text).expect("it parses");
        }
        modules.circles()
    }

    #[test]
    fn circles_are_found() {
        let found = circles(&[
            ("lib.rs", "mod a;\nmod b;\nmod c;\nmod d;\n"),
            ("a.rs", "use crate::b::B;\nuse std::c;\npub struct A;\n"),
            ("b.rs", "pub struct B;\nfn b() {\n    let c = format!(\"{}\", super::c::value());\n}\n"),
            ("c.rs", "mod deep;\n"),
            ("c/deep.rs", "use crate::{a::A as Other, d};\n"),
            ("d.rs", ""),
        ]);
        let expected = [
            "a.rs takes `B` of b.rs: `b` depends on `a` too, directly or through other modules",
            "b.rs takes `value` of c.rs: `c` depends on `b` too, directly or through other modules",
            "c/deep.rs takes `A` of a.rs: `a` depends on `c` too, directly or through other modules",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_module_and_its_children_may_name_each_other() {
        let parent = "mod child;\npub struct A;\nfn a() {\n    child::Child;\n}\n";
        let child = "use super::A;\npub struct Child;\n";
        assert_eq!(circles(&[("a.rs", parent), ("a/child.rs", child)]), [] as [&str; 0]);
    }

    #[test]
    fn a_name_belongs_to_the_module_that_defines_it() {
        let files = [
            ("a.rs", "mod first;\nmod second;\npub(crate) use first::First;\n"),
            ("a/first.rs", "pub struct First;\n"),
            ("a/second.rs", "use super::First;\n"),
            ("b.rs", "use crate::a::First;\npub struct B;\n"),
        ];
        assert_eq!(circles(&files), [] as [&str; 0]);
        let second = ("a/second.rs", "use super::First;\npub struct Second;\n");
        let first = ("a/first.rs", "use super::second::Second;\npub struct First;\n");
        let found = circles(&[files[0], first, second, files[3]]);
        assert_eq!(
            found,
            [
                "a/first.rs takes `Second` of a/second.rs: `second` depends on `first` too, directly or through other modules",
                "a/second.rs takes `First` of a/first.rs: `first` depends on `second` too, directly or through other modules",
            ]
        );
    }

    #[test]
    fn tests_may_name_anything() {
        let files = [
            ("a.rs", "use crate::b::B;\npub struct A;\n"),
            ("b.rs", "pub struct B;\n#[cfg(test)]\nmod tests {\n    use crate::a::A;\n}\n"),
        ];
        assert_eq!(circles(&files), [] as [&str; 0]);
    }
}
