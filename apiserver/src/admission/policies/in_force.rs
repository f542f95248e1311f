//! The policies with their bindings, kept up to date by informers.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use parking_lot::Mutex;
use registry_core::api::Object;
use registry_core::registry::{
    Compiled, Informer, InformerChange, InformerHandler, InformerTask, InstalledApi,
};
use registry_core::resource::ResourceDescription;
use registry_core::storage::{Revision, StoredObject};

use super::definitions::{Binding, Policy};

/// Time after a change in which further changes are collected.
const GATHER: Duration = Duration::from_millis(20);

/// A policy that is bound.
pub(super) struct Bound<E, X> {
    pub(super) policy: Arc<Policy<E>>,
    /// The bindings, by name.
    pub(super) bindings: Vec<Arc<Binding<X>>>,
}

/// The bound policies, by name.
pub(super) struct InForce<E, X> {
    policies: Arc<Following<Policy<E>>>,
    bindings: Arc<Following<Binding<X>>>,
    current: Arc<ArcSwap<Vec<Bound<E, X>>>>,
    tasks: Mutex<Vec<InformerTask>>,
}

/// Compiled objects; calls a function after each change.
struct Following<T> {
    compiled: Compiled<T>,
    changed: Mutex<Option<Changed>>,
}

type Changed = Box<dyn Fn() + Send + Sync>;

// === impl InForce ===

impl<E: Send + Sync + 'static, X: Send + Sync + 'static> InForce<E, X> {
    /// Follows policies and bindings; `None` if they are not served. The functions compile them.
    pub(super) fn new(
        installed: &InstalledApi,
        policies: (&'static ResourceDescription, fn(&Object) -> Policy<E>),
        bindings: (&'static ResourceDescription, fn(&Object) -> Binding<X>),
    ) -> Option<Self> {
        let policy_store = installed.store(policies.0)?;
        let binding_store = installed.store(bindings.0)?;
        let compile = policies.1;
        let policies = Arc::new(Following::new(Compiled::new(policy_store.clone(), move |object| {
            Some(compile(&object))
        })));
        let compile = bindings.1;
        let bindings = Arc::new(Following::new(Compiled::new(binding_store.clone(), move |object| {
            Some(compile(&object))
        })));
        let tasks = vec![
            Informer::new(policy_store, policies.clone()).gathering(GATHER).into_task(),
            Informer::new(binding_store, bindings.clone()).gathering(GATHER).into_task(),
        ];
        let current = Arc::new(ArcSwap::default());
        let in_force = Self { policies, bindings, current, tasks: Mutex::new(tasks) };
        in_force.rebuild_on_changes();
        Some(in_force)
    }

    /// Returns the bound policies at this moment.
    pub(super) fn current(&self) -> arc_swap::Guard<Arc<Vec<Bound<E, X>>>> {
        self.current.load()
    }

    /// Returns the informers, the first time it is called.
    pub(super) fn informers(&self) -> Vec<InformerTask> {
        std::mem::take(&mut *self.tasks.lock())
    }

    fn rebuild_on_changes(&self) {
        let under_way = Arc::new(Mutex::new(()));
        let rebuild = || -> Changed {
            // Weak, because the informers' handlers would keep themselves.
            let policies = Arc::downgrade(&self.policies);
            let bindings = Arc::downgrade(&self.bindings);
            let current = self.current.clone();
            let under_way = under_way.clone();
            Box::new(move || {
                let (Some(policies), Some(bindings)) = (policies.upgrade(), bindings.upgrade()) else {
                    return;
                };
                let _one_at_a_time = under_way.lock();
                current.store(Arc::new(bound(&policies.compiled.all(), &bindings.compiled.all())));
            })
        };
        self.policies.call(rebuild());
        self.bindings.call(rebuild());
    }
}

/// Puts policies and their bindings together.
fn bound<E, X>(policies: &[Arc<Policy<E>>], bindings: &[Arc<Binding<X>>]) -> Vec<Bound<E, X>> {
    let mut by_policy: HashMap<&str, Vec<Arc<Binding<X>>>> = HashMap::new();
    for binding in bindings {
        by_policy.entry(&binding.policy).or_default().push(binding.clone());
    }
    let with_bindings = policies.iter().filter_map(|policy| {
        let bindings = by_policy.remove(policy.name.as_str())?;
        Some(Bound { policy: policy.clone(), bindings })
    });
    with_bindings.collect()
}

// === impl Following ===

impl<T> Following<T> {
    fn new(compiled: Compiled<T>) -> Self {
        Self { compiled, changed: Mutex::new(None) }
    }

    fn call(&self, changed: Changed) {
        *self.changed.lock() = Some(changed);
    }
}

impl<T: Send + Sync + 'static> InformerHandler for Following<T> {
    fn replaced(&self, objects: Vec<StoredObject>) {
        self.compiled.replaced(objects);
    }

    fn changed(&self, change: InformerChange) {
        self.compiled.changed(change);
    }

    fn publish(&self) {
        self.compiled.publish();
        if let Some(changed) = &*self.changed.lock() {
            changed();
        }
    }

    fn reached(&self, revision: Revision) {
        self.compiled.reached(revision);
    }
}
