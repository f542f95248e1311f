//! `src/generated/storage_map.rs`: group → version → path → storage.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::Crate;
use super::output::Output;
use super::scan::Declared;
use crate::Failure;

/// The first line of every generated file.
const PREAMBLE: &str = "// Written by `cargo xtask codegen` from the annotated structs. Do not edit.\n\n";

/// Kubernetes' own groups, most preferred first, in the order of kube-apiserver's aggregator: discovery has the order
/// of the map. Other groups follow by name.
const GROUP_ORDER: [&str; 23] = [
    "",
    "apiregistration.k8s.io",
    "apps",
    "events.k8s.io",
    "authentication.k8s.io",
    "authorization.k8s.io",
    "autoscaling",
    "batch",
    "certificates.k8s.io",
    "networking.k8s.io",
    "policy",
    "rbac.authorization.k8s.io",
    "storage.k8s.io",
    "admissionregistration.k8s.io",
    "apiextensions.k8s.io",
    "scheduling.k8s.io",
    "coordination.k8s.io",
    "node.k8s.io",
    "discovery.k8s.io",
    "resource.k8s.io",
    "flowcontrol.apiserver.k8s.io",
    "internal.apiserver.k8s.io",
    "storagemigration.k8s.io",
];

/// The sort key of a group in the map.
#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct GroupKey {
    position: usize,
    name: String,
}

/// Paths, and the types that serve them.
type Paths = Vec<(String, String)>;

/// The storage map of one package.
pub(super) fn emit(found: &Crate<'_>) -> Output {
    let mut groups: BTreeMap<GroupKey, BTreeMap<String, Paths>> = BTreeMap::new();
    let mut markers = BTreeSet::new();
    for declared in &found.resources.declared {
        let versions = groups.entry(GroupKey::new(&declared.model.group)).or_default();
        let paths = versions.entry(declared.model.version.clone()).or_default();
        for (path, marker, inner) in paths_of(declared) {
            markers.insert(marker);
            paths.push((path, format!("{marker}<{inner}>")));
        }
    }
    let path = found.package.folder().join("src/generated/storage_map.rs");
    Output { path, bytes: text(groups, &markers).into_bytes() }
}

/// The module that declares the modules of `src/generated`, and re-exports the map.
pub(super) fn emit_module(found: &Crate<'_>) -> Result<Output, Failure> {
    let package = found.package;
    if !found.resources.has_generated_module {
        return Err(format!(
            "package `{}` keeps its storage map in a module: add `pub mod generated;` to {}",
            package.name,
            package.root_file()?.display()
        )
        .into());
    }
    let source = package.folder().join("src");
    let mut modules: BTreeSet<String> = ["storage_map".to_owned()].into();
    if let Ok(files) = std::fs::read_dir(source.join("generated")) {
        for file in files {
            let path = file?.path();
            if path.extension().is_some_and(|extension| extension == "rs")
                && let Some(name) = path.file_stem()
            {
                modules.insert(name.to_string_lossy().into_owned());
            }
        }
    }
    let mut text = format!("{PREAMBLE}//! The generated declarations of this crate's resources.\n\n");
    for module in modules {
        // Writing to a String cannot fail.
        let _ = writeln!(text, "pub mod {module};");
    }
    Ok(Output { path: source.join("generated.rs"), bytes: text.into_bytes() })
}

/// Returns the paths of one resource: path, marker, type.
pub(super) fn paths_of(declared: &Declared) -> Vec<(String, &'static str, &str)> {
    let model = &declared.model;
    let plural = &model.plural;
    let main = if model.storage.is_some() { "Virtual" } else { "Main" };
    let mut paths = vec![(plural.clone(), main, declared.path.as_str())];
    if model.has_status {
        paths.push((format!("{plural}/status"), "Status", &declared.path));
    }
    if model.scale.is_some() {
        paths.push((format!("{plural}/scale"), "Scale", &declared.path));
    }
    for subresource in &declared.subresources {
        paths.push((format!("{plural}/{}", subresource.name), "Custom", &subresource.path));
    }
    paths
}

fn text(groups: BTreeMap<GroupKey, BTreeMap<String, Paths>>, markers: &BTreeSet<&str>) -> String {
    let mut text = format!("{PREAMBLE}//! Every path of this crate: group → version → path → storage.\n\n");
    let markers = markers.iter().copied().collect::<Vec<_>>();
    if let [only] = markers.as_slice() {
        let _ = writeln!(text, "use registry_core::registry::storage_map::{only};\n");
    } else if !markers.is_empty() {
        let _ = writeln!(text, "use registry_core::registry::storage_map::{{{}}};\n", markers.join(", "));
    }
    text.push_str("registry_core::storage_map! {\n    /// Every path of this crate.\n");
    text.push_str("    pub static STORAGE_MAP = {\n");
    for (group, versions) in groups {
        let _ = writeln!(text, "        {:?} => {{", group.name);
        for (version, mut paths) in versions {
            let _ = writeln!(text, "            {version:?} => {{");
            paths.sort();
            for (path, storage) in paths {
                let _ = writeln!(text, "                {path:?} => {storage},");
            }
            text.push_str("            },\n");
        }
        text.push_str("        },\n");
    }
    text.push_str("    };\n}\n");
    text
}

// === impl GroupKey ===

impl GroupKey {
    pub(super) fn new(group: &str) -> Self {
        let position = GROUP_ORDER.iter().position(|known| *known == group).unwrap_or(GROUP_ORDER.len());
        Self { position, name: group.to_owned() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn groups_come_as_discovery_shows_them() {
        let mut groups = ["zoo.example.dev", "batch", "", "apps", "aviary.example.dev"].map(GroupKey::new);
        groups.sort();
        let names: Vec<&str> = groups.iter().map(|group| group.name.as_str()).collect();
        assert_eq!(names, ["", "apps", "batch", "aviary.example.dev", "zoo.example.dev"]);
    }

    #[test]
    fn the_map_is_text_people_can_read() {
        let mut versions = BTreeMap::new();
        let paths = vec![
            ("enclosures/status".to_owned(), "Status<crate::Enclosure>".to_owned()),
            ("enclosures".to_owned(), "Main<crate::Enclosure>".to_owned()),
        ];
        versions.insert("v1".to_owned(), paths);
        let groups = [(GroupKey::new("zoo.example.dev"), versions)].into();
        let expected = r#"// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::{Main, Status};

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "zoo.example.dev" => {
            "v1" => {
                "enclosures" => Main<crate::Enclosure>,
                "enclosures/status" => Status<crate::Enclosure>,
            },
        },
    };
}
"#;
        assert_eq!(text(groups, &["Main", "Status"].into()), expected);
    }
}
