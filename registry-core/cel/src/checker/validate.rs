//! Checks of constants in a type-checked expression.

use super::Checked;
use crate::library;
use crate::syntax::ast::{Expr, ExprId, Literal, is_optional};
use crate::syntax::errors::{CompileError, CompileErrors, Location};
use crate::types::Type;
use crate::value::{Timestamp, time};
use registry_schema::go_regexp::Pattern;

/// Checks constant durations, timestamps, regular expressions, format strings, and that literals have elements of one
/// type.
pub(crate) fn validate(source: &str, checked: &Checked) -> Result<(), CompileErrors> {
    let mut validator = Validator { source, checked, errors: Vec::new(), format_calls: 0 };
    validator.visit(checked.root);
    if validator.errors.is_empty() { Ok(()) } else { Err(CompileErrors::new(source, validator.errors)) }
}

struct Validator<'c> {
    source: &'c str,
    checked: &'c Checked,
    errors: Vec<CompileError>,
    /// Number of `format` calls around the place that is checked: their arguments may have different types.
    format_calls: u32,
}

// === impl Validator ===

impl Validator<'_> {
    fn error(&mut self, id: ExprId, message: String) {
        let location = Location::from_offset(self.source, self.checked.ast.offset(id) as usize);
        self.errors.push(CompileError { location, message });
    }

    fn visit(&mut self, id: ExprId) {
        let checked = self.checked;
        match checked.ast.get(id) {
            Expr::Call { function, target, args } => self.validate_call(id, function, *target, args),
            Expr::List { elements, optional } if self.format_calls == 0 => {
                let types = elements.iter().enumerate();
                let types = types.map(|(index, element)| (*element, is_optional(optional, index)));
                self.same_types(types, true);
            }
            Expr::Map { entries } if self.format_calls == 0 => {
                self.same_types(entries.iter().map(|entry| (entry.key, false)), false);
                self.same_types(entries.iter().map(|entry| (entry.value, entry.optional)), false);
            }
            _ => {}
        }
        let is_format =
            matches!(checked.ast.get(id), Expr::Call { function, .. } if function.as_ref() == "format");
        self.format_calls += u32::from(is_format);
        checked.ast.for_each_child(id, |child| self.visit(child));
        self.format_calls -= u32::from(is_format);
    }

    /// Reports elements whose type differs from the type of the first element. With `only_first`, reports one element at most.
    fn same_types(&mut self, elements: impl Iterator<Item = (ExprId, bool)>, only_first: bool) {
        let checked = self.checked;
        let mut first: Option<&Type> = None;
        for (id, is_optional) in elements {
            let whole = checked.type_of(id);
            let found = if is_optional { whole.optional_parameter().unwrap_or(whole) } else { whole };
            match first {
                None => first = Some(found),
                Some(first) if !first.is_equivalent(found) => {
                    self.error(id, format!("expected type '{first}' but found '{found}'"));
                    if only_first {
                        return;
                    }
                }
                Some(_) => {}
            }
        }
    }

    fn literal_text(&self, id: ExprId) -> Option<&str> {
        match self.checked.ast.get(id) {
            Expr::Literal(Literal::String(text)) => Some(text),
            _ => None,
        }
    }

    fn validate_call(&mut self, id: ExprId, function: &str, target: Option<ExprId>, args: &[ExprId]) {
        let Some((first, _)) = args.split_first() else {
            return;
        };
        if let ("format", Some(target)) = (function, target) {
            self.validate_format(id, target, *first);
            return;
        }
        if let ("timestamp", Expr::Literal(Literal::Int(seconds))) = (function, self.checked.ast.get(*first))
        {
            if Timestamp::from_seconds(*seconds).is_none() {
                self.error(*first, "invalid timestamp argument".to_owned());
            }
            return;
        }
        let Some(text) = self.literal_text(*first) else {
            return;
        };
        let is_valid = match function {
            "duration" => time::parse_duration(text).is_ok(),
            "timestamp" => Timestamp::parse(text).is_some(),
            "matches" => Pattern::check(text).is_ok(),
            _ => true,
        };
        if !is_valid {
            self.error(*first, format!("invalid {function} argument"));
        }
    }

    fn validate_format(&mut self, id: ExprId, template: ExprId, list: ExprId) {
        let checked = self.checked;
        let (Some(text), Expr::List { elements, .. }) = (self.literal_text(template), checked.ast.get(list))
        else {
            return;
        };
        let types: Vec<_> = elements.iter().map(|element| checked.type_of(*element).clone()).collect();
        if let Err((arg, message)) = library::check_format_literal(text, &types) {
            let at = arg.and_then(|arg| elements.get(arg)).copied().unwrap_or(id);
            self.error(at, message);
        }
    }
}
