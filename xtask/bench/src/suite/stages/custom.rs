//! Custom resources: what a definition costs, and what requests for its objects cost beside those for ConfigMaps.

use std::sync::Arc;
use std::time::{Duration, Instant};

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;
use serde_json::{Map, Value, json};

use super::super::figures::Limit;
use super::{CLIENTS, QUIET, Stages};
use crate::Failure;
use crate::client::Connection;
use crate::closed_loop::closed_loop;
use crate::measurement;
use crate::objects;

const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
/// Number of groups that the definitions are in.
const GROUPS: usize = 100;
/// Number of fields of a schema, at the top and in the elements of its list: about 30 kB of JSON.
const FIELDS: usize = 75;
/// Maximum time until all definitions are established.
const PATIENCE: Duration = Duration::from_mins(5);
/// Number of objects of the listed kind.
const LISTED: usize = 1_000;
/// Size of a field that makes an object as large as the ConfigMaps of the other stages.
const PADDING_BYTES: usize = 1_000;

// === impl Stages ===

impl Stages<'_> {
    /// Measures definitions one after another, a restart with them, and requests for objects of one.
    pub(super) async fn custom_resources(&mut self) -> Result<(), Failure> {
        let place = self.place();
        let server = self.server(&place).await?;
        let client = server.client()?;
        let mut connection = client.connect().await?;
        let count = self.options.definitions;
        let memory_before = server.resident_mebibytes();
        let cpu_before = server.cpu_seconds()?;
        let begun = Instant::now();
        define(&mut connection, count).await?;
        let seconds = begun.elapsed().as_secs_f64();
        let cpu = server.cpu_seconds()? - cpu_before;
        tokio::time::sleep(QUIET).await;
        let memory = server.resident_mebibytes() - memory_before;
        let of_count = measurement::count(count as u64);
        let each = |name: &str| format!("{name} of 30 kB, {count} one after another");
        self.fact(
            each("all definitions established, definitions"),
            seconds,
            "s",
            Limit::Most(of_count / 100.0),
        );
        self.fact(each("CPU of a definition"), cpu / of_count * 1e3, "ms", Limit::Most(5.0));
        self.fact(each("memory of a definition"), memory / of_count * 1024.0, "KiB", Limit::Most(100.0));
        self.custom_requests(&server).await?;
        server.stop().await;
        let again = self.server(&place).await?;
        let ready = again.ready_after().map_or(0.0, |after| after.as_secs_f64() * 1e3);
        self.fact(format!("start to ready with {count} definitions"), ready, "ms", Limit::Most(500.0));
        again.stop().await;
        Ok(())
    }

    /// Measures requests for custom resources as those for ConfigMaps are measured.
    async fn custom_requests(&mut self, server: &super::ServerProcess) -> Result<(), Failure> {
        let client = server.client()?;
        objects::make_namespace(&client, "bench").await?;
        let collection: Arc<str> = format!("/apis/{}/v1/namespaces/bench/widgets0", group(0)).into();
        let mut connection = client.connect().await?;
        for number in 0..LISTED {
            let body = object(&format!("item-{number}"));
            connection.exchange(Method::POST, &collection, body).await?;
        }
        let load = self.load(CLIENTS);
        let path: Arc<str> = format!("{collection}/item-0").into();
        let get = closed_loop(&client, server, load, "get custom", LISTED, move |mut connection, _| {
            let path = path.clone();
            async move { connection.exchange(Method::GET, &path, Bytes::new()).await }
        });
        self.measured(get.await?);
        let listed = collection.clone();
        let list = closed_loop(&client, server, load, "list custom", LISTED, move |mut connection, _| {
            let listed = listed.clone();
            async move { connection.exchange(Method::GET, &listed, Bytes::new()).await }
        });
        self.measured(list.await?);
        let create =
            closed_loop(&client, server, load, "create custom", LISTED, move |mut connection, number| {
                let collection = collection.clone();
                let body = object(&format!("made-{number}"));
                async move { connection.exchange(Method::POST, &collection, body).await }
            });
        self.measured(create.await?);
        Ok(())
    }
}

/// Creates definitions of 30 kB one after another, and waits until all are established.
pub(super) async fn define(connection: &mut Connection, count: usize) -> Result<(), Failure> {
    for number in 0..count {
        connection.exchange(Method::POST, DEFINITIONS, definition(number)).await?;
    }
    let begun = Instant::now();
    for number in 0..count {
        await_established(connection, number, begun).await?;
    }
    Ok(())
}

fn group(number: usize) -> String {
    format!("g{}.bench.example.com", number % GROUPS)
}

fn definition_name(number: usize) -> String {
    format!("widgets{number}.{}", group(number))
}

fn fields() -> Map<String, Value> {
    let description =
        "Says something about this part of the object, in about as many words as usual in such places.";
    let field = json!({ "type": "string", "maxLength": 64, "description": description });
    (0..FIELDS).map(|number| (format!("fieldNumber{number}"), field.clone())).collect()
}

fn definition(number: usize) -> Bytes {
    let mut spec = fields();
    let element = json!({ "type": "object", "properties": fields() });
    spec.insert("list".to_owned(), json!({ "type": "array", "maxItems": 64, "items": element }));
    spec.insert("padding".to_owned(), json!({ "type": "string" }));
    for name in ["replicas", "maxReplicas"] {
        spec.insert(name.to_owned(), json!({ "type": "integer" }));
    }
    let rule = json!({ "rule": "self.replicas <= self.maxReplicas" });
    let spec = json!({ "type": "object", "properties": spec, "required": ["replicas", "maxReplicas"], "x-kubernetes-validations": [rule] });
    let schema = json!({ "openAPIV3Schema": { "type": "object", "properties": { "spec": spec } } });
    let version = json!({ "name": "v1", "served": true, "storage": true, "schema": schema });
    let names = json!({ "plural": format!("widgets{number}"), "kind": format!("Widget{number}") });
    let spec =
        json!({ "group": group(number), "scope": "Namespaced", "names": names, "versions": [version] });
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": { "name": definition_name(number) }, "spec": spec,
    });
    definition.to_string().into()
}

/// Returns an object of the first definition, of about 1.4 KB as the server stores it.
fn object(name: &str) -> Bytes {
    let padding = "x".repeat(PADDING_BYTES);
    let object = json!({
        "apiVersion": format!("{}/v1", group(0)), "kind": "Widget0",
        "metadata": { "name": name, "labels": { "app": "bench" } },
        "spec": { "replicas": 1, "maxReplicas": 2, "padding": padding },
    });
    object.to_string().into()
}

async fn await_established(
    connection: &mut Connection,
    number: usize,
    begun: Instant,
) -> Result<(), Failure> {
    let path = format!("{DEFINITIONS}/{}", definition_name(number));
    loop {
        let response = connection.open(&path).await?;
        let body = response.into_body().collect().await.map_err(|error| format!("{path}: {error}"))?;
        let object: Value = serde_json::from_slice(&body.to_bytes())?;
        let conditions = object.pointer("/status/conditions").and_then(Value::as_array).into_iter().flatten();
        let is = |condition: &Value, field: &str, value: &str| {
            condition.get(field).is_some_and(|own| own == value)
        };
        let mut established = conditions
            .filter(|condition| is(condition, "type", "Established") && is(condition, "status", "True"));
        if established.next().is_some() {
            return Ok(());
        }
        if begun.elapsed() > PATIENCE {
            return Err(format!("{} is not established", definition_name(number)).into());
        }
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
}
