//! Every list and map of every kind: creates and updates.

use std::collections::HashSet;

use http::Method;
use registry_core::registry::storage_map::InstalledPath;
use serde_json::{Value, json};

use super::bodies::{Collection, Step, body, body_of_all, collections};
use super::cost::Findings;
use super::fixture::{Server, api_version, url_of};

/// Size of the smaller body.
const BYTES: usize = 12 * 1024;

/// Returns whether the same rules are tested in another kind: those of pods, and of common metadata.
fn is_repeated(path: &InstalledPath, collection: &Collection) -> bool {
    let is_field =
        |step: &Step, names: &[&str]| matches!(step, Step::Field(name) if names.contains(&&**name));
    let is_template = |step: &Step| is_field(step, &["template", "jobTemplate"]);
    let is_metadata = is_field(&collection.steps[0], &["metadata"]);
    collection.steps.iter().any(is_template) || (is_metadata && path.resource.plural != "configmaps")
}

fn main_paths(server: &Server) -> Vec<&InstalledPath> {
    server.installed.paths.iter().filter(|path| path.subresource.is_none()).collect()
}

/// Returns an object with the common metadata.
fn named(path: &InstalledPath, mut object: Value, name: &str) -> Value {
    object["apiVersion"] = api_version(&path.resource).into();
    object["kind"] = path.resource.kind.kind.into();
    if !object["metadata"].is_object() {
        object["metadata"] = json!({});
    }
    object["metadata"]["name"] = name.into();
    if path.resource.is_namespaced() {
        object["metadata"]["namespace"] = "default".into();
    }
    object
}

#[test]
fn creating_any_kind_takes_linear_time() {
    let all = Server::start();
    let mut findings = Findings::default();
    let mut number = 0;
    for path in main_paths(&all).into_iter().filter(|path| path.capabilities.creater.is_some()) {
        // The engine keeps all history, so each kind gets a new one.
        let server = Server::start();
        let schema = path.capabilities.storage.schema();
        let root = schema.root();
        let mut structs: HashSet<String> = HashSet::new();
        for collection in collections(root).into_iter().filter(|collection| !is_repeated(path, collection)) {
            let url = url_of(&path.resource);
            let mut create = |object: Value| {
                number += 1;
                let body = named(path, object, &format!("c{number}")).to_string();
                (body.len(), server.post(&url, body).time)
            };
            let name = format!("{} {}", path.resource.plural, collection.place);
            findings.compare(&name, BYTES, &mut |bytes| create(body(root, &collection, bytes, false)));
            let Some((Step::Field(_), holder)) = collection.steps.split_last() else { continue };
            if structs.insert(format!("{holder:?}")) {
                let name = format!("{name} and its neighbors");
                findings.compare(&name, BYTES, &mut |bytes| create(body_of_all(root, holder, bytes)));
            }
        }
    }
    findings.expect_none();
}

#[test]
fn updating_any_kind_takes_linear_time() {
    let all = Server::start();
    let mut findings = Findings::default();
    let mut number = 0;
    for path in main_paths(&all) {
        let server = Server::start();
        if path.capabilities.updater.is_none() || path.resource.hub.is_some() {
            continue;
        }
        let schema = path.capabilities.storage.schema();
        for collection in
            collections(schema.root()).into_iter().filter(|collection| !is_repeated(path, collection))
        {
            let is_status = matches!(&collection.steps[0], Step::Field(name) if name == "status");
            let subresource = if is_status && path.resource.has_status { "/status" } else { "" };
            let mut update = |bytes: usize| {
                number += 1;
                let name = format!("u{number}");
                let mut stored = named(path, body(schema.root(), &collection, bytes, false), &name);
                stored["metadata"]["uid"] = format!("uid-{number}").into();
                stored["metadata"]["creationTimestamp"] = "2026-01-02T03:04:05Z".into();
                schema.conform(&mut stored, &mut Vec::new()).unwrap();
                server.store(&path.resource, &stored);
                let url = format!("{}/{name}{subresource}", url_of(&path.resource));
                let present = server.get(&url, "application/json").json();
                let mut wanted = named(path, body(schema.root(), &collection, bytes, true), &name);
                wanted["metadata"]["uid"] = present["metadata"]["uid"].clone();
                wanted["metadata"]["resourceVersion"] = present["metadata"]["resourceVersion"].clone();
                let body = wanted.to_string();
                let answer = server.write(Method::PUT, &url, "application/json", body.clone());
                assert!(answer.status != 404 && answer.status != 409, "{url}: {}", answer.json());
                (body.len(), answer.time)
            };
            let name = format!("{}{subresource} {}", path.resource.plural, collection.place);
            findings.compare(&name, BYTES, &mut update);
        }
    }
    findings.expect_none();
}
