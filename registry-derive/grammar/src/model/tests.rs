use syn::parse_quote;

use super::*;

fn model(input: &DeriveInput) -> ResourceModel {
    ResourceModel::parse(input).expect("a good annotation")
}

fn complaints(input: &DeriveInput) -> Vec<String> {
    let error = ResourceModel::parse(input).expect_err("a bad annotation");
    error.into_iter().map(|complaint| complaint.to_string()).collect()
}

#[test]
fn an_own_struct_says_everything() {
    let model = model(&parse_quote! {
        /// Where animals live.
        #[resource(
            group = "zoo.example.dev", version = "v1", short("enc", "pen"), categories("all"),
            selectable(spec.keeper, status.pod_ip = "status.podIP", spec.r#type, source.component or spec.origin as "source"),
            index(spec.keeper),
            column("Keeper", spec.keeper),
            column("Since", status.opened_at, type = date, priority = 1, description = "Opened", ),
            scale(replicas = spec.replicas, current = status.replicas, selector = status.selector),
            strategy = EnclosureStrategy, ttl_seconds = 3600,
            subresource(crate::feeding::FeedStore, verbs(create, get)),
        )]
        pub struct Enclosure {
            pub metadata: ObjectMeta,
            pub spec: EnclosureSpec,
            #[resource(status)]
            pub status: Option<EnclosureStatus>,
        }
    });
    assert_eq!(model.documentation, ["Where animals live."]);
    assert_eq!(
        (model.kind.as_str(), model.plural.as_str(), model.singular.as_str()),
        ("Enclosure", "enclosures", "enclosure")
    );
    assert_eq!(model.api_version(), "zoo.example.dev/v1");
    assert_eq!(model.short_names, ["enc", "pen"]);
    assert_eq!(model.storage_prefix, "zoo.example.dev/enclosures");
    assert_eq!(model.scope, ResourceScope::Namespaced);
    let names: Vec<String> = model.selectable.iter().map(FieldPath::name).collect();
    assert_eq!(names, ["spec.keeper", "status.podIP", "spec.type", "source"]);
    assert_eq!(model.selectable[3].json(), ["source", "component"]);
    assert_eq!(model.selectable[3].other().unwrap().json(), ["spec", "origin"]);
    assert!(model.has_status && model.has_generation);
    assert_eq!(model.time_to_live_seconds, Some(3600));
    let Columns::Declared(columns) = &model.columns else { panic!("declared one by one") };
    assert_eq!(columns[1].kind, crate::ColumnKind::Date);
    assert_eq!((columns[1].priority, columns[1].description.as_deref()), (1, Some("Opened")));
    assert_eq!(columns[1].path.json(), ["status", "openedAt"]);
    let verbs: Vec<&str> = model.subresources[0].verbs.iter().map(|(verb, _)| verb.name()).collect();
    assert_eq!(verbs, ["create", "get"]);
}

#[test]
fn a_foreign_type_takes_its_names_from_the_type() {
    let model = model(&parse_quote! {
        #[resource(version = "v1", object = k8s_openapi::api::core::v1::Service, short = "svc", status, columns = COLUMNS)]
        pub struct Services;
    });
    assert_eq!((model.kind.as_str(), model.plural.as_str()), ("Service", "services"));
    assert_eq!(model.storage_prefix, "services/specs");
    assert!(model.has_status);
    assert!(
        !model.has_generation,
        "kube-apiserver counts generations of some kinds only, so it has to be said"
    );
    assert!(matches!(model.columns, Columns::Slice(_)));
}

#[test]
fn a_resource_is_served_unless_it_is_off_by_default() {
    let on = model(&parse_quote! {
        #[resource(group = "zoo.example.dev", version = "v1")]
        pub struct Enclosure { pub metadata: ObjectMeta }
    });
    assert!(!on.is_off_by_default && on.feature_gate.is_none());
    let off = model(&parse_quote! {
        #[resource(group = "zoo.example.dev", version = "v1alpha1", off_by_default, feature_gate = GenericWorkload)]
        pub struct Enclosure { pub metadata: ObjectMeta }
    });
    assert!(
        off.is_off_by_default && off.feature_gate.is_some_and(|feature| feature.is_ident("GenericWorkload"))
    );
}

#[test]
fn every_mistake_is_told_at_once() {
    let messages = complaints(&parse_quote! {
        #[resource(
            group = "Zoo", kind = "enclosure", short("enc", "enc"), scope = cluster, cluster,
            selectable(spec.keeper, spec.keeper, metadata.name), index(spec.phase),
            column("Age", spec.age or spec.born), ttl_seconds = 0, status,
            subresource(Feed, verbs(create)), subresource(Feed, verbs(get)),
        )]
        pub struct Enclosure<T> { pub metadata: ObjectMeta, #[resource(status)] pub state: T }
    });
    let expected = [
        "a resource cannot have generic parameters",
        "missing `version",
        "not an API group",
        "not a kind",
        "the short name is given twice",
        "`scope = …` and `cluster`",
        "the field of the status is called `status`",
        "a new object has no status yet",
        "mark the field instead",
        "two selectable fields are named `spec.keeper`",
        "can be selected by `metadata.name`",
        "add `spec.phase` to `selectable(…)`",
        "`or` belongs into",
        "a column `Age` already",
        "at least one second",
        "the subresource `Feed` is declared twice",
    ];
    assert_eq!(messages.len(), expected.len(), "{messages:#?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message} should contain {expected}");
    }
}

#[test]
fn words_outside_the_grammar_are_refused() {
    let unknown = complaints(&parse_quote! {
        #[resource(group = "a.b", version = "v1", plurals = "enclosures")]
        pub struct Enclosure { pub metadata: ObjectMeta }
    });
    assert!(unknown[0].contains("Unknown field: `plurals`") && unknown[0].contains("plural"), "{unknown:?}");

    let cases: [(DeriveInput, &str); 7] = [
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1", selectable("spec.keeper"))]
                struct A {
                    metadata: ObjectMeta,
                }
            ),
            "tokens, not strings",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1", selectable(spec.type))]
                struct A {
                    metadata: ObjectMeta,
                }
            ),
            "`r#type`",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1", scope = global)]
                struct A {
                    metadata: ObjectMeta,
                }
            ),
            "`scope = cluster` or",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1", scale(replicas = spec.replicas))]
                struct A {
                    metadata: ObjectMeta,
                }
            ),
            "a scale needs `current",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1", subresource(Log, verbs(list)))]
                struct A {
                    metadata: ObjectMeta,
                }
            ),
            "no verb `list`",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1")]
                struct A;
            ),
            "say which with `object",
        ),
        (
            parse_quote!(
                #[resource(group = "a.b", version = "v1")]
                struct A {
                    spec: B,
                }
            ),
            "add `pub metadata: ObjectMeta`",
        ),
    ];
    for (input, expected) in cases {
        let messages = complaints(&input);
        assert!(
            messages.iter().any(|complaint| complaint.contains(expected)),
            "{messages:?} should contain {expected}"
        );
    }
}

/// The documentation of the grammar, which is included in the derive's.
const DOCUMENTATION: &str = include_str!("../../grammar.md");

#[test]
fn every_word_of_the_grammar_is_documented() {
    let source = syn::parse_file(include_str!("../attributes.rs")).expect("Rust");
    let attributes = source.items.iter().find_map(|item| match item {
        syn::Item::Struct(item) if item.ident == "Attributes" => Some(item),
        _ => None,
    });
    let fields =
        attributes.expect("the grammar's struct").fields.iter().filter_map(|field| field.ident.as_ref());
    let words = fields
        .map(ToString::to_string)
        .filter(|word| !matches!(word.as_str(), "ident" | "generics" | "attrs" | "data"));
    let others = [
        "type",
        "format",
        "priority",
        "description",
        "replicas",
        "current",
        "selector",
        "verbs",
        " or ",
        " as ",
        "=>",
    ];
    for word in words.chain(others.map(str::to_owned)) {
        let is_word = |rest: &str| !rest.starts_with(|next: char| next.is_alphanumeric() || next == '_');
        let mut places = DOCUMENTATION.match_indices(&word);
        assert!(
            places.any(|(at, _)| is_word(&DOCUMENTATION[at + word.len()..])),
            "`{word}` is not documented"
        );
    }
}

#[test]
fn the_rules_of_an_own_struct_are_told() {
    let messages = complaints(&parse_quote! {
        #[resource(version = "v1", short("pens", "pn"))]
        pub struct Pen {
            pub metadata: ObjectMeta, pub api_version: String, pub kind: String, pub feeding_time: String,
            pub status: Option<String>,
        }
    });
    let expected = [
        "missing `group",
        "`apiVersion` and `kind` come from the annotation",
        "`apiVersion` and `kind` come from the annotation",
        "`feeding_time` would be `feeding_time` in JSON",
        "mark the status",
        "`pens` is the resource's own name already",
    ];
    assert_eq!(messages.len(), expected.len(), "{messages:#?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message} should contain {expected}");
    }
    // serde's attributes say otherwise.
    for renamed in [
        parse_quote!(
            #[serde(rename_all = "camelCase", deny_unknown_fields)]
            #[resource(group = "a.b", version = "v1")]
            struct A {
                metadata: ObjectMeta,
                feeding_time: String,
            }
        ),
        parse_quote!(
            #[resource(group = "a.b", version = "v1")]
            struct A {
                metadata: ObjectMeta,
                #[serde(default, rename = "feeding_time")]
                feeding_time: String,
            }
        ),
        parse_quote!(
            #[resource(group = "a.b", version = "v1", storage = Reviews)]
            struct A {
                metadata: ObjectMeta,
                status: Option<String>,
            }
        ),
    ] {
        model(&renamed);
    }
}

#[test]
fn words_of_other_derives_are_refused_with_what_to_write() {
    let messages = complaints(&parse_quote! {
        #[resource(group = "a.b", version = "v1", namespaced, shortname = "enc", status = "Status", printcolumn = "{}")]
        pub struct Enclosure { pub metadata: ObjectMeta }
    });
    let expected =
        ["unless they say `cluster`", "`short = ", "`#[resource(status)] pub status", "`column(\"Heading\""];
    assert_eq!(messages.len(), expected.len(), "{messages:#?}");
    for (message, expected) in messages.iter().zip(expected) {
        assert!(message.contains(expected), "{message} should contain {expected}");
    }
}

#[test]
fn names_follow_kubernetes() {
    let plurals = [
        ("Pod", "pods"),
        ("Endpoints", "endpoints"),
        ("EndpointSlice", "endpointslices"),
        ("Ingress", "ingresses"),
        ("NetworkPolicy", "networkpolicies"),
        ("Gateway", "gateways"),
        ("Box", "boxes"),
        ("ComponentStatus", "componentstatuses"),
        ("PriorityClass", "priorityclasses"),
    ];
    for (kind, plural) in plurals {
        assert_eq!(names::plural_of(kind), plural);
    }
    let prefixes = [
        ("", "pods", "pods"),
        ("", "nodes", "minions"),
        ("apps", "deployments", "deployments"),
        ("networking.k8s.io", "ingresses", "ingress"),
        ("apiregistration.k8s.io", "apiservices", "apiregistration.k8s.io/apiservices"),
        ("zoo.example.dev", "nodes", "zoo.example.dev/nodes"),
    ];
    for (group, plural, prefix) in prefixes {
        assert_eq!(names::default_storage_prefix(group, plural), prefix);
    }
    for (version, good) in
        [("v1", true), ("v2beta3", true), ("v0", false), ("1", false), ("v1rc1", false), ("v1beta", false)]
    {
        assert_eq!(names::is_version(version), good, "{version}");
    }
}

#[test]
fn annotated_structs_are_recognised() {
    assert!(is_annotated(&parse_quote!(
        #[derive(Clone, registry_derive::Resource)]
        struct A;
    )));
    assert!(!is_annotated(&parse_quote!(
        #[derive(Clone, Debug)]
        struct A;
    )));
}
