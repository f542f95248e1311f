//! Finds the annotated structs of a package. The module tree is walked from the root file, so that the path of every
//! struct is known.

mod messages;
mod subresources;

use std::path::{Path, PathBuf};

use registry_grammar::{ObjectKind, ResourceModel};
use syn::Item;

use crate::Failure;
use crate::workspace::{Package, Workspace};
pub(crate) use messages::Message;
use subresources::Implementation;

/// The resources of one package.
#[derive(Debug, Default)]
pub(crate) struct Resources {
    /// The annotated structs, in the order in which they are found.
    pub(crate) declared: Vec<Declared>,
    /// Structs with a JSON schema, which own resources consist of.
    pub(crate) messages: Vec<Message>,
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

/// The results of the walk.
struct Walk<'a> {
    workspace: &'a Workspace,
    structs: Vec<Annotated>,
    implementations: Vec<Implementation>,
    messages: Vec<Message>,
    /// Private modules, whose items the storage map cannot name. Private modules in the root are not included: the
    /// whole crate sees them.
    hidden: Vec<Vec<String>>,
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
    let folder = root_file.parent().unwrap_or(root_file).to_owned();
    let mut walk = Walk::new(workspace);
    walk.file(root_file, &folder, &[])?;
    walk.into_resources()
}

// === impl Walk ===

impl<'a> Walk<'a> {
    const fn new(workspace: &'a Workspace) -> Self {
        Self {
            workspace,
            structs: Vec::new(),
            implementations: Vec::new(),
            messages: Vec::new(),
            hidden: Vec::new(),
            has_generated_module: false,
        }
    }

    fn file(&mut self, file: &Path, children: &Path, module: &[String]) -> Result<(), Failure> {
        let text = std::fs::read_to_string(file)
            .map_err(|error| format!("{}: {error}", self.workspace.shown(file)))?;
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
            if let Item::Struct(item) = &item {
                let message = Message::from_struct(item).map_err(|error| self.located(file, &error))?;
                self.messages.extend(message);
            }
            match item {
                Item::Mod(inner) => self.module(inner, file, children, module)?,
                Item::Struct(item) if registry_grammar::is_annotated(&item) => {
                    self.structs.push(Annotated { item, module: module.to_vec(), file: file.to_owned() });
                }
                Item::Impl(item) => self.implementations.extend(Implementation::from_item(&item, module)),
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
        if matches!(item.vis, syn::Visibility::Inherited) && !module.is_empty() {
            self.hidden.push(inner.clone());
        }
        let folder = children.join(name.trim_start_matches("r#"));
        if let Some((_, items)) = item.content {
            return self.items(items, file, &folder, &inner);
        }
        let beside = folder.with_extension("rs");
        let inside = folder.join("mod.rs");
        self.file(if beside.exists() { &beside } else { &inside }, &folder, &inner)
    }

    fn into_resources(self) -> Result<Resources, Failure> {
        let mut declared = Vec::new();
        let mut wrong = Vec::new();
        for annotated in &self.structs {
            match ResourceModel::parse(&annotated.item.clone().into()) {
                Ok(model) => match self.declared(annotated, model) {
                    Ok(found) => declared.push(found),
                    Err(failure) => wrong.push(failure.to_string()),
                },
                Err(errors) => wrong.push(self.located(&annotated.file, &errors)),
            }
        }
        if !wrong.is_empty() {
            return Err(wrong.join("\n").into());
        }
        let has_own = declared.iter().any(|resource| matches!(resource.model.object, ObjectKind::Own(_)));
        let messages = if has_own { self.messages } else { Vec::new() };
        Ok(Resources { declared, messages, has_generated_module: self.has_generated_module })
    }

    fn declared(&self, annotated: &Annotated, model: ResourceModel) -> Result<Declared, Failure> {
        let file = self.workspace.shown(&annotated.file);
        let line = annotated.item.ident.span().start().line;
        let here = |failure: Failure| format!("{file}:{line}: {failure}");
        let path = self.nameable(&annotated.module, &model.ident.to_string()).map_err(here)?;
        let mut found = Vec::new();
        for attribute in &model.subresources {
            let implementation =
                subresources::resolve(&self.implementations, &attribute.storage, &annotated.module)
                    .map_err(here)?;
            let path = self.nameable(&implementation.module, &implementation.type_name).map_err(here)?;
            let mut verbs: Vec<&str> = attribute.verbs.iter().map(|(verb, _)| verb.name()).collect();
            verbs.sort_unstable();
            found.push(Subresource { name: implementation.name.clone(), path, verbs });
        }
        Ok(Declared { path, file, subresources: found, model })
    }

    /// Returns the path of a type, if the storage map can name it.
    fn nameable(&self, module: &[String], name: &str) -> Result<String, Failure> {
        let path = path_of(module, name);
        match self.hidden.iter().find(|hidden| module.starts_with(hidden)) {
            None => Ok(path),
            Some(hidden) => {
                let last = hidden.last().map_or("", String::as_str);
                Err(format!("the storage map cannot name `{path}`: write `pub(crate) mod {last};`").into())
            }
        }
    }

    /// Returns errors with their locations, one per line.
    fn located(&self, file: &Path, errors: &syn::Error) -> String {
        let file = self.workspace.shown(file);
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

/// Whether an item is only compiled in tests.
fn is_test(attributes: &[syn::Attribute]) -> bool {
    attributes.iter().any(|attribute| {
        attribute.path().is_ident("cfg")
            && attribute.parse_args::<syn::Ident>().is_ok_and(|condition| condition == "test")
    })
}

#[cfg(test)]
mod tests;
