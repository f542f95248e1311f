//! Validates the defaults in a schema. (`apiserver/schema/defaulting`.)

use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::cel::{RuleBudget, ValidationRules};
use registry_core::context::Budget;
use registry_core::schema::StructuralSchema;
use serde_json::{Map, Value};

use super::super::findings::{Findings, Place};
use super::super::schema::Schema;

const EMBEDDED: &str = "x-kubernetes-embedded-resource";
const META_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// A step from a resource down to a default.
#[derive(Clone, Copy)]
enum Step<'a> {
    Property(&'a str),
    Item,
}

/// A schema and its compiled form.
#[derive(Clone)]
struct Compiled<'a> {
    schema: Schema<'a>,
    form: StructuralSchema,
}

/// The state of the check of a resource's schema: the root, or an embedded resource.
struct Check<'a, 'f, 'b> {
    resource: Compiled<'a>,
    must_be_pruned: bool,
    steps: Vec<Step<'a>>,
    rules: &'f mut DefaultRules<'b>,
    findings: &'f mut Findings<'b>,
}

/// Checks that the defaults in a structural schema are valid, and have no unknown fields.
pub(super) fn check(schema: Schema<'_>, must_be_pruned: bool, place: &Place, findings: &mut Findings<'_>) {
    if !schema.any(&|schema| schema.get("default").is_some()) {
        return;
    }
    // Compiled once as the schema of a resource; the schemas below are parts of it.
    let mut root = schema.to_map();
    root.insert(EMBEDDED.to_owned(), Value::Bool(true));
    let form = StructuralSchema::compile(&Value::Object(root), false);
    let mut rules = DefaultRules::new(findings.budget());
    check_resource(Compiled { schema, form }, must_be_pruned, place, &mut rules, findings);
}

fn check_resource<'b>(
    resource: Compiled<'_>,
    must_be_pruned: bool,
    place: &Place,
    rules: &mut DefaultRules<'b>,
    findings: &mut Findings<'b>,
) {
    let compiled = resource.clone();
    let mut check = Check { resource, must_be_pruned, steps: Vec::new(), rules, findings };
    check.own(&compiled, false, place);
    check.below(&compiled, false, place);
}

// === impl Check ===

impl<'a> Check<'a, '_, '_> {
    /// Checks a schema below the resource.
    fn visit(&mut self, compiled: Compiled<'a>, is_in_meta: bool, place: &Place) {
        if compiled.schema.is_true(EMBEDDED) {
            check_resource(compiled, self.must_be_pruned, place, self.rules, self.findings);
            return;
        }
        self.own(&compiled, is_in_meta, place);
        self.below(&compiled, is_in_meta, place);
    }

    /// Checks the schemas directly below. The schemas of maps' values cannot have defaults.
    fn below(&mut self, compiled: &Compiled<'a>, is_in_meta: bool, place: &Place) {
        let Compiled { schema, form } = compiled;
        if let (Some(schema), Some(form)) = (schema.item(), form.items()) {
            self.steps.push(Step::Item);
            self.visit(Compiled { schema, form }, is_in_meta, &place.child("items"));
            self.steps.pop();
        }
        if !schema.has_properties() {
            return;
        }
        let is_resource = self.steps.is_empty();
        let place = place.child("properties");
        for (name, schema) in schema.entries("properties") {
            let Some(form) = form.property(name) else { continue };
            let is_in_meta = is_in_meta || (is_resource && META_FIELDS.contains(&name));
            self.steps.push(Step::Property(name));
            self.visit(Compiled { schema, form }, is_in_meta, &place.key(name));
            self.steps.pop();
        }
    }

    /// Checks the default of a schema itself.
    fn own(&mut self, compiled: &Compiled<'a>, is_in_meta: bool, place: &Place) {
        let Some(default) = compiled.schema.get("default") else { return };
        let place = place.child("default");
        let is_plausible = if is_in_meta {
            self.is_valid_metadata(default, &place)
        } else {
            self.check_pruned(&compiled.form, default, &place);
            let errors = resource_errors(&compiled.form, place.path(), default);
            let is_valid = errors.is_empty();
            self.findings.append(&place, errors);
            is_valid
        };
        if is_plausible {
            let mut errors = ErrorList::default();
            compiled.form.validate(place.path(), default, self.findings.budget(), &mut errors);
            if errors.is_empty() {
                let schema = compiled.schema.value();
                self.rules.validate(schema, self.steps.is_empty(), default, &place, self.findings);
            }
            self.findings.append(&place, errors);
        }
    }

    fn check_pruned(&mut self, form: &StructuralSchema, default: &Value, place: &Place) {
        if self.must_be_pruned && (default.is_object() || default.is_array()) {
            let mut pruned = default.clone();
            form.prune_part(&mut pruned);
            if pruned != *default {
                self.findings.invalid_value(place, Some(default), "must not have unknown fields");
            }
        }
    }

    /// Checks that a default in the metadata of a resource results in a valid resource.
    fn is_valid_metadata(&mut self, default: &Value, place: &Place) -> bool {
        let resource = surround(default, &self.steps);
        let errors = resource_errors(&self.resource.form, &FieldPath::root(), &resource);
        if errors.is_empty() {
            return true;
        }
        let detail = format!("must result in valid metadata: {errors}");
        match default {
            Value::String(text) => self.findings.invalid(place, text, detail),
            other => self.findings.invalid_value(place, Some(other), &detail),
        }
        false
    }
}

/// Returns the errors of the resources in a value. An error that prevents metadata from being read is the only one.
fn resource_errors(schema: &StructuralSchema, path: &FieldPath, value: &Value) -> ErrorList {
    let mut errors = ErrorList::default();
    schema.validate_embedded(path, value, &mut errors);
    let is_unreadable =
        |error: &FieldError| error.detail == "must be a string" || error.detail.starts_with("json: ");
    match errors.0.iter().position(is_unreadable) {
        Some(first) => errors.0.into_iter().skip(first).take(1).collect(),
        None => errors,
    }
}

/// Puts a value into the resource that it is a default of.
fn surround(default: &Value, steps: &[Step<'_>]) -> Value {
    let mut resource = match enclose(default.clone(), steps) {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    resource.entry("apiVersion").or_insert_with(|| "validation/v1".into());
    resource.entry("kind").or_insert_with(|| "Validation".into());
    Value::Object(resource)
}

fn enclose(value: Value, steps: &[Step<'_>]) -> Value {
    steps.iter().rev().fold(value, |value, step| match step {
        Step::Property(name) => Value::Object(std::iter::once(((*name).to_owned(), value)).collect()),
        Step::Item => Value::Array(vec![value]),
    })
}

// === definitions that are stored ===

/// Whether a default has fields that its schema does not know.
pub(super) fn has_unpruned_defaults(schema: Schema<'_>) -> bool {
    if !schema.any(&|schema| schema.get("default").is_some()) || super::structural::is_violated(schema) {
        return false;
    }
    let compiled = StructuralSchema::compile(&Value::Object(schema.to_map()), false);
    let mut search = Search { compiled: &compiled, steps: Vec::new() };
    search.is_unpruned(schema)
}

/// Looks for a default with unknown fields.
struct Search<'a, 'c> {
    compiled: &'c StructuralSchema,
    steps: Vec<Step<'a>>,
}

impl<'a> Search<'a, '_> {
    fn is_unpruned(&mut self, schema: Schema<'a>) -> bool {
        let own = schema.get("default").is_some_and(|default| self.changes(default));
        let item = schema.item().map(|item| (Step::Item, item));
        let values = schema.additional_schema().map(|values| (Step::Property("*"), values));
        let properties =
            schema.entries("properties").map(|(name, property)| (Step::Property(name), property));
        let mut below = item.into_iter().chain(values).chain(properties);
        own || below.any(|(step, nested)| {
            self.steps.push(step);
            let found = self.is_unpruned(nested);
            self.steps.pop();
            found
        })
    }

    fn changes(&self, default: &Value) -> bool {
        if !default.is_object() && !default.is_array() {
            return false;
        }
        let mut value = enclose(default.clone(), &self.steps);
        if self.compiled.coerce_metadata(&mut value, true, &mut Vec::new()).is_err() {
            return false;
        }
        self.compiled.prune(&mut value, &mut Vec::new());
        let found = self.steps.iter().try_fold(&value, |value, step| match step {
            Step::Property(name) => value.get(name),
            Step::Item => value.get(0),
        });
        found != Some(default)
    }
}

/// Evaluates rules for the defaults in a schema, within a limit of cost for all of them.
struct DefaultRules<'b> {
    budget: RuleBudget<'b>,
}

// === impl DefaultRules ===

impl<'b> DefaultRules<'b> {
    /// Creates the limit of a request.
    fn new(request: &'b Budget) -> Self {
        Self { budget: RuleBudget::default().within(request) }
    }

    /// Evaluates the rules of a schema for its default. `is_resource`: the schema is that of a whole resource.
    fn validate(
        &mut self,
        schema: &Value,
        is_resource: bool,
        default: &Value,
        place: &Place,
        findings: &mut Findings<'_>,
    ) {
        if self.budget.is_exhausted() {
            return;
        }
        let Some(rules) = ValidationRules::compile(schema, is_resource) else { return };
        let mut without_old = self.budget.clone();
        let mut errors = ErrorList::default();
        let unchanged = rules.validate(place.path(), default, Some(default), &mut self.budget, &mut errors);
        errors.append(unchanged);
        if errors.is_empty() {
            // Rules about the old value must also hold where there is none.
            rules.validate(place.path(), default, None, &mut without_old, &mut errors);
            if without_old.is_exhausted() {
                self.budget = without_old;
            }
        }
        findings.append(place, errors);
    }
}
