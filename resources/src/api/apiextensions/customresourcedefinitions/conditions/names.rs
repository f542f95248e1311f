//! Accepts the names of definitions: no two definitions of a group may have the same.

use std::collections::{BTreeSet, HashMap, HashSet};

use registry_core::api::Object;
use registry_core::api::go_text::{aggregate, quote};
use resource_views::apiextensions::v1::{
    CustomResourceDefinition, CustomResourceDefinitionNames, CustomResourceDefinitionNamesMut,
};
use resource_views::slot::Slot;
use resource_views::{List, Text};
use serde_json::{Map, Value};

use super::super::view::condition as condition_of;
use super::{Condition, ESTABLISHED, FALSE, NAMES_ACCEPTED, StatusChange, TRUE, is_established};

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
        let status = CustomResourceDefinition(definition).status();
        let accepted = status.accepted_names();
        let collect = |names: &mut dyn Iterator<Item = &str>| {
            let all: BTreeSet<&str> = names.filter(|name| !name.is_empty()).collect();
            all.into_iter().map(str::to_owned).collect()
        };
        let resources = [accepted.plural().text(), accepted.singular().text()].into_iter();
        Self {
            group: CustomResourceDefinition(definition).spec().group().text().to_owned(),
            resources: collect(&mut resources.chain(accepted.short_names().texts())),
            kinds: collect(&mut [accepted.kind().text(), accepted.list_kind().text()].into_iter()),
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
    let spec = CustomResourceDefinition(definition).spec();
    let status = CustomResourceDefinition(definition).status();
    let (requested, accepted) = (spec.names(), status.accepted_names());
    if normalised(requested.value()) == normalised(accepted.value()) {
        return None;
    }
    let decision = decide(spec.group().text(), &requested, &accepted, in_use);
    let condition = match decision.conflict {
        Some((reason, message)) => Condition::new(NAMES_ACCEPTED, FALSE, reason, message),
        None => Condition::new(NAMES_ACCEPTED, TRUE, "NoConflicts", "no conflicts found"),
    };
    let names = Value::Object(decision.names);
    if normalised(Some(&names)) == normalised(accepted.value()) && condition.is_met(definition) {
        return None;
    }
    let mut change = StatusChange { accepted_names: Some(names), ..StatusChange::default() };
    let is_accepted = condition.status == TRUE;
    change.conditions.push(condition);
    if !is_established(definition) && is_accepted {
        let message = "the initial names have been accepted";
        change.conditions.push(Condition::new(ESTABLISHED, FALSE, "Installing", message));
    } else if condition_of(definition, ESTABLISHED).is_none() {
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

/// The reason and the message of a conflict.
type Conflict = (&'static str, String);

/// The names that a definition gets.
struct Decision {
    names: Map<String, Value>,
    /// The last conflict.
    conflict: Option<Conflict>,
}

fn decide(
    group: &str,
    requested: &CustomResourceDefinitionNames<'_, '_>,
    accepted: &CustomResourceDefinitionNames<'_, '_>,
    in_use: &NamesInUse,
) -> Decision {
    let is_resource = |name: &str| in_use.has_resource(group, name);
    let is_kind = |name: &str| in_use.has_kind(group, name);
    let mut names = accepted.value().and_then(Value::as_object).cloned().unwrap_or_default();
    let mut taken = CustomResourceDefinitionNamesMut(&mut names);
    let take = |place: Slot<'_, Text<'static, 'static>>,
                wanted: &Text<'_, '_>,
                present: &Text<'_, '_>,
                reason: &'static str,
                is_used: &dyn Fn(&str) -> bool| {
        if wanted.text() != present.text() && is_used(wanted.text()) {
            return Some((reason, conflict(wanted.text())));
        }
        place.copy_from(wanted);
        None
    };
    let conflicts = [
        take(taken.plural(), &requested.plural(), &accepted.plural(), "PluralConflict", &is_resource),
        take(taken.singular(), &requested.singular(), &accepted.singular(), "SingularConflict", &is_resource),
        take_short_names(taken.short_names(), &requested.short_names(), &accepted.short_names(), is_resource),
        take(taken.kind(), &requested.kind(), &accepted.kind(), "KindConflict", &is_kind),
        take(taken.list_kind(), &requested.list_kind(), &accepted.list_kind(), "ListKindConflict", &is_kind),
    ];
    taken.categories().copy_from(&requested.categories());
    Decision { names, conflict: conflicts.into_iter().flatten().last() }
}

/// Takes the short names unless new ones are in use.
fn take_short_names(
    place: Slot<'_, List<Text<'static, 'static>>>,
    wanted: &List<Text<'_, '_>>,
    present: &List<Text<'_, '_>>,
    is_used: impl Fn(&str) -> bool,
) -> Option<Conflict> {
    if wanted.values() == present.values() {
        return None;
    }
    let own: HashSet<&str> = present.texts().collect();
    let added = wanted.texts().filter(|name| !own.contains(name));
    let used: Vec<String> = added.filter(|name| is_used(name)).map(conflict).collect();
    if !used.is_empty() {
        return Some(("ShortNamesConflict", aggregate(used)));
    }
    place.copy_from(wanted);
    None
}

fn conflict(name: &str) -> String {
    format!("{} is already in use", quote(name))
}
