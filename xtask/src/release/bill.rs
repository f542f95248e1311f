//! The bill of materials of a program: every crate that is linked into it, in the format CycloneDX.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use serde::Deserialize;
use serde_json::{Value, json};

use super::{cargo, output_of};
use crate::Failure;

/// The crates of a program.
pub(super) struct Bill {
    /// The package of the program, and by id all others.
    program: Package,
    packages: BTreeMap<String, Package>,
    /// The dependencies of each package, by id.
    dependencies: BTreeMap<String, BTreeSet<String>>,
}

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
    resolve: Resolve,
}

#[derive(Clone, Deserialize)]
struct Package {
    id: String,
    name: String,
    version: String,
    license: Option<String>,
    description: Option<String>,
    /// The registry; none for packages of the workspace.
    source: Option<String>,
}

#[derive(Deserialize)]
struct Resolve {
    nodes: Vec<Node>,
}

#[derive(Deserialize)]
struct Node {
    id: String,
    deps: Vec<Dependency>,
}

#[derive(Deserialize)]
struct Dependency {
    pkg: String,
    dep_kinds: Vec<DependencyKind>,
}

#[derive(Deserialize)]
struct DependencyKind {
    /// None for what is linked; `build` and `dev` are not.
    kind: Option<String>,
}

// === impl Bill ===

impl Bill {
    /// Finds the crates of a package's program on a target.
    pub(super) fn resolve(root: &Path, package: &str, target: &str) -> Result<Self, Failure> {
        let arguments = ["metadata", "--locked", "--format-version=1", "--filter-platform", target];
        let text = output_of(cargo().args(arguments).current_dir(root))?;
        Self::parse(&text, package)
    }

    fn parse(metadata: &str, package: &str) -> Result<Self, Failure> {
        let Metadata { packages, resolve } = serde_json::from_str(metadata)?;
        let is_program = |found: &&Package| found.name == package && found.source.is_none();
        let program = packages.iter().find(is_program).cloned();
        let program = program.ok_or_else(|| format!("there is no package {package}"))?;
        let nodes: BTreeMap<&str, &Node> = resolve.nodes.iter().map(|node| (&*node.id, node)).collect();
        let mut dependencies = BTreeMap::new();
        let mut waiting = vec![program.id.clone()];
        while let Some(id) = waiting.pop() {
            if dependencies.contains_key(&id) {
                continue;
            }
            let node = nodes.get(&*id).ok_or_else(|| format!("cargo resolves no dependencies of {id}"))?;
            let linked = node
                .deps
                .iter()
                .filter(|dependency| dependency.dep_kinds.iter().any(|kind| kind.kind.is_none()));
            let linked: BTreeSet<String> = linked.map(|dependency| dependency.pkg.clone()).collect();
            waiting.extend(linked.iter().cloned());
            dependencies.insert(id, linked);
        }
        let mut packages: BTreeMap<String, Package> =
            packages.into_iter().map(|package| (package.id.clone(), package)).collect();
        packages.retain(|id, _| dependencies.contains_key(id) && *id != program.id);
        Ok(Self { program, packages, dependencies })
    }

    /// Returns the document. It has neither a time nor a random number, so that it is the same for the same commit.
    pub(super) fn text(&self) -> Result<String, Failure> {
        let references: BTreeMap<&str, String> = self
            .packages
            .values()
            .chain([&self.program])
            .map(|package| (&*package.id, package.reference()))
            .collect();
        let components: Vec<Value> =
            self.packages.values().map(|package| package.component("library")).collect();
        let dependencies: Vec<Value> = self
            .dependencies
            .iter()
            .filter_map(|(id, on)| {
                let on: Vec<&String> = on.iter().filter_map(|id| references.get(&**id)).collect();
                Some(json!({ "ref": references.get(&**id)?, "dependsOn": on }))
            })
            .collect();
        let document = json!({
            "$schema": "http://cyclonedx.org/schema/bom-1.5.schema.json",
            "bomFormat": "CycloneDX",
            "specVersion": "1.5",
            "version": 1,
            "metadata": { "component": self.program.component("application") },
            "components": components,
            "dependencies": dependencies,
        });
        Ok(serde_json::to_string_pretty(&document)? + "\n")
    }
}

// === impl Package ===

impl Package {
    /// Returns the package as a URL, which identifies it in the document.
    fn reference(&self) -> String {
        // The `+` of a version has another meaning in URLs.
        format!("pkg:cargo/{}@{}", self.name, self.version.replace('+', "%2B"))
    }

    fn component(&self, kind: &str) -> Value {
        // Old packages write `MIT/Apache-2.0`.
        let licenses =
            self.license.iter().map(|license| json!({ "expression": license.replace('/', " OR ") }));
        let description = self.description.as_deref().unwrap_or_default();
        json!({
            "type": kind,
            "bom-ref": self.reference(),
            "purl": self.reference(),
            "name": self.name,
            "version": self.version,
            "licenses": licenses.collect::<Vec<_>>(),
            "description": description.split_whitespace().collect::<Vec<_>>().join(" "),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn linked_crates_are_listed_and_others_not() {
        let package = |name: &str, source: Option<&str>| json!({ "id": name, "name": name, "version": "1.0.0+a", "license": "MIT/Apache-2.0", "description": "A\n crate", "source": source });
        let dependency =
            |name: &str, kind: Option<&str>| json!({ "pkg": name, "dep_kinds": [{ "kind": kind }] });
        let metadata = json!({
            "packages": [
                package("server", None), package("linked", Some("registry")), package("deeper", Some("registry")),
                package("builder", Some("registry")), package("tester", Some("registry")),
            ],
            "resolve": { "nodes": [
                { "id": "server", "deps": [dependency("linked", None), dependency("builder", Some("build")), dependency("tester", Some("dev"))] },
                { "id": "linked", "deps": [dependency("deeper", None)] },
                { "id": "deeper", "deps": [dependency("linked", None)] },
            ] },
        });
        let bill = Bill::parse(&metadata.to_string(), "server").unwrap();
        let text: Value = serde_json::from_str(&bill.text().unwrap()).unwrap();
        let names: Vec<&str> = text["components"]
            .as_array()
            .unwrap()
            .iter()
            .map(|found| found["name"].as_str().unwrap())
            .collect();
        assert_eq!(names, ["deeper", "linked"]);
        assert_eq!(text["metadata"]["component"]["purl"], "pkg:cargo/server@1.0.0%2Ba");
        assert_eq!(text["components"][0]["licenses"][0]["expression"], "MIT OR Apache-2.0");
        assert_eq!(text["components"][0]["description"], "A crate");
        let on = json!({ "ref": "pkg:cargo/server@1.0.0%2Ba", "dependsOn": ["pkg:cargo/linked@1.0.0%2Ba"] });
        assert!(text["dependencies"].as_array().unwrap().contains(&on), "{text}");
    }

    #[test]
    fn the_bill_of_the_server_has_its_crates_and_their_licenses() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap();
        let target = super::super::host().unwrap();
        let bill = Bill::resolve(root, "apiserver", &target).unwrap();
        let names: BTreeSet<&str> = bill.packages.values().map(|package| &*package.name).collect();
        assert!(names.contains("rustls") && names.contains("registry-storage"), "{names:?}");
        assert!(!names.contains("kube") && !names.contains("apiserver"), "{names:?}");
        let without: Vec<&str> = bill
            .packages
            .values()
            .filter(|package| package.license.is_none())
            .map(|package| &*package.name)
            .collect();
        assert_eq!(without, [] as [&str; 0], "every crate names its license");
    }
}
