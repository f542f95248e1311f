//! Reads: get, list and watch.

use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use futures::{StreamExt, stream};

use crate::api::go_text;
use crate::api::selector::FieldSelector;
use crate::api::validation::names;
use crate::api::{GetOptions, GroupVersionResource, ListOptions, Reason, ResourceVersionMatch, StatusError};
use crate::context::RequestContext;
use crate::registry::errors::Verb;
use crate::resource::ResourceType;
use crate::rest::{Answer, Getter, Lister, Watcher};
use crate::storage::{
    ListPage, ListRequest, Predicate, Rest, Revision, StorageError, StoredObject, WatchRequest, WatchStream,
};

use super::Store;

const NAME: &str = "metadata.name";
const NAMESPACE: &str = "metadata.namespace";

/// Size of one part of a list without a limit that is read from the store, in bytes.
const PART_BYTES: usize = 512 * 1024;

#[async_trait]
impl Getter for Store {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        let key = self.key(context, name)?;
        let got = match context.read_revision {
            None => self.storage.get(&key, options.resource_version).await,
            Some(revision) => self.get_at(&key, revision).await,
        };
        match got {
            Ok(Some(entry)) => Ok(Answer::Stored(entry)),
            Ok(None) => Err(StatusError::not_found(self.named(context), name)),
            Err(error) => Err(self.operation(context, Verb::Get, name, &key).interpret(error)),
        }
    }
}

#[async_trait]
impl Lister for Store {
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError> {
        self.list_page(context, options, false).await
    }

    async fn list_in_parts(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let in_parts = options.limit == 0;
        let mut page = self.list_page(context, options, in_parts).await?;
        if let Some(token) = page.continue_token.take_if(|_| in_parts) {
            page.remaining = None;
            page.rest = Some(self.rest(context, options, token)?);
        }
        Ok(page)
    }

    fn list_kind(&self) -> &'static str {
        self.resource.list_kind
    }
}

#[async_trait]
impl Watcher for Store {
    async fn watch(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, StatusError> {
        self.check_selector(context, options)?;
        let keys = self.selected_keys(context, options)?;
        let request = WatchRequest {
            predicate: predicate(options),
            revision: options.resource_version,
            send_initial_events: options.send_initial_events,
            bookmarks: options.allow_watch_bookmarks,
            timeout: options.timeout_seconds.map(Duration::from_secs),
        };
        let stream = self.storage.watch(&keys, &request).await;
        stream.map_err(|error| self.operation(context, Verb::Watch, "", "").interpret(error))
    }
}

/// Whether a list shows the state at exactly the given revision, not the state at that revision or a later revision.
fn is_at_revision(options: &ListOptions) -> bool {
    match options.resource_version_match {
        Some(ResourceVersionMatch::Exact) => true,
        Some(ResourceVersionMatch::NotOlderThan) => false,
        None => options.limit > 0,
    }
}

// === impl Store ===

impl Store {
    /// Checks the field selector of a request for this version. The selector of a request for another version was checked
    /// already; it may have fields that only the other version offers.
    fn check_selector(&self, context: &RequestContext, options: &ListOptions) -> Result<(), StatusError> {
        let own = self.resource.resource();
        let is_other = |asked: GroupVersionResource| {
            asked.group_resource() == own.group_resource() && asked.version != own.version
        };
        if context.resource.is_some_and(is_other) {
            return Ok(());
        }
        check_field_selector(&self.resource, &options.field_selector)
    }

    /// Returns an object in the state of a revision.
    async fn get_at(&self, key: &str, revision: Revision) -> Result<Option<StoredObject>, StorageError> {
        let request = ListRequest {
            revision: Some(revision),
            revision_match: Some(ResourceVersionMatch::Exact),
            ..ListRequest::default()
        };
        Ok(self.storage.list(key, &request).await?.items.pop())
    }

    async fn list_page(
        &self,
        context: &RequestContext,
        options: &ListOptions,
        in_parts: bool,
    ) -> Result<ListPage, StatusError> {
        self.check_selector(context, options)?;
        let keys = self.selected_keys(context, options)?;
        let request = ListRequest {
            predicate: predicate(options),
            revision: options.resource_version,
            revision_match: options.resource_version_match,
            limit: options.limit,
            continue_token: options.continue_token.clone(),
            max_bytes: in_parts.then_some(PART_BYTES),
            with_attributes: false,
        };
        let verb = if options.continue_token.is_some() { Verb::ListPage } else { Verb::List };
        let page = self.storage.list(&keys, &request).await;
        let page = page.map(|page| ListPage { shard: options.shard_selector.clone(), ..page });
        page.map_err(|error| {
            let failure = self.operation(context, verb, "", "").interpret(error);
            // Kubernetes reads a list at a revision from the store, which, unlike the cache, does not expect to reach it.
            let waits = failure.reason != Reason::Timeout || !is_at_revision(options);
            if waits { failure } else { failure.retry_after_seconds(0) }
        })
    }

    /// Returns the remaining objects selected by the options, starting at a token.
    pub(super) fn rest(
        &self,
        context: &RequestContext,
        options: &ListOptions,
        token: String,
    ) -> Result<Rest, StatusError> {
        let keys: Arc<str> = self.selected_keys(context, options)?.into();
        let storage = self.storage.clone();
        let operation = self.operation(context, Verb::ListPage, "", "");
        let predicate = predicate(options);
        Ok(Rest::new(move || {
            let storage = storage.clone();
            let keys = keys.clone();
            let request = ListRequest {
                predicate: predicate.clone(),
                max_bytes: Some(PART_BYTES),
                ..ListRequest::default()
            };
            let part_at = move |token: Option<String>| {
                let storage = storage.clone();
                let keys = keys.clone();
                let request = ListRequest { continue_token: token, ..request.clone() };
                async move {
                    if request.continue_token.is_none() {
                        return Ok(None);
                    }
                    let page = storage.list(&keys, &request).await;
                    let page = page.map_err(|error| operation.interpret(error))?;
                    Ok(Some((page.items, page.continue_token)))
                }
            };
            stream::try_unfold(Some(token.clone()), part_at).boxed()
        }))
    }

    /// Returns the range selected by the options: a single key if they select one name, else the keys of one or all
    /// namespaces. A page's token continues in the range of its first page.
    fn selected_keys(&self, context: &RequestContext, options: &ListOptions) -> Result<String, StatusError> {
        let mut namespace = context.namespace.as_str();
        if options.continue_token.is_some() {
            return self.key_prefix(namespace);
        }
        let selector = &options.field_selector;
        let named = selector.required_value(NAMESPACE).filter(|name| names::dns_label(name).is_empty());
        if let (true, "", Some(named)) = (self.resource.is_namespaced(), namespace, named) {
            namespace = named;
        }
        if let Some(name) = selector.required_value(NAME) {
            // If the name does not determine a key (all namespaces, or an invalid name), the range is scanned.
            if let Ok(key) = self.key_in(namespace, name) {
                return Ok(key);
            }
        }
        self.key_prefix(namespace)
    }
}

fn predicate(options: &ListOptions) -> Predicate {
    Predicate {
        labels: options.label_selector.clone(),
        fields: options.field_selector.clone(),
        shard: options.shard_selector.clone(),
    }
}

/// Rejects a selector with a field that the resource does not offer.
///
/// # Errors
/// 400 if it has one.
pub(in crate::registry) fn check_field_selector(
    resource: &ResourceType,
    selector: &FieldSelector,
) -> Result<(), StatusError> {
    let offered = resource.strategy.selectable_fields();
    let has_custom = offered.is_some() || !resource.selectable.is_empty();
    // Kinds with custom selectors accept the namespace only if they are namespaced.
    let has_namespace = resource.is_namespaced() || !has_custom;
    let known = |path: &str| match path {
        NAMESPACE => has_namespace,
        other => other == NAME || offered.unwrap_or(resource.field_names).contains(&other),
    };
    let Some(unknown) = selector.requirements.iter().find(|requirement| !known(&requirement.path)) else {
        return Ok(());
    };
    Err(StatusError::bad_request(if has_custom {
        resource.strategy.unknown_field_label(&unknown.path)
    } else {
        let path = go_text::quote(&unknown.path);
        format!("{path} is not a known field selector: only {NAME:?}, {NAMESPACE:?}")
    }))
}
