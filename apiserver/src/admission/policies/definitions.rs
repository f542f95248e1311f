//! The parts of policies and bindings that both kinds share.

use std::fmt;

use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{Object, split_api_version};
use serde_json::Value;

use crate::admission::matching::MatchCriteria;

/// A compiled policy.
pub(super) struct Policy<E> {
    /// The policy's name.
    pub(super) name: String,
    /// The writes that it matches.
    pub(super) criteria: MatchCriteria,
    /// Whether what fails is ignored, instead of refusing the write.
    pub(super) ignores_failures: bool,
    /// The kind of its parameters.
    pub(super) param_kind: Option<ParamKind>,
    /// Its compiled expressions.
    pub(super) evaluator: E,
}

/// A binding of a policy.
pub(super) struct Binding<X> {
    /// The binding's name.
    pub(super) name: String,
    /// The name of the policy.
    pub(super) policy: String,
    /// The writes that it matches, of those that the policy matches; all of them if `None`.
    pub(super) criteria: Option<MatchCriteria>,
    /// The parameters.
    pub(super) params: Option<ParamRef>,
    /// The fields that only this kind of binding has.
    pub(super) extra: X,
}

/// The kind of a policy's parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ParamKind {
    pub(super) group: String,
    pub(super) version: String,
    pub(super) kind: String,
}

/// The parameters of a binding.
#[derive(Debug)]
pub(super) struct ParamRef {
    /// The namespace; that of the write if it is empty.
    pub(super) namespace: String,
    /// Which objects of the kind.
    pub(super) which: Selection,
    /// Whether it is a failure if there are none.
    pub(super) denies_absent: bool,
}

/// Which objects are parameters.
#[derive(Debug)]
pub(super) enum Selection {
    /// One.
    Named(String),
    /// All with these labels.
    Labelled(Result<LabelSelector, SelectorError>),
    /// None: the API does not accept such references.
    None,
}

/// Returns the elements of a list; none if it is absent.
pub(super) fn elements<'s>(value: &'s Value, field: &str) -> impl Iterator<Item = &'s Value> + use<'s> {
    value.get(field).and_then(Value::as_array).into_iter().flatten()
}

/// Returns a text; empty if it is absent.
pub(super) fn text<'s>(value: &'s Value, field: &str) -> &'s str {
    value.get(field).and_then(Value::as_str).unwrap_or_default()
}

// === impl Policy ===

impl<E> Policy<E> {
    /// Reads a policy. `evaluator` compiles its expressions.
    pub(super) fn new(object: &Object, evaluator: impl FnOnce(&Value, bool) -> E) -> Self {
        let spec = object.0.get("spec").unwrap_or(&Value::Null);
        let param_kind = spec.get("paramKind").filter(|kind| kind.is_object()).map(ParamKind::from_value);
        Self {
            name: object.name().to_owned(),
            criteria: MatchCriteria::from_match_resources(
                spec.get("matchConstraints").unwrap_or(&Value::Null),
            ),
            ignores_failures: text(spec, "failurePolicy") == "Ignore",
            evaluator: evaluator(spec, param_kind.is_some()),
            param_kind,
        }
    }
}

// === impl Binding ===

impl<X> Binding<X> {
    /// Reads a binding.
    pub(super) fn new(object: &Object, extra: X) -> Self {
        let spec = object.0.get("spec").unwrap_or(&Value::Null);
        let part = |field: &str| spec.get(field).filter(|part| part.is_object());
        Self {
            name: object.name().to_owned(),
            policy: text(spec, "policyName").to_owned(),
            criteria: part("matchResources").map(MatchCriteria::from_match_resources),
            params: part("paramRef").map(ParamRef::from_value),
            extra,
        }
    }
}

// === impl ParamKind ===

impl ParamKind {
    fn from_value(kind: &Value) -> Self {
        let api_version = text(kind, "apiVersion");
        let (group, version) = split_api_version(api_version);
        Self { group: group.to_owned(), version: version.to_owned(), kind: text(kind, "kind").to_owned() }
    }
}

/// Formats the kind as messages show it: `apps/v1, Kind=Deployment`.
impl fmt::Display for ParamKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}, Kind={}", self.group, self.version, self.kind)
    }
}

// === impl ParamRef ===

impl ParamRef {
    fn from_value(reference: &Value) -> Self {
        let selector = reference.get("selector").filter(|selector| selector.is_object());
        let which = match (text(reference, "name"), selector) {
            ("", Some(selector)) => Selection::Labelled(LabelSelector::from_object(selector)),
            ("", None) => Selection::None,
            (name, _) => Selection::Named(name.to_owned()),
        };
        Self {
            namespace: text(reference, "namespace").to_owned(),
            which,
            denies_absent: text(reference, "parameterNotFoundAction") == "Deny",
        }
    }
}
