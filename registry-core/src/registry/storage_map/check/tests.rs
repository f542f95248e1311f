use std::sync::Arc;

use super::*;
use crate::api::{GroupVersionKind, Scope};
use crate::registry::storage_map::{Install, MapVersion};
use crate::release::Lifecycle;
use crate::resource::ConversionDescription;
use crate::resource::{NoStrategy, ResourceDescription, ResourceProperties, ScalePaths};

pub(super) const PODS: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        kind: GroupVersionKind { group: "", version: "v1", kind: "Pod" },
        list_kind: "PodList",
        plural: "pods",
        singular: "pod",
        short_names: &["po"],
        categories: &[],
        scope: Scope::Namespaced,
        storage_prefix: "pods",
        lifecycle: Lifecycle { introduced: None, removed: None },
        deprecation: None,
        retired: &[],
        selectable: &[],
        indexes: &[],
        field_names: &[],
        row_conditions: None,
        has_status: true,
        has_generation: false,
        scale: None,
        time_to_live_seconds: None,
        returns_deleted_object: false,
        serves_deletecollection: true,
        write_rules: crate::resource::WriteRules::OWN,
        is_builtin: true,
        declared_at: "src/pods.rs:7",
    },
    enabled_by_default: true,
    feature: None,
    columns: &[],
    strategy: || Arc::new(NoStrategy),
    schema: || unreachable!("the check looks at names only"),
    hub: None,
};
pub(super) const NODES: ResourceDescription = ResourceDescription {
    properties: ResourceProperties {
        kind: GroupVersionKind { group: "", version: "v1", kind: "Node" },
        list_kind: "NodeList",
        plural: "nodes",
        singular: "node",
        short_names: &["no"],
        scope: Scope::Cluster,
        storage_prefix: "minions",
        lifecycle: Lifecycle { introduced: None, removed: None },
        deprecation: None,
        retired: &[],
        declared_at: "src/nodes.rs:3",
        ..PODS.properties
    },
    enabled_by_default: true,
    feature: None,
    ..PODS
};

const TO_PODS: ConversionDescription = ConversionDescription {
    hub: &PODS,
    to_hub: |_| unreachable!("the check converts nothing"),
    from_hub: |_| unreachable!("the check converts nothing"),
    hub_fields: &[],
};

pub(super) const fn entry(
    resource: &'static ResourceDescription,
    subresource: Option<&'static str>,
) -> MapEntry {
    MapEntry {
        resource,
        subresource,
        install: Install::OverStore(|_, _| unreachable!("the check installs nothing")),
        declared_at: resource.properties.declared_at,
    }
}

/// A path of a map's text: path, storage as written, entry.
type Written = (&'static str, &'static str, MapEntry);

/// Returns the result of the check for versions written as `(group, version, [(path, storage, entry)])`.
fn verdict(versions: &[(&'static str, &'static str, &[Written])]) -> String {
    let mut map = Vec::new();
    let mut written = Vec::new();
    for (group, version, paths) in versions {
        let entries: Vec<MapEntry> = paths.iter().map(|(_, _, entry)| *entry).collect();
        map.push(MapVersion { group, version, entries: entries.leak() });
        let paths: Vec<_> = paths.iter().map(|(path, storage, _)| WrittenPath { path, storage }).collect();
        written.push(WrittenVersion { group, version, paths: paths.leak() });
    }
    let message = contradiction(&StorageMap { versions: map.leak(), declared_in: module_path!() }, &written);
    message.map(|message| message.as_str().to_owned()).unwrap_or_default()
}

fn leak(resource: ResourceDescription) -> &'static ResourceDescription {
    Box::leak(Box::new(resource))
}

const MAIN_PODS: (&str, &str, MapEntry) = ("pods", "Main<Pods>", entry(&PODS, None));

#[test]
fn a_sound_map_passes() {
    let kind = GroupVersionKind { version: "v1beta1", ..PODS.kind };
    let beta = leak(ResourceDescription {
        properties: ResourceProperties { kind, ..PODS.properties },
        hub: Some(&TO_PODS),
        ..PODS
    });
    let paths = [
        MAIN_PODS,
        ("pods/status", "Status<Pods>", entry(&PODS, Some("status"))),
        ("pods/binding", "Custom<Binding>", entry(&PODS, Some("binding"))),
        ("nodes", "Main<Nodes>", entry(&NODES, None)),
    ];
    let beta = [("pods", "Main<BetaPods>", entry(beta, None))];
    assert_eq!(verdict(&[("", "v1", &paths), ("", "v1beta1", &beta)]), "");
}

#[test]
fn a_path_has_one_storage_and_every_subresource_its_parent() {
    let twice = [
        MAIN_PODS,
        ("pods/binding", "Custom<A>", entry(&PODS, Some("binding"))),
        ("pods/binding", "Custom<B>", entry(&PODS, Some("binding"))),
    ];
    assert_eq!(
        verdict(&[("", "v1", &twice)]),
        "two storages for one path, `pods/binding` of `v1`: `Custom<A>` (declared at src/pods.rs:7) and \
         `Custom<B>` (declared at src/pods.rs:7)"
    );
    let orphan = [("pods/status", "Status<Pods>", entry(&PODS, Some("status")))];
    assert_eq!(
        verdict(&[("", "v1", &orphan)]),
        "a subresource without its parent: `Status<Pods>` (declared at src/pods.rs:7) is `pods/status`, but the \
         map has no `pods` of `v1` before it"
    );
    let scale = [MAIN_PODS, ("pods/scale", "Scale<Pods>", entry(&PODS, Some("scale")))];
    assert_eq!(
        verdict(&[("", "v1", &scale)]),
        "the map serves `Scale<Pods>` (declared at src/pods.rs:7), but `Main<Pods>` (declared at src/pods.rs:7) \
         declares no `scale`"
    );
    let scaled = leak(ResourceDescription {
        properties: ResourceProperties {
            scale: Some(ScalePaths { replicas: &["spec"], current: &["status"], selector: None }),
            ..PODS.properties
        },
        ..PODS
    });
    let scale =
        [("pods", "Main<P>", entry(scaled, None)), ("pods/scale", "Scale<P>", entry(scaled, Some("scale")))];
    assert_eq!(verdict(&[("", "v1", &scale)]), "");
}

#[test]
fn parents_and_children_and_versions_share_a_scope() {
    let impostor = leak(ResourceDescription {
        properties: ResourceProperties {
            plural: "nodes",
            declared_at: "src/impostor.rs:9",
            ..PODS.properties
        },
        ..PODS
    });
    let paths = [
        ("nodes", "Main<Nodes>", entry(&NODES, None)),
        ("nodes/status", "Status<Impostor>", entry(impostor, Some("status"))),
    ];
    assert_eq!(
        verdict(&[("", "v1", &paths)]),
        "a cluster-scoped parent with a namespaced child: `Main<Nodes>` (declared at src/nodes.rs:3) and \
         `Status<Impostor>` (declared at src/impostor.rs:9)"
    );
    let beta = leak(ResourceDescription {
        properties: ResourceProperties {
            kind: GroupVersionKind { version: "v2", ..PODS.kind },
            scope: Scope::Cluster,
            declared_at: "src/v2.rs:1",
            ..PODS.properties
        },
        ..PODS
    });
    let second = [("pods", "Main<PodsV2>", entry(beta, None))];
    assert_eq!(
        verdict(&[("", "v1", &[MAIN_PODS]), ("", "v2", &second)]),
        "one resource in two scopes: `Main<Pods>` (declared at src/pods.rs:7) is namespaced, `Main<PodsV2>` \
         (declared at src/v2.rs:1) is cluster-scoped"
    );
}

#[test]
fn names_collide_within_a_group_and_not_across() {
    let cases: [(ResourceProperties, &str); 5] = [
        (ResourceProperties { kind: PODS.kind, ..NODES.properties }, "the kind `Pod`"),
        (ResourceProperties { list_kind: "PodList", ..NODES.properties }, "the kind `PodList`"),
        (ResourceProperties { plural: "po", ..NODES.properties }, "the plural `po`"),
        (ResourceProperties { singular: "pod", ..NODES.properties }, "the singular `pod`"),
        (ResourceProperties { short_names: &["no", "pods"], ..NODES.properties }, "the short name `pods`"),
    ];
    for (properties, culprit) in cases {
        let resource = leak(ResourceDescription { properties, ..NODES });
        let paths = [MAIN_PODS, (resource.plural, "Main<Nodes>", entry(resource, None))];
        assert_eq!(
            verdict(&[("", "v1", &paths)]),
            format!(
                "{culprit} of `Main<Nodes>` (declared at src/nodes.rs:3) is taken in the core group by `Main<Pods>` \
                 (declared at src/pods.rs:7)"
            )
        );
    }
    let elsewhere = leak(ResourceDescription {
        properties: ResourceProperties {
            kind: GroupVersionKind { group: "metrics.k8s.io", ..PODS.kind },
            ..PODS.properties
        },
        hub: Some(&TO_PODS),
        ..PODS
    });
    let other = [("pods", "Main<PodMetrics>", entry(elsewhere, None))];
    assert_eq!(verdict(&[("", "v1", &[MAIN_PODS]), ("metrics.k8s.io", "v1", &other)]), "");
}

#[test]
fn keys_belong_to_one_store_and_a_spoke_to_its_hub() {
    let kind = GroupVersionKind { version: "v2", ..PODS.kind };
    let second = leak(ResourceDescription {
        properties: ResourceProperties { kind, declared_at: "src/v2.rs:1", ..PODS.properties },
        ..PODS
    });
    let paths = [("pods", "Main<PodsV2>", entry(second, None))];
    assert_eq!(
        verdict(&[("", "v1", &[MAIN_PODS]), ("", "v2", &paths)]),
        "two stores for the keys below `pods`: `Main<Pods>` (declared at src/pods.rs:7) and `Main<PodsV2>` \
         (declared at src/v2.rs:1); of two versions of one kind, one says `hub = …`"
    );
    let spoke = leak(ResourceDescription { hub: Some(&TO_PODS), ..*second });
    let paths = [("pods", "Main<PodsV2>", entry(spoke, None))];
    assert_eq!(verdict(&[("", "v2", &paths), ("", "v1", &[MAIN_PODS])]), "", "in whatever order");
    assert_eq!(
        verdict(&[("", "v2", &paths)]),
        "a spoke without its hub: `Main<PodsV2>` (declared at src/v2.rs:1) is stored as `pods` of `v1` (declared at \
         src/pods.rs:7), which the map does not have"
    );
}

#[test]
fn the_text_says_what_the_types_are() {
    let wrong_path = [("pods/status", "Main<Pods>", entry(&PODS, None))];
    assert_eq!(
        verdict(&[("", "v1", &wrong_path)]),
        "the map puts `Main<Pods>` (declared at src/pods.rs:7) at `pods/status` of `v1`, but it is `pods` of `v1`"
    );
    assert_eq!(
        verdict(&[("apps", "v1", &[MAIN_PODS])]),
        "the map puts `Main<Pods>` (declared at src/pods.rs:7) at `pods` of `apps/v1`, but it is `pods` of `v1`"
    );
    let nodes = [("nodes", "Main<Nodes>", entry(&NODES, None))];
    assert_eq!(
        verdict(&[("", "v1", &[MAIN_PODS]), ("", "v1", &nodes)]),
        "the map has `v1` twice: put its paths in one place"
    );
}

#[test]
fn a_subresource_is_named_as_a_path_can_have_it() {
    for name in ["feed now", "Feeding", "feed/now", ""] {
        let path: &'static str = format!("pods/{name}").leak();
        let paths = [MAIN_PODS, (path, "Custom<Feeding>", entry(&PODS, Some(name)))];
        let message = verdict(&[("", "v1", &paths)]);
        assert!(message.starts_with(&format!("the subresource `{name}` of `Custom<Feeding>`")), "{message}");
    }
}
