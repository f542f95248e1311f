//! `PodTolerationRestriction`: pods get the tolerations of their namespace, and tolerate only what it allows.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::Typed as _;
use resource_views::core::v1::{Pod, Toleration};
use serde::Deserialize;
use serde_json::{Value, json};

use super::tolerations;
use crate::admission::refusal::failed;
use crate::admission::settings_error::{InvalidToleration, SettingsError};
use crate::api::core::namespaces::Namespaces;
use crate::api::core::pods::{Pods, quality_of_service};
use crate::support::lookup::Lookup;

const DEFAULTS: &str = "scheduler.alpha.kubernetes.io/defaultTolerations";
const ALLOWED: &str = "scheduler.alpha.kubernetes.io/tolerationsWhitelist";

/// The plug-in.
pub(super) struct TolerationRestriction {
    namespaces: Lookup,
    settings: TolerationSettings,
}

/// The configuration: the tolerations for namespaces without annotations.
#[derive(Clone, Debug, Default)]
pub(crate) struct TolerationSettings {
    default: Vec<Value>,
    allowed: Vec<Value>,
}

/// The configuration as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    default: Vec<Value>,
    #[serde(default, rename = "whitelist")]
    allowed: Vec<Value>,
}

impl TolerationSettings {
    /// Reads a `Configuration` of `podtolerationrestriction.admission.k8s.io`.
    ///
    /// # Errors
    /// The configuration is not valid; the text names the field.
    pub(crate) fn read(configuration: Value) -> Result<Self, SettingsError> {
        let Written { default, allowed, .. } = serde_json::from_value(configuration)?;
        for (field, list) in [("default", &default), ("whitelist", &allowed)] {
            for (index, toleration) in list.iter().enumerate() {
                check(toleration).map_err(|source| SettingsError::Toleration { field, index, source })?;
            }
        }
        Ok(Self { default, allowed })
    }
}

/// Checks the form of a toleration.
fn check(toleration: &Value) -> Result<(), InvalidToleration> {
    let fields = toleration.as_object().ok_or(InvalidToleration::NoObject)?;
    for (name, value) in fields {
        let is_right = match name.as_str() {
            "key" | "operator" | "value" | "effect" => value.is_string(),
            "tolerationSeconds" => value.is_i64() || value.is_u64(),
            _ => return Err(InvalidToleration::UnknownField(name.clone())),
        };
        if !is_right {
            return Err(InvalidToleration::Type(name.clone()));
        }
    }
    let toleration = Toleration::from_value(toleration);
    let (operator, effect) = (toleration.operator().text(), toleration.effect().text());
    if !matches!(operator, "" | "Equal" | "Exists") {
        return Err(InvalidToleration::Operator(operator.to_owned()));
    }
    if !matches!(effect, "" | "NoSchedule" | "PreferNoSchedule" | "NoExecute") {
        return Err(InvalidToleration::Effect(effect.to_owned()));
    }
    if toleration.key().text().is_empty() && operator != "Exists" {
        return Err(InvalidToleration::NoKey);
    }
    Ok(())
}

impl TolerationRestriction {
    /// Creates the plug-in over the installed namespaces; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi, settings: TolerationSettings) -> Option<Self> {
        Some(Self { namespaces: Lookup::for_resource::<Namespaces>(installed)?, settings })
    }

    async fn namespace(&self, name: &str) -> Result<Object, StatusError> {
        let namespace = self.namespaces.get("", name).await?;
        namespace.ok_or_else(|| StatusError::not_found(Namespaces::TYPE.group_resource(), name))
    }

    fn check_allowed(&self, namespace: &Object, pod: &Object) -> Result<(), StatusError> {
        let (allowed, scope) = match annotated(namespace, ALLOWED)? {
            Some(allowed) => (allowed, "namespace"),
            None => (self.settings.allowed.clone(), "cluster"),
        };
        if tolerations::are_allowed(Pod(pod).spec().tolerations().values(), &allowed) {
            return Ok(());
        }
        Err(failed(format!(
            "pod tolerations (possibly merged with namespace default tolerations) conflict with its {scope} whitelist"
        )))
    }
}

/// Returns the tolerations in an annotation of a namespace; `None` if it has none.
fn annotated(namespace: &Object, annotation: &str) -> Result<Option<Vec<Value>>, StatusError> {
    match namespace.annotation(annotation) {
        None => Ok(None),
        Some("") => Ok(Some(Vec::new())),
        Some(text) => serde_json::from_str(text).map(Some).map_err(|error| failed(error.to_string())),
    }
}

#[async_trait]
impl MutatingAdmission for TolerationRestriction {
    async fn admit(
        &self,
        context: &RequestContext,
        mut write: ObjectWriteMut<'_>,
    ) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(Operation::WRITES) else { return Ok(()) };
        let namespace = self.namespace(&context.namespace).await?;
        let mut more = Vec::new();
        if write.attributes.operation == Operation::Create {
            let own = annotated(&namespace, DEFAULTS)?;
            more = own.unwrap_or_else(|| self.settings.default.clone());
        }
        if quality_of_service(pod) != "BestEffort" {
            more.push(json!({
                "key": "node.kubernetes.io/memory-pressure", "operator": "Exists", "effect": "NoSchedule",
            }));
        }
        if !more.is_empty() {
            let merged = tolerations::merged(Pod(pod).spec().tolerations().values().to_vec(), more);
            pod.set(&["spec", "tolerations"], merged.into());
        }
        self.check_allowed(&namespace, pod)
    }
}

#[async_trait]
impl ValidatingAdmission for TolerationRestriction {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(Operation::WRITES) else { return Ok(()) };
        self.check_allowed(&self.namespace(&context.namespace).await?, pod)
    }
}

#[cfg(test)]
mod tests {
    use registry_core::admission::Attributes;
    use registry_core::admission::ObjectWriteMut;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn a_namespace_gives_and_restricts_tolerations() {
        let installed = testing::installed(&["namespaces", "pods"]);
        let annotations = json!({
            DEFAULTS: r#"[{"key": "team", "operator": "Equal", "value": "a"}]"#,
            ALLOWED: r#"[{"key": "team", "operator": "Exists"}]"#,
        });
        let namespace = json!({"metadata": {"name": "own", "annotations": annotations}});
        testing::create::<Namespaces>(&installed, namespace).await;
        testing::create::<Namespaces>(&installed, json!({"metadata": {"name": "plain"}})).await;
        let settings = TolerationSettings::read(json!({
            "apiVersion": "podtolerationrestriction.admission.k8s.io/v1alpha1", "kind": "Configuration",
            "default": [{"key": "every", "operator": "Exists"}],
        }))
        .unwrap();
        let plugin = TolerationRestriction::new(&installed, settings).unwrap();
        let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
        let attributes = Attributes::new(Operation::Create, resource, kind, "p");
        let admitted = async |namespace: &str, own: Value| {
            let mut pod = Object::from_value(json!({"spec": {"tolerations": own}})).unwrap();
            let context = RequestContext::system(namespace);
            let admitted =
                plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut pod), None)).await;
            admitted.map(|()| pod.get(&["spec", "tolerations"]).cloned().unwrap()).map_err(|why| why.message)
        };
        let team = json!({"key": "team", "operator": "Equal", "value": "a"});
        assert_eq!(admitted("own", json!([])).await.unwrap(), json!([team]));
        let refused = admitted("own", json!([{"key": "other", "operator": "Exists"}])).await.unwrap_err();
        assert!(refused.ends_with("conflict with its namespace whitelist"), "{refused}");
        let every = json!({"key": "every", "operator": "Exists"});
        assert_eq!(admitted("plain", json!([team])).await.unwrap(), json!([team, every]));
        let wrong = json!({"apiVersion": "a", "kind": "b", "whitelist": [{"operator": "Exists"}, {"operator": "Zork"}]});
        assert!(
            TolerationSettings::read(wrong).unwrap_err().to_string().starts_with("whitelist[1]: operator")
        );
    }
}
