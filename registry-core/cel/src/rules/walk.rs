//! Evaluation of rules along an object.

use serde_json::Value;

use super::RuleBudget;
use super::compiled::{CompiledRule, Rule, RulePrograms, activation};
use super::correlation::{MapList, Ratchet};
use super::failure;
use super::place::Place;
use super::tree::{Children, Node, NodeRules};
use crate::budget::{CostBudget, PER_CALL_LIMIT};
use crate::program::{Activation, Program};
use crate::types::DeclType;
use crate::value::{EvaluationError, Value as CelValue, json};
use registry_meta::go_text;
use registry_meta::validation::{ErrorList, FieldError};

/// The error when the rules of an object cost too much together.
const OUT_OF_BUDGET: &str =
    "validation failed due to running out of cost budget, no further validation rules will be run";
/// The error of a schema whose values expressions cannot see.
const NOT_DECLARED: &str =
    "rule compiler initialization error: failed to convert to declType for CEL validation rules";
/// Maximum length of an evaluated message, in bytes.
const MAX_MESSAGE_BYTES: usize = 5 * 1024;

/// A limit was exceeded: no further rules are evaluated.
pub(super) struct Exhausted;

/// The state of the evaluation of the rules for one object.
pub(super) struct Walk<'b, 'r> {
    budget: &'b mut RuleBudget<'r>,
    errors: &'b mut ErrorList,
    ratcheted: ErrorList,
}

/// A value and what is known about it while its rules are evaluated.
struct Subject<'s, 'a> {
    rules: &'a NodeRules,
    declared: &'a DeclType,
    place: &'s Place<'s>,
    new: &'a Value,
    old: Option<&'a Value>,
    ratchet: Ratchet<'s, 'a>,
}

/// The values of `self` and `oldSelf`.
struct Variables<'a> {
    plain: Activation<'a>,
    /// With `oldSelf` as a value that may be absent. Made when a rule needs it.
    optional: Option<Activation<'a>>,
}

/// The result of a message expression.
enum Message {
    Text(String),
    /// It failed: the message of the rule is used.
    Unusable,
    /// A limit was exceeded: the error in place of the message.
    TooExpensive(String),
}

// === impl Walk ===

impl<'b, 'r> Walk<'b, 'r> {
    pub(super) fn new(budget: &'b mut RuleBudget<'r>, errors: &'b mut ErrorList) -> Self {
        Self { budget, errors, ratcheted: ErrorList::default() }
    }

    /// The errors of unchanged values.
    pub(super) fn into_ratcheted(self) -> ErrorList {
        self.ratcheted
    }

    /// Evaluates the rules of a value and of all values below it.
    pub(super) fn validate<'a>(
        &mut self,
        node: &'a Node,
        place: &Place<'_>,
        new: &'a Value,
        old: Option<&'a Value>,
        ratchet: Ratchet<'_, 'a>,
    ) -> Result<(), Exhausted> {
        if !node.has_rules || new.is_null() {
            return Ok(());
        }
        if let Some(rules) = &node.rules {
            self.validate_here(rules, place, new, old, ratchet)?;
        }
        match (&node.children, new) {
            (Children::Properties(properties), Value::Object(fields)) => {
                for (name, child) in properties {
                    if let Some(value) = fields.get(name.as_ref()).filter(|_| child.has_rules) {
                        let pair = ratchet.correlate_field(name, child, value);
                        let ratchet = ratchet.field(name, pair.as_ref());
                        let old = old_field(old, name);
                        self.validate(child, &Place::Field(place, name), value, old, ratchet)?;
                    }
                }
            }
            (Children::Values(child), Value::Object(fields)) if child.has_rules => {
                for (name, value) in fields {
                    let pair = ratchet.correlate_field(name, child, value);
                    let ratchet = ratchet.field(name, pair.as_ref());
                    let old = old_field(old, name);
                    self.validate(child, &Place::Key(place, name), value, old, ratchet)?;
                }
            }
            (Children::Items(child, keys), Value::Array(items)) if child.has_rules => {
                let old = old.and_then(Value::as_array).filter(|old| !keys.is_empty() && !old.is_empty());
                let olds = old.map(|old| MapList::new(keys, old));
                for (index, item) in items.iter().enumerate() {
                    let old = olds.as_ref().and_then(|olds| olds.get(item));
                    let pair = ratchet.correlate_item(child, item, old);
                    let ratchet = ratchet.item(pair.as_ref());
                    self.validate(child, &Place::Index(place, index), item, old, ratchet)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn validate_here<'a>(
        &mut self,
        rules: &'a NodeRules,
        place: &Place<'_>,
        new: &'a Value,
        old: Option<&'a Value>,
        ratchet: Ratchet<'_, 'a>,
    ) -> Result<(), Exhausted> {
        let Some(declared) = &rules.declared else {
            self.errors.push(FieldError::invalid(place.to_path(), rules.type_name.as_ref(), NOT_DECLARED));
            return Ok(());
        };
        let subject = Subject { rules, declared, place, new, old, ratchet };
        if self.budget.remaining <= 0 {
            return self.exhaust(&subject);
        }
        let compiled = rules.compiled(declared);
        let mut variables = Variables::new(&subject, compiled);
        for (rule, compiled) in rules.rules.iter().zip(compiled) {
            match compiled {
                CompiledRule::Empty => {}
                CompiledRule::Failed(error) => {
                    self.errors.push(subject.error(format!("rule compile error: {error}")));
                }
                // Rules about transitions need an old value.
                CompiledRule::Compiled(programs)
                    if programs.uses_old_self && old.is_none() && !rule.is_optional_old_self => {}
                CompiledRule::Compiled(programs) => {
                    let activation = variables.for_rule(rule, &subject);
                    self.evaluate(&subject, rule, programs, activation)?;
                }
            }
        }
        Ok(())
    }

    fn exhaust(&mut self, subject: &Subject<'_, '_>) -> Result<(), Exhausted> {
        self.errors.push(subject.error(OUT_OF_BUDGET.to_owned()));
        self.budget.remaining = -1;
        Err(Exhausted)
    }

    /// Runs a program. Returns its result and its cost.
    fn run<'a>(
        &self,
        program: &'a Program,
        activation: &Activation<'a>,
    ) -> (Result<CelValue<'a>, EvaluationError>, i64) {
        let mut cost = CostBudget::new(PER_CALL_LIMIT);
        if let Some(request) = self.budget.request {
            cost = cost.within(request);
        }
        let result = program.evaluate(activation, &cost);
        (result, i64::try_from(cost.spent()).unwrap_or(i64::MAX))
    }

    fn evaluate<'a>(
        &mut self,
        subject: &Subject<'_, 'a>,
        rule: &Rule,
        programs: &'a RulePrograms,
        activation: &Activation<'a>,
    ) -> Result<(), Exhausted> {
        let (result, cost) = self.run(&programs.rule, activation);
        if cost > self.budget.remaining {
            return self.exhaust(subject);
        }
        self.budget.remaining -= cost;
        match result {
            Ok(CelValue::Bool(true)) => Ok(()),
            Ok(_) => self.fail(subject, rule, programs, activation),
            Err(error) => {
                self.errors.push(subject.error(evaluation_error(&error, rule)));
                if matches!(error, EvaluationError::Failed(_)) {
                    return Ok(());
                }
                self.budget.remaining = -1;
                Err(Exhausted)
            }
        }
    }

    /// Reports a rule that does not hold.
    fn fail<'a>(
        &mut self,
        subject: &Subject<'_, 'a>,
        rule: &Rule,
        programs: &'a RulePrograms,
        activation: &Activation<'a>,
    ) -> Result<(), Exhausted> {
        let path = subject.place.to_path();
        let path = rule.field_path.as_ref().map_or(path.clone(), |below| path.child(below));
        let message = match &programs.message {
            Some(Ok(program)) => self.evaluate_message(program, rule, activation),
            Some(Err(_)) | None => Message::Unusable,
        };
        let type_name = subject.rules.type_name.as_ref();
        let (error, outcome) = match message {
            Message::TooExpensive(detail) => {
                self.budget.remaining = -1;
                (FieldError::invalid(path, type_name, detail), Err(Exhausted))
            }
            Message::Text(text) => {
                (failure::rule_failure(path, subject.new, type_name, text, rule.reason), Ok(()))
            }
            Message::Unusable => {
                let text = default_message(rule);
                (failure::rule_failure(path, subject.new, type_name, text, rule.reason), Ok(()))
            }
        };
        if !programs.uses_old_self && subject.ratchet.is_unchanged() {
            self.ratcheted.push(error);
        } else {
            self.errors.push(error);
        }
        outcome
    }

    fn evaluate_message<'a>(
        &mut self,
        program: &'a Program,
        rule: &Rule,
        activation: &Activation<'a>,
    ) -> Message {
        let (result, cost) = self.run(program, activation);
        if cost > self.budget.remaining {
            let detail = "messageExpression evaluation failed due to running out of cost budget, no further validation rules will be run";
            return Message::TooExpensive(detail.to_owned());
        }
        if matches!(result, Err(EvaluationError::CostLimitExceeded)) {
            return Message::TooExpensive(format!(
                "no further validation rules will be run due to call cost exceeds limit for messageExpression: {}",
                go_text::quote(&rule.message_expression)
            ));
        }
        self.budget.remaining -= cost;
        let Ok(CelValue::String(text)) = result else {
            return Message::Unusable;
        };
        let text = text.as_str().trim();
        if text.is_empty() || text.len() > MAX_MESSAGE_BYTES || text.contains('\n') {
            return Message::Unusable;
        }
        Message::Text(text.to_owned())
    }
}

fn old_field<'a>(old: Option<&'a Value>, name: &str) -> Option<&'a Value> {
    old?.get(name).filter(|old| !old.is_null())
}

fn default_message(rule: &Rule) -> String {
    if rule.message.is_empty() { format!("failed rule: {}", rule.shown()) } else { rule.shown().to_owned() }
}

fn evaluation_error(error: &EvaluationError, rule: &Rule) -> String {
    let shown = rule.shown();
    match error {
        EvaluationError::CostLimitExceeded => {
            format!(
                "'{error}': no further validation rules will be run due to call cost exceeds limit for rule: {shown}"
            )
        }
        EvaluationError::Failed(message) if message.starts_with("no such overload") => {
            format!(
                "'{error}': call arguments did not match a supported operator, function or macro signature for rule: {shown}"
            )
        }
        _ => format!("{error} evaluating rule: {shown}"),
    }
}

// === impl Subject ===

impl Subject<'_, '_> {
    /// An error that shows the type of the value.
    fn error(&self, detail: String) -> FieldError {
        FieldError::invalid(self.place.to_path(), self.rules.type_name.as_ref(), detail)
    }
}

// === impl Variables ===

impl<'a> Variables<'a> {
    fn new(subject: &Subject<'_, 'a>, compiled: &[CompiledRule]) -> Self {
        let mut plain = activation();
        plain.bind_json("self", subject.new, subject.declared);
        // As in Kubernetes, message expressions see the old value only if a rule beside them uses it.
        let uses_old =
            |rule: &CompiledRule| matches!(rule, CompiledRule::Compiled(rule) if rule.uses_old_self);
        if let Some(old) = subject.old.filter(|_| compiled.iter().any(uses_old)) {
            plain.bind_json("oldSelf", old, subject.declared);
        }
        Self { plain, optional: None }
    }

    /// The variables of a rule.
    fn for_rule(&mut self, rule: &Rule, subject: &Subject<'_, 'a>) -> &Activation<'a> {
        if !rule.is_optional_old_self {
            return &self.plain;
        }
        let plain = &self.plain;
        self.optional.get_or_insert_with(|| {
            let mut optional = plain.clone();
            match subject.old.map(|old| json::adapt(old, subject.declared)).transpose() {
                Ok(Some(old)) => optional.bind_value("oldSelf", CelValue::some(old)),
                Ok(None) => optional.bind_value("oldSelf", CelValue::Optional(None)),
                Err(error) => optional.bind_error("oldSelf", *error),
            }
            optional
        })
    }
}
