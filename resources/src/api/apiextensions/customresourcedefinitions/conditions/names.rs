//! Accepts the names of definitions: no two definitions of a group may have the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use registry_core::api::Object;
use registry_core::api::go_text::aggregate;
use serde_json::{Map, Value};

use super::super::view::{self, has_condition};
use super::{Condition, ESTABLISHED, FALSE, NAMES_ACCEPTED, StatusChange, TRUE, find};

/// The accepted names of all definitions, by group. The cost of a change depends only on the changed definition.
#[derive(Clone, Debug, Default)]
pub struct NamesInUse {
    groups: HashMap<String, GroupNames>,
    /// The names that each definition contributes.
    claims: HashMap<String, Claim>,
}

/// The names in one group, with the number of definitions that have them.
#[derive(Clone, Debug, Default)]
struct GroupNames {
    resources: HashMap<String, usize>,
    kinds: HashMap<String, usize>,
    definitions: BTreeSet<String>,
}

#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Claim {
    group: String,
    resources: Vec<String>,
    kinds: Vec<String>,
}

// === impl NamesInUse ===

impl NamesInUse {
    /// Adds a definition, or replaces the names that it contributed. Returns whether the definition gave a name back:
    /// another definition of its group may request that name.
    pub fn update(&mut self, definition: &Object) -> bool {
        let claim = Claim::from_definition(definition);
        let name = definition.name();
        if self.claims.get(name) == Some(&claim) {
            return false;
        }
        let before = self.withdraw(name);
        let gave_back = before.is_some_and(|before| !before.is_within(&claim));
        let group = self.groups.entry(claim.group.clone()).or_default();
        group.definitions.insert(name.to_owned());
        claim.resources.iter().for_each(|name| *group.resources.entry(name.clone()).or_default() += 1);
        claim.kinds.iter().for_each(|name| *group.kinds.entry(name.clone()).or_default() += 1);
        self.claims.insert(name.to_owned(), claim);
        gave_back
    }

    /// Removes a definition that is gone. Returns whether it gave a name back.
    pub fn remove(&mut self, name: &str) -> bool {
        self.withdraw(name).is_some_and(|claim| !claim.resources.is_empty() || !claim.kinds.is_empty())
    }

    /// Returns the names of the definitions in a group.
    pub fn definitions_in(&self, group: &str) -> impl Iterator<Item = &str> {
        let found = self.groups.get(group).into_iter();
        found.flat_map(|group| group.definitions.iter().map(String::as_str))
    }

    fn withdraw(&mut self, name: &str) -> Option<Claim> {
        let claim = self.claims.remove(name)?;
        let Some(group) = self.groups.get_mut(&claim.group) else { return Some(claim) };
        group.definitions.remove(name);
        claim.resources.iter().for_each(|name| decrement(&mut group.resources, name));
        claim.kinds.iter().for_each(|name| decrement(&mut group.kinds, name));
        if group.definitions.is_empty() {
            self.groups.remove(&claim.group);
        }
        Some(claim)
    }

    fn has_resource(&self, group: &str, name: &str) -> bool {
        self.groups.get(group).is_some_and(|group| group.resources.contains_key(name))
    }

    fn has_kind(&self, group: &str, name: &str) -> bool {
        self.groups.get(group).is_some_and(|group| group.kinds.contains_key(name))
    }
}

fn decrement(counts: &mut HashMap<String, usize>, name: &str) {
    if let Some(count) = counts.get_mut(name) {
        *count -= 1;
        if *count == 0 {
            counts.remove(name);
        }
    }
}

impl Claim {
    fn from_definition(definition: &Object) -> Self {
        let accepted = view::get(definition.0.get("status"), "acceptedNames");
        let collect = |fields: [&str; 2], list: &[Value]| {
            let single = fields.map(|field| view::text(accepted, field)).into_iter();
            let all: BTreeSet<&str> = single.chain(list.iter().filter_map(Value::as_str)).collect();
            all.into_iter().filter(|name| !name.is_empty()).map(str::to_owned).collect()
        };
        Self {
            group: view::text(definition.0.get("spec"), "group").to_owned(),
            resources: collect(["plural", "singular"], view::list(accepted, "shortNames")),
            kinds: collect(["kind", "listKind"], &[]),
        }
    }

    /// Whether another claim has all names of this one.
    fn is_within(&self, other: &Self) -> bool {
        let has = |names: &[String], name: &String| names.binary_search(name).is_ok();
        self.group == other.group
            && self.resources.iter().all(|name| has(&other.resources, name))
            && self.kinds.iter().all(|name| has(&other.kinds, name))
    }
}

// === the decision ===

/// Decides which of its names a definition gets; `None` if nothing is to change. The names in use include its own.
pub fn name_conditions(definition: &Object, in_use: &NamesInUse) -> Option<StatusChange> {
    let requested = view::get(definition.0.get("spec"), "names");
    let accepted = view::get(definition.0.get("status"), "acceptedNames");
    if normalised(requested) == normalised(accepted) {
        return None;
    }
    let decision = decide(definition, requested, accepted, in_use);
    let condition = match decision.conflict {
        Some((reason, message)) => Condition::new(NAMES_ACCEPTED, FALSE, reason, message),
        None => Condition::new(NAMES_ACCEPTED, TRUE, "NoConflicts", "no conflicts found"),
    };
    let names = Value::Object(decision.names);
    if normalised(Some(&names)) == normalised(accepted) && condition.is_met(definition) {
        return None;
    }
    let mut change = StatusChange { accepted_names: Some(names), ..StatusChange::default() };
    let is_accepted = condition.status == TRUE;
    change.conditions.push(condition);
    if !has_condition(definition, ESTABLISHED, TRUE) && is_accepted {
        let message = "the initial names have been accepted";
        change.conditions.push(Condition::new(ESTABLISHED, FALSE, "Installing", message));
    } else if find(definition, ESTABLISHED).is_none() {
        let message = "not all names are accepted";
        change.conditions.push(Condition::new(ESTABLISHED, FALSE, "NotAccepted", message));
    }
    Some(change)
}

/// Names without those that are unset.
fn normalised(names: Option<&Value>) -> Map<String, Value> {
    let fields = names.and_then(Value::as_object).into_iter().flatten();
    let set = fields.filter(|(_, value)| match value {
        Value::Null => false,
        Value::String(text) => !text.is_empty(),
        Value::Array(list) => !list.is_empty(),
        _ => true,
    });
    set.map(|(name, value)| (name.clone(), value.clone())).collect()
}

/// The names that a definition gets.
struct Decision {
    names: Map<String, Value>,
    /// The last conflict: its reason and message.
    conflict: Option<(&'static str, String)>,
}

fn decide(
    definition: &Object,
    requested: Option<&Value>,
    accepted: Option<&Value>,
    in_use: &NamesInUse,
) -> Decision {
    let group = view::text(definition.0.get("spec"), "group");
    let names = accepted.and_then(Value::as_object).cloned().unwrap_or_default();
    let mut decision = Decision { names, conflict: None };
    for (field, reason) in [("plural", "PluralConflict"), ("singular", "SingularConflict")] {
        decision.single(field, reason, requested, accepted, |name| in_use.has_resource(group, name));
    }
    let short = view::list(requested, "shortNames");
    if short != view::list(accepted, "shortNames") {
        let own: HashSet<&Value> = view::list(accepted, "shortNames").iter().collect();
        let wanted = short.iter().filter(|name| !own.contains(name)).filter_map(Value::as_str);
        let taken: Vec<String> =
            wanted.filter(|name| in_use.has_resource(group, name)).map(conflict).collect();
        if taken.is_empty() {
            decision.take("shortNames", requested);
        } else {
            decision.conflict = Some(("ShortNamesConflict", aggregate(taken)));
        }
    }
    for (field, reason) in [("kind", "KindConflict"), ("listKind", "ListKindConflict")] {
        decision.single(field, reason, requested, accepted, |name| in_use.has_kind(group, name));
    }
    decision.take("categories", requested);
    decision
}

fn conflict(name: &str) -> String {
    format!("{name:?} is already in use")
}

impl Decision {
    /// Takes a name unless it is new and in use.
    fn single(
        &mut self,
        field: &'static str,
        reason: &'static str,
        requested: Option<&Value>,
        accepted: Option<&Value>,
        is_used: impl Fn(&str) -> bool,
    ) {
        let wanted = view::text(requested, field);
        if wanted != view::text(accepted, field) && is_used(wanted) {
            self.conflict = Some((reason, conflict(wanted)));
        } else {
            self.take(field, requested);
        }
    }

    fn take(&mut self, field: &str, requested: Option<&Value>) {
        match view::get(requested, field) {
            Some(value) => self.names.insert(field.to_owned(), value.clone()),
            None => self.names.remove(field),
        };
    }
}
