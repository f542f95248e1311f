//! `go_types.txt`: the Go structs whose values messages show, as Kubernetes' rules hold them, in its internal types.
//!
//! The facts are about the versioned types. An internal type has the same fields in the same order, without JSON names;
//! the tables of this module have all differences.

use std::collections::BTreeMap;

use super::FactsError;
use super::builder::SPECIAL;
use super::go::{self, GoFacts, GoField, GoType, META_V1};

const CORE: &str = "k8s.io/api/core/v1";
const EXTENSIONS: &str = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1";

/// The types that rules name, by package; the types of their fields follow.
const SHOWN: &[(&str, &[&str])] = &[
    ("k8s.io/api/apps/v1", &["DaemonSetUpdateStrategy", "DeploymentStrategy", "StatefulSetUpdateStrategy"]),
    ("k8s.io/api/batch/v1", &["PodFailurePolicy", "SuccessPolicy", "UncountedTerminatedPods"]),
    ("k8s.io/api/certificates/v1beta1", &["PodCertificateRequestSpec"]),
    (CORE, &["NodeAddress", "ObjectReference", "PersistentVolumeSpec", "PodIP", "PodTemplateSpec", "Taint"]),
    ("k8s.io/api/flowcontrol/v1", &["FlowSchemaSpec", "PriorityLevelConfigurationSpec"]),
    ("k8s.io/api/networking/v1", &["ParentReference", "ServiceCIDRSpec"]),
    ("k8s.io/api/policy/v1", &["PodDisruptionBudgetSpec"]),
    ("k8s.io/api/rbac/v1", &["RoleRef"]),
    ("k8s.io/api/resource/v1", &["AllocationResult", "DeviceAttribute", "ResourceClaimTemplateSpec"]),
    ("k8s.io/api/resource/v1alpha3", &["ResourcePoolStatusRequestSpec", "ResourcePoolStatusRequestStatus"]),
    ("k8s.io/api/storage/v1", &["CSINodeDriver", "VolumeAttachmentSpec"]),
    ("k8s.io/api/storagemigration/v1beta1", &["StorageVersionMigrationSpec"]),
    (EXTENSIONS, &["CustomResourceDefinitionVersion"]),
];

/// A type whose values messages show as it is served: Kubernetes checks it by its declared rules, before conversion.
const AS_SERVED: &str = "k8s.io/api/resource/v1alpha3.ResourcePoolStatusRequestSpec";

/// Structs without facts: an empty one, and the alternatives to a schema, whose JSON is that of the field that is set. `@`
/// and a kind of JSON stands for the value itself if it is of this kind; `@allows` is true beside a schema.
const WITHOUT_FACTS: &[(&str, &str)] = &[
    ("CustomResourceSubresourceStatus", ""),
    (
        "JSONSchemaPropsOrArray",
        " Schema @object *<apiextensions.JSONSchemaProps>\n JSONSchemas @elements [<apiextensions.JSONSchemaProps>\n",
    ),
    ("JSONSchemaPropsOrBool", " Allows @allows b\n Schema @object *<apiextensions.JSONSchemaProps>\n"),
    (
        "JSONSchemaPropsOrStringArray",
        " Schema @object *<apiextensions.JSONSchemaProps>\n Property @array [s\n",
    ),
];

/// First words of JSON names that Go does not write with one capital.
const WORDS: &[(&str, &str)] =
    &[("cephfs", "CephFS"), ("cidrs", "CIDRs"), ("storageos", "StorageOS"), ("wwids", "WWIDs")];

/// First words of JSON names that Go writes in capitals.
const ABBREVIATIONS: &[&str] = &[
    "api", "aws", "cel", "csi", "dns", "fc", "fs", "gce", "gmsa", "grpc", "http", "id", "ip", "iqn", "iscsi",
    "json", "nfs", "os", "pkix", "rbd", "se", "ssl", "tcp", "ttl", "tty", "uid", "url",
];

/// Go names that do not follow from the JSON name: by the beginning of the type's name and the JSON name.
const RENAMED: &[(&str, &str, &str)] = &[
    ("core.AzureDisk", "diskURI", "DataDiskURI"),
    ("core.GCEPersistentDisk", "pdName", "PDName"),
    ("core.Glusterfs", "endpoints", "EndpointsName"),
    ("core.ISCSI", "chapAuthDiscovery", "DiscoveryCHAPAuth"),
    ("core.ISCSI", "chapAuthSession", "SessionCHAPAuth"),
    ("core.RBD", "image", "RBDImage"),
    ("core.RBD", "monitors", "CephMonitors"),
    ("core.RBD", "pool", "RBDPool"),
    ("core.RBD", "user", "RadosUser"),
    ("resource.DeviceAttribute", "bool", "BoolValue"),
    ("resource.DeviceAttribute", "bools", "BoolValues"),
    ("resource.DeviceAttribute", "int", "IntValue"),
    ("resource.DeviceAttribute", "ints", "IntValues"),
    ("resource.DeviceAttribute", "string", "StringValue"),
    ("resource.DeviceAttribute", "strings", "StringValues"),
    ("resource.DeviceAttribute", "version", "VersionValue"),
    ("resource.DeviceAttribute", "versions", "VersionValues"),
];

/// Pointers of the versioned types that are values in the internal types, since they have a default. The internal security
/// context of a pod is a pointer that the conversion always sets.
const VALUES: &[(&str, &str)] = &[
    ("apps.RollingUpdateDaemonSet", "maxSurge"),
    ("apps.RollingUpdateDaemonSet", "maxUnavailable"),
    ("apps.RollingUpdateDeployment", "maxSurge"),
    ("apps.RollingUpdateDeployment", "maxUnavailable"),
    ("apps.RollingUpdateStatefulSetStrategy", "partition"),
    ("core.PodSpec", "securityContext"),
    ("core.ServiceAccountTokenProjection", "expirationSeconds"),
    ("flowcontrol.LimitedPriorityLevelConfiguration", "nominalConcurrencyShares"),
];

/// Fields of a pod that the internal type has in its security context, before the context's own.
const POD_FIELDS_OF_CONTEXT: &[&str] =
    &["hostNetwork", "hostPID", "hostIPC", "shareProcessNamespace", "hostUsers"];

/// An old name of `serviceAccountName`, which internal types do not have.
const LEFT_OUT: (&str, &str) = ("core.PodSpec", "serviceAccount");

/// Fields that stand elsewhere in the internal type: the type, the field before them (none if they are first), and they.
const MOVED: &[(&str, &str, &[&str])] = &[
    ("apiextensions.JSONSchemaProps", "type", &["nullable"]),
    ("core.PersistentVolumeSource", "iscsi", &["flexVolume"]),
    ("core.PersistentVolumeSource", "rbd", &["quobyte"]),
    ("core.PodSecurityContext", "fsGroup", &["fsGroupChangePolicy"]),
    ("core.PodSpec", "priority", &["preemptionPolicy"]),
    ("core.PodSpec", "runtimeClassName", &["overhead"]),
    ("core.PodSpec", "subdomain", &["setHostnameAsFQDN"]),
    ("core.ServiceSpec", "", &["type"]),
    ("core.ServiceSpec", "clusterIPs", &["ipFamilies", "ipFamilyPolicy", "externalName"]),
    ("core.ServiceSpec", "externalIPs", &["loadBalancerIP"]),
    ("core.ServiceSpec", "sessionAffinity", &["sessionAffinityConfig"]),
    ("core.VolumeSource", "rbd", &["quobyte"]),
];

/// The structs that are written, and those that are still to be.
struct Structs<'a> {
    go: &'a GoFacts,
    /// The text of each struct, by the internal type's name.
    written: BTreeMap<String, String>,
    /// The versioned type of each struct that something names, by the internal type's name.
    named: BTreeMap<String, String>,
    /// The names and the versioned types of structs without text.
    pending: Vec<(String, String)>,
}

/// Returns the table.
pub(super) fn table(go: &GoFacts) -> Result<String, FactsError> {
    let mut structs = Structs { go, written: BTreeMap::new(), named: BTreeMap::new(), pending: Vec::new() };
    for (package, names) in SHOWN {
        for name in *names {
            structs.name(&format!("{package}.{name}"))?;
        }
    }
    while let Some((name, path)) = structs.pending.pop() {
        let text = structs.text(&name, &path)?;
        structs.written.insert(name, text);
    }
    let lines = structs.written.iter().flat_map(|(name, fields)| [name, "\n", fields]);
    Ok(lines.collect())
}

/// Returns the name of the internal type of a versioned one.
fn internal_name(path: &str) -> String {
    if path == AS_SERVED {
        return go::printed(path).to_owned();
    }
    let (package, name) = path.rsplit_once('.').unwrap_or(("", path));
    let group = package.rsplit('/').nth(1).unwrap_or(package);
    format!("{}.{name}", if package == META_V1 { "metav1" } else { group })
}

/// Returns the Go name of a field.
fn go_name(ty: &str, json: &str) -> String {
    if let Some((.., name)) =
        RENAMED.iter().find(|(prefix, renamed, _)| *renamed == json && ty.starts_with(prefix))
    {
        return (*name).to_owned();
    }
    let json = json.trim_start_matches('$');
    if let Some(extension) = json.strip_prefix("x-kubernetes-") {
        let words: String = extension.split('-').map(capitalized).collect();
        return format!("X{words}");
    }
    let end = json.find(|letter: char| !letter.is_ascii_lowercase()).unwrap_or(json.len());
    let (first, rest) = json.split_at(end);
    if let Some((_, word)) = WORDS.iter().find(|(word, _)| *word == first) {
        return format!("{word}{rest}");
    }
    if ABBREVIATIONS.contains(&first) {
        return format!("{}{rest}", first.to_ascii_uppercase());
    }
    capitalized(json)
}

fn capitalized(word: &str) -> String {
    let mut letters = word.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

/// Moves fields to where the internal type has them.
fn reorder(ty: &str, fields: &mut Vec<(String, String)>) -> Result<(), FactsError> {
    for (_, before, moved) in MOVED.iter().filter(|(moved, ..)| *moved == ty) {
        let (taken, rest): (Vec<_>, Vec<_>) =
            std::mem::take(fields).into_iter().partition(|(json, _)| moved.contains(&&**json));
        *fields = rest;
        let place = fields.iter().position(|(json, _)| json == before).map(|place| place + 1);
        let place = if before.is_empty() { Some(0) } else { place };
        let place = place.filter(|_| taken.len() == moved.len());
        let place = place.ok_or_else(|| FactsError::Contradiction(format!("{ty} has no {before}")))?;
        fields.splice(place..place, taken);
    }
    Ok(())
}

// === impl Structs ===

impl Structs<'_> {
    /// Returns the name of the internal type of a versioned one, which will be written.
    fn name(&mut self, path: &str) -> Result<String, FactsError> {
        let name = internal_name(path);
        match self.named.get(&name) {
            Some(known) if known == path => {}
            Some(known) => return Err(FactsError::Contradiction(format!("{name} is {known} and {path}"))),
            None => {
                self.named.insert(name.clone(), path.to_owned());
                self.pending.push((name.clone(), path.to_owned()));
            }
        }
        Ok(name)
    }

    /// Returns the lines of the fields of a struct.
    fn text(&mut self, name: &str, path: &str) -> Result<String, FactsError> {
        if let Some((_, text)) = WITHOUT_FACTS
            .iter()
            .find(|(known, _)| path.strip_prefix(EXTENSIONS) == Some(&format!(".{known}")))
        {
            return Ok((*text).to_owned());
        }
        let mut fields = Vec::new();
        if name == "core.PodSecurityContext" {
            for field in self.declared(&format!("{CORE}.PodSpec"))? {
                if POD_FIELDS_OF_CONTEXT.contains(&&*field.json) {
                    let shape = self.field_shape(CORE, &field)?;
                    let line = format!(" {} ^{} {shape}\n", go_name(name, &field.json), field.json);
                    fields.push((field.json, line));
                }
            }
            fields.sort_by_key(|(json, _)| POD_FIELDS_OF_CONTEXT.iter().position(|known| known == json));
        }
        let package = go::package(path);
        for field in self.declared(path)? {
            let is_left_out = (name, &*field.json) == LEFT_OUT
                || name == "core.PodSpec" && POD_FIELDS_OF_CONTEXT.contains(&&*field.json);
            if !is_left_out {
                let line = self.line(name, package, &field)?;
                fields.push((field.json, line));
            }
        }
        reorder(name, &mut fields)?;
        Ok(fields.into_iter().map(|(_, line)| line).collect())
    }

    fn declared(&self, path: &str) -> Result<Vec<GoField>, FactsError> {
        let fields = self.go.fields(path);
        let missing = || FactsError::Contradiction(format!("no facts about {path}"));
        fields.map(<[GoField]>::to_vec).ok_or_else(missing)
    }

    fn line(&mut self, ty: &str, package: &str, field: &GoField) -> Result<String, FactsError> {
        let shape = self.field_shape(package, field)?;
        let json = &*field.json;
        if field.inline {
            return Ok(format!(" = = {shape}\n"));
        }
        if package == META_V1 || ty == go::printed(AS_SERVED) {
            // These types have no internal form.
            let omitted = if field.omitempty || field.omitzero { "~" } else { "" };
            return Ok(format!(" {json} {json} {omitted}{shape}\n"));
        }
        if shape == "<metav1.ObjectMeta>" {
            return Ok(format!(" = {json} {shape}\n"));
        }
        let is_value = VALUES.contains(&(ty, json));
        let shape = if is_value { shape.trim_start_matches('*') } else { &shape };
        Ok(format!(" {} {json} {shape}\n", go_name(ty, json)))
    }

    fn field_shape(&mut self, package: &str, field: &GoField) -> Result<String, FactsError> {
        let resolved = self.go.resolve(package, &field.ty)?;
        self.shape(&resolved)
    }

    fn shape(&mut self, ty: &GoType) -> Result<String, FactsError> {
        Ok(match ty {
            GoType::Pointer(inner) => format!("*{}", self.shape(inner)?),
            GoType::List(element) if **element == GoType::Basic("byte".to_owned()) => "y".to_owned(),
            GoType::List(element) => format!("[{}", self.shape(element)?),
            GoType::Map(_, value) => format!("{{{}", self.shape(value)?),
            GoType::Basic(basic) => match &**basic {
                "string" => "s",
                "bool" => "b",
                "interface{}" => "j",
                _ => "n",
            }
            .to_owned(),
            GoType::Declared(path) => return self.declared_shape(path),
        })
    }

    fn declared_shape(&mut self, path: &str) -> Result<String, FactsError> {
        if let Some((_, special)) = SPECIAL.iter().find(|(special, _)| *special == path) {
            // Quantity, raw JSON, time, number or text.
            return Ok(special.trim_start_matches("micro").chars().take(1).collect());
        }
        if path.starts_with("k8s.io/apimachinery/pkg/types.") {
            return Ok("s".to_owned());
        }
        match self.go.alias(path) {
            Some(target) => {
                let target = self.go.resolve(go::package(path), target)?;
                self.shape(&target)
            }
            None => Ok(format!("<{}>", self.name(path)?)),
        }
    }
}
