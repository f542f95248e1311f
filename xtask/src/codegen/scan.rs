//! Finding the annotated structs of a package: its module tree is walked from the root file, so that every struct
//! is known by the path other modules reach it under.

mod subresources;

use std::path::{Path, PathBuf};

use registry_grammar::ResourceModel;
use syn::Item;

use crate::Failure;
use crate::workspace::{Package, Workspace};
use subresources::Implementation;

/// The resources of one package.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    /// In the order they are found.
    pub(crate) declared: Vec<Declared>,
    /// Whether the root declares `mod generated`.
    pub(crate) has_generated_module: bool,
}

/// One annotated struct.
#[derive(Debug)]
pub(crate) struct Declared {
    pub(crate) model: ResourceModel,
    /// Its path from the crate, `crate::core::pods::Pods`.
    pub(crate) path: String,
    /// Its file, relative to the workspace.
    pub(crate) file: String,
    /// Its line, from 1.
    pub(crate) line: usize,
    /// Its own subresources.
    pub(crate) subresources: Vec<Subresource>,
}

/// One `subresource(…)` of a struct, found where it is implemented.
#[derive(Debug)]
pub(crate) struct Subresource {
    /// The name in the path.
    pub(crate) name: String,
    /// The type's path from the crate.
    pub(crate) path: String,
    /// The verbs it declares, sorted.
    pub(crate) verbs: Vec<&'static str>,
}

/// What the walk collects.
#[derive(Default)]
struct Walk {
    root: PathBuf,
    structs: Vec<Annotated>,
    implementations: Vec<Implementation>,
    has_generated_module: bool,
}

struct Annotated {
    item: syn::ItemStruct,
    module: Vec<String>,
    file: PathBuf,
}

/// Finds the annotated structs of a package.
pub(crate) fn scan(workspace: &Workspace, package: &Package) -> Result<Resources, Failure> {
    let root_file = package.root_file()?;
    let mut walk = Walk { root: workspace.root.clone(), ..Walk::default() };
    let folder = root_file.parent().unwrap_or(root_file).to_owned();
    walk.file(root_file, &folder, &[])?;
    walk.into_resources(workspace)
}

// === impl Walk ===

impl Walk {
    fn file(&mut self, file: &Path, children: &Path, module: &[String]) -> Result<(), Failure> {
        let text = std::fs::read_to_string(file).map_err(|error| format!("{}: {error}", self.shown(file)))?;
        let parsed = syn::parse_file(&text).map_err(|error| self.located(file, &error))?;
        self.items(parsed.items, file, children, module)
    }

    fn items(
        &mut self,
        items: Vec<Item>,
        file: &Path,
        children: &Path,
        module: &[String],
    ) -> Result<(), Failure> {
        for item in items {
            match item {
                Item::Mod(inner) => self.module(inner, file, children, module)?,
                Item::Struct(item) if registry_grammar::is_annotated(&item) => {
                    self.structs.push(Annotated { item, module: module.to_vec(), file: file.to_owned() });
                }
                Item::Impl(item) => self.implementations.extend(Implementation::of(&item, module)),
                _ => {}
            }
        }
        Ok(())
    }

    fn module(
        &mut self,
        item: syn::ItemMod,
        file: &Path,
        children: &Path,
        module: &[String],
    ) -> Result<(), Failure> {
        let name = item.ident.to_string();
        if module.is_empty() && name == "generated" {
            self.has_generated_module = true;
            return Ok(());
        }
        if is_test(&item.attrs) {
            return Ok(());
        }
        let inner: Vec<String> = module.iter().cloned().chain([name.clone()]).collect();
        let folder = children.join(name.trim_start_matches("r#"));
        if let Some((_, items)) = item.content {
            return self.items(items, file, &folder, &inner);
        }
        let beside = folder.with_extension("rs");
        let inside = folder.join("mod.rs");
        self.file(if beside.exists() { &beside } else { &inside }, &folder, &inner)
    }

    fn into_resources(self, workspace: &Workspace) -> Result<Resources, Failure> {
        let mut declared = Vec::new();
        let mut wrong = Vec::new();
        for annotated in &self.structs {
            match ResourceModel::parse(&annotated.item.clone().into()) {
                Ok(model) => match self.declared(annotated, model) {
                    Ok(found) => declared.push(found),
                    Err(told) => wrong.push(told),
                },
                Err(errors) => wrong.push(self.located(&annotated.file, &errors)),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.join("\n").into());
        }
        for found in &mut declared {
            found.file = workspace.shown(Path::new(&found.file));
        }
        Ok(Resources { declared, has_generated_module: self.has_generated_module })
    }

    fn declared(&self, annotated: &Annotated, model: ResourceModel) -> Result<Declared, String> {
        let line = annotated.item.ident.span().start().line;
        let mut found = Vec::new();
        for attribute in &model.subresources {
            let implementation =
                subresources::resolve(&self.implementations, &attribute.storage, &annotated.module)
                    .map_err(|told| format!("{}:{line}: {told}", self.shown(&annotated.file)))?;
            let mut verbs: Vec<&str> = attribute.verbs.iter().map(|(verb, _)| verb.name()).collect();
            verbs.sort_unstable();
            found.push(Subresource { name: implementation.name.clone(), path: implementation.path(), verbs });
        }
        Ok(Declared {
            path: path_of(&annotated.module, &model.ident.to_string()),
            file: annotated.file.to_string_lossy().into_owned(),
            line,
            subresources: found,
            model,
        })
    }

    fn shown(&self, file: &Path) -> String {
        file.strip_prefix(&self.root).unwrap_or(file).display().to_string()
    }

    /// Errors with where they are, one per line.
    fn located(&self, file: &Path, errors: &syn::Error) -> String {
        let file = self.shown(file);
        let lines = errors.clone().into_iter().map(|error| {
            let start = error.span().start();
            format!("{file}:{}:{}: {error}", start.line, start.column + 1)
        });
        lines.collect::<Vec<_>>().join("\n")
    }
}

/// `crate::core::pods::Pods`.
fn path_of(module: &[String], name: &str) -> String {
    let steps = std::iter::once("crate").chain(module.iter().map(String::as_str)).chain([name]);
    steps.collect::<Vec<_>>().join("::")
}

/// Whether an item is compiled in tests only.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

#[cfg(test)]
mod tests;
