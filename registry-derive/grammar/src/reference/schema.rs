//! Entries about the attributes that make the schema.

use super::Entry;

pub(super) const SERDE: &[Entry] = &[
    Entry::new("serde(rename_all)", r#"#[serde(rename_all = "camelCase")]"#, "JSON names of all fields", &["rename_all"])
        .client("`opened_at` is `openedAt`. Every type with a field of several words needs it: names in snake_case are refused.")
        .errors(&[
            "`feeding_time` would be `feeding_time` in JSON, where Kubernetes writes camelCase: add \
             `#[serde(rename_all = \"camelCase\")]` to the struct",
        ]),
    Entry::new("serde(rename)", r#"#[serde(rename = "podIP")]"#, "the JSON name of a field", &["rename"])
        .client("A path in `#[resource(…)]` then gives the JSON name too: `status.pod_ip = \"status.podIP\"`.")
        .schema(&[("podIP", r#"{"type":"string"}"#)]),
    Entry::new("Option", "field: Option<T>", "the field may be absent", &["option"])
        .client("It is not `required`. `null` is the absence of the field, and an absent field is not stored.")
        .schema(&[("nickname", r#"{"type":"string"}"#)]),
    Entry::new("serde(default)", r#"#[serde(default)] | #[serde(default = "path")]"#, "the value of an absent field", &["default"])
        .client("The server fills it in when an object is written, before admission. A default has to be valid by the schema.")
        .schema(&[("replicas", r#"{"type":"integer","format":"int32","default":3}"#)]),
    Entry::new(
        "serde(skip_serializing_if)",
        r#"#[serde(skip_serializing_if = "…")]"#,
        "values that the struct does not write",
        &["skip_serializing_if"],
    )
    .client("With `default`, the default is not part of the schema if it is such a value: an absent list stays absent.")
    .schema(&[("toys", r#"{"type":"array","items":{"type":"string"}}"#)]),
    Entry::new("serde(skip)", "#[serde(skip)]", "the field is not part of the API", &["skip"])
        .client("The schema does not have the field, and a client that sends it gets a warning about an unknown field.")
        .schema(&[("cached", "null")]),
    Entry::new("serde(flatten)", "#[serde(flatten)]", "the fields of another struct stand here", &["flatten", "flatten_type"])
        .client("Clients see the fields beside the others. What is flattened of an enum with data is checked against the struct.")
        .schema(&[("row", r#"{"type":"integer","format":"int32"}"#), ("place", "null")]),
    Entry::new("enum", "enum Name { First, Second }", "the values of a string", &["enum", "enum_type"])
        .client("Other values are refused with the list of the supported ones.")
        .schema(&[("climate", r#"{"type":"string","enum":["Tropical","Arctic"]}"#)]),
    Entry::new("serde(tag)", r#"#[serde(tag = "type")]"#, "an enum with data, told apart by a field", &["tag", "tag_type"])
        .client(
            "The schema has the fields of all variants; which belong together is checked against the struct, as for `untagged`, \
             `content` and enums without a tag.",
        )
        .schema(&[(
        "food",
        r#"{"type":"object","properties":{"type":{"type":"string","enum":["hay","fish"]},"bales":{"type":"integer","format":"int32"},"kilograms":{"type":"integer","format":"int32"}},"x-kubernetes-preserve-unknown-fields":true}"#,
    )]),
    Entry::new("BTreeSet", "field: BTreeSet<T>", "a list without duplicates", &["set"])
        .client("`x-kubernetes-list-type` is `set`: duplicates are refused, and server-side apply merges by value.")
        .schema(&[("colors", r#"{"type":"array","items":{"type":"string"},"x-kubernetes-list-type":"set"}"#)]),
];

pub(super) const SCHEMARS: &[Entry] = &[
    Entry::new("schemars(range)", "#[schemars(range(min = 0, max = 9))]", "bounds of a number", &["range"])
        .client("Refused with 422: `spec.visitors in body should be less than or equal to 9`.")
        .schema(&[("visitors", r#"{"type":"integer","format":"int32","minimum":0,"maximum":9}"#)]),
    Entry::new(
        "schemars(length)",
        "#[schemars(length(min = 1, max = 63))]",
        "characters of a string, items of a list",
        &["length"],
    )
    .client("Refused with 422: `spec.species in body should be at least 1 chars long`. At a field of an own type it has no effect: write it at the type.")
    .schema(&[("species", r#"{"type":"string","minLength":1,"maxLength":63}"#)]),
    Entry::new("schemars(regex)", r#"#[schemars(regex(pattern = "^[a-z]+$"))]"#, "a pattern in Go's syntax", &["regex"])
        .client("Refused with 422: `spec.code in body should match '^[a-z]+$'`. A pattern that does not compile ends the start of the server.")
        .schema(&[("code", r#"{"type":"string","pattern":"^[a-z]+$"}"#)]),
    Entry::new("schemars(inner)", "#[schemars(inner(…))]", "restrictions of the elements of a list", &["inner"])
        .client("As those of a single field, with the index in the path.")
        .schema(&[("names", r#"{"type":"array","items":{"type":"string","maxLength":63}}"#)]),
    Entry::new("schemars(with)", r#"#[schemars(with = "Type")]"#, "the schema of another type", &["with"])
        .client("Clients see the other type. The value still has to be one that the field's own type reads.")
        .schema(&[("weight", r#"{"type":"string"}"#)]),
    Entry::new("format", r#"#[schemars(extend("format" = "…"))]"#, "a format that Kubernetes checks", &["format"])
        .client("For example `ipv4`, `cidr`, `uri`, `hostname`, `email`, `uuid`, `date-time`, `duration`, `byte`. Others are ignored, as in Kubernetes.")
        .schema(&[("gateway", r#"{"type":"string","format":"ipv4"}"#)]),
    Entry::new(
        "exclusiveMinimum, exclusiveMaximum, multipleOf",
        r#"#[schemars(extend("exclusiveMinimum" = 0))]"#,
        "further restrictions of numbers",
        &["exclusive"],
    )
    .schema(&[("legs", r#"{"type":"integer","format":"int32","minimum":0,"exclusiveMinimum":true,"multipleOf":3}"#)]),
    Entry::new(
        "minProperties, maxProperties",
        r#"#[schemars(extend("maxProperties" = 9))]"#,
        "numbers of entries of a map",
        &["maxProperties"],
    )
    .client("A bound also lowers the estimated cost of rules in CEL about the map.")
    .schema(&[("labels", r#"{"type":"object","additionalProperties":{"type":"string"},"maxProperties":9}"#)]),
];

pub(super) const EXTENSIONS: &[Entry] = &[
    Entry::new(
        "x-kubernetes-validations",
        r#""x-kubernetes-validations" = [{"rule": "…", "message": "…"}]"#,
        "rules in CEL, of a field or a type",
        &["validations"],
    )
    .client(
        "A rule that is not true is refused with 422 and its message. `self` is the value, `oldSelf` the former one; other keys are \
         `messageExpression`, `reason`, `fieldPath` and `optionalOldSelf`. Names are those of the JSON.",
    )
    .schema(&[(
        "origin",
        r#"{"type":"string","x-kubernetes-validations":[{"rule":"self == oldSelf","message":"is immutable","reason":"FieldValueForbidden"}]}"#,
    )])
    .errors(&[
        "Kubernetes has no `x-kubernetes-validation`: did you mean `x-kubernetes-validations`?",
        "a rule has no `mesage`: did you mean `message`?",
        "a rule needs its expression: `\"rule\": \"self.…\"`",
    ]),
    Entry::new(
        "x-kubernetes-list-type",
        r#""x-kubernetes-list-type" = "atomic" | "set" | "map""#,
        "identity of the elements of a list",
        &["list_type"],
    )
    .client(
        "`map`: elements are told apart by `x-kubernetes-list-map-keys`; duplicates are refused, server-side apply merges \
         elements of several managers. `set`: by value. `atomic`, the default: the list belongs to one manager as a whole.",
    ),
    Entry::new(
        "x-kubernetes-list-map-keys",
        r#""x-kubernetes-list-map-keys" = ["name"]"#,
        "the keys of a list of the type `map`",
        &["list_type"],
    )
    .client("The keys are required fields of the elements, or have defaults."),
    Entry::new(
        "x-kubernetes-map-type",
        r#""x-kubernetes-map-type" = "atomic" | "granular""#,
        "whether an object is replaced as a whole",
        &["map_type"],
    )
    .client("`atomic`: server-side apply gives it one manager. `granular`, the default: each entry has managers of its own.")
    .schema(&[(
        "selector",
        r#"{"type":"object","additionalProperties":{"type":"string"},"x-kubernetes-map-type":"atomic"}"#,
    )]),
    Entry::new(
        "x-kubernetes-preserve-unknown-fields",
        r#""x-kubernetes-preserve-unknown-fields" = true"#,
        "fields that the schema does not have are kept",
        &["preserve"],
    )
    .client("Otherwise they are dropped, with a warning or an error as `fieldValidation` says. A `serde_json::Value` has it by itself.")
    .schema(&[("settings", r#"{"type":"object","x-kubernetes-preserve-unknown-fields":true}"#)]),
    Entry::new(
        "x-kubernetes-int-or-string",
        r#""x-kubernetes-int-or-string" = true"#,
        "an integer or a string",
        &["int_or_string"],
    )
    .client("`IntOrString` of `k8s_openapi` has it by itself.")
    .schema(&[("port", r#"{"x-kubernetes-int-or-string":true}"#)]),
    Entry::new(
        "x-kubernetes-embedded-resource",
        r#""x-kubernetes-embedded-resource" = true"#,
        "the value is a whole object",
        &["embedded"],
    )
    .client("`apiVersion` and `kind` are required, and `metadata` are validated as an object's.")
    .schema(&[(
        "template",
        r#"{"type":"object","x-kubernetes-embedded-resource":true,"x-kubernetes-preserve-unknown-fields":true}"#,
    )]),
    Entry::new(
        "x-kubernetes-patch-strategy",
        r#""x-kubernetes-patch-strategy" = "merge" | "replace" | "retainKeys""#,
        "effect of a strategic merge patch on a list or object",
        &["patch"],
    )
    .client("For `kubectl patch --type=strategic`. Without it, a list is replaced."),
    Entry::new(
        "x-kubernetes-patch-merge-key",
        r#""x-kubernetes-patch-merge-key" = "name""#,
        "the key by which a strategic merge patch merges a list",
        &["patch"],
    )
    .client("For `kubectl patch --type=strategic`, beside `x-kubernetes-patch-strategy`."),
    Entry::new("x-orlop-snake-case", r#""x-orlop-snake-case" = true"#, "JSON names in snake_case are intended", &["snake_case"])
        .client("The type's fields keep such names. It is the only extension that is not Kubernetes', and is not shown to clients.")
        .schema(&[(
            "snake",
            r#"{"type":"object","properties":{"cage_number":{"type":"integer","format":"int32"}},"required":["cage_number"]}"#,
        )]),
];
