//! Schemas that are wrong: the server does not start.

use apiserver::testing::TestServer;
use registry_core::registry::StorageMap;

use super::{Deserialize, JsonSchema, Main, ObjectMeta, Resource, Serialize};

/// Declares a kind with one field, and its storage map.
macro_rules! kind {
    ($module:ident, $(#[$attribute:meta])* $name:ident: $ty:ty) => {
        mod $module {
            use super::*;

            #[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug)]
            #[serde(rename_all = "camelCase")]
            #[resource(group = "wrong.example.dev", version = "v1", kind = "Wrong", plural = "wrongs")]
            struct Wrong {
                metadata: ObjectMeta,
                spec: WrongSpec,
            }

            #[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
            struct WrongSpec {
                $(#[$attribute])*
                $name: $ty,
            }

            registry_core::storage_map! {
                pub(super) static MAP = {
                    "wrong.example.dev" => {
                        "v1" => { "wrongs" => Main<Wrong>, },
                    },
                };
            }
        }
    };
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
struct Item {
    name: String,
}

#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug)]
#[schemars(extend("x-kubernetes-validations" = [{"rule": "self.name != ''"}]))]
struct Folder {
    name: String,
    folders: Option<Vec<Folder>>,
}

fn wrong_default() -> String {
    "ada".to_owned()
}

kind!(misspelt_field, #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.max_trucks > 1"}]))] items: Item);
kind!(syntax, #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.name.size( > 1"}]))] items: Item);
kind!(rule_extension, #[schemars(extend("x-kubernetes-validation" = [{"rule": "true"}]))] items: Item);
kind!(
    too_dear,
    #[schemars(extend("x-kubernetes-validations" = [{"rule": "self.all(a, self.all(b, a.name != b.name))"}]))]
    items: Vec<Item>
);
kind!(pattern, #[schemars(regex(pattern = "^[a-z+$"))] items: String);
kind!(look_ahead, #[schemars(regex(pattern = "^(?=a)"))] items: String);
kind!(
    list_key,
    #[schemars(extend("x-kubernetes-list-type" = "map", "x-kubernetes-list-map-keys" = ["nam"]))]
    items: Vec<Item>
);
kind!(list_type, #[schemars(extend("x-kubernetes-list-type" = "mapp"))] items: Vec<Item>);
kind!(default, #[serde(default = "wrong_default")] #[schemars(length(max = 2))] items: String);
kind!(snake_case, #[serde(default)] max_items: i32);
kind!(recursion, items: Folder);
kind!(condition, #[schemars(extend("if" = {"minLength": 1}))] items: String);

/// The maps, and the line that says what is wrong with each.
const MISTAKES: [(&StorageMap, &str); 12] = [
    (
        &misspelt_field::MAP,
        "WrongSpec.items (Item): x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.max_trucks ",
    ),
    (
        &syntax::MAP,
        "WrongSpec.items (Item): x-kubernetes-validations[0].rule: Invalid value: {\"Rule\":\"self.name.size( ",
    ),
    (
        &rule_extension::MAP,
        "WrongSpec.items (Item): Unsupported value: \"x-kubernetes-validation\": supported values: ",
    ),
    (&too_dear::MAP, "WrongSpec.items: x-kubernetes-validations[0].rule: Forbidden: "),
    (
        &pattern::MAP,
        "WrongSpec.items: pattern: Invalid value: \"^[a-z+$\": must be a valid regular expression",
    ),
    (
        &look_ahead::MAP,
        "WrongSpec.items: pattern: Invalid value: \"^(?=a)\": must be a valid regular expression",
    ),
    (&list_key::MAP, "WrongSpec.items: x-kubernetes-list-map-keys: Invalid value: [\"nam\"]: "),
    (&list_type::MAP, "WrongSpec.items: x-kubernetes-list-type: Unsupported value: \"mapp\""),
    (&default::MAP, "WrongSpec.items: default: Too long: "),
    (&snake_case::MAP, "WrongSpec.max_items: Invalid value: \"max_items\": Kubernetes writes camelCase"),
    (
        &recursion::MAP,
        "WrongSpec.items (Folder): x-kubernetes-validations: Forbidden: a type that contains itself",
    ),
    (&condition::MAP, "WrongSpec.items: if: Forbidden: "),
];

#[tokio::test]
async fn a_wrong_schema_is_refused_with_the_struct_and_field() {
    let mut unexpected = Vec::new();
    for (map, wanted) in MISTAKES {
        let outcome =
            TestServer::builder().memory().without_builtin_resources().storage_map(map).start().await;
        let text = outcome.err().map(|error| error.to_string()).unwrap_or_default();
        let kind = "the schema of Wrong (wrong.example.dev/v1, apiserver/tests/server/authored/mistakes.rs:";
        if !text.contains(kind) || !text.contains(&format!("\n  {wanted}")) {
            unexpected.push(format!("wanted {wanted}\nfound  {text}"));
        }
    }
    assert!(unexpected.is_empty(), "{}", unexpected.join("\n"));
}
