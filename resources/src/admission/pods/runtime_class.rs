//! `RuntimeClass`: sets a pod's overhead and scheduling constraints from its runtime class.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::core::v1::Pod;
use resource_views::node::v1::RuntimeClass;
use serde_json::Value;

use crate::admission::placement::tolerations::merged;
use crate::api::core::pod_spec::totals;
use crate::api::core::pods::Pods;
use crate::api::node::runtimeclasses::RuntimeClasses;
use crate::support::lookup::Lookup;

const OVERHEAD: [&str; 2] = ["spec", "overhead"];

/// The plug-in.
pub(super) struct RuntimeClassAdmission {
    classes: Lookup,
}

impl RuntimeClassAdmission {
    /// Creates the plug-in over the installed classes; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi) -> Option<Self> {
        Some(Self { classes: Lookup::for_resource::<RuntimeClasses>(installed)? })
    }

    /// Returns the class that a pod names, if any.
    async fn class_of(&self, pod: &Object) -> Result<Option<Object>, StatusError> {
        let named = Pod(pod).spec().runtime_class_name().optional_text().filter(|name| !name.is_empty());
        let Some(name) = named else { return Ok(None) };
        match self.classes.get("", name).await? {
            Some(class) => Ok(Some(class)),
            None => Err(rejected(pod, format!("RuntimeClass {name:?} not found"))),
        }
    }
}

#[async_trait]
impl MutatingAdmission for RuntimeClassAdmission {
    async fn admit(&self, _: &RequestContext, mut write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(&[Operation::Create]) else { return Ok(()) };
        let Some(class) = self.class_of(pod).await? else { return Ok(()) };
        set_overhead(pod, &class)?;
        set_scheduling(pod, &class)
    }
}

#[async_trait]
impl ValidatingAdmission for RuntimeClassAdmission {
    async fn validate(&self, _: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(&[Operation::Create]) else { return Ok(()) };
        let class = self.class_of(pod).await?;
        let fixed = class.as_ref().and_then(fixed_overhead);
        match pod.get(&OVERHEAD) {
            Some(_) if fixed.is_none() => {
                Err(rejected(pod, "Pod Overhead set without corresponding RuntimeClass defined Overhead"))
            }
            own if !totals::are_equal(&totals::read(own), &totals::read(fixed)) => Err(mismatch(pod)),
            _ => Ok(()),
        }
    }
}

fn fixed_overhead(class: &Object) -> Option<&Value> {
    RuntimeClass(class).overhead().pod_fixed().value()
}

fn set_overhead(pod: &mut Object, class: &Object) -> Result<(), StatusError> {
    let Some(fixed) = fixed_overhead(class) else { return Ok(()) };
    let own = totals::read(pod.get(&OVERHEAD));
    if !own.is_empty() && !totals::are_equal(&own, &totals::read(Some(fixed))) {
        return Err(mismatch(pod));
    }
    pod.set(&OVERHEAD, fixed.clone());
    Ok(())
}

/// Adds the class's scheduling constraints to the pod. Fails if the two require different values of a label.
fn set_scheduling(pod: &mut Object, class: &Object) -> Result<(), StatusError> {
    let scheduling = RuntimeClass(class).scheduling();
    let selector = scheduling.node_selector().value().and_then(Value::as_object);
    for (label, value) in selector.into_iter().flatten() {
        let path = ["spec", "nodeSelector", label.as_str()];
        if let Some(own) = pod.get(&path).filter(|own| *own != value) {
            let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
            let why = format!(
                "conflict: runtimeClass.scheduling.nodeSelector[{label}] = {}; pod.spec.nodeSelector[{label}] = {}",
                text(value),
                text(own)
            );
            return Err(StatusError::forbidden(Pods::TYPE.group_resource(), pod.name(), why));
        }
        pod.set(&path, value.clone());
    }
    if !scheduling.exists() {
        return Ok(());
    }
    let own = Pod(pod).spec().tolerations().values().to_vec();
    let all = merged(own, scheduling.tolerations().values().to_vec());
    if !all.is_empty() {
        pod.set(&["spec", "tolerations"], all.into());
    }
    Ok(())
}

fn mismatch(pod: &Object) -> StatusError {
    rejected(pod, "Pod's Overhead doesn't match RuntimeClass's defined Overhead")
}

fn rejected(pod: &Object, why: impl std::fmt::Display) -> StatusError {
    StatusError::forbidden(Pods::TYPE.group_resource(), pod.name(), format!("pod rejected: {why}"))
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_pod_takes_over_what_its_class_says() {
        let class = Object::from_value(json!({
            "overhead": {"podFixed": {"cpu": "1"}},
            "scheduling": {"nodeSelector": {"a": "b"}, "tolerations": [{"key": "k"}]},
        }))
        .unwrap();
        let mut pod = Object::from_value(json!({"spec": {"tolerations": [{"key": "own"}]}})).unwrap();
        set_overhead(&mut pod, &class).unwrap();
        set_scheduling(&mut pod, &class).unwrap();
        let expected = json!({"spec": {
            "overhead": {"cpu": "1"}, "nodeSelector": {"a": "b"}, "tolerations": [{"key": "own"}, {"key": "k"}],
        }});
        assert_eq!(pod.clone().into_value(), expected);
        pod.set(&["spec", "nodeSelector", "a"], "c".into());
        assert!(set_scheduling(&mut pod, &class).unwrap_err().message.contains("conflict"));
        pod.set(&OVERHEAD, json!({"cpu": "2"}));
        assert!(set_overhead(&mut pod, &class).is_err());
    }
}
