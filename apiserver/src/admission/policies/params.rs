//! The parameters of a binding.
//!
//! Kubernetes concept: `CollectParams` in `k8s.io/apiserver/pkg/admission/plugin/policy/generic`.

use std::sync::Arc;

use registry_core::RequestContext;
use registry_core::api::selector::{LabelSelector, SelectorError};
use registry_core::api::{GetOptions, ListOptions, Object, Scope, StatusError};
use registry_core::registry::InstalledPath;
use registry_core::rest::Answer;

use crate::admission::Attributes;
use crate::main_server::{KindError, MainKind, MainKinds};

use super::definitions::{ParamKind, ParamRef, Selection};

/// The kind of a policy's parameters.
pub(super) struct Params<'p> {
    kind: Option<(&'p ParamKind, Objects)>,
}

/// Where the objects of a kind are.
enum Objects {
    /// This server serves them.
    Own(Arc<InstalledPath>),
    /// The main server of this extension server serves them.
    Main(Arc<MainKind>),
}

/// Error of parameters that cannot be collected. The texts are Kubernetes', where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub(super) enum ParamsError {
    #[error("failed to find resource referenced by paramKind: '{0}'")]
    KindNotFound(ParamKind),
    #[error(transparent)]
    MainKind(#[from] KindError),
    #[error("paramRef.namespace must not be provided for a cluster-scoped `paramKind`")]
    NamespaceForbidden,
    #[error("cannot use namespaced paramRef in policy binding that matches cluster-scoped resources")]
    NoNamespace,
    #[error("one of name or selector must be provided")]
    NoSelection,
    #[error(transparent)]
    Selector(#[from] SelectorError),
    #[error("no params found for policy binding with `Deny` parameterNotFoundAction")]
    NotFound,
    /// The objects, or those that the binding is about, cannot be read.
    #[error(transparent)]
    Unreadable(#[from] StatusError),
}

// === impl Params ===

impl<'p> Params<'p> {
    /// Finds the kind of a policy's parameters: one of this server, or else of its main server.
    ///
    /// # Errors
    /// Fails if it is not served, or if that cannot be found out.
    pub(super) async fn find(
        kind: Option<&'p ParamKind>,
        attributes: &Attributes<'_>,
        main: Option<&MainKinds>,
    ) -> Result<Self, ParamsError> {
        let Some(kind) = kind else { return Ok(Self { kind: None }) };
        if let Some(path) = attributes.kinds.path_of_kind(&kind.group, &kind.version, &kind.kind) {
            return Ok(Self { kind: Some((kind, Objects::Own(path))) });
        }
        let found = match main {
            Some(main) => main.find(&kind.group, &kind.version, &kind.kind).await?,
            None => None,
        };
        let found = found.ok_or_else(|| ParamsError::KindNotFound(kind.clone()))?;
        Ok(Self { kind: Some((kind, Objects::Main(found))) })
    }

    /// Returns the parameters of a binding for a write in a namespace, from the cache. One that is `None` means that
    /// expressions see `null`; if there are none at all, nothing is evaluated.
    ///
    /// # Errors
    /// Fails if the reference is wrong, or if parameters are required and absent.
    pub(super) async fn collect(
        &self,
        reference: Option<&ParamRef>,
        namespace: &str,
    ) -> Result<Vec<Option<Object>>, ParamsError> {
        let (Some((kind, objects)), Some(reference)) = (&self.kind, reference) else {
            return Ok(vec![None]);
        };
        let is_namespaced = objects.scope() == Scope::Namespaced;
        let namespace = match (is_namespaced, reference.namespace.as_str(), namespace) {
            (false, "", _) => "",
            (false, _, _) => return Err(ParamsError::NamespaceForbidden),
            (true, "", "") => return Err(ParamsError::NoNamespace),
            (true, "", namespace) | (true, namespace, _) => namespace,
        };
        let mut found = match &reference.which {
            Selection::Named(name) => objects.get(namespace, name).await?.into_iter().collect(),
            Selection::Labelled(selector) => {
                let selector = selector.as_ref().map_err(SelectorError::clone)?;
                objects.select(namespace, selector).await?
            }
            Selection::None => return Err(ParamsError::NoSelection),
        };
        if found.is_empty() && reference.denies_absent {
            return Err(ParamsError::NotFound);
        }
        let api_version = match kind.group.as_str() {
            "" => kind.version.clone(),
            group => format!("{group}/{}", kind.version),
        };
        for object in &mut found {
            object.set_type(&api_version, &kind.kind);
        }
        Ok(found.into_iter().map(Some).collect())
    }
}

// === impl Objects ===

impl Objects {
    fn scope(&self) -> Scope {
        match self {
            Self::Own(path) => path.capabilities.storage.scope(),
            Self::Main(kind) => kind.scope(),
        }
    }

    async fn get(&self, namespace: &str, name: &str) -> Result<Option<Object>, StatusError> {
        match self {
            Self::Own(path) => get(path, &RequestContext::system(namespace), name).await,
            Self::Main(kind) => Ok(kind.get(namespace, name)),
        }
    }

    async fn select(&self, namespace: &str, selector: &LabelSelector) -> Result<Vec<Object>, StatusError> {
        let path = match self {
            Self::Own(path) => path,
            Self::Main(kind) => return Ok(kind.select(namespace, selector)),
        };
        let options = ListOptions {
            label_selector: selector.clone(),
            resource_version: Some(0),
            ..ListOptions::default()
        };
        list(path, &RequestContext::system(namespace), &options).await
    }
}

async fn get(
    path: &InstalledPath,
    context: &RequestContext,
    name: &str,
) -> Result<Option<Object>, StatusError> {
    let Some(getter) = &path.capabilities.getter else { return Ok(None) };
    match getter.get(context, name, &GetOptions { resource_version: Some(0) }).await {
        Ok(Answer::Stored(entry)) => {
            serde_json::from_slice(entry.json()).map(Some).map_err(StatusError::internal)
        }
        Ok(Answer::Object(object)) => Ok(Some(object)),
        Ok(Answer::Success(_)) => Ok(None),
        Err(failure) if failure.is_not_found() => Ok(None),
        Err(failure) => Err(failure),
    }
}

async fn list(
    path: &InstalledPath,
    context: &RequestContext,
    options: &ListOptions,
) -> Result<Vec<Object>, StatusError> {
    let Some(lister) = &path.capabilities.lister else { return Ok(Vec::new()) };
    let page = lister.list(context, options).await?;
    page.items
        .iter()
        .map(|entry| serde_json::from_slice(entry.json()).map_err(StatusError::internal))
        .collect()
}
