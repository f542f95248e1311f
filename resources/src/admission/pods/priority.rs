//! `Priority`: sets a pod's priority to the priority of its class.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use resource_views::core::v1::{Pod, PodMut};
use resource_views::scheduling::v1::PriorityClass;

use crate::admission::refusal::forbidden;
use crate::api::core::pods::Pods;
use crate::api::scheduling::priorityclasses::PriorityClasses;
use crate::support::lookup::{Decoded, Lookup};

const PREEMPT: &str = "PreemptLowerPriority";

/// The plug-in.
pub(super) struct PriorityAdmission {
    classes: Decoded<Class>,
}

declare! { PriorityAdmission: "Priority", informed by classes }

/// A priority class.
struct Class {
    given: Given,
    /// Whether it applies to pods that name no class.
    is_default: bool,
}

/// The values that a class gives its pods.
#[derive(Clone)]
struct Given {
    class: String,
    priority: i64,
    preemption: String,
}

impl PriorityAdmission {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        let classes = Lookup::for_resource::<PriorityClasses>(installed)?;
        Some(Self { classes: Decoded::new(classes, |class| Class::from_object(&class)) })
    }

    async fn given(&self, attributes: &Attributes<'_>, pod: &Object) -> Result<Given, StatusError> {
        let wanted = Pod(pod).spec().priority_class_name().text();
        if !wanted.is_empty() {
            let class = self.classes.get("", wanted).await?;
            return class.map(|class| class.given.clone()).ok_or_else(|| {
                forbidden(attributes, Some(pod), format!("no PriorityClass with name {wanted} was found"))
            });
        }
        let none = || Given { class: String::new(), priority: 0, preemption: PREEMPT.to_owned() };
        Ok(self.default_class().await?.unwrap_or_else(none))
    }

    /// Returns the class of pods that name none: the least of those that are marked.
    async fn default_class(&self) -> Result<Option<Given>, StatusError> {
        let classes = self.classes.all_in("").await?;
        let defaults = classes.iter().filter(|class| class.is_default).map(|class| &class.given);
        Ok(defaults.min_by_key(|given| given.priority).cloned())
    }
}

impl Class {
    fn from_object(class: &Object) -> Self {
        let is_default = PriorityClass(class).global_default().is_true();
        Self { given: Given::from_class(class), is_default }
    }
}

impl Given {
    fn from_class(class: &Object) -> Self {
        Self {
            class: class.name().to_owned(),
            priority: PriorityClass(class).value().number(),
            preemption: PriorityClass(class)
                .preemption_policy()
                .optional_text()
                .unwrap_or(PREEMPT)
                .to_owned(),
        }
    }
}

#[async_trait]
impl ValidatingAdmission for PriorityAdmission {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(class) = write.object else { return Ok(()) };
        let concerned = write.attributes.are_of::<PriorityClasses>(Operation::WRITES);
        if !concerned || !PriorityClass(class).global_default().is_true() {
            return Ok(());
        }
        let Some(present) = self.default_class().await? else { return Ok(()) };
        if write.attributes.operation == Operation::Update && present.class == class.name() {
            return Ok(());
        }
        let why = format!(
            "PriorityClass {} is already marked as default. Only one default can exist",
            present.class
        );
        Err(forbidden(write.attributes, write.object, why))
    }
}

#[async_trait]
impl MutatingAdmission for PriorityAdmission {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object else { return Ok(()) };
        if let (true, Some(old)) = (write.attributes.are_of::<Pods>(&[Operation::Update]), write.old) {
            // An update by a client that does not know the priority fields keeps them.
            let old = Pod(old).spec();
            PodMut(pod).spec().edit(|mut spec| {
                if spec.priority().is_absent() {
                    spec.priority().copy_from(&old.priority());
                }
                if spec.preemption_policy().is_absent() {
                    spec.preemption_policy().copy_from(&old.preemption_policy());
                }
            });
        }
        if write.attributes.are_of::<Pods>(&[Operation::Create]) {
            let given = self.given(write.attributes, pod).await?;
            give(write.attributes, pod, given)?;
        }
        Ok(())
    }
}

fn give(attributes: &Attributes<'_>, pod: &mut Object, given: Given) -> Result<(), StatusError> {
    const COMPUTED: &str = "must not be provided in pod spec; priority admission controller computed";
    let own = Pod(pod).spec().priority().integer();
    if let Some(own) = own.filter(|own| *own != given.priority) {
        let why = format!(
            "the integer value of priority ({own}) {COMPUTED} {} from the given PriorityClass name",
            given.priority
        );
        return Err(forbidden(attributes, Some(pod), why));
    }
    let own = Pod(pod).spec().preemption_policy().optional_text();
    if let Some(own) = own.filter(|own| *own != given.preemption) {
        let why = format!(
            "the string value of PreemptionPolicy ({own}) {COMPUTED} {} from the given PriorityClass name",
            given.preemption
        );
        return Err(forbidden(attributes, Some(pod), why));
    }
    let mut spec = PodMut(pod).spec().or_new();
    spec.priority().set(given.priority);
    spec.preemption_policy().set(&given.preemption);
    if !given.class.is_empty() {
        pod.set(&["spec", "priorityClassName"], given.class.into());
    }
    Ok(())
}
