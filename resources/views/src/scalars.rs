//! Views of fields without fields of their own.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::api::validation::{ErrorList, FieldError};
use serde_json::Value;

use crate::view::{Typed, View};

view_of! {
    /// A text.
    Text
    /// A whole number.
    Integer
    /// A number with a fraction.
    Double
    /// A truth value.
    Boolean
    /// Bytes, as text in base 64.
    Bytes
    /// A quantity, `500m`.
    Quantity
    /// A time, as text.
    Time
    /// A whole number or a text: a port by its number or name, a count or a percentage.
    IntOrString
    /// A value of any type, and schemas of values, whose fields have no methods.
    Raw
}

// === impl Text ===

impl<'v> Text<'v, '_> {
    /// Returns its text; empty if absent.
    pub fn text(&self) -> &'v str {
        self.any_text()
    }

    /// Returns its text, if present: for fields that distinguish an empty text from none.
    pub fn optional_text(&self) -> Option<&'v str> {
        self.value().and_then(Value::as_str)
    }
}

impl Text<'_, '_> {
    /// Returns the error of a text that violates a rule; an absent one is shown as empty.
    pub fn invalid_text(&self, detail: impl Into<String>) -> FieldError {
        FieldError::invalid(self.path(), self.text(), detail)
    }

    /// Returns the error of a name that refers to nothing.
    pub fn not_found(&self) -> FieldError {
        FieldError::not_found(self.path(), self.text())
    }

    /// Adds an error if its text is empty; returns whether it is not.
    pub fn check_present(&self, errors: &mut ErrorList) -> bool {
        let present = !self.text().is_empty();
        if !present {
            errors.push(self.required(""));
        }
        present
    }

    /// Adds an error for each complaint of a rule if its text is set.
    pub fn check_if_set(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if !self.text().is_empty() {
            self.check(rule, errors);
        }
    }

    /// Adds an error if its text is empty, or else for each complaint of a rule.
    pub fn check_named(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if self.check_present(errors) {
            self.check(rule, errors);
        }
    }

    /// Adds an error if it is present and violates a rule of optional texts, which may not be empty either.
    pub fn check_if_present(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        if self.exists() {
            self.check(rule, errors);
        }
    }

    /// Adds an error for each complaint of a rule about its text.
    pub fn check(&self, rule: impl Fn(&str) -> Vec<String>, errors: &mut ErrorList) {
        for complaint in rule(self.text()) {
            errors.push(self.invalid_text(complaint));
        }
    }

    /// Adds an error if it is set to none of the accepted words.
    pub fn check_one_of(&self, accepted: &[&str], errors: &mut ErrorList) {
        if self.exists() && !accepted.contains(&self.text()) {
            errors.push(self.unsupported(accepted));
        }
    }

    /// Adds an error if its text is empty, or else if it is none of the accepted words.
    pub fn check_word(&self, accepted: &[&str], errors: &mut ErrorList) {
        if self.check_present(errors) && !accepted.contains(&self.text()) {
            errors.push(self.unsupported(accepted));
        }
    }

    /// Adds an error if its text has more bytes than allowed.
    pub fn check_length(&self, most_bytes: usize, errors: &mut ErrorList) {
        if self.text().len() > most_bytes {
            errors.push(FieldError::too_long(self.path(), most_bytes));
        }
    }
}

// === impl Integer ===

impl Integer<'_, '_> {
    /// Returns its integer, if present.
    pub fn integer(&self) -> Option<i64> {
        self.value().and_then(Value::as_i64)
    }

    /// Returns its integer; 0 if absent, for fields whose 0 means unset.
    pub fn number(&self) -> i64 {
        self.integer().unwrap_or_default()
    }

    /// Adds an error if its number is not a port.
    pub fn check_port(&self, errors: &mut ErrorList) {
        self.check_between(1, 65_535, errors);
    }

    /// Adds an error if its number is negative.
    pub fn check_not_negative(&self, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| number < 0) {
            errors.push(self.invalid("must be greater than or equal to 0"));
        }
    }

    /// Adds an error if its number is outside a range.
    pub fn check_between(&self, least: i64, most: i64, errors: &mut ErrorList) {
        if self.integer().is_some_and(|number| !(least..=most).contains(&number)) {
            errors.push(self.invalid(format!("must be between {least} and {most}, inclusive")));
        }
    }

    /// Adds an error if its number is not positive; an absent one is 0.
    pub fn check_positive(&self, errors: &mut ErrorList) {
        if self.number() <= 0 {
            errors.push(FieldError::invalid(self.path(), self.number(), "must be greater than zero"));
        }
    }
}

// === impl Boolean ===

impl Boolean<'_, '_> {
    /// Returns its truth value, if present.
    pub fn truth(&self) -> Option<bool> {
        self.value().and_then(Value::as_bool)
    }

    /// Whether it is present and true.
    pub fn is_true(&self) -> bool {
        self.truth().unwrap_or_default()
    }
}

// === impl Bytes, Quantity, Time, IntOrString ===

impl<'v> Bytes<'v, '_> {
    /// Returns its text in base 64; empty if absent.
    pub fn text(&self) -> &'v str {
        self.any_text()
    }

    /// Returns its bytes; none if absent. The schema refuses text that is not base 64 before an object is seen, so such
    /// text, which only an object built in code can have, has none either.
    pub fn bytes(&self) -> Vec<u8> {
        STANDARD.decode(self.text()).unwrap_or_default()
    }
}

impl<'v> Quantity<'v, '_> {
    /// Returns its text; empty if absent, or if it is written as a number.
    pub fn text(&self) -> &'v str {
        self.any_text()
    }

    /// Returns the amount, which may be written as a number; `None` if it is absent or invalid.
    pub fn quantity(&self) -> Option<registry_core::schema::Quantity> {
        match self.value()? {
            Value::String(text) => registry_core::schema::Quantity::parse(text).ok(),
            Value::Number(number) => registry_core::schema::Quantity::parse(&number.to_string()).ok(),
            _ => None,
        }
    }
}

impl<'v, 'p> Time<'v, 'p> {
    /// Returns the view of its text.
    pub fn as_text(&self) -> Text<'v, 'p> {
        Text::typed(**self)
    }

    /// Returns its text; empty if absent.
    pub fn text(&self) -> &'v str {
        self.any_text()
    }

    /// Returns its text, if present.
    pub fn optional_text(&self) -> Option<&'v str> {
        self.value().and_then(Value::as_str)
    }
}

impl<'v, 'p> IntOrString<'v, 'p> {
    /// Returns the view of a number, which is absent if it is a text.
    pub fn as_integer(&self) -> Integer<'v, 'p> {
        Integer::typed(**self)
    }

    /// Returns the view of a text, which is empty if it is a number.
    pub fn as_text(&self) -> Text<'v, 'p> {
        Text::typed(**self)
    }

    /// Returns its text; empty if it has none.
    pub fn text(&self) -> &'v str {
        self.any_text()
    }

    /// Returns its text, if it is one.
    pub fn optional_text(&self) -> Option<&'v str> {
        self.value().and_then(Value::as_str)
    }

    /// Returns its number, if it is one.
    pub fn integer(&self) -> Option<i64> {
        self.value().and_then(Value::as_i64)
    }

    /// Adds an error if it is a negative number.
    pub fn check_not_negative(&self, errors: &mut ErrorList) {
        self.as_integer().check_not_negative(errors);
    }
}
