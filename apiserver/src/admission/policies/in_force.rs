//! The policies with their bindings, kept up to date by informers.

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use arc_swap::{ArcSwap, ArcSwapOption};
use futures::future::BoxFuture;
use parking_lot::Mutex;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{
    Compiled, Informer, InformerChange, InformerHandler, InformerTask, InstalledApi, Synced,
};
use registry_core::resource::ResourceDescription;
use registry_core::storage::{Revision, StoredObject};

use crate::admission::manifests::{ManifestDirectory, Manifests};
use crate::admission::{Attributes, first_known};
use crate::metrics::ManifestMetrics;

use super::configures_policies;
use super::definitions::{Binding, Policy};

/// Time after a change in which further changes are collected.
const GATHER: Duration = Duration::from_millis(20);

/// A policy that is bound.
pub(super) struct Bound<E, X> {
    pub(super) policy: Arc<Policy<E>>,
    /// The bindings, by name.
    pub(super) bindings: Vec<Arc<Binding<X>>>,
}

/// The bound policies: those of files, and those of the API behind them, each by name.
pub(super) struct InForce<E, X> {
    policies: Arc<Following<Policy<E>>>,
    bindings: Arc<Following<Binding<X>>>,
    current: Arc<Current<E, X>>,
    compilers: Compilers<E, X>,
    synced: [Synced; 2],
    tasks: Mutex<Vec<InformerTask>>,
}

/// The policies that writes are judged by.
struct Current<E, X> {
    /// All of them; `None` before the first lists of policies and bindings.
    all: ArcSwapOption<Vec<Bound<E, X>>>,
    /// Those of files.
    from_files: ArcSwap<Vec<Bound<E, X>>>,
    /// Held while all of them are replaced.
    replacing: Mutex<()>,
}

/// The functions that compile policies and bindings.
struct Compilers<E, X> {
    policy: fn(&Object) -> Policy<E>,
    binding: fn(&Object) -> Binding<X>,
}

/// Compiled objects; calls a function after each change.
struct Following<T> {
    compiled: Compiled<T>,
    is_listed: AtomicBool,
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
        let compilers = Compilers { policy: policies.1, binding: bindings.1 };
        let compile = policies.1;
        let policies = Arc::new(Following::new(Compiled::new(policy_store.clone(), move |object| {
            Some(compile(&object))
        })));
        let compile = bindings.1;
        let bindings = Arc::new(Following::new(Compiled::new(binding_store.clone(), move |object| {
            Some(compile(&object))
        })));
        let policy_informer = Informer::new(policy_store, policies.clone()).gathering(GATHER);
        let binding_informer = Informer::new(binding_store, bindings.clone()).gathering(GATHER);
        let synced = [policy_informer.synced(), binding_informer.synced()];
        let tasks = vec![policy_informer.into_task(), binding_informer.into_task()];
        let current = Arc::new(Current {
            all: ArcSwapOption::empty(),
            from_files: ArcSwap::default(),
            replacing: Mutex::default(),
        });
        let in_force = Self { policies, bindings, current, compilers, synced, tasks: Mutex::new(tasks) };
        in_force.policies.call(in_force.rebuild());
        in_force.bindings.call(in_force.rebuild());
        Some(in_force)
    }

    /// Enforces the policies of a directory. Returns the task that follows it.
    pub(super) fn follow(
        &self,
        directory: ManifestDirectory,
        metrics: &ManifestMetrics,
    ) -> BoxFuture<'static, ()> {
        let Compilers { policy, binding } = self.compilers;
        let (current, rebuild) = (self.current.clone(), self.rebuild());
        directory.follow(metrics, move |Manifests { main, bindings, .. }| {
            let policies: Vec<_> = main.iter().map(|object| Arc::new(policy(object))).collect();
            let bindings: Vec<_> = bindings.iter().map(|object| Arc::new(binding(object))).collect();
            current.from_files.store(Arc::new(bound(&policies, &bindings)));
            rebuild();
        })
    }

    /// Returns the bound policies for a write at this moment; `None` if there are none. Waits for the first lists of policies and
    /// bindings, unless only those of files apply.
    ///
    /// # Errors
    /// 403 if they are not known yet, and do not become known in time.
    pub(super) async fn current(
        &self,
        attributes: &Attributes<'_>,
    ) -> Result<Option<Arc<Vec<Bound<E, X>>>>, StatusError> {
        if configures_policies(attributes) {
            let from_files = self.current.from_files.load_full();
            return Ok((!from_files.is_empty()).then_some(from_files));
        }
        if let Some(current) = &*self.current.all.load() {
            return Ok((!current.is_empty()).then(|| current.clone()));
        }
        let [policies, bindings] = &self.synced;
        let synced = async { tokio::join!(policies.wait(), bindings.wait()) };
        let current = first_known(&self.current.all, synced, attributes).await?;
        Ok((!current.is_empty()).then_some(current))
    }

    /// Returns the informers, the first time it is called.
    pub(super) fn informers(&self) -> Vec<InformerTask> {
        std::mem::take(&mut *self.tasks.lock())
    }

    /// Returns a function that puts all policies together again, once policies and bindings are listed.
    fn rebuild(&self) -> Changed {
        // Weak, because the informers' handlers would keep themselves.
        let policies = Arc::downgrade(&self.policies);
        let bindings = Arc::downgrade(&self.bindings);
        let current = self.current.clone();
        Box::new(move || {
            let (Some(policies), Some(bindings)) = (policies.upgrade(), bindings.upgrade()) else {
                return;
            };
            let _alone = current.replacing.lock();
            // A policy without the bindings that are not listed yet would not be enforced.
            if policies.is_listed() && bindings.is_listed() {
                let mut all = current.from_files.load().to_vec();
                all.extend(bound(&policies.compiled.all(), &bindings.compiled.all()));
                current.all.store(Some(Arc::new(all)));
            }
        })
    }
}

// === impl Bound ===

impl<E, X> Clone for Bound<E, X> {
    fn clone(&self) -> Self {
        Self { policy: self.policy.clone(), bindings: self.bindings.clone() }
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
        Self { compiled, is_listed: AtomicBool::new(false), changed: Mutex::new(None) }
    }

    /// Whether the first list was handled.
    fn is_listed(&self) -> bool {
        self.is_listed.load(Ordering::SeqCst)
    }

    fn tell(&self) {
        if let Some(changed) = &*self.changed.lock() {
            changed();
        }
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
        if self.is_listed() {
            self.tell();
        }
    }

    fn reached(&self, revision: Revision) {
        self.compiled.reached(revision);
        if !self.is_listed.swap(true, Ordering::SeqCst) {
            self.tell();
        }
    }
}

#[cfg(test)]
mod tests {
    use registry_core::api::CreateOptions;
    use registry_core::rest::{AdmitAll, Creater as _};
    use registry_core::{RequestContext, Resource as _};
    use resources::api::admissionregistration::validatingadmissionpolicies::ValidatingAdmissionPolicies;
    use resources::api::admissionregistration::validatingadmissionpolicybindings::ValidatingAdmissionPolicyBindings;
    use serde_json::json;

    use crate::admission::testing::{creation, installed};

    use super::*;

    /// Returns a bound policy whose informers do not run yet.
    async fn one_bound() -> InForce<(), ()> {
        let installed = installed(|plural| plural.starts_with("validatingadmissionpolic"));
        let rule = json!({"apiGroups": [""], "apiVersions": ["v1"], "resources": ["configmaps"], "operations": ["*"]});
        let policy = json!({
            "metadata": {"name": "p"},
            "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": [{"expression": "false"}]},
        });
        let binding = json!({
            "metadata": {"name": "b"}, "spec": {"policyName": "p", "validationActions": ["Deny"]},
        });
        for (kind, object) in
            [(ValidatingAdmissionPolicies::TYPE, policy), (ValidatingAdmissionPolicyBindings::TYPE, binding)]
        {
            let object = Object::from_value(object).unwrap();
            let store = installed.store(kind).unwrap();
            let context = RequestContext::system("");
            store.create(&context, object.into(), &AdmitAll, &CreateOptions::default()).await.unwrap();
        }
        InForce::new(
            &installed,
            (ValidatingAdmissionPolicies::TYPE, |object| Policy::new(object, |_, _| ())),
            (ValidatingAdmissionPolicyBindings::TYPE, |object| Binding::new(object, ())),
        )
        .unwrap()
    }

    /// A server that has just started, and was asked for a write before it had read its policies, let the write through.
    #[tokio::test]
    async fn writes_wait_until_policies_and_bindings_are_known() {
        let attributes = creation();
        for is_first_the_policies in [true, false] {
            let in_force = one_bound().await;
            let mut informers = in_force.informers();
            if !is_first_the_policies {
                informers.reverse();
            }
            let mut write = std::pin::pin!(in_force.current(&attributes));
            for informer in informers {
                assert!(futures::poll!(write.as_mut()).is_pending(), "not all are known");
                let synced = informer.synced();
                tokio::spawn(informer.run());
                assert!(synced.wait().await);
            }
            assert_eq!(write.await.unwrap().map(|bound| bound.len()), Some(1));
        }
    }

    #[tokio::test(start_paused = true)]
    async fn writes_are_refused_while_policies_stay_unknown() {
        let attributes = creation();
        let in_force = one_bound().await;
        let refused = in_force.current(&attributes).await.err().unwrap();
        assert_eq!(refused.message, r#"configmaps "a" is forbidden: not yet ready to handle request"#);
    }
}
