//! Validation of values.
//!
//! Errors are found as [`Fault`]s, which are formatted in the end: those of alternatives that do not match are
//! discarded. As in Kubernetes, the alternative with the most successful checks explains why none matches.
//!
//! Kubernetes concept: `k8s.io/kube-openapi/pkg/validation/validate`.

use serde_json::{Map, Value};

use registry_meta::budget::Budget;
use registry_meta::{ErrorList, FieldPath};

use super::correlate::{Before, Correlation};
use super::kind::Kind;
use super::node::{Additional, Combined, Flags, Node, NodeId, Rules, SizeRules, Tree};

mod fault;
mod number;
mod place;
mod scalars;

use fault::{Fault, Problem};
use place::Place;

/// Maximum number of faults of a value; more are not reported.
const MAX_FAULTS: usize = 10_000;

/// The outcome of validating a value.
#[derive(Default)]
struct Findings<'a> {
    faults: Vec<Fault<'a>>,
    /// Number of successful checks.
    matches: usize,
}

struct Walk<'a, 'b> {
    tree: &'a Tree,
    budget: &'b Budget,
    /// Present for updates.
    correlation: Option<Correlation<'a>>,
}

/// A value and what it was before the update, if that is known.
#[derive(Clone, Copy)]
struct Subject<'a> {
    value: &'a Value,
    before: Option<Before<'a>>,
}

/// Validates a new value.
pub(super) fn create(
    (tree, root): (&Tree, NodeId),
    path: &FieldPath,
    value: &Value,
    budget: &Budget,
    errors: &mut ErrorList,
) {
    let walk = Walk { tree, budget, correlation: None };
    let findings = walk.value(root, Subject { value, before: None }, &Place::root());
    fault::report(&findings.faults, path, errors);
}

/// Validates a changed value.
pub(super) fn update(
    (tree, root): (&Tree, NodeId),
    path: &FieldPath,
    (new, old): (&Value, &Value),
    budget: &Budget,
    errors: &mut ErrorList,
) {
    let walk = Walk { tree, budget, correlation: Some(Correlation::new(tree)) };
    let before = Before { value: old, node: root };
    let findings = walk.ratcheted(root, Subject { value: new, before: Some(before) }, &Place::root());
    fault::report(&findings.faults, path, errors);
}

// === impl Findings ===

impl<'a> Findings<'a> {
    fn is_valid(&self) -> bool {
        self.faults.is_empty()
    }

    /// Whether more faults would not be reported.
    fn is_full(&self) -> bool {
        self.faults.len() >= MAX_FAULTS
    }

    fn add(&mut self, place: &Place<'_>, problem: Problem<'a>) {
        if !self.is_full() {
            self.faults.push(Fault { path: place.path(), problem });
        }
    }

    fn merge(&mut self, mut other: Self) {
        self.matches += other.matches;
        if self.faults.is_empty() {
            self.faults = other.faults;
        } else {
            other.faults.truncate(MAX_FAULTS.saturating_sub(self.faults.len()));
            self.faults.append(&mut other.faults);
        }
    }
}

// === impl Walk ===

impl<'a> Walk<'a, '_> {
    /// Validates a value, and drops the faults if the update does not change it.
    fn ratcheted(&self, id: NodeId, subject: Subject<'a>, place: &Place<'_>) -> Findings<'a> {
        let mut findings = self.value(id, subject, place);
        if let (Some(correlation), Some(before)) = (&self.correlation, subject.before)
            && !findings.is_valid()
            && correlation.is_unchanged(before, subject.value)
        {
            findings.faults.clear();
        }
        findings
    }

    /// Validates a value.
    fn value(&self, id: NodeId, subject: Subject<'a>, place: &Place<'_>) -> Findings<'a> {
        let node = self.tree.node(id);
        let mut findings = Findings::default();
        if subject.value.is_null() {
            null(node, place, &mut findings);
            return findings;
        }
        scalars::check_type(node, subject.value, place, &mut findings);
        if let Some(combined) = node.rules.as_ref().and_then(|rules| rules.combined.as_deref()) {
            self.combined(combined, subject, place, &mut findings);
        }
        findings.matches += 2;
        match subject.value {
            Value::String(text) => scalars::check_text(node, text, place, self.budget, &mut findings),
            Value::Number(number) => scalars::check_number(node, number, place, &mut findings),
            Value::Array(list) => {
                self.list(node, list, subject.before, place, &mut findings);
                findings.matches += 2;
            }
            Value::Object(map) => {
                self.object(node, map, subject.before, place, &mut findings);
                findings.matches += 1;
            }
            Value::Null | Value::Bool(_) => {}
        }
        scalars::check_accepted(node, subject.value, place, &mut findings);
        findings.matches += 2;
        findings
    }

    fn list(
        &self,
        node: &'a Node,
        list: &'a [Value],
        before: Option<Before<'a>>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        if let Some(items) = node.items {
            for (index, value) in list.iter().enumerate() {
                if findings.is_full() {
                    break;
                }
                let before = self.correlation.as_ref().zip(before);
                let before = before.and_then(|(correlation, before)| correlation.element(before, value));
                findings.merge(self.ratcheted(items, Subject { value, before }, &place.index(index)));
            }
        }
        let Some(size) = size_rules(node) else { return };
        let count = i64::try_from(list.len()).unwrap_or(i64::MAX);
        if let Some(least) = size.least_items.filter(|least| count < *least) {
            findings.add(place, Problem::TooFew { count, least, parts: "items" });
        }
        if let Some(most) = size.most_items.filter(|most| count > *most) {
            findings.add(place, Problem::TooMany { count, most });
        }
    }

    fn object(
        &self,
        node: &'a Node,
        map: &'a Map<String, Value>,
        before: Option<Before<'a>>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        if let Some(size) = size_rules(node) {
            let count = i64::try_from(map.len()).unwrap_or(i64::MAX);
            if let Some(least) = size.least_properties.filter(|least| count < *least) {
                findings.add(place, Problem::TooFew { count, least, parts: "properties" });
            }
            if let Some(most) = size.most_properties.filter(|most| count > *most) {
                findings.add(place, Problem::TooMany { count, most });
            }
        }
        for (key, value) in map {
            if findings.is_full() {
                return;
            }
            let (id, place) = match (node.property(key), node.additional) {
                (Some(id), _) => (id, place.property(key)),
                (None, Additional::Schema(id)) => (id, place.additional(key)),
                (None, Additional::Forbidden) => {
                    findings.add(place, Problem::Forbidden(key));
                    continue;
                }
                (None, Additional::Allowed | Additional::Unspecified) => continue,
            };
            let before = self.before_member(before, key, &place);
            findings.merge(self.ratcheted(id, Subject { value, before }, &place));
        }
        for name in &node.required {
            if findings.is_full() {
                return;
            }
            if !map.contains_key(&**name) {
                findings.add(&place.property(name), Problem::Required);
            }
        }
    }

    /// Returns what a property was before the update. The type of an object itself is never ratcheted: both versions
    /// have been converted to it.
    fn before_member(&self, before: Option<Before<'a>>, key: &str, place: &Place<'_>) -> Option<Before<'a>> {
        let is_type = place.is_top_level() && matches!(key, "apiVersion" | "kind");
        let (correlation, before) = self.correlation.as_ref().zip(before)?;
        if is_type { None } else { correlation.member(before, key) }
    }

    // === combinations ===

    fn combined(
        &self,
        combined: &'a Combined,
        subject: Subject<'a>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        if !combined.any_of.is_empty() {
            self.any_of(&combined.any_of, subject, place, findings);
        }
        if !combined.one_of.is_empty() {
            self.one_of(&combined.one_of, subject, place, findings);
        }
        if !combined.all_of.is_empty() {
            self.all_of(&combined.all_of, subject, place, findings);
        }
        if let Some(not) = combined.not
            && self.value(not, subject, place).is_valid()
        {
            findings.add(place, Problem::Not);
        }
    }

    fn any_of(
        &self,
        schemas: &'a [NodeId],
        subject: Subject<'a>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        let mut best: Option<Findings<'a>> = None;
        for id in schemas {
            let result = self.value(*id, subject, place);
            if result.is_valid() {
                findings.merge(result);
                return;
            }
            if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        findings.add(place, Problem::AnyOf);
        findings.merge(best.unwrap_or_default());
    }

    fn one_of(
        &self,
        schemas: &'a [NodeId],
        subject: Subject<'a>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        let mut valid = 0;
        let mut first_valid = Findings::default();
        let mut best: Option<Findings<'a>> = None;
        for id in schemas {
            let result = self.value(*id, subject, place);
            if result.is_valid() {
                if valid == 0 {
                    first_valid = result;
                }
                valid += 1;
            } else if best.as_ref().is_none_or(|best| result.matches > best.matches) {
                best = Some(result);
            }
        }
        if valid == 1 {
            findings.merge(first_valid);
            return;
        }
        findings.add(place, Problem::OneOf { valid });
        if valid == 0 {
            findings.merge(best.unwrap_or_default());
        }
    }

    fn all_of(
        &self,
        schemas: &'a [NodeId],
        subject: Subject<'a>,
        place: &Place<'_>,
        findings: &mut Findings<'a>,
    ) {
        let mut valid = 0;
        for id in schemas {
            let result = self.value(*id, subject, place);
            valid += usize::from(result.is_valid());
            findings.merge(result);
        }
        if valid != schemas.len() {
            findings.add(place, Problem::AllOf { none: valid == 0 });
        }
    }
}

/// Validates null, of which only the type and the enum are checked.
fn null<'a>(node: &'a Node, place: &Place<'_>, findings: &mut Findings<'a>) {
    if node.kind == Kind::Any || node.is(Flags::NULLABLE) {
        findings.matches += 1;
    } else {
        findings.add(place, Problem::Type { wanted: node.kind.name(), found: "null" });
    }
    scalars::check_accepted(node, &Value::Null, place, findings);
}

fn size_rules(node: &Node) -> Option<&SizeRules> {
    rules(node)?.size.as_deref()
}

fn rules(node: &Node) -> Option<&Rules> {
    node.rules.as_deref()
}
