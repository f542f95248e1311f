//! The plug-ins of a server, and their order.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::BoxFuture;
use tracing::Instrument as _;

use super::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, Reinvocation, ServedKinds,
    ValidatingAdmission,
};
use crate::api::{Object, StatusError};
use crate::context::RequestContext;
use crate::registry::InformerTask;
use crate::rest;
use crate::stage;

/// All plug-ins, in the order in which they run.
#[derive(Clone, Default)]
pub struct AdmissionChain {
    /// The mutating plug-ins.
    pub mutating: Vec<Arc<dyn MutatingAdmission>>,
    /// The validating plug-ins, which run last.
    pub validating: Vec<Arc<dyn ValidatingAdmission>>,
}

/// The validating plug-ins, bound to one request. The registry calls this.
pub struct RequestValidation<'a> {
    chain: &'a AdmissionChain,
    attributes: Attributes<'a>,
    /// `None`: no update creates its object.
    creation: Option<&'a dyn CreationCheck>,
}

/// Decides whether the user of an update may create its object, if there is none.
#[async_trait]
pub trait CreationCheck: Send + Sync {
    /// Decides it, before the validating plug-ins run.
    ///
    /// # Errors
    /// 403: the user may not.
    async fn may_create(&self, context: &RequestContext) -> Result<(), StatusError>;
}

// === impl AdmissionChain ===

impl AdmissionChain {
    /// Runs all mutating plug-ins, until the first refusal, and once more if one of them requests it.
    ///
    /// # Errors
    /// Fails if a plug-in refuses the write.
    pub async fn admit(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        mut object: Option<&mut Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let reinvocation = Reinvocation::default();
        let attributes = Attributes { reinvocation: Some(&reinvocation), ..*attributes };
        let admitted = async {
            loop {
                for plugin in &self.mutating {
                    let object = object.as_deref_mut();
                    let write = ObjectWriteMut::new(&attributes, object, old);
                    plugin.admit(context, write).await?;
                }
                if !reinvocation.start_second_run() {
                    return Ok(());
                }
            }
        };
        admitted.instrument(stage!("admission", kind = "mutating")).await
    }

    /// Keeps only the plug-ins whose names satisfy the predicate.
    pub fn retain(&mut self, keeps: impl Fn(&str) -> bool) {
        self.mutating.retain(|plugin| keeps(plugin.name()));
        self.validating.retain(|plugin| keeps(plugin.name()));
    }

    /// Sorts the plug-ins by their position in this list of names; those that it does not contain come last.
    pub fn sort(&mut self, order: &[&str]) {
        let position = |name: &str| order.iter().position(|other| *other == name).unwrap_or(order.len());
        self.mutating.sort_by_key(|plugin| position(plugin.name()));
        self.validating.sort_by_key(|plugin| position(plugin.name()));
    }

    /// Returns the informers of all plug-ins, the first time it is called.
    pub fn informers(&self) -> Vec<InformerTask> {
        let mutating = self.mutating.iter().flat_map(|plugin| plugin.informers());
        mutating.chain(self.validating.iter().flat_map(|plugin| plugin.informers())).collect()
    }

    /// Returns the work of all plug-ins beside requests, the first time it is called.
    pub fn background(&self, kinds: &Arc<dyn ServedKinds>) -> Vec<BoxFuture<'static, ()>> {
        let mutating = self.mutating.iter().filter_map(|plugin| plugin.background(kinds));
        mutating.chain(self.validating.iter().filter_map(|plugin| plugin.background(kinds))).collect()
    }

    /// Returns the names of all plug-ins, in the order in which they run.
    pub fn names(&self) -> impl Iterator<Item = &'static str> + '_ {
        let mutating = self.mutating.iter().map(|plugin| plugin.name());
        mutating.chain(self.validating.iter().map(|plugin| plugin.name()))
    }

    /// Returns the plug-ins that run within the store's retry loop, bound to a request with these attributes: the
    /// validating ones, and for a deletion, whose object is known only then, the mutating ones before them.
    pub fn validation<'a>(&'a self, attributes: Attributes<'a>) -> RequestValidation<'a> {
        RequestValidation { chain: self, attributes, creation: None }
    }

    /// Returns the plug-ins of an update, as [`validation`](Self::validation) does, with the decision whether it may create
    /// its object. Without one it may not.
    pub fn validation_of_update<'a>(
        &'a self,
        attributes: Attributes<'a>,
        creation: &'a dyn CreationCheck,
    ) -> RequestValidation<'a> {
        RequestValidation { creation: Some(creation), ..self.validation(attributes) }
    }
}

impl std::fmt::Debug for AdmissionChain {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_list().entries(self.names()).finish()
    }
}

// === impl RequestValidation ===

#[async_trait]
impl rest::ValidateObject for RequestValidation<'_> {
    async fn validate(
        &self,
        context: &RequestContext,
        new: Option<&Object>,
        old: Option<&Object>,
    ) -> Result<(), StatusError> {
        let operation = match (self.attributes.operation, old) {
            (Operation::Update, None) => {
                let unknown = || StatusError::internal("nothing decides whether this update may create");
                self.creation.ok_or_else(unknown)?.may_create(context).await?;
                // Validators see an update that creates the object as a creation.
                Operation::Create
            }
            (operation, _) => operation,
        };
        let attributes = Attributes { operation, ..self.attributes };
        if operation == Operation::Delete {
            self.chain.admit(context, &attributes, None, old).await?;
        }
        let validated = async {
            for plugin in &self.chain.validating {
                let write = ObjectWrite::new(&attributes, new, old);
                plugin.validate(context, write).await?;
            }
            Ok(())
        };
        validated.instrument(stage!("admission", kind = "validating")).await
    }
}

#[cfg(test)]
mod tests {
    use crate::admission::AdmissionPlugin;
    use crate::api::{GroupVersionKind, GroupVersionResource};
    use crate::rest::ValidateObject as _;

    use super::*;

    /// Adds its name and the run to the annotation `runs`, and requests another run.
    struct Counting(&'static str);

    impl AdmissionPlugin for Counting {
        fn name(&self) -> &'static str {
            self.0
        }
    }

    #[async_trait]
    impl MutatingAdmission for Counting {
        async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
            let ObjectWriteMut { attributes, object, old } = write;
            let Some(reinvocation) = attributes.reinvocation else { return Ok(()) };
            let runs = reinvocation.with_kept(self.0, |runs: &mut usize| {
                *runs += 1;
                *runs
            });
            reinvocation.request();
            if let Some(object) = object {
                let before = object.get_str(&["runs"]).unwrap_or_default().to_owned();
                object.set(&["runs"], format!("{before}{}{runs} ", self.0).into());
            } else if old.is_some_and(|old| old.name() == "kept") {
                return Err(StatusError::bad_request("this one is kept"));
            }
            Ok(())
        }
    }

    fn chain() -> AdmissionChain {
        let plugins: [Arc<dyn MutatingAdmission>; 3] =
            [Arc::new(Counting("c")), Arc::new(Counting("own")), Arc::new(Counting("a"))];
        let mut chain = AdmissionChain { mutating: plugins.to_vec(), validating: Vec::new() };
        chain.sort(&["a", "b", "c"]);
        chain
    }

    fn attributes(operation: Operation) -> Attributes<'static> {
        let resource = GroupVersionResource { group: "", version: "v1", resource: "things" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "Thing" };
        Attributes::new(operation, resource, kind, "")
    }

    #[tokio::test]
    async fn mutating_plugins_run_in_order_and_at_most_twice() {
        let chain = chain();
        let mut object = Object::default();
        let attributes = attributes(Operation::Create);
        let admitted = chain.admit(&RequestContext::system(""), &attributes, Some(&mut object), None).await;
        assert!(admitted.is_ok());
        assert_eq!(object.get_str(&["runs"]), Some("a1 c1 own1 a2 c2 own2 "));
    }

    #[tokio::test]
    async fn mutating_plugins_see_the_object_that_is_deleted() {
        let chain = chain();
        let validation = chain.validation(attributes(Operation::Delete));
        let context = RequestContext::system("");
        let mut old = Object::default();
        assert!(validation.validate(&context, None, Some(&old)).await.is_ok());
        old.set(&["metadata", "name"], "kept".into());
        let refused = validation.validate(&context, None, Some(&old)).await.unwrap_err();
        assert_eq!(refused.message, "this one is kept");
    }
}
