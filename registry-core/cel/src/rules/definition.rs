//! Checks of the rules of a CustomResourceDefinition's schema.

use std::cell::OnceCell;
use std::collections::{BTreeSet, HashSet};
use std::ops::Bound;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};

use serde_json::Value;

use super::compiled::{CompiledRule, Environments, Rule, RulePrograms, compile};
use super::cost::{EXPRESSION_LIMIT, TotalCost, exceeded};
use super::tree::{SELF_TYPE, is_embedded};
use crate::field_names::escape;
use crate::program::Program;
use crate::schema::{declare, max_cardinality};
use crate::types::{DeclType, Shape};
use registry_meta::budget::Budget;
use registry_meta::validation::{ErrorList, FieldError, FieldPath};

mod declaration;

/// Maximum estimated size of the regular expressions in all rules of a schema, in characters after repetition.
const MAX_PATTERN_SIZE: u64 = 250_000;

/// Checks the rules of a schema.
#[derive(Clone, Debug, Default)]
pub struct DefinitionCheck<'a> {
    stored: Arc<StoredExpressions<'a>>,
    invalid_fields: BTreeSet<String>,
    is_unchanged: bool,
    is_not_structural: bool,
}

/// The expressions of stored schemas: they may use what the version that stored them has.
#[derive(Clone, Debug, Default)]
pub struct StoredExpressions<'a> {
    rules: HashSet<&'a str>,
    messages: HashSet<&'a str>,
}

/// A schema of the definition, and what is known from the schemas above it.
#[derive(Clone, Copy)]
struct Scope<'s> {
    schema: &'s Value,
    path: &'s FieldPath,
    is_root: bool,
    /// Whether expressions are compiled at all: not within `not`, `allOf` and the like.
    has_expressions: bool,
    /// The declared type of the schema, if an enclosing schema with rules declares it.
    declared: Known<'s>,
    /// Maximum number of values of the schema in an object; `None` if there is no limit.
    cardinality: Option<u64>,
    /// The outermost enclosing list or map whose elements cannot be correlated with old elements.
    uncorrelatable: Option<&'s FieldPath>,
}

/// The declared type of a schema.
#[derive(Clone, Copy)]
enum Known<'s> {
    /// There are no rules above.
    Outside,
    Type(&'s DeclType),
    /// It cannot be declared.
    Failed,
}

/// The state of a check.
struct Findings<'b> {
    budget: &'b Budget,
    schema: ErrorList,
    rules: ErrorList,
    total: TotalCost,
    /// Estimated size that the regular expressions of further rules may have.
    pattern_size_left: u64,
}

/// Checks the rules of a schema at `path`. `stored` is the schema that it replaces, if there is one: its expressions keep
/// compiling, and limits for single rules do not apply if nothing changes.
pub fn check_definition(schema: &Value, path: &FieldPath, stored: Option<&Value>) -> ErrorList {
    let mut check = DefinitionCheck::default();
    if let Some(stored) = stored {
        let expressions = Arc::new(StoredExpressions::from_schemas([stored]));
        check = check.with_stored_expressions(expressions).with_unchanged_schema(stored == schema);
    }
    check.check(schema, path, &Budget::unlimited())
}

// === impl StoredExpressions ===

impl<'a> StoredExpressions<'a> {
    /// Returns the expressions in schemas: a definition with several versions has several.
    pub fn from_schemas(schemas: impl IntoIterator<Item = &'a Value>) -> Self {
        let mut expressions = Self::default();
        for schema in schemas {
            expressions.collect(schema);
        }
        expressions
    }

    fn collect(&mut self, schema: &'a Value) {
        for rule in rules(schema) {
            let text = |name: &str| rule.get(name).and_then(Value::as_str);
            self.rules.extend(text("rule"));
            self.messages.extend(text("messageExpression"));
        }
        each_schema_below(schema, &mut |_, _, below| self.collect(below));
    }
}

// === impl DefinitionCheck ===

impl<'a> DefinitionCheck<'a> {
    /// Lets stored expressions use what the version that stored them has.
    #[must_use]
    pub fn with_stored_expressions(self, stored: Arc<StoredExpressions<'a>>) -> Self {
        Self { stored, ..self }
    }

    /// Sets whether the schema is the stored one: limits for single rules do not apply to it.
    #[must_use]
    pub fn with_unchanged_schema(mut self, is_unchanged: bool) -> Self {
        self.is_unchanged = is_unchanged;
        self
    }

    /// Adds errors of the schema that other checks found: expressions at their place and above are not compiled.
    #[must_use]
    pub fn with_schema_errors(mut self, errors: &ErrorList) -> Self {
        self.invalid_fields.extend(errors.0.iter().map(|error| error.field.to_string()));
        self
    }

    /// Sets that the schema is not structural, or has invalid defaults: no expressions are compiled.
    #[must_use]
    pub fn without_expressions(mut self) -> Self {
        self.is_not_structural = true;
        self
    }

    /// Checks the rules of a schema at a path, within the budget of the request.
    pub fn check(&self, schema: &Value, path: &FieldPath, budget: &Budget) -> ErrorList {
        let mut findings = Findings {
            budget,
            schema: ErrorList::default(),
            rules: ErrorList::default(),
            total: TotalCost::default(),
            pattern_size_left: MAX_PATTERN_SIZE,
        };
        let scope = Scope {
            schema,
            path,
            is_root: true,
            has_expressions: !self.is_not_structural,
            declared: Known::Outside,
            cardinality: Some(1),
            uncorrelatable: None,
        };
        self.check_schema(scope, &mut findings);
        let mut errors = findings.schema;
        errors.append(findings.rules);
        findings.total.check(path, &mut errors);
        errors
    }

    /// Whether another check found an error in a schema or below it.
    fn is_invalid(&self, path: &FieldPath) -> bool {
        if self.invalid_fields.is_empty() {
            return false;
        }
        let path = path.to_string();
        let below = |separator: char| {
            let prefix = format!("{path}{separator}");
            let mut after =
                self.invalid_fields.range::<str, _>((Bound::Included(prefix.as_str()), Bound::Unbounded));
            after.next().is_some_and(|field| field.starts_with(&prefix))
        };
        self.invalid_fields.contains(&path) || below('.') || below('[')
    }

    fn check_schema(&self, scope: Scope<'_>, findings: &mut Findings<'_>) {
        let errors_before = findings.schema.0.len();
        let has_rules = rules(scope.schema).next().is_some();
        let own = scope.declare(has_rules);
        let scope = Scope { declared: own.or_known(scope.declared), ..scope };
        each_schema_below(scope.schema, &mut |relation, name, below| {
            let path = relation.path(scope.path, name);
            self.check_schema(scope.below(relation, name, below, &path), findings);
        });
        if !has_rules {
            return;
        }
        for (index, rule) in rules(scope.schema).enumerate() {
            let path = scope.path.child("x-kubernetes-validations").index(index);
            declaration::check(rule, scope.schema, &path, &mut findings.schema);
        }
        let is_valid = findings.schema.0.len() == errors_before && !self.is_invalid(scope.path);
        if is_valid && scope.has_expressions {
            self.check_expressions(scope, findings);
        }
    }

    fn check_expressions(&self, scope: Scope<'_>, findings: &mut Findings<'_>) {
        let validations = scope.path.child("x-kubernetes-validations");
        let Known::Type(declared) = scope.declared else {
            let detail = "internal error: failed to construct type information for x-kubernetes-validations rules: unable to convert structural schema to CEL declarations";
            findings.rules.push(FieldError::internal(validations, detail));
            return;
        };
        let shown = OnceCell::new();
        let new = Environments::for_new(declared);
        let stored = Environments::for_stored(declared);
        let times = scope.cardinality.unwrap_or_else(|| max_cardinality(declared));
        for (index, source) in rules(scope.schema).enumerate() {
            let rule = Rule::new(source, scope.schema);
            let path = validations.index(index);
            let is_stored_rule = self.stored.rules.contains(rule.expression.as_ref());
            let is_stored_message = self.stored.messages.contains(rule.message_expression.as_ref());
            let environment = |is_stored: bool| if is_stored { &stored } else { &new };
            let environments = (environment(is_stored_rule), environment(is_stored_message));
            let compiled = compile(&rule, environments.0, environments.1, findings.budget);
            if findings.budget.check_complete().is_err() {
                return;
            }
            if !findings.take_pattern_size(&compiled) {
                let detail = "the regular expressions in rules are too large together";
                findings.rules.push(FieldError::forbidden(path.child("rule"), detail));
                continue;
            }
            self.observe_costs(&compiled, times, &path, findings);
            let compiled = if compiled.has_errors() {
                // Again, so that messages name the types as Kubernetes does. One renamed type serves all rules.
                let environments = Environments::for_new(shown.get_or_init(|| renamed(declared)));
                compile(&rule, &environments, &environments, findings.budget)
            } else {
                compiled
            };
            report(&compiled, source, &path, findings);
            check_old_self(&compiled, source, scope, &path, findings);
        }
    }

    /// Adds the estimated costs of a rule, and reports those that exceed the limit of a single one.
    fn observe_costs(
        &self,
        compiled: &CompiledRule,
        times: u64,
        path: &FieldPath,
        findings: &mut Findings<'_>,
    ) {
        let programs = match compiled {
            CompiledRule::Compiled(programs) => Some(programs.as_ref()),
            CompiledRule::Empty | CompiledRule::Failed(_) => None,
        };
        let rule = programs.map_or(0, |programs| programs.rule.cost_estimate().max.saturating_mul(times));
        let mut observe = |name: &str, shown: &str, cost: u64| {
            let path = path.child(name);
            if cost > EXPRESSION_LIMIT && !self.is_unchanged {
                let message = exceeded(shown, cost, EXPRESSION_LIMIT);
                findings.rules.push(FieldError::forbidden(path.clone(), message));
            }
            findings.total.add(&path, cost);
        };
        observe("rule", "estimated rule cost", rule);
        if let Some(RulePrograms { message: Some(Ok(message)), .. }) = programs {
            let cost = message.cost_estimate().max;
            observe("messageExpression", "estimated messageExpression cost", cost);
        }
    }
}

// === impl Findings ===

impl Findings<'_> {
    /// Takes the size of a rule's regular expressions from the size that the expressions of all rules may have: they are kept
    /// compiled. Returns whether enough was left.
    fn take_pattern_size(&mut self, compiled: &CompiledRule) -> bool {
        let CompiledRule::Compiled(programs) = compiled else { return true };
        let message = programs.message.iter().filter_map(|message| message.as_ref().ok());
        let sizes = std::iter::once(&programs.rule).chain(message).map(Program::pattern_size);
        let left = self.pattern_size_left.checked_sub(sizes.fold(0, u64::saturating_add));
        self.pattern_size_left = left.unwrap_or(self.pattern_size_left);
        left.is_some()
    }
}

/// The rules of a schema.
fn rules(schema: &Value) -> impl Iterator<Item = &Value> {
    schema.get("x-kubernetes-validations").and_then(Value::as_array).into_iter().flatten()
}

/// The type under the name that messages show. It is another one each time, so that expressions cannot use it.
fn renamed(declared: &DeclType) -> DeclType {
    static NUMBER: AtomicU32 = AtomicU32::new(1);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    declared.renamed(&format!("{SELF_TYPE}{number}"))
}

/// Reports why expressions do not compile.
fn report(compiled: &CompiledRule, source: &Value, path: &FieldPath, findings: &mut Findings<'_>) {
    let mut invalid = |name: &str, detail: &str| {
        let error = FieldError::invalid(path.child(name), source.clone(), detail);
        findings.rules.push(error.shown_as(declaration::shown(source)));
    };
    match compiled {
        CompiledRule::Failed(error) => invalid("rule", error),
        CompiledRule::Compiled(programs) => {
            if let Some(Err(error)) = &programs.message {
                invalid("messageExpression", &error.to_string());
            }
        }
        CompiledRule::Empty => {}
    }
}

/// Reports uses of `oldSelf` where there is no old value, and `optionalOldSelf` without a use.
fn check_old_self(
    compiled: &CompiledRule,
    source: &Value,
    scope: Scope<'_>,
    path: &FieldPath,
    findings: &mut Findings<'_>,
) {
    let uses_old_self = matches!(compiled, CompiledRule::Compiled(programs) if programs.uses_old_self);
    if let (true, Some(list)) = (uses_old_self, scope.uncorrelatable) {
        let rule = source.get("rule").cloned().unwrap_or_default();
        let detail =
            format!("oldSelf cannot be used on the uncorrelatable portion of the schema within {list}");
        findings.rules.push(FieldError::invalid(path.child("rule"), rule, detail));
    }
    let optional = source.get("optionalOldSelf").filter(|optional| !optional.is_null());
    if let (false, Some(optional)) = (uses_old_self, optional) {
        let detail = "may not be set if oldSelf is not used in rule";
        findings.rules.push(FieldError::invalid(path.child("optionalOldSelf"), optional.clone(), detail));
    }
}

/// The relation of a schema to its parent.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Relation {
    Values,
    Property,
    Items,
    /// `items` as a list of schemas, and everything that only restricts values: no expressions.
    Other(&'static str, Part),
}

/// The position of a schema in a keyword's value.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Whole,
    Element(usize),
    Entry,
}

/// Calls a function for each schema directly below a schema, with its relation and name.
fn each_schema_below<'v>(schema: &'v Value, call: &mut dyn FnMut(Relation, &'v str, &'v Value)) {
    let object = |name: &str| schema.get(name).filter(|below| below.is_object());
    if let Some(values) = object("additionalProperties") {
        call(Relation::Values, "", values);
    }
    for (name, property) in schema.get("properties").and_then(Value::as_object).into_iter().flatten() {
        call(Relation::Property, name, property);
    }
    if let Some(items) = object("items") {
        call(Relation::Items, "", items);
    }
    if let Some(not) = object("not") {
        call(Relation::Other("not", Part::Whole), "", not);
    }
    for keyword in ["allOf", "oneOf", "anyOf", "items"] {
        let schemas = schema.get(keyword).and_then(Value::as_array);
        for (index, below) in schemas.into_iter().flatten().enumerate() {
            call(Relation::Other(keyword, Part::Element(index)), "", below);
        }
    }
    for keyword in ["definitions", "dependencies"] {
        for (name, below) in schema.get(keyword).and_then(Value::as_object).into_iter().flatten() {
            call(Relation::Other(keyword, Part::Entry), name, below);
        }
    }
}

// === impl Relation ===

impl Relation {
    fn path(self, parent: &FieldPath, name: &str) -> FieldPath {
        match self {
            Self::Values => parent.child("additionalProperties"),
            Self::Property => parent.child("properties").key(name),
            Self::Items => parent.child("items"),
            Self::Other(keyword, Part::Whole) => parent.child(keyword),
            Self::Other(keyword, Part::Element(index)) => parent.child(keyword).index(index),
            Self::Other(keyword, Part::Entry) => parent.child(keyword).key(name),
        }
    }
}

/// The type that a schema declares itself, where the schemas above do not say it.
enum Own {
    NotNeeded,
    Type(DeclType),
    Failed,
}

// === impl Own ===

impl Own {
    fn or_known<'s>(&'s self, above: Known<'s>) -> Known<'s> {
        match self {
            Self::NotNeeded => above,
            Self::Type(declared) => Known::Type(declared),
            Self::Failed => Known::Failed,
        }
    }
}

// === impl Scope ===

impl<'s> Scope<'s> {
    /// Declares the type of a schema with rules that no schema above declares.
    fn declare(self, has_rules: bool) -> Own {
        if !has_rules || !self.has_expressions || !matches!(self.declared, Known::Outside) {
            return Own::NotNeeded;
        }
        let is_resource = self.is_root || is_embedded(self.schema);
        declare(self.schema, SELF_TYPE, is_resource).map_or(Own::Failed, Own::Type)
    }

    /// Returns the maximum number of elements of a value; `None` if there is no limit.
    fn max_elements(self) -> Option<u64> {
        let limit = |name: &str| {
            let limit = self.schema.get(name)?;
            limit.as_u64().or_else(|| limit.as_i64().map(|_| 0))
        };
        match self.schema.get("type").and_then(Value::as_str) {
            Some("object") if has(self.schema, "additionalProperties") => limit("maxProperties"),
            Some("array") => limit("maxItems"),
            _ => Some(1),
        }
    }

    fn below<'b>(self, relation: Relation, name: &str, schema: &'b Value, path: &'b FieldPath) -> Scope<'b>
    where
        's: 'b,
    {
        let declared = match self.declared {
            Known::Type(DeclType { shape, .. }) => known_below(relation, name, shape),
            other => other,
        };
        let cardinality = match (self.cardinality, self.max_elements()) {
            (Some(above), Some(times)) => Some(above.saturating_mul(times)),
            _ => None,
        };
        let text = |name: &str| self.schema.get(name).and_then(Value::as_str);
        let is_uncorrelatable = match relation {
            Relation::Items | Relation::Other("items", _) => text("x-kubernetes-list-type") != Some("map"),
            Relation::Property => {
                !matches!(text("x-kubernetes-map-type"), None | Some("granular" | "atomic"))
            }
            Relation::Values | Relation::Other(..) => false,
        };
        let own = is_uncorrelatable.then_some(self.path);
        let is_value = matches!(relation, Relation::Values | Relation::Property | Relation::Items);
        Scope {
            schema,
            path,
            is_root: false,
            has_expressions: self.has_expressions && is_value,
            declared,
            cardinality,
            uncorrelatable: self.uncorrelatable.or(own),
        }
    }
}

/// The type of a schema below one of a known type.
fn known_below<'s>(relation: Relation, name: &str, shape: &'s Shape) -> Known<'s> {
    let declared = match (relation, shape) {
        (Relation::Items, Shape::List(element, _)) => Some(element.as_ref()),
        (Relation::Values, Shape::Map(element)) => Some(element.as_ref()),
        (Relation::Property, Shape::Object(object)) => {
            let field = escape(name).and_then(|escaped| object.field(&escaped));
            field.map(|field| &field.declared)
        }
        _ => None,
    };
    // A schema that the type above leaves out declares itself, if it has rules.
    declared.map_or(Known::Outside, Known::Type)
}

fn has(schema: &Value, name: &str) -> bool {
    schema.get(name).is_some_and(|value| !value.is_null())
}
