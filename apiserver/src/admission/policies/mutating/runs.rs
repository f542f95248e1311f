//! Which policies run again when a later one, or another plug-in, has changed the object.
//!
//! Kubernetes concept: `policyReinvokeContext`.

use std::collections::HashSet;

use registry_core::admission::Reinvocation;
use registry_core::api::Object;

use super::NAME;

/// A policy with its binding and parameters, by their names.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Invoked {
    policy: String,
    binding: String,
    param: Option<(String, String)>,
}

/// The state that is kept between the runs.
#[derive(Default)]
struct Kept {
    /// The object after the last run.
    output: Option<Object>,
    /// The policies that ran, and may run again.
    invoked: HashSet<Invoked>,
    /// The policies that are to run again.
    due: HashSet<Invoked>,
}

/// One run of all policies over a write.
pub(super) struct Runs<'a> {
    reinvocation: Option<&'a Reinvocation>,
    /// Whether a mutation was applied.
    is_applied: bool,
}

// === impl Invoked ===

impl Invoked {
    pub(super) fn new(policy: &str, binding: &str, param: Option<&Object>) -> Self {
        let param = param.map(|param| (param.namespace().to_owned(), param.name().to_owned()));
        Self { policy: policy.to_owned(), binding: binding.to_owned(), param }
    }
}

// === impl Runs ===

impl<'a> Runs<'a> {
    /// Begins a run. If other plug-ins have changed the object since the last one, policies run again.
    pub(super) fn begin(reinvocation: Option<&'a Reinvocation>, object: Option<&Object>) -> Self {
        let runs = Self { reinvocation, is_applied: false };
        if runs.is_second() {
            runs.with(|kept| {
                if kept.output.as_ref() != object {
                    kept.require();
                }
            });
        }
        runs
    }

    /// Whether a policy runs in this run.
    pub(super) fn is_due(&self, invoked: &Invoked) -> bool {
        !self.is_second() || self.with(|kept| kept.due.contains(invoked)).unwrap_or(false)
    }

    /// Notes that the object was changed: the policies before run again.
    pub(super) fn changed(&mut self) {
        self.with(Kept::require);
        if let Some(reinvocation) = self.reinvocation {
            reinvocation.request();
        }
    }

    /// Notes that a mutation was applied, whether or not it changed the object.
    pub(super) fn applied(&mut self) {
        self.is_applied = true;
    }

    /// Notes that a policy ran that may run again.
    pub(super) fn invoked(&mut self, invoked: Invoked) {
        self.with(|kept| kept.invoked.insert(invoked));
    }

    /// Ends the run. Only the first has a successor, in which all policies that may run again do so if a mutation was applied:
    /// also the last one, after which nothing has changed the object.
    pub(super) fn end(mut self, object: Option<&Object>) {
        if self.is_applied {
            self.changed();
        }
        if !self.is_second() {
            self.with(|kept| kept.output = object.cloned());
        }
    }

    fn is_second(&self) -> bool {
        self.reinvocation.is_some_and(Reinvocation::is_second_run)
    }

    fn with<R>(&self, function: impl FnOnce(&mut Kept) -> R) -> Option<R> {
        Some(self.reinvocation?.with_kept(NAME, function))
    }
}

// === impl Kept ===

impl Kept {
    fn require(&mut self) {
        self.due.extend(self.invoked.drain());
    }
}
