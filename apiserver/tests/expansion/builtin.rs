//! Built-in kinds: every list and map of structs, with as many empty elements as fit.

use std::collections::HashSet;

use registry_core::codec::protobuf;
use registry_core::schema::TypeRef;
use serde_json::{Value, json};

use super::ALLOCATOR;
use super::bodies::{build, collections};
use super::fixture::{Answer, Server, api_version, url_of};
use super::world::{BODY_BYTES, CONFIG_MAPS, Measured, World};

/// Size of a generated body. All kinds together have some hundreds of them.
const GENERATED_BYTES: usize = 256 * 1024;

const PROTOBUF: &str = "application/vnd.kubernetes.protobuf";

#[test]
fn empty_elements_of_any_kind_take_bounded_memory() {
    let server = Server::start();
    let mut places: HashSet<String> = HashSet::new();
    let mut complaints = Vec::new();
    let paths = server.installed.paths.iter();
    for path in paths.filter(|path| path.subresource.is_none() && path.capabilities.creater.is_some()) {
        let schema = path.capabilities.storage.schema();
        for collection in collections(schema.root()) {
            if !places.insert(collection.place.clone()) {
                continue;
            }
            let mut object = build(schema.root(), &collection.steps, &empty_elements);
            object["apiVersion"] = api_version(&path.resource).into();
            object["kind"] = path.resource.kind.kind.into();
            object["metadata"]["name"] = "a".into();
            let body = object.to_string();
            let (bytes, before) = (body.len(), ALLOCATOR.current_usage());
            ALLOCATOR.reset_peak_usage();
            let answer = server.post(&format!("{}?dryRun=All", url_of(&path.resource)), body);
            let peak_bytes = ALLOCATOR.peak_usage().saturating_sub(before);
            let Answer { status, body, time } = answer;
            let measured = Measured { status: status.as_u16(), body, peak_bytes, time };
            complaints.extend(measured.complaint(&collection.place, bytes));
        }
    }
    assert!(places.len() > 100, "{}", places.len());
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

/// Returns a list or map with as many empty structs as fit.
fn empty_elements(ty: TypeRef<'_>) -> Value {
    let is_map = ty.value().is_some();
    let is_struct = ty.element().or_else(|| ty.value()).is_some_and(|inner| inner.is_struct());
    match (is_struct, is_map) {
        (false, true) => json!({}),
        (false, false) => json!([]),
        (true, false) => Value::Array(vec![json!({}); GENERATED_BYTES / 3]),
        (true, true) => (0..GENERATED_BYTES / 11).map(|number| (format!("k{number}"), json!({}))).collect(),
    }
}

/// Returns a config map in protobuf with these parts of its metadata.
fn message(part: &[u8], bytes: usize) -> Vec<u8> {
    let parts = part.repeat(bytes / part.len());
    let mut message = vec![0x0a];
    let mut length = parts.len();
    while length > 0x7f {
        message.push(u8::try_from(length & 0x7f).unwrap() | 0x80);
        length >>= 7;
    }
    message.push(u8::try_from(length).unwrap());
    message.extend(parts);
    protobuf::envelope("v1", "ConfigMap", &message).to_vec()
}

#[tokio::test]
async fn hostile_messages_take_bounded_memory() {
    let mut world = World::start().await;
    let mut complaints = Vec::new();
    for (name, part) in [
        ("empty owners", &[0x6a, 0][..]),
        ("owners with an empty name", &[0x6a, 2, 0x1a, 0]),
        ("empty managers", &[0x8a, 1, 0]),
        ("managers with empty fields", &[0x8a, 1, 2, 0x3a, 0]),
        ("empty finalizers", &[0x72, 0]),
        ("empty labels", &[0x5a, 0]),
        ("empty metadata", &[]),
    ] {
        let body = if part.is_empty() {
            protobuf::envelope("v1", "ConfigMap", &[0x0a, 0].repeat(BODY_BYTES / 2)).to_vec()
        } else {
            message(part, BODY_BYTES)
        };
        let bytes = body.len();
        let answer = world.post(&format!("{CONFIG_MAPS}?dryRun=All"), PROTOBUF, body).await;
        complaints.extend(answer.complaint(name, bytes));
    }
    let entries = (0..BODY_BYTES / 9).flat_map(|number| {
        let mut entry = vec![0x12, 8, 0x0a, 6];
        entry.extend(format!("{number:06x}").bytes());
        entry
    });
    let body = protobuf::envelope("v1", "ConfigMap", &entries.collect::<Vec<u8>>()).to_vec();
    let bytes = body.len();
    let answer = world.post(&format!("{CONFIG_MAPS}?dryRun=All"), PROTOBUF, body).await;
    complaints.extend(answer.complaint("entries of a map", bytes));
    assert!(complaints.is_empty(), "{}", complaints.join("\n"));
}

#[tokio::test]
async fn applied_structs_with_large_zeros_take_bounded_memory() {
    let mut world = World::start().await;
    let count = BODY_BYTES / 32;
    let claims: Vec<Value> =
        (0..count).map(|number| json!({"metadata": {"name": format!("n{number}")}})).collect();
    let set = json!({"apiVersion": "apps/v1", "kind": "StatefulSet", "metadata": {"name": "a"},
        "spec": {"serviceName": "a", "volumeClaimTemplates": claims}});
    let body = set.to_string();
    let bytes = body.len();
    let path = "/apis/apps/v1/namespaces/default/statefulsets/a?fieldManager=m&dryRun=All";
    let answer = world.send("PATCH", path, "application/apply-patch+yaml", body.into()).await;
    assert_eq!(answer.status, 413, "{}", answer.text());
    assert_eq!(answer.complaint("claims", bytes), None);
}
