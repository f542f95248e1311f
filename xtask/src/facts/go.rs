//! Facts about Go structs, and how Go's type names are resolved.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Deserialize;

use super::{FactsError, read_json};

/// The known Go types of Kubernetes.
#[derive(Deserialize)]
pub(super) struct GoFacts {
    /// Renamed types, by package path and name.
    named: BTreeMap<String, String>,
    /// Structs, likewise.
    structs: BTreeMap<String, Vec<GoField>>,
}

/// One field as Go declares it.
#[derive(Clone, Debug, Default, Deserialize)]
pub(super) struct GoField {
    #[serde(default)]
    pub(super) json: String,
    #[serde(rename = "type")]
    pub(super) ty: String,
    #[serde(default)]
    pub(super) omitempty: bool,
    #[serde(default)]
    pub(super) omitzero: bool,
    #[serde(default)]
    pub(super) inline: bool,
    #[serde(default)]
    pub(super) protobuf: String,
    #[serde(default, rename = "patchStrategy")]
    pub(super) patch_strategy: String,
    #[serde(default, rename = "patchMergeKey")]
    pub(super) patch_merge_key: String,
    #[serde(default)]
    pub(super) markers: Vec<String>,
}

/// A Go type expression, resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum GoType {
    Pointer(Box<GoType>),
    List(Box<GoType>),
    Map(Box<GoType>, Box<GoType>),
    /// A built-in type.
    Basic(String),
    /// A declared type: package path and name.
    Declared(String),
}

/// Packages by the names importers give them.
const IMPORTS: &[(&str, &str)] = &[
    ("metav1", META_V1),
    ("corev1", CORE_V1),
    ("apiv1", CORE_V1),
    ("authenticationv1", "k8s.io/api/authentication/v1"),
    ("authorizationv1", "k8s.io/api/authorization/v1"),
    ("batchv1", "k8s.io/api/batch/v1"),
    ("resource", "k8s.io/apimachinery/pkg/api/resource"),
    ("intstr", "k8s.io/apimachinery/pkg/util/intstr"),
    ("types", "k8s.io/apimachinery/pkg/types"),
    ("runtime", "k8s.io/apimachinery/pkg/runtime"),
];

pub(super) const META_V1: &str = "k8s.io/apimachinery/pkg/apis/meta/v1";

const CORE_V1: &str = "k8s.io/api/core/v1";

// === impl GoFacts ===

impl GoFacts {
    pub(super) fn read(upstream: &Path) -> Result<Self, FactsError> {
        read_json(&upstream.join("go-fields.json"))
    }

    /// The fields of a struct, inlined ones still unexpanded.
    pub(super) fn fields(&self, path: &str) -> Option<&[GoField]> {
        self.structs.get(path).map(Vec::as_slice)
    }

    /// Returns the target of a named type, as written in its package.
    pub(super) fn alias(&self, path: &str) -> Option<&str> {
        self.named.get(path).map(String::as_str)
    }

    /// Resolves a type expression written in a package.
    pub(super) fn resolve(&self, package: &str, text: &str) -> Result<GoType, FactsError> {
        if let Some(inner) = text.strip_prefix('*') {
            return Ok(GoType::Pointer(Box::new(self.resolve(package, inner)?)));
        }
        if let Some(element) = text.strip_prefix("[]") {
            return Ok(GoType::List(Box::new(self.resolve(package, element)?)));
        }
        if let Some(rest) = text.strip_prefix("map[") {
            let (key, value) = rest
                .split_once(']')
                .ok_or_else(|| FactsError::Contradiction(format!("no Go type: {text}")))?;
            let key = self.resolve(package, key)?;
            let value = self.resolve(package, value)?;
            return Ok(GoType::Map(Box::new(key), Box::new(value)));
        }
        match text {
            "string" | "bool" | "int" | "int32" | "int64" | "float64" | "byte" | "interface{}" => {
                Ok(GoType::Basic(text.to_owned()))
            }
            _ => self.declared(package, text).map(GoType::Declared),
        }
    }

    /// The package path and name of a declared type.
    fn declared(&self, package: &str, text: &str) -> Result<String, FactsError> {
        let Some((import, name)) = text.split_once('.') else { return Ok(format!("{package}.{text}")) };
        if let Some((_, path)) = IMPORTS.iter().find(|(known, _)| *known == import) {
            return Ok(format!("{path}.{name}"));
        }
        // The package that `v1` refers to differs from file to file: the group's own, core's or meta's.
        let own = package.rsplit_once('/').map_or(package, |(parent, _)| parent);
        let candidates = [format!("{own}/{import}"), CORE_V1.to_owned(), META_V1.to_owned()];
        let mut paths = candidates.iter().map(|package| format!("{package}.{name}"));
        paths
            .find(|path| self.structs.contains_key(path) || self.named.contains_key(path))
            .ok_or_else(|| FactsError::Contradiction(format!("{package}: no type {text}")))
    }
}

// === impl GoField ===

impl GoField {
    /// The field's number in protobuf, if it has one.
    pub(super) fn protobuf_number(&self) -> Option<&str> {
        self.protobuf.split(',').nth(1)
    }

    /// The values of a marker such as `+listType`.
    pub(super) fn marker(&self, name: &str) -> Vec<&str> {
        let named = self.markers.iter().filter_map(|marker| marker.split_once('='));
        named.filter(|(marker, _)| *marker == name).map(|(_, value)| value).collect()
    }
}

/// The package of a declared type.
pub(super) fn package(path: &str) -> &str {
    path.rsplit_once('.').map_or(path, |(package, _)| package)
}

/// Returns a declared type as Go prints it: the last part of its package, and its name.
pub(super) fn printed(path: &str) -> &str {
    path.rsplit_once('/').map_or(path, |(_, last)| last)
}

/// The OpenAPI name of a declared type: `k8s.io/api/core/v1.Pod` is `io.k8s.api.core.v1.Pod`.
pub(super) fn openapi_name(path: &str) -> String {
    path.replacen("k8s.io/", "io.k8s.", 1).replace('/', ".")
}

/// The declared type of an OpenAPI name.
pub(super) fn declared_path(name: &str) -> String {
    let rest = name.strip_prefix("io.k8s.").unwrap_or(name);
    match rest.rsplit_once('.') {
        Some((package, name)) => format!("k8s.io/{}.{name}", package.replace('.', "/")),
        None => rest.to_owned(),
    }
}
