//! The examples of `docs/reference/attributes.md`, each between `ANCHOR: name` and `ANCHOR_END: name`, and the schemas
//! that the reference says they make.

#![allow(dead_code, reason = "declarations")]
#![allow(clippy::unwrap_used, clippy::indexing_slicing, reason = "test code")]

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use k8s_openapi::api::certificates::v1beta1::ClusterTrustBundle;
use k8s_openapi::api::core::v1::{Pod, Service};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::{Condition, ObjectMeta};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::capabilities;
use registry_core::registry::{Services, Store, Subresource, SubresourceStore, VirtualStorage};
use registry_core::resource::{Column, ResourceType, RowCondition, Strategy};
use registry_core::rest::Capabilities;
use registry_core::schema::Schema;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::Value;

#[path = "attributes/reference.rs"]
mod reference;

/// An enclosure for animals.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
// ANCHOR: rename_all
#[serde(rename_all = "camelCase")]
// ANCHOR_END: rename_all
#[resource(
    // ANCHOR: group
    group = "zoo.example.dev",
    // ANCHOR_END: group
    // ANCHOR: version
    version = "v1",
    // ANCHOR_END: version
    // ANCHOR: kind
    kind = "Enclosure",
    // ANCHOR_END: kind
    // ANCHOR: plural
    plural = "enclosures",
    // ANCHOR_END: plural
    // ANCHOR: singular
    singular = "enclosure",
    // ANCHOR_END: singular
    // ANCHOR: short
    short("enc", "pen"),
    // ANCHOR_END: short
    // ANCHOR: categories
    categories("all", "zoo"),
    // ANCHOR_END: categories
    // ANCHOR: scope
    scope = namespaced,
    // ANCHOR_END: scope
    // ANCHOR: storage_prefix
    storage_prefix = "zoo/enclosures",
    // ANCHOR_END: storage_prefix
    // ANCHOR: retired
    retired("zoo.example.dev/v1alpha2", "pens.example.dev/v1" => renew_pen),
    // ANCHOR_END: retired
    // ANCHOR: selectable
    selectable(
        spec.keeper,                              // --field-selector spec.keeper=ada
        spec.r#type as "type",                    // under a name of its own
        status.ip = "status.IP",                  // a JSON name that the rule would not give
        spec.species or metadata.name as "label", // the second, if the first is absent or empty
    ),
    // ANCHOR_END: selectable
    // ANCHOR: index
    index(spec.keeper),
    // ANCHOR_END: index
    // ANCHOR: column
    column("Species", spec.species),
    column("Animals", status.animals, type = integer, description = "How many animals live here now."),
    column("Opened", spec.opened_at, type = date, priority = 1),
    // ANCHOR_END: column
    // ANCHOR: row_conditions
    row_conditions = completed_if_empty,
    // ANCHOR_END: row_conditions
    // ANCHOR: scale
    scale(replicas = spec.animals, current = status.animals, selector = status.selector),
    // ANCHOR_END: scale
    // ANCHOR: names
    names = DnsLabel,
    // ANCHOR_END: names
    // ANCHOR: unconditional_update
    unconditional_update = false,
    // ANCHOR_END: unconditional_update
    // ANCHOR: create_on_update
    create_on_update,
    // ANCHOR_END: create_on_update
    // ANCHOR: reset
    reset(status),
    // ANCHOR_END: reset
    // ANCHOR: reset_by_status
    reset_by_status(metadata.labels),
    // ANCHOR_END: reset_by_status
    // ANCHOR: strategy
    strategy = EnclosureStrategy,
    // ANCHOR_END: strategy
    // ANCHOR: subresource
    subresource(Handover, verbs(get)),
    // ANCHOR_END: subresource
    // ANCHOR: returns_deleted_object
    returns_deleted_object,
    // ANCHOR_END: returns_deleted_object
    // ANCHOR: without_deletecollection
    without_deletecollection
    // ANCHOR_END: without_deletecollection
)]
struct Enclosure {
    metadata: ObjectMeta,
    spec: EnclosureSpec,
    // ANCHOR: status_field
    #[resource(status)]
    status: Option<EnclosureStatus>,
    // ANCHOR_END: status_field
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct EnclosureSpec {
    keeper: Option<String>,
    r#type: String,
    species: Option<String>,
    animals: i32,
    opened_at: Option<String>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct EnclosureStatus {
    animals: i32,
    #[serde(rename = "IP")]
    ip: Option<String>,
    selector: Option<String>,
}

fn completed_if_empty(_: &Object) -> &'static [RowCondition] {
    &[]
}

/// A strategy in its smallest form.
struct EnclosureStrategy;

impl Strategy for EnclosureStrategy {
    type Object = Enclosure;

    fn validate(&self, _: &RequestContext, enclosure: &Enclosure) -> ErrorList {
        if enclosure.spec.animals < 0 {
            let path = FieldPath::new("spec").child("animals");
            return FieldError::invalid(path, enclosure.spec.animals, "must not be negative").into();
        }
        ErrorList::default()
    }
}

struct Handover;

impl Subresource for Handover {
    type Parent = Enclosure;
    type Storage = SubresourceStore;
    const NAME: &'static str = "handover";

    fn install(parent: &Arc<Store>, _: &Services) -> Capabilities {
        capabilities!(SubresourceStore::status(parent.clone()); getter)
    }
}

/// An enclosure of an older version.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[resource(
    group = "zoo.example.dev",
    version = "v1beta1",
    kind = "Enclosure",
    // ANCHOR: hub
    hub = Enclosure,
    selectable(spec.caretaker => spec.keeper),
    // ANCHOR_END: hub
    // ANCHOR: off_by_default
    off_by_default
    // ANCHOR_END: off_by_default
)]
struct EnclosureV1beta1 {
    metadata: ObjectMeta,
    spec: SpecV1beta1,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct SpecV1beta1 {
    caretaker: Option<String>,
}

impl From<EnclosureV1beta1> for Enclosure {
    fn from(beta: EnclosureV1beta1) -> Self {
        let spec = EnclosureSpec { keeper: beta.spec.caretaker, ..EnclosureSpec::default() };
        Self { metadata: beta.metadata, spec, status: None }
    }
}

impl From<Enclosure> for EnclosureV1beta1 {
    fn from(stored: Enclosure) -> Self {
        Self { metadata: stored.metadata, spec: SpecV1beta1 { caretaker: stored.spec.keeper } }
    }
}

/// An enclosure of the version before.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[resource(
    group = "zoo.example.dev",
    version = "v1beta2",
    kind = "Enclosure",
    hub = Enclosure,
    // ANCHOR: same_fields
    same_fields,
    // ANCHOR_END: same_fields
    // ANCHOR: deprecated
    deprecated = "zoo.example.dev/v1beta2 Enclosure is deprecated; use zoo.example.dev/v1 Enclosure"
    // ANCHOR_END: deprecated
)]
struct EnclosureV1beta2 {
    metadata: ObjectMeta,
    spec: EnclosureSpec,
}

/// Renames the field of a pen.
fn renew_pen(pen: &mut Object) {
    if let Some(warden) = pen.remove(&["spec", "warden"]) {
        pen.set(&["spec", "keeper"], warden);
    }
}

/// A ticket that is not kept for long.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    // ANCHOR: cluster
    cluster,
    // ANCHOR_END: cluster
    // ANCHOR: ttl_seconds
    ttl_seconds = 3600,
    // ANCHOR_END: ttl_seconds
    // ANCHOR: columns
    columns = TICKET_COLUMNS
    // ANCHOR_END: columns
)]
struct Ticket {
    metadata: ObjectMeta,
}

const TICKET_COLUMNS: &[Column] = &[Column::text("Name", |ticket| ticket.name().into())];

/// A question that is answered and not stored.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    // ANCHOR: storage
    storage = VisitStorage
    // ANCHOR_END: storage
)]
struct Visit {
    metadata: ObjectMeta,
}

struct VisitStorage;

impl VirtualStorage for VisitStorage {
    fn install(_: &Arc<ResourceType>, _: &Services) -> Capabilities {
        unreachable!("no test installs it")
    }
}

#[derive(Resource)]
#[resource(
    version = "v1",
    // ANCHOR: object
    object = Pod,
    // ANCHOR_END: object
    // ANCHOR: schema
    schema = schema_of_facts,
    // ANCHOR_END: schema
    // ANCHOR: status
    status,
    // ANCHOR_END: status
    // ANCHOR: generation
    generation
    // ANCHOR_END: generation
)]
struct Pods;

#[derive(Resource)]
#[resource(
    version = "v1",
    object = Service,
    schema = schema_of_facts,
    // ANCHOR: plain_finalizers
    plain_finalizers,
    // ANCHOR_END: plain_finalizers
    // ANCHOR: metadata_errors_once
    metadata_errors_once
    // ANCHOR_END: metadata_errors_once
)]
struct Services_;

#[derive(Resource)]
#[resource(
    group = "certificates.k8s.io",
    version = "v1beta1",
    object = ClusterTrustBundle,
    schema = schema_of_facts,
    cluster,
    // ANCHOR: introduced
    introduced = "1.33",
    // ANCHOR_END: introduced
    // ANCHOR: removed
    removed = "1.40",
    // ANCHOR_END: removed
    // ANCHOR: feature_gate
    feature_gate = ClusterTrustBundle
    // ANCHOR_END: feature_gate
)]
struct ClusterTrustBundles;

fn schema_of_facts() -> Schema {
    unreachable!("no test decodes an object of these kinds")
}

/// Fields with one attribute each.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct Fields {
    // ANCHOR: rename
    #[serde(rename = "podIP")]
    pod_ip: String,
    // ANCHOR_END: rename
    // ANCHOR: option
    nickname: Option<String>,
    // ANCHOR_END: option
    // ANCHOR: default
    #[serde(default = "three")]
    replicas: i32,
    // ANCHOR_END: default
    // ANCHOR: skip_serializing_if
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    toys: Vec<String>,
    // ANCHOR_END: skip_serializing_if
    // ANCHOR: skip
    #[serde(skip)]
    cached: Option<u64>,
    // ANCHOR_END: skip
    // ANCHOR: flatten
    #[serde(flatten)]
    place: Place,
    // ANCHOR_END: flatten
    // ANCHOR: enum
    climate: Climate,
    // ANCHOR_END: enum
    // ANCHOR: tag
    food: Food,
    // ANCHOR_END: tag
    // ANCHOR: set
    colors: BTreeSet<String>,
    // ANCHOR_END: set
    // ANCHOR: range
    #[schemars(range(min = 0, max = 9))]
    visitors: i32,
    // ANCHOR_END: range
    // ANCHOR: length
    #[schemars(length(min = 1, max = 63))]
    species: String,
    // ANCHOR_END: length
    // ANCHOR: regex
    #[schemars(regex(pattern = "^[a-z]+$"))]
    code: String,
    // ANCHOR_END: regex
    // ANCHOR: inner
    #[schemars(inner(length(max = 63)))]
    names: Vec<String>,
    // ANCHOR_END: inner
    // ANCHOR: with
    #[schemars(with = "String")]
    weight: Value,
    // ANCHOR_END: with
    // ANCHOR: format
    #[schemars(extend("format" = "ipv4"))]
    gateway: String,
    // ANCHOR_END: format
    // ANCHOR: exclusive
    #[schemars(extend("exclusiveMinimum" = 0, "multipleOf" = 3))]
    legs: i32,
    // ANCHOR_END: exclusive
    // ANCHOR: maxProperties
    #[schemars(extend("maxProperties" = 9))]
    labels: BTreeMap<String, String>,
    // ANCHOR_END: maxProperties
    // ANCHOR: validations
    #[schemars(extend("x-kubernetes-validations" = [
        {"rule": "self == oldSelf", "message": "is immutable", "reason": "FieldValueForbidden"},
    ]))]
    origin: String,
    // ANCHOR_END: validations
    // ANCHOR: list_type
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["type"]))]
    conditions: Vec<Condition>,
    // ANCHOR_END: list_type
    // ANCHOR: map_type
    #[schemars(extend("x-kubernetes-map-type" = "atomic"))]
    selector: BTreeMap<String, String>,
    // ANCHOR_END: map_type
    // ANCHOR: preserve
    #[schemars(extend("x-kubernetes-preserve-unknown-fields" = true))]
    settings: Open,
    // ANCHOR_END: preserve
    // ANCHOR: int_or_string
    port: IntOrString,
    // ANCHOR_END: int_or_string
    // ANCHOR: embedded
    #[schemars(extend("x-kubernetes-embedded-resource" = true, "x-kubernetes-preserve-unknown-fields" = true))]
    template: Open,
    // ANCHOR_END: embedded
    // ANCHOR: patch
    #[schemars(extend("x-kubernetes-patch-strategy" = "merge", "x-kubernetes-patch-merge-key" = "name"))]
    animals: Vec<Animal>,
    // ANCHOR_END: patch
    snake: SnakeCase,
}

fn three() -> i32 {
    3
}

/// An object of any fields.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct Open {}

// ANCHOR: flatten_type
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct Place {
    row: i32,
}
// ANCHOR_END: flatten_type

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
struct Animal {
    name: String,
}

// ANCHOR: enum_type
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
enum Climate {
    #[default]
    Tropical,
    Arctic,
}
// ANCHOR_END: enum_type

// ANCHOR: tag_type
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[serde(tag = "type", rename_all = "camelCase")]
enum Food {
    Hay { bales: i32 },
    Fish { kilograms: i32 },
}
// ANCHOR_END: tag_type

impl Default for Food {
    fn default() -> Self {
        Self::Hay { bales: 0 }
    }
}

// ANCHOR: snake_case
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[schemars(extend("x-orlop-snake-case" = true))]
struct SnakeCase {
    cage_number: i32,
}
// ANCHOR_END: snake_case
