//! `PodNodeSelector`: pods run on the nodes that their namespace selects, by an annotation or by the configuration.

use std::collections::BTreeMap;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{
    Attributes, MutatingAdmission, ObjectWrite, ObjectWriteMut, Operation, ValidatingAdmission,
};
use registry_core::api::{Object, StatusError};
use registry_core::registry::InstalledApi;
use registry_core::resource::Resource;
use resource_views::core::v1::Pod;
use serde_json::{Map, Value};

use crate::admission::refusal::{failed, forbidden};
use crate::admission::settings_error::{InvalidSelector, SettingsError};
use crate::api::core::namespaces::Namespaces;
use crate::api::core::pods::Pods;
use crate::support::lookup::Lookup;

const ANNOTATION: &str = "scheduler.alpha.kubernetes.io/node-selector";
/// The entry of the configuration for namespaces without the annotation.
const DEFAULT: &str = "clusterDefaultNodeSelector";

/// Labels of nodes.
type Selector = BTreeMap<String, String>;

/// The plug-in.
pub(super) struct NodeSelector {
    namespaces: Lookup,
    settings: NodeSelectorSettings,
}

/// The configuration: the labels that the pods of a namespace may select, and the labels that pods of namespaces without an
/// annotation select.
#[derive(Clone, Debug, Default)]
pub(crate) struct NodeSelectorSettings(BTreeMap<String, Selector>);

impl NodeSelectorSettings {
    /// Reads a `podNodeSelectorPluginConfig`.
    ///
    /// # Errors
    /// A selector is malformed; the text names it.
    pub(crate) fn read(configuration: &Value) -> Result<Self, SettingsError> {
        let entries = configuration.get("podNodeSelectorPluginConfig").and_then(Value::as_object);
        let entries = entries.ok_or(SettingsError::Required("podNodeSelectorPluginConfig"))?;
        let selectors = entries.iter().map(|(namespace, text)| {
            let namespace = namespace.clone();
            match text.as_str().map(parse) {
                None => Err(SettingsError::NoSelector(namespace)),
                Some(Err(source)) => Err(SettingsError::Selector { namespace, source }),
                Some(Ok(selector)) => Ok((namespace, selector)),
            }
        });
        Ok(Self(selectors.collect::<Result<_, _>>()?))
    }
}

impl NodeSelector {
    /// Creates the plug-in over the installed namespaces; `None` if they are not served.
    pub(super) fn new(installed: &InstalledApi, settings: NodeSelectorSettings) -> Option<Self> {
        Some(Self { namespaces: Lookup::for_resource::<Namespaces>(installed)?, settings })
    }

    /// Returns the selector of the pods of the request's namespace. Fails if it conflicts with that of the pod.
    async fn selector(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Object,
    ) -> Result<Selector, StatusError> {
        let name = context.namespace.as_str();
        let namespace = self.namespaces.get("", name).await?;
        let namespace =
            namespace.ok_or_else(|| StatusError::not_found(Namespaces::TYPE.group_resource(), name))?;
        let annotated = namespace.annotation(ANNOTATION);
        let selector = match annotated {
            Some(text) => parse(text).map_err(|error| failed(error.to_string()))?,
            None => self.settings.0.get(DEFAULT).cloned().unwrap_or_default(),
        };
        let own = pod_selector(pod);
        if selector.iter().any(|(label, value)| own.get(label).is_some_and(|own| own != value)) {
            let why = "pod node label selector conflicts with its namespace node label selector";
            return Err(forbidden(attributes, Some(pod), why));
        }
        Ok(selector)
    }

    /// Checks that a pod only selects labels that its namespace allows.
    fn check_allowed(
        &self,
        context: &RequestContext,
        attributes: &Attributes<'_>,
        pod: &Object,
    ) -> Result<(), StatusError> {
        let allowed = self.settings.0.get(&context.namespace).filter(|allowed| !allowed.is_empty());
        let Some(allowed) = allowed else { return Ok(()) };
        if pod_selector(pod).iter().all(|(label, value)| allowed.get(label) == Some(value)) {
            return Ok(());
        }
        let why = "pod node label selector labels conflict with its namespace whitelist";
        Err(forbidden(attributes, Some(pod), why))
    }
}

#[async_trait]
impl MutatingAdmission for NodeSelector {
    async fn admit(
        &self,
        context: &RequestContext,
        mut write: ObjectWriteMut<'_>,
    ) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(&[Operation::Create]) else { return Ok(()) };
        let mut selector = self.selector(context, write.attributes, pod).await?;
        selector.extend(pod_selector(pod));
        if !selector.is_empty() {
            let selector: Map<String, Value> =
                selector.into_iter().map(|(label, value)| (label, value.into())).collect();
            pod.set(&["spec", "nodeSelector"], selector.into());
        }
        self.check_allowed(context, write.attributes, pod)
    }
}

#[async_trait]
impl ValidatingAdmission for NodeSelector {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(pod) = write.object_of::<Pods>(&[Operation::Create]) else { return Ok(()) };
        self.selector(context, write.attributes, pod).await?;
        self.check_allowed(context, write.attributes, pod)
    }
}

fn pod_selector(pod: &Object) -> Selector {
    let entries = Pod(pod).spec().node_selector().value().and_then(Value::as_object).into_iter().flatten();
    entries.map(|(label, value)| (label.clone(), value.as_str().unwrap_or_default().to_owned())).collect()
}

/// Parses `a=b,c=d`.
fn parse(text: &str) -> Result<Selector, InvalidSelector> {
    if text.is_empty() {
        return Ok(Selector::new());
    }
    let entries = text.split(',').map(|entry| {
        let (label, value) = entry.split_once('=').ok_or_else(|| InvalidSelector(entry.to_owned()))?;
        if value.contains('=') {
            return Err(InvalidSelector(entry.to_owned()));
        }
        Ok((label.trim().to_owned(), value.trim().to_owned()))
    });
    entries.collect()
}

#[cfg(test)]
mod tests {
    use registry_core::admission::ObjectWriteMut;
    use registry_core::api::{GroupVersionKind, GroupVersionResource};
    use serde_json::json;

    use super::*;
    use crate::testing;

    #[tokio::test]
    async fn pods_select_what_their_namespace_does() {
        let installed = testing::installed(&["namespaces", "pods"]);
        let annotations = json!({ANNOTATION: "zone=a, disk=ssd"});
        let namespace = json!({"metadata": {"name": "own", "annotations": annotations}});
        testing::create::<Namespaces>(&installed, namespace).await;
        testing::create::<Namespaces>(&installed, json!({"metadata": {"name": "plain"}})).await;
        let configuration =
            json!({"podNodeSelectorPluginConfig": {DEFAULT: "zone=b", "plain": "zone=b,gpu=yes"}});
        let settings = NodeSelectorSettings::read(&configuration).unwrap();
        let plugin = NodeSelector::new(&installed, settings).unwrap();
        let resource = GroupVersionResource { group: "", version: "v1", resource: "pods" };
        let kind = GroupVersionKind { group: "", version: "v1", kind: "Pod" };
        let attributes = Attributes::new(Operation::Create, resource, kind, "p");
        let admitted = async |namespace: &str, selector: Value| {
            let mut pod = Object::from_value(json!({"spec": {"nodeSelector": selector}})).unwrap();
            let context = RequestContext::system(namespace);
            let admitted =
                plugin.admit(&context, ObjectWriteMut::new(&attributes, Some(&mut pod), None)).await;
            admitted.map(|()| pod.get(&["spec", "nodeSelector"]).cloned()).map_err(|why| why.message)
        };
        let both = admitted("own", json!({"gpu": "yes"})).await.unwrap().unwrap();
        assert_eq!(both, json!({"disk": "ssd", "gpu": "yes", "zone": "a"}));
        assert!(
            admitted("own", json!({"zone": "b"})).await.unwrap_err().contains("conflicts with its namespace")
        );
        assert_eq!(admitted("plain", json!({})).await.unwrap(), Some(json!({"zone": "b"})));
        assert!(
            admitted("plain", json!({"disk": "hdd"})).await.unwrap_err().ends_with("namespace whitelist")
        );
        let malformed = json!({"podNodeSelectorPluginConfig": {"a": "zone"}});
        assert_eq!(
            NodeSelectorSettings::read(&malformed).unwrap_err().to_string(),
            "a: invalid selector: zone"
        );
    }
}
