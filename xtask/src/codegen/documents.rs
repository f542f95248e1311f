//! `docs/reference/resources.md`, every served resource in one table, and the reference of attributes.

use std::fmt::Write as _;

use registry_grammar::{FieldPath, Release, ResourceScope, reference};

use super::Crate;
use super::output::Output;
use super::scan::Declared;
use super::storage_map::GroupKey;
use crate::Failure;
use crate::explain::EXAMPLES;
use crate::workspace::Workspace;

const HEAD: &str = "<!-- Written by `cargo xtask codegen` from the annotated structs. Do not edit. -->

# Resources

Every resource the workspace declares, package by package. `metadata.name` and `metadata.namespace` can be
selected everywhere; fields in *italics* are indexed. A resource itself serves `create`, `delete`, `deletecollection`,
`get`, `list`, `patch`, `update` and `watch`; `status` and `scale` serve `get`, `patch` and `update`. What is not `on` is
served only if `--runtime-config` enables it, and, where a feature is named, `--feature-gates` too; what has releases only in
those that `--emulated-version` can name.
";

/// The reference.
pub(super) fn emit(workspace: &Workspace, crates: &[Crate<'_>]) -> Output {
    let mut text = HEAD.to_owned();
    for found in crates {
        let mut declared: Vec<&Declared> = found.resources.declared.iter().collect();
        declared.sort_by_key(|resource| {
            let model = &resource.model;
            (GroupKey::new(&model.group), model.version.clone(), model.plural.clone())
        });
        // Writing to a String cannot fail.
        let _ = write!(text, "\n## `{}`\n\n", found.package.name);
        text.push_str(
            "| group/version | kind | resource | short | scope | default | subresources | selectable | declared |\n",
        );
        text.push_str("|---|---|---|---|---|---|---|---|---|\n");
        for resource in declared {
            text.push_str(&row(resource));
        }
    }
    Output { path: workspace.root.join("docs/reference/resources.md"), bytes: text.into_bytes() }
}

/// The grammar, which documents the macro, and the reference of attributes.
pub(super) fn emit_attributes(workspace: &Workspace) -> Result<[Output; 2], Failure> {
    let examples = std::fs::read_to_string(workspace.root.join(EXAMPLES))?;
    let output =
        |path: &str, text: String| Output { path: workspace.root.join(path), bytes: text.into_bytes() };
    Ok([
        output("registry-derive/grammar/grammar.md", reference::grammar()),
        output("docs/reference/attributes.md", reference::page(&examples)),
    ])
}

fn row(declared: &Declared) -> String {
    let model = &declared.model;
    let scope = match model.scope {
        ResourceScope::Namespaced => "namespaced",
        ResourceScope::Cluster => "cluster",
    };
    let mut subresources = Vec::new();
    if model.has_status {
        subresources.push("`status`".to_owned());
    }
    if model.scale.is_some() {
        subresources.push("`scale`".to_owned());
    }
    for own in &declared.subresources {
        subresources.push(format!("`{}` ({})", own.name, own.verbs.join(", ")));
    }
    let indexes: Vec<String> = model.indexes.iter().map(FieldPath::rust_name).collect();
    let selectable = model.selectable.iter().map(|field| {
        let name = format!("`{}`", field.name());
        if indexes.contains(&field.rust_name()) { format!("*{name}*") } else { name }
    });
    let cells = [
        format!("`{}`", model.api_version()),
        model.kind.clone(),
        format!("`{}`", model.plural),
        model.short_names.iter().map(|name| format!("`{name}`")).collect::<Vec<_>>().join(", "),
        scope.to_owned(),
        default(declared),
        subresources.join(", "),
        selectable.collect::<Vec<_>>().join(", "),
        // No line numbers: they would go stale with every edit above the declaration.
        format!("[{}](../../{})", declared.file, declared.file),
    ];
    format!("| {} |\n", cells.join(" | "))
}

/// Returns whether the resource is served by default, its feature, and the releases that serve it.
fn default(declared: &Declared) -> String {
    let model = &declared.model;
    let mut words = vec![if model.is_off_by_default { "off" } else { "on" }.to_owned()];
    let feature = model.feature_gate.as_ref().and_then(syn::Path::get_ident);
    words.extend(feature.map(|feature| format!("`{feature}`")));
    words.extend(model.introduced.map(|Release { major, minor }| format!("since {major}.{minor}")));
    words.extend(model.removed.map(|Release { major, minor }| format!("before {major}.{minor}")));
    words.join(", ")
}
