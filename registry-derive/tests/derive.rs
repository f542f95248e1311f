//! The derive's output for a custom struct and for a foreign type.

use k8s_openapi::api::core::v1::Pod;
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::api::validation::ErrorList;
use registry_core::api::{Object, Scope};
use registry_core::resource::{Cell, ColumnType, Strategy};
use registry_core::schema::Schema;
use registry_core::{RequestContext, Resource as _};
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use serde_json::json;

const DECLARED_ABOVE: u32 = line!();
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
#[resource(
    group = "zoo.example.dev",
    version = "v1",
    short = "enc",
    categories("all"),
    selectable(spec.keeper, status.phase, spec.r#type, spec.is_open),
    index(spec.keeper),
    column("Keeper", spec.keeper),
    column("Opened", spec.opened_at, type = date, priority = 1, description = "Since when it is open."),
    scale(replicas = spec.replicas, current = status.replicas, selector = status.selector),
    strategy = EnclosureStrategy
)]
struct Enclosure {
    metadata: ObjectMeta,
    spec: EnclosureSpec,
    #[resource(status)]
    status: Option<EnclosureStatus>,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct EnclosureSpec {
    keeper: Option<String>,
    r#type: String,
    is_open: bool,
    opened_at: Option<String>,
    replicas: i32,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
struct EnclosureStatus {
    phase: String,
    replicas: Option<i32>,
    selector: Option<String>,
}

struct EnclosureStrategy;

impl Strategy for EnclosureStrategy {
    type Object = Enclosure;

    fn validate(&self, _: &RequestContext, _: &Enclosure) -> ErrorList {
        ErrorList::default()
    }
}

fn pod_schema() -> Schema {
    unreachable!("no test decodes a pod")
}

#[derive(Resource)]
#[resource(
    version = "v1",
    object = Pod,
    schema = pod_schema,
    short("po"),
    selectable(spec.node_name, status.pod_ip = "status.podIP", spec.host_network as "hostNetwork"),
    index(spec.node_name, spec.host_network),
    status
)]
struct Pods;

#[test]
fn an_own_struct_is_a_resource() {
    let enclosures = Enclosure::TYPE;
    assert_eq!(enclosures.resource().resource, "enclosures");
    assert_eq!((enclosures.kind.kind, enclosures.list_kind), ("Enclosure", "EnclosureList"));
    assert_eq!(enclosures.storage_prefix, "zoo.example.dev/enclosures");
    assert!(enclosures.has_status && enclosures.has_generation);
    assert_eq!(enclosures.scope, Scope::Namespaced);
    assert_eq!(enclosures.indexes, ["spec.keeper"]);
    let headings: Vec<&str> = enclosures.columns.iter().map(|column| column.name).collect();
    assert_eq!(headings, ["Name", "Keeper", "Opened", "Age"]);
    assert_eq!(enclosures.columns[2].kind, ColumnType::Date);
    assert!(matches!(enclosures.columns[2].cell, Cell::Age(["spec", "openedAt"])));
    let scale = enclosures.scale.expect("declared");
    assert_eq!((scale.replicas, scale.current), (&["spec", "replicas"][..], &["status", "replicas"][..]));

    let new = enclosures.instantiate().new_object();
    assert_eq!((new.api_version(), new.kind()), ("zoo.example.dev/v1", "Enclosure"));
}

#[test]
fn the_declaration_is_the_line_of_the_struct() {
    let (file, line) = Enclosure::TYPE.declared_at.rsplit_once(':').expect("file and line");
    assert!(file.ends_with("tests/derive.rs"), "{file}");
    let line: u32 = line.parse().expect("a line number");
    assert_eq!(line, DECLARED_ABOVE + 15, "the line that says `pub struct Enclosure`");
}

#[test]
fn one_declaration_of_a_field_serves_its_selector() {
    let object = Object::from_value(json!({
        "metadata": {"name": "north", "namespace": "zoo", "labels": {"b": "2", "a": "1"}},
        "spec": {"keeper": "ada", "type": "aviary", "isOpen": true},
    }))
    .expect("an object");
    let attributes = Enclosure::TYPE.instantiate().attributes(&object);
    assert_eq!(
        attributes.field_names,
        ["metadata.name", "metadata.namespace", "spec.keeper", "status.phase", "spec.type", "spec.isOpen"]
    );
    let fields = attributes.field_names.iter().map(|name| attributes.field(name)).collect::<Vec<_>>();
    assert_eq!(fields, ["north", "zoo", "ada", "", "aviary", "true"]);
}

#[test]
fn kube_clients_take_the_struct_as_it_is() {
    fn names<T>(_: &T) -> (&'static str, &'static str, &'static str)
    where
        T: k8s_openapi::Metadata<Ty = ObjectMeta>
            + k8s_openapi::ListableResource
            + k8s_openapi::Resource<Scope = k8s_openapi::NamespaceResourceScope>,
    {
        (T::API_VERSION, T::URL_PATH_SEGMENT, T::LIST_KIND)
    }
    let enclosure = Enclosure::default();
    assert_eq!(names(&enclosure), ("zoo.example.dev/v1", "enclosures", "EnclosureList"));
    assert_eq!(k8s_openapi::Metadata::metadata(&enclosure), &ObjectMeta::default());
}

#[test]
fn a_foreign_type_is_a_resource() {
    let pods = Pods::TYPE;
    assert_eq!((pods.plural, pods.singular, pods.storage_prefix), ("pods", "pod", "pods"));
    assert_eq!(pods.indexes, ["spec.nodeName", "hostNetwork"]);
    assert_eq!(pods.selectable[1].path, ["status", "podIP"]);
    assert_eq!(
        (pods.selectable[2].name, pods.selectable[2].path),
        ("hostNetwork", &["spec", "hostNetwork"][..])
    );
    assert!(pods.has_status && !pods.has_generation && pods.scale.is_none());
}
