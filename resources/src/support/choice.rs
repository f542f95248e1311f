//! Structs of whose fields one is chosen: the sources of a volume, the handlers of a probe.

use std::ops::Deref;

use registry_core::api::validation::ErrorList;
use resource_views::{Typed, View};

/// The check of a struct of whose fields only one may be set.
pub(crate) struct Choice<'e> {
    /// The message about a second field.
    second: &'static str,
    found: usize,
    errors: &'e mut ErrorList,
}

// === impl Choice ===

impl<'e> Choice<'e> {
    /// Starts to check a struct.
    pub(crate) fn new(second: &'static str, errors: &'e mut ErrorList) -> Self {
        Self { second, found: 0, errors }
    }

    /// Checks a field if it is the first that is set; adds an error if it is another.
    pub(crate) fn check<'v: 'p, 'p, T>(&mut self, field: T, check: impl FnOnce(&T, &mut ErrorList))
    where
        T: Deref<Target = View<'v, 'p>> + Copy,
    {
        if !field.exists() {
            return;
        }
        self.found += 1;
        if self.found == 1 {
            check(&field, self.errors);
        } else {
            self.errors.push(field.forbidden(self.second));
        }
    }

    /// Checks a field that is set, even if another is set too.
    pub(crate) fn check_each<'v: 'p, 'p, T>(&mut self, field: T, check: impl FnOnce(&T, &mut ErrorList))
    where
        T: Deref<Target = View<'v, 'p>>,
    {
        if field.exists() {
            self.found += 1;
            check(&field, self.errors);
        }
    }

    /// Adds further errors.
    pub(crate) fn check_also(&mut self, check: impl FnOnce(&mut ErrorList)) {
        check(self.errors);
    }

    /// Like [`check`](Self::check), for a field that has another name in the error about a second one.
    pub(crate) fn check_shown_as<'v: 'p, 'p, T>(
        &mut self,
        name: &'p str,
        field: T,
        check: impl FnOnce(&T, &mut ErrorList),
    ) where
        T: Deref<Target = View<'v, 'p>> + Typed<'v, 'p> + Copy,
    {
        if self.found == 0 {
            self.check(field, check);
        } else {
            self.check(field.shown_as(name), |_, _| {});
        }
    }

    /// Adds an error to the struct if no field is set.
    pub(crate) fn require(self, whole: &View<'_, '_>, detail: &str) {
        if self.found == 0 {
            self.errors.push(whole.required(detail));
        }
    }
}
