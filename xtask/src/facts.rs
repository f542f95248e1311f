//! Facts about Kubernetes' types for `codegen`: the properties of each field that the schema engine needs, from
//! upstream
//! data (Go struct facts and OpenAPI documents), as compact tables that are committed.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};

use flate2::Compression;
use flate2::write::ZlibEncoder;

mod bootstrap;
mod builder;
mod enums;
mod feature_gates;
mod flags;
mod go;
mod go_values;
mod openapi;
#[cfg(test)]
mod tests;

use builder::Builder;
use go::GoFacts;
use openapi::OpenApi;

/// Facts cannot be generated. Not retryable: the upstream data is incomplete or has another format.
#[derive(Debug, thiserror::Error)]
pub(crate) enum FactsError {
    /// A file cannot be read or written.
    #[error("{path}: {source}")]
    Io {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: std::io::Error,
    },
    /// A file is not JSON of the expected form.
    #[error("{path}: {source}")]
    Json {
        /// The file.
        path: PathBuf,
        /// The cause.
        source: serde_json::Error,
    },
    /// The sources contradict each other.
    #[error("{0}")]
    Contradiction(String),
}

/// Kinds that are exchanged with clients and webhooks, or stored, but not served at a path: group, version, kind and Go
/// type.
const EXTRA_KINDS: &[(&str, &str, &str, &str)] = &[
    ("", "v1", "List", "k8s.io/apimachinery/pkg/apis/meta/v1.List"),
    ("", "v1", "RangeAllocation", "k8s.io/api/core/v1.RangeAllocation"),
    ("", "v1", "SerializedReference", "k8s.io/api/core/v1.SerializedReference"),
    ("", "v1", "PodExecOptions", "k8s.io/api/core/v1.PodExecOptions"),
    ("", "v1", "PodAttachOptions", "k8s.io/api/core/v1.PodAttachOptions"),
    ("", "v1", "PodLogOptions", "k8s.io/api/core/v1.PodLogOptions"),
    ("", "v1", "PodPortForwardOptions", "k8s.io/api/core/v1.PodPortForwardOptions"),
    ("", "v1", "PodProxyOptions", "k8s.io/api/core/v1.PodProxyOptions"),
    ("", "v1", "NodeProxyOptions", "k8s.io/api/core/v1.NodeProxyOptions"),
    ("", "v1", "ServiceProxyOptions", "k8s.io/api/core/v1.ServiceProxyOptions"),
    ("", "v1", "CreateOptions", "k8s.io/apimachinery/pkg/apis/meta/v1.CreateOptions"),
    ("", "v1", "UpdateOptions", "k8s.io/apimachinery/pkg/apis/meta/v1.UpdateOptions"),
    ("", "v1", "PatchOptions", "k8s.io/apimachinery/pkg/apis/meta/v1.PatchOptions"),
    ("", "v1", "GetOptions", "k8s.io/apimachinery/pkg/apis/meta/v1.GetOptions"),
    ("", "v1", "ListOptions", "k8s.io/apimachinery/pkg/apis/meta/v1.ListOptions"),
    ("meta.k8s.io", "v1", "Table", "k8s.io/apimachinery/pkg/apis/meta/v1.Table"),
    (
        "meta.k8s.io",
        "v1",
        "PartialObjectMetadata",
        "k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadata",
    ),
    (
        "meta.k8s.io",
        "v1",
        "PartialObjectMetadataList",
        "k8s.io/apimachinery/pkg/apis/meta/v1.PartialObjectMetadataList",
    ),
    ("admission.k8s.io", "v1", "AdmissionReview", "k8s.io/api/admission/v1.AdmissionReview"),
    ("admission.k8s.io", "v1beta1", "AdmissionReview", "k8s.io/api/admission/v1beta1.AdmissionReview"),
    (
        "apidiscovery.k8s.io",
        "v2",
        "APIGroupDiscoveryList",
        "k8s.io/api/apidiscovery/v2.APIGroupDiscoveryList",
    ),
    (
        "apidiscovery.k8s.io",
        "v2beta1",
        "APIGroupDiscoveryList",
        "k8s.io/api/apidiscovery/v2beta1.APIGroupDiscoveryList",
    ),
    (
        "apiextensions.k8s.io",
        "v1",
        "ConversionReview",
        "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.ConversionReview",
    ),
    ("authentication.k8s.io", "v1beta1", "TokenReview", "k8s.io/api/authentication/v1beta1.TokenReview"),
    (
        "authorization.k8s.io",
        "v1beta1",
        "SubjectAccessReview",
        "k8s.io/api/authorization/v1beta1.SubjectAccessReview",
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        "ValidatingAdmissionPolicy",
        "k8s.io/api/admissionregistration/v1beta1.ValidatingAdmissionPolicy",
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        "ValidatingAdmissionPolicyBinding",
        "k8s.io/api/admissionregistration/v1beta1.ValidatingAdmissionPolicyBinding",
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        "ValidatingAdmissionPolicyBindingList",
        "k8s.io/api/admissionregistration/v1beta1.ValidatingAdmissionPolicyBindingList",
    ),
    (
        "admissionregistration.k8s.io",
        "v1beta1",
        "ValidatingAdmissionPolicyList",
        "k8s.io/api/admissionregistration/v1beta1.ValidatingAdmissionPolicyList",
    ),
    ("policy", "v1beta1", "Eviction", "k8s.io/api/policy/v1beta1.Eviction"),
    ("imagepolicy.k8s.io", "v1alpha1", "ImageReview", "k8s.io/api/imagepolicy/v1alpha1.ImageReview"),
];

/// Kinds in versions that are not served any more, but may be stored, and whose messages differ from those of the served
/// version: group, version, kind and Go type.
const RETIRED_KINDS: &[(&str, &str, &str, &str)] = &[
    ("apps", "v1beta1", "Deployment", "k8s.io/api/apps/v1beta1.Deployment"),
    ("discovery.k8s.io", "v1beta1", "EndpointSlice", "k8s.io/api/discovery/v1beta1.EndpointSlice"),
    ("extensions", "v1beta1", "DaemonSet", "k8s.io/api/extensions/v1beta1.DaemonSet"),
    ("extensions", "v1beta1", "Deployment", "k8s.io/api/extensions/v1beta1.Deployment"),
    ("extensions", "v1beta1", "Ingress", "k8s.io/api/extensions/v1beta1.Ingress"),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1beta1",
        "PriorityLevelConfiguration",
        "k8s.io/api/flowcontrol/v1beta1.PriorityLevelConfiguration",
    ),
    (
        "flowcontrol.apiserver.k8s.io",
        "v1beta2",
        "PriorityLevelConfiguration",
        "k8s.io/api/flowcontrol/v1beta2.PriorityLevelConfiguration",
    ),
    ("networking.k8s.io", "v1beta1", "Ingress", "k8s.io/api/networking/v1beta1.Ingress"),
    ("node.k8s.io", "v1alpha1", "RuntimeClass", "k8s.io/api/node/v1alpha1.RuntimeClass"),
    ("rbac.authorization.k8s.io", "v1alpha1", "ClusterRole", "k8s.io/api/rbac/v1alpha1.ClusterRole"),
    (
        "rbac.authorization.k8s.io",
        "v1alpha1",
        "ClusterRoleBinding",
        "k8s.io/api/rbac/v1alpha1.ClusterRoleBinding",
    ),
    ("rbac.authorization.k8s.io", "v1alpha1", "Role", "k8s.io/api/rbac/v1alpha1.Role"),
    ("rbac.authorization.k8s.io", "v1alpha1", "RoleBinding", "k8s.io/api/rbac/v1alpha1.RoleBinding"),
];

/// The prefixes of the OpenAPI names of the types that every schema may use.
const META_PREFIXES: &[&str] = &[
    // Every resource may have a scale, which clients write in any format.
    "io.k8s.api.autoscaling.v1.Scale",
    "io.k8s.apimachinery.pkg.api.resource.",
    "io.k8s.apimachinery.pkg.apis.meta.v1.",
    "io.k8s.apimachinery.pkg.runtime.",
    "io.k8s.apimachinery.pkg.util.intstr.",
];

/// Generates all tables from the directory with the upstream data, and with Kubernetes' tree that of the enumerated fields.
/// Paths are relative to the repository's root; the same data gives the same bytes.
///
/// # Errors
/// A file is missing or has another format, or the files contradict each other.
pub(crate) fn generate(
    upstream: &Path,
    kubernetes: Option<&Path>,
) -> Result<Vec<(PathBuf, Vec<u8>)>, FactsError> {
    let go = GoFacts::read(upstream)?;
    let openapi = OpenApi::read(upstream)?;
    let all = table(&go, &openapi, |_| true)?;
    let meta = table(&go, &openapi, |name| META_PREFIXES.iter().any(|prefix| name.starts_with(prefix)))?;
    let descriptions = pack("descriptions.zlib", &openapi.descriptions())?;
    let flags: Vec<flags::Flag> = read_json(&upstream.join("flags.json"))?;
    feature_gates::check(&read_json(&upstream.join("feature-gates.json"))?)?;
    let mut tables: Vec<(PathBuf, Vec<u8>)> = vec![
        ("apiserver/src/options/kubernetes_flags.txt".into(), flags::table(&flags)),
        ("registry-core/schema/src/meta_v1.facts".into(), meta.into_bytes()),
        ("resources/src/generated/bootstrap.jsonl".into(), bootstrap::objects(upstream)?.into_bytes()),
        ("resources/src/generated/descriptions.zlib".into(), descriptions),
        ("resources/src/generated/go_types.txt".into(), go_values::table(&go)?.into_bytes()),
        ("resources/src/generated/types.facts".into(), all.into_bytes()),
    ];
    if let Some(kubernetes) = kubernetes {
        let enums = pack("enums.zlib", &enums::table(kubernetes, &openapi)?)?;
        tables.push(("resources/src/generated/enums.zlib".into(), enums));
    }
    Ok(tables)
}

/// Returns a table of the types with the wanted OpenAPI names, and of all types that they use.
fn table(go: &GoFacts, openapi: &OpenApi, wanted: impl Fn(&str) -> bool) -> Result<String, FactsError> {
    let mut builder = Builder::new(go, openapi);
    let mut kinds = BTreeMap::new();
    for name in openapi.names().filter(|name| wanted(name)) {
        let id = builder.component(name)?;
        for kind in openapi.kinds(name) {
            kinds.insert(kind, id);
        }
    }
    for (group, version, kind, go_type) in EXTRA_KINDS.iter().chain(RETIRED_KINDS) {
        if wanted(&go::openapi_name(go_type)) {
            let id = builder.structure(go_type)?;
            let kind = [*group, *version, *kind].map(str::to_owned);
            kinds.entry(kind).or_insert(id);
        }
    }
    Ok(builder.finish(&kinds))
}

fn pack(file: &str, text: &str) -> Result<Vec<u8>, FactsError> {
    let in_memory = |source| FactsError::Io { path: file.into(), source };
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    encoder.write_all(text.as_bytes()).map_err(in_memory)?;
    encoder.finish().map_err(in_memory)
}

/// Reads a JSON file.
fn read_json<T: serde::de::DeserializeOwned>(path: &Path) -> Result<T, FactsError> {
    let text =
        std::fs::read_to_string(path).map_err(|source| FactsError::Io { path: path.to_owned(), source })?;
    serde_json::from_str(&text).map_err(|source| FactsError::Json { path: path.to_owned(), source })
}
