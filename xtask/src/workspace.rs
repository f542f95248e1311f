//! The workspace, from cargo's metadata.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use crate::Failure;

/// The workspace's packages.
#[derive(Debug, Deserialize)]
pub(crate) struct Workspace {
    /// Its folder.
    #[serde(rename = "workspace_root")]
    pub(crate) root: PathBuf,
    /// Its packages.
    pub(crate) packages: Vec<Package>,
}

/// One package.
#[derive(Debug, Deserialize)]
pub(crate) struct Package {
    /// Its name.
    pub(crate) name: String,
    version: String,
    manifest_path: PathBuf,
    #[serde(default)]
    metadata: Option<Metadata>,
    targets: Vec<Target>,
    dependencies: Vec<Dependency>,
    features: BTreeMap<String, Vec<String>>,
}

#[derive(Debug, Default, Deserialize)]
struct Metadata {
    #[serde(default)]
    orlop: Orlop,
}

/// `[package.metadata.orlop]`.
#[derive(Debug, Default, Deserialize)]
struct Orlop {
    /// Whether code generation searches the package for annotated structs.
    #[serde(default)]
    resources: bool,
}

#[derive(Debug, Deserialize)]
struct Target {
    kind: Vec<String>,
    src_path: PathBuf,
}

#[derive(Debug, Deserialize)]
struct Dependency {
    name: String,
    kind: Option<String>,
}

// === impl Workspace ===

impl Workspace {
    /// Runs cargo metadata in the current folder.
    pub(crate) fn load() -> Result<Self, Failure> {
        let cargo = std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into());
        let output = Command::new(cargo).args(["metadata", "--no-deps", "--format-version=1"]).output()?;
        if !output.status.success() {
            return Err(format!("cargo metadata: {}", String::from_utf8_lossy(&output.stderr)).into());
        }
        Ok(serde_json::from_slice(&output.stdout)?)
    }

    /// Returns the packages that declare resources, sorted by name.
    pub(crate) fn resource_packages(&self) -> Vec<&Package> {
        let mut packages: Vec<&Package> =
            self.packages.iter().filter(|package| package.declares_resources()).collect();
        packages.sort_by(|a, b| a.name.cmp(&b.name));
        packages
    }

    /// Returns the version of a package.
    ///
    /// # Errors
    /// Fails if there is no such package.
    pub(crate) fn version(&self, package: &str) -> Result<&str, Failure> {
        Ok(&self.package(package)?.version)
    }

    /// Returns the names of a package's features, without `default`.
    ///
    /// # Errors
    /// Fails if there is no such package.
    pub(crate) fn features(&self, package: &str) -> Result<Vec<&str>, Failure> {
        let names = self.package(package)?.features.keys().map(String::as_str);
        Ok(names.filter(|name| *name != "default").collect())
    }

    fn package(&self, name: &str) -> Result<&Package, Failure> {
        let found = self.packages.iter().find(|found| found.name == name);
        Ok(found.ok_or_else(|| format!("the workspace has no package `{name}`"))?)
    }

    /// Returns a path as messages and documents show it: relative to the workspace, with `/`.
    pub(crate) fn shown(&self, path: &Path) -> String {
        let relative = path.strip_prefix(&self.root).unwrap_or(path);
        relative.components().map(|part| part.as_os_str().to_string_lossy()).collect::<Vec<_>>().join("/")
    }
}

// === impl Package ===

impl Package {
    /// Whether `[package.metadata.orlop] resources = true`.
    pub(crate) fn declares_resources(&self) -> bool {
        self.metadata.as_ref().is_some_and(|metadata| metadata.orlop.resources)
    }

    /// Its folder.
    pub(crate) fn folder(&self) -> &Path {
        self.manifest_path.parent().unwrap_or(&self.manifest_path)
    }

    /// Returns the root file of its library, or of its program if it has no library.
    pub(crate) fn root_file(&self) -> Result<&Path, Failure> {
        let of_kind = |kind: &str| self.targets.iter().find(|target| target.kind.iter().any(|k| k == kind));
        of_kind("lib")
            .or_else(|| of_kind("bin"))
            .map(|target| target.src_path.as_path())
            .ok_or_else(|| format!("package `{}` has neither a library nor a program", self.name).into())
    }

    /// Returns the names of the crates that it depends on outside of tests.
    pub(crate) fn dependency_names(&self) -> impl Iterator<Item = &str> {
        let normal = self.dependencies.iter().filter(|dependency| dependency.kind.is_none());
        normal.map(|dependency| dependency.name.as_str())
    }

    /// Whether it depends on this crate outside of tests.
    pub(crate) fn depends_on(&self, name: &str) -> bool {
        self.dependencies.iter().any(|dependency| dependency.name == name && dependency.kind.is_none())
    }
}
