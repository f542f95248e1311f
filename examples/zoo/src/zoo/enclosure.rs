//! `zoo.example.dev/v1 Enclosure`: an enclosure of animals and its keeper.
//!
//! Everything that the API server needs is in the attribute: it generates `create`, `get`, `list`, `watch`, `update`,
//! `patch` (including server-side apply), `delete`, the `status` and `scale` subresources, discovery, OpenAPI and the
//! table of `kubectl get`.

use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use registry_core::RequestContext;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::Strategy;
use registry_derive::Resource;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

pub mod handover;

use handover::Handover;

// ANCHOR: struct
/// An enclosure for animals of one species.
#[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
// JSON names follow Kubernetes' camelCase; the paths below use the Rust names and are translated by the same rule.
#[serde(rename_all = "camelCase")]
#[resource(
    // Served at /apis/zoo.example.dev/v1/namespaces/…/enclosures.
    group = "zoo.example.dev",
    version = "v1",
    // Allows `kubectl get enc`; `kubectl get all` includes enclosures.
    short = "enc",
    categories("all"),
    // ANCHOR: selectors
    // Allows `--field-selector spec.keeper=ada`. Paths are tokens, so a typo is a compile error at the right position;
    // `Option` is allowed anywhere in a path.
    selectable(spec.keeper, status.phase),
    // Lists and watches that select by keeper use an index instead of scanning all enclosures.
    index(spec.keeper),
    // ANCHOR_END: selectors
    // ANCHOR: columns
    // Columns of `kubectl get` between the name and the age; those with priority 1 appear only with `-o wide`.
    column("Species", spec.species),
    column("Animals", status.animals, type = integer, description = "How many animals live here now."),
    column("Phase", status.phase),
    column("Keeper", spec.keeper, priority = 1),
    // ANCHOR_END: columns
    // ANCHOR: scale
    // Used by `kubectl scale enclosure north --replicas=3` and by horizontal pod autoscalers.
    scale(replicas = spec.animals, current = status.animals, selector = status.selector),
    // ANCHOR_END: scale
    // Served at …/enclosures/north/handover, with permissions of its own.
    subresource(Handover, verbs(get, update, patch)),
    // Validation and other behaviour specific to enclosures; optional.
    strategy = EnclosureStrategy
)]
pub struct Enclosure {
    /// Standard object metadata.
    pub metadata: ObjectMeta,
    /// The desired state.
    #[serde(default)]
    pub spec: EnclosureSpec,
    // ANCHOR: status
    /// The observed state. The attribute creates the `status` subresource, which writes this field and no other.
    #[resource(status)]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub status: Option<EnclosureStatus>,
    // ANCHOR_END: status
}
// ANCHOR_END: struct

/// The desired state of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureSpec {
    /// The species of the animals, for example `penguin`. Immutable.
    pub species: String,
    /// The desired number of animals.
    #[serde(default)]
    pub animals: i32,
    /// The person responsible for the animals.
    // ANCHOR: cel
    // Rules in CEL as in CustomResourceDefinitions, and other restrictions of single fields, are part of the schema.
    #[schemars(
        length(max = 63),
        extend("x-kubernetes-validations" = [
            {"rule": "self != 'nobody'", "message": "somebody has to look after the animals"},
        ])
    )]
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub keeper: Option<String>,
    // ANCHOR_END: cel
    /// The climate that the animals need, for example `polar`. `v1beta1` does not have this field.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub climate: Option<String>,
}

/// The observed state of an enclosure.
#[derive(Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
#[serde(rename_all = "camelCase")]
pub struct EnclosureStatus {
    /// `Preparing`, `Open` or `Closed`.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub phase: Option<String>,
    /// The current number of animals.
    #[serde(default)]
    pub animals: i32,
    /// The label selector of this enclosure's animals, for autoscalers.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub selector: Option<String>,
}

/// Behaviour on creation and update. Every hook has a default; these three are the most common.
pub struct EnclosureStrategy;

impl Strategy for EnclosureStrategy {
    type Object = Enclosure;

    // ANCHOR: prepare
    /// Normalises a new object before it is validated.
    fn prepare_for_create(&self, _context: &RequestContext, enclosure: &mut Enclosure) {
        enclosure.spec.species = enclosure.spec.species.to_lowercase();
    }
    // ANCHOR_END: prepare

    // ANCHOR: validate
    /// Validates an object. All errors are reported together, each with its field, in a 422 response.
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
    // ANCHOR_END: validate

    // ANCHOR: immutable
    /// Validates an update. The default implementation calls [`Strategy::validate`] only.
    fn validate_update(&self, context: &RequestContext, new: &Enclosure, old: &Enclosure) -> ErrorList {
        let mut errors = self.validate(context, new);
        if new.spec.species != old.spec.species {
            let species = FieldPath::new("spec").child("species");
            errors.push(FieldError::invalid(species, new.spec.species.as_str(), "field is immutable"));
        }
        errors
    }
    // ANCHOR_END: immutable
}

#[cfg(test)]
mod tests {
    use registry_core::Resource as _;
    use registry_core::api::Object;
    use serde_json::json;

    use super::*;

    fn enclosure(species: &str, animals: i32) -> Enclosure {
        Enclosure {
            spec: EnclosureSpec { species: species.to_owned(), animals, ..EnclosureSpec::default() },
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
        assert_eq!(subresources, [None, Some("handover"), Some("scale"), Some("status")]);
    }
}
