//! Entries about `#[resource(…)]`.

use super::Entry;

pub(super) const NAMES: &[Entry] = &[
    Entry::new("group", r#"group = "zoo.example.dev""#, r#"the API group; "" is the core group"#, &["group"])
        .client("Objects are served below `/apis/GROUP/VERSION`. A foreign type may omit it: its group is then the core group.")
        .errors(&[r#"missing `group = "…"`: the API group this resource is served in, for example `zoo.example.dev`"#]),
    Entry::new("version", r#"version = "v1""#, "the API version", &["version"])
        .client("With the group it is the `apiVersion` of objects. Discovery sorts versions as Kubernetes does, `v1` before `v1beta1`.")
        .errors(&["not an API version: expected `v1`, `v1beta1` or the like", "Unknown field: `versions`. Did you mean `version`?"]),
    Entry::new("kind", r#"kind = "…""#, "the `kind` of objects", &["kind"])
        .client("The list's kind is the same with `List`. The default is the struct's name, or that of the foreign type.")
        .errors(&[r#"`cage` is not a kind: name the struct in CamelCase, or give the kind, `kind = "Enclosure"`"#]),
    Entry::new("plural", r#"plural = "…""#, "the resource's name in paths, rules and `kubectl`", &["plural"])
        .client("The default is the plural of the kind in lower case: `enclosures`, `policies`, `ingresses`."),
    Entry::new("singular", r#"singular = "…""#, "the name of one object in `kubectl`", &["singular"])
        .client("The default is the kind in lower case."),
    Entry::new("short", r#"short = "enc" | short("enc", "pen")"#, "short names that `kubectl` accepts", &["short"])
        .client("`kubectl get enc` reads them from discovery.")
        .errors(&[
            r#"short names are written `short = "…"` or `short("…", "…")`"#,
            "`pens` is the resource's own name already: leave this short name out",
            "expected a string literal",
        ]),
    Entry::new("categories", r#"categories("all")"#, "groups of resources in `kubectl get`", &["categories"])
        .client("`kubectl get all` includes the resource.")
        .errors(&[r#"categories are written `categories("all")`"#]),
    Entry::new("scope", "scope = namespaced | scope = cluster", "whether objects belong to a namespace, the default", &["scope"])
        .client("Namespaced objects are served below `namespaces/NAME`, and are removed with their namespace.")
        .errors(&[
            "expected `scope = cluster` or `scope = namespaced`",
            "resources are namespaced unless they say `cluster`: leave this out",
        ]),
    Entry::new("cluster", "cluster", "short for `scope = cluster`", &["cluster"])
        .client("Objects belong to no namespace; `kubectl` takes no `--namespace` for them."),
    Entry::new("storage_prefix", r#"storage_prefix = "…""#, "keys in the store; the default is kube-apiserver's", &["storage_prefix"])
        .client("No effect for clients. A changed prefix hides the objects that are stored below the former one."),
    Entry::new("off_by_default", "off_by_default", "served only if `--runtime-config` enables it", &["off_by_default"])
        .client("Without the flag, discovery does not have it and requests are answered with 404."),
    Entry::new("feature_gate", "feature_gate = Name", "served only while this `Feature` is enabled", &["feature_gate"])
        .client("`--feature-gates=Name=false` removes it. The features are Kubernetes', those of `registry_core::features`."),
    Entry::new("introduced", r#"introduced = "1.34""#, "the first release of Kubernetes that serves this version", &["introduced"])
        .client("A server that emulates an earlier release does not serve it, and stores objects in another version."),
    Entry::new("removed", r#"removed = "1.34""#, "the first release of Kubernetes that no longer serves this version", &["removed"])
        .client("Only a server that emulates an earlier release serves it."),
    Entry::new("hub", "hub = Type", "the version that is stored, on every other version", &["hub"])
        .client(
            "All versions show the same objects. `TryFrom` or `From` in both directions converts them; for foreign types `Spoke` does. \
             Validation, storage and indexes are those of the hub. `=>` names the field of the hub that a selector reads.",
        )
        .errors(&[
            "`EnclosureV1beta1` is not made from `Enclosure`, which `hub = …` needs",
            "`Foreign` has a `hub = …`, but no conversion",
            "a version cannot be its own hub: `hub = …` names the version that is stored; leave it out here",
            "a spoke is written by the rules of its hub: leave this out",
        ]),
    Entry::new("same_fields", "same_fields", "of a version with a `hub`: it has the same fields", &["same_fields"])
        .client("Nothing is converted, and the defaults are those of the hub.")
        .errors(&["this is what the stored version has: there is no `hub = …`"]),
    Entry::new(
        "retired",
        r#"retired("GROUP/VERSION", "GROUP/VERSION" => path::to::function, "GROUP/VERSION" => try path::to::function)"#,
        "versions in which objects may be stored although they are not served any more",
        &["retired"],
    )
    .client(
        "Such an object is read as one of this version, and stored as one with its next change. The function changes what differs \
         beside the name of the version: `fn(&mut Object)`, and with `try` `fn(&mut Object, &Budget) -> Result<(), Exhausted>`. An \
         object in any other version cannot be read.",
    )
    .errors(&[
        "not an `apiVersion`: expected `example.dev/v1alpha1` or the like",
        "this is the version that is served",
        "this version is given twice",
    ]),
    Entry::new("deprecated", r#"deprecated = "…""#, "the warning that clients of this version get", &["deprecated"])
        .client("Every request of the version is answered with it in the header `Warning`, counted and noted in the audit log."),
];

pub(super) const PARTS: &[Entry] = &[
    Entry::new("object", "object = path::To::Foreign", "a unit struct stands for this type", &["object"])
        .client("No effect for clients. Kubernetes' own kinds are declared so, over the types of `k8s_openapi`.")
        .errors(&[
            "a unit struct stands for a foreign type: say which with `object = path::To::Type`, or give the struct \
             `metadata: ObjectMeta` and its own fields",
        ]),
    Entry::new("schema", "schema = path::to::function", "`fn() -> Schema`; the default comes from `JsonSchema`", &["schema"])
        .client("Validation, defaults, OpenAPI and `kubectl explain` follow it.")
        .errors(&["`Enclosure` has no schema"]),
    Entry::new("status", "status", "of a foreign type: it has a `status` subresource", &["status"])
        .client("`…/status` serves `get`, `patch` and `update`. Writes of the object leave its status as it is.")
        .errors(&["the status is a field of the struct: `#[resource(status)] pub status: Option<Type>`"]),
    Entry::new("status on a field", "#[resource(status)] status: Option<Status>", "this field is the status", &["status_field"])
        .client(
            "As `status`, and `metadata.generation` counts the changes of everything but metadata and status. \
             A new object has no status, whatever the client sent.",
        )
        .errors(&[
            "mark the status, `#[resource(status)]`, so that its subresource alone writes it",
            "the field of the status is called `status`",
            "a new object has no status yet: write `Option<…>`",
        ]),
    Entry::new("generation", "generation", "of a foreign type: `metadata.generation` counts changes", &["generation"])
        .client("An own struct counts them if it has a status or a scale."),
    Entry::new(
        "selectable",
        r#"selectable(FIELD, FIELD as "name", FIELD or FIELD as "name", FIELD => FIELD_OF_THE_HUB)"#,
        "fields of field selectors",
        &["selectable"],
    )
    .client(
        "`kubectl get enc --field-selector spec.keeper=ada` selects by them, in lists, watches and deletions of collections. \
         A type has to be a string, an integer, a boolean or an enum without data, also in an `Option`.",
    )
    .errors(&[
        "`selectable(…)` cannot name a `Vec<std::string::String>`",
        "`selectable(…)` cannot name a `f64`",
        "no field `keper` on type `&Spec`",
    ]),
    Entry::new("index", "index(FIELD)", "a selectable field by which lists and watches are looked up", &["index"])
        .client("The same results, without a look at every object.")
        .errors(&[
            "`spce` is not selectable: did you mean `spec`?",
            "only selectable fields can be indexed: add `spec.phase` to `selectable(…)`",
        ]),
    Entry::new(
        "column",
        r#"column("Heading", FIELD, type = integer, format = name, priority = 1, description = "…")"#,
        "a column of `kubectl get`",
        &["column"],
    )
    .client("Columns stand between `NAME` and `AGE`, in this order. Those with a priority above 0 appear with `-o wide` only.")
    .errors(&[
        r#"columns are written `column("Heading", spec.field, type = integer)`"#,
        "a column of type `integer` cannot show a `bool`",
        "a column of type `string` cannot show a `i32`",
        "no field `replicsa` on type `&DeploymentSpec`",
    ]),
    Entry::new("columns", "columns = path::TO_SLICE", "`&'static [Column]`, for computed cells", &["columns"])
        .client("The whole table, `Name` and `Age` too."),
    Entry::new("row_conditions", "row_conditions = path::to::function", "`fn(&Object) -> &'static [RowCondition]`", &["row_conditions"])
        .client("Rows of a table have these conditions, for example `Completed`."),
    Entry::new("scale", "scale(replicas = FIELD, current = FIELD, selector = FIELD)", "the `scale` subresource", &["scale"])
        .client("`kubectl scale` and horizontal pod autoscalers work. `selector` may be omitted; autoscalers need it.")
        .errors(&["a replica count cannot be a `std::string::String`", "a label selector cannot be a `i32`"]),
];

pub(super) const BEHAVIOUR: &[Entry] = &[
    Entry::new("names", "names = DnsLabel", "the format of names, a `NameRule`; the default is `DnsSubdomain`", &["names"])
        .client("A name of another format is refused with 422.")
        .errors(&["no variant or associated item named `Zork` found for enum `NameRule` in the current scope"]),
    Entry::new("unconditional_update", "unconditional_update = false", "an update must have a resource version", &["unconditional_update"])
        .client("An update without `metadata.resourceVersion` is refused with 422. Otherwise it is the last write that wins.")
        .errors(&["updates need no resource version unless `unconditional_update = false`: leave this out"]),
    Entry::new("create_on_update", "create_on_update", "an update of an absent object creates it", &["create_on_update"])
        .client("PUT of a name that does not exist is answered with 201. The client needs the verb `create` too."),
    Entry::new("plain_finalizers", "plain_finalizers", "of a foreign type: finalizers need no domain", &["plain_finalizers"])
        .client("`metadata.finalizers` accepts `mine` beside `example.dev/mine`. An own struct always does.")
        .errors(&["this is so for every kind that is not a type of Kubernetes: leave it out"]),
    Entry::new(
        "metadata_errors_once",
        "metadata_errors_once",
        "of a foreign type: a change's metadata are validated once",
        &["metadata_errors_once"],
    )
    .client("Errors of metadata appear once in the answer to an update, where most of Kubernetes' kinds repeat them.")
    .errors(&["this is so for every kind that is not a type of Kubernetes: leave it out"]),
    Entry::new("reset", "reset(FIELD)", "fields that writes of the object leave as they are", &["reset"])
        .client("Server-side apply gives such a field no manager; `prepare_for_update` of the strategy restores it. The status needs no word.")
        .errors(&["no field `label` on type `&ObjectMeta`"]),
    Entry::new("reset_by_status", "reset_by_status(FIELD)", "fields that writes of `status` leave as they are", &["reset_by_status"])
        .client("A write of `status` restores those of the metadata; `prepare_for_status_update` restores others. Of an own struct, all but the status is restored without this.")
        .errors(&["`spec` is given twice"]),
    Entry::new("strategy", "strategy = Type | strategy = hub", "implements `Strategy`, or `ObjectStrategy`; or the defaults of the hub", &["strategy"])
        .client(
            "Preparation, validation and warnings in Rust. Errors are answered with 422, all together, each with its field. \
             `hub` sets the defaults of the stored version, whose rules apply anyway.",
        )
        .errors(&["`NotAStrategy` is not a strategy"]),
    Entry::new(
        "subresource",
        "subresource(Type, verbs(connect, create, delete, get, patch, update))",
        "`Type` implements `Subresource`",
        &["subresource"],
    )
    .client("Served below the object's path, with permissions of its own: `enclosures/handover` in rules of roles.")
    .errors(&[
        "`Feeding` is not a subresource",
        "`SubresourceStore` does not serve the verb `create`",
        "type mismatch resolving `<Feeding as Subresource>::Parent == Keeper`",
    ]),
    Entry::new("storage", "storage = Type", "nothing is stored: `Type` implements `VirtualStorage`", &["storage"])
        .client("The verbs are those that the type's capabilities name, often `create` alone, as of a SubjectAccessReview.")
        .errors(&[
            "nothing of a virtual resource is stored, so it has no `status` subresource: leave out `status`, or `storage = …`",
        ]),
    Entry::new("ttl_seconds", "ttl_seconds = 3600", "time after which objects expire", &["ttl_seconds"])
        .client("Objects are removed by the store after this time, as events are.")
        .errors(&["expected a whole number of seconds without quotes, for example `ttl_seconds = 3600`"]),
    Entry::new("returns_deleted_object", "returns_deleted_object", "a deletion answers with the object", &["returns_deleted_object"])
        .client("The answer is the object in place of a `Status`."),
    Entry::new("without_deletecollection", "without_deletecollection", "DELETE of the collection is not served", &["without_deletecollection"])
        .client("`kubectl delete enc --all` then deletes one by one; discovery does not have the verb."),
];
