//! Types of lists, maps, objects and comprehensions.

use std::sync::Arc;

use super::{Checker, Reference};
use crate::declarations::named_type;
use crate::syntax::ast::{Comprehension, ExprId, MapEntry, Name, StructField, is_optional};
use crate::types::Type;

/// The type of operations of a JSON patch, in messages about which Kubernetes knows other fields, without a type.
const JSON_PATCH: &str = "JSONPatch";

// === impl Checker: aggregates ===

impl Checker<'_> {
    pub(super) fn check_list(&mut self, id: ExprId, elements: &[ExprId], optional: &[u32]) {
        let mut joined: Option<Type> = None;
        for (index, element) in elements.iter().enumerate() {
            self.check(*element);
            let found = self.element_type(*element, is_optional(optional, index));
            joined = Some(self.join(joined, found));
        }
        let element = joined.unwrap_or_else(|| self.substitutions.fresh());
        self.set_type(id, Type::list(element));
    }

    /// The type of an element or a value; the type in the optional if it is marked as one.
    fn element_type(&mut self, id: ExprId, is_optional: bool) -> Type {
        let found = self.type_of(id);
        if !is_optional {
            return found;
        }
        match found.optional_parameter() {
            Some(unwrapped) => unwrapped.clone(),
            None => {
                if !found.is_dyn() {
                    self.error_at(id, format!("expected type 'optional_type({found})' but found '{found}'"));
                }
                found
            }
        }
    }

    pub(super) fn check_map(&mut self, id: ExprId, entries: &[MapEntry]) {
        let mut key: Option<Type> = None;
        let mut value: Option<Type> = None;
        for entry in entries {
            self.check(entry.key);
            let found = self.type_of(entry.key);
            key = Some(self.join(key, found));
            self.check(entry.value);
            let found = self.element_type(entry.value, entry.optional);
            value = Some(self.join(value, found));
        }
        let key = key.unwrap_or_else(|| self.substitutions.fresh());
        let value = value.unwrap_or_else(|| self.substitutions.fresh());
        self.set_type(id, Type::map(key, value));
    }

    /// The more general of two types of elements, or `dyn`: that they are the same is checked when all types are known.
    fn join(&mut self, previous: Option<Type>, current: Type) -> Type {
        let Some(previous) = previous else {
            return current;
        };
        if self.substitutions.is_assignable(&previous, &current) {
            return super::unify::most_general(&previous, &current).clone();
        }
        Type::Dyn
    }

    pub(super) fn check_struct(&mut self, id: ExprId, type_name: &str, fields: &[StructField]) {
        let name = type_name.trim_start_matches('.');
        let Some(object) = self.scope.object_type(name) else {
            if named_type(name).is_some() {
                self.error_at(id, format!("'{name}' is not a message type"));
                self.set_type(id, Type::Error);
                for field in fields {
                    self.check(field.value);
                }
                return;
            }
            self.undeclared(id, type_name);
            self.set_type(id, Type::Error);
            return;
        };
        self.references.insert(id, Reference::Type(Type::Object(Arc::clone(&object))));
        self.set_type(id, Type::Object(Arc::clone(&object)));
        for field in fields {
            self.check(field.value);
            let value = self.element_type(field.value, field.optional);
            let Some(declared) = object.field_type(&field.name) else {
                if object.name() == JSON_PATCH {
                    let name = &field.name;
                    let message =
                        format!("expected type of field '{name}' is '' but provided type is '{value}'");
                    self.error(field.offset, message);
                    continue;
                }
                self.error(field.offset, format!("undefined field '{}'", field.name));
                continue;
            };
            if !self.substitutions.is_assignable(&declared, &value) {
                let message = format!(
                    "expected type of field '{}' is '{declared}' but provided type is '{value}'",
                    field.name
                );
                self.error(field.offset, message);
            }
        }
    }

    pub(super) fn check_comprehension(&mut self, id: ExprId, fold: &Comprehension) {
        self.check(fold.range);
        self.check(fold.init);
        let range = self.resolved_type(fold.range);
        let accumulator = self.type_of(fold.init);
        let outer = self.locals.len();
        self.locals.push((Arc::clone(&fold.accumulator), accumulator.clone()));
        let is_pair = fold.second_variable.is_some();
        let (first, second) = match &range {
            Type::List(element) if is_pair => (Type::Int, element.as_ref().clone()),
            Type::List(element) => (element.as_ref().clone(), Type::Dyn),
            Type::Map(entry) => (entry.0.clone(), entry.1.clone()),
            Type::Dyn | Type::Any | Type::Error | Type::Param(_) => {
                self.substitutions.is_assignable(&Type::Dyn, &range);
                (Type::Dyn, Type::Dyn)
            }
            other => {
                let message = format!(
                    "expression of type '{other}' cannot be range of a comprehension (must be list, map, or dynamic)"
                );
                self.error_at(fold.range, message);
                (Type::Error, Type::Error)
            }
        };
        self.locals.push((Name::clone(&fold.variable), first));
        if let Some(variable) = &fold.second_variable {
            self.locals.push((Name::clone(variable), second));
        }
        self.check(fold.condition);
        self.assert_type(fold.condition, &Type::Bool);
        self.check(fold.step);
        self.assert_type(fold.step, &accumulator);
        self.locals.truncate(outer + 1);
        self.check(fold.result);
        self.locals.truncate(outer);
        let found = self.resolved_type(fold.result);
        self.set_type(id, found);
    }

    fn assert_type(&mut self, id: ExprId, expected: &Type) {
        let found = self.type_of(id);
        if !self.substitutions.is_assignable(expected, &found) {
            self.error_at(id, format!("expected type '{expected}' but found '{found}'"));
        }
    }
}
