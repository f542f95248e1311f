//! The text of a new resource.

use registry_grammar::plural_of;

use crate::Failure;

/// The names of a new resource.
#[derive(Debug)]
pub(super) struct Names {
    /// The group; empty for the core group.
    pub(super) group: String,
    version: String,
    /// The kind.
    pub(super) kind: String,
    /// The name in paths.
    pub(super) plural: String,
    /// The module of its group.
    pub(super) group_module: String,
    /// Its own module.
    pub(super) module: String,
}

/// `GROUP`, `VERSION`, `GROUP_VERSION`, `KIND` and `PLURAL` are replaced. README.md shows the struct of `Ship`.
const TEMPLATE: &str = r#"//! `GROUP_VERSION KIND`: describe here what it is for, in a sentence or two.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::Strategy;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// What one KIND is: `kubectl explain` prints this text.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "GROUP",
    version = "VERSION",
    // Fields that `kubectl get PLURAL --field-selector` accepts. Lists and watches by owner use an index.
    selectable(spec.owner, status.phase),
    index(spec.owner),
    // Columns of `kubectl get PLURAL` between the name and the age.
    column("Owner", spec.owner),
    column("Replicas", status.replicas, type = integer),
    column("Phase", status.phase),
    // Fields that `kubectl scale` and autoscalers read and write.
    scale(replicas = spec.replicas, current = status.replicas, selector = status.selector),
    strategy = KINDStrategy
)]
pub struct KIND {
    /// Name, namespace, labels and everything else that every object has.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: KINDSpec,
    /// The observed state. Only the `status` subresource writes it.
    #[resource(status)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<KINDStatus>,
}

/// The desired state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct KINDSpec {
    /// Who is responsible for the object.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub owner: Option<String>,
    /// The desired number of replicas.
    #[serde(default)]
    pub replicas: i32,
}

/// The observed state.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct KINDStatus {
    /// A one-word summary, for example `Ready`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The observed number of replicas.
    #[serde(default)]
    pub replicas: i32,
    /// The label selector of the replicas, as autoscalers read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// Rules for creating and updating objects of the kind `KIND`. Leave it out if there are none.
pub struct KINDStrategy;

impl Strategy for KINDStrategy {
    type Object = KIND;

    fn validate(&self, _context: &RequestContext, object: &KIND) -> ErrorList {
        let mut errors = ErrorList::default();
        if object.spec.replicas < 0 {
            let field = FieldPath::new("spec").child("replicas");
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(field, object.spec.replicas, detail));
        }
        errors
    }
}
"#;

// === impl Names ===

impl Names {
    /// Derives the names from `group/version` (or `v1`) and a kind.
    pub(super) fn new(group_version: &str, kind: &str) -> Result<Self, Failure> {
        let (group, version) = group_version.rsplit_once('/').unwrap_or(("", group_version));
        if group.is_empty() && !version.starts_with('v') {
            let text = format!(
                "`{group_version}` is not GROUP/VERSION: expected a group and a version, for example \
                 `harbor.example.dev/v1`, or `v1` for the core group"
            );
            return Err(text.into());
        }
        if !kind.starts_with(|first: char| first.is_ascii_uppercase())
            || !kind.bytes().all(|byte| byte.is_ascii_alphanumeric())
        {
            return Err(format!("`{kind}` is not a kind: expected CamelCase, for example `Enclosure`").into());
        }
        let names = Self {
            group: group.to_owned(),
            version: version.to_owned(),
            kind: kind.to_owned(),
            plural: plural_of(kind),
            group_module: group_module(group),
            module: snake_case(kind),
        };
        names.check()?;
        Ok(names)
    }

    /// Checks the text with the grammar of the derive.
    fn check(&self) -> Result<(), Failure> {
        let file = syn::parse_file(&self.resource()).map_err(|error| format!("`{}`: {error}", self.kind))?;
        for item in file.items {
            if let syn::Item::Struct(item) = item
                && registry_grammar::is_annotated(&item)
            {
                registry_grammar::ResourceModel::parse(&item.into()).map_err(|errors| {
                    let messages: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
                    messages.join("; ")
                })?;
            }
        }
        Ok(())
    }

    /// The resource's file.
    pub(super) fn resource(&self) -> String {
        self.fill(TEMPLATE)
    }

    /// Returns `group/version`, or the version alone for the core group.
    pub(super) fn api_version(&self) -> String {
        if self.group.is_empty() { self.version.clone() } else { format!("{}/{}", self.group, self.version) }
    }

    /// Replaces the placeholders of a text.
    pub(super) fn fill(&self, text: &str) -> String {
        text.replace("GROUP_VERSION", &self.api_version())
            .replace("GROUP", &self.group)
            .replace("VERSION", &self.version)
            .replace("PLURAL", &self.plural)
            .replace("MODULE", &self.module)
            .replace("KIND", &self.kind)
    }

    /// The beginning of a group's module.
    pub(super) fn group_documentation(&self) -> String {
        let group = if self.group.is_empty() { "core" } else { &self.group };
        format!("//! The API group `{group}`.\n")
    }
}

/// `rbac.authorization.k8s.io` is `rbac`, the core group `core`.
fn group_module(group: &str) -> String {
    match group.split('.').next() {
        None | Some("") => "core".to_owned(),
        Some(first) => first.replace('-', "_"),
    }
}

/// `PodDisruptionBudget` is `pod_disruption_budget`, `CSIDriver` is `csi_driver`.
fn snake_case(kind: &str) -> String {
    let letters: Vec<char> = kind.chars().collect();
    let mut name = String::with_capacity(kind.len() + 4);
    for (index, letter) in letters.iter().enumerate() {
        let after_lower = index > 0 && letters.get(index - 1).is_some_and(|c| !c.is_ascii_uppercase());
        let before_lower = index > 0 && letters.get(index + 1).is_some_and(char::is_ascii_lowercase);
        if letter.is_ascii_uppercase() && (after_lower || before_lower) {
            name.push('_');
        }
        name.push(letter.to_ascii_lowercase());
    }
    name
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_from_the_kind() {
        let names = Names::new("storage.k8s.io/v1", "CSIDriver").expect("good names");
        assert_eq!((names.group_module.as_str(), names.module.as_str()), ("storage", "csi_driver"));
        assert_eq!(names.plural, "csidrivers");
        assert_eq!(snake_case("PodDisruptionBudget"), "pod_disruption_budget");
        assert_eq!(Names::new("v1", "Pod").expect("good names").group_module, "core");
    }

    #[test]
    fn the_readme_shows_the_struct_that_is_written() {
        let readme = include_str!("../../../README.md");
        let (_, block) = readme.split_once("```rust\n").expect("a block of Rust");
        let (block, _) = block.split_once("```").expect("its end");
        let shown =
            block.lines().map(|line| line.strip_prefix("   ").unwrap_or(line)).collect::<Vec<_>>().join("\n");
        let written = Names::new("harbor.example.dev/v1", "Ship").expect("good names").resource();
        assert!(
            written.contains(shown.trim()),
            "README.md shows\n{shown}\nbut `cargo xtask new` writes\n{written}"
        );
    }

    #[test]
    fn names_that_the_grammar_refuses_are_refused_before_anything_is_written() {
        let message =
            |group_version, kind| Names::new(group_version, kind).expect_err("bad names").to_string();
        assert!(message("Zoo/v1", "Enclosure").contains("not an API group"));
        assert!(message("zoo.example.dev/one", "Enclosure").contains("not an API version"));
        assert!(message("zoo.example.dev", "Enclosure").contains("is not GROUP/VERSION"));
        assert!(message("zoo.example.dev/v1", "enclosure").contains("not a kind"));
    }
}
