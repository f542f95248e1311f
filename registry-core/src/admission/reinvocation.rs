//! A second run of the mutating plug-ins: a plug-in may have changed what an earlier one has decided by.

use std::any::Any;
use std::collections::HashMap;

use parking_lot::{Mutex, MutexGuard};

/// The state of one write's runs of the mutating plug-ins. All plug-ins run at most twice.
///
/// Kubernetes concept: `ReinvocationContext` in `k8s.io/apiserver/pkg/admission`.
#[derive(Default)]
pub struct Reinvocation {
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    is_second_run: bool,
    is_requested: bool,
    /// The data that each plug-in keeps between the runs, by the plug-in's name.
    kept: HashMap<&'static str, Box<dyn Any + Send>>,
}

// === impl Reinvocation ===

impl Reinvocation {
    /// Whether this is the second run.
    pub fn is_second_run(&self) -> bool {
        self.state().is_second_run
    }

    /// Requests a second run after this one. Has no effect in the second run.
    pub fn request(&self) {
        self.state().is_requested = true;
    }

    /// Calls `function` with what a plug-in keeps between the runs, which is the default value at first.
    pub fn with_kept<T: Default + Send + 'static, R>(
        &self,
        plugin: &'static str,
        function: impl FnOnce(&mut T) -> R,
    ) -> R {
        let mut state = self.state();
        let kept = state.kept.entry(plugin).or_insert_with(|| Box::new(T::default()));
        match kept.downcast_mut::<T>() {
            Some(kept) => function(kept),
            None => function(&mut T::default()),
        }
    }

    /// Starts the second run, if one was requested. Returns whether it was.
    pub(super) fn start_second_run(&self) -> bool {
        let mut state = self.state();
        let starts = state.is_requested && !state.is_second_run;
        state.is_second_run |= starts;
        starts
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }
}

impl std::fmt::Debug for Reinvocation {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Reinvocation")
    }
}
