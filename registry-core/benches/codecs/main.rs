//! The cost of reading, writing and owning an object, against serde_json and prost as yardsticks. Figures of one machine
//! are in `docs/benchmarks/codecs.md`. Run with `cargo bench -p registry-core`.

#![allow(
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

mod samples;
mod yardsticks;

use std::sync::Arc;

use divan::Bencher;
use registry_core::api::Object;
use registry_core::codec::{Limits, cbor, json, protobuf, stored};
use registry_core::context::Budget;
use registry_core::storage::{Attributes, Encoding, EncodingBudget, Entry};
use serde_json::Value;

use samples::Sample::{self, ConfigMap, Pod};

fn main() {
    for sample in [ConfigMap, Pod] {
        let prepared = sample.prepared();
        println!(
            "{sample}: {} bytes of JSON, {} of protobuf, {} of CBOR",
            prepared.json.len(),
            prepared.message.len(),
            prepared.cbor.len()
        );
    }
    divan::main();
}

#[divan::bench(args = [ConfigMap, Pod])]
fn json_in(bencher: Bencher<'_, '_>, sample: Sample) {
    let body = &sample.prepared().json;
    bencher.bench(|| json::decode(body, &Limits::default()).unwrap());
}

#[divan::bench(args = [ConfigMap, Pod])]
fn json_in_by_serde_json(bencher: Bencher<'_, '_>, sample: Sample) {
    let body = &sample.prepared().json;
    bencher.bench(|| serde_json::from_slice::<Value>(body).unwrap());
}

#[divan::bench(args = [ConfigMap, Pod])]
fn json_out(bencher: Bencher<'_, '_>, sample: Sample) {
    let object = &sample.prepared().object;
    bencher.bench(|| stored::encode(object, sample.prepared().schema.field_order()));
}

#[divan::bench(args = [ConfigMap, Pod])]
fn json_out_by_serde_json(bencher: Bencher<'_, '_>, sample: Sample) {
    let object = &sample.prepared().object;
    bencher.bench(|| serde_json::to_vec(object).unwrap());
}

#[divan::bench(args = [ConfigMap, Pod])]
fn protobuf_in(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let limits = Limits::default();
    bencher.bench(|| protobuf::decode_message(&prepared.message, &prepared.schema, &limits).unwrap());
}

#[divan::bench]
fn protobuf_in_by_prost(bencher: Bencher<'_, '_>) {
    let message = &ConfigMap.prepared().message;
    bencher.bench(|| yardsticks::decode(message));
}

#[divan::bench(args = [ConfigMap, Pod])]
fn protobuf_out(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    bencher.bench(|| protobuf::encode_message(&prepared.value, &prepared.schema));
}

#[divan::bench]
fn protobuf_out_by_prost(bencher: Bencher<'_, '_>) {
    let message = yardsticks::decode(&ConfigMap.prepared().message);
    bencher.bench(|| yardsticks::encode(&message));
}

#[divan::bench(args = [ConfigMap, Pod])]
fn cbor_in(bencher: Bencher<'_, '_>, sample: Sample) {
    let body = &sample.prepared().cbor;
    bencher.bench(|| cbor::decode(body, &Limits::default()).unwrap());
}

#[divan::bench(args = [ConfigMap, Pod])]
fn cbor_out(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    bencher.bench(|| cbor::encode(&prepared.value, Some(&prepared.schema)));
}

/// What a client that speaks protobuf costs: the first of them, and all others.
#[divan::bench(args = [ConfigMap, Pod])]
fn stored_as_protobuf_first(bencher: Bencher<'_, '_>, sample: Sample) {
    let budget = Arc::new(EncodingBudget::new(usize::MAX));
    bencher.with_inputs(|| entry(sample)).bench_refs(|entry| encoded(entry, sample, &budget));
}

#[divan::bench(args = [ConfigMap, Pod])]
fn stored_as_protobuf_again(bencher: Bencher<'_, '_>, sample: Sample) {
    let budget = Arc::new(EncodingBudget::new(usize::MAX));
    let entry = entry(sample);
    bencher.bench(|| encoded(&entry, sample, &budget));
}

fn entry(sample: Sample) -> Entry {
    Entry::new("/registry/x".into(), 1, sample.prepared().json.clone(), 0, Attributes::default())
}

fn encoded(entry: &Entry, sample: Sample, budget: &Arc<EncodingBudget>) -> bytes::Bytes {
    let make = || {
        let value = stored::decode(entry.json()).ok()?.into_value();
        protobuf::encode_message(&value, &sample.prepared().schema).ok()
    };
    entry.encoded(Encoding::Protobuf, budget, make).unwrap()
}

#[divan::bench(args = [ConfigMap, Pod])]
fn conform(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let value = || prepared.value.clone();
    bencher.with_inputs(value).bench_refs(|value| prepared.schema.conform(value, &mut Vec::new()).unwrap());
}

#[divan::bench(args = [ConfigMap, Pod])]
fn defaults(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let value = || prepared.value.clone();
    bencher
        .with_inputs(value)
        .bench_refs(|value| prepared.schema.apply_defaults(value, &Budget::unlimited()).unwrap());
}

/// Noting who manages a new object's fields: apply's share of a CREATE.
#[divan::bench(args = [ConfigMap, Pod])]
fn managers_of_create(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let manager = prepared.manager();
    let new = || prepared.object.clone();
    bencher.with_inputs(new).bench_refs(|new| manager.track_update(None, new, "one", samples::NOW));
}

/// The same of an UPDATE by another client, which changes a label.
#[divan::bench(args = [ConfigMap, Pod])]
fn managers_of_update(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let manager = prepared.manager();
    let live = prepared.managed();
    let changed = changed(&live);
    let new = || changed.clone();
    bencher.with_inputs(new).bench_refs(|new| manager.track_update(Some(&live), new, "two", samples::NOW));
}

/// Applying the whole object once more, of which a label changed: the merge as well as the managers.
#[divan::bench(args = [ConfigMap, Pod])]
fn apply_a_change(bencher: Bencher<'_, '_>, sample: Sample) {
    let prepared = sample.prepared();
    let manager = prepared.manager();
    let applied = &prepared.object;
    let live = manager.apply(None, applied, "one", false, samples::NOW).unwrap().unwrap();
    let changed = changed(applied);
    bencher.bench(|| manager.apply(Some(&live), &changed, "one", false, samples::NOW).unwrap().unwrap());
}

fn changed(object: &Object) -> Object {
    let mut changed = object.clone();
    changed.set(&["metadata", "labels", "app"], "changed".into());
    changed
}
