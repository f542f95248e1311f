//! `zoo.example.dev/v1 Enclosure`: where animals live, and who looks after them.
//!
//! Everything the API server needs to know is in the attribute: `create`, `get`, `list`, `watch`, `update`, `patch`
//! (server-side apply too), `delete`, the `status` and `scale` subresources, discovery, OpenAPI and `kubectl get`'s
//! table all follow from it.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::Strategy;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// A place where animals of one species live.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
// JSON names are what Kubernetes' are; the paths below are Rust's and are translated by the same rule.
#[serde(rename_all = "camelCase")]
#[resource(
    // Where it is served: /apis/zoo.example.dev/v1/namespaces/…/enclosures.
    group = "zoo.example.dev",
    version = "v1",
    // `kubectl get enc`; and `kubectl get all` shows enclosures too.
    short = "enc",
    categories("all"),
    // `--field-selector spec.keeper=ada`. Paths are tokens: a typo is a compile error under your cursor, and
    // `Option` anywhere on the way is looked into.
    selectable(spec.keeper, status.phase),
    // Lists and watches that select by keeper look their enclosures up instead of going through all of them.
    index(spec.keeper),
    // What `kubectl get` shows between the name and the age; priority 1 is for `-o wide`.
    column("Species", spec.species),
    column("Animals", status.animals, type = integer, description = "How many animals live here now."),
    column("Phase", status.phase),
    column("Keeper", spec.keeper, priority = 1),
    // `kubectl scale enclosure north --replicas=3`, and horizontal pod autoscalers.
    scale(replicas = spec.animals, current = status.animals, selector = status.selector),
    // What is special about enclosures; leave it out if nothing is.
    strategy = EnclosureStrategy
)]
pub struct Enclosure {
    /// Name, namespace, labels, and what else every object has.
    pub metadata: ObjectMeta,
    /// What is wanted.
    #[serde(default)]
    pub spec: EnclosureSpec,
    /// What is. The mark makes the `status` subresource: it alone writes this field, and it writes nothing else.
    #[resource(status)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EnclosureStatus>,
}

/// What is wanted of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureSpec {
    /// The species that lives here, for example `penguin`. It never changes.
    pub species: String,
    /// How many animals shall live here.
    #[serde(default)]
    pub animals: i32,
    /// Who looks after them.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<String>,
}

/// What is known of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureStatus {
    /// `Preparing`, `Open` or `Closed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// How many animals live here now.
    #[serde(default)]
    pub animals: i32,
    /// Which objects are this enclosure's animals: a label selector, as autoscalers read it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// What is special about creating and changing enclosures. Every hook has a default; these are the usual three.
pub struct EnclosureStrategy;

impl Strategy for EnclosureStrategy {
    type Object = Enclosure;

    /// Brings a new object into shape before anything looks at it.
    fn prepare_for_create(&self, _context: &RequestContext, enclosure: &mut Enclosure) {
        enclosure.spec.species = enclosure.spec.species.to_lowercase();
    }

    /// What is wrong with it. All errors are told at once, each with its field; the client gets a 422.
    fn validate(&self, _context: &RequestContext, enclosure: &Enclosure) -> ErrorList {
        let mut errors = ErrorList::default();
        let spec = FieldPath::new("spec");
        if enclosure.spec.species.is_empty() {
            errors.push(FieldError::required(spec.child("species"), ""));
        }
        if enclosure.spec.animals < 0 {
            let detail = "must be greater than or equal to 0";
            errors.push(FieldError::invalid(spec.child("animals"), enclosure.spec.animals, detail));
        }
        errors
    }

    /// What is wrong with a change. Without this hook, a change is held against [`Strategy::validate`] alone.
    fn validate_update(&self, context: &RequestContext, new: &Enclosure, old: &Enclosure) -> ErrorList {
        let mut errors = self.validate(context, new);
        if new.spec.species != old.spec.species {
            let species = FieldPath::new("spec").child("species");
            errors.push(FieldError::invalid(species, new.spec.species.as_str(), "field is immutable"));
        }
        errors
    }
}

#[cfg(test)]
mod tests {
    use registry_core::Resource as _;
    use registry_core::api::Object;
    use serde_json::json;

    use super::*;

    fn enclosure(species: &str, animals: i32) -> Enclosure {
        Enclosure {
            spec: EnclosureSpec { species: species.to_owned(), animals, keeper: None },
            ..Enclosure::default()
        }
    }

    fn fields(errors: &ErrorList) -> Vec<String> {
        errors.0.iter().map(|error| error.field.to_string()).collect()
    }

    #[test]
    fn bad_enclosures_are_refused_with_their_fields() {
        let context = RequestContext::default();
        assert!(EnclosureStrategy.validate(&context, &enclosure("penguin", 3)).is_empty());
        let errors = EnclosureStrategy.validate(&context, &enclosure("", -1));
        assert_eq!(fields(&errors), ["spec.species", "spec.animals"]);
        let moved =
            EnclosureStrategy.validate_update(&context, &enclosure("lion", 1), &enclosure("penguin", 1));
        assert_eq!(fields(&moved), ["spec.species"]);
    }

    #[test]
    fn the_engine_runs_the_hooks_on_what_is_on_the_wire() {
        let context = RequestContext::default();
        let mut object = Object::from_value(json!({
            "apiVersion": "zoo.example.dev/v1", "kind": "Enclosure",
            "metadata": {"name": "north"}, "spec": {"species": "Penguin"},
        }))
        .expect("an object");
        let strategy = (Enclosure::TYPE.strategy)();
        strategy.prepare_for_create(&context, &mut object);
        assert_eq!(object.get_str(&["spec", "species"]), Some("penguin"));
        assert_eq!(object.api_version(), "zoo.example.dev/v1", "typed hooks leave the type alone");
        assert!(strategy.validate(&context, &object).is_empty());
    }

    #[test]
    fn every_path_of_the_enclosure_is_in_the_storage_map() {
        let paths = crate::STORAGE_MAP.versions.iter().flat_map(|version| version.entries);
        let own = paths.filter(|path| path.resource.kind == Enclosure::TYPE.kind);
        let subresources: Vec<_> = own.map(|path| path.subresource).collect();
        assert_eq!(subresources, [None, Some("scale"), Some("status")]);
    }
}
